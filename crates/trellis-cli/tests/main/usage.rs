//! Help, completions, wrong usage.

use crate::sandbox::{SOUND, Sandbox};

#[test]
fn help_shows_examples_for_the_program_and_each_command() {
    let sandbox = Sandbox::new(&[]);
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["check", "--help"],
        &["explain", "--help"],
        &["graph", "--help"],
        &["new", "--help"],
        &["new", "node", "--help"],
        &["fmt", "--help"],
        &["schema", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let ran = sandbox.trellis(args);
        assert_eq!(ran.code, Some(0), "{args:?}");
        assert!(ran.out.contains("Examples:\n  trellis "), "{args:?}: {}", ran.out);
        assert!(!ran.out.contains('\u{1b}'), "{args:?} is styled on a pipe");
    }
}

#[test]
fn no_command_shows_help_and_is_wrong_usage() {
    let ran = Sandbox::new(&[]).trellis(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("Usage: trellis"), "{}", ran.err);
}

#[test]
fn a_misspelled_command_or_option_is_wrong_usage() {
    for args in [&["chek"][..], &["check", "--formt", "json"], &["graph", "--format", "png"]] {
        let ran = Sandbox::new(&[]).trellis(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.err.contains("tip:") || ran.err.contains("possible values"), "{}", ran.err);
    }
}

#[test]
fn a_missing_path_is_wrong_usage_for_every_command() {
    for command in ["check", "graph", "run", "fmt"] {
        let ran = Sandbox::new(&[]).trellis(&[command, "nowhere"]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(2), "", "error: there is no `nowhere`\n"), "{command}");
    }
}

#[test]
fn a_misspelt_path_names_the_nearest() {
    let sandbox = Sandbox::new(&[("graphs/tour/start.md", "Hi.\n"), ("Cargo.toml", "")]);
    for (path, near) in [("grphs", "graphs"), ("graphs/tuor", "graphs/tour"), ("./graphs/tour/strat.md", "./graphs/tour/start.md")] {
        let ran = sandbox.trellis(&["check", path]);
        let expected = format!("error: there is no `{path}`\n  did you mean `{near}`?\n");
        assert_eq!((ran.code, ran.err.as_str()), (Some(2), expected.as_str()));
    }
}

#[test]
fn examples_name_graphs_and_nodes_that_exist() {
    let sandbox = Sandbox::new(&[]);
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let session = ["ls", "show", "replay", "fork", "back", "goto", "set", "check", "export", "rm", "prune", "seal"];
    let commands = ["run", "check", "explain", "graph", "session", "secret", "new", "fmt", "schema"].map(|command| vec![command]);
    let mut named = 0;
    for command in commands.into_iter().chain(session.map(|command| vec!["session", command])).chain([vec![]]) {
        let help = sandbox.trellis(&[&command[..], &["--help"]].concat());
        assert_eq!(help.code, Some(0), "{command:?}");
        for line in help.out.lines().map(str::trim).filter(|line| line.starts_with("trellis ")) {
            let words: Vec<_> = line.split_whitespace().collect();
            for (at, word) in words.iter().enumerate() {
                if word.starts_with("graphs/") {
                    assert!(repository.join(word).exists(), "{line}");
                    named += 1;
                }
                let node = match *word {
                    "--at" if words[2].starts_with("graphs/") => words.get(at + 1),
                    "goto" => words.get(at + 2),
                    _ => None,
                };
                if let Some(node) = node {
                    assert!(repository.join("graphs/support").join(format!("{node}.md")).exists(), "{line}");
                    named += 1;
                }
            }
        }
    }
    assert!(named > 15, "{named}");
}

#[test]
#[cfg(target_os = "linux")]
fn help_that_cannot_be_written_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [&["--help"][..], &["check", "-h"], &["--version"]] {
        let ran = crate::sandbox::finish(Sandbox::new(&[]).command(args).stdout(full()).spawn().unwrap());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.err.starts_with("error: standard output cannot be written"), "{ran:?}");
    }
}

#[test]
fn colours_are_for_terminals_or_when_forced() {
    let sandbox = Sandbox::new(SOUND);
    let explain = |name, value| {
        let child = sandbox.command(&["explain", "unknown-target"]).env(name, value).spawn().unwrap();
        crate::sandbox::finish(child).out
    };
    let forced = explain("CLICOLOR_FORCE", "1");
    assert!(forced.contains("\u{1b}[1m"), "{forced:?}");
    let plain = explain("NO_COLOR", "1");
    assert!(plain.starts_with("# unknown-target\n"), "{plain:?}");
}
