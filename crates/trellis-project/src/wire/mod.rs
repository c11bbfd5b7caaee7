//! Findings on the wire: the serde types of the output of `check --format json` (`docs/reference/cli.md`), for every program that passes them on.
//!
//! ```text
//! Diagnostic + Places ──▶ wire::Diagnostic ─┬─▶ wire::Report     `check --format json`
//! Witness ──▶ wire::Witness                 └─▶ `RELOAD` of JSON Lines
//! ```
//!
//! With the feature `schemars`, [`schema`] is the JSON Schema of a [`Report`], of [`VERSION`]. A version may gain keys and codes: a client ignores
//! those that it does not know. Any other change is another version. So the types are `#[non_exhaustive]`, and are made by constructors and
//! conversions.
//!
//! **Invariant:** no other module writes one of these shapes by hand; each type reads its own output.

mod diagnostic;
mod places;
mod report;
#[cfg(feature = "schemars")]
mod schema;
mod witness;

#[cfg(feature = "schemars")]
pub use self::schema::{definitions, schema};
pub use self::{
    diagnostic::{Diagnostic, Fix, Label, Severity, Span, TextEdit},
    places::{Places, Region},
    report::{Report, Summary},
    witness::{Input, Moment, Outcome, Start, ToolError, Violation, Witness},
};

/// The version of these shapes, which is part of the `$id` of their schema.
pub const VERSION: u32 = 1;
