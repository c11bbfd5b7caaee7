//! The source systems as graphs, on their real parts. Each test works on a copy of a graph of the repository, and cites the place of the source
//! that it holds: `docs/sources.md` has a row for each.

mod atod;
mod chancellor;
mod crash;
mod gate;
mod http;
mod pages;
mod toolflow;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::sandbox::{Sandbox, finish};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of a graph of the repository, without what runs in place have made.
struct Flow(Sandbox);

impl Deref for Flow {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.0
    }
}

/// The lines of a run, and its end.
#[derive(Debug)]
struct Played {
    lines: Vec<Value>,
    code: Option<i32>,
    err: String,
}

impl Flow {
    fn copy(graph: &str) -> Self {
        let flow = Self(Sandbox::new(&[]));
        copy(&repository().join("graphs").join(graph), flow.path());
        flow
    }

    /// Runs it over JSON Lines with a context, variables and answers, and keeps nothing.
    fn play(&self, context: &Value, variables: &[(&str, &str)], answers: &[Value]) -> Played {
        self.play_in(&["--store", "memory"], Some(context), variables, answers)
    }

    fn play_in(&self, options: &[&str], context: Option<&Value>, variables: &[(&str, &str)], answers: &[Value]) -> Played {
        let mut child = self.start(options, context, variables);
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        // A program that ends before it has read everything is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        let ran = finish(child);
        let lines = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Played { lines, code: ran.code, err: ran.err }
    }

    /// Runs it without answers. `hears` gets each line, and says whether the run goes on or is killed.
    fn watch(
        &self,
        options: &[&str],
        context: Option<&Value>,
        variables: &[(&str, &str)],
        hears: &mut dyn FnMut(&Value) -> bool,
    ) -> Played {
        let mut child = self.start(options, context, variables);
        drop(child.stdin.take());
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            lines.push(serde_json::from_str(&line.unwrap()).unwrap());
            if !hears(lines.last().unwrap()) {
                child.kill().unwrap();
                break;
            }
        }
        let ended = child.wait_with_output().unwrap();
        Played { lines, code: ended.status.code(), err: String::from_utf8(ended.stderr).unwrap() }
    }

    /// Runs it until a moment comes, and kills it there; whether the moment came.
    fn cut(&self, options: &[&str], context: Option<&Value>, is_moment: &dyn Fn() -> bool) -> bool {
        let mut child = self.start(options, context, &[]);
        // It prints less than fits into a pipe.
        drop(child.stdin.take());
        loop {
            if is_moment() {
                child.kill().unwrap();
                return child.wait().unwrap().code().is_none();
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn start(&self, options: &[&str], context: Option<&Value>, variables: &[(&str, &str)]) -> Child {
        let context = context.map(Value::to_string);
        let given: Vec<&str> = context.iter().flat_map(|context| ["--context", context]).collect();
        let args = [&["run", "--json", "."], options, &given].concat();
        self.command(&args).envs(variables.iter().copied()).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// Replaces a part of a file.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let before = fs::read_to_string(self.path().join(file)).unwrap();
        assert!(before.contains(from), "`{file}` has no `{from}`");
        self.write(file, before.replace(from, to).as_bytes());
    }
}

impl Played {
    fn of_type<'p>(&'p self, kind: &str) -> impl Iterator<Item = &'p Value> {
        self.lines.iter().filter(move |line| line["type"] == kind).map(|line| &line["payload"])
    }

    /// The calls of tools: name and arguments.
    fn calls(&self) -> Vec<(&str, &Value)> {
        self.of_type("CALL_TOOL").map(|call| (call["name"].as_str().unwrap(), &call["args"])).collect()
    }

    /// The results of a tool, in order.
    fn results(&self, tool: &str) -> Vec<&Value> {
        let ids: Vec<&Value> = self.of_type("CALL_TOOL").filter(|call| call["name"] == tool).map(|call| &call["id"]).collect();
        self.of_type("TOOL_RESULT").filter(|result| ids.contains(&&result["id"])).collect()
    }

    /// The last question.
    fn question(&self) -> &Value {
        self.of_type("REQUEST_INPUT").last().unwrap_or_else(|| panic!("nothing was asked: {self:#?}"))
    }

    fn end(&self) -> &Value {
        self.of_type("END").last().unwrap_or_else(|| panic!("it did not end: {self:#?}"))
    }

    fn output(&self) -> &Value {
        &self.end()["output"]
    }
}

/// Copies a graph: its files, and of its workspace and its data what is no result of a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().unwrap();
        let is_made = name == ".trellis" || name.contains(".db") || (from.ends_with("_workspace") && name != ".gitignore");
        if entry.file_type().unwrap().is_dir() && !is_made {
            copy(&path, &to.join(name));
        } else if !is_made {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The flows run as they stand: `check --host` has no error and no warning on each, and `--strict` counts no unchecked read.
#[test]
fn each_flow_has_all_it_needs_here() {
    for graph in ["atod", "chancellor", "toolflow"] {
        let ran = Flow::copy(graph).trellis(&["check", "--host", "--strict", "."]);
        let is_clean = ["error", "warning", "unchecked"].iter().all(|word| !ran.out.contains(word));
        assert!(ran.code == Some(0) && is_clean, "{graph}: {ran:?}");
    }
}
