//! Which calls of a program nothing here carries out.

use trellis_core::{
    Code, Diagnostic, Program,
    diagnostic::did_you_mean,
    program::{Call, Callee, Graph, Node, Role},
};

use super::Bindings;

/// `unbound-tool` for each of them, once per node and tool, in file order.
pub(super) fn unbound(bindings: &Bindings, program: &Program) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for node in program.nodes() {
        let graph = program.graph_of(node);
        let own = match &node.role {
            Role::Act(call) => Some(call),
            _ => None,
        };
        // `before_each` belongs to the graph: its entry answers for it.
        let before = graph.before_each.as_ref().filter(|_| program.node(graph.entry).index == node.index);
        let mut calls: Vec<&Call> = own.into_iter().chain(before).map(|call| &**call).collect();
        while let Some(call) = calls.pop() {
            calls.extend(call.undo.as_deref());
            match &call.callee {
                Callee::Tool(tool) if bindings.binds(&graph.root, &tool.name) => {}
                Callee::Tool(tool) => push(&mut found, finding(program, graph, node, &tool.name)),
                Callee::Graph(_) => push(&mut found, composite(program, node, "graph")),
                Callee::Parallel(branches, _) => {
                    calls.extend(branches.iter().map(|(_, call)| call));
                    push(&mut found, composite(program, node, "parallel"));
                }
                Callee::Each(..) => push(&mut found, composite(program, node, "each")),
            }
        }
    }
    found.sort_by(|a, b| a.order().cmp(&b.order()));
    found
}

fn push(found: &mut Vec<Diagnostic>, finding: Diagnostic) {
    if !found.contains(&finding) {
        found.push(finding);
    }
}

fn finding(program: &Program, graph: &Graph, node: &Node, tool: &str) -> Diagnostic {
    let message = format!("nothing carries out the tool `{tool}`");
    let foreign = graph.bindings.contains_key(tool);
    let help = if foreign {
        format!("the binding of `{tool}` is of a kind that this program does not carry out; use `process`")
    } else {
        let bound = graph.bindings.keys().map(|name| &**name);
        did_you_mean(tool, bound)
            .unwrap_or_else(|| format!("bind it in `trellis.yaml`: `bindings: {{{tool}: {{process: [./bin/{tool}]}}}}`"))
    };
    Diagnostic::new(Code::UnboundTool, program.path_of(node), node.span, message).help(help)
}

fn composite(program: &Program, node: &Node, kind: &str) -> Diagnostic {
    let message = format!("nothing here carries out a `{kind}` call");
    let help = "run it with `--json`, and hand in its result".to_owned();
    Diagnostic::new(Code::UnboundTool, program.path_of(node), node.span, message).help(help)
}
