//! Sheets played through the engine: what passes, what fails and where, what is written, what is covered.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "main/edges.rs"]
mod edges;
#[path = "main/mutations.rs"]
mod mutations;
#[path = "main/renames.rs"]
mod renames;
#[path = "main/rough.rs"]
mod rough;
#[path = "main/there_and_back.rs"]
mod there_and_back;

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use trellis_trial::{Counts, Options, Suite, Update, coverage, junit, lcov, wire::Outcome};

const GRAPH: [(&str, &str); 8] = [
    (
        "trellis.yaml",
        "name: booking\non_rolled_back: gone\nbindings:\n  reserve: { process: [reserve], returns: { type: object, required: [id], properties: { id: { type: string } } } }\n  charge: { process: [charge] }\n  release: { process: [release] }\n",
    ),
    ("start.md", "---\ninput_type: int\ninput_schema: { minimum: 1, maximum: 4 }\nsave_to: people\nto: reserve\n---\nFor how many?\n"),
    (
        "reserve.md",
        "---\ndo: { name: reserve, args: { people: \"{{ people }}\" } }\nundo: { name: release, args: { id: \"{{ table.id }}\" } }\nsave_to: table\non_error: full\nto: pay\n---\n",
    ),
    (
        "pay.md",
        "---\ndo: { name: charge, args: { table: \"{{ table.id }}\" }, approve: { ask: \"Pay for {{ people }}?\" } }\nretry: { max: 2 }\non_error: rollback\non_denied: rollback\nto: thanks\n---\n",
    ),
    ("thanks.md", "---\nto: ask\n---\nSee you, all {{ people }} of you.\n"),
    ("ask.md", "---\ndo: { graph: survey/start, args: { people: \"{{ people }}\" } }\nsave_to: opinion\nto: bye\n---\n"),
    ("full.md", "---\n---\nWe are full.\n"),
    ("gone.md", "---\n---\nNobody comes.\n"),
];

const SURVEY: [(&str, &str); 3] = [
    ("bye.md", "---\n---\nYou said {{ opinion.said }}.\n"),
    ("survey/start.md", "---\ninput_type: text\nsave_to: said\nto: end\n---\nHow was it?\n"),
    ("survey/end.md", "---\noutput: { said: \"{{ said }}\" }\n---\n"),
];

/// A folder with the graph and these sheets.
fn folder(sheets: &[(&str, &str)]) -> TempDir {
    let sheets = sheets.iter().map(|(name, text)| (format!("_tests/{name}"), *text));
    let files = GRAPH.iter().chain(&SURVEY).map(|(path, text)| ((*path).to_owned(), *text));
    folder_of(files.chain(sheets))
}

/// A folder with these files.
fn folder_of<'t>(files: impl IntoIterator<Item = (String, &'t str)>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn open(folder: &Path) -> Suite {
    let suite = Suite::open(folder).unwrap();
    let found: Vec<_> = suite.compiled.diagnostics.iter().map(|found| (&found.message, &found.place)).collect();
    assert!(suite.compiled.program.is_some(), "{found:#?}");
    suite
}

/// The graphs of the repository.
fn graphs() -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs")).unwrap();
    let mut graphs: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    graphs.sort();
    graphs
}

/// A graph, and each graph of its own inside it.
fn suites(graph: &Path) -> Vec<Suite> {
    let outer = open(graph);
    let program = outer.compiled.program.clone().unwrap();
    let inner = program.graphs().iter().filter(|inner| !inner.root.is_empty()).map(|inner| open(&graph.join(&*inner.root)));
    let inner: Vec<Suite> = inner.collect();
    std::iter::once(outer).chain(inner).collect()
}

/// A copy of the files of a graph.
fn copied(graph: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let mut folders = vec![graph.to_owned()];
    while let Some(folder) = folders.pop() {
        let to = copy.path().join(folder.strip_prefix(graph).unwrap());
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
    copy
}

/// Returns the verdict of each case, with its first difference in words.
fn played(suite: &Suite, options: &Options) -> Vec<String> {
    let words = |(_, case, verdict, _): (_, &trellis_project::sheet::Case, trellis_trial::Verdict, _)| {
        let difference = verdict.difference.map(|found| {
            let lines = if found.message.is_some() { String::new() } else { format!(" -{:?} +{:?}", found.expected, found.got) };
            format!(" {}{}{lines}", found.line, found.message.map(|message| format!(" {message}")).unwrap_or_default())
        });
        format!("{}: {:?}{}", case.title, verdict.outcome, difference.unwrap_or_default())
    };
    suite.play(options).into_iter().map(words).collect()
}

const PASSES: &str = "# Booking\n\n```tools\nreserve {\"people\": 2} {\"id\": \"t7\"}\nreserve {\"id\": \"t1\"} ?\n```\n\n\
    ## two people get a table\n\n```transcript\n| For how many?\n? int schema {\"maximum\":4,\"minimum\":1}\n> 2\n\
    ! reserve {\"people\":2} (double 1 above)\n! charge {\"table\":\"t7\"} (approve: Pay for 2?)\n< null\n| See you, all 2 of you.\n! graph {\"people\":2} (graph survey/start)\n\
    |[3] How was it?\n?[3] text\n> fine\n*[3] end finished {\"said\":\"fine\"}\n| You said fine.\n* end finished\n```\n\n\
    ## the table is given back\n\n```tools\ncharge ! card declined\nrelease null\n```\n\n\
    ```transcript\n...\n> 2\n...\n~ rolling back 1\n! release {\"id\":\"t7\"} (undo 1) (double 2)\n...\n* end rolled_back [..]\n```\n\n\
    ## a visit later\n\n```transcript\n$ after two people get a table\n> more\n- refused: [..]\n```\n";

#[test]
fn doubles_children_wildcards_and_replays_come_out_as_they_are_written() {
    let folder = folder(&[("booking.md", PASSES)]);
    let suite = open(folder.path());
    assert_eq!(suite.errors, []);
    let expected = ["two people get a table", "the table is given back", "a visit later"].map(|title| format!("Booking › {title}: Passed"));
    assert_eq!(played(&suite, &Options::default()), expected);
}

#[test]
fn the_first_difference_is_shown_with_its_line_and_node() {
    let sheet = "# T\n## wrong\n```transcript\n...\n> 2\n! reserve {\"people\":3}\n```\n## silent\n```transcript\n> 2\n! reserve {\"people\":2}\n```\n\
        ## twice\n```tools\nreserve {\"id\":\"t\"}\ncharge ! no\nrelease null\nfoo null\n```\n```transcript\n...\n> 2\n...\n```\n";
    let sheet = sheet.replace("## silent\n```transcript\n> 2", "## silent\n```transcript\n...\n> 2");
    let folder = folder(&[("t.md", &sheet)]);
    let suite = open(folder.path());
    let found = played(&suite, &Options::default());
    assert_eq!(found[0].split(" -[").next(), Some("T › wrong: Failed 6"), "{found:#?}");
    assert_eq!(found[1].split(" -[").next(), Some("T › silent: Failed 13"), "what nothing answers fails: {found:#?}");
    assert_eq!(found[2], "T › twice: Failed 19 unused double: `foo`", "{found:#?}");
    let verdicts = suite.play(&Options::default());
    let difference = verdicts[0].2.difference.clone().unwrap();
    assert_eq!((difference.node.as_deref(), difference.at.map(|at| at.path)), (Some("reserve"), Some("reserve.md".to_owned())));
}

#[test]
fn an_update_fills_blocks_and_never_writes_what_was_not_answered() {
    let sheet = "# T\n## new\n```transcript\n> 9\n> 2\n<! full\n```\n## unanswered\n```transcript\n> 2\n```\n";
    let folder = folder(&[("t.md", sheet)]);
    let suite = open(folder.path());
    let mut options = Options::default();
    options.update = Some(Update::New);
    let verdicts = suite.play(&options);
    assert_eq!(verdicts.iter().map(|(.., verdict, _)| verdict.outcome).collect::<Vec<_>>(), [Outcome::Updated, Outcome::Failed]);
    let (_, text) = &verdicts[0].2.edits[0];
    assert!(text.starts_with("| For how many?\n? int schema") && text.ends_with("<! full\n| We are full.\n* end finished\n"), "{text}");
    assert!(verdicts[1].2.edits.is_empty());
}

#[test]
fn coverage_counts_what_was_passed_and_foreign_formats_have_it() {
    let folder = folder(&[("booking.md", PASSES)]);
    let suite = open(folder.path());
    let mut counts = Counts::default();
    suite.play(&Options::default()).iter().for_each(|(.., verdict, _)| counts.add(&verdict.counts));
    let found = coverage(suite.compiled.program.as_ref().unwrap(), &counts, "");
    let missed: Vec<String> = found
        .items
        .iter()
        .filter(|item| item.count == 0 && !item.implied)
        .map(|item| format!("{}:{} {}", item.path, item.line, item.what))
        .collect();
    assert!(
        missed.contains(&"reserve.md:5 error → full".to_owned()) && missed.iter().any(|missed| missed.starts_with("full.md")),
        "{missed:#?}"
    );
    assert!(!missed.iter().any(|missed| missed.starts_with("survey/")), "walked children count: {missed:#?}");
    assert!(lcov(&found, "g/").contains("SF:g/reserve.md\n"));
    assert!(junit(&[]).ends_with("</testsuites>\n"));
}

#[test]
fn sheets_that_make_no_sense_are_named_with_their_line() {
    let folder = folder(&[("a.md", "# A\n```transcript\n```\n# A\n```transcript\n```\n"), ("b.md", "# B\n```gone x.md\n```\n")]);
    let suite = open(folder.path());
    let found: Vec<_> = suite.errors.iter().map(|error| (error.line, &*error.message)).collect();
    assert_eq!(found, [(4, "two cases are named `A`"), (2, "there is no `x.md` that could go")]);
}
