//! `trellis migrate`: graphs as Go Trellis has them, and what the world can do to them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use crate::sandbox::{SOUND, Sandbox};

/// A graph with the forms of Go Trellis; `start` is the only file without one.
const ORDERS: &[(&str, &str)] = &[
    ("start.md", "---\nwait: true\nsave_to: name\nto: ask\n---\nWho are you?\n"),
    (
        "ask.md",
        "---\nid: ask.md\ntype: question\ninput_type: confirm # yes or no\nmessages:\n  pt:\n    - text: Quer algo, {{ .name }}?\n      condition: \"\"\n    - text: Sim ou não?\ntransitions:\n  - from: ask\n    to_node_id: order.json\n    condition: input == 'yes'\n  - to: end.md\n    condition: \"\"\n---\nDo you want anything, {{ .name }}?\n",
    ),
    (
        "order.json",
        "{\n  \"id\": \"order.json\",\n  \"do\": {\"id\": \"call-1\", \"name\": \"reserve\", \"args\": {\"name\": \"{{ .name }}\"}},\n  \"undo\": {\"name\": \"release\"},\n  \"next\": \"system\"\n}\n",
    ),
    (
        "system.md",
        "---\ndo:\n  name: get_os\n  metadata:\n    x-exec:\n      command: uname\n      args: [\"-s\"]\nsave_to: os\nto: end\n---\nLooking.\n",
    ),
    ("end.md", "---\ntype: sink\ncontent: |\n  Old words.\n---\nBye, {{ .name }}{{ if .name }}!{{ end }}\n"),
    ("tools.yaml", "tools:\n  - name: release\n    command: echo\n    args: [released]\n"),
];

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path().join(path)).unwrap()
}

#[test]
fn a_graph_comes_over_by_one_command_and_once() {
    let sandbox = Sandbox::new(ORDERS);
    let ran = sandbox.trellis(&["migrate"]);
    let expected = "\
changed ask.md:2:5  `ask.md` is `ask`: ids have no extension
changed ask.md:8:7  an empty `condition` is none
changed ask.md:11:5  a transition leaves the node that holds it: no `from`
changed ask.md:12:5  `to_node_id` is `to`
changed ask.md:12:17  `order.json` is `order`: targets are ids, which have no extension
changed ask.md:14:9  `end.md` is `end`: targets are ids, which have no extension
changed ask.md:15:5  an empty `condition` is none
changed end.md:2:1  a node without transitions ends the session: no `type: sink`
changed end.md:3:1  Go Trellis says the body and does not read this: it is a comment now
changed order.json:2:10  `order.json` is `order`: ids have no extension
changed order.json:3:10  calls get their ids by themselves
changed order.json:5:4  `next` is `to`
changed system.md:4:3  the program of a call stands under `bindings` in `trellis.yaml`
changed trellis.yaml  `get_os` is bound to the program that its call named
changed trellis.yaml  `templates: go`: the dialect of these templates
changed trellis.yaml  `reserve` is declared: the host carries it out
left ask.md:4:1  Go Trellis takes an empty answer for yes, and here it is asked again; `input_default: yes` says the same

16 changed, 1 left to decide; 5 nodes, no problems
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(0)));
    assert_eq!(read(&sandbox, "trellis.yaml"), "templates: go\nbindings:\n  get_os: { process: [uname, -s] }\n  reserve: {}\n");
    assert_eq!(read(&sandbox, "end.md"), "---\n# content: |\n#   Old words.\n---\nBye, {{ .name }}{{ if .name }}!{{ end }}\n");
    assert_eq!(
        read(&sandbox, "order.json"),
        "{\n  \"id\": \"order\",\n  \"do\": {\"name\": \"reserve\", \"args\": {\"name\": \"{{ .name }}\"}},\n  \"undo\": {\"name\": \"release\"},\n  \"to\": \"system\"\n}\n"
    );
    assert_eq!(
        read(&sandbox, "ask.md"),
        "---\nid: ask\ntype: question\ninput_type: confirm # yes or no\nmessages:\n  pt:\n    - text: Quer algo, {{ .name }}?\n    - text: Sim ou não?\ntransitions:\n  - to: order\n    condition: input == 'yes'\n  - to: end\n---\nDo you want anything, {{ .name }}?\n"
    );
    assert_eq!(read(&sandbox, "tools.yaml"), ORDERS[5].1, "it is read as it is");
    let again = sandbox.trellis(&["migrate"]);
    assert_eq!((again.out.as_str(), again.code), ("nothing to change; 5 nodes, no problems\n", Some(0)));
    let check = sandbox.trellis(&["check"]);
    assert_eq!((check.out.as_str(), check.code), ("5 nodes, no problems\n", Some(0)));
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let sandbox =
        Sandbox::new(&[("start.md", "---\nnext: bye\n---\nHi.\n"), ("bye.md", "---\ntype: sink\n---\nBye, {{ .sys.session }}.\n")]);
    let ran = sandbox.trellis(&["migrate", "--dry-run"]);
    let expected = "\
--- bye.md
+++ bye.md
@@ -1,4 +1,3 @@
 ---
-type: sink
 ---
 Bye, {{ .sys.session }}.
--- start.md
+++ start.md
@@ -1,4 +1,4 @@
 ---
-next: bye
+to: bye
 ---
 Hi.
--- trellis.yaml
+++ trellis.yaml
@@ -0,0 +1 @@
+templates: go
would change bye.md:2:1  a node without transitions ends the session: no `type: sink`
would change start.md:2:1  `next` is `to`
would change trellis.yaml  `templates: go`: the dialect of these templates

3 would change; 2 nodes, no problems
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(0)));
    assert_eq!(read(&sandbox, "start.md"), "---\nnext: bye\n---\nHi.\n");
    assert!(!sandbox.path().join("trellis.yaml").exists());
}

#[test]
fn templates_become_jinja_where_all_of_them_can() {
    let sandbox = Sandbox::new(ORDERS);
    let ran = sandbox.trellis(&["migrate", "--to", "jinja"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(!read(&sandbox, "trellis.yaml").contains("templates"), "Jinja needs no word: {}", read(&sandbox, "trellis.yaml"));
    assert_eq!(read(&sandbox, "end.md"), "---\n# content: |\n#   Old words.\n---\nBye, {{ name }}{% if name %}!{% endif %}\n");
    assert!(read(&sandbox, "order.json").contains("\"{{ name }}\""));
    assert_eq!(sandbox.trellis(&["migrate", "--to", "jinja"]).out, "nothing to change; 5 nodes, no problems\n");

    let sandbox = Sandbox::new(&[
        ("start.md", "---\ndefault_context: { a: [1], b: 2 }\nto: end\n---\n{{ .b }}\n"),
        ("end.md", "{{ .b }} {{ len .a }}\n"),
    ]);
    let ran = sandbox.trellis(&["migrate", "--to", "jinja"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert_eq!(read(&sandbox, "trellis.yaml"), "templates: go\n", "the others are what they were written for");
    assert_eq!(read(&sandbox, "start.md"), "---\ndefault_context: { a: [1], b: 2 }\nto: end\n---\n{{ .b }}\n");
    assert!(ran.out.contains("left end.md:1:13  ") && ran.out.contains("error[template-syntax]"), "{}", ran.out);
}

#[test]
fn another_dialect_is_set_in_the_file_that_names_one() {
    let files = [
        ("trellis.yaml", "name: shop # ours\ntemplates: go\n"),
        ("start.md", "---\nwait: true\nsave_to: name\nto: end\n---\n"),
        ("end.md", "Hi {{ .name }}.\n"),
    ];
    let sandbox = Sandbox::new(&files);
    let ran = sandbox.trellis(&["migrate", "--to", "jinja"]);
    assert_eq!((ran.code, read(&sandbox, "end.md").as_str()), (Some(0), "Hi {{ name }}.\n"), "{}", ran.out);
    assert_eq!(read(&sandbox, "trellis.yaml"), "name: shop # ours\ntemplates: jinja\n");
    let ran = sandbox.trellis(&["migrate", "--to", "go"]);
    assert_eq!((ran.code, read(&sandbox, "end.md").as_str()), (Some(0), "Hi {{ .name }}.\n"), "{}", ran.out);
    assert_eq!(read(&sandbox, "trellis.yaml"), files[0].1);
}

#[test]
fn what_is_left_is_told_with_its_reason() {
    let sandbox = Sandbox::new(&[
        (
            "start.md",
            "---\ninput_type: text\ntransitions:\n  - text: Yes\n    to: a\n  - text: No\n    to: a\n  - to: missing\n    from: elsewhere\n---\n{{ .nobody }}\n",
        ),
        ("a.md", "---\ndo: { name: t, x-exec: { command: a, shell: b } }\n---\n"),
    ]);
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    for line in [
        "changed start.md:4:5  a text alone is an answer that is compared: `condition`\n",
        "changed trellis.yaml  `t` is declared: the host carries it out\n",
        "left a.md:2:16  `x-exec` has `shell`, which a binding does not; bind it in `trellis.yaml`: `bindings: { t: { process: [command, …] } }`\n",
        "error[unknown-key]: `from` is no key of a transition\n",
        "error[unknown-target]: ",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    assert!(read(&sandbox, "start.md").contains("  - condition: input == 'Yes'\n    to: a\n"));
}

#[test]
fn a_single_page_has_no_project_file() {
    let sandbox = Sandbox::new(&[("page.md", "---\nsave_to: x\nwait: true\ntype: sink\n---\nHi {{ .sys.session }}.\n")]);
    let ran = sandbox.trellis(&["migrate", "page.md"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert_eq!(read(&sandbox, "page.md"), "---\nsave_to: x\nwait: true\n---\nHi {{ sys.session }}.\n");
    assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 1);

    let sandbox = Sandbox::new(&[(
        "flow.yaml",
        "nodes:\n  start: { do: reserve, save_to: x, next: end.md }\n  end: { content: \"{{ .x }}\", type: sink }\n",
    )]);
    let ran = sandbox.trellis(&["migrate", "flow.yaml"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let expected = "templates: go\nnodes:\n  start: { do: reserve, save_to: x, to: end }\n  end: { content: \"{{ .x }}\" }\nbindings:\n  reserve: {}\n";
    assert_eq!(read(&sandbox, "flow.yaml"), expected);
}

#[test]
fn sound_graphs_and_collections_stay() {
    let sandbox = Sandbox::new(SOUND);
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!((ran.out.as_str(), ran.code), ("nothing to change; 2 nodes, no problems\n", Some(0)));
    let sandbox = Sandbox::new(&[("a/start.md", "---\ntype: sink\n---\n"), ("b/start.md", "Hi {{ .sys.session }}\n")]);
    let ran = sandbox.trellis(&["migrate"]);
    assert!(ran.out.contains("changed a/start.md:2:1") && ran.out.contains("changed b/trellis.yaml  `templates: go`"), "{}", ran.out);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn line_breaks_marks_and_links_stay() {
    let text = "\u{feff}---\r\n# why\r\ntype: sink\r\nid: start\r\n---\r\nHi\r\n";
    let sandbox = Sandbox::new(&[("real/_kept.md", text)]);
    symlink("real/_kept.md", sandbox.path().join("start.md")).unwrap();
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    assert_eq!(read(&sandbox, "real/_kept.md"), text.replace("type: sink\r\n", ""));
    assert!(sandbox.path().join("start.md").is_symlink());
}

#[test]
fn what_cannot_be_read_stops_it_and_junk_is_left() {
    let sandbox = Sandbox::new(&[("start.md", "---\nnext: bad\n---\n")]);
    sandbox.write("bad.md", b"\xff\xfe\x00---");
    sandbox.write("worse.md", b"---\nto: [\n---\n");
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "{}", ran.out);
    assert!(
        ran.out.starts_with("changed start.md:2:1  `next` is `to`\n\nerror[not-utf8]: ") && ran.out.contains("worse.md:"),
        "{}",
        ran.out
    );
    symlink("/etc/hostname", sandbox.path().join("out.md")).unwrap();
    sandbox.write("start.md", b"---\nnext: bad\n---\n");
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("`./out.md` links to `/etc/hostname`") || ran.err.contains("out.md"), "{}", ran.err);
    assert!(ran.err.ends_with("note: nothing is migrated: what could not be read may be just what a name means\n"), "{}", ran.err);
    assert_eq!(read(&sandbox, "start.md"), "---\nnext: bad\n---\n");
    let ran = sandbox.trellis(&["migrate", "nowhere"]);
    assert_eq!((ran.code, ran.err.contains("nowhere")), (Some(2), true));
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_stays() {
    let sandbox = Sandbox::new(&[("g/start.md", "---\ntype: sink\n---\n{{ .sys.session }}\n")]);
    fs::set_permissions(sandbox.path().join("g"), fs::Permissions::from_mode(0o555)).unwrap();
    let ran = sandbox.trellis_as_nobody(&["migrate", "g"]);
    fs::set_permissions(sandbox.path().join("g"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(
        ran.err.starts_with("error: `g/start.md` is as it was\n  nothing can be written beside it: permission denied\n"),
        "{}",
        ran.err
    );
    assert!(!ran.out.contains("changed ") && ran.out.ends_with("; some files could not be read or written\n"), "{}", ran.out);
    assert_eq!(read(&sandbox, "g/start.md"), "---\ntype: sink\n---\n{{ .sys.session }}\n");
}

/// The snippets of the architecture document that Trellis began as, each in a node.
#[test]
fn the_snippets_of_the_architecture_document_come_over() {
    let sandbox = Sandbox::new(&[
        (
            "start.md",
            "---\ntype: text\ntools:\n  - name: get_weather\n    description: Get current temperature\n    parameters:\n      type: object\n      properties:\n        city: { type: string }\n  - \"modules/tools/math.md\"\nto: name\n---\nThe weather is...\n",
        ),
        ("modules/tools/math.md", "---\ntools:\n  - name: add\n    description: Adds\n---\n"),
        ("name.yaml", "type: question\ntext: \"Qual é o seu nome?\"\nsave_to: \"user_name\" # context\njump_to: modules/auth\n"),
        (
            "modules/auth/start.md",
            "---\ntype: text\nwait: true\non_signal:\n  interrupt: confirm_exit\nrequired_context:\n  - user_name\nto: call\n---\nHello {{ .user_name }}, {{ default \"ok\" .sys.error }}\n",
        ),
        ("modules/auth/confirm_exit.md", "---\ntype: sink\n---\n"),
        (
            "modules/auth/call.md",
            "---\ntype: tool\ndo: { id: tool_1, name: calc, args: { op: add } }\nmetadata: { confirm_msg: \"Sure?\" }\non_error: confirm_exit.md\ntransitions:\n  - condition: input == \"42\"\n    to: confirm_exit\n  - condition: \"\"\n    to: confirm_exit\n---\n",
        ),
    ]);
    let ran = sandbox.trellis(&["migrate"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(read(&sandbox, "trellis.yaml"), "templates: go\nbindings:\n  calc: {}\n");
    assert!(sandbox.trellis(&["migrate"]).out.starts_with("nothing to change; "));
    // The mistakes that the document names stay, with their remedies.
    sandbox.write(
        "modules/auth/confirm_exit.md",
        b"---\ntransitions:\n  - condition: user.age > 18 && user.status == 'active'\n    to: call\n---\n",
    );
    let ran = sandbox.trellis(&["migrate"]);
    assert!(ran.code == Some(1) && ran.out.contains("error[condition-too-complex]"), "{}", ran.out);
}

#[test]
fn check_fixes_what_is_safe() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ntransitions:\n  - condition: \"\"\n    to: end.md\n---\n{{ .sys.session }}\n"),
        ("end.json", "{\"type\": \"sink\", \"content\": \"{{ .sys.session }}\"}\n"),
    ]);
    let ran = sandbox.trellis(&["check", "--fix"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert_eq!(read(&sandbox, "start.md"), "---\ntransitions:\n  - to: end\n---\n{{ .sys.session }}\n");
    assert_eq!(read(&sandbox, "end.json"), "{\"content\": \"{{ .sys.session }}\"}\n");
    assert_eq!(read(&sandbox, "trellis.yaml"), "templates: go\n");
}
