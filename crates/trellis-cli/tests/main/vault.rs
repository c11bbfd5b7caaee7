//! `trellis secret`: values that are stored, used by a run, told nowhere, and taken out (language 9.9, 11.1, 11.2).

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::sandbox::{Ran, Sandbox, finish};

/// A tool gets two secrets, prints what it got, and looks for variables that it must not have.
const SHOP: &[(&str, &str)] = &[
    ("trellis.yaml", "name: shop\nbindings: { pay: { process: [sh, ./pay.sh] } }\n"),
    (
        "pay.sh",
        "cat > got\nenv | grep -c '^TRELLIS_VAULT\\|^TRELLIS_SECRET\\|^TRELLIS_KEY\\|^TRELLIS_STORE' > variables\ncat got; cat got >&2\n",
    ),
    ("start.md", "---\ndo: { name: pay, args: { auth: \"Bearer {{secret:till}}\", other: \"{{secret:other.one}}\" } }\nto: end\n---\n"),
    ("end.md", "---\noutput: \"{{ sys.ans }}\"\n---\nPaid: {{ sys.ans }}\n"),
];

const TILL: &str = "till-9f3a \"quoted\"";

fn shop() -> Sandbox {
    let sandbox = Sandbox::new(SHOP);
    for (name, value) in [("till", TILL), ("other.one", "line\nbreak-77")] {
        let ran = sandbox.trellis_with(&["secret", "set", name], &format!("{value}\n"));
        assert_eq!((ran.code, ran.out), (Some(0), format!("{name} was stored in .trellis/vault.json\n")));
    }
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str], more: &[(&str, &str)]) -> Ran {
    finish(sandbox.command(&[&["run", "."], args].concat()).envs(more.iter().copied()).spawn().unwrap())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_run_uses_what_was_stored_and_tells_it_nowhere() {
    let sandbox = shop();
    let ran = run(&sandbox, &["--record", "_record.json"], &[("TRELLIS_VAULT_X", "1"), ("TRELLIS_KEYS", "1")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let got = fs::read_to_string(sandbox.path().join("got")).unwrap();
    assert_eq!(got.trim(), r#"{"auth":"Bearer till-9f3a \"quoted\"","other":"line\nbreak-77"}"#);
    assert_eq!(fs::read_to_string(sandbox.path().join("variables")).unwrap(), "0\n");
    assert!(ran.out.contains(r#"{"auth":"Bearer ***","other":"***"}"#), "{}", ran.out);
    let record = fs::read_to_string(sandbox.path().join("_record.json")).unwrap();
    let shown = sandbox.trellis(&["session", "ls"]).out;
    let store = fs::read(sandbox.path().join(".trellis/sessions.db")).unwrap();
    for text in [ran.out, ran.err, record, shown, String::from_utf8_lossy(&store).into_owned()] {
        assert!(!text.contains("till-9f3a") && !text.contains("break-77"), "{text}");
    }
    // The environment counts first.
    run(&sandbox, &[], &[("TRELLIS_SECRET_TILL", "from-env")]);
    assert!(fs::read_to_string(sandbox.path().join("got")).unwrap().contains("Bearer from-env"));
}

#[test]
fn names_and_days_are_listed_and_names_are_taken_out() {
    let sandbox = shop();
    for (file, rights) in [("vault.json", 0o600), ("vault.key", 0o600)] {
        assert_eq!(mode(&sandbox.path().join(".trellis").join(file)), rights, "{file}");
    }
    assert_eq!(fs::read_to_string(sandbox.path().join(".trellis/.gitignore")).unwrap(), "*\n");
    let listed = sandbox.trellis(&["secret", "ls"]).out;
    assert!(listed.lines().map(|line| line.split_whitespace().next().unwrap()).eq(["other.one", "till"]), "{listed}");
    let json: serde_json::Value = serde_json::from_str(&sandbox.trellis(&["secret", "ls", "--json"]).out).unwrap();
    assert_eq!((&json["secrets"][1]["name"], json["secrets"][1]["day"].as_str().unwrap().len()), (&"till".into(), 10));
    let replaced = sandbox.trellis_with(&["secret", "set", "till"], "newer");
    assert!(replaced.out.starts_with("till was replaced in "), "{replaced:?}");
    let near = sandbox.trellis(&["secret", "rm", "other.one", "tilt"]);
    assert_eq!((near.code, &*near.err), (Some(2), "error: the vault has no secret `tilt`\n  did you mean `till`?\n"));
    assert_eq!(sandbox.trellis(&["secret", "rm", "other.one", "till"]).out, "other.one was removed\ntill was removed\n");
    assert_eq!(sandbox.trellis(&["secret", "ls"]).out, "");
    // A folder that holds no vault yet.
    let empty = Sandbox::new(SHOP).trellis(&["secret", "ls", "--json"]);
    assert_eq!((empty.code, &*empty.out), (Some(0), "{\"secrets\":[]}\n"));
}

#[test]
fn what_is_no_value_and_no_name_is_refused() {
    let sandbox = Sandbox::new(SHOP);
    let set = |args: &[&str], input: &str| {
        let ran = sandbox.trellis_with(&[&["secret", "set"], args].concat(), input);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        ran.err
    };
    assert!(
        set(&["Api Key"], "x").contains("`Api Key` is no name of a secret") && set(&["Api Key"], "x").contains("did you mean `api-key`?")
    );
    assert!(set(&["till"], "").contains("the value is empty") && set(&["till"], "\n").contains("the value is empty"));
    assert!(set(&["till"], &"x".repeat((64 << 10) + 1)).contains("more than 65536 bytes"));
    assert!(set(&["till", "value"], "").contains("unexpected argument"), "a value is never an argument");
    assert!(!sandbox.path().join(".trellis").exists());
    assert_eq!(sandbox.trellis_with(&["secret", "set", "till"], &"x".repeat(64 << 10)).code, Some(0));
}

#[test]
fn a_vault_that_cannot_be_used_is_named_by_each_command_and_kept() {
    let sandbox = shop();
    let key = sandbox.path().join(".trellis/vault.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["secret", "ls"][..], &["secret", "set", "till"], &["secret", "rm", "till"]] {
        let ran = sandbox.trellis_with(args, "x");
        assert!(ran.code == Some(2) && ran.err.contains("run `chmod 600 ") && ran.err.contains("vault.key"), "{args:?}: {ran:?}");
    }
    let ran = run(&sandbox, &[], &[]);
    assert!(ran.code == Some(1) && ran.out.contains("the secret `till` cannot be read: others may read or write"), "{ran:?}");
    // Secrets in the environment need no vault.
    let ran = run(&sandbox, &[], &[("TRELLIS_SECRET_TILL", "a-value"), ("TRELLIS_SECRET_OTHER_ONE", "another")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let checked = sandbox.trellis(&["check", "--host", "."]);
    assert!(checked.code == Some(1) && checked.out.contains("the secret `till` cannot be read"), "{checked:?}");
    fs::remove_file(&key).unwrap();
    let ran = sandbox.trellis_with(&["secret", "set", "till"], "x");
    assert!(ran.code == Some(2) && ran.err.contains("vault.key is not there") && !key.exists(), "{ran:?}");
}

#[test]
fn check_host_names_unknown_secrets_and_those_of_one_variable() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "bindings: { pay: { process: [sh, ./pay.sh] } }\n"),
        ("pay.sh", "cat\n"),
        ("start.md", "---\ndo: { name: pay, args: { a: \"{{secret:api.key}}\", b: [\"{{secret:api-key}}\"] } }\nto: end\n---\n"),
        ("end.md", "Bye.\n"),
    ]);
    assert_eq!(sandbox.trellis(&["check", "."]).code, Some(0));
    let mut command = sandbox.command(&["check", "--host", "--format", "json", "."]);
    let ran = finish(command.env("TRELLIS_SECRET_API_KEY", "x").spawn().unwrap());
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let found: Vec<&str> = json["diagnostics"].as_array().unwrap().iter().map(|found| found["message"].as_str().unwrap()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found.iter().any(|found| found.starts_with("the secrets `api-key` and `api.key` share one variable, `TRELLIS_SECRET_API_KEY`"))
    );
    let start = std::fs::read_to_string(sandbox.path().join("start.md")).unwrap();
    sandbox.write("bad.md", start.replace("api.key", "Bad/Name").as_bytes());
    let ran = sandbox.trellis(&["check", "."]);
    assert!(ran.code == Some(1) && ran.out.contains("`Bad/Name` can be the name of no secret"), "{ran:?}");
    std::fs::remove_file(sandbox.path().join("bad.md")).unwrap();
    let ran = sandbox.trellis(&["check", "--host", "."]);
    assert!(ran.out.contains("the secret `api.key` is not known here") && ran.out.contains("set `TRELLIS_SECRET_API_KEY`"), "{}", ran.out);
}

#[test]
fn the_vault_and_its_key_may_be_elsewhere() {
    let sandbox = Sandbox::new(SHOP);
    let places = [("TRELLIS_VAULT", "far/shop.json"), ("TRELLIS_VAULT_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")];
    for name in ["till", "other.one"] {
        let mut command = sandbox.command(&["secret", "set", name]);
        let mut child = command.envs(places).stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"elsewhere").unwrap();
        assert_eq!(finish(child).code, Some(0));
    }
    assert!(sandbox.path().join("far/shop.json").exists() && !sandbox.path().join("far/shop.key").exists());
    assert_eq!(run(&sandbox, &[], &places).code, Some(0));
    let wrong = run(&sandbox, &[], &[places[0], ("TRELLIS_VAULT_KEY", "AAAA")]);
    assert!(wrong.out.contains("the key in `TRELLIS_VAULT_KEY` has 3 bytes; a key has 32 bytes"), "{wrong:?}");
}
