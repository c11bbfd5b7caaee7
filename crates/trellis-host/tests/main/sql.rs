//! Statements over a database that run too long, or reach for more than the file (language 9.26).

use std::path::Path;

use trellis_core::{ToolError, ToolOutcome, Value, engine::ToolErrorKind, state::PendingCall};
use trellis_host::{
    Bindings,
    binding::{Caller, Host},
};

use crate::stage::{program, run};

/// Asks a database of one table `t` with one row for this statement.
fn ask(folder: &Path, sql: &str, beside: &str, timeout: Option<u64>) -> Result<Value, ToolError> {
    std::fs::write(folder.join("init.sql"), "create table t (x integer);\ninsert into t values (1);\n").unwrap();
    ask_of(folder, sql, &format!("database: shop.db, init: init.sql, {beside}"), timeout)
}

fn ask_of(folder: &Path, sql: &str, keys: &str, timeout: Option<u64>) -> Result<Value, ToolError> {
    let project =
        format!("bindings:\n  t:\n    builtin: sql.query\n    sql: {}\n    {}\n", Value::text(sql).to_json(), keys.replace(", ", "\n    "));
    let program = program(&[("trellis.yaml", &project), ("start.md", "---\ndo: t\n---\n")]);
    let (bindings, found) = Bindings::new(&program, folder, &Host::new());
    assert!(found.is_empty(), "{found:#?}");
    let json = r#"{"id":"c1","name":"t","role":"do","node":"start","args":{},"idempotency_key":"k1","attempt":1}"#;
    let call = PendingCall { timeout, ..serde_json::from_str(json).unwrap() };
    match run(bindings.call(&program, &call, &Caller::new("s".into(), "g".into(), |_| {}))).outcome {
        ToolOutcome::Success(value) => Ok(value),
        ToolOutcome::Error(error) => Err(error),
        ToolOutcome::Denied(why) => panic!("{why:?}"),
    }
}

/// The runtime of a call ends when its threads have: a statement that went on would keep the test from ending.
#[test]
fn a_statement_without_end_is_broken_off_at_its_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let error = ask(folder.path(), endless, "effect: none", Some(200)).unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout, "{error:?}");
    assert!(error.message.contains("took longer than"), "{error:?}");
    assert_eq!(ask(folder.path(), "select x from t", "effect: none", Some(10_000)).unwrap().to_json(), r#"[{"x":1}]"#);
}

#[test]
fn no_statement_reaches_beyond_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let code = |error: &ToolError| (error.code.as_ref().and_then(Value::as_str).map(str::to_owned), error.is_final);
    for beside in ["effect: none", "write: true, effect: irreversible"] {
        for sql in [
            "pragma journal_mode = wal",
            "pragma table_info(t)",
            "select * from pragma_database_list",
            "attach 'other.db' as other",
            "detach main",
            "vacuum",
            "vacuum into 'other.db'",
            "select load_extension('./evil')",
        ] {
            let error = ask(folder.path(), sql, beside, None).unwrap_err();
            assert_eq!(code(&error), (Some("sql".to_owned()), true), "{sql}: {error:?}");
        }
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["init.sql", "shop.db"]);
    assert_eq!(ask(folder.path(), "select x from t", "effect: none", None).unwrap().to_json(), r#"[{"x":1}]"#);
}

#[test]
fn no_script_that_makes_a_database_reaches_beyond_it() {
    for sql in ["pragma journal_mode = wal;", "attach 'other.db' as other;", "vacuum;", "select load_extension('./evil');"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.sql"), format!("create table t (x);\n{sql}\n")).unwrap();
        let error = ask_of(folder.path(), "select x from t", "database: shop.db, init: bad.sql, effect: none", None).unwrap_err();
        assert!(error.is_final && error.message.contains("does not make a database"), "{sql}: {error:?}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["bad.sql"], "{sql}");
    }
}
