//! Bad input of sheets: many cases, circles, loops, parts that are answered twice, deep children (`docs/lsp.md`), recordings and locales
//! (`docs/testing.md`).

use tempfile::TempDir;
use trellis_trial::{Counts, Options, coverage};

use crate::{folder_of, open, played};

fn graph(files: &[(&str, &str)]) -> TempDir {
    folder_of(files.iter().map(|(path, text)| ((*path).to_owned(), *text)))
}

/// Returns the outcomes of the cases of one sheet.
fn outcomes(files: &[(&str, &str)], sheet: &str) -> Vec<String> {
    let mut all = files.to_vec();
    all.push(("_tests/t.md", sheet));
    played(&open(graph(&all).path()), &Options::default())
}

const HELLO: [(&str, &str); 1] = [("start.md", "---\n---\nHello.\n")];

#[test]
fn a_sheet_of_ten_thousand_cases_is_played() {
    let case = |at: usize| format!("## case {at}\n```transcript\n| Hello.\n* end finished\n```\n");
    let sheet = format!("# T\n{}", (0..10_000).map(case).collect::<String>());
    let found = outcomes(&HELLO, &sheet);
    assert_eq!(found.len(), 10_000);
    assert!(found.iter().all(|case| case.ends_with(": Passed")));
}

#[test]
fn what_leads_in_a_circle_or_nowhere_is_named() {
    let mut all = HELLO.to_vec();
    let circle = "# A\n```transcript\n$ after B\n```\n# B\n```transcript\n$ after A\n```\n";
    let own = "# A\n```transcript\n| Hello.\n* end finished\n```\n```transcript\n$ after A\n```\n";
    let behind = "# C\n```transcript\n$ after A\n```\n# A\n```transcript\n$ after B\n```\n# B\n```transcript\n$ after A\n```\n";
    all.extend([("_tests/behind.md", behind), ("_tests/circle.md", circle), ("_tests/own.md", own)]);
    // Two cases after the same one, and one after both, are no circle.
    let plain = "# A\n```transcript\n| Hello.\n* end finished\n```\n# B\n```transcript\n$ after A\n```\n# C\n```transcript\n$ after A\n```\n\
        ```transcript\n$ after B\n```\n";
    all.push(("_tests/plain.md", plain));
    let folder = graph(&all);
    let suite = open(folder.path());
    let told = |error: &trellis_trial::SuiteError| {
        (error.path.file_name().unwrap().to_str().unwrap().to_owned(), error.line, error.message.clone())
    };
    let leads = |file: &str, line, title| (file.to_owned(), line, format!("`$ after {title}` leads back to the case itself"));
    let found: Vec<_> = suite.errors.iter().map(told).collect();
    assert_eq!(found, [leads("behind.md", 11, "A"), leads("circle.md", 7, "A"), leads("own.md", 7, "A")]);
    assert_eq!(suite.sheets.len(), 1, "the others are played");
    let found = outcomes(&HELLO, "# C\n```transcript\n$ after D\n```\n");
    assert!(found[0].contains("no case of this sheet is named `D`"), "{found:#?}");
}

#[test]
fn a_transcript_that_loops_ends() {
    let files = [
        ("start.md", "---\nmax_visits: 1000000\non_max_visits: end\nto: other\n---\n"),
        ("other.md", "---\nto: start\n---\n"),
        ("end.md", "---\n---\n"),
    ];
    let found = outcomes(&files, "# A\n```transcript\n...\n* end finished\n```\n");
    assert!(found[0].contains("Failed"), "{found:#?}");
}

const LOOKS: [(&str, &str); 3] = [
    ("trellis.yaml", "bindings: { look: { process: [look] } }\n"),
    ("start.md", "---\ndo: look\non_error: end\nto: end\n---\nLooking.\n"),
    ("end.md", "---\n---\nDone.\n"),
];

#[test]
fn a_case_that_ended_early_says_why() {
    let sheet = "# A\n```transcript\n$ at strat\n```\n# B\n```transcript\n$ at strat\n> x\n<1 2\n```\n# C\n```transcript\n$ at strat\n| Looking.\n```\n\
        # D\n```transcript\n```\n# E\n```tools\nlok null\nsell null\n```\n```transcript\n...\n* end finished\n```\n";
    let found = outcomes(&LOOKS, sheet);
    for (case, line) in found.iter().zip([3, 7, 13]) {
        assert!(case.ends_with(&format!("Failed {line} there is no node `strat` to begin at")), "{case}");
    }
    let remedy = "not answered: look {}; write `< RESULT` below the call, or `look RESULT` in a block `tools`";
    assert!(found[3].ends_with(remedy), "{}", found[3]);
    assert!(found[4].ends_with("not answered: look {}, and line 21 has a double for `lok`"), "{}", found[4]);
}

// `docs/testing.md`: a line that nobody can play fails its case at its own line, as an editor shows it
#[test]
fn a_line_that_means_nothing_is_named_by_its_own_line() {
    let slips = [
        ("$ foo", "`$ foo` is no way to begin"),
        ("$ after nosuch", "no case of this sheet is named `nosuch`"),
        ("$ context {", "`{`: "),
        ("$ limit ten", "`ten` is no number of bytes"),
        ("< {", "`{` is no JSON"),
        ("@ nosuch = true", "no predicate is named `nosuch`"),
        ("go on", "`go on` is no line of a transcript"),
    ];
    for (line, message) in slips {
        let found = outcomes(&HELLO, &format!("# A\n\n```transcript\n# first\n{line}\n| Hello.\n* end finished\n```\n"));
        assert!(found[0].starts_with(&format!("A: Failed 5 {message}")), "{line}: {found:#?}");
    }
    // What only a step shows has its line as well.
    let found = outcomes(&HELLO, "# A\n```transcript\n| Hello.\n* end finished\n# over\n<[7] null\n>[7] x\n```\n");
    assert!(found[0].starts_with("A: Failed 7 there is no session that takes this line"), "{found:#?}");
    let found = outcomes(&LOOKS, "# A\n```tools\nlook null\nlook {\n```\n```transcript\n```\n");
    assert!(found[0].starts_with("A: Failed 4 `{` is no JSON"), "{found:#?}");
}

// `docs/testing.md`: `- not answered` is never written; why nothing is written is said, also behind lines that differ
#[test]
fn an_update_that_writes_nothing_says_why() {
    let folder = graph(&[&LOOKS[..], &[("_tests/a.md", "# A\n```transcript\n| Another text.\n```\n")]].concat());
    let suite = open(folder.path());
    let mut options = Options::default();
    options.update = Some(trellis_trial::Update::All);
    let found = played(&suite, &options);
    assert!(found[0].contains("Failed 3 not answered: look {}; write `< RESULT` below the call"), "{found:#?}");
    // A check shows what differs first.
    let found = played(&suite, &Options::default());
    assert!(found[0].starts_with("A: Failed 3 -[\"| Another text.\""), "{found:#?}");
}

// `docs/reference/cli.md#test`: what is played when somebody interrupts it counts as not played
#[test]
fn an_interrupt_leaves_the_rest_unplayed() {
    let folder = graph(&[&HELLO[..], &[("_tests/a.md", "# A\n```transcript\n| Hello.\n* end finished\n```\n")]].concat());
    let options = Options::default();
    options.interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(played(&open(folder.path()), &options), [""; 0]);
}

const PARTS: [(&str, &str); 3] = [
    ("trellis.yaml", "bindings: { t: { function: true, effect: none } }\n"),
    ("start.md", "---\ndo: { parallel: { a: t, b: t } }\nto: end\n---\n"),
    ("end.md", "---\n---\nDone.\n"),
];

#[test]
fn a_part_that_is_answered_twice_and_doubles_that_fit_nothing_are_said() {
    let twice = "# A\n```transcript\n$ by hand\n<2 1\n<2 1\n<3 1\n```\n";
    let found = outcomes(&PARTS, twice);
    assert!(found[0].contains("Failed"), "{found:#?}");
    let unused = "# A\n```tools\nt 1\nt {\"x\": 1} 2\nu 3\n```\n```transcript\n...\n* end finished\n```\n";
    let found = outcomes(&PARTS, unused);
    assert!(found[0].contains("unused double: `t`"), "{found:#?}");
}

#[test]
fn children_below_children_end_where_the_bound_is() {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut folder = String::new();
    for _ in 0..66 {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        files.push((format!("{prefix}start.md"), "---\ndo: { graph: g }\nto: end\n---\n".to_owned()));
        files.push((format!("{prefix}end.md"), "---\n---\n".to_owned()));
        if !folder.is_empty() {
            files.push((format!("{prefix}trellis.yaml"), "name: g\n".to_owned()));
        }
        folder = format!("{prefix}g");
    }
    files.push((format!("{folder}/trellis.yaml"), "name: g\n".to_owned()));
    files.push((format!("{folder}/start.md"), "---\n---\nDeep.\n".to_owned()));
    files.push(("_tests/t.md".to_owned(), "# A\n```transcript\n...\n* end [..]\n```\n".to_owned()));
    let folder = folder_of(files.iter().map(|(path, text)| (path.clone(), text.as_str())));
    let found = played(&open(folder.path()), &Options::default());
    // It ends, whatever it comes to: with the bound of the graph, and not with that of a stack.
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn a_recording_of_another_program_stands_in_for_tools() {
    let files = [
        ("trellis.yaml", "bindings: { look: { function: true } }\n"),
        ("start.md", "---\ndo: { name: look, args: { n: 1 } }\nsave_to: found\non_error: lost\nto: again\n---\n"),
        ("again.md", "---\ndo: { name: look, args: { n: 2 } }\non_error: lost\nto: end\n---\n"),
        ("lost.md", "---\n---\nLost.\n"),
        ("end.md", "---\n---\nFound {{ found }}.\n"),
        (
            "_tests/run.jsonl",
            "{\"tool\":\"look\",\"args\":{\"n\":1},\"outcome\":{\"success\":\"it\"}}\n{\"tool\":\"look\",\"args\":{\"n\":2},\"outcome\":{\"error\":{\"message\":\"no\"}}}\n",
        ),
    ];
    let sheet = "# T\n```tools\nrun.jsonl\n```\n## played\n```transcript\n...\n| Lost.\n* end finished\n```\n## gone\n```tools\nnowhere.jsonl\n```\n```transcript\n...\n```\n";
    let found = outcomes(&files, sheet);
    assert_eq!(found[0], "T › played: Passed", "{found:#?}");
    assert!(found[1].contains("`nowhere.jsonl`"), "{found:#?}");
    let unused = outcomes(&files, "# T\n```tools\nrun.jsonl\nlook null\n```\n```transcript\n...\n```\n");
    assert!(unused[0].contains("unused double: `look`"), "the recording is more particular: {unused:#?}");
}

#[test]
fn the_words_of_each_locale_are_counted() {
    let files = [
        ("trellis.yaml", "locale: lang\ncontext: { lang: string }\n"),
        ("start.md", "---\ndefault_context: { lang: pt-BR }\nmessages: { pt: { content: Olá }, de: { content: Hallo } }\n---\nHello\n"),
        ("_tests/t.md", "# T\n```transcript\n| Olá\n* end finished\n```\n"),
    ];
    let folder = graph(&files);
    let suite = open(folder.path());
    let mut counts = Counts::default();
    for (_, case, verdict, _) in suite.play(&Options::default()) {
        assert!(verdict.difference.is_none(), "{} {:?}", case.title, verdict.difference);
        counts.add(&verdict.counts);
    }
    let found = coverage(suite.compiled.program.as_ref().unwrap(), &counts, "");
    let locales: Vec<(&str, u64)> = found.items.iter().filter(|item| item.kind == "locale").map(|item| (&*item.what, item.count)).collect();
    assert_eq!((locales, found.summary["locale"]), (vec![("de", 0), ("pt", 1)], [1, 2]));
}
