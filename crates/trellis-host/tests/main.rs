//! The host from end to end: graphs compiled in memory, real processes, consoles over bytes.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "main/approval.rs"]
mod approval;
#[path = "main/assembled.rs"]
mod assembled;
#[path = "main/blocking.rs"]
mod blocking;
#[path = "main/bounds.rs"]
mod bounds;
#[path = "main/budget.rs"]
mod budget;
#[path = "main/children/mod.rs"]
mod children;
#[path = "main/clicks.rs"]
mod clicks;
#[cfg(all(feature = "model", feature = "sqlite"))]
#[path = "main/contracts.rs"]
mod contracts;
#[path = "main/dead.rs"]
mod dead;
#[path = "main/decide.rs"]
mod decide;
#[path = "main/described.rs"]
mod described;
#[path = "main/exported.rs"]
mod exported;
#[path = "main/forging.rs"]
mod forging;
#[path = "main/functions.rs"]
mod functions;
#[path = "main/gated.rs"]
mod gated;
#[path = "main/history.rs"]
mod history;
#[path = "main/holds.rs"]
mod holds;
#[path = "main/hooks.rs"]
mod hooks;
#[cfg(feature = "http")]
#[path = "main/http/mod.rs"]
mod http;
#[path = "main/interrupted.rs"]
mod interrupted;
#[path = "main/json.rs"]
mod json;
#[path = "main/keys.rs"]
mod keys;
#[cfg(feature = "reload")]
#[path = "main/live.rs"]
mod live;
#[path = "main/memory.rs"]
mod memory;
#[path = "main/numbers.rs"]
mod numbers;
#[cfg(all(feature = "telemetry", feature = "metrics"))]
#[path = "main/observed.rs"]
mod observed;
#[path = "main/older.rs"]
mod older;
#[path = "main/others.rs"]
mod others;
#[path = "main/parts.rs"]
mod parts;
#[path = "main/policy.rs"]
mod policy;
#[path = "main/policy_keys.rs"]
mod policy_keys;
#[path = "main/redaction.rs"]
mod redaction;
#[path = "main/requests.rs"]
mod requests;
#[path = "main/session.rs"]
mod session;
#[path = "main/sessions.rs"]
mod sessions;
#[cfg(all(feature = "telemetry", feature = "metrics"))]
#[path = "main/spans/mod.rs"]
mod spans;
#[path = "main/spoken.rs"]
mod spoken;
#[cfg(feature = "sqlite")]
#[path = "main/sql.rs"]
mod sql;
#[path = "main/stage.rs"]
mod stage;
#[path = "main/stored.rs"]
mod stored;
#[path = "main/text.rs"]
mod text;
#[path = "main/tools.rs"]
mod tools;
#[path = "main/troubled.rs"]
mod troubled;
#[path = "main/two_runs.rs"]
mod two_runs;
#[path = "main/typed.rs"]
mod typed;
#[path = "main/values.rs"]
mod values;
#[path = "main/veil.rs"]
mod veil;
#[path = "main/waking.rs"]
mod waking;
#[path = "main/wire.rs"]
mod wire;
