//! The page of each flow: its drawing, its commands, and what it says about replacing a part.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{Flow, Played, copy, repository};
use crate::sandbox::{Ran, Sandbox, finish};

const FLOWS: [&str; 3] = ["atod", "chancellor", "toolflow"];

fn page(graph: &str) -> String {
    fs::read_to_string(repository().join("graphs").join(graph).join("README.md")).unwrap()
}

/// The blocks of a language on a page.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    page.split(&format!("```{language}\n")).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_page_of_each_flow_has_its_drawing() {
    for graph in FLOWS {
        let drawing = Flow::copy(graph).trellis(&["graph", "--main", "."]).out;
        assert_eq!(
            blocks(&page(graph), "mermaid"),
            [drawing],
            "graphs/{graph}/README.md: `trellis graph graphs/{graph} --main` draws this"
        );
    }
}

/// Runs a line of a page where it says: beside the folder `graphs`.
fn typed(sandbox: &Sandbox, line: &str) -> Ran {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_trellis"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = sandbox.command_of(Path::new("sh"), &["-c", line]);
    finish(command.env("PATH", path).stdin(Stdio::null()).spawn().unwrap())
}

/// A page tells of three ways: a terminal, JSON Lines, and twenty lines of a program. The last is compiled with the documentation, and run by the
/// tests of the gate.
#[test]
fn the_commands_of_each_page_run() {
    for graph in FLOWS {
        let sandbox = Sandbox::new(&[]);
        copy(&repository().join("graphs").join(graph), &sandbox.path().join("graphs").join(graph));
        let page = page(graph);
        let lines = blocks(&page, "sh").into_iter().filter(|block| !block.contains("export ")).flat_map(str::lines);
        let (mut count, mut finished) = (0, 0);
        for line in lines {
            let ran = typed(&sandbox, line);
            // A page says which of its commands fails or asks; none is refused.
            assert!(matches!(ran.code, Some(0 | 1)) && !ran.err.contains("error["), "{line}: {ran:?}");
            count += usize::from(line.contains("trellis run"));
            finished += usize::from(ran.code == Some(0));
        }
        assert!(count >= 3 && finished >= 2, "{graph}: {count} {finished}");
        assert!(blocks(&page, "rust,no_run")[0].lines().filter(|line| !line.starts_with("# ")).count() <= 20, "{graph}");
    }
}

impl Flow {
    fn wish(&self, prompt: &str) -> Played {
        self.play(&json!({ "user_prompt": prompt, "risk_score": 3 }), &[("TRINITY_TOOLFLOW_FORCE_DECISION", "AUTO_RUN")], &[])
    }

    fn is_clean(&self) {
        let ran = self.trellis(&["check", "--host", "--strict", "."]);
        assert!(ran.code == Some(0) && ["error", "warning", "unchecked"].iter().all(|word| !ran.out.contains(word)), "{ran:?}");
    }
}

/// Who follows the page replaces a skill, a page of knowledge and a predicate: toolflow.
#[test]
fn a_newcomer_makes_toolflow_theirs() {
    let flow = Flow::copy("toolflow");
    let card = "---\ntitle: Greet the house\nbackup: [door.txt]\nrun: [sh, -c, 'echo welcome >door.txt; echo greeted']\nverify: [grep, -q, welcome, door.txt]\n---\nWrites a welcome at the door.\n";
    flow.write("_skills/greet.md", card.as_bytes());
    flow.is_clean();
    let played = flow.wish("greet the whole house");
    assert_eq!((&played.output()["skill_id"], &played.output()["summary"]), (&json!("greet"), &json!("greeted")), "{played:#?}");
    flow.write("lib/prompt_is_vague.jinja", b"{% set result = \"house\" in user_prompt %}\n");
    flow.is_clean();
    assert_eq!(flow.wish("greet the whole house").question()["metadata"]["approval_packet"]["skill_id"], "greet");
}

/// The same: chancellor.
#[test]
fn a_newcomer_makes_chancellor_theirs() {
    let flow = Flow::copy("chancellor");
    let card = "---\ntitle: Greet\nbackup: [door.txt]\nrun: [sh, -c, 'echo welcome >door.txt; echo greeted']\n---\nWrites a welcome at the door.\n";
    flow.write("_skills/skill_greet.md", card.as_bytes());
    flow.write("_docs/merge.md", b"# Merge\n\nHow opinions become one.\n");
    flow.is_clean();
    let give = |flow: &Flow| flow.play_in(&["--store", "memory", "--yes"], Some(&json!({ "command": "greet the house" })), &[], &[]);
    let played = give(&flow);
    let state = played.output();
    assert_eq!(
        (&state["status"], &state["outputs"]["EXECUTE"]["result"]["summary"]),
        (&json!("success"), &json!("greeted")),
        "{played:#?}"
    );
    assert_eq!(state["outputs"]["CONTEXT7"]["MERGE"]["library_id"], "merge.md");
    // Only a skill that was found is in order now.
    flow.edit("trellis.yaml", "enum: [success, skip] } } } }", "enum: [skip] } } } }");
    flow.is_clean();
    assert_eq!(give(&flow).end()["reason"], "rolled_back");
}

/// The same: atod.
#[test]
fn a_newcomer_makes_atod_theirs() {
    let flow = Flow::copy("atod");
    flow.write("_kb/parking.md", b"# Parking\n\nYou pay nothing for parking behind the shop.\n");
    flow.is_clean();
    let reply = |flow: &Flow| flow.play(&json!({ "session_id": "ana", "text": "How do I pay for parking?" }), &[], &[]);
    let said = reply(&flow);
    assert!(said.output()["reply"].as_str().unwrap().contains("behind the shop"), "{said:#?}");
    flow.edit(
        "trellis.yaml",
        "stack: { type: array, items: { type: string } }",
        "stack: { type: array, items: { type: string }, minItems: 1 }",
    );
    flow.is_clean();
    // The goal is done, so the stack is empty: such a state is not valid any more.
    let refused: Value = reply(&flow).end().clone();
    assert_eq!(refused["message"], "the state is not valid");
}
