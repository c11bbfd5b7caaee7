//! Patterns that look around or refer back, matched within one budget for a whole validation.
//!
//! Most patterns take time in proportion to the length of the text: the validator's own engine matches those. One that looks around or refers back
//! backtracks, and may take exponential time. Its engine bounds the steps of backtracking only for a single match, so the same pattern is compiled
//! with growing bounds: a match that meets one is tried again with the next, as long as the budget of the validation lasts.
//!
//! **Invariant:** once the budget is spent nothing matches any more, and the validation has no other outcome than that.

use std::{
    cell::RefCell,
    fmt,
    sync::{Arc, OnceLock},
};

use fancy_regex::{Regex, RegexBuilder};
use jsonschema::{Keyword, ValidationError};
use serde_json::Value as Json;

/// Steps of backtracking in a validation, beside one for each byte of the value: some 50 ms.
const BUDGET: u64 = 1_000_000;

/// References that a collection of breaches may follow, beside one for each byte of the value.
const STEPS: u64 = 50_000;

/// Steps of backtracking in a match, one try after the other.
const BOUNDS: [u64; 7] = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144];

/// The cost of a match that ends within the first bound.
const LEAST: u64 = 16;

/// Bytes of a text from which on going back costs more: each time some of the text is read again.
const SHORT: u64 = 1_024;

thread_local! {
    /// The rest of the budget of the current validation: a validator hands no argument on to the patterns in it.
    static METER: RefCell<Meter> = const { RefCell::new(Meter { left: 0, steps: None, exhausted: None }) };
}

struct Meter {
    left: u64,
    /// References that may still be followed, where they are counted.
    steps: Option<u64>,
    exhausted: Option<Exhausted>,
}

/// The part of a validation that exhausted its budget.
pub(super) enum Exhausted {
    /// This pattern.
    Pattern(Arc<str>),
    /// The references.
    References,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => write!(f, "takes too long to match `{pattern}`"),
            Self::References => f.write_str("does not fit, in more ways than can be listed"),
        }
    }
}

/// Validates a value of this number of bytes within one budget.
///
/// # Errors
/// The budget was exhausted; the result of the validation means nothing.
pub(super) fn metered<T>(bytes: u64, validate: impl FnOnce() -> T) -> Result<T, Exhausted> {
    METER.set(Meter { left: BUDGET.saturating_add(bytes), steps: None, exhausted: None });
    let result = validate();
    METER.with_borrow_mut(|meter| meter.exhausted.take()).map_or(Ok(result), Err)
}

/// Counts references from here to the end of the validation of a value of this number of bytes.
pub(super) fn count_steps(bytes: u64) {
    METER.with_borrow_mut(|meter| meter.steps = Some(STEPS.saturating_add(bytes)));
}

/// Returns whether one more reference may be followed.
pub(super) fn is_step_left() -> bool {
    METER.with_borrow_mut(|meter| {
        let Some(steps) = meter.steps else { return true };
        meter.steps = Some(steps.saturating_sub(1));
        if steps == 0 {
            meter.exhausted.get_or_insert(Exhausted::References);
        }
        steps > 0
    })
}

/// A pattern with growing bounds.
pub(super) struct Pattern {
    source: Arc<str>,
    tries: [OnceLock<Option<Regex>>; BOUNDS.len()],
}

impl Pattern {
    /// Returns the pattern; `None` if it is no regular expression.
    pub(super) fn new(source: &str) -> Option<Self> {
        let pattern = Self { source: source.into(), tries: [const { OnceLock::new() }; BOUNDS.len()] };
        pattern.regex(0).is_some().then_some(pattern)
    }

    fn regex(&self, bound: usize) -> Option<&Regex> {
        let build = || {
            let translated = jsonschema_regex::to_rust_regex(&self.source).ok()?;
            let most = usize::try_from(BOUNDS[bound]).unwrap_or(usize::MAX);
            RegexBuilder::new(&translated).backtrack_limit(most).build().ok()
        };
        self.tries[bound].get_or_init(build).as_ref()
    }

    /// Returns whether a text matches, within the budget of the current validation; false once that is spent.
    pub(super) fn is_match(&self, text: &str) -> bool {
        METER.with_borrow_mut(|meter| {
            let is_match = if meter.exhausted.is_none() { self.within(meter, text) } else { None };
            if is_match.is_none() {
                meter.exhausted.get_or_insert_with(|| Exhausted::Pattern(Arc::clone(&self.source)));
            }
            is_match.unwrap_or_default()
        })
    }

    fn within(&self, meter: &mut Meter, text: &str) -> Option<bool> {
        let weight = 1 + text.len() as u64 / SHORT;
        for (at, bound) in BOUNDS.into_iter().enumerate() {
            let left = meter.left.checked_sub(bound * weight)?;
            if let Ok(is_match) = self.regex(at)?.is_match(text) {
                meter.left = if at == 0 { meter.left - LEAST * weight } else { left };
                return Some(is_match);
            }
            meter.left = left;
        }
        None
    }
}

impl<'i> Keyword<'i> for Pattern {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        if Keyword::is_valid(self, instance) { Ok(()) } else { Err(ValidationError::custom(&*self.source)) }
    }

    fn is_valid(&self, instance: &'i Json) -> bool {
        instance.as_str().is_none_or(|text| self.is_match(text))
    }
}

/// Returns the patterns for names of keys, in all parts of a schema.
pub(super) fn of_names(schema: &Json) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    each_mapping(schema, &mut |entries| {
        let named = entries.get("patternProperties").and_then(Json::as_object);
        patterns.extend(named.into_iter().flatten().filter_map(|(pattern, _)| Pattern::new(pattern)));
    });
    patterns
}

/// Matches the names of all keys once: where the budget suffices for that, the validator's own engine terminates as well.
pub(super) fn try_names(patterns: &[Pattern], value: &Json) {
    if !patterns.is_empty() {
        each_mapping(value, &mut |entries| {
            for name in entries.keys() {
                // The purpose is that the match terminates.
                let _ = patterns.iter().filter(|pattern| pattern.is_match(name)).count();
            }
        });
    }
}

fn each_mapping(value: &Json, see: &mut impl FnMut(&serde_json::Map<String, Json>)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(entries) => {
                see(entries);
                open.extend(entries.values());
            }
            _ => {}
        }
    }
}
