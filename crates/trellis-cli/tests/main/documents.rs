//! The documents about the program: schemas, completions, manual pages.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Every command, as words.
const COMMANDS: [&str; 43] = [
    "run",
    "check",
    "explain",
    "graph",
    "session",
    "session ls",
    "session show",
    "session replay",
    "session fork",
    "session back",
    "session goto",
    "session set",
    "session approve",
    "session deny",
    "session settle",
    "session dead",
    "session dead ls",
    "session dead show",
    "session dead retry",
    "session dead drop",
    "session check",
    "session export",
    "session rm",
    "session prune",
    "session seal",
    "new",
    "new node",
    "new tools",
    "secret",
    "secret ls",
    "secret rm",
    "secret set",
    "fmt",
    "migrate",
    "serve",
    "mcp",
    "up",
    "test",
    "rename",
    "lsp",
    "schema",
    "completions",
    "man",
];

/// The long options that the help of a command lists.
fn options(command: &str) -> BTreeSet<String> {
    let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = Sandbox::new(&[]).trellis(&args).out;
    let lines = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let options = lines.flat_map(|line| line.split([' ', ',', '=', '['])).filter(|word| word.starts_with("--") && word.len() > 2);
    options.map(ToOwned::to_owned).collect()
}

#[test]
fn every_command_is_known_here() {
    let help = Sandbox::new(&[]).trellis(&["--help"]).out;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed: BTreeSet<&str> = listed.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let known: BTreeSet<&str> = COMMANDS.into_iter().filter(|command| !command.contains(' ')).chain(["help"]).collect();
    assert_eq!(listed, known);
}

/// The page of the program has each command, also those of commands, and each template of `new`, as the program tells of them.
#[test]
fn the_page_of_the_program_has_every_command_and_template() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md")).unwrap();
    let section =
        |command: &str| page.split(&format!("\n## {command}\n")).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let is_there = match words[..] {
            [only] => page.contains(&format!("\n| [`{only}`](")),
            _ => section(words[0]).contains(words[words.len() - 1]),
        };
        assert!(is_there, "`{command}` is not on the page");
    }
    let listed = Sandbox::new(&[]).trellis(&["new", "--list"]).out;
    for (name, about) in listed.lines().map(|line| line.split_once(' ').unwrap()) {
        let row = format!("\n| `{name}` | {} |\n", about.trim());
        assert!(section("new").contains(&row), "the page has no row `{}`", row.trim());
    }
}

/// The language in short is what `explain language` prints, and programs that follow it or `AGENTS.md` meet no command and no option that is not there.
#[test]
fn pages_for_agents_name_commands_that_are_there() {
    let sandbox = Sandbox::new(&[]);
    let language = sandbox.trellis(&["explain", "language"]).out;
    assert_eq!(language, fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/llms.txt")).unwrap());
    assert_eq!(sandbox.trellis(&["new", "--agents"]).code, Some(0));
    let page = fs::read_to_string(sandbox.path().join("AGENTS.md")).unwrap();
    let mut named = 0;
    for line in language.split(['\n', '`']).chain(page.split(['\n', '`'])).filter_map(|line| line.strip_prefix("trellis ")) {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let begins = |command: &&str| words.join(" ").starts_with(&format!("{command} ")) || words.join(" ") == *command;
        let longest = COMMANDS.into_iter().filter(begins).max_by_key(|command| command.len());
        let Some(command) = longest else {
            assert_eq!(words, ["COMMAND", "--help"], "`trellis {line}` is no command");
            continue;
        };
        let known = options(command);
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(known.contains(option.split('=').next().unwrap()), "`trellis {line}`: no {option}");
        }
        named += 1;
    }
    assert!(named > 15, "{named} commands");
}

#[test]
fn schemas_are_printed_for_each_kind_of_file() {
    let sandbox = Sandbox::new(&[]);
    for kind in ["node", "graph", "project", "library", "tools"] {
        let ran = sandbox.trellis(&["schema", kind]);
        let schema: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.code, schema["$schema"].as_str()), (Some(0), Some("http://json-schema.org/draft-07/schema#")), "{kind}");
        assert!(jsonschema::draft7::meta::is_valid(&schema), "{kind}");
    }
    assert_eq!(sandbox.trellis(&["schema"]).out, sandbox.trellis(&["schema", "node"]).out);
    let ran = sandbox.trellis(&["schema", "nodes"]);
    assert!(ran.code == Some(2) && ran.err.contains("a similar value exists: 'node'"), "{ran:?}");
}

#[test]
fn completions_know_every_command_and_option() {
    let sandbox = Sandbox::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox.trellis(&["completions", shell]).out;
        for command in COMMANDS {
            for word in command.split(' ') {
                assert!(script.contains(word), "{shell} does not know `{command}`");
            }
            for option in options(command) {
                let spelled = if shell == "fish" { format!("-l {}", &option[2..]) } else { option.clone() };
                assert!(script.contains(&spelled), "{shell} does not know `{option}` of `{command}`");
            }
        }
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let sandbox = Sandbox::new(&[]);
    sandbox.write("trellis.bash", sandbox.trellis(&["completions", "bash"]).out.as_bytes());
    let complete = |words: &str| {
        let count = words.split(' ').count() - 1;
        let script = format!(
            "source trellis.bash; COMP_WORDS=({}); COMP_CWORD={count}; _trellis trellis \"${{COMP_WORDS[{count}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            words.replace("''", "\"\""),
            count - 1
        );
        let ran = Command::new("bash").args(["--norc", "-c", &script]).current_dir(sandbox.path()).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("trellis ex"), "explain");
    assert_eq!(complete("trellis fmt --ch"), "--check");
    assert_eq!(complete("trellis explain unknown-ta"), "unknown-target");
    assert_eq!(complete("trellis new --template f"), "form");
    assert_eq!(complete("trellis new node --type q"), "question");
    assert_eq!(complete("trellis graph --format do"), "dot");
    assert_eq!(complete("trellis check --deny broken"), "broken-link");
    assert_eq!(complete("trellis session fo"), "fork");
    assert_eq!(complete("trellis session ls --status rolling"), "rolling_back");
}

#[test]
fn every_command_has_a_manual_page_that_says_what_its_help_says() {
    let sandbox = Sandbox::new(&[]);
    assert_eq!(sandbox.trellis(&["man", "--dir", "share/man1"]).code, Some(0));
    let pages: BTreeSet<String> =
        fs::read_dir(sandbox.path().join("share/man1")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    let expected = COMMANDS.map(|command| format!("trellis-{}.1", command.replace(' ', "-")));
    assert_eq!(pages, expected.into_iter().chain(["trellis.1".to_owned()]).collect());
    for command in COMMANDS {
        let page = fs::read_to_string(sandbox.path().join(format!("share/man1/trellis-{}.1", command.replace(' ', "-")))).unwrap();
        let words: Vec<&str> = ["man"].into_iter().chain(command.split(' ')).collect();
        assert_eq!(sandbox.trellis(&words).out, page, "{command}");
        for part in [".TH", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH \"EXAMPLES\"\n.nf\n"] {
            assert!(page.contains(part), "{command}: no {part}");
        }
        for option in options(command) {
            assert!(page.contains(&option.replace('-', "\\-")), "{command}: no {option}");
        }
    }
    let ran = sandbox.trellis(&["man", "chek"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), "error: there is no command `chek`\n  did you mean `check`?\n"));
}

#[test]
fn manual_pages_are_roff_that_a_reader_takes() {
    let sandbox = Sandbox::new(&[]);
    for command in COMMANDS {
        let words: Vec<&str> = ["man"].into_iter().chain(command.split(' ')).collect();
        let page = sandbox.trellis(&words).out;
        // No request but those that are known: a line of text that begins with a dot would vanish.
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            let request = line.split(' ').next().unwrap();
            assert!(
                [".ie", ".el", ".TH", ".SH", ".PP", ".IP", ".TP", ".RS", ".RE", ".br", ".nf", ".fi"].contains(&request),
                "{command}: {line}"
            );
        }
        let Ok(mut reader) = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            continue;
        };
        reader.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let ran = reader.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{command}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains(&format!("trellis {command}")), "{command}");
    }
}
