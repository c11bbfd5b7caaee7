//! Renames: after every node, every tool and every option of a graph got another name, its sheets pass as before and stored sessions go on.

use std::{collections::BTreeSet, fs, path::Path};

use trellis_core::{
    Engine, Input, Predicates, Start, State,
    engine::{Adopted, Moved},
    program::Program,
    query::{GraphChange, RenameRefusal, SymbolIndex},
    state::Status,
};
use trellis_project::{Project, refactored, sheet::renamed_sheets};
use trellis_trial::{Options, wire::Outcome};

use crate::{copied, graphs, open, suites};

/// States that are stored of a graph, at most.
const STATES: usize = 200;

/// Makes a change of the graph in a folder, its sheets included.
fn change(folder: &Path, of: impl Fn(&SymbolIndex) -> Result<GraphChange, RenameRefusal>) -> Result<(), RenameRefusal> {
    let project = Project::open(folder).unwrap();
    let mut index = SymbolIndex::default();
    index.update(project.documents());
    let change = of(&index)?;
    let after = refactored(project.documents(), &change)?;
    let sheets = renamed_sheets(folder, project.documents(), &change, |path| fs::read_to_string(path).ok());
    change.files.iter().for_each(|file| fs::remove_file(folder.join(&*file.from)).unwrap());
    let changed: BTreeSet<_> = change.edits.iter().map(|edit| &edit.place.path).chain(change.files.iter().map(|file| &file.to)).collect();
    let files = after.iter().filter(|(path, _)| changed.contains(path));
    files.for_each(|(path, text)| fs::write(folder.join(&**path), text).unwrap());
    sheets.files.iter().for_each(|sheet| fs::write(folder.join(&*sheet.path), sheet.changed()).unwrap());
    Ok(())
}

/// Plays the sheets of the graph in a folder.
fn expect_passed(folder: &Path, what: &str) {
    for suite in suites(folder) {
        for (_, case, verdict, _) in suite.play(&Options::default()) {
            assert_eq!(verdict.outcome, Outcome::Passed, "{what}: {} {:#?}", case.title, verdict.difference);
        }
    }
}

/// Changes each of the names by the function, to names that nobody has; the number of those that changed.
fn rename_all(folder: &Path, names: &[String], rename: impl Fn(&SymbolIndex, &str, &str) -> Result<GraphChange, RenameRefusal>) -> usize {
    for (at, name) in names.iter().enumerate() {
        let new = format!("renamed{at}");
        change(folder, |index| rename(index, name, &new)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    names.len()
}

/// Renames each option of a graph, in a copy of its own; the number of those that could be. A case that shows a value in a text fails afterwards,
/// and no other: its difference is one of what a node says.
fn rename_options(graph: &Path) -> usize {
    let program = open(graph).compiled.program.unwrap();
    let mut renamed = 0;
    for node in program.nodes() {
        let trellis_core::program::Role::Listen(listen) = &node.role else { continue };
        for option in listen.options.iter().filter_map(|option| option.value.as_str()) {
            let copy = copied(graph);
            // JSON in a sheet has it escaped.
            let new = format!("{option} \"anew\"");
            // Another node that offers the same, or a schema that names it, is refused, and the reason said.
            if change(copy.path(), |index| index.rename_option(&node.id, option, &new)).is_err() {
                continue;
            }
            renamed += 1;
            for suite in suites(copy.path()) {
                for (_, case, verdict, _) in suite.play(&Options::default()) {
                    let said = |difference: &trellis_trial::wire::Difference| {
                        difference
                            .got
                            .iter()
                            .chain(&difference.expected)
                            .any(|line| line.starts_with('|') && line.to_lowercase().contains(&option.to_lowercase()))
                    };
                    let is_said = verdict.difference.as_ref().is_some_and(said);
                    let what = format!("`{option}` of {}: {} {:#?}", node.id, case.title, verdict.difference);
                    assert!(verdict.outcome == Outcome::Passed || is_said, "{what}");
                }
            }
        }
    }
    renamed
}

pub(crate) fn engine(folder: &Path) -> Engine {
    let program = open(folder).compiled.program.unwrap();
    let predicates = program.predicates().iter().fold(Predicates::new(), |all, predicate| all.deferred(&predicate.name));
    Engine::new(program, predicates).unwrap()
}

/// The states of sessions that begin at each node of a graph that can be begun at, with every node that they pass on their way.
pub(crate) fn states(engine: &Engine) -> Vec<State> {
    let mut states = Vec::new();
    for node in engine.inspect().nodes() {
        let start = Start { session: Some("s".into()), at: Some(node.id.clone()), ..Start::default() };
        let mut next = engine.start(start).ok();
        while let Some(step) = next.take().filter(|_| states.len() < STATES) {
            next = engine.navigate(&step.state, Input::Pass).ok();
            // A session that began without what its node needs could not go on anyway.
            states.extend(Some(step.state).filter(|state| matches!(engine.adopt(state.clone()), Adopted::Kept(_))));
        }
    }
    states
}

#[test]
fn stored_sessions_go_on_after_every_node_was_renamed() {
    for graph in graphs() {
        let (copy, name) = (copied(&graph), graph.display());
        let stored = states(&engine(copy.path()));
        let program = open(copy.path()).compiled.program.unwrap();
        let nodes: Vec<_> = program.nodes().iter().filter(|node| !node.id.is_start()).map(|node| node.id.to_string()).collect();
        rename_all(copy.path(), &nodes, |index, old, new| index.rename_node(&old.into(), new));
        let renamed = engine(copy.path());
        assert!(!stored.is_empty(), "{name}");
        for state in stored {
            let (here, is_over) = (state.current_node_id.to_string(), state.status == Status::Terminated);
            match renamed.adopt(state) {
                Adopted::Kept(_) => assert!(is_over || !nodes.contains(&here), "{name}: {here}"),
                Adopted::Moved { why: Moved::Renamed, from, .. } => assert_eq!(from.as_str(), here, "{name}"),
                other => panic!("{name}: {here} {other:?}"),
            }
        }
    }
}

#[test]
fn sheets_pass_after_every_node_tool_and_option_was_renamed() {
    let mut renamed = 0;
    for graph in graphs() {
        let copy = copied(&graph);
        let name = graph.display();
        let program: std::sync::Arc<Program> = open(copy.path()).compiled.program.unwrap();
        // A `start` is renamed with its folder, which no command does.
        let nodes: Vec<_> = program.nodes().iter().filter(|node| !node.id.is_start()).map(|node| node.id.to_string()).collect();
        renamed += rename_all(copy.path(), &nodes, |index, old, new| index.rename_node(&old.into(), new));
        expect_passed(copy.path(), &format!("the nodes of {name}"));
        let tools: BTreeSet<String> = program.graphs().iter().flat_map(|graph| graph.bindings.keys()).map(ToString::to_string).collect();
        let tools: Vec<String> = tools.into_iter().collect();
        renamed += rename_all(copy.path(), &tools, SymbolIndex::rename_tool);
        expect_passed(copy.path(), &format!("the tools of {name}"));
        renamed += rename_options(&graph);
    }
    assert!(renamed > 150, "{renamed} names");
}
