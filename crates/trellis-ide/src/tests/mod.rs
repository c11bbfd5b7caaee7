//! The index over small graphs.

use std::sync::Arc;

use super::*;
use trellis_base::{diagnostic::fixes::edited, template::Dialect};
use trellis_syntax::document::Source;

mod options;

fn document(path: &str, text: &str) -> Arc<Document> {
    Arc::new(Document::parse(&Source::text(path, text), Dialect::default()))
}

fn index(files: &[(&str, &str)]) -> SymbolIndex {
    let mut documents: Vec<_> = files.iter().map(|(path, text)| document(path, text)).collect();
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    let mut index = SymbolIndex::default();
    index.update(&documents);
    index
}

const SHOP: [(&str, &str); 5] = [
    ("trellis.yaml", "context: { total: int }\npredicates: [vip]\n"),
    (
        "start.md",
        "---\ninput_type: int\nsave_to: total\ntransitions:\n  - { condition: vip, to: orders }\n  - { condition: total == 3, to: pay }\n  - to: /pay\n---\n",
    ),
    ("orders/start.md", "---\nto: find\n---\nFor {{ total | default(0) }}\n"),
    ("orders/find.md", "---\nto: pay\n---\nSee [the rest](../pay.md).\n"),
    ("pay.md", "---\nset: { paid: true }\n---\nPay {{ total }}\n"),
];

fn at(index: &SymbolIndex, path: &str, needle: &str) -> Option<Symbol> {
    let path = FilePath::from(path);
    let offset = index.document(&path)?.text.find(needle)?;
    index.at(&path, u32::try_from(offset).ok()?).map(|occurrence| occurrence.symbol)
}

#[test]
fn a_place_names_a_symbol() {
    let index = index(&SHOP);
    assert_eq!(at(&index, "start.md", "orders }"), Some(Symbol::Node("orders/start".into())));
    assert_eq!(at(&index, "start.md", "/pay"), Some(Symbol::Node("pay".into())));
    assert_eq!(at(&index, "start.md", "vip"), Some(Symbol::Predicate(0, "vip".into())));
    assert_eq!(at(&index, "start.md", "total ="), Some(Symbol::Key(0, "total".into())));
    assert_eq!(at(&index, "orders/start.md", "find"), Some(Symbol::Node("orders/find".into())));
    assert_eq!(at(&index, "orders/start.md", "total |"), Some(Symbol::Key(0, "total".into())));
    assert_eq!(at(&index, "pay.md", "Pay"), None);
}

#[test]
fn a_symbol_has_all_its_occurrences() {
    let index = index(&SHOP);
    let of = |symbol| -> Vec<String> {
        let text =
            |one: &Occurrence| index.document(&one.path).map(|document| document.text[one.span.range()].to_owned()).unwrap_or_default();
        index.occurrences(&symbol).iter().map(|one| format!("{} {:?} {}", one.path, one.kind, text(one))).collect()
    };
    assert_eq!(
        of(Symbol::Key(0, "total".into())),
        [
            "orders/start.md Reads total",
            "pay.md Reads total",
            "start.md Writes total",
            "start.md Reads total",
            "trellis.yaml Defines total"
        ]
    );
    assert_eq!(of(Symbol::Node("pay".into())), ["orders/find.md Refers pay", "start.md Refers pay", "start.md Refers /pay"]);
}

#[test]
fn a_target_is_written_as_short_as_it_can_be() {
    let index = index(&SHOP);
    let find = index.node(&"orders/find".into()).expect("it is there");
    assert_eq!(index.shortest(&find, "orders", 0, false).as_deref(), Some("find"));
    assert_eq!(index.shortest(&find, "", 0, false).as_deref(), Some("orders/find"));
    let orders = index.node(&"orders/start".into()).expect("it is there");
    assert_eq!(index.shortest(&orders, "", 0, false).as_deref(), Some("orders"));
    let pay = index.node(&"pay".into()).expect("it is there");
    assert_eq!(index.shortest(&pay, "orders", 0, false).as_deref(), Some("pay"));
}

#[test]
fn names_of_a_file_that_is_half_typed_are_found() {
    let mut files = SHOP.to_vec();
    files[2].1 = "---\nto: find\noptions: [\n---\nFor {{ total | defau\n";
    let index = index(&files);
    assert_eq!(at(&index, "orders/start.md", "find"), Some(Symbol::Node("orders/find".into())));
    assert_eq!(at(&index, "orders/start.md", "total"), Some(Symbol::Key(0, "total".into())));
    assert_eq!(at(&index, "start.md", "orders }"), Some(Symbol::Node("orders/start".into())), "it keeps its seat");
}

/// The texts after a change.
fn changed(files: &[(&str, &str)], change: &GraphChange) -> Vec<(String, String)> {
    let after = files.iter().map(|(path, text)| {
        let edits: Vec<_> = change.edits.iter().filter(|edit| &*edit.place.path == *path).collect();
        let text = edited(text, edits).expect("the edits do not overlap");
        let moved = change.files.iter().find(|file| &*file.from == *path).map_or((*path).to_owned(), |file| file.to.to_string());
        (moved, text)
    });
    after.collect()
}

/// Compiles both states and compares them.
fn same(files: &[(&str, &str)], change: &GraphChange) -> Option<String> {
    let compile = |files: &[(String, String)]| {
        let documents: Vec<_> = files.iter().map(|(path, text)| document(path, text)).collect();
        trellis_compiler::compile(&documents).draft.expect("there is an entry").program().clone()
    };
    let before: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    difference(&compile(&before), &compile(&changed(files, change)), change)
}

#[test]
fn a_node_is_renamed_with_its_file_and_everything_that_leads_to_it() {
    let index = index(&SHOP);
    let change = index.rename_node(&"pay".into(), "checkout").expect("it can be");
    let after = changed(&SHOP, &change);
    let text = |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_default();
    assert_eq!(text("checkout.md"), "---\nwas: [pay]\nset: { paid: true }\n---\nPay {{ total }}\n");
    assert_eq!(text("orders/find.md"), "---\nto: checkout\n---\nSee [the rest](../checkout.md).\n");
    assert!(text("start.md").contains("to: checkout }\n  - to: /checkout\n"), "{}", text("start.md"));
    assert_eq!(same(&SHOP, &change), None);
    for (name, reason) in
        [("find/it", "is no name"), ("rollback", "meaning"), ("start", "meaning"), ("12", "is no name"), ("true", "is no name")]
    {
        let refusal = index.rename_node(&"pay".into(), name).expect_err(name);
        assert!(refusal.0.contains(reason), "{refusal}");
    }
    assert!(index.rename_node(&"start".into(), "x").expect_err("the entry").0.contains("keeps its name"));
}

#[test]
fn a_rename_that_changes_what_a_target_means_is_named() {
    // In `orders/`, `find` means `orders/find`: the other would be captured.
    let mut files = SHOP.to_vec();
    files[3].1 = "---\nto: pay\n---\n";
    let index = index(&files);
    let change = index.rename_node(&"pay".into(), "find").expect("names alone do not tell");
    assert_eq!(same(&files, &change).as_deref(), Some("a transition of `orders/find` would lead to `orders/find` instead of `find`"));
}

#[test]
fn a_key_is_renamed_where_it_is_written_read_and_declared() {
    let index = index(&SHOP);
    let change = index.rename_key(0, &"total".into(), "amount").expect("it can be");
    let after = changed(&SHOP, &change);
    assert!(after.iter().all(|(_, text)| !text.contains("total")), "{after:?}");
    assert_eq!(same(&SHOP, &change), None);
    assert!(index.rename_key(0, &"total".into(), "paid").expect_err("taken").0.contains("already"));
    assert!(index.rename_key(0, &"total".into(), "vip").expect_err("a predicate").0.contains("predicate"));
    assert!(index.rename_key(0, &"total".into(), "a b").expect_err("no name").0.contains("no name"));
}

#[test]
fn a_key_that_a_schema_or_a_tool_of_a_predicate_names_is_refused() {
    let start = ("start.md", "---\nset: { total: 1 }\n---\n{{ total }}\n");
    for (schema, is_refused) in [
        ("{ properties: { total: true } }", true),
        ("{ allOf: [{ if: { properties: { total: { const: 1 } } }, then: true }] }", true),
        ("{ not: { required: [total] } }", true),
        ("{ properties: { other: { properties: { total: true } } } }", false),
    ] {
        let project = format!("predicates:\n  odd: {{ schema: {schema} }}\n");
        let refused = index(&[start, ("trellis.yaml", &project)]).rename_key(0, &"total".into(), "sum");
        assert_eq!(refused.is_err_and(|refusal| refusal.0.contains("a schema in `trellis.yaml`")), is_refused, "{schema}");
    }
    // What answers a predicate gets keys as arguments, which are not renamed.
    for (predicate, is_refused) in
        [("binding: look, needs: [total]", true), ("binding: look", true), ("binding: look, needs: [other]", false)]
    {
        let look = "look: { function: true, parameters: { required: [total] } }";
        let project = format!("predicates: {{ odd: {{ {predicate} }} }}\nbindings: {{ {look} }}\n");
        let refused = index(&[start, ("trellis.yaml", &project)]).rename_key(0, &"total".into(), "sum");
        assert_eq!(refused.is_err_and(|refusal| refusal.0.contains("`odd` gives `total` to `look`")), is_refused, "{predicate}");
    }
}

#[test]
fn a_key_is_renamed_where_callers_give_it() {
    let files = [
        ("start.md", "---\nset: { who: you }\ndo: { graph: ask, args: { name: \"{{ who }}\" } }\nsave_to: name\nto: end\n---\n"),
        ("end.md", "---\n---\n{{ name }}\n"),
        ("ask/trellis.yaml", "name: ask\n"),
        ("ask/start.md", "---\nrequired_context: [name]\noutput: \"{{ name }}\"\n---\nHi {{ name }}\n"),
    ];
    let index = index(&files);
    let change = index.rename_key(1, &"name".into(), "person").expect("it can be");
    let after = changed(&files, &change);
    let text = |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_default();
    assert!(text("start.md").contains("args: { person: \"{{ who }}\" } }\nsave_to: name\n"), "{}", text("start.md"));
    assert_eq!(text("end.md"), "---\n---\n{{ name }}\n", "a key of another graph");
    assert_eq!(same(&files, &change), None);
}

#[test]
fn an_edit_costs_its_file_and_comes_to_what_a_new_index_does() {
    let mut documents: Vec<_> = SHOP.iter().map(|(path, text)| document(path, text)).collect();
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    let mut warm = SymbolIndex::default();
    warm.update(&documents);
    for text in ["---\nto: [\n---\n{{ total", "---\nid: cash\n---\n", "---\nto: start\n---\n{{ paid }}\n", ""] {
        let at = documents.iter().position(|document| &*document.path == "pay.md").expect("it is there");
        documents[at] = document("pay.md", text);
        warm.update(&documents);
        let mut cold = SymbolIndex::default();
        cold.update(&documents);
        assert_eq!(warm.nodes(), cold.nodes(), "{text:?}");
        for document in &documents {
            assert_eq!(warm.of_file(&document.path), cold.of_file(&document.path), "{text:?}");
        }
    }
}

#[test]
fn a_tool_is_renamed_where_it_is_bound_called_compared_and_ruled() {
    let files = [
        (
            "trellis.yaml",
            "bindings:\n  look: { process: [look] }\n  see: { process: [see] }\npolicy:\n  - ask: [look, \"lo*\"]\n  - block: [{ tool: \"look\", args: {} }]\n\
             predicates:\n  asks: { schema: { properties: { calls: { items: { enum: [look, looks] } } } } }\n",
        ),
        ("start.md", "---\ndo: { name: look, args: { look: 1 } }\non_error: lost\nto: end\n---\nlook\n"),
        ("lost.md", "---\ntransitions:\n  - { condition: 'sys.error.tool in [\"look\", \"graph\"]', to: end }\n  - to: fail\n---\n"),
        ("end.md", "---\ndo: see\n---\n"),
    ];
    let index = index(&files);
    let change = index.rename_tool("look", "find.it").expect("it can be");
    let after = changed(&files, &change);
    let text = |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_default();
    let project = text("trellis.yaml");
    for now in ["  find.it: { process: [look] }", "ask: [find.it, \"lo*\"]", "tool: \"find.it\"", "enum: [find.it, looks]"] {
        assert!(project.contains(now), "{now}: {project}");
    }
    assert_eq!(text("start.md"), "---\ndo: { name: find.it, args: { look: 1 } }\non_error: lost\nto: end\n---\nlook\n");
    assert!(text("lost.md").contains("sys.error.tool in [\"find.it\", \"graph\"]"));
    assert!(change.notes.iter().any(|note| note.contains("`lo*`")), "{:?}", change.notes);
    assert_eq!(same(&files, &change), None);
    let words =
        [("look", "a b", "no name"), ("look", "yes", "no name"), ("look", "graph", "calls that call"), ("graph", "x", "calls that call")];
    for (old, new, why) in [("gone", "x", "no tool"), ("look", "see", "already")].into_iter().chain(words) {
        assert!(index.rename_tool(old, new).expect_err(new).0.contains(why), "{old} {new}");
    }
}

const PLACES: [(&str, &str); 9] = [
    ("trellis.yaml", "name: shop\nbindings: { look: { function: true } }\n"),
    ("start.md", "---\ntools: [orders/lib.yaml]\nto: orders\n---\nSee [it](orders/find.md).\n"),
    ("bye.md", "---\ntransitions:\n  - { condition: sys.node == \"orders/find\", to: ./orders/find }\n  - to: /orders/pay\n---\n"),
    ("orders/start.md", "---\nto: find\n---\n"),
    ("orders/find.md", "---\ntools: [./lib.yaml]\nto: pay\n---\nBack to [start](../start.md) or [pay](pay.md).\n"),
    ("orders/pay.md", "---\ndo: { graph: inner }\nto: end\n---\n"),
    ("orders/end.md", "---\nid: orders/last\n---\n"),
    ("orders/lib.yaml", "tools:\n  - { name: look2 }\n"),
    ("orders/inner/start.md", "---\n---\n"),
];

#[test]
fn a_folder_is_renamed_with_all_that_leads_there_and_out_of_it() {
    let mut files = PLACES.to_vec();
    files[5].1 = "---\nto: last\n---\n";
    let index = index(&files);
    let change = index.rename_folder("orders", "purchases").expect("it can be");
    assert_eq!(change.folder, Some(("orders".into(), "purchases".into())));
    let after = changed(&files, &change);
    let text =
        |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_else(|| panic!("no {path}"));
    assert_eq!(text("start.md"), "---\ntools: [purchases/lib.yaml]\nto: purchases\n---\nSee [it](purchases/find.md).\n");
    let bye = text("bye.md");
    for now in ["sys.node == \"purchases/find\"", "to: ./purchases/find", "to: /purchases/pay"] {
        assert!(bye.contains(now), "{now}: {bye}");
    }
    assert_eq!(
        text("purchases/find.md"),
        "---\nwas: [orders/find]\ntools: [./lib.yaml]\nto: pay\n---\nBack to [start](../start.md) or [pay](pay.md).\n"
    );
    assert_eq!(text("purchases/end.md"), "---\nid: orders/last\n---\n", "an id of its own stays");
    for (name, why) in [("bye/x", "no name"), ("fail", "meaning"), ("start", "meaning"), ("orders", "already")] {
        assert!(index.rename_folder("orders", name).expect_err(name).0.contains(why), "{name}");
    }
    assert!(index.rename_folder("nowhere", "x").expect_err("none").0.contains("no folder"));
    assert_eq!(index.rename_folder("oders", "x").expect_err("none").0, "there is no folder `oders`, did you mean `orders`?");
}

#[test]
fn a_target_stays_long_or_short_when_a_folder_is_renamed_and_renamed_back() {
    let files = [
        ("start.md", "---\nto: spec\n---\n"),
        ("spec/start.md", "---\nto: spec/deep/ask\n---\nSee [it](../spec/deep/ask.md) or [it](./deep/ask.md).\n"),
        ("spec/deep/ask.md", "---\nto: deep/start\n---\nSee [it](../deep/start.md).\n"),
        ("spec/deep/start.md", "---\nto: spec/other/a\n---\n"),
        ("spec/other/a.md", "---\nto: ./b\n---\n"),
        ("spec/other/b.md", "---\ntransitions:\n  - { condition: x == 1, to: deep }\n  - to: /spec/deep\n---\n"),
    ];
    let there = changed(&files, &index(&files).rename_folder("spec/deep", "low").expect("it can be"));
    let text = |path: &str| there.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_default();
    assert_eq!(text("spec/start.md"), "---\nto: spec/low/ask\n---\nSee [it](../spec/low/ask.md) or [it](./low/ask.md).\n");
    assert!(text("spec/low/ask.md").ends_with("to: low/start\n---\nSee [it](../low/start.md).\n"), "{}", text("spec/low/ask.md"));
    assert!(text("spec/other/b.md").contains("to: low }\n  - to: /spec/low\n"), "{}", text("spec/other/b.md"));
    let now: Vec<(&str, &str)> = there.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    for (path, text) in changed(&now, &index(&now).rename_folder("spec/low", "deep").expect("it can be")) {
        let bare: String = text.split_inclusive('\n').filter(|line| !line.starts_with("was:")).collect();
        assert!(files.contains(&(&*path, &*bare)), "{path}: {text}");
    }
}

#[test]
fn a_folder_that_holds_no_nodes_keeps_its_name() {
    let files =
        [("start.md", "---\nsave_to: x\n---\n"), ("_tests/t.md", "# A\n{{ x }}\n"), ("a/_notes/x/y.md", "x\n"), ("_lib.yaml", PLACES[7].1)];
    let index = index(&files);
    assert_eq!(index.of_file(&"_tests/t.md".into()), [], "a sheet reads no key");
    assert_eq!(index.of_file(&"_lib.yaml".into()).len(), 1, "a library names its tools");
    for folder in ["_tests", "_tests/", "a/_notes", "a/_notes/x"] {
        assert!(index.rename_folder(folder, "sheets").expect_err(folder).0.contains("would become nodes"), "{folder}");
    }
}

#[test]
fn what_no_symbol_is_named_is_answered_by_the_nearest_that_is() {
    let index = index(&SHOP);
    let meant = |refused: Result<GraphChange, RenameRefusal>| refused.expect_err("it is misspelt").0;
    assert_eq!(meant(index.rename_node(&"orders/fnid".into(), "x")), "there is no node `orders/fnid`, did you mean `orders/find`?");
    assert_eq!(meant(index.rename_key(0, &"totl".into(), "x")), "there is no key `totl`, did you mean `total`?");
    assert_eq!(meant(index.rename_predicate(0, "vpi", "x")), "there is no predicate `vpi`, did you mean `vip`?");
    assert_eq!(meant(index.rename_node(&"elsewhere".into(), "x")), "there is no node `elsewhere`");
}

#[test]
fn a_file_that_moves_keeps_its_ways() {
    let mut files = PLACES.to_vec();
    files[5].1 = "---\nto: end\n---\n";
    files[6].1 = "---\n---\n";
    let index = index(&files);
    let moved = [FileRename { from: "orders/find.md".into(), to: "found.md".into() }];
    let change = index.move_files(&moved).expect("it can be");
    let after = changed(&files, &change);
    let text =
        |path: &str| after.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()).unwrap_or_else(|| panic!("no {path}"));
    assert_eq!(
        text("found.md"),
        "---\nwas: [orders/find]\ntools: [./orders/lib.yaml]\nto: orders/pay\n---\nBack to [start](start.md) or [pay](orders/pay.md).\n"
    );
    assert_eq!(text("orders/start.md"), "---\nto: found\n---\n");
    assert!(text("bye.md").contains("to: ./found") && text("bye.md").contains("== \"found\""), "{}", text("bye.md"));
    assert_eq!(same(&files, &change), None);
    let back = [FileRename { from: "found.md".into(), to: "orders/find.md".into() }];
    let now: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let again = super::tests::index(&now).move_files(&back).expect("it can be");
    let there_and_back = changed(&now, &again);
    let find = there_and_back.iter().find(|(path, _)| path == "orders/find.md").map(|(_, text)| text.clone()).unwrap_or_default();
    assert!(find.contains("was: [found]\n"), "the old id is no old one any more: {find}");
    for (from, to, why) in [
        ("bye.md", "start.md", "already"),
        ("gone.md", "x.md", "no file"),
        ("bye.md", "_x.md", "no node"),
        ("trellis.yaml", "x.yaml", "keeps its name"),
    ] {
        let moved = [FileRename { from: from.into(), to: to.into() }];
        assert!(index.move_files(&moved).expect_err(to).0.contains(why), "{to}");
    }
}

#[test]
fn predicates_and_signals_are_renamed_where_they_are_declared_and_asked() {
    let files = [
        ("trellis.yaml", "predicates: [vip, old]\non_signal_default: { stop: end }\n"),
        ("start.md", "---\ntransitions:\n  - { condition: not vip, to: end }\n  - to: wait\n---\n"),
        ("wait.md", "---\ninput_type: text\non_signal: { stop: end }\non_timeout: end\ntimeout: 1m\nto: end\n---\nWait.\n"),
        ("end.md", "---\n---\n"),
    ];
    let index = index(&files);
    let change = index.rename_predicate(0, "vip", "gold").expect("it can be");
    let after = changed(&files, &change);
    assert!(after.iter().all(|(_, text)| !text.contains("vip")), "{after:?}");
    assert!(change.is_known_outside && change.notes.iter().any(|note| note.contains("the host answers `vip`")));
    assert_eq!(same(&files, &change), None);
    assert!(index.rename_predicate(0, "vip", "old").expect_err("taken").0.contains("already"));
    assert!(index.rename_predicate(0, "none", "x").expect_err("none").0.contains("no predicate"));
    let change = index.rename_signal("stop", "halt").expect("it can be");
    let after = changed(&files, &change);
    assert!(after.iter().all(|(_, text)| !text.contains("stop")), "{after:?}");
    assert_eq!(same(&files, &change), None);
    for (old, new, why) in [("timeout", "x", "of the language"), ("stop", "a b", "no name"), ("gone", "x", "there is no")] {
        assert!(index.rename_signal(old, new).expect_err(new).0.contains(why), "{old}");
    }
}
