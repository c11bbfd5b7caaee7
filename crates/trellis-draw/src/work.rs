//! Actions of nodes, in a few words.

use trellis_base::language::InputType;
use trellis_engine::program::{Callee, Listen, Node, Program, Role};

/// Returns the action of a node, as its box shows it.
pub(super) fn words(program: &Program, node: &Node) -> String {
    match &node.role {
        Role::Pass if node.terminal => "ends".to_owned(),
        Role::Pass if node.content.is_some() => "says".to_owned(),
        Role::Pass => "goes on".to_owned(),
        Role::Listen(listen) => asks(listen).to_owned(),
        Role::Act(call) => match &call.callee {
            Callee::Tool(tool) => format!("calls {}", tool.name),
            Callee::Graph(start) => match program.nodes().get(start.0 as usize) {
                Some(start) if start.id.folder().is_empty() => format!("calls {}", start.id),
                Some(start) => format!("calls {}", start.id.folder()),
                None => "calls a graph".to_owned(),
            },
            Callee::Parallel(branches, _) => format!("calls {} side by side", branches.len()),
            Callee::Each(list, _) => format!("calls for each of {list}"),
        },
    }
}

fn asks(listen: &Listen) -> &'static str {
    if listen.sleep.is_some() {
        return "sleeps";
    }
    match listen.kind {
        Some(InputType::Text) => "asks text",
        Some(InputType::Confirm) => "asks yes or no",
        Some(InputType::Choice) => "asks choice",
        Some(InputType::Int) => "asks integer",
        Some(InputType::Float) => "asks number",
        Some(InputType::Json) => "asks JSON",
        Some(InputType::Secret) => "asks secret",
        None if !listen.options.is_empty() => "asks choice",
        None => "asks",
    }
}
