//! What operators and filters demand of the values that they are given.

use minijinja::machinery::ast::BinOpKind;

use super::machine::hook;

/// What is done with a value that not every kind of value allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// It is looped over, or its items are counted.
    Items,
    /// It is calculated with.
    Number,
    /// Something that is not followed.
    Other,
}

/// What a filter demands of what it is given.
pub(super) fn demand_of(filter: &str) -> Option<Demand> {
    match filter {
        "abs" | "round" => Some(Demand::Number),
        "length" | "count" | "first" | "last" | "list" => Some(Demand::Items),
        hook::USE
        | hook::COMPARE
        | hook::KEEP
        | "default"
        | "d"
        | "optional"
        | "string"
        | "tojson"
        | "bool"
        | "lower"
        | "upper"
        | "title"
        | "trim"
        | "capitalize" => None,
        _ => Some(Demand::Other),
    }
}

/// What an operator demands of both sides. What adds may also join texts or lists, and what divides must not divide by zero.
pub(super) fn demand_of_operator(op: &BinOpKind) -> Option<Demand> {
    match op {
        BinOpKind::Sub | BinOpKind::Mul => Some(Demand::Number),
        BinOpKind::Concat | BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => None,
        _ => Some(Demand::Other),
    }
}
