//! Random renames over the graphs of the repository, there and back: each is refused, or leaves the graph, its sheets and stored sessions as
//! they were, and taken back gives the same bytes but for `was:` (`docs/lsp.md#renames`). `SEEDS` is the number of chains of renames for each graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use trellis_core::{
    Document, NodeId,
    engine::{Adopted, Blocker, Moved},
    query::{GraphChange, OccurrenceKind, RenameRefusal, Symbol, SymbolIndex},
    value::Key,
};
use trellis_project::{Project, refactored, sheet::renamed_sheets};
use trellis_trial::{Options, wire::Outcome};

use crate::{
    copied, graphs, open,
    renames::{engine, states},
    suites,
};

/// The subject of a rename: its kind, and where that matters the node or the number of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Node,
    Folder,
    Key(u32),
    Tool,
    Predicate(u32),
    Signal,
    Option(NodeId),
}

/// A rename that can be asked for.
#[derive(Clone, Debug)]
struct Asked {
    kind: Kind,
    old: String,
    new: String,
}

impl Asked {
    fn change(&self, index: &SymbolIndex) -> Result<GraphChange, RenameRefusal> {
        let (old, new) = (self.old.as_str(), self.new.as_str());
        match &self.kind {
            Kind::Node => index.rename_node(&old.into(), new),
            Kind::Folder => index.rename_folder(old, new),
            Kind::Key(graph) => index.rename_key(*graph, &Key::from(old), new),
            Kind::Tool => index.rename_tool(old, new),
            Kind::Predicate(graph) => index.rename_predicate(*graph, old, new),
            Kind::Signal => index.rename_signal(old, new),
            Kind::Option(node) => index.rename_option(node, old, new),
        }
    }

    /// The rename that takes it back: a node and a folder keep the folder that they are in.
    fn back(&self) -> Self {
        // The `start` of a folder is renamed with it.
        if let (Kind::Node, Some(folder)) = (&self.kind, self.old.strip_suffix("/start")) {
            return Self { kind: Kind::Folder, old: folder.to_owned(), new: self.new.clone() }.back();
        }
        let (above, name) = self.old.rsplit_once('/').unwrap_or(("", &self.old));
        let (old, new) = match self.kind {
            Kind::Node | Kind::Folder if above.is_empty() => (self.new.clone(), name.to_owned()),
            Kind::Node | Kind::Folder => (format!("{above}/{}", self.new), name.to_owned()),
            _ => (self.new.clone(), self.old.clone()),
        };
        Self { kind: self.kind.clone(), old, new }
    }
}

/// A simple generator of numbers: each run is the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound.max(1) as u64).unwrap()
    }
}

/// Names that are free, that mean something, that YAML reads as something else, and that cannot be.
const NEW: [&str; 18] = [
    "other",
    "renamed",
    "x",
    "Upper",
    "with-dash",
    "with_line",
    "größe",
    "true",
    "null",
    "12",
    "rollback",
    "start",
    "sys",
    "a b",
    "",
    "a.b",
    "_hidden",
    "input",
];

/// All names of a graph that can be asked to change.
fn names(index: &SymbolIndex) -> Vec<(Kind, String)> {
    let mut names: Vec<(Kind, String)> = index.nodes().iter().map(|node| (Kind::Node, node.id.to_string())).collect();
    let folders: BTreeSet<String> = index
        .nodes()
        .iter()
        .flat_map(|node| node.path.match_indices('/').map(|(at, _)| node.path[..at].to_owned()).collect::<Vec<_>>())
        .collect();
    names.extend(folders.into_iter().map(|folder| (Kind::Folder, folder)));
    let options = index.nodes().into_iter().flat_map(|node| index.of_file(&node.path)).map(|one| one.symbol);
    let options = options.filter(|symbol| matches!(symbol, Symbol::Option(..)));
    let symbols: BTreeSet<Symbol> = index.symbols().into_iter().chain(options).collect();
    names.extend(symbols.into_iter().filter_map(|symbol| match symbol {
        Symbol::Node(_) => None,
        Symbol::Key(graph, key) => Some((Kind::Key(graph), key.to_string())),
        Symbol::Tool(name) => Some((Kind::Tool, name.to_string())),
        Symbol::Predicate(graph, name) => Some((Kind::Predicate(graph), name.to_string())),
        Symbol::Signal(name) => Some((Kind::Signal, name.to_string())),
        Symbol::Option(node, value) => Some((Kind::Option(node), value.to_string())),
    }));
    names
}

/// Makes a change of the graph in a folder, its sheets included.
fn rename(folder: &Path, asked: &Asked) -> Result<(), RenameRefusal> {
    let project = Project::open(folder).unwrap();
    let mut index = SymbolIndex::default();
    index.update(project.documents());
    let change = asked.change(&index)?;
    let after = refactored(project.documents(), &change)?;
    let sheets = renamed_sheets(folder, project.documents(), &change, |path| fs::read_to_string(path).ok());
    let new_path = |path: &str| change.files.iter().find(|file| &*file.from == path).map_or(path.to_owned(), |file| file.to.to_string());
    for document in project.documents() {
        let new = &after[&*new_path(&document.path)];
        if *new != *document.text {
            fs::write(folder.join(&*document.path), new).unwrap();
        }
    }
    for sheet in &sheets.files {
        fs::write(folder.join(&*sheet.path), sheet.changed()).unwrap();
    }
    match &change.folder {
        Some((from, to)) => fs::rename(folder.join(from), folder.join(to)).unwrap(),
        None => change.files.iter().for_each(|file| {
            assert!(!folder.join(&*file.to).exists(), "{} would be overwritten", file.to);
            fs::rename(folder.join(&*file.from), folder.join(&*file.to)).unwrap();
        }),
    }
    Ok(())
}

/// The texts of a folder, by path, without what the old ids of nodes leave: `was:`, and frontmatter that holds nothing else.
fn texts(folder: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(open) = folders.pop() {
        for entry in fs::read_dir(&open).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let Ok(text) = fs::read_to_string(&entry) else { continue };
            texts.insert(entry.strip_prefix(folder).unwrap().display().to_string(), without_was(&text));
        }
    }
    texts
}

fn without_was(text: &str) -> String {
    let kept: String = text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("was:")).collect();
    kept.strip_prefix("---\n---\n").unwrap_or(&kept).to_owned()
}

/// The texts of the nodes of a folder, with the id that it leads to in place of each target.
fn meanings(folder: &Path) -> BTreeMap<String, String> {
    let project = Project::open(folder).unwrap();
    let mut index = SymbolIndex::default();
    index.update(project.documents());
    let meaning = |document: &Document| {
        let mut text = document.text.to_string();
        for one in index.of_file(&document.path).iter().rev().filter(|one| one.kind == OccurrenceKind::Refers) {
            if let Symbol::Node(id) = &one.symbol {
                text.replace_range(one.span.range(), id.as_str());
            }
        }
        (document.path.to_string(), without_was(&text))
    };
    project.documents().iter().map(|document| meaning(document)).collect()
}

/// Returns whether something else than the renamed folder is called by its new name: then a target that would lead there is written longer, and
/// stays longer on the way back.
fn is_taken(index: &SymbolIndex, asked: &Asked) -> bool {
    let mut names = index.nodes().into_iter().flat_map(|node| node.id.as_str().split('/').map(str::to_owned).collect::<Vec<_>>());
    // The `start` of a folder is renamed with it.
    let is_folder = asked.kind == Kind::Folder || asked.kind == Kind::Node && asked.old.ends_with("/start");
    is_folder && names.any(|name| name == asked.new)
}

/// Asserts that a folder is what it was before a rename: in its bytes but for `was:` and quotes that the other name needed. Where the name of
/// a folder was taken, in this rename or one after it, a target may be spelled otherwise that leads to the same node.
fn expect_as_before(folder: &Path, step: &Step, what: &str) {
    let (now, before) = (texts(folder), &step.texts);
    assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{what}");
    let bare = |text: &str| text.replace(['"', '\''], "");
    let meant = meanings(folder);
    for (path, text) in now.iter().filter(|(path, text)| bare(text) != bare(&before[*path])) {
        assert!(step.is_taken && meant.contains_key(path), "{what}: {path}\n{text}\n{}", before[path]);
        assert_eq!(meant.get(path).map(|text| bare(text)), step.meanings.get(path).map(|text| bare(text)), "{what}: {path}");
    }
}

/// A rename that was made, and the folder before it.
struct Step {
    asked: Asked,
    texts: BTreeMap<String, String>,
    meanings: BTreeMap<String, String>,
    is_taken: bool,
}

/// The cases that fail, with what they differ in; those that show an old name in a text may.
fn failed(folder: &Path, old: &[String]) -> Vec<String> {
    let mut failed = Vec::new();
    for suite in suites(folder) {
        assert!(suite.errors.is_empty(), "{:?}", suite.errors);
        for (sheet, case, verdict, _) in suite.play(&Options::default()) {
            let lines = verdict.difference.iter().flat_map(|difference| difference.got.iter().chain(&difference.expected));
            let is_said = |line: &String| line.starts_with('|') && old.iter().any(|name| line.to_lowercase().contains(name));
            if verdict.outcome != Outcome::Passed && !{ lines }.any(is_said) {
                failed.push(format!("{} › {}: {:#?}", sheet.path.display(), case.title, verdict.difference));
            }
        }
    }
    failed
}

/// Asserts that stored sessions go on after a rename: where nodes changed they are kept or moved, else kept or asked for
/// keys, or for the call of a tool that they wait for.
fn expect_adopted(stored: Vec<trellis_core::State>, folder: &Path, asked: &Asked) {
    let engine = engine(folder);
    let is_of_nodes = matches!(asked.kind, Kind::Node | Kind::Folder);
    for state in stored {
        let here = state.current_node_id.to_string();
        match engine.adopt(state) {
            Adopted::Kept(_) => {}
            Adopted::Moved { why: Moved::Renamed, from, .. } if is_of_nodes => assert_eq!(from.as_str(), here),
            Adopted::Blocked { blockers, .. } if matches!(asked.kind, Kind::Key(_)) => {
                let is_asked =
                    |blocker: &Blocker| matches!(blocker, Blocker::MissingKeys(keys) if keys.iter().any(|key| key.contains(&asked.new)));
                assert!(blockers.iter().all(is_asked), "{asked:?} at {here}: {blockers:?}");
            }
            // A call that somebody may have begun has the old name: a person decides.
            Adopted::Blocked { blockers, .. } if asked.kind == Kind::Tool => {
                let is_of_tool = |blocker: &Blocker| matches!(blocker, Blocker::CallChanged { pending, now } if **pending == *asked.old && **now == *asked.new);
                assert!(blockers.iter().all(is_of_tool), "{asked:?} at {here}: {blockers:?}");
            }
            other => panic!("{asked:?} at {here}: {other:?}"),
        }
    }
}

#[test]
fn a_random_rename_is_refused_or_can_be_taken_back() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1);
    let (mut made, mut refused) = (BTreeMap::<String, usize>::new(), 0);
    for graph in graphs() {
        for seed in 0..seeds {
            let copy = copied(&graph);
            let folder = copy.path();
            let mut numbers = Numbers(seed.wrapping_mul(977) + graph.file_name().unwrap().len() as u64);
            let (original, mut chain, mut old_names) = (texts(folder), Vec::new(), Vec::new());
            // Several in a row, of each kind one after the other, so that each stands on those before it.
            for turn in 0..14 {
                let mut index = SymbolIndex::default();
                index.update(Project::open(folder).unwrap().documents());
                let kind = |kind: &Kind| match kind {
                    Kind::Node => 0,
                    Kind::Folder => 1,
                    Kind::Key(_) => 2,
                    Kind::Tool => 3,
                    Kind::Option(_) => 4,
                    Kind::Predicate(_) => 5,
                    Kind::Signal => 6,
                };
                let all: Vec<_> = names(&index).into_iter().filter(|(of, _)| kind(of) == turn % 7).collect();
                let Some((of, old)) = all.get(numbers.below(all.len())).cloned() else { continue };
                // Now and then a name that something has.
                let new = match numbers.below(5) {
                    0 => all[numbers.below(all.len())].1.rsplit('/').next().unwrap_or_default().to_owned(),
                    _ => NEW[numbers.below(NEW.len())].to_owned(),
                };
                // Sheets leave questions to wildcards: an answer that two nodes offer is that of either. A double is that of a tool or of a
                // predicate.
                let is_ambiguous = |other: &Kind| match of {
                    Kind::Option(_) => matches!(other, Kind::Option(_)),
                    Kind::Tool => matches!(other, Kind::Predicate(_)),
                    Kind::Predicate(_) => matches!(other, Kind::Tool | Kind::Predicate(_)),
                    _ => false,
                };
                if names(&index).iter().any(|(other, known)| *known == new && is_ambiguous(other)) {
                    continue;
                }
                let asked = Asked { kind: of, old, new };
                let step =
                    Step { texts: texts(folder), meanings: meanings(folder), is_taken: is_taken(&index, &asked), asked: asked.clone() };
                let stored = states(&engine(folder));
                let what = format!("{} seed {seed}: {asked:?}", graph.display());
                if let Err(refusal) = rename(folder, &asked) {
                    assert!(!refusal.0.is_empty(), "{what}");
                    refused += 1;
                    continue;
                }
                assert!(open(folder).compiled.diagnostics.iter().all(|found| !found.is_error()), "{what}");
                old_names.push(asked.old.rsplit('/').next().unwrap_or_default().to_lowercase());
                let failing = failed(folder, &old_names);
                assert!(failing.is_empty(), "{what}:\n{failing:#?}");
                expect_adopted(stored, folder, &asked);
                *made.entry(format!("{:?}", asked.kind).split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
                chain.push(step);
            }
            let mut was_taken = false;
            while let Some(mut step) = chain.pop() {
                // What became longer stays longer on the way back to all that was before.
                was_taken |= step.is_taken;
                step.is_taken = was_taken;
                let what = format!("{} seed {seed}: {:?} back", graph.display(), step.asked);
                assert_eq!(rename(folder, &step.asked.back()), Ok(()), "{what}");
                expect_as_before(folder, &step, &what);
            }
            assert!(texts(folder).keys().eq(original.keys()) && failed(folder, &[]).is_empty(), "{}", graph.display());
        }
    }
    assert!(["Node", "Folder", "Key", "Tool", "Option"].iter().all(|kind| made.contains_key(*kind)), "each kind was made: {made:?}");
    assert!(refused > 0, "some are refused: {made:?}");
}
