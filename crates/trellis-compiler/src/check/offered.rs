//! Tools that a model is offered, whose names become one name on the wire (language 9.19).

use std::{collections::BTreeMap, sync::Arc};

use trellis_base::diagnostic::{Code, Diagnostic, Severity};
use trellis_engine::program::{Callee, Node, Program, Role, Tool};

/// Reports for each node that calls a model which of its own tools the model sees under a numbered name.
pub(super) fn check(program: &Program, found: &mut Vec<Diagnostic>) {
    let asks_models = |graph: &trellis_engine::program::Graph| graph.bindings.values().any(|binding| binding.config.get("model").is_some());
    if program.graphs.iter().any(asks_models) {
        program.nodes.iter().for_each(|node| found.extend(of_node(program, node)));
    }
}

fn of_node(program: &Program, node: &Node) -> Option<Diagnostic> {
    let Role::Act(call) = &node.role else { return None };
    let Callee::Tool(tool) = &call.callee else { return None };
    program.graph_of(node).bindings.get(&tool.name)?.config.get("model")?;
    let mut names = BTreeMap::<String, &Arc<Tool>>::new();
    for offered in call.offered.iter().filter(|offered| offered.name != tool.name) {
        let wire = offered.name.chars().map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' }).collect();
        match names.get(&wire) {
            Some(first) => return Some(finding(program, node, first, offered)),
            None => drop(names.insert(wire, offered)),
        }
    }
    None
}

fn finding(program: &Program, node: &Node, first: &Tool, second: &Tool) -> Diagnostic {
    let path = &program.documents()[node.document as usize].path;
    let message =
        format!("a model cannot tell `{}` from `{}` but by a number: names on the wire have no other characters", first.name, second.name);
    let mut found = Diagnostic::new(Code::WrongType, path, node.span, message).help("give one of them another name");
    found.severity = Severity::Info;
    let places = [first, second].into_iter().filter_map(|tool| Some((tool.place.as_ref()?, &tool.name)));
    places.fold(found, |found, (place, name)| found.label(&place.path, place.span, format!("`{name}` is offered")))
}
