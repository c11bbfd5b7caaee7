//! The Markdown suite, the blocks of the docs, and their coverage of codes.

use std::{collections::BTreeMap, path::Path, thread};

use trellis_core::Code;
use trellis_tests::harness::{Findings, Mode, run_file, run_tree};

use crate::{HOST_ONLY, repository};

/// The findings of README and docs.
fn docs_findings() -> Findings {
    let mut findings = run_tree(&repository().join("docs"), mode);
    for file in ["README.md", "tests/README.md", LANGUAGE] {
        run_file(&repository().join(file), Mode::Suite, &mut findings);
    }
    findings
}

/// The language in short, which programs that write graphs read whole.
const LANGUAGE: &str = "docs/llms.txt";

/// The page of a code is read as such.
fn mode(path: &Path) -> Mode {
    let in_pages = path.parent().is_some_and(|folder| folder.ends_with("diagnostics"));
    let code = path.file_stem().and_then(|name| Code::named(&name.to_string_lossy()));
    code.filter(|_| in_pages).map_or(Mode::Suite, Mode::Page)
}

#[test]
fn the_language_in_short_is_whole_and_short() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = read(LANGUAGE);
    assert!(text.len() <= 12_288, "{LANGUAGE} has {} bytes", text.len());
    // A block is a file of a graph, or what comes out of it: nothing stands there untried. The commands are tried with the program.
    let fences = text.lines().filter(|line| line.starts_with("```") && line.len() > 3);
    let untried: Vec<_> = fences.filter(|fence| !fence.contains(' ') && !["```transcript", "```sh"].contains(fence)).collect();
    assert!(untried.is_empty(), "{untried:?}");
    // Former names of keys, and what a graph rarely needs.
    let left_out = ["input_options", "tool_call", "output_schema", "x-"];
    for kind in ["node", "project"] {
        let schema: serde_json::Value = serde_json::from_str(&read(&format!("docs/reference/schema/{kind}.json"))).expect("a schema");
        let parts = ["call", "option", "on_invalid", "transition", "approve", "retry", "tool", "predicate"];
        let parts = parts.iter().filter_map(|part| schema["definitions"].get(*part));
        for key in std::iter::once(&schema).chain(parts).flat_map(keys_of).filter(|key| !left_out.contains(&&**key)) {
            let is_there = text.split(|char: char| !char.is_alphanumeric() && char != '_').any(|word| word == key);
            assert!(is_there, "{LANGUAGE} does not have `{key}`");
        }
    }
}

/// The keys of a mapping, in whichever of its forms it has them.
fn keys_of(schema: &serde_json::Value) -> Vec<String> {
    let forms = ["anyOf", "oneOf"].iter().filter_map(|forms| schema[*forms].as_array()).flatten();
    let own = schema["properties"].as_object().into_iter().flat_map(|keys| keys.keys().cloned());
    own.chain(forms.flat_map(keys_of)).collect()
}

/// One test, since both runs count for the codes.
#[test]
fn every_case_comes_out_as_it_says_and_every_code_has_a_failing_and_a_passing_one() {
    let (suite, docs) = thread::scope(|scope| {
        let docs = scope.spawn(docs_findings);
        (run_tree(&repository().join("tests/suite"), |_| Mode::Suite), docs.join().expect("the docs are run"))
    });
    suite.assert_none();
    docs.assert_none();
    assert!(suite.witnesses > 100, "{} witnesses were walked", suite.witnesses);
    let count = |cases: &[&BTreeMap<Code, usize>], code: &Code| cases.iter().filter_map(|cases| cases.get(code)).sum::<usize>();
    let mut missing = Vec::new();
    for code in Code::ALL {
        let failing = count(&[&suite.failing, &docs.failing], code);
        let passing = count(&[&suite.passing, &docs.passing], code);
        if failing == 0 && !HOST_ONLY.contains(code) {
            missing.push(format!("no case shows `{code}`"));
        }
        if passing == 0 {
            missing.push(format!("no clean case is about `{code}`"));
        }
    }
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
}

#[test]
fn what_the_readme_embeds_is_an_example_that_compiles() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (readme, example) = (read("README.md"), read("examples/twenty_lines/src/main.rs"));
    let blocks: Vec<&str> = readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty(), "the README shows how to embed it");
    for block in blocks {
        assert!(example.contains(block), "not in the example:\n{block}");
    }
}
