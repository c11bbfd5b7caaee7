//! What keeps bound commands from starting, found without starting them: what `check --host` asks.

use trellis_core::{Code, Diagnostic, Program};

use super::Bindings;

impl Bindings {
    /// One finding for each bound command that is not there or may not be run, where it is written.
    pub fn obstacles(&self, program: &Program) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for graph in program.graphs() {
            let processes = self.processes.get(&graph.root);
            for (name, syntax) in &graph.bindings {
                let Some(process) = processes.and_then(|of_graph| of_graph.get(name)) else { continue };
                let Some(why) = process.obstacle() else { continue };
                let span =
                    ["process.0", "process"].iter().find_map(|path| syntax.config.spans.get(*path)).copied().unwrap_or(syntax.tool.span);
                let (why, remedy) = why.split_once("; ").map_or((&*why, None), |(why, remedy)| (why, Some(remedy.to_owned())));
                let message = format!("`{name}` cannot be carried out: {why}");
                found.push(Diagnostic::new(Code::UnboundTool, &process.file, span, message).help_maybe(remedy));
            }
        }
        found
    }
}
