//! Builtins over documents, SQL and values in a graph (language 9.24–9.26), and what is handed to them that is bad.

use std::{io::Write as _, process::Stdio};

use crate::sandbox::{Ran, Sandbox, finish};

const INIT: &str = "create table orders (id integer primary key, name text);\ninsert into orders (name) values ('lamp'), ('desk');\n";

/// A graph with one call of a builtin, with what a person types as its argument `input`.
fn calls(binding: &str, args: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: given\nto: call\n---\nWell?\n"),
        ("said.md", "---\noutput: \"{{ said }}\"\n---\nGot {{ said | tojson }}\n"),
        ("failed.md", "---\nend: failed\n---\n{{ sys.error.code | default('none') }}: {{ sys.error.message }}\n"),
        ("_data/init.sql", INIT),
    ]);
    sandbox.write("trellis.yaml", format!("bindings:\n  ask: {{ {binding} }}\n").as_bytes());
    let call = format!("---\ndo: {{ name: ask, args: {{ {args} }} }}\nsave_to: said\non_error: failed\nto: said\n---\n");
    sandbox.write("call.md", call.as_bytes());
    sandbox
}

fn sql(more: &str, args: &str) -> Sandbox {
    calls(&format!("builtin: sql.query, database: _data/shop.db, init: _data/init.sql, {more}"), args)
}

fn said(sandbox: &Sandbox, input: &str) -> Ran {
    let mut command = sandbox.command(&["run", ".", "--store", "memory"]);
    let mut child = command.env("TRELLIS_MAX_INPUT_SIZE", "2000000").stdin(Stdio::piped()).spawn().unwrap();
    // A program that ends before it has read everything is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(format!("{input}\n").as_bytes());
    finish(child)
}

fn holds(ran: &Ran, code: i32, part: &str) {
    assert!(ran.code == Some(code) && ran.out.contains(part), "{part}: {ran:?}");
}

// language 9.26
#[test]
fn sql_has_bound_parameters_and_one_statement_that_reads() {
    let by_name = sql("sql: 'select id, name from orders where name = :name'", "name: \"{{ given }}\"");
    holds(&said(&by_name, "desk"), 0, r#"[{"id":2,"name":"desk"}]"#);
    holds(&said(&by_name, "x' or '1'='1"), 0, "Got []");
    holds(&said(&sql("one: true, sql: 'select name from orders where id = 9'", ""), "-"), 0, "Got null");
    // A parameter that is missing is null.
    let gone = sql("one: true, parameters: {type: object, properties: {missing: {}}}, sql: 'select :missing is null as gone'", "");
    holds(&said(&gone, "-"), 0, r#"{"gone":1}"#);
    let two = said(&sql("sql: 'select 1; select 2'", ""), "-");
    assert!(two.code == Some(1) && two.err.contains("error[sql-syntax]: `sql` holds more than one statement"), "{two:?}");
    let writes = "sql: 'insert into orders (name) values (:name)'";
    let refused = said(&sql(writes, "name: \"{{ given }}\""), "x");
    assert!(
        refused.code == Some(1) && refused.err.contains("error[sql-syntax]: the statement writes; only a binding with `write: true` may"),
        "{refused:?}"
    );
    holds(&said(&sql(&format!("write: true, {writes}"), "name: \"{{ given }}\""), "x"), 0, "Got []");
    let attached = said(&sql("sql: \"attach 'other.db' as other\"", ""), "-");
    assert!(
        attached.code == Some(1)
            && attached.err.contains("error[sql-syntax]: attaching other files, pragmas and extensions are not allowed here"),
        "{attached:?}"
    );
    let numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < :upto) select i from n";
    holds(&said(&sql(&format!("sql: '{numbers}'"), "upto: 10001"), "-"), 1, "limit: the query has more than 10000 rows");
}

// language 9.26: calls side by side make a missing database once
#[test]
fn a_missing_database_is_made_once() {
    let sandbox = sql("sql: 'select count(*) as n from orders'", "");
    let parts: Vec<String> = (0..6).map(|part| format!("p{part}: {{ name: ask }}")).collect();
    let call = format!("---\ndo: {{ parallel: {{ {} }} }}\nsave_to: said\non_error: failed\nto: said\n---\n", parts.join(", "));
    sandbox.write("call.md", call.as_bytes());
    holds(&said(&sandbox, "-"), 0, r#""p5":[{"n":2}]"#);
    let left: Vec<_> = std::fs::read_dir(sandbox.path().join("_data")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_database_that_somebody_else_holds_is_named() {
    let sandbox = sql("sql: 'select count(*) as n from orders'", "");
    holds(&said(&sandbox, "-"), 0, r#"[{"n":2}]"#);
    let other = rusqlite::Connection::open(sandbox.path().join("_data/shop.db")).unwrap();
    other.execute_batch("begin exclusive").unwrap();
    holds(&said(&sandbox, "-"), 1, "is in use by another program");
    other.execute_batch("rollback").unwrap();
    holds(&said(&sandbox, "-"), 0, r#"[{"n":2}]"#);
}

// language 9.25
#[test]
fn no_query_breaks_a_search() {
    let sandbox = calls("builtin: documents.search, folder: _docs", "query: \"{{ given }}\"");
    sandbox.write("_docs/lamps.md", "# Lamps\n\nThey give light, near and far.\n".as_bytes());
    sandbox.write("_docs/desks.md", "---\ntitle: Desks\n---\nLamps stand on one.\n".as_bytes());
    for other in ["chairs", "tables", "doors"] {
        sandbox.write(&format!("_docs/{other}.md"), format!("# {other}\n\nNothing else.\n").as_bytes());
    }
    let ran = said(&sandbox, "lamp");
    holds(&ran, 0, "lamps.md");
    assert!(ran.out.find("lamps.md") < ran.out.find("desks.md"), "a title weighs more: {ran:?}");
    for nothing in ["\"", "*", "🦀", "()"] {
        holds(&said(&sandbox, nothing), 0, r#""hits":[]"#);
    }
    holds(&said(&sandbox, "NEAR("), 0, "lamps.md");
    holds(&said(&sandbox, "light AND"), 0, "lamps.md");
    holds(&said(&sandbox, &"desks ".repeat(1 << 17)), 0, "desks.md");
}

#[test]
fn more_documents_than_a_search_takes_are_an_error() {
    let sandbox = calls("builtin: documents.search, folder: _docs", "query: \"{{ given }}\"");
    for n in 0..10_000 {
        sandbox.write(&format!("_docs/{n}.md"), b"word\n");
    }
    holds(&said(&sandbox, "word"), 0, "_docs/0.md".trim_start_matches("_docs/"));
    sandbox.write("_docs/more.md", b"word\n");
    holds(&said(&sandbox, "word"), 1, "limit: ");
}

// language 9.24
#[test]
fn documents_and_values_have_their_errors() {
    let read = calls("builtin: documents.read, folder: _data", "path: \"{{ given }}\"");
    holds(&said(&read, "init.sql"), 0, "create table orders");
    for outside in ["../start.md", "/etc/passwd", "none"] {
        holds(&said(&read, outside), 1, "not_found: there is no document");
    }
    let put = calls("builtin: values.put", "key: \"{{ given }}\", value: { n: 1 }, expected: 0");
    holds(&said(&put, "k"), 0, r#"{"version":1}"#);
    holds(&said(&put, "k"), 1, "conflict: ");
    put.write("trellis.yaml", b"bindings:\n  ask: { builtin: values.get }\n");
    put.write("call.md", b"---\ndo: { name: ask, args: { key: \"{{ given }}\" } }\nsave_to: said\non_error: failed\nto: said\n---\n");
    holds(&said(&put, "k"), 0, r#""n":1"#);
    holds(&said(&put, "other"), 1, "not_found: ");
}
