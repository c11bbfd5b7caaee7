//! Very deep, very long, very many: nothing recurses on the size of a graph, and every bound is an error that names itself.

use std::{fmt::Write as _, sync::Arc, thread};

use trellis_core::{Document, Engine, Input, Next, Predicates, Source, Start, compile, syntax::document::Content};
use trellis_project::{Memory, Project};
use trellis_tests::harness::Loaded;

/// The stack of a thread that a host may run us in.
const STACK: usize = 2 << 20;

/// Runs `body` on a small stack; an overflow aborts the whole test run.
fn on_a_small_stack<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::Builder::new().stack_size(STACK).spawn(body).expect("a thread");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The codes that a graph of these files shows, each once.
fn codes(files: Vec<(String, String)>) -> Vec<String> {
    on_a_small_stack(move || {
        let files: Vec<Source> = files.into_iter().map(|(path, text)| Source::text(path, &text)).collect();
        let found = Loaded::new(&files).compiled.diagnostics;
        let mut codes: Vec<_> = found.iter().map(|diagnostic| diagnostic.code.to_string()).collect();
        codes.sort();
        codes.dedup();
        codes
    })
}

/// The codes of a graph of one `start.md` with this matter and body.
fn of_start(matter: &str, body: &str) -> Vec<String> {
    codes(vec![("start.md".into(), format!("---\n{matter}\n---\n{body}\n"))])
}

#[test]
fn yaml_may_be_nested_as_deep_as_it_likes() {
    for (open, close) in [("[", "]"), ("{ a: ", "}"), ("- ", "")] {
        for depth in [500, 100_000] {
            let deep = format!("set:\n  a: {}1{}", open.repeat(depth), close.repeat(depth));
            let found = of_start(if open == "- " { deep.trim_start_matches("set:\n  a: ") } else { &deep }, "");
            assert!(!found.is_empty(), "`{open}` {depth} deep is refused");
        }
    }
    let indented: String = (0..1000).fold(String::new(), |mut text, depth| {
        let _ = write!(text, "\n{}a:", " ".repeat(depth));
        text
    });
    assert!(!of_start(indented.trim_start(), "").is_empty());
    assert_eq!(codes(vec![("start.json".into(), "[".repeat(100_000))]), ["yaml-syntax"]);
}

#[test]
fn templates_and_conditions_may_be_nested_as_deep_as_they_like() {
    for depth in [100, 50_000] {
        let bodies = [
            format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth)),
            format!("{{{{ {}1{} }}}}", "[".repeat(depth), "]".repeat(depth)),
            format!("{{{{ {}x }}}}", "not ".repeat(depth)),
            format!("{{{{ {}1 }}}}", "-".repeat(depth)),
            format!("{{{{ 1{} }}}}", " + 1".repeat(depth)),
            format!("{{{{ x{} }}}}", ".a".repeat(depth)),
            format!("{{{{ x{} }}}}", "[0]".repeat(depth)),
            format!("{{{{ x{} }}}}", " | upper".repeat(depth)),
            format!("{}{}", "{% if x %}".repeat(depth), "{% endif %}".repeat(depth)),
            format!("{}{}", "{% for x in y %}".repeat(depth), "{% endfor %}".repeat(depth)),
            format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(depth)),
            "{{".repeat(depth),
            "{%".repeat(depth),
            "{{ x }}".repeat(depth),
        ];
        for body in bodies {
            of_start("default_context: { x: 1, y: [] }", &body);
            for dialect in ["go", "legacy"] {
                let project = ("trellis.yaml".to_owned(), format!("templates: {dialect}"));
                codes(vec![project, ("start.md".into(), body.replace("% ", " ").replace(" %", " "))]);
            }
        }
        for condition in
            [format!("{}x", "not ".repeat(depth)), format!("x{}", ".a".repeat(depth)), format!("x in [{}1]", "1, ".repeat(depth))]
        {
            of_start(&format!("transitions: [{{ condition: '{condition}', to: start }}, {{ to: fail }}]"), "");
        }
    }
}

#[test]
fn aliases_cannot_unfold_without_end() {
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        let _ = writeln!(bomb, "a{level}: &a{level} [*a{0}, *a{0}]", level - 1);
    }
    assert!(of_start(&format!("{bomb}set: {{ x: *a39 }}"), "").contains(&"yaml-syntax".to_owned()));
    assert!(!of_start("set: { x: &a [*a] }", "").is_empty(), "an alias of itself");
}

#[test]
fn libraries_may_lead_round_or_deep() {
    let start = ("start.md".to_owned(), "---\ntools: [l0.yaml]\nmetadata: { kind: greeting }\n---\nHello.\n".to_owned());
    let library = |at: usize, to: usize| (format!("l{at}.yaml"), format!("tools: [l{to}.yaml, l{to}.yaml, {{ name: t{at} }}]\n"));
    let ring = (0..3000).map(|at| library(at, (at + 1) % 3000)).chain([start.clone()]);
    assert_eq!(codes(ring.collect()), ["tool-cycle"]);
    let chain = (0..60).map(|at| library(at, at + 1)).chain([("l60.yaml".into(), "tools: []\n".into()), start]);
    assert_eq!(codes(chain.collect()), Vec::<String>::new(), "sixty libraries, each named twice");
}

#[test]
fn one_node_may_have_very_many_options_transitions_and_words() {
    let options: String = (0..20_000).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "  - {{ value: {at}, text: o{at} }}");
        text
    });
    assert_eq!(of_start(&format!("options:\n{options}"), ""), Vec::<String>::new());
    let transitions: String = (0..5_000).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "  - {{ condition: input == \"{at}\", to: start }}");
        text
    });
    assert_eq!(of_start(&format!("wait: true\ntransitions:\n{transitions}  - to: fail"), ""), Vec::<String>::new());
    let body = "word ".repeat(200_000);
    assert_eq!(of_start("set: { a: 1 }", &body), Vec::<String>::new());
}

/// The documents of a chain of nodes, each of which passes on to the next; the last one ends.
fn chain(length: u32) -> Vec<Arc<Document>> {
    let node = |at: u32| {
        let (path, text) = match at {
            0 => ("start.md".to_owned(), "---\nto: n1\n---\n".to_owned()),
            _ if at + 1 == length => (format!("n{at}.md"), "---\n---\n".to_owned()),
            _ => (format!("n{at}.md"), format!("---\nto: n{}\n---\n", at + 1)),
        };
        Arc::new(Document::parse(&Source::text(path, &text), trellis_core::Dialect::Jinja))
    };
    (0..length).map(node).collect()
}

/// `CHAIN=1000000` takes a million: 3.3 GB and about a minute in the dev profile. What recursed on the length would overflow at a tenth of that, at 21 bytes a frame.
#[test]
fn a_chain_of_many_nodes_is_checked_and_walked() {
    let length = std::env::var("CHAIN").ok().and_then(|length| length.parse().ok()).unwrap_or(100_000);
    on_a_small_stack(move || {
        let documents = chain(length);
        assert!(documents.iter().all(|document| matches!(document.content, Content::Node(_))));
        let compiled = compile(&documents);
        assert!(compiled.diagnostics.is_empty(), "{:?}", &compiled.diagnostics[..1]);
        let engine = Engine::new(compiled.program.expect("it is clean"), Predicates::new()).expect("no predicates");
        let mut state = engine.start(Start::default()).expect("no inputs").state;
        let mut steps = 0_u32;
        while matches!(engine.render(&state).expect("nothing to render").next, Next::Pass) {
            state = engine.navigate(&state, Input::Pass).expect("it passes").state;
            steps += 1;
        }
        assert_eq!(steps, length - 1);
    });
}

/// Enters a `start` of this matter, which may call `t`; the code and the message if it fails there.
fn entered(matter: String) -> Option<(String, String)> {
    on_a_small_stack(move || {
        let files = [("trellis.yaml", "bindings: { t: { effect: none } }\n".to_owned()), ("start.md", format!("---\n{matter}\n---\n"))];
        let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, &text), trellis_core::Dialect::Jinja)));
        let compiled = compile(&documents);
        let engine = Engine::new(compiled.program.expect("it has no errors"), Predicates::new()).expect("no predicates");
        let state = engine.start(Start::default()).expect("no inputs").state;
        let ended = state.ended.as_ref()?;
        Some((ended.code.as_deref()?.to_owned(), ended.message.as_deref()?.to_owned()))
    })
}

// 10.4: with the default of `limits.parts`
#[test]
fn a_thousand_parts_are_carried_out_and_one_more_is_refused() {
    let branches = |count: usize| {
        let branches: Vec<_> = (0..count).map(|at| format!("b{at}: t")).collect();
        entered(format!("do: {{ parallel: {{ {} }} }}", branches.join(", ")))
    };
    let items = |count: usize| {
        let items = vec!["{ name: t }"; count].join(", ");
        entered(format!("tools: [t]\ndefault_context: {{ calls: [{items}] }}\ndo: {{ each: calls }}"))
    };
    for parts in [&branches as &dyn Fn(usize) -> Option<(String, String)>, &items] {
        assert_eq!(parts(1_000), None);
        let (code, message) = parts(1_001).expect("it fails");
        assert_eq!(code, "limit");
        assert!(message.contains("limits.parts") && message.contains("1000") && message.contains("1001"), "{message}");
    }
}

#[test]
fn a_ring_of_many_nodes_is_one_finding() {
    let mut files: Vec<_> =
        (0..20_000).map(|at| (format!("n{at}.md"), format!("---\nwait: true\nto: n{}\n---\n", (at + 1) % 20_000))).collect();
    files.push(("start.md".into(), "---\nto: n0\n---\n".into()));
    assert_eq!(codes(files), ["no-way-out"]);
}

/// The files of a chain of nodes in a hundred folders, two more than `count`.
fn in_folders(count: u32) -> impl Iterator<Item = (String, String)> {
    let file = |at: u32| (format!("f{}/n{at}.md", at % 100), format!("---\nto: /f{}/n{}\n---\nNode {at}.\n", (at + 1) % 100, at + 1));
    let last = (format!("f{}/n{count}.md", count % 100), "The end.\n".to_owned());
    let start = ("start.md".to_owned(), "---\nto: f0/n0\n---\n".to_owned());
    (0..count).map(file).chain([last, start])
}

#[test]
fn a_hundred_thousand_files_come_in_through_a_loader() {
    let project = on_a_small_stack(move || Project::with_loader(in_folders(100_000).collect::<Memory>()).expect("memory does not fail"));
    let compiled = project.compile();
    assert!(compiled.diagnostics.is_empty(), "{:?}", &compiled.diagnostics[..1]);
    assert_eq!(compiled.nodes, 100_002);
}

/// `FILES=100000` takes as many, as `./test long` does.
#[test]
fn very_many_files_are_read_from_a_disk() {
    let count = std::env::var("FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let folder = tempfile::tempdir().expect("a folder");
    (0..100).for_each(|at| std::fs::create_dir(folder.path().join(format!("f{at}"))).expect("a folder"));
    in_folders(count).for_each(|(path, text)| std::fs::write(folder.path().join(path), text).expect("a file"));
    let root = folder.path().to_owned();
    let project = on_a_small_stack(move || Project::open(root).expect("it can be read"));
    assert!(project.problems().is_empty(), "{:?}", &project.problems()[..1]);
    let compiled = project.compile();
    assert!(compiled.diagnostics.is_empty(), "{:?}", &compiled.diagnostics[..1]);
    assert_eq!(compiled.nodes, usize::try_from(count).expect("it fits") + 2);
}
