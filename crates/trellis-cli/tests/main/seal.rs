//! `trellis session seal`: keys from the first one to the one that goes. And servers that may forget.

use std::fs;

use serde_json::Value as Json;

use crate::{
    sandbox::{Ran, Sandbox},
    servers,
};

const ASKS: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: again\n---\nYour name?\n"),
    ("again.md", "---\ninput_type: text\nsave_to: city\nto: end\n---\nAnd your city, {{ name }}?\n"),
    ("end.md", "{{ name }} of {{ city }}.\n"),
];

fn run(sandbox: &Sandbox, name: &str, input: &str) -> Ran {
    let mut command = sandbox.command(&["run", ".", "--session", name]);
    command.env("TRELLIS_KEY_FILE", "shop.keys").stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    crate::sandbox::finish(child)
}

fn session(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut command = sandbox.command(&[&["session"], args].concat());
    let ran = crate::sandbox::finish(command.env("TRELLIS_KEY_FILE", "shop.keys").spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.out
}

#[test]
fn a_key_is_made_exchanged_and_goes() {
    let sandbox = Sandbox::new(ASKS);
    sandbox.trellis_with(&["run", ".", "--session", "clear"], "Ana\n");
    // The first key: the file is made, what is kept is sealed.
    let made = session(&sandbox, &["seal", "--new-key"]);
    let first = made.split(' ').next().unwrap().to_owned();
    assert_eq!(made, format!("{first} is the first key of shop.keys\n1 session sealed, 0 were already\n"));
    assert_eq!(run(&sandbox, "ana", "Ana\n").code, Some(1));
    assert_eq!(session(&sandbox, &["seal"]), "0 sessions sealed, 2 were already\n");
    assert_eq!(session(&sandbox, &["seal", "--needed"]), format!("{first}  seals; 2 sessions need it\nrecords in the clear: 1 session\n"));
    // Another one.
    let made = session(&sandbox, &["seal", "--new-key"]);
    let second = made.split(' ').next().unwrap().to_owned();
    assert_eq!(made, format!("{second} is the first key of shop.keys\n2 sessions sealed, 0 were already\n"));
    let needed: Json = serde_json::from_str(&session(&sandbox, &["seal", "--needed", "--json"])).unwrap();
    let expected = serde_json::json!({
        "keys": [{"key": second, "in_file": true, "sessions": 2}, {"key": first, "in_file": true, "sessions": 2}], "seals": second, "clear": 1,
    });
    assert_eq!(needed, expected);
    // Histories are cut, the old key is needed no more, and its line goes.
    session(&sandbox, &["prune", "--keep-records", "1"]);
    let needed = session(&sandbox, &["seal", "--needed"]);
    assert_eq!(needed, format!("{second}  seals; 2 sessions need it\n{first}  no session here needs it: its line can go\n"));
    let keys = fs::read_to_string(sandbox.path().join("shop.keys")).unwrap();
    let newest: String = keys.lines().take(1).map(|line| format!("{line}\n")).collect();
    fs::write(sandbox.path().join("shop.keys"), newest).unwrap();
    for name in ["clear", "ana"] {
        let over = run(&sandbox, name, "Recife\n");
        assert_eq!(over.code, Some(0), "{over:?}");
        assert!(over.out.contains("Ana of Recife."), "{}", over.out);
    }
    assert!(!keys.contains("Ana"));
    let error = sandbox.trellis(&["session", "seal"]);
    assert_eq!((error.code, &*error.err), (Some(2), "error: which key file? `--key-file FILE` or `TRELLIS_KEY_FILE` names it\n"));
}

#[test]
fn a_key_can_be_made_before_there_is_a_session_and_one_that_is_missing_is_named() {
    let sandbox = Sandbox::new(ASKS);
    assert!(session(&sandbox, &["seal", "--new-key"]).ends_with("0 sessions sealed, 0 were already\n"));
    assert!(!sandbox.path().join(".trellis").exists());
    assert_eq!(run(&sandbox, "ana", "Ana\n").code, Some(1));
    fs::remove_file(sandbox.path().join("shop.keys")).unwrap();
    session(&sandbox, &["seal", "--key-file", "other.keys", "--new-key", "--store", "memory"]);
    let ran = sandbox.trellis(&["session", "seal", "--key-file", "other.keys"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.starts_with("ana  is not sealed: ") && ran.out.contains("which is not in other.keys"), "{}", ran.out);
    let needed = sandbox.trellis(&["session", "seal", "--key-file", "other.keys", "--needed"]);
    assert!(needed.out.ends_with("  1 session needs it, and it is not in the file\n"), "{}", needed.out);
}

#[test]
fn who_writes_to_a_server_that_may_forget_is_warned_once() {
    let server = servers::Redis::start_with("appendonly no\n");
    let sandbox = Sandbox::new(ASKS);
    let url = server.url("t");
    let ran = |args: &[&str]| crate::sandbox::finish(sandbox.command(args).env("TRELLIS_STORE", &url).spawn().unwrap());
    let warning = "warning: the server may lose sessions that it said to keep\n  `appendonly` is `no`: a crash of the server loses sessions; set it to `yes`\n";
    let begun = ran(&["run", ".", "--session", "ana", "--json"]);
    assert_eq!(begun.err.matches(warning).count(), 1, "{begun:?}");
    assert!(!begun.out.contains("appendonly"));
    for (args, warns) in [
        (&["run", ".", "--all"][..], 1),
        (&["session", "set", "ana", "city=Recife"], 1),
        (&["session", "ls"], 0),
        (&["session", "show", "ana"], 0),
    ] {
        let ran = ran(args);
        assert_eq!((ran.code, ran.err.matches(warning).count()), (Some(0), warns), "{args:?}: {ran:?}");
        assert!(!ran.err.contains(servers::PASSWORD) && !ran.out.contains(servers::PASSWORD));
    }
}

#[test]
fn an_address_that_wants_tls_says_what_to_do() {
    let sandbox = Sandbox::new(ASKS);
    for url in ["rediss://:geheim@host", "postgres://me:geheim@host/db?sslmode=require"] {
        let ran = crate::sandbox::finish(sandbox.command(&["run", "."]).env("TRELLIS_STORE", url).spawn().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("which is not offered: lead it through a tunnel (`stunnel`, `ssh -L`)"), "{}", ran.err);
        assert!(!ran.err.contains("geheim"), "{}", ran.err);
    }
}
