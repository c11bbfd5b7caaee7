//! The smallest host: opens a graph, makes an engine, and walks it on standard input and output.
//!
//! `cargo run -p example-twenty-lines`, or with a graph of your own: `cargo run -p example-twenty-lines -- PATH`.
#![allow(clippy::print_stdout, reason = "it talks to a person")]

use std::{env, error::Error, io};

use trellis_core::{Engine, Input, Next, Predicates, Start, ToolError, ToolOutcome, ToolResult};
use trellis_project::Project;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/graph").into());
    let program = Project::open(path)?.compile().program.ok_or("the graph has mistakes; `trellis check` shows them")?;
    let engine = Engine::new(program, Predicates::new())?;
    let mut answers = io::stdin().lines();
    let mut state = engine.start(Start::default())?.state;
    loop {
        let view = engine.render(&state)?;
        view.content.iter().for_each(|text| println!("{text}"));
        let input = match view.next {
            Next::Pass => Input::Pass,
            Next::Ask(_) => Input::Text(answers.next().ok_or("the input ended")??),
            Next::Call(call) | Next::Parts { whole: call, .. } => {
                Input::Result(ToolResult::new(call.id.clone(), ToolOutcome::Error(ToolError::new("no tools here"))))
            }
            Next::End(_) => return Ok(()),
        };
        match engine.navigate(&state, input) {
            Ok(step) => state = step.state,
            Err(refusal) => println!("{refusal}"),
        }
    }
}
