//! The functions that a template may call: every filter, test and function of the jinja dialect, in one list.
//!
//! The checker's nearest-name help, the template engine and the reference read it.
//!
//! **Invariant:** nothing here depends on chance, time or the environment, and nothing shows more than the values it is given.

use minijinja::machinery::ast::{Call, Expr};

/// A name that templates know, with its one-line description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name as written.
    pub name: &'static str,
    /// Its effect, in one line.
    pub about: &'static str,
}

const fn builtin(name: &'static str, about: &'static str) -> Builtin {
    Builtin { name, about }
}

/// Filters, by name: `{{ value | filter }}`.
pub const FILTERS: &[Builtin] = &[
    builtin("abs", "the number without its sign"),
    builtin("attr", "the entry of a mapping under the given key"),
    builtin("batch", "a list of lists of the given length; a second argument fills up the last one"),
    builtin("bool", "whether the value counts as true"),
    builtin("capitalize", "first letter upper case, the others lower case"),
    builtin("count", "the same as `length`"),
    builtin("d", "the same as `default`"),
    builtin("default", "the argument where the value is not set; with `true` as second argument also where it counts as false"),
    builtin("dictsort", "the entries of a mapping as sorted pairs"),
    builtin("first", "the first item"),
    builtin("float", "the value as a decimal"),
    builtin(
        "groupby",
        "the items by the given attribute, as a list of `{grouper, list}`; a loop may name both, `{% for key, group in … %}`",
    ),
    builtin("indent", "the lines after the first moved to the right by the given number of spaces"),
    builtin("int", "the value as an integer"),
    builtin("items", "the entries of a mapping as pairs"),
    builtin("join", "the items as one text, with the argument between them"),
    builtin("last", "the last item"),
    builtin("length", "how many items, entries or characters there are"),
    builtin("lines", "the lines of a text as a list"),
    builtin("list", "the items as a list"),
    builtin("lower", "lower case"),
    builtin("map", "each item through a filter, or its given attribute"),
    builtin("max", "the largest item"),
    builtin("min", "the smallest item"),
    builtin("optional", "nothing where the value is not set; as a whole argument it leaves its key out"),
    builtin("pairs", "the items of a list with their positions from 0, the values of a mapping with their keys"),
    builtin("reject", "the items that fail a test"),
    builtin("rejectattr", "the items whose attribute fails a test"),
    builtin("replace", "the text with every occurrence of the first argument replaced by the second"),
    builtin("reverse", "the items or characters from last to first"),
    builtin("round", "the number rounded to the given places"),
    builtin("select", "the items that pass a test"),
    builtin("selectattr", "the items whose attribute passes a test"),
    builtin("slice", "the items in the given number of lists"),
    builtin("sort", "the items in order"),
    builtin("split", "the parts of a text between the given separators"),
    builtin("string", "the value as it is printed"),
    builtin("sum", "the numbers of a list added up"),
    builtin("title", "each word with a capital letter"),
    builtin("tojson", "the value as JSON; `indent=2` spreads it over lines"),
    builtin("trim", "the text without white space, or the given characters, around it"),
    builtin("unique", "each item once"),
    builtin("upper", "upper case"),
    builtin("values", "the items of a list, or the values of a mapping"),
    builtin("zip", "the items of several lists side by side"),
];

/// Tests, by name: `value is test`.
pub const TESTS: &[Builtin] = &[
    builtin("boolean", "true or false"),
    builtin("defined", "is set"),
    builtin("divisibleby", "is a multiple of the argument"),
    builtin("endingwith", "a text that ends with the argument"),
    builtin("eq", "equals the argument"),
    builtin("equalto", "the same as `eq`"),
    builtin("even", "an even number"),
    builtin("false", "is false itself"),
    builtin("float", "a decimal"),
    builtin("ge", "at least the argument"),
    builtin("greaterthan", "the same as `gt`"),
    builtin("gt", "more than the argument"),
    builtin("in", "one of the argument's items"),
    builtin("int", "the same as `integer`"),
    builtin("integer", "an integer"),
    builtin("iterable", "can be looped over"),
    builtin("le", "at most the argument"),
    builtin("lessthan", "the same as `lt`"),
    builtin("lower", "a text without upper case letters"),
    builtin("lt", "less than the argument"),
    builtin("mapping", "a mapping"),
    builtin("ne", "does not equal the argument"),
    builtin("none", "is null"),
    builtin("number", "a number"),
    builtin("odd", "an odd number"),
    builtin("sequence", "a list"),
    builtin("startingwith", "a text that begins with the argument"),
    builtin("string", "a text"),
    builtin("true", "is true itself"),
    builtin("undefined", "is not set"),
    builtin("upper", "a text without lower case letters"),
];

/// Functions, by name: `function(arguments)`.
pub const FUNCTIONS: &[Builtin] = &[builtin("range", "the integers from 0, or the first argument, up to before the last; at most 10,000")];

/// Filters of `compute` files in addition to [`FILTERS`] (language 9.27).
pub const COMPUTE_FILTERS: &[Builtin] = &[
    builtin("merge", "the mapping with the entries of another one, which win"),
    builtin("without", "the mapping without the entry of the given name, or those of a list of names"),
];

/// Functions of `compute` files in addition to [`FUNCTIONS`].
pub const COMPUTE_FUNCTIONS: &[Builtin] = &[builtin(
    "namespace",
    "entries that loops and conditions may change: `{% set seen = namespace(count=0) %}`, `{% set seen.count = 1 %}`",
)];

/// The names whose values leave a `compute` file.
pub(super) const OUTCOMES: [&str; 2] = ["result", "error"];

/// Returns whether it is `namespace(…)`.
pub(super) fn is_namespace(call: &Call<'_>) -> bool {
    matches!(&call.expr, Expr::Var(name) if name.id == "namespace")
}

/// The vocabulary of a text: that of a template, or of a `compute` file, which has a few names more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// A template.
    Template,
    /// A `compute` file.
    Compute,
}

impl Vocabulary {
    /// Returns the lists of a kind of name: those of every template, and those that a `compute` file adds.
    pub(super) fn lists(kind: &str) -> [&'static [Builtin]; 2] {
        match kind {
            "filter" => [FILTERS, COMPUTE_FILTERS],
            "test" => [TESTS, &[]],
            _ => [FUNCTIONS, COMPUTE_FUNCTIONS],
        }
    }

    /// The names of a kind.
    pub(super) fn names(self, kind: &str) -> impl Iterator<Item = &'static str> {
        let [common, more] = Self::lists(kind);
        names(common).chain(names(if self == Self::Compute { more } else { &[] }))
    }

    /// Returns whether it has a name.
    pub(super) fn has(self, kind: &str, name: &str) -> bool {
        self.names(kind).any(|known| known == name)
    }
}

/// Tests of the kind of a value; they may be applied to an unset value, at any depth.
pub(super) const GUARDS: &[&str] = &[
    "boolean",
    "defined",
    "false",
    "float",
    "int",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "true",
    "undefined",
];

/// The names of `list`.
pub(super) fn names(list: &'static [Builtin]) -> impl Iterator<Item = &'static str> {
    list.iter().map(|builtin| builtin.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_guards_are_tests() {
        for list in [FILTERS, TESTS, FUNCTIONS, COMPUTE_FILTERS, COMPUTE_FUNCTIONS] {
            assert!(list.is_sorted_by_key(|builtin| builtin.name));
        }
        assert!(GUARDS.iter().all(|name| Vocabulary::Template.has("test", name)));
    }
}
