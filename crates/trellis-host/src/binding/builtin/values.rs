//! `values.get`, `values.put`, `values.append`, `values.delete`: versioned values by key, in a SQLite file (language 9.24).
//!
//! Each write is one transaction, and is recorded under the key of its call: made again within seven days, it is the success that it was. A value
//! whose time is over is absent.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use trellis_core::{Mapping, ToolError, Value, syntax::duration};

use super::{BuiltinConfig, Request, Tool, final_error, number, sql::BUSY_TIMEOUT, store_error, text};
use crate::binding::{Obstacle, kind::Site};

/// The default file, below the folder of the project file.
const STORE: &str = ".trellis/values.db";

/// The default space.
const SPACE: &str = "default";

/// The default number of items that a list keeps.
const KEEP: u64 = 100;

/// Bytes of one value, as JSON.
const MAX_VALUE: u64 = 16 << 20;

/// Time that a write is remembered under the key of its call.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

const SCHEMA: &str = "
    create table if not exists entries (
        space text not null, key text not null, value text not null, version integer not null, expires integer,
        primary key (space, key)
    ) without rowid;
    create table if not exists writes (call text primary key, version integer not null, at integer not null) without rowid;
    create index if not exists writes_by_time on writes (at);
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Get,
    Put,
    Append,
    Delete,
}

#[derive(Debug)]
pub(super) struct ValueTool {
    operation: Operation,
    file: PathBuf,
    space: String,
    default: Option<Value>,
}

/// A value that exists.
struct VersionedValue {
    value: Value,
    version: u64,
}

impl ValueTool {
    /// Returns the builtin of a name; `None` if it is none of these.
    pub(super) fn named(name: &str, config: BuiltinConfig, site: &Site<'_>) -> Option<Self> {
        let operation = match name {
            "values.get" => Operation::Get,
            "values.put" => Operation::Put,
            "values.append" => Operation::Append,
            "values.delete" => Operation::Delete,
            _ => return None,
        };
        let file = site.folder.join(config.store.unwrap_or_else(|| STORE.into()));
        let space = config.space.unwrap_or_else(|| SPACE.to_owned());
        Some(Self { operation, file, space, default: site.config.get("default").cloned() })
    }

    fn open(&self) -> Result<Connection, ToolError> {
        let failed = |why: String| store_error(format!("`{}` cannot be used: {why}", self.file.display()));
        if let Some(folder) = self.file.parent().filter(|folder| !folder.is_dir()) {
            fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
            if folder.ends_with(".trellis") {
                fs::write(folder.join(".gitignore"), "*\n").map_err(|error| failed(error.to_string()))?;
            }
        }
        let open = || {
            let connection = Connection::open(&self.file)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.execute_batch(SCHEMA)?;
            Ok(connection)
        };
        open().map_err(|error: rusqlite::Error| failed(error.to_string()))
    }

    fn failed(&self, error: &rusqlite::Error) -> ToolError {
        store_error(format!("`{}` cannot be used: {error}", self.file.display()))
    }

    fn entry(&self, connection: &Connection, key: &str, now: i64) -> Result<Option<VersionedValue>, ToolError> {
        let mut statement = connection
            .prepare_cached("select value, version from entries where space = ?1 and key = ?2 and (expires is null or expires > ?3)")
            .map_err(|error| self.failed(&error))?;
        let row =
            statement.query_row(params![self.space, key, now], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))).optional();
        let Some((json, version)) = row.map_err(|error| self.failed(&error))? else { return Ok(None) };
        let value = Value::from_json(&json).map_err(|error| store_error(format!("the value of `{key}` cannot be read: {error}")))?;
        Ok(Some(VersionedValue { value, version: version.unsigned_abs() }))
    }

    fn get(&self, key: &str, now: i64) -> Result<Value, ToolError> {
        let found = if self.file.exists() { self.entry(&self.open()?, key, now)? } else { None };
        match (found, &self.default) {
            (Some(VersionedValue { value, version }), _) => Ok(Value::map([("value", value), ("version", Value::from(version))])),
            (None, Some(default)) => Ok(Value::map([("value", default.clone()), ("version", Value::Int(0))])),
            (None, None) => Err(final_error("not_found", format!("there is no value `{key}` in the space `{}`", self.space))),
        }
    }

    fn write(&self, request: Request<'_>, now: i64) -> Result<Value, ToolError> {
        let mut connection = self.open()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| self.failed(&error))?;
        let version = match self.written(&transaction, request)? {
            Some(version) => version,
            None => self.change(&transaction, request, now)?,
        };
        transaction.commit().map_err(|error| self.failed(&error))?;
        Ok(Value::map([("version", Value::from(version))]))
    }

    /// The version that the call wrote before.
    fn written(&self, transaction: &Transaction<'_>, request: Request<'_>) -> Result<Option<u64>, ToolError> {
        let query = "select version from writes where call = ?1";
        let version = transaction.query_row(query, [request.key.as_str()], |row| row.get::<_, i64>(0)).optional();
        Ok(version.map_err(|error| self.failed(&error))?.map(i64::unsigned_abs))
    }

    fn change(&self, transaction: &Transaction<'_>, request: Request<'_>, now: i64) -> Result<u64, ToolError> {
        let (args, key) = (request.args, text(request.args, "key"));
        let before = self.entry(transaction, key, now)?;
        let version = before.as_ref().map_or(0, |entry| entry.version);
        if let Some(expected) = number(args, "expected").filter(|expected| *expected != version) {
            let is = if version == 0 { "it is absent".to_owned() } else { format!("it has version {version}") };
            let error = final_error("conflict", format!("`{key}` is not as expected: version {expected} was meant, {is}"));
            return Err(ToolError { data: Some(Value::map([("version", Value::from(version))])), ..error });
        }
        let next = match self.operation {
            Operation::Delete => {
                let delete = "delete from entries where space = ?1 and key = ?2";
                transaction.execute(delete, params![self.space, key]).map_err(|error| self.failed(&error))?;
                0
            }
            _ => {
                let value = self.changed(args, key, before)?;
                let expires = expires(args, now)?;
                let put = "insert or replace into entries (space, key, value, version, expires) values (?1, ?2, ?3, ?4, ?5)";
                let next = version + 1;
                let row = params![self.space, key, value, i64::try_from(next).unwrap_or(i64::MAX), expires];
                transaction.execute(put, row).map_err(|error| self.failed(&error))?;
                next
            }
        };
        let remembered = now - i64::try_from(REMEMBERED.as_millis()).unwrap_or(i64::MAX);
        let remember = || {
            transaction.execute("delete from writes where at < ?1", [remembered])?;
            transaction.execute(
                "insert into writes (call, version, at) values (?1, ?2, ?3)",
                params![request.key.as_str(), i64::try_from(next).unwrap_or(i64::MAX), now],
            )
        };
        remember().map_err(|error| self.failed(&error))?;
        Ok(next)
    }

    /// The value after a put or an append, as JSON.
    fn changed(&self, args: &Mapping, key: &str, before: Option<VersionedValue>) -> Result<String, ToolError> {
        let value = match self.operation {
            Operation::Append => {
                let mut items = match before.map(|entry| entry.value) {
                    Some(Value::List(items)) => items.iter().cloned().collect(),
                    None => Vec::new(),
                    Some(other) => {
                        return Err(final_error("conflict", format!("`{key}` holds {}, nothing can be appended to it", other.kind())));
                    }
                };
                items.push(args.get("item").cloned().unwrap_or_default());
                let keep = usize::try_from(number(args, "keep").unwrap_or(KEEP)).unwrap_or(usize::MAX);
                Value::list(items.split_off(items.len().saturating_sub(keep)))
            }
            _ => args.get("value").cloned().unwrap_or_default(),
        };
        match value.size() {
            size if size > MAX_VALUE => Err(final_error(
                "limit",
                format!("the value of `{key}` would be {size} bytes, more than the {MAX_VALUE} that one may have"),
            )),
            _ => Ok(value.to_json()),
        }
    }
}

impl Tool for ValueTool {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        match self.operation {
            Operation::Get => self.get(text(request.args, "key"), now),
            _ => self.write(request, now),
        }
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let is_none = self.file.exists() && !self.file.is_file();
        let obstacle = || Obstacle::new("store", format!("`{}` is no file", self.file.display())).help("name a file");
        is_none.then(obstacle).into_iter().collect()
    }
}

/// The time at which a value is over, in milliseconds since 1970.
fn expires(args: &Mapping, now: i64) -> Result<Option<i64>, ToolError> {
    let Some(ttl) = args.get("ttl").and_then(Value::as_str) else { return Ok(None) };
    let ttl = duration::parse(ttl).ok_or_else(|| final_error("store", format!("`ttl` is a duration such as `24h`, not `{ttl}`")))?;
    Ok(Some(now.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))))
}

#[cfg(test)]
mod tests {
    use trellis_core::id::IdempotencyKey;

    use super::{super::StopHandle, *};

    struct Space(tempfile::TempDir);

    impl Space {
        fn at(&self, operation: Operation, key: &str, args: &str, now: i64) -> Result<String, ToolError> {
            let file = self.0.path().join(".trellis/values.db");
            let values = ValueTool { operation, file, space: "s".into(), default: None };
            let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args}") };
            let (key, stop) = (IdempotencyKey::new(key), StopHandle::default());
            let request = Request { args: &args, key: &key, stop: &stop };
            let result = if operation == Operation::Get { values.get(text(&args, "key"), now) } else { values.write(request, now) };
            result.map(|value| value.to_json())
        }
    }

    fn code(result: Result<String, ToolError>) -> String {
        result.unwrap_err().code.unwrap().to_string()
    }

    #[test]
    fn a_write_has_a_version_and_is_made_once_under_a_key() {
        let space = Space(tempfile::tempdir().unwrap());
        assert_eq!(code(space.at(Operation::Get, "g", r#"{"key":"k"}"#, 0)), "not_found");
        let put = |key, args| space.at(Operation::Put, key, args, 1);
        assert_eq!(put("a", r#"{"key":"k","value":{"n":1},"expected":0}"#).unwrap(), r#"{"version":1}"#);
        // The same call again, after a crash: the earlier success.
        assert_eq!(put("a", r#"{"key":"k","value":{"n":1},"expected":0}"#).unwrap(), r#"{"version":1}"#);
        let conflict = put("b", r#"{"key":"k","value":2,"expected":0}"#).unwrap_err();
        assert_eq!(conflict.data.unwrap().to_json(), r#"{"version":1}"#);
        assert!(conflict.is_final);
        assert_eq!(put("c", r#"{"key":"k","value":2,"expected":1}"#).unwrap(), r#"{"version":2}"#);
        assert_eq!(space.at(Operation::Get, "g", r#"{"key":"k"}"#, 2).unwrap(), r#"{"value":2,"version":2}"#);
        assert_eq!(space.at(Operation::Delete, "d", r#"{"key":"k"}"#, 3).unwrap(), r#"{"version":0}"#);
        assert_eq!(code(space.at(Operation::Get, "g", r#"{"key":"k"}"#, 4)), "not_found");
        // A key is remembered for seven days.
        let later = i64::try_from(REMEMBERED.as_millis()).unwrap() + 10;
        space.at(Operation::Put, "e", r#"{"key":"x","value":0}"#, later).unwrap();
        assert_eq!(space.at(Operation::Put, "a", r#"{"key":"k","value":7}"#, later).unwrap(), r#"{"version":1}"#);
    }

    #[test]
    fn a_list_keeps_its_last_items_and_a_value_has_a_time() {
        let space = Space(tempfile::tempdir().unwrap());
        for (at, key) in ["a", "b", "c"].into_iter().enumerate() {
            let args = format!(r#"{{"key":"l","item":{at},"keep":2}}"#);
            space.at(Operation::Append, key, &args, 0).unwrap();
        }
        assert_eq!(space.at(Operation::Get, "g", r#"{"key":"l"}"#, 0).unwrap(), r#"{"value":[1,2],"version":3}"#);
        space.at(Operation::Put, "d", r#"{"key":"t","value":true,"ttl":"1s"}"#, 0).unwrap();
        assert!(space.at(Operation::Get, "g", r#"{"key":"t"}"#, 999).is_ok());
        assert_eq!(code(space.at(Operation::Get, "g", r#"{"key":"t"}"#, 1000)), "not_found");
        assert_eq!(code(space.at(Operation::Append, "e", r#"{"key":"t","item":1}"#, 10)), "conflict");
    }
}
