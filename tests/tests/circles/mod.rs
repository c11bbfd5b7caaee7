//! Circles between modules: siblings of one folder may use each other in one direction only, whatever lies below them.
//! Crates cannot form one; `tidy.rs` has the table of what each may depend on.
//!
//! A folder's own file and what stands in the folder use each other; that is no circle. Between siblings the paths of whole subtrees count.

mod module_graph;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use self::module_graph::{Crate, Module};
use crate::repository;

/// The root file of each crate.
const ROOTS: [(&str, &str); 14] = [
    ("trellis-base", "crates/trellis-base/src/lib.rs"),
    ("trellis-syntax", "crates/trellis-syntax/src/lib.rs"),
    ("trellis-engine", "crates/trellis-engine/src/lib.rs"),
    ("trellis-compiler", COMPILER),
    ("trellis-draw", "crates/trellis-draw/src/lib.rs"),
    ("trellis-ide", "crates/trellis-ide/src/lib.rs"),
    ("trellis-project", "crates/trellis-project/src/lib.rs"),
    ("trellis-host", "crates/trellis-host/src/lib.rs"),
    ("trellis-trial", "crates/trellis-trial/src/lib.rs"),
    ("trellis-lsp", "crates/trellis-lsp/src/lib.rs"),
    ("trellis-server", "crates/trellis-server/src/lib.rs"),
    ("trellis-orchestrator", "crates/trellis-orchestrator/src/lib.rs"),
    ("trellis-cli", "crates/trellis-cli/src/main.rs"),
    ("trellis-tests", "tests/src/lib.rs"),
];

/// The root file of the compiler, whose parts are ordered below.
const COMPILER: &str = "crates/trellis-compiler/src/lib.rs";

/// Uses between the modules of the compiler.
static IN_COMPILER: LazyLock<BTreeSet<(Module, Module)>> = LazyLock::new(|| Crate::read(&repository().join(COMPILER)).edges());

/// Siblings that may use each other in a circle.
struct Allowed {
    /// The crate, and the modules down to the folder.
    folder: &'static str,
    siblings: &'static [&'static str],
    why: &'static str,
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        folder: "trellis-engine::engine",
        siblings: &["fail", "speech", "step"],
        why: "one state machine: a step that fails goes on at `on_error`, and both render what a node says",
    },
    Allowed {
        folder: "trellis-syntax",
        siblings: &["misspellings", "tree"],
        why: "the reader of YAML asks what a mistake was meant to be, and the answer is found in the tree so far",
    },
    Allowed {
        folder: "trellis-syntax::decode",
        siblings: &["act", "node", "tools"],
        why: "keys nest: a node has calls and tools, and both have what a call has",
    },
    Allowed {
        folder: "trellis-host",
        siblings: &["journal", "store"],
        why: "a store keeps records, and a journal that comes back from one lacks what was redacted there",
    },
    Allowed {
        folder: "trellis-orchestrator::seal",
        siblings: &["patterns", "value"],
        why: "a pattern says how much its value must look like one, and the file of patterns has the words that are none",
    },
    Allowed {
        folder: "trellis-tests::harness",
        siblings: &["journal", "transcript"],
        why: "a transcript is compared together with the journal that it wrote",
    },
];

/// Parts of the data-flow analysis, each with those that it may use. The parts that word findings stand at the end, and no other uses them.
const DATAFLOW: &[(&str, &[&str])] = &[
    ("index", &[]),
    ("slot", &[]),
    ("budget", &[]),
    ("domain", &["index", "slot"]),
    ("ir", &["index", "slot", "domain"]),
    ("env", &["index", "slot", "domain", "ir"]),
    ("fixpoint", &["index", "slot", "budget", "domain", "ir", "env"]),
    ("symbolic", &["index", "slot", "domain", "ir"]),
    ("search", &["index", "slot", "budget", "domain", "ir", "env", "fixpoint", "symbolic"]),
    ("checks", &["index", "slot", "domain", "ir", "env", "fixpoint", "symbolic", "search"]),
    ("report", &["index", "slot", "domain", "ir", "env", "fixpoint", "symbolic", "search"]),
    ("assigned_keys", &["index", "slot", "domain", "ir", "env", "fixpoint", "symbolic", "search", "checks", "report"]),
];

#[test]
fn modules_form_no_circles() {
    let mut wrong = Vec::new();
    let mut open: Vec<&Allowed> = ALLOWED.iter().collect();
    for (name, root) in ROOTS {
        for circle in circles(&Crate::read(&repository().join(root)).edges()) {
            let folder = [&[name.to_owned()][..], &circle.folder].concat().join("::");
            let before = open.len();
            open.retain(|allowed| allowed.folder != folder || !circle.siblings.iter().eq(allowed.siblings));
            if open.len() == before {
                wrong.push(format!("{folder}: {} use each other:\n    {}", circle.siblings.join(", "), circle.edges.join("\n    ")));
            }
        }
    }
    wrong
        .extend(open.iter().map(|allowed| format!("{}: {:?} form no circle; strike them from the list", allowed.folder, allowed.siblings)));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(ALLOWED.iter().all(|allowed| !allowed.why.is_empty()), "an allowed circle says why");
}

#[test]
fn the_data_flow_analysis_runs_one_way() {
    let part = |module: &'static Module| module.get(1).filter(|_| module[0] == "dataflow");
    let mut wrong = BTreeSet::new();
    for (from, to) in &*IN_COMPILER {
        if let (Some(from), Some(to)) = (part(from), part(to))
            && from != to
            && !DATAFLOW.iter().any(|(part, may)| part == from && may.contains(&to.as_str()))
        {
            wrong.insert(format!("`{from}` uses `{to}`"));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn parts_of_the_compiler_know_only_what_lies_below_them() {
    let forbidden = [("check", "dataflow"), ("dataflow", "check"), ("graphs", "check"), ("severity", "check"), ("taint", "severity")];
    let is_in = |module: &Module, name: &str| module.first().is_some_and(|first| first == name);
    let wrong: Vec<String> = IN_COMPILER
        .iter()
        .filter(|(from, to)| forbidden.iter().any(|(below, above)| is_in(from, below) && is_in(to, above)))
        .map(|(from, to)| format!("`{}` uses `{}`", from.join("::"), to.join("::")))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let siblings = |texts: &[(&str, &str)]| {
        let mut made = Crate::default();
        for (module, text) in texts {
            let module: Module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            made.add(&module, text);
        }
        circles(&made.edges()).into_iter().map(|circle| circle.siblings.join(" ")).collect::<Vec<_>>()
    };
    let root = ("", "mod a; mod b; mod c;");
    let a = ("a", "use crate::b::B; pub struct A; pub fn one() {}");
    // Nobody leads back.
    assert_eq!(siblings(&[root, a, ("b", "pub struct B;"), ("c", "use super::a::A;")]), [""; 0]);
    // By `use`, by a path in an expression, by an import of the module, and through lists.
    assert_eq!(siblings(&[root, a, ("b", "use super::{a::{self as it, A}, c}; pub struct B;"), ("c", "")]), ["a b"]);
    assert_eq!(siblings(&[root, a, ("b", "pub struct B; fn two() { crate::a::one() }"), ("c", "")]), ["a b"]);
    assert_eq!(
        siblings(&[root, a, ("b", "use crate::c; pub struct B; fn two() { c::one() }"), ("c", "pub(crate) use super::a::one;")]),
        ["a b c"]
    );
    // Through a re-export and through a glob of the folder that both stand in.
    let shown = ("", "mod a; mod b; mod c; pub use a::A;");
    assert_eq!(siblings(&[shown, a, ("b", "pub struct B(crate::A);"), ("c", "")]), ["a b"]);
    assert_eq!(siblings(&[shown, a, ("b", "use super::*; pub struct B(A);"), ("c", "")]), ["a b"]);
    // A file deep below one sibling, and one deep below the other.
    let deep = ("c", "mod d;");
    assert_eq!(siblings(&[root, ("a", "use crate::c::d::D;"), ("b", ""), deep, ("c::d", "pub struct D; use crate::a;")]), ["a c"]);
    // Tests, comments and texts are no use of a module.
    let tested = "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } // crate::a::A\nconst TEXT: &str = \"crate::a::A\";";
    assert_eq!(siblings(&[root, a, ("b", tested), ("c", "")]), [""; 0]);
    let tested = "pub struct B; #[cfg(test)]\nuse crate::a::A; #[cfg(test)]\nfn test() { crate::a::one() }\nconst CHAR: char = '\"'; fn of<'a>(_: &'a str) {}";
    assert_eq!(siblings(&[root, a, ("b", tested), ("c", "use crate::b;")]), [""; 0]);
}

/// Siblings that can be reached from each other.
struct Circle {
    folder: Module,
    siblings: Vec<String>,
    edges: Vec<String>,
}

/// The circles among the siblings of each folder.
fn circles(edges: &BTreeSet<(Module, Module)>) -> Vec<Circle> {
    let mut folders: BTreeMap<&[String], BTreeMap<&str, BTreeMap<&str, String>>> = BTreeMap::new();
    for (from, to) in edges {
        let common = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
            let of = folders.entry(&from[..common]).or_default().entry(one).or_default();
            of.entry(other).or_insert_with(|| format!("{} uses {}", from.join("::"), to.join("::")));
        }
    }
    let mut circles = Vec::new();
    for (folder, uses) in folders {
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses.keys().map(|from| (*from, reached(&uses, from))).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (from, of) in &reached {
            if !of.contains(from) || seen.contains(from) {
                continue;
            }
            let siblings: Vec<&str> = of.iter().copied().filter(|to| reached.get(to).is_some_and(|back| back.contains(from))).collect();
            seen.extend(&siblings);
            let inside = siblings.iter().flat_map(|one| uses[one].iter()).filter(|(to, _)| siblings.contains(to));
            circles.push(Circle {
                folder: folder.to_vec(),
                siblings: siblings.iter().map(|name| (*name).to_owned()).collect(),
                edges: inside.map(|(_, edge)| edge.clone()).collect(),
            });
        }
    }
    circles
}

/// Every sibling that is used by one, by those that it uses, and so on.
fn reached<'n>(uses: &BTreeMap<&'n str, BTreeMap<&'n str, String>>, from: &str) -> BTreeSet<&'n str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for to in uses.get(name).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(*to) {
                open.push(*to);
            }
        }
    }
    reached
}
