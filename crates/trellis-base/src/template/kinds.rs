//! Sorts of values: the operands and results of operators and filters.

use minijinja::{
    machinery::ast::{BinOpKind, CompareOpKind},
    value::{Value as Dyn, ValueKind},
};

use super::machine::hook;
use crate::value::Value;

/// A set of sorts of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindSet(u16);

impl KindSet {
    /// No value.
    pub const NONE: Self = Self(0);
    /// Null.
    pub const NULL: Self = Self(1);
    /// True and false.
    pub const TRUTH: Self = Self(2);
    /// Numbers.
    pub const NUMBER: Self = Self(4);
    /// Texts.
    pub const TEXT: Self = Self(8);
    /// Lists.
    pub const LIST: Self = Self(16);
    /// Mappings.
    pub const MAPPING: Self = Self(32);
    /// Any value.
    pub(crate) const ANY: Self = Self(63);
    /// The value may be absent.
    pub const UNSET: Self = Self(64);
    /// A part of it is a path that is read on its own: the demand on it is reported there.
    pub(crate) const READ: Self = Self(128);

    /// The sorts of both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether some sort of `other` is among these.
    pub const fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether all of these are among `other`.
    pub const fn are(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Every sort in it, alone.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..7).map(|bit| Self(1 << bit)).filter(move |sort| self.meet(*sort))
    }

    /// Its number, where it is one.
    pub const fn number(self) -> u8 {
        self.0.trailing_zeros() as u8
    }

    /// Returns its name, if it is one sort.
    pub fn name(self) -> &'static str {
        match self {
            Self::NULL => "null",
            Self::TRUTH => "a boolean",
            Self::NUMBER => "a number",
            Self::TEXT => "a text",
            Self::LIST => "a list",
            Self::MAPPING => "a mapping",
            _ => "not set",
        }
    }

    /// The sort of a value; of none that nothing is set.
    pub fn of_value(value: Option<&Value>) -> Self {
        match value {
            None => Self::UNSET,
            Some(Value::Null) => Self::NULL,
            Some(Value::Bool(_)) => Self::TRUTH,
            Some(Value::Int(_) | Value::UInt(_) | Value::Float(_)) => Self::NUMBER,
            Some(Value::Text(_)) => Self::TEXT,
            Some(Value::List(_)) => Self::LIST,
            Some(Value::Map(_)) => Self::MAPPING,
        }
    }

    /// Returns the names of JSON Schema for them.
    pub fn types(self) -> Vec<&'static str> {
        let named = [
            (Self::NULL, "null"),
            (Self::TRUTH, "boolean"),
            (Self::NUMBER, "number"),
            (Self::TEXT, "string"),
            (Self::LIST, "array"),
            (Self::MAPPING, "object"),
        ];
        named.into_iter().filter(|(sort, _)| self.meet(*sort)).map(|(_, name)| name).collect()
    }

    /// The sort of a constant.
    pub(super) fn of(value: &Dyn) -> Self {
        match value.kind() {
            ValueKind::Undefined => Self::UNSET,
            ValueKind::None => Self::NULL,
            ValueKind::Bool => Self::TRUTH,
            ValueKind::Number => Self::NUMBER,
            ValueKind::String | ValueKind::Bytes => Self::TEXT,
            ValueKind::Seq | ValueKind::Iterable => Self::LIST,
            _ => Self::MAPPING,
        }
    }
}

/// The sorts that a use takes without fail; none where that depends on more than the sort.
pub type Demand = KindSet;

/// The sorts that can be looped over.
pub const LOOPED: Demand = KindSet::LIST.or(KindSet::MAPPING).or(KindSet::TEXT).or(KindSet::NULL);

/// The operands of `- / // %`: a boolean counts as one or zero there.
pub const RECKONED: Demand = KindSet::NUMBER.or(KindSet::TRUTH);

/// The sorts with a length.
const COUNTED: Demand = KindSet::LIST.or(KindSet::MAPPING).or(KindSet::TEXT);

/// The sorts that can contain a value.
pub(super) const HOLDING: Demand = COUNTED;

const PARTED: Demand = KindSet::LIST.or(KindSet::TEXT);

/// Returns the sorts that a filter accepts; `None` if it accepts any. `more` is true if it has arguments, which may reach into the items.
pub(super) fn taken_by(filter: &str, more: bool) -> Option<Demand> {
    Some(match filter {
        hook::USE | hook::COMPARE | hook::KEEP | hook::CONCAT | hook::MAYBE => return None,
        hook::ITEMS | hook::PAIRS | hook::GROUPS => LOOPED,
        "default" | "d" | "optional" | "string" | "tojson" | "bool" | "lower" | "upper" | "title" | "trim" | "capitalize" | "replace"
        | "indent" => return None,
        "int" | "float" if more => return None,
        "abs" | "round" => KindSet::NUMBER,
        "int" | "float" => KindSet::NUMBER.or(KindSet::TRUTH).or(KindSet::NULL),
        "length" | "count" | "first" => COUNTED,
        "last" | hook::SLICE => PARTED,
        "list" | "join" => LOOPED,
        "reverse" => PARTED,
        "sort" | "unique" | "min" | "max" if more => KindSet::NONE,
        "sort" | "unique" | "min" | "max" | "batch" | "slice" => KindSet::LIST,
        "lines" | "split" => KindSet::TEXT,
        "items" | "dictsort" => KindSet::MAPPING,
        _ => KindSet::NONE,
    })
}

/// Returns the sorts of the result of a filter over `input`.
pub(super) fn made_by(filter: &str, input: KindSet) -> KindSet {
    match filter {
        "abs" | "round" | "int" | "float" | "length" | "count" | "sum" => KindSet::NUMBER,
        "bool" => KindSet::TRUTH,
        "upper" | "lower" | "title" | "trim" | "capitalize" | "replace" | "join" | "string" | "tojson" | "indent" | hook::CONCAT => {
            KindSet::TEXT
        }
        "list" | "split" | "lines" | "sort" | "dictsort" | "items" | "batch" | "groupby" | "map" | "select" | "reject" | "selectattr"
        | "rejectattr" | "unique" | "zip" | "slice" => KindSet::LIST,
        "reverse" | hook::SLICE => PARTED,
        hook::ITEMS => input.without(KindSet::UNSET).or(KindSet::LIST),
        hook::PAIRS => KindSet::LIST,
        "optional" | hook::KEEP => input,
        hook::GROUPS => input.without(KindSet::UNSET),
        hook::USE | hook::COMPARE => input.without(KindSet::UNSET),
        hook::MAYBE => input.without(KindSet::UNSET).or(KindSet::NULL),
        _ => KindSet::ANY.or(KindSet::UNSET),
    }
}

/// Returns whether the output of a filter consists of items of its input.
pub(super) fn keeps_items(filter: &str) -> bool {
    matches!(
        filter,
        hook::USE
            | hook::COMPARE
            | hook::KEEP
            | hook::SLICE
            | "sort"
            | "reverse"
            | "unique"
            | "list"
            | "select"
            | "reject"
            | "selectattr"
            | "rejectattr"
    )
}

/// Returns the sorts that an operator accepts on its left and on its right, where `right` is a known operand; `None` for any.
pub(super) fn taken_by_operator(op: &BinOpKind, right: Option<&Dyn>) -> (Option<Demand>, Option<Demand>) {
    match op {
        BinOpKind::Sub => (Some(RECKONED), Some(RECKONED)),
        // A divisor must not be zero.
        BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem
            if right.is_some_and(|right| right.kind() == ValueKind::Number && right.is_true()) =>
        {
            (Some(RECKONED), None)
        }
        BinOpKind::Concat | BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => (None, None),
        BinOpKind::In => (None, Some(HOLDING)),
        _ => (Some(KindSet::NONE), Some(KindSet::NONE)),
    }
}

/// Returns the sorts that a comparison accepts on its right.
pub(super) fn taken_by_comparison(op: CompareOpKind) -> Option<Demand> {
    matches!(op, CompareOpKind::In | CompareOpKind::NotIn).then_some(HOLDING)
}

/// Returns the sorts that adding or multiplying accepts on one side, where `other` is on the other.
pub(super) fn beside(hook: &str, other: KindSet) -> Demand {
    let is = |sort: KindSet| other != KindSet::NONE && other.are(sort);
    match hook {
        _ if is(KindSet::NUMBER) => KindSet::NUMBER,
        // A text is repeated by a number that is not negative.
        hook::MULTIPLY if !other.meet(KindSet::TEXT) => KindSet::NUMBER,
        hook::MULTIPLY => KindSet::NONE,
        _ if is(KindSet::TEXT) => KindSet::TEXT,
        _ if is(KindSet::LIST) => KindSet::LIST,
        _ => KindSet::NONE,
    }
}

/// Returns the sorts of a sum or product of valid operands.
pub(super) fn combined(hook: &str, left: KindSet, right: KindSet) -> KindSet {
    let is_number = |side: KindSet| side.without(KindSet::READ).are(KindSet::NUMBER);
    let (beside_right, beside_left) = (beside(hook, right), beside(hook, left));
    match hook {
        hook::MULTIPLY if is_number(left) && is_number(right) => KindSet::NUMBER,
        hook::MULTIPLY => KindSet::NUMBER.or(KindSet::TEXT),
        _ if beside_right != KindSet::NONE => beside_right,
        _ if beside_left != KindSet::NONE => beside_left,
        _ => KindSet::NUMBER.or(PARTED),
    }
}
