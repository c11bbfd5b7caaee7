//! Mutations: each written edge of a graph is led elsewhere, one at a time, and the sheets of the graph must notice.

use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::program::{Edge, PointIndex, Program, Provenance, Target};
use trellis_trial::{Options, Suite, wire::Outcome};

use crate::{copied, graphs, suites};

/// The least percentages of mutations that are noticed. Where nothing else stands, it is [`OTHERS`].
const RATES: [(&str, usize); 3] = [("tour", 90), ("support", 90), ("incident", 90)];
const OTHERS: usize = 75;

/// A target in a file of a graph.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WrittenEdge {
    path: String,
    range: (usize, usize),
}

/// The targets that edges were written with; one that several edges share counts once.
fn written_edges(program: &Program) -> BTreeSet<WrittenEdge> {
    let points = (0..program.points().len()).map(|at| PointIndex(u32::try_from(at).unwrap()));
    let edges = points.flat_map(|point| program.out_edges(point).map(|way| way.edge));
    let unwound = (0..program.graphs().len()).flat_map(|at| program.edges_after_rollback(u32::try_from(at).unwrap()).map(|way| way.edge));
    // Another attempt, and the end of a node that ends, have no target that could be another.
    let leads = |edge: &&Edge| edge.to != Target::Again && edge.why != Provenance::Terminal;
    let written = edges.chain(unwound).filter(leads).filter_map(|edge| {
        let origin = edge.origin?;
        let path = program.documents()[origin.document as usize].path.to_string();
        Some(WrittenEdge { path, range: (origin.span.start as usize, origin.span.end as usize) })
    });
    written.collect()
}

/// The edges of a graph that can be led elsewhere without any case failing, and the number of all.
fn unnoticed(graph: &Path) -> (Vec<String>, usize) {
    let folder = copied(graph);
    let program = Suite::open(graph).unwrap().compiled.program.unwrap();
    for root in program.graphs() {
        fs::write(folder.path().join(&*root.root).join("elsewhere.md"), "---\nend: failed\n---\nElsewhere.\n").unwrap();
    }
    let roots: Vec<PathBuf> = program.graphs().iter().map(|inner| folder.path().join(&*inner.root)).collect();
    let edges = written_edges(&program);
    let mut survivors = Vec::new();
    for edge in &edges {
        let file = folder.path().join(&edge.path);
        let text = fs::read_to_string(&file).unwrap();
        let range: Range<usize> = edge.range.0..edge.range.1;
        let place = format!("{}:{} {}", edge.path, text[..range.start].lines().count(), &text[range.clone()]);
        let mut mutated = text.clone();
        mutated.replace_range(range, "/elsewhere");
        fs::write(&file, mutated).unwrap();
        if !is_noticed(&roots, &place) {
            survivors.push(place);
        }
        fs::write(&file, text).unwrap();
    }
    (survivors, edges.len())
}

/// Returns whether a case of the graphs at `roots` fails. A node that nothing leads to any more is a mistake, which would prove nothing about the
/// cases: they play the graph as it was lowered.
fn is_noticed(roots: &[PathBuf], place: &str) -> bool {
    let mut options = Options::default();
    (options.fail_fast, options.jobs) = (true, 2);
    roots.iter().any(|root| {
        let mut suite = Suite::open(root).unwrap();
        let draft = suite.compiled.draft.as_ref().unwrap_or_else(|| panic!("{place}: {:?}", suite.compiled.diagnostics));
        suite.compiled.program = Some(Arc::clone(draft.program()));
        suite.play(&options).iter().any(|(.., verdict, _)| verdict.outcome != Outcome::Passed)
    })
}

#[test]
fn edges_that_lead_elsewhere_are_noticed() {
    let mut lacking = String::new();
    for graph in graphs() {
        let name = graph.file_name().unwrap().to_string_lossy().into_owned();
        let least = RATES.iter().find(|(known, _)| *known == name).map_or(OTHERS, |(_, least)| *least);
        let (survivors, all) = unnoticed(&graph);
        let noticed = all - survivors.len();
        if noticed * 100 < least * all {
            lacking += &format!("{name}: {noticed} of {all}, less than {least} %:\n  {}\n", survivors.join("\n  "));
        }
    }
    assert!(lacking.is_empty(), "\n{lacking}");
}

#[test]
fn every_graph_has_sheets_that_pass() {
    let mut cases = 0;
    for graph in graphs() {
        assert!(graph.join("_tests").is_dir(), "{} has no tests", graph.display());
        for suite in suites(&graph) {
            assert_eq!(suite.errors, []);
            let played = suite.play(&Options::default());
            for (_, case, verdict, _) in &played {
                assert_eq!(verdict.outcome, Outcome::Passed, "{} {}: {:#?}", graph.display(), case.title, verdict.difference);
                cases += 1;
            }
            for sheet in &suite.sheets {
                let of_sheet: Vec<_> = played.iter().filter(|(of, ..)| of.path == sheet.path).map(|(.., verdict, _)| verdict).collect();
                assert_eq!(suite.unused(sheet, &of_sheet), [], "{}", sheet.path.display());
            }
        }
    }
    assert!(cases >= 100, "{cases} cases");
}
