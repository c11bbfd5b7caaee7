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
