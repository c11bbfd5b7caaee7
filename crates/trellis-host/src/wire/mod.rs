//! Sessions on the wire: the serde types of everything that JSON Lines, HTTP and other doors print and take (`docs/reference/json-lines.md`).
//!
//! ```text
//! sessions::Turn, Stop, SessionEvent ──▶ wire::Turn, Stop, SessionEvent ──▶ {"type": …, "payload": …}
//! {"input": …, "seq": …} ──▶ wire::Reply ──▶ sessions::Sent
//! ```
//!
//! A [`Turn`] is the stop of a session, a [`Stop`] its need, a [`SessionEvent`] an event in between, and a [`Reply`] an input of a client. Findings
//! have their types in `trellis_project::wire`. With the feature `schemars`, [`schema`] is the JSON Schema of all of them, of [`VERSION`].
//!
//! A version may gain types of lines, keys that may be missing, and codes: a client ignores those that it does not know. Any other change is
//! another version. So the types are `#[non_exhaustive]`, and are made by constructors and conversions.
//!
//! **Invariant:** no other module writes or reads one of these shapes by hand; each type reads its own output.

mod call;
mod code;
#[cfg(feature = "schemars")]
mod constraints;
#[cfg(feature = "history")]
mod dead;
mod end;
mod event;
mod outcome;
mod reply;
#[cfg(feature = "schemars")]
mod schema;
mod stop;
mod turn;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use trellis_core::Value;

#[cfg(feature = "history")]
pub use self::dead::DeadLetter;
#[cfg(feature = "schemars")]
pub use self::schema::schema;
pub use self::{
    call::{Approval, Branch, Call, CallKind, PartName, Role, SecretPlace},
    end::{End, EndReason, FailurePlace, LastingEffect, Rollback, UndoFailure},
    event::{Delta, Line, PolicyDecision, Progress, Refusal, Reload, ReloadStatus, SessionEvent},
    outcome::{BadOutcome, CallResult, ErrorKind},
    reply::{BadReply, PredicateLine, Reply},
    stop::{
        ApprovalQuestion, Choice, InputQuestion, InputType, KeepQuestion, KeysQuestion, PredicateQuestion, Running, RunningCall, Sleeping,
        Stop,
    },
    turn::{BoundUse, BudgetUse, Said, Turn, TurnLine, Waiting},
};

/// The version of these shapes, which is part of the `$id` of their schema.
pub const VERSION: u32 = 1;

/// Reads a value that is present under its key, null included.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A value as a type, or why it is none.
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_str(&value.to_json()).map_err(|error| {
        let error = error.to_string();
        error.split_once(" at line").map_or(&*error, |(why, _)| why).to_owned()
    })
}
