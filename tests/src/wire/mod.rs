//! JSON Lines held to their schema, `docs/reference/json-lines.schema.json`.
//!
//! Lines that some run printed or took go in. A line that the schema refuses panics with the reason; what the others show of the schema is noted, so
//! that a test can ask what nothing ever showed ([`Schema::unseen`]).
//!
//! **Invariant:** a place of the schema counts as seen only when a valid line held it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, OnceLock, PoisonError},
};

use jsonschema::Validator;
use serde_json::{Value, json};

/// The schema as people get it.
const TEXT: &str = include_str!("../../../docs/reference/json-lines.schema.json");

/// The schema, ready to hold lines to it.
#[derive(Debug)]
pub struct Schema {
    whole: Value,
    /// By JSON pointer of the part that they check.
    validators: Mutex<BTreeMap<String, &'static Validator>>,
    seen: Mutex<BTreeSet<String>>,
}

/// The direction of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The program prints it.
    Out,
    /// The program takes it.
    In,
}

impl Way {
    fn pointer(self) -> &'static str {
        match self {
            Self::Out => "/$defs/out",
            Self::In => "/$defs/in",
        }
    }
}

/// The schema of this repository; one for each test binary.
///
/// # Panics
/// It is no JSON.
pub fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| Schema {
        whole: serde_json::from_str(TEXT).expect("the schema is JSON"),
        validators: Mutex::default(),
        seen: Mutex::default(),
    })
}

impl Schema {
    /// Holds a line to the schema and notes what it shows of it.
    ///
    /// # Errors
    /// It does not fit, with the reason.
    pub fn check(&self, way: Way, line: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("{line}\n    is no JSON: {error}"))?;
        self.check_at(way.pointer(), &value).map_err(|why| format!("{line}\n    {why}"))
    }

    /// Holds a value to one part of the schema, such as `/$defs/diagnostic`, and notes what it shows of it.
    ///
    /// # Errors
    /// It does not fit, with the reason.
    pub fn check_at(&self, pointer: &str, value: &Value) -> Result<(), String> {
        let validator = self.validator(pointer);
        if validator.is_valid(value) {
            self.see(pointer, value);
            return Ok(());
        }
        // The reasons of the one branch that is meant say more than "no branch fits".
        let named = value.get("type").and_then(Value::as_str).or_else(|| value.as_object()?.keys().next().map(String::as_str));
        let meant = named.map(|name| format!("/$defs/{name}")).filter(|meant| self.whole.pointer(meant).is_some());
        let validator = meant.map_or(validator, |meant| self.validator(&meant));
        let why = validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect::<Vec<_>>();
        Err(format!("does not fit the schema: {}", why.join("; ")))
    }

    /// Holds every line to the schema.
    ///
    /// # Panics
    /// One does not fit.
    pub fn assert(&self, way: Way, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        for line in lines {
            self.check(way, line.as_ref()).unwrap_or_else(|why| panic!("{way:?}: {why}"));
        }
    }

    /// Keys, branches and words of the schema that lines can show and none showed so far, as JSON pointers.
    pub fn unseen(&self) -> Vec<String> {
        let mut places = Vec::new();
        for part in self.parts_of_lines() {
            self.places(&part, &mut places);
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        places.into_iter().filter(|place| !seen.contains(place)).collect()
    }

    /// The definitions that lines refer to, as JSON pointers.
    fn parts_of_lines(&self) -> BTreeSet<String> {
        let mut parts = BTreeSet::new();
        let mut open = vec![Way::Out.pointer().to_owned(), Way::In.pointer().to_owned()];
        while let Some(part) = open.pop() {
            let text = self.at(&part).to_string();
            if parts.insert(part) {
                let names = text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next());
                open.extend(names.map(|name| format!("/$defs/{name}")));
            }
        }
        parts
    }

    /// The part at a pointer, ready to check values; kept for the life of the test.
    fn validator(&self, pointer: &str) -> &'static Validator {
        let mut known = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(pointer.to_owned()).or_insert_with(|| {
            let part = json!({ "$ref": format!("#{pointer}"), "$defs": self.whole["$defs"] });
            Box::leak(Box::new(jsonschema::draft202012::new(&part).unwrap_or_else(|error| panic!("{pointer}: {error}"))))
        })
    }

    fn at(&self, pointer: &str) -> &Value {
        self.whole.pointer(pointer).unwrap_or_else(|| panic!("the schema has no {pointer}"))
    }

    /// Notes what a valid value shows of a part.
    fn see(&self, pointer: &str, value: &Value) {
        let part = self.at(pointer);
        if let Some(target) = part["$ref"].as_str() {
            self.see(target.trim_start_matches('#'), value);
        }
        for (name, inner) in value.as_object().into_iter().flatten() {
            let property = format!("{pointer}/properties/{name}");
            if part["properties"].get(name).is_some() {
                self.see(&property, inner);
                self.note(property);
            } else if part["additionalProperties"].is_object() {
                self.see(&format!("{pointer}/additionalProperties"), inner);
            }
        }
        if part.get("items").is_some() {
            value.as_array().into_iter().flatten().for_each(|item| self.see(&format!("{pointer}/items"), item));
        }
        for branch in branches(part, pointer) {
            if self.validator(&branch).is_valid(value) {
                self.see(&branch, value);
                self.note(branch);
            }
        }
        let word = part["enum"].as_array().and_then(|words| words.iter().position(|word| word == value));
        word.into_iter().for_each(|at| self.note(format!("{pointer}/enum/{at}")));
    }

    fn note(&self, place: String) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    }

    /// Every key, branch and word below a part; other definitions are left to themselves.
    fn places(&self, pointer: &str, places: &mut Vec<String>) {
        let part = self.at(pointer);
        for name in part["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let property = format!("{pointer}/properties/{name}");
            self.places(&property, places);
            places.push(property);
        }
        for inner in ["items", "additionalProperties"] {
            if part[inner].is_object() {
                self.places(&format!("{pointer}/{inner}"), places);
            }
        }
        for branch in branches(part, pointer) {
            self.places(&branch, places);
            places.push(branch);
        }
        places.extend((0..part["enum"].as_array().map_or(0, Vec::len)).map(|at| format!("{pointer}/enum/{at}")));
    }
}

/// The pointers of the branches of `oneOf` and `anyOf`.
fn branches(part: &Value, pointer: &str) -> Vec<String> {
    let of = |kind: &str| (0..part[kind].as_array().map_or(0, Vec::len)).map(|at| format!("{pointer}/{kind}/{at}")).collect::<Vec<_>>();
    [of("oneOf"), of("anyOf")].concat()
}
