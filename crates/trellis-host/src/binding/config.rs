//! Bindings as written become something that runs, or findings with their place.

use std::{borrow::Cow, collections::BTreeMap, fmt, path::Path, sync::Arc, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, Visitor},
};
use serde_path_to_error::Segment;
use trellis_core::{
    Code, Diagnostic, Document, Mapping, Program,
    diagnostic::{FilePath, Severity, did_you_mean},
    program::Graph,
    span::{Span, Spanned},
    syntax::{
        document::Content,
        duration,
        project::{BindingSyntax, HostConfig},
    },
    template::Shape,
};

use super::{
    Host, absolute,
    kind::{Carrier, KINDS, Site},
};

/// The project file that a graph's binding stands in.
pub(super) fn path_of(program: &Program, graph: &Graph, name: &Arc<str>, syntax: &BindingSyntax) -> FilePath {
    let here = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder) == &*graph.root;
    let named = |binding: &BindingSyntax| {
        binding.tool.span == syntax.tool.span && binding.tool.name.as_ref().is_some_and(|written| written.value == *name)
    };
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.bindings.iter().any(named),
        _ => false,
    };
    let found = program.documents().iter().find(|document| here(&document.path) && holds(&document.content));
    found.map_or_else(|| "trellis.yaml".into(), |document| Arc::clone(&document.path))
}

/// What [`super::Bindings::new`] would refuse of the bindings of a graph's files, at its place; also where the graph has other mistakes.
pub fn check_bindings(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        let root = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        #[cfg(feature = "mcp")]
        found.extend(super::mcp::check_servers(&project.host));
        #[cfg(feature = "model")]
        found.extend(super::model::check_models(&project.host, root, documents));
        for binding in &project.bindings {
            let name = binding.tool.name.as_ref().map_or("", |name| &*name.value);
            let (folder, host) = (Path::new(root), &Host::new());
            let site = Site { tool: name, folder, root, documents, graph: None, host };
            found.extend(decode_all(binding, &document.path, &site).1);
        }
    }
    found
}

/// Decodes one binding: nothing where it is a bare contract, or of a kind that this build does not carry out. Every finding is collected; those that are
/// no errors are left to [`check_bindings`].
pub(super) fn decode(syntax: &BindingSyntax, path: &FilePath, site: &Site<'_>) -> Result<Option<Carrier>, Vec<Diagnostic>> {
    let (carrier, found) = decode_all(syntax, path, site);
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(carrier) }
}

fn decode_all(syntax: &BindingSyntax, path: &FilePath, site: &Site<'_>) -> (Option<Carrier>, Vec<Diagnostic>) {
    let HostConfig { values, spans, shapes, .. } = &syntax.config;
    let mut reader = ConfigReader { config: values, spans, shapes, prefix: "", around: syntax.tool.span, path, found: Vec::new() };
    let folder = absolute(site.folder);
    let site = Site { folder: &folder, ..*site };
    let kind = KINDS.iter().find(|kind| values.contains(kind.key));
    let carrier = kind.and_then(|kind| (kind.read)(&mut reader, &site));
    reader.found.sort_by(|one, other| one.order().cmp(&other.order()));
    (carrier, reader.found)
}

/// Reads a mapping of a project file into a type of the host; each mistake is a finding at its place.
pub(super) struct ConfigReader<'s> {
    pub(super) config: &'s Mapping,
    pub(super) spans: &'s BTreeMap<String, Span>,
    pub(super) shapes: &'s BTreeMap<String, Spanned<Shape>>,
    /// The path of the mapping in the file, which the paths in `spans` begin with: `servers.files`; empty for a binding.
    pub(super) prefix: &'s str,
    /// The place of what no span is known of.
    pub(super) around: Span,
    pub(super) path: &'s FilePath,
    pub(super) found: Vec<Diagnostic>,
}

impl ConfigReader<'_> {
    /// The keys that `C` names. Decoding ends at the first mistake, so a key with one is reported, with the help that `help` has for it and its value,
    /// and left out; the others are decoded again.
    pub(super) fn read<C: DeserializeOwned + Default>(&mut self, help: impl Fn(&str, &str) -> Option<String>) -> C {
        let Ok(serde_yaml::Value::Mapping(mut keys)) = serde_yaml::to_value(self.config) else { return C::default() };
        loop {
            let error = match serde_path_to_error::deserialize(serde_yaml::Value::from(keys.clone())) {
                Ok(decoded) => return decoded,
                Err(error) => error,
            };
            let segments = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } | Segment::Enum { variant: key } => Some(key.clone()),
                Segment::Unknown => None,
            });
            let segments: Vec<String> = segments.collect();
            let why = error.inner().to_string();
            if let Some((unknown, known)) = unknown_key(&why)
                && leave_out(&mut keys, &segments, unknown)
            {
                let around = segments.join(".").trim_end_matches(unknown).trim_end_matches('.').to_owned();
                let help = did_you_mean(unknown, known.iter().copied()).unwrap_or_else(|| format!("it takes {}", listed(&known)));
                let place = if around.is_empty() { unknown.to_owned() } else { format!("{around}.{unknown}") };
                let whole = if around.is_empty() { self.prefix } else { &around };
                self.report(&place, format!("`{whole}` has no key `{unknown}`"), Some(help));
                continue;
            }
            let Some(key) = segments.first().filter(|key| keys.remove(key.as_str()).is_some()) else {
                self.report("", format!("the binding cannot be read: {why}"), None);
                return C::default();
            };
            let place = segments.join(".");
            let unfit = why.strip_prefix("invalid type: ").or(why.strip_prefix("invalid value: "));
            let message = match unfit.and_then(|why| why.rsplit_once(", expected ")) {
                Some((met, wanted)) => format!("`{place}` takes {}, not {}", wanted_words(wanted), met_words(met)),
                None => match why.strip_prefix("missing field ") {
                    Some(missing) => format!("`{place}` has no {missing}"),
                    None => unfit.unwrap_or(&why).to_owned(),
                },
            };
            let value = self.config.get(key).map(ToString::to_string).unwrap_or_default();
            self.report(&place, message, help(key, &value));
        }
    }

    /// The shape at a path: what is filled in when a call is made.
    pub(super) fn shape(&self, place: &str) -> Option<&Spanned<Shape>> {
        self.shapes.get(place)
    }

    /// Adds a finding at a place of the file.
    pub(super) fn report_at(&mut self, span: Span, message: String, help: &str) {
        self.found.push(Diagnostic::new(Code::WrongType, self.path, span, message).help(help));
    }

    /// Adds a warning at a path of the mapping.
    pub(super) fn warn(&mut self, place: &str, message: String, help: &str) {
        self.report(place, message, Some(help.to_owned()));
        if let Some(found) = self.found.last_mut() {
            found.severity = Severity::Warning;
        }
    }

    /// Adds a finding at a path of the mapping, such as `process.0`.
    pub(super) fn report(&mut self, place: &str, message: String, help: Option<String>) {
        let place = if self.prefix.is_empty() { Cow::Borrowed(place) } else { Cow::Owned(format!("{}.{place}", self.prefix)) };
        let span = span_of(self.spans, &place).unwrap_or(self.around);
        self.found.push(Diagnostic::new(Code::WrongType, self.path, span, message).help_maybe(help));
    }
}

/// The place of a path of a mapping: the nearest around it that is known.
pub(super) fn span_of(spans: &BTreeMap<String, Span>, place: &str) -> Option<Span> {
    let mut places = std::iter::successors(Some(place), |place| Some(place.rsplit_once('.')?.0));
    places.find_map(|path| spans.get(path).copied())
}

/// The key that a type does not know, and those that it knows.
fn unknown_key(why: &str) -> Option<(&str, Vec<&str>)> {
    let (unknown, known) = why.strip_prefix("unknown field `")?.split_once('`')?;
    Some((unknown, known.split('`').skip(1).step_by(2).collect()))
}

/// Takes a key out of the mapping at a path, or at the path around it where that ends with the key.
fn leave_out(keys: &mut serde_yaml::Mapping, path: &[String], key: &str) -> bool {
    let path = path.strip_suffix(&[key.to_owned()][..]).unwrap_or(path);
    let mut here = keys;
    for segment in path {
        match here.get_mut(segment.as_str()).and_then(serde_yaml::Value::as_mapping_mut) {
            Some(inner) => here = inner,
            None => return false,
        }
    }
    here.remove(key).is_some()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A key that is there has a value: null is none.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What serde expects, in our words.
fn wanted_words(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list of texts",
        "a string" => "a text",
        "path string" => "a path",
        "u64" => "a whole number from 0 on",
        "a map" => "a mapping",
        wanted => wanted,
    }
}

/// What serde met instead.
fn met_words(met: &str) -> &str {
    match met.split(' ').next() {
        Some("string") => "a text",
        Some("integer") if met.contains("`-") => "a negative number",
        Some("integer") => "an integer",
        Some("floating") => "a decimal",
        Some("boolean") => "a boolean",
        Some("sequence") => "a list",
        Some("map") => "a mapping",
        Some("unit" | "null" | "Option") => "null",
        _ => met,
    }
}

/// A value of the environment: text, and what YAML makes of an unquoted number or truth.
pub(super) struct Plain(pub(super) String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, text: &str) -> Result<Plain, E> {
                Ok(Plain(text.to_owned()))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Plain, E> {
                Ok(Plain(truth.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// A duration as graphs have them.
pub(super) struct Wait(pub(super) Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(text) = Plain::deserialize(deserializer)?;
        duration::parse(&text).map(Self).ok_or_else(|| D::Error::custom(format!("`{text}` is no duration")))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use trellis_core::Value;

    use super::*;

    /// Hands a reader of a mapping, written as JSON, to a test.
    pub(in crate::binding) fn reader<T>(config: &str, read: impl FnOnce(&mut ConfigReader<'_>) -> T) -> T {
        let Value::Map(config) = Value::from_json(config).unwrap() else { panic!("{config} is no mapping") };
        let path = FilePath::from("trellis.yaml");
        read(&mut ConfigReader {
            config: &config,
            spans: &BTreeMap::new(),
            shapes: &BTreeMap::new(),
            prefix: "",
            around: Span::at(0),
            path: &path,
            found: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::{Value, span::Spanned, syntax::node::ToolSyntax};

    use super::*;

    fn binding(config: &str, spans: &[(&str, Span)]) -> BindingSyntax {
        let name = Some(Spanned::new("t".into(), Span::at(0)));
        let tool = ToolSyntax {
            span: Span::new(0, 99),
            name,
            description: None,
            parameters: None,
            returns: None,
            effect: None,
            timeout: None,
            retry: None,
        };
        let Value::Map(config) = Value::from_json(config).unwrap() else { panic!() };
        let spans = spans.iter().map(|(path, span)| ((*path).to_owned(), *span)).collect();
        BindingSyntax { tool, config: HostConfig { values: config, spans, ..HostConfig::default() } }
    }

    fn read(config: &str, spans: &[(&str, Span)]) -> Result<Option<Carrier>, Vec<Diagnostic>> {
        let syntax = binding(config, spans);
        let host = &Host::new();
        let site = Site { tool: "t", folder: Path::new("/graph"), root: "", documents: &[], graph: None, host };
        decode(&syntax, &"trellis.yaml".into(), &site)
    }

    #[test]
    fn every_mistake_has_its_own_place() {
        let spans = [("process.1", Span::new(5, 6)), ("env", Span::new(7, 8)), ("grace", Span::new(9, 12))];
        let found = read(r#"{"process":["a",3],"env":{"A":[]},"grace":"soon"}"#, &spans).unwrap_err();
        let found: Vec<_> =
            found.iter().map(|finding| (finding.code, finding.place.as_ref().unwrap().span.start, finding.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (Code::WrongType, 5, "`process.1` takes a text, not an integer"),
                (Code::WrongType, 7, "`env.A` takes a text, not a list"),
                (Code::WrongType, 9, "`soon` is no duration"),
            ]
        );
        let found = read(r#"{"process":[],"grace":5,"output_limit":-1}"#, &[]).unwrap_err();
        let found: Vec<_> = found.iter().map(|finding| finding.message.as_str()).collect();
        let no_command = "the binding `t` names no command";
        assert_eq!(found, ["`5` is no duration", "`output_limit` takes a whole number from 0 on, not a negative number", no_command]);
        let found = read(r#"{"process":"./bin/x --fast"}"#, &[]).unwrap_err();
        assert!(found[0].help.as_ref().unwrap().contains("as a list"), "{found:?}");
        assert!(read(r#"{"process":[]}"#, &[]).unwrap_err()[0].message.contains("names no command"));
    }

    #[test]
    fn other_kinds_are_left_to_others() {
        let none = |config| read(config, &[]).unwrap().is_none();
        assert!(none(r#"{"telepathy":{"to":"worker"}}"#) && none("{}"));
        let function = |config| match read(config, &[]).unwrap() {
            Some(Carrier::Function(name)) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!((&*function(r#"{"function":"find"}"#), &*function(r#"{"function":{}}"#)), ("find", "t"));
    }

    #[test]
    fn a_function_is_a_name_or_the_tools_own() {
        for (config, why) in [
            (r#"{"function":3}"#, "a name, not an integer"),
            (r#"{"function":["find"]}"#, "a name, not a list"),
            (r#"{"function":{"name":"find"}}"#, "a name or `{}`, not a mapping with `name`"),
        ] {
            let found = read(config, &[("function", Span::new(3, 4))]).unwrap_err();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].message, format!("`function` takes {why}"));
            assert_eq!(found[0].place.as_ref().unwrap().span, Span::new(3, 4));
            assert!(found[0].help.is_some());
        }
    }
}
