//! Findings on the wire: the serde types of what `check --format json` prints (`docs/reference/cli.md`), for every program that tells them on.
//!
//! ```text
//! Diagnostic + Places ──▶ wire::Diagnostic ─┬─▶ wire::Report     `check --format json`
//! Witness ──▶ wire::Witness                 └─▶ `RELOAD` of JSON Lines
//! ```
//!
//! With the feature `schemars`, [`schema`] is the JSON Schema of a [`Report`], of [`VERSION`]. A version may gain keys and codes: a client ignores those
//! that it does not know. Whatever else changes is another version. So the types are `#[non_exhaustive]`, and are made by constructors and conversions.
//!
//! **Invariant:** no other module writes one of these shapes by hand; each type reads what it writes.

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

/// The version of these shapes, which stands in the `$id` of their schema.
pub const VERSION: u32 = 1;
