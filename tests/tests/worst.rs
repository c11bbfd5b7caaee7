//! The worst cases for the checker: very many mistakes, very wide nodes, circles, diamonds, flags that depend on one another. Each ends, and says
//! something useful.
//!
//! `--nocapture` shows how long each took; no test depends on it.

use std::{collections::BTreeMap, fmt::Write as _, time::Instant};

use trellis_core::{Code, Compiled, Source};
use trellis_tests::harness::graph::parse;

type File = (String, String);

/// Compiles a graph; how long it took is printed.
#[expect(clippy::print_stdout, reason = "figures for whoever asks with --nocapture")]
fn compiled(what: &str, files: Vec<File>) -> Compiled {
    let files: Vec<Source> = files.into_iter().map(|(path, text)| Source::text(path, &text)).collect();
    let begun = Instant::now();
    let documents = parse(&files);
    let parsed = begun.elapsed();
    let compiled = trellis_core::compile(&documents);
    println!("{what}: parsed in {parsed:.2?}, all in {:.2?}, {} findings", begun.elapsed(), compiled.diagnostics.len());
    compiled
}

/// Returns the number of findings of each code.
fn counted(what: &str, files: Vec<File>) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for found in compiled(what, files).diagnostics {
        *counts.entry(found.code).or_default() += 1;
    }
    counts
}

fn file(path: impl Into<String>, text: impl Into<String>) -> File {
    (path.into(), text.into())
}

/// `count` nodes, each made by `node`, which gets its number and the name of the next.
fn nodes(count: usize, node: impl Fn(usize, &str) -> String) -> Vec<File> {
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("n{at}") };
    (0..count).map(|at| file(format!("{}.md", name(at)), node(at, &name(at + 1)))).collect()
}

/// Lines that `line` makes of the numbers below `count`.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{}", line(at));
        text
    })
}

/// Returns the number that counts as many; `MANY=10000` is what was measured.
fn many() -> usize {
    std::env::var("MANY").ok().and_then(|many| many.parse().ok()).unwrap_or(1_000)
}

#[test]
fn very_many_misspelt_targets() {
    let many = many();
    let mut files = nodes(many, |at, next| format!("---\noptions: [{{ text: on, to: {next} }}, {{ text: off, to: nn{at}x }}]\n---\n"));
    files.push(file(format!("n{many}.md"), "The end.\n"));
    assert_eq!(counted("misspelt targets", files), BTreeMap::from([(Code::UnknownTarget, many)]));
}

#[test]
fn very_many_misspelt_keys_of_one_node() {
    let many = many();
    let keys = lines(many, |at| format!("save_too{at}: x"));
    let found = counted("misspelt keys", vec![file("start.md", format!("---\nwait: true\n{keys}---\n"))]);
    assert_eq!(found, BTreeMap::from([(Code::UnknownKey, many)]));
}

#[test]
fn very_many_conditions_and_templates_that_make_no_sense() {
    let many = many();
    let conditions = lines(many / 2, |at| format!("  - {{ condition: a{at} = 1, to: start }}"));
    let body = lines(many / 2, |at| format!("{{{{ a{at} | nofilter }}}}"));
    let found =
        counted("senseless parts", vec![file("start.md", format!("---\nwait: true\ntransitions:\n{conditions}  - to: fail\n---\n{body}"))]);
    assert_eq!(found[&Code::ConditionSyntax], many / 2);
    assert!(found[&Code::UnknownFilter] > 0, "{found:?}");
}

#[test]
fn very_many_values_that_nothing_sets_in_a_chain() {
    let many = many();
    let mut files = nodes(many, |at, next| format!("---\nto: {next}\n---\n{{{{ key{at} }}}}\n"));
    files.push(file(format!("n{many}.md"), "The end.\n"));
    let found = counted("unset values in a chain", files);
    assert!(found[&Code::UndefinedVariable] > 0, "{found:?}");
}

#[test]
fn very_many_values_that_nothing_sets_side_by_side() {
    let many = many() / 10;
    let options = lines(many, |at| format!("  - {{ text: o{at}, to: n{at} }}"));
    let mut files: Vec<File> = (0..many).map(|at| file(format!("n{at}.md"), format!("{{{{ key{at} }}}}\n"))).collect();
    files.push(file("start.md", format!("---\noptions:\n{options}---\n")));
    let found = counted("unset values side by side", files);
    assert!(found.values().sum::<usize>() > 0, "{found:?}");
}

#[test]
fn a_cycle_through_every_node() {
    let many = many();
    let ring = |exit: &str| {
        nodes(many, |at, next| {
            let next = if at + 1 == many { "start" } else { next };
            let exit = if at == many / 2 { exit } else { "" };
            format!("---\ninput_type: text\nsave_to: k{}\n{exit}to: {next}\n---\n{{{{ k{} | default(\"\") }}}}\n", at % 40, (at + 7) % 40)
        })
    };
    assert_eq!(counted("a cycle", ring("")), BTreeMap::from([(Code::NoWayOut, 1)]));
    assert_eq!(counted("a cycle with an exit", ring("on_interrupt: fail\n")), BTreeMap::new());
    let mut wrong = ring("on_interrupt: fail\n");
    wrong[many - 1].1.push_str("{{ never }}\n");
    let found = counted("a cycle with a mistake at its end", wrong);
    assert_eq!(found.values().sum::<usize>(), 1, "{found:?}");
}

#[test]
fn a_node_with_very_many_options() {
    let many = many();
    let options = lines(many, |at| format!("  - o{at}"));
    let transitions = |count: usize| lines(count, |at| format!("  - {{ condition: input == \"o{at}\", to: n{} }}", at % 10));
    let targets = || (0..10).map(|at| file(format!("n{at}.md"), "The end.\n"));
    let graph = |count: usize| {
        let start = format!("---\noptions:\n{options}save_to: picked\ntransitions:\n{}---\n", transitions(count));
        targets().chain([file("start.md", start)]).collect::<Vec<_>>()
    };
    assert_eq!(counted("options, each with a way", graph(many)), BTreeMap::new());
    assert_eq!(counted("options, one without a way", graph(many - 1)), BTreeMap::from([(Code::NonExhaustive, 1)]));
    let twice = format!("---\noptions:\n{options}{options}to: n0\n---\n");
    let found = counted("options, each twice", vec![file("start.md", twice), file("n0.md", "The end.\n")]);
    assert_eq!(found, BTreeMap::from([(Code::DuplicateOption, many)]));
    let list = (0..many).map(|at| format!("\"o{at}\"")).collect::<Vec<_>>().join(", ");
    let listed = format!("---\noptions:\n{options}save_to: picked\ntransitions:\n  - {{ condition: 'picked in [{list}]', to: n0 }}\n---\n");
    assert_eq!(counted("options, all in one list", vec![file("start.md", listed), file("n0.md", "The end.\n")]), BTreeMap::new());
}

/// One of very many answers decides much later whether the key that it sets is there, and whether every answer has a transition.
#[test]
fn an_answer_of_very_many_that_is_saved_and_compared() {
    let many = many();
    let options = lines(many, |at| format!("  - o{at}"));
    let start = || file("start.md", format!("---\noptions:\n{options}save_to: picked\nto: next\n---\n"));
    let end = || file("end.md", "The end.\n");
    let next = |count: usize| lines(count, |at| format!("  - {{ condition: picked == \"o{at}\", to: end }}"));
    let graph = |count: usize| vec![start(), end(), file("next.md", format!("---\ntransitions:\n{}---\n", next(count)))];
    assert_eq!(counted("answers, each with a way later", graph(many)), BTreeMap::new());
    assert_eq!(counted("answers, one without a way later", graph(many - 1)), BTreeMap::from([(Code::NonExhaustive, 1)]));
    let reads = |asked: usize| {
        let ask = |at: usize, yes: &str, no: &str| {
            format!("---\ntransitions:\n  - {{ condition: picked == \"o{at}\", to: {yes} }}\n  - to: {no}\n---\n")
        };
        let set = file("set.md", "---\nset: { v: 1 }\nto: again\n---\n");
        vec![
            start(),
            end(),
            set,
            file("next.md", ask(7, "set", "again")),
            file("again.md", ask(asked, "read", "end")),
            file("read.md", "{{ v }}\n"),
        ]
    };
    assert_eq!(counted("an answer that decides twice", reads(7)), BTreeMap::new());
    assert_eq!(counted("an answer that decides otherwise", reads(8)), BTreeMap::from([(Code::MaybeUndefined, 1)]));
    let ways = |without: usize| {
        let options = lines(many, |at| format!("  - {{ text: o{at}, to: n{at} }}"));
        let node = |at: usize| {
            file(format!("n{at}.md"), if at == without { "---\nto: last\n---\n" } else { "---\nset: { v: 1 }\nto: last\n---\n" })
        };
        let start = file("start.md", format!("---\noptions:\n{options}save_to: picked\n---\n"));
        (0..many).map(node).chain([start, file("last.md", "{{ v }}, {{ picked }}\n")]).collect::<Vec<_>>()
    };
    assert_eq!(counted("ways that all set something", ways(many)), BTreeMap::new());
    assert_eq!(counted("ways of which one sets nothing", ways(many / 2)), BTreeMap::from([(Code::MaybeUndefined, 1)]));
}

/// A very long way is told from both ends.
#[test]
fn a_long_way_is_told_in_few_steps() {
    let many = many();
    let mut files = nodes(many, |_, next| format!("---\nto: {next}\n---\n"));
    files.push(file(format!("n{many}.md"), "{{ key }}\n"));
    let found = compiled("a long way", files).diagnostics;
    let [found] = &found[..] else { panic!("{found:?}") };
    let steps: Vec<&str> = found.labels.iter().filter(|label| label.is_step).map(|label| &*label.message).collect();
    assert_eq!(steps.len(), 32, "{steps:?}");
    assert_eq!((steps[0], steps[15]), ("goes on → n1, saves nothing", "goes on → n16, saves nothing"));
    assert_eq!(steps[16], format!("{} steps later: goes on → n{}, saves nothing", many - 32, many - 15));
    assert_eq!(steps[31], format!("goes on → n{many}, saves nothing"));
}

#[test]
fn a_template_of_a_mebibyte() {
    let many = many();
    let bodies = [
        ("prints", "{{ name }} ".repeat(95_000)),
        ("choices", "{% if name %}a{% else %}b{% endif %}".repeat(29_000)),
        ("loops", "{% for x in name %}{{ x }}{% endfor %}".repeat(26_000)),
        ("names", (0..2 * many).fold(String::new(), |text, at| text + &format!("{{{{ k{at} }}}} "))),
        ("one list", format!("{{{{ [{}1] }}}}", "name, ".repeat(170_000))),
        ("plain text", "word ".repeat(200_000)),
    ];
    for (what, body) in bodies {
        let files = vec![file("start.md", "---\ninput_type: text\nsave_to: name\nto: n\n---\n"), file("n.md", body)];
        let found = counted(&format!("a template of {what}"), files);
        assert_eq!(found.contains_key(&Code::UndefinedVariable), what == "names", "{what}: {found:?}");
    }
}

#[test]
fn schemas_that_refer_to_themselves() {
    let schemas = [
        r##"{ $ref: "#" }"##,
        r##"{ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }"##,
        r##"{ type: object, required: [next], properties: { next: { $ref: "#" }, kind: { enum: [x, y] } } }"##,
        r##"{ anyOf: [{ $ref: "#" }, { type: object }] }"##,
        r##"{ allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], $defs: { a: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } } }"##,
    ];
    for schema in schemas {
        let project = format!(
            "inputs: {schema}\ncontext: {{ a: {schema} }}\npredicates: {{ p: {{ schema: {schema} }} }}\nbindings: {{ t: {{ effect: none, parameters: {schema}, returns: {schema} }} }}\n"
        );
        let start = format!(
            "---\ncontext_schema: {{ b: {schema} }}\ndefault_context: {{ b: {{}} }}\ndo: {{ name: t, args: {{ next: {{ next: 1 }} }}, returns: {schema} }}\nsave_to: r\ntransitions:\n  - {{ condition: r.next.next.next.kind == \"x\", to: start }}\n  - {{ condition: p, to: fail }}\n  - to: ask\n---\n"
        );
        let ask = format!("---\ninput_type: json\ninput_schema: {schema}\nsave_to: a\nto: end\n---\n");
        let files = vec![
            file("trellis.yaml", project),
            file("start.md", start),
            file("ask.md", ask),
            file("end.md", "{{ a.next.next.next.next.next.next.next.next }}\n"),
        ];
        compiled(&format!("a schema {schema}"), files);
    }
}

#[test]
fn libraries_that_shadow_each_other_in_diamonds() {
    const DEEP: usize = 30;
    let library = |level: usize, side: char| {
        let inner = if level + 1 < DEEP { format!("  - l{0}a.yaml\n  - l{0}b.yaml\n", level + 1) } else { String::new() };
        let tool = format!(
            "  - {{ name: t, effect: none, parameters: {{ type: object, properties: {{ x{level}{side}: {{ type: string }} }} }} }}\n"
        );
        file(format!("l{level}{side}.yaml"), format!("tools:\n{inner}{tool}"))
    };
    let mut files: Vec<File> = (0..DEEP).flat_map(|level| [library(level, 'a'), library(level, 'b')]).collect();
    files.push(file("start.md", "---\ntools: [l0a.yaml, l0b.yaml]\ndo: { name: t, args: { x0b: a } }\n---\n"));
    let found = compiled("libraries in diamonds", files).diagnostics;
    assert!(!found.iter().any(|found| found.is_error()), "{found:#?}");
}

/// A chain that asks `count` questions, each of which may save a value, then reads each value where its question was answered with yes, or with `wrong` ones with no.
fn flags(count: usize, wrong: Option<usize>) -> Vec<File> {
    let ask = |at: usize| if at == 0 { "start".to_owned() } else { format!("ask{at}") };
    let mut files = Vec::new();
    for at in 0..count {
        let next = if at + 1 < count { ask(at + 1) } else { "check0".to_owned() };
        files.push(file(
            format!("{}.md", ask(at)),
            format!("---\noptions: [\"yes\", \"no\"]\nsave_to: flag{at}\ntransitions:\n  - {{ condition: flag{at} == \"yes\", to: set{at} }}\n  - to: {next}\n---\n"),
        ));
        files.push(file(format!("set{at}.md"), format!("---\ninput_type: text\nsave_to: value{at}\nto: {next}\n---\n")));
        let next = if at + 1 < count { format!("check{}", at + 1) } else { "end".to_owned() };
        let answer = if wrong == Some(at) { "no" } else { "yes" };
        files.push(file(
            format!("check{at}.md"),
            format!("---\ntransitions:\n  - {{ condition: flag{at} == \"{answer}\", to: read{at} }}\n  - to: {next}\n---\n"),
        ));
        files.push(file(format!("read{at}.md"), format!("---\nto: {next}\n---\n{{{{ value{at} }}}}\n")));
    }
    files.push(file("end.md", "The end.\n"));
    files
}

#[test]
fn flags_that_decide_what_is_read() {
    for count in [2, 6] {
        assert_eq!(counted("few flags", flags(count, None)), BTreeMap::new());
        for wrong in 0..count {
            let found = counted("few flags, one read on the wrong side", flags(count, Some(wrong)));
            assert!(found.keys().all(|code| *code == Code::UndefinedVariable || *code == Code::MaybeUndefined), "{found:?}");
            assert_eq!(found.values().sum::<usize>(), 1, "{found:?}");
        }
    }
    assert_eq!(counted("64 flags", flags(64, None)), BTreeMap::new());
    let found = counted("64 flags, one read on the wrong side", flags(64, Some(31)));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(Code::MaybeUndefined, 1)]);
}

#[test]
fn very_many_flags_that_each_decide_one_read() {
    assert_eq!(counted("500 flags", flags(500, None)), BTreeMap::new());
}

/// A chain of 64 questions, each of which sets one key where its answer is `sets`; the key is read where `read` leads.
fn together(sets: &str, read: &str) -> Vec<File> {
    let ask = |at: usize, next: &str| {
        format!(
            "---\noptions: [\"yes\", \"no\"]\nsave_to: f{at}\ntransitions:\n  - {{ condition: f{at} == \"{sets}\", to: y{at} }}\n  - to: {next}\n---\n"
        )
    };
    let mut files = nodes(64, ask);
    files.extend((0..64).map(|at| file(format!("y{at}.md"), format!("---\nset: {{ g: {at} }}\nto: n{}\n---\n", at + 1))));
    files.push(file("n64.md", read.to_owned()));
    files.extend([file("read.md", "{{ g }}\n"), file("end.md", "The end.\n")]);
    files
}

#[test]
fn flags_of_which_any_decides() {
    let any =
        format!("---\ntransitions:\n{}  - to: end\n---\n", lines(64, |at| format!("  - {{ condition: f{at} == \"yes\", to: read }}")));
    assert_eq!(counted("any flag", together("yes", &any)), BTreeMap::new());
    let found = counted("any flag, on the wrong side", together("no", &any));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(Code::MaybeUndefined, 1)]);
}

#[test]
fn flags_of_which_all_decide() {
    let all = |last: usize| {
        let mut files = nodes(64, |at, next| format!("---\noptions: [\"yes\", \"no\"]\nsave_to: f{at}\nto: {next}\n---\n"));
        files.extend((0..64).map(|at| {
            let text = format!("---\ntransitions:\n  - {{ condition: f{at} == \"yes\", to: n{} }}\n  - to: out\n---\n", 65 + at);
            file(format!("n{}.md", 64 + at), text)
        }));
        files.push(file("n128.md", "---\nset: { all: true }\nto: out\n---\n"));
        let no = lines(last, |at| format!("  - {{ condition: f{at} == \"no\", to: end }}"));
        files.push(file("out.md", format!("---\ntransitions:\n{no}  - to: read\n---\n")));
        files.extend([file("read.md", "{{ all }}\n"), file("end.md", "The end.\n")]);
        counted("all flags", files)
    };
    assert_eq!(all(64), BTreeMap::new());
    // The one way there answers 63 questions alike: whether it is found or not, it is not passed over.
    let found = all(63);
    assert!(
        matches!(found.into_iter().collect::<Vec<_>>()[..], [(Code::MaybeUndefined | Code::NotDecided, 1)]),
        "one flag is not asked about"
    );
}

#[test]
fn flags_that_are_set_on_both_sides() {
    let node = |at: usize, next: &str| {
        format!(
            "---\noptions: [\"yes\", \"no\"]\nsave_to: f{at}\ntransitions:\n  - {{ condition: f{at} == \"yes\", to: y{at} }}\n  - {{ condition: f{at} == \"no\", to: {next} }}\n---\n"
        )
    };
    let mut files = nodes(64, |at, next| node(at, next));
    files.extend((0..64).map(|at| file(format!("y{at}.md"), format!("---\nset: {{ g{at}: true }}\nto: n{}\n---\n", at + 1))));
    let body = lines(64, |at| format!("{{% if g{at} is defined %}}{{{{ g{at} }}}}{{% endif %}}"));
    files.push(file("n64.md", body));
    let found = counted("flags on both sides", files);
    assert_eq!(found, BTreeMap::new());
}
