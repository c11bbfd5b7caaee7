//! Every graph of the repository compiles clean, through the loader that people use.

use std::path::{Path, PathBuf};

use trellis_project::Project;
use trellis_tests::harness::diagnostics;

use crate::repository;

/// The folders that hold a `start`, outermost first, below `graphs/` and `examples/`.
fn graphs() -> Vec<PathBuf> {
    let mut graphs = Vec::new();
    let mut folders = vec![repository().join("graphs"), repository().join("examples")];
    while let Some(folder) = folders.pop() {
        let is_graph = ["md", "yaml", "yml", "json"].iter().any(|extension| folder.join("start").with_extension(extension).is_file());
        if is_graph {
            graphs.push(folder);
        } else {
            let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            folders.extend(inner.filter(|path| path.is_dir() && !path.ends_with("target")));
        }
    }
    graphs.sort();
    graphs
}

fn below(path: &Path) -> String {
    path.strip_prefix(repository()).expect("it is in the repository").display().to_string()
}

#[test]
fn every_graph_is_clean() {
    let graphs = graphs();
    let names: Vec<String> = graphs.iter().map(|path| below(path)).collect();
    for expected in [
        "graphs/tour",
        "graphs/incident",
        "graphs/support",
        "graphs/agent",
        "graphs/toolflow",
        "graphs/chancellor",
        "graphs/atod",
        "graphs/orchestrator",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not among {names:?}");
    }
    let mut failures = String::new();
    for path in graphs {
        let project = Project::open(&path).unwrap_or_else(|error| panic!("{}: {error}", below(&path)));
        let problems: String = project.problems().iter().map(|problem| format!("{problem}\n")).collect();
        let compiled = project.compile();
        let found = diagnostics::print(&compiled.diagnostics, &diagnostics::texts(project.documents()));
        if !problems.is_empty() || !found.is_empty() {
            failures += &format!("{}:\n{problems}{found}", below(&path));
        }
        for document in project.documents() {
            assert!(!document.path.starts_with('/') && !document.path.contains('\\'), "{} is a path below the root", document.path);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}
