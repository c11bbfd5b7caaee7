//! `sql.query`: one statement of the author's over a SQLite file (language 9.26).
//!
//! Parameters are bound by name, never inserted into the text. A connection lives for one call; it reads only, unless the binding has `write: true`,
//! and knows no other file, no pragma and no extension.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::{
    Batch, Connection, ErrorCode, OpenFlags, Statement, ToSql,
    fallible_iterator::FallibleIterator,
    hooks::{AuthAction, AuthContext, Authorization},
    types::{ToSqlOutput, ValueRef},
};
use trellis_core::{Mapping, ToolError, Value};

use super::{BuiltinConfig, Request, Tool, final_error, store_error};
use crate::binding::{Obstacle, config::ConfigReader, kind::Site};

/// Rows of one result.
const MAX_ROWS: usize = 10_000;

/// Time that a call waits for another writer.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Drafts of databases that this process has begun.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct SqlQuery {
    database: PathBuf,
    init: Option<PathBuf>,
    sql: String,
    may_write: bool,
    one: bool,
}

impl SqlQuery {
    pub(super) fn new(config: BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Self> {
        let BuiltinConfig { database, init, sql, write, one, .. } = config;
        if database.is_none() || sql.is_none() {
            let key = if database.is_none() { "database: data/shop.db" } else { "sql: select …" };
            let message = format!("`sql.query` has no `{}`", key.split(':').next().unwrap_or_default());
            reader.report("builtin", message, Some(format!("write `{key}` beside `builtin: sql.query`")));
        }
        let init = init.map(|init| site.folder.join(init));
        Some(Self { database: site.folder.join(database?), init, sql: sql?, may_write: write, one })
    }

    /// Opens the database, and creates a missing one by `init`.
    fn open(&self) -> Result<Connection, ToolError> {
        if !self.database.exists() {
            self.make()?;
        }
        let access = if self.may_write { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.database, flags).map_err(|error| self.failed(&error))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| self.failed(&error))?;
        connection.authorizer(Some(authorize)).map_err(|error| self.failed(&error))?;
        Ok(connection)
    }

    /// Creates the database under another name first, so that no reader sees half of it.
    fn make(&self) -> Result<(), ToolError> {
        let shown = self.database.display();
        let Some(init) = &self.init else {
            return Err(
                store_error(format!("the database `{shown}` is not there; write `init: FILE` with the SQL that makes it")).finally()
            );
        };
        let sql = fs::read_to_string(init).map_err(|error| store_error(format!("`{}` cannot be read: {error}", init.display())))?;
        let unmade = |error: std::io::Error| store_error(format!("`{shown}` cannot be made: {error}"));
        let folder = self.database.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(unmade)?;
        // A name of its own: calls side by side may all find that there is none.
        let (name, number) = (self.database.file_name().unwrap_or_default().to_string_lossy(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let draft = folder.join(format!(".{name}.{}-{number}", std::process::id()));
        let made = Connection::open(&draft).and_then(|mut connection| {
            connection.authorizer(Some(authorize))?;
            connection.execute_batch(&format!("begin;\n{sql}\n;commit;"))
        });
        let linked =
            made.map_err(|error| final_error("sql", format!("`{}` does not make a database: {error}", init.display()))).and_then(|()| {
                match fs::hard_link(&draft, &self.database) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(unmade(error)),
                    _ => Ok(()),
                }
            });
        let _ = fs::remove_file(&draft);
        linked
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<Vec<Value>, ToolError> {
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let (mut rows, mut found) = (statement.raw_query(), Vec::new());
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            if found.len() == MAX_ROWS {
                return Err(final_error("limit", format!("the query has more than {MAX_ROWS} rows; add `limit`")));
            }
            let mut fields = Mapping::new();
            for (column, name) in names.iter().enumerate() {
                let value = row.get_ref(column).map_err(|error| self.failed(&error))?;
                fields.insert(name.as_str().into(), read(name, value)?);
            }
            found.push(Value::from(fields));
            if self.one {
                break;
            }
        }
        Ok(found)
    }

    fn failed(&self, error: &rusqlite::Error) -> ToolError {
        let shown = self.database.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => store_error(format!("`{shown}` is in use by another program")),
            Some(ErrorCode::CannotOpen | ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied) => {
                store_error(format!("`{shown}` cannot be used: {error}"))
            }
            Some(ErrorCode::ReadOnly) => final_error("sql", WRITES),
            Some(ErrorCode::AuthorizationForStatementDenied) => final_error("sql", NOT_ALLOWED),
            _ => final_error("sql", error.to_string()),
        }
    }
}

impl Tool for SqlQuery {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let connection = self.open()?;
        let interrupt = connection.get_interrupt_handle();
        request.stop.set(move || interrupt.interrupt());
        let mut batch = Batch::new(&connection, &self.sql);
        let mut next = || batch.next().map_err(|error| self.failed(&error));
        let Some(mut statement) = next()? else { return Err(final_error("sql", "`sql` holds no statement")) };
        if next()?.is_some() {
            return Err(final_error("sql", "`sql` holds more than one statement"));
        }
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).map(|name| name[1..].to_owned());
            let Some(name) = name else { return Err(final_error("sql", "parameters have names: write `:name` in place of `?`")) };
            let value = request.args.get(&name).unwrap_or(&Value::Null);
            statement.raw_bind_parameter(index, BoundParameter(value)).map_err(|error| self.failed(&error))?;
        }
        let rows = self.rows(&mut statement)?;
        Ok(if self.one { rows.into_iter().next().unwrap_or(Value::Null) } else { Value::list(rows) })
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let unread = |place: &str, path: &Path, help: &str| {
            let why = fs::File::open(path).err()?;
            Some(Obstacle::new(place, format!("`{}` cannot be read: {why}", path.display())).help(help))
        };
        match &self.init {
            Some(init) => {
                let unread = unread("init", init, "correct the path, or write the SQL that makes the database");
                unread.map(|found| found.of_file(init)).into_iter().collect()
            }
            None => {
                unread("database", &self.database, "correct the path, or add `init: FILE` with the SQL that makes it").into_iter().collect()
            }
        }
    }
}

/// Steps of SQLite that the statements of a check may take.
const MAX_CHECK_STEPS: i32 = 5_000_000;

/// The reason for the refusal of a statement that looks beyond its file.
const NOT_ALLOWED: &str = "attaching other files, pragmas and extensions are not allowed here";

/// The reason for the refusal of a statement that writes.
pub(in crate::binding) const WRITES: &str = "the statement writes; only a binding with `write: true` may";

/// Returns whether a statement writes, by its first word: also one whose tables are unknown.
pub(in crate::binding) fn begins_to_write(sql: &str) -> bool {
    let mut words = sql.split_whitespace().map(str::to_ascii_lowercase);
    matches!(words.next().as_deref(), Some("insert" | "update" | "delete" | "replace"))
}

/// Returns the first mistake of a statement over an empty database in memory that `init` made, or of `init` itself: its byte, if it is known, and why.
pub(in crate::binding) fn mistake(sql: Option<&str>, init: &str, may_write: bool) -> Option<(Option<usize>, String)> {
    let mut connection = Connection::open_in_memory().ok()?;
    connection.authorizer(Some(authorize)).ok()?;
    let mut steps = 0;
    let stop = move || {
        steps += 1;
        steps > MAX_CHECK_STEPS / 1000
    };
    connection.progress_handler(1000, Some(stop)).ok()?;
    let why = |error: rusqlite::Error, text: &str| match error {
        error if error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) => Some((None, NOT_ALLOWED.to_owned())),
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let at = text.find(&*sql).zip(usize::try_from(offset).ok()).map(|(start, offset)| start + offset);
            Some((at, msg))
        }
        error if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => None,
        error => Some((None, error.to_string())),
    };
    let made = make(&connection, init);
    let Some(sql) = sql else {
        let (begin, error) = made.err()?;
        return why(error, init).map(|(at, message)| (at.or(Some(begin)), message));
    };
    made.ok()?;
    let mut batch = Batch::new(&connection, sql);
    match batch.next() {
        Err(error) => why(error, sql),
        Ok(None) => Some((None, "`sql` holds no statement".to_owned())),
        Ok(Some(statement)) => match batch.next() {
            Ok(Some(_)) => Some((None, "`sql` holds more than one statement".to_owned())),
            Ok(None) | Err(_) => (!may_write && !statement.readonly()).then(|| (None, WRITES.to_owned())),
        },
    }
}

/// Runs statements one by one. An error has the byte at which its statement begins.
fn make(connection: &Connection, init: &str) -> Result<(), (usize, rusqlite::Error)> {
    let (mut batch, mut at) = (Batch::new(connection, init), 0);
    let begin = |at: usize| at + blanks(&init[at..]);
    while let Some(mut statement) = batch.next().map_err(|error| (begin(at), error))? {
        let text = statement.expanded_sql().unwrap_or_default();
        let from = init[at..].find(&*text).map(|found| at + found);
        run(&mut statement).map_err(|error| (begin(from.unwrap_or(at)), error))?;
        at = from.map_or(at, |from| from + text.len());
    }
    Ok(())
}

fn run(statement: &mut Statement<'_>) -> rusqlite::Result<()> {
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// Returns the length of the blanks and comments with which a text of SQL begins.
fn blanks(text: &str) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(|char: char| char.is_whitespace() || char == ';');
        let comment = [("--", "\n"), ("/*", "*/")].into_iter().find_map(|(open, close)| Some((trimmed.strip_prefix(open)?, close)));
        let Some((comment, close)) = comment else { return text.len() - trimmed.len() };
        rest = comment.split_once(close).map_or("", |(_, rest)| rest);
    }
}

/// Allows actions within the file.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        // Full-text search itself needs this.
        AuthAction::Pragma { pragma_name: "data_version", .. } => Authorization::Allow,
        AuthAction::Pragma { .. } => Authorization::Deny,
        AuthAction::Function { function_name: "load_extension" } => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

/// A value as a parameter: lists and mappings as JSON.
struct BoundParameter<'v>(&'v Value);

impl ToSql for BoundParameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let Self(value) = self;
        Ok(match value {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Bool(truth) => ToSqlOutput::from(*truth),
            Value::Int(number) => ToSqlOutput::from(*number),
            // An integer beyond the range of a column.
            Value::UInt(number) => ToSqlOutput::from(number.to_string()),
            Value::Float(number) => ToSqlOutput::from(*number),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::List(_) | Value::Map(_) => ToSqlOutput::from(value.to_json()),
        })
    }
}

fn read(name: &str, value: ValueRef<'_>) -> Result<Value, ToolError> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Int(number)),
        ValueRef::Real(number) if number.is_finite() => Ok(Value::Float(number)),
        ValueRef::Real(number) => Err(final_error("sql", format!("the column `{name}` holds {number}, which is no number here"))),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::text(text)),
            Err(_) => Err(final_error("sql", format!("the column `{name}` holds a text that is not UTF-8"))),
        },
        ValueRef::Blob(_) => Err(final_error("sql", format!("the column `{name}` holds bytes; select a text, such as `hex({name})`"))),
    }
}
