//! The needs of a node from there on (language 8.7).

use trellis_core::{Program, id::NodeId, state::State};

use crate::graph::{Walk, json, program};

/// The needs of a node: the certain ones, then those that are only possible.
fn needs(program: &Program, node: &str) -> (Vec<String>, Vec<String>) {
    let node = program.node(program.find(&NodeId::new(node)).unwrap());
    let needs = program.needs(node);
    let shown = |paths: &[_]| paths.iter().map(ToString::to_string).collect::<Vec<String>>();
    let (certain, possible) = (shown(&needs.certain), shown(&needs.possible));
    assert!(certain.iter().all(|path| possible.contains(path)), "{needs:?}");
    (certain.clone(), possible.into_iter().filter(|path| !certain.contains(path)).collect())
}

const TRELLIS: (&str, &str) = (
    "trellis.yaml",
    "bindings: { t: { effect: none } }\ninputs: { type: object, required: [a, b, c], properties: { a: {}, b: {}, c: {} } }\n",
);

fn of(nodes: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let files: Vec<(&str, &str)> = std::iter::once(TRELLIS).chain(nodes.iter().copied()).collect();
    needs(&program(&files), "start")
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn what_later_nodes_read_is_needed_unless_it_is_written_before() {
    let nodes = [
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: act\n---\n{{ a }}"),
        ("act.md", "---\ndo: { name: t, args: { x: \"{{ name }}\", y: \"{{ b }}\" } }\nsave_to: c\nto: last\n---\n"),
        ("last.md", "---\noutput: \"{{ c }}\"\n---\nBye."),
    ];
    assert_eq!(of(&nodes), (strings(&["a", "b"]), vec![]));
}

#[test]
fn what_one_way_reads_is_possible_and_what_all_read_is_certain() {
    let nodes = [
        ("start.md", "---\noptions: [{ text: A, to: x }, { text: B, to: y }]\n---\n"),
        ("x.md", "{{ a }}{{ c }}"),
        ("y.md", "{{ b }}{{ c }}"),
    ];
    assert_eq!(of(&nodes), (strings(&["c"]), strings(&["a", "b"])));
    // An error is no way on which all goes well.
    let nodes = [("start.md", "---\ndo: t\non_error: x\nto: y\n---\n"), ("x.md", "{{ a }}"), ("y.md", "{{ b }}")];
    assert_eq!(of(&nodes), (strings(&["b"]), strings(&["a"])));
}

#[test]
fn conditions_read_what_they_compare_and_guard_what_they_ask_for() {
    let nodes = [
        ("start.md", "---\ntransitions: [{ condition: a is set, to: x }, { condition: b == 1, to: y }]\nto: y\n---\n"),
        ("x.md", "{{ a }}{{ b }}"),
        ("y.md", "{{ c }}"),
    ];
    assert_eq!(of(&nodes), (strings(&["b"]), strings(&["c"])));
    let nodes = [
        (
            "start.md",
            "---\ntransitions: [{ condition: a is empty, to: y }]\nto: x\n---\n{% if c %}{{ c }}{% endif %}{% if b %}{{ a }}{% endif %}",
        ),
        ("x.md", "{{ a }}"),
        ("y.md", "Bye."),
    ];
    assert_eq!(of(&nodes), (vec![], strings(&["a"])));
}

#[test]
fn a_loop_that_can_be_left_hides_nothing_and_one_that_cannot_claims_nothing() {
    let nodes = [
        ("start.md", "---\noptions: [{ text: Again, to: again }, { text: On, to: x }]\n---\n"),
        ("again.md", "---\nwait: true\nto: start\n---\n{{ b }}"),
        ("x.md", "{{ a }}"),
    ];
    assert_eq!(of(&nodes), (strings(&["a"]), strings(&["b"])));
    let nodes = [
        ("start.md", "---\noptions: [{ text: A, to: x }, { text: B, to: y }]\non_interrupt: end\n---\n{{ c }}"),
        ("x.md", "---\nwait: true\nto: start\n---\n{{ a }}"),
        ("y.md", "---\nwait: true\nto: start\n---\n{{ b }}"),
        ("end.md", "Bye."),
    ];
    assert_eq!(of(&nodes), (strings(&["c"]), strings(&["a", "b"])));
}

#[test]
fn a_node_that_admits_no_more_entries_is_not_read() {
    let nodes = [("start.md", "---\nmax_visits: 2\non_max_visits: x\nwait: true\nto: start\n---\n{{ b }}"), ("x.md", "{{ a }}")];
    assert_eq!(of(&nodes), (strings(&["a"]), strings(&["b"])));
}

#[test]
fn parts_of_mappings_are_needed_by_themselves() {
    let nodes = [
        ("start.md", "---\nset: { a: { x: 1 }, b.x: 1 }\nto: x\n---\n"),
        ("x.md", "---\ndefault_context: { c: 1 }\nrequired_context: [b.y, c]\n---\n{{ a.y | default(1) }}{{ a }}{{ b }}{{ b.x }}{{ c }}"),
    ];
    let files: Vec<(&str, &str)> = nodes.to_vec();
    let trellis = "inputs: { type: object, required: [b], properties: { b: { type: object, required: [y], properties: { y: {} } } } }\n";
    let files: Vec<_> = std::iter::once(("trellis.yaml", trellis)).chain(files).collect();
    assert_eq!(needs(&program(&files), "start"), (strings(&["b.y"]), vec![]));
}

#[test]
fn undo_and_rollback_read_too_and_children_have_contexts_of_their_own() {
    let nodes = [
        (
            "start.md",
            "---\ndo: { graph: child, args: { a: 1 } }\nundo: { name: t, args: { b: \"{{ b }}\" } }\nto: rollback\non_rolled_back: after\n---\n",
        ),
        ("child.md", "---\nrequired_context: [a]\n---\n{{ a }}"),
        ("after.md", "{{ c }}"),
    ];
    assert_eq!(of(&nodes), (strings(&["b", "c"]), vec![]));
}

// language 10.6: an undo of a branch is made when its branch succeeds, over the context at the call and what the branch itself saves
#[test]
fn undos_of_branches_read_when_their_branches_succeed() {
    let calling = |more: &str| {
        format!(
            "---\ndo:\n  parallel:\n    x: {{ name: t, save_to: mine, undo: {{ name: t, args: {{ p: \"{{{{ a }}}}\", q: \"{{{{ mine }}}}\" }} }} }}\n    y: t\n{more}save_to: b\non_error: failed\nto: last\n---\n"
        )
    };
    let end = [("last.md", "Bye."), ("failed.md", "Bye.")];
    let of = |more: &str| of(&[&[("start.md", &*calling(more))], &end[..]].concat());
    assert_eq!(of(""), (strings(&["a"]), vec![]));
    // The branch need not succeed.
    assert_eq!(of("  on_error: collect\n"), (vec![], strings(&["a"])));
    assert_eq!(of("  join: any\n"), (vec![], strings(&["a"])));
    // What the whole saves comes later.
    let saved = calling("").replace("save_to: b", "save_to: a");
    assert_eq!(self::of(&[&[("start.md", &*saved)], &end[..]].concat()), (strings(&["a"]), vec![]));
}

#[test]
fn a_state_is_admitted_when_it_has_what_lies_before_it() {
    let files = [
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: ask\n---\n"),
        ("ask.md", "---\nwait: true\nto: last\n---\n"),
        ("last.md", "Bye, {{ name }}."),
    ];
    let mut walk = Walk::new(&files);
    let program = program(&files);
    assert_eq!(program.admits(&walk.state), Ok(()));
    walk.say("Ann");
    assert_eq!(program.admits(&walk.state), Ok(()));
    let mut json = serde_json::to_value(&walk.state).unwrap();
    json["context"] = serde_json::json!({});
    let without: State = serde_json::from_value(json).unwrap();
    assert_eq!(program.admits(&without).unwrap_err().to_string(), "`name` is not set");
    walk.say("on");
    assert_eq!(program.admits(&walk.state), Ok(()), "an ended session needs nothing");
}

#[test]
fn before_each_brings_what_it_saves() {
    let trellis = "before_each: { name: t, args: { x: \"{{ b }}\" }, save_to: a }\nbindings: { t: { effect: none } }\n\
                   inputs: { type: object, required: [b], properties: { b: {} } }\n";
    let files = [("trellis.yaml", trellis), ("start.md", "---\nwait: true\nto: next\n---\n{{ a }}"), ("next.md", "{{ a }}{{ b }}")];
    assert_eq!(needs(&program(&files), "start"), (strings(&["b"]), vec![]));
    let walk = Walk::with(crate::graph::engine(&files), &json(r#"{"b": 1}"#).to_json());
    assert_eq!(program(&files).admits(&walk.state), Ok(()), "what `before_each` will bring is not missing");
}

#[test]
fn a_hundred_thousand_nodes_take_no_stack_and_little_time() {
    let mut files = vec![("trellis.yaml".to_owned(), "inputs: { type: object, required: [k], properties: { k: {} } }\n".to_owned())];
    let count = 20_000;
    for at in 0..count {
        let id = if at == 0 { "start".to_owned() } else { format!("n{at}") };
        let text = match at {
            _ if at == count - 1 => "{{ k }}".to_owned(),
            _ => format!("---\noptions: [{{ text: Back, to: {id} }}, {{ text: On, to: n{} }}]\n---\n", at + 1),
        };
        files.push((format!("{id}.md"), text));
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(needs(&program(&files), "start"), (strings(&["k"]), vec![]));
}

/// Returns the needs of a node of kinds and of `sys`, as text.
fn more(nodes: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let files: Vec<(&str, &str)> = std::iter::once(TRELLIS).chain(nodes.iter().copied()).collect();
    let program = program(&files);
    let needs = program.needs(program.entry());
    let kinds = needs.kinds.iter().map(|(path, kind)| format!("{path}: {}", kind.source().to_json())).collect();
    (kinds, needs.sys.iter().map(ToString::to_string).collect())
}

#[test]
fn what_every_way_does_with_a_value_says_of_what_kind_it_must_be() {
    let nodes = [
        ("start.md", "---\noptions: [{ text: A, to: x }, { text: B, to: y }]\n---\n"),
        ("x.md", "---\nto: z\n---\n{{ a - 2 }}{% for one in b %}x{% endfor %}"),
        ("y.md", "---\nto: z\n---\n{{ a - 1 }}"),
        ("z.md", "---\ncontext_schema: { c: { enum: [1, 2] } }\noutput: 1\n---\n"),
    ];
    assert_eq!(more(&nodes).0, strings(&["a: {\"type\":[\"boolean\",\"number\"]}", "c: {\"enum\":[1,2]}"]), "one way says nothing of `b`");
    // A key that was written before is not one that was given.
    let nodes = [("start.md", "---\nset: { a: 1 }\nto: x\n---\n"), ("x.md", "{{ a - 2 }}")];
    assert_eq!(more(&nodes).0, strings(&[]));
    let nodes = [("start.md", "{% if a %}{{ a - 2 }}{% endif %}")];
    assert_eq!(more(&nodes).0, strings(&[]), "what is asked first may be of any kind");
    let nodes = [
        (
            "start.md",
            "---\ntools: [{ name: t, parameters: { type: object, properties: { n: { type: integer } } } }]\ndo: { name: t, args: { n: \"{{ a }}\" } }\nto: x\n---\n",
        ),
        ("x.md", "---\ntransitions: [{ condition: b, to: y }]\nto: y\n---\n"),
        ("y.md", "Bye."),
    ];
    assert_eq!(more(&nodes).0, strings(&["a: {\"type\":\"integer\"}", "b: {\"type\":[\"boolean\"]}"]));
}

#[test]
fn what_is_read_of_sys_must_have_come_about_before() {
    let asked = [("start.md", "---\nwait: true\nto: x\n---\n"), ("x.md", "{{ sys.ans }}")];
    assert_eq!(more(&asked).1, strings(&[]), "the answer is written on the way");
    let program = program(&[TRELLIS, asked[0], asked[1]]);
    let needs = program.needs(program.node(program.find(&NodeId::new("x")).unwrap()));
    assert_eq!(needs.sys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sys.ans"]);
    assert!(needs.certain.is_empty());
}
