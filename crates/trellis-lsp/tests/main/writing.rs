//! Help while a file is written: skeletons, tags of templates, titles of cases, and what the words of the language mean (`docs/lsp.md`).

use serde_json::{Value as Json, json};

use crate::{
    client::{Client, capabilities},
    offers::{FILES, items, labels, opened, titled, typed},
};

/// The text that an item of this label inserts, and its range.
fn inserted(answer: &Json, label: &str) -> (String, Json) {
    let item = items(answer).into_iter().find(|item| item["label"] == label).unwrap_or_else(|| panic!("no {label:?} in {answer}"));
    (item["textEdit"]["newText"].as_str().unwrap_or_default().to_owned(), item["textEdit"]["range"].clone())
}

fn on_line(line: u32, from: u32, to: u32) -> Json {
    json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } })
}

/// A snippet whose places are filled in as it proposes.
fn filled(snippet: &str) -> String {
    let (mut text, mut rest) = (String::new(), snippet);
    while let Some((before, place)) = rest.split_once('$') {
        text.push_str(before);
        rest = match place.strip_prefix('{').and_then(|place| place.split_once('}')) {
            Some((proposed, after)) => {
                text.push_str(proposed.split_once(':').map_or("", |(_, proposed)| proposed));
                after
            }
            None => &place[1..],
        };
    }
    text + rest
}

#[test]
fn an_empty_start_is_completed_with_a_skeleton() {
    let mut client = Client::new(&[]);
    client.open("start.md", "");
    let complete = |client: &mut Client, version, marked: &str| client.at("start.md", version, marked, "textDocument/completion");
    let answer = complete(&mut client, 2, "‸");
    assert_eq!(labels(&answer), ["---", "--- question", "--- choice", "--- call"]);
    let (text, range) = inserted(&answer, "--- question");
    assert_eq!(range, on_line(0, 0, 0));
    assert!(text.starts_with("---\ninput_type: ${1:text}\n"), "{text}");
    // The dashes that are typed are replaced.
    let answer = complete(&mut client, 3, "--‸");
    assert_eq!(inserted(&answer, "---").1, on_line(0, 0, 2));
    let answer = complete(&mut client, 4, "---‸\n");
    assert_eq!(inserted(&answer, "--- choice").1, on_line(0, 0, 3));
    // From there on a key is typed, or a text.
    assert!(labels(&complete(&mut client, 5, "---\n‸")).contains(&"save_to".to_owned()));
    assert!(labels(&complete(&mut client, 6, "Hello‸")).is_empty());
    // Filled in, each of them is a node that can be read.
    let mut version = 6;
    for label in ["---", "--- question", "--- choice", "--- call"] {
        version += 2;
        let (text, _) = inserted(&complete(&mut client, version - 1, "‸"), label);
        client.replace("start.md", version, &filled(&text));
        let list = client.wait("start.md", |list| list.version == Some(i64::from(version)));
        let codes = ["yaml-syntax", "unclosed-frontmatter", "unknown-key", "wrong-type", "missing-value"];
        assert!(!list.lines().iter().any(|line| codes.iter().any(|code| line.contains(code))), "{text}: {list:?}");
    }
    client.leave().expect("it ends well");
}

#[test]
fn frontmatter_that_nothing_closes_gets_its_fence() {
    let mut client = opened();
    for (version, marked, at) in [
        (2, "-‸--\nto: start\n\nHello.\n", 2),
        (4, "-‸--\noptions:\n- red\n- blue\nsave_to: x\nto: start\n# A heading\n\nNote: well.\n", 6),
        (6, "-‸--\nto: start\n\n- an item of the text\n", 2),
    ] {
        let found = typed(&mut client, "bye.md", version, marked, "unclosed-frontmatter", None);
        let edit = &titled(&found, "close the frontmatter with `---`")["edit"]["documentChanges"][0]["edits"][0];
        assert_eq!((&edit["newText"], &edit["range"]), (&json!("---\n"), &on_line(at, 0, 0)), "{marked}");
        client.change("bye.md", version + 1, json!([{ "range": edit["range"], "text": edit["newText"] }]));
        let is_mended = |lines: &[String]| !lines.iter().any(|line| line.contains("unclosed-frontmatter") || line.contains("yaml-syntax"));
        client.wait("bye.md", |list| list.version == Some(i64::from(version) + 1) && is_mended(&list.lines()));
    }
    client.leave().expect("it ends well");
}

#[test]
fn what_the_help_of_a_finding_proposes_can_be_done() {
    let mut client = opened();
    for (path, version, marked, code, title, line, from, to, text) in [
        ("pay.md", 2, "---\nto: ro‸lback\n---\n", "unknown-target", "did you mean `rollback`?", 1, 4, 11, "rollback"),
        ("pay.md", 4, "---\nto: \"ro‸lback\"\n---\n", "unknown-target", "did you mean `rollback`?", 1, 5, 12, "rollback"),
        ("bye.md", 2, "---\n---\nSee [it](pya‸.md).\n", "broken-link", "did you mean `pay.md`?", 2, 9, 15, "pay.md"),
        (
            "start.md",
            2,
            "---\noptions: [‸red, blue # two\nsave_to: colour\nto: pay\n---\n",
            "yaml-syntax",
            "close it with `]`",
            1,
            19,
            19,
            "]",
        ),
        ("start.md", 4, "---\nto: \"‸pay\n---\n", "yaml-syntax", "close it with `\"`", 1, 8, 8, "\""),
        ("start.md", 6, "---\nto: pay\n---\nHello {{ sys.node }‸\n", "template-syntax", "write `}}`", 3, 18, 19, "}}"),
    ] {
        let found = typed(&mut client, path, version, marked, code, None);
        let edit = &titled(&found, title)["edit"]["documentChanges"][0]["edits"][0];
        assert_eq!((&edit["newText"], &edit["range"]), (&json!(text), &on_line(line, from, to)), "{marked}");
        client.change(path, version + 1, json!([{ "range": edit["range"], "text": edit["newText"] }]));
        client.wait(path, |list| list.version == Some(i64::from(version) + 1) && !list.lines().iter().any(|line| line.contains(code)));
    }
    client.leave().expect("it ends well");
}

#[test]
fn the_tags_of_templates_are_completed_behind_their_braces() {
    let mut client = opened();
    let mut version = 1;
    let mut at = |marked: &str| {
        version += 1;
        labels(&client.at("bye.md", version, &format!("---\n---\n{marked}"), "textDocument/completion"))
    };
    assert_eq!(at("{% ‸"), ["filter", "for", "if", "raw", "set", "with"]);
    assert_eq!(at("{%- ‸ %}")[0], "filter");
    assert_eq!(at("{% if colour %}{% e‸")[..3], ["elif", "else", "endif"]);
    assert_eq!(at("{% for one in colour %}{{ one }}{% ‸ %}")[..2], ["else", "endfor"]);
    // Behind the tag stand keys, and behind `{{` no tag.
    for marked in ["{% if ‸ %}", "{{ ‸ }}", "{% for x in ‸ %}"] {
        let offers = at(marked);
        assert!(
            offers.contains(&"colour".to_owned()) && !offers.contains(&"endif".to_owned()) && !offers.contains(&"raw".to_owned()),
            "{marked}: {offers:?}"
        );
    }
    client.leave().expect("it ends well");
}

#[test]
fn titles_of_other_cases_are_completed_behind_after() {
    let mut client = opened();
    let cases = "# Pay\n\n## by card\n\n```transcript\n> a\n```\n\n## by hand\n\n### twice\n\n```transcript\n> b\n```\n\n# Other\n\n## by card\n\n```transcript\n> c\n```\n\n## now\n\n";
    client.open("_tests/a.md", cases);
    let answer = client.at("_tests/a.md", 2, &format!("{cases}```transcript\n$ after by‸\n> d\n```\n"), "textDocument/completion");
    // A title that two cases have is given with its headings.
    assert_eq!(labels(&answer), ["Pay › by card", "twice", "Other › by card"]);
    assert_eq!(inserted(&answer, "twice").1, on_line(27, 8, 10));
    // The name leads to the heading of the case, and says which one it is.
    let named = format!("{cases}```transcript\n$ after tw‸ice\n> d\n```\n");
    let found = client.at("_tests/a.md", 4, &named, "textDocument/definition");
    assert_eq!((&found[0]["range"], found.as_array().map(Vec::len)), (&on_line(10, 0, 9), Some(1)), "{found}");
    let hover = client.at("_tests/a.md", 5, &named, "textDocument/hover");
    let said = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(said.starts_with("**case** `Pay › by hand › twice` in line 11") && hover["range"] == on_line(27, 8, 13), "{hover}");
    assert!(client.at("_tests/a.md", 6, &format!("{cases}```transcript\n$ after no‸ne\n```\n"), "textDocument/hover").is_null());
    // Also while the block is not closed yet.
    let answer = client.at("_tests/a.md", 7, &format!("{cases}```transcript\n$ after ‸"), "textDocument/completion");
    assert_eq!(labels(&answer).len(), 3, "{answer}");
    client.leave().expect("it ends well");
}

#[test]
fn tools_are_completed_where_a_transcript_calls_one() {
    let mut client = opened();
    client.open("_tests/a.md", "# A\n");
    let mut version = 1;
    let mut at = |line: &str| {
        version += 1;
        client.at("_tests/a.md", version, &format!("# A\n\n```transcript\n{line}\n```\n"), "textDocument/completion")
    };
    let tools = ["charge", "look", "release"];
    for (line, from) in [("! ‸", 2), ("! ch‸", 2), ("![2] ch‸", 5), ("! first: ‸", 9)] {
        let answer = at(line);
        assert_eq!(labels(&answer), tools, "{line}");
        assert_eq!(inserted(&answer, "charge").1["start"], json!({ "line": 3, "character": from }), "{line}");
    }
    for line in ["! charge {‸", "| ch‸", "!‸", "! first:‸"] {
        assert!(labels(&at(line)).is_empty(), "{line}");
    }
    client.leave().expect("it ends well");
}

const BOOKED: [(&str, &str); 4] = [
    (
        "trellis.yaml",
        "bindings:\n  reserve:\n    returns:\n      type: object\n      required: [id, place]\n      properties: { id: { type: string }, place: { type: object, properties: { row: { type: integer } } } }\n    function: true\n",
    ),
    ("start.md", "---\ndo: reserve\nsave_to: booking\non_error: bye\nto: ask\n---\n"),
    ("ask.md", "---\noptions: [Tea, Black coffee]\nsave_to: drink\nto: bye\n---\nWhich, for {{ booking.id }}?\n"),
    ("bye.md", "---\n---\nBye.\n"),
];

/// `docs/lsp.md`: the parts of what a tool returns are known by its schema, and by the types of the link.
#[test]
fn parts_of_a_result_are_completed_and_say_their_types() {
    let mut client = Client::new(&BOOKED);
    for (path, text) in BOOKED {
        client.open(path, text);
    }
    let mut version = 1;
    let mut at = |marked: &str, method: &str| {
        version += 1;
        client.at("ask.md", version, &format!("---\nto: bye\n---\n{marked}\n"), method)
    };
    assert_eq!(labels(&at("{{ booking.‸", "textDocument/completion")), ["id", "place"]);
    assert_eq!(labels(&at("{{ booking.i‸ }}", "textDocument/completion")), ["id", "place"]);
    assert_eq!(labels(&at("{% if booking.place.‸ %}{% endif %}", "textDocument/completion")), ["row"]);
    let mut hover = |marked: &str| at(marked, "textDocument/hover")["contents"]["value"].as_str().unwrap_or_default().to_owned();
    let said = hover("{{ booking.i‸d }}");
    assert!(said.starts_with("**path** `booking.id`\n\nhere: a text"), "{said}");
    let said = hover("{{ booking.place.ro‸w | default(0) }}");
    assert!(said.starts_with("**path** `booking.place.row`\n\nhere: an integer"), "{said}");
    let said = hover("{{ booking.pla‸ce.row | default(0) }}");
    assert!(said.starts_with("**path** `booking.place`\n\nhere: a mapping"), "{said}");
    assert!(hover("{{ boo‸king.id }}").starts_with("**key** `booking`"));
    client.leave().expect("it ends well");
}

/// `docs/lsp.md`: option values behind `==` and `in`, in templates as in conditions; what compares one refers to it.
#[test]
fn option_values_are_completed_where_a_template_compares_them() {
    let mut client = Client::new(&BOOKED);
    for (path, text) in BOOKED {
        client.open(path, text);
    }
    let mut version = 1;
    let mut at = |marked: &str| {
        version += 1;
        client.at("bye.md", version, &format!("---\n---\n{marked}\n"), "textDocument/completion")
    };
    for (marked, insert, range) in [
        ("{% if drink == ‸ %}{% endif %}", "\"Tea\"", on_line(2, 15, 15)),
        ("{% if drink == \"T‸", "Tea\"", on_line(2, 16, 17)),
        ("{% if drink == 'T‸' %}{% endif %}", "Tea", on_line(2, 16, 17)),
        ("{% if drink in ['Black coffee', ‸", "\"Tea\"", on_line(2, 32, 32)),
        ("{{ 1 if drink != ‸", "\"Tea\"", on_line(2, 17, 17)),
    ] {
        let answer = at(marked);
        assert_eq!(labels(&answer), ["Tea", "Black coffee"], "{marked}");
        assert_eq!(inserted(&answer, "Tea"), (insert.to_owned(), range), "{marked}");
    }
    assert!(labels(&at("{% if drink == 'Tea' and dr‸")).contains(&"drink".to_owned()));
    let compared = "---\ntransitions:\n  - { condition: drink == \"Tea\", to: ask }\n---\n{% if drink == 'Tea' %}Tea{% endif %}\n";
    client.replace("bye.md", 9, compared);
    let found = client.at("ask.md", 2, &BOOKED[2].1.replacen("Tea", "T‸ea", 1), "textDocument/references");
    let mut lines: Vec<_> = found
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["uri"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default(), &one["range"]))
        .collect();
    lines.sort_by_key(|(path, range)| (*path, range["start"]["line"].as_u64()));
    let expected = [("ask.md", on_line(1, 10, 13)), ("bye.md", on_line(2, 27, 30)), ("bye.md", on_line(4, 16, 19))];
    assert_eq!(lines, expected.iter().map(|(path, range)| (*path, range)).collect::<Vec<_>>(), "{found}");
    client.leave().expect("it ends well");
}

#[test]
fn hover_says_what_the_words_of_the_language_mean() {
    let mut client = opened();
    let mut version = 1;
    let mut at = |path: &str, marked: &str| {
        version += 1;
        let hover = client.at(path, version, marked, "textDocument/hover");
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    // A key with its default.
    let key = at("pay.md", "---\ndo: { name: charge, args: { amount: 3 } }\nretry: { max: 2, fac‸tor: 3 }\nto: bye\n---\n");
    assert!(key.starts_with("**factor**") && key.contains("Without it: `2`"), "{key}");
    // Targets that are no nodes.
    let target = at("pay.md", "---\ndo: { name: charge, args: { amount: 3 } }\non_error: roll‸back\nto: bye\n---\n");
    assert_eq!(target, "**target** `rollback`\n\nundo what was done, newest first, then end\n");
    assert!(at("pay.md", "---\nto: fa‸il\n---\n").contains("as failed"));
    assert_eq!(at("pay.md", "---\nto: bye\n---\nWe fa‸il.\n"), "");
    // Paths of the system, in templates and conditions, and not in the text.
    assert!(at("bye.md", "---\n---\n{{ sys.an‸s }}\n").contains("**path** `sys.ans`\n\nthe last answer"));
    assert!(at("bye.md", "---\n---\n{{ sys.error.to‸ol }}\n").contains("the error that is handled here"));
    assert!(at("bye.md", "---\ntransitions:\n  - { condition: sys.vi‸sits == 2, to: pay }\n  - to: start\n---\n").contains("max_visits"));
    assert!(at("bye.md", "---\n---\n{{ tool_re‸sult }}\n").contains("what the call returned"));
    assert_eq!(at("bye.md", "---\n---\nAn in‸put.\n"), "");
    // A condition with the values that its subject can have, at the subject and beside it.
    let condition =
        "---\ntransitions:\n  - { condition: size == \"s\", to: pay }\n  - { condition: colour == \"red\", to: pay }\n  - to: start\n---\n";
    let subject = at("bye.md", &condition.replace("colour", "co‸lour"));
    assert!(subject.contains("`colour` can be `\"red\"`, `\"blue\"`") && subject.contains("asked before: `size == \"s\"`"), "{subject}");
    let beside = at("bye.md", &condition.replace("size ==", "size =‸="));
    assert!(beside.starts_with("**condition** `size == \"s\"`") && beside.contains("`size` can be `\"s\"`, `\"m\"`"), "{beside}");
    client.leave().expect("it ends well");
}

#[test]
fn findings_have_their_tags_and_related_places() {
    let files =
        [("start.md", "---\ntransitions:\n  - to: bye\n  - to: other\n---\n"), ("bye.md", "Bye.\n"), ("other.md", "---\nto: bye\n---\n")];
    let found = |client: &mut Client, path: &str, code: &str| {
        let list = client.wait(path, |list| list.diagnostics.iter().any(|found| found["code"] == code));
        list.diagnostics.into_iter().find(|found| found["code"] == code).expect("it is there")
    };
    let mut client = Client::new(&files);
    let shadowed = found(&mut client, "start.md", "shadowed-transition");
    assert_eq!((&shadowed["tags"], &shadowed["source"]), (&json!([1]), &json!("trellis")), "{shadowed}");
    let related = &shadowed["relatedInformation"][0];
    assert_eq!((&related["location"]["uri"], &related["location"]["range"]["start"]["line"]), (&json!(client.uri("start.md")), &json!(2)));
    assert!(related["message"].as_str().is_some_and(|message| !message.is_empty()), "{related}");
    // Comments that allow nothing are told once the rest is right.
    client.open("start.md", "---\n# trellis: allow(never-true)\nto: other\n---\n");
    assert_eq!(found(&mut client, "start.md", "unused-allow")["tags"], json!([1]));
    client.leave().expect("it ends well");
    // What a client does not offer it does not get.
    let mut bare = Client::with(&files, json!({}), json!({}));
    let shadowed = found(&mut bare, "start.md", "shadowed-transition");
    assert!(shadowed.get("tags").is_none_or(Json::is_null) && shadowed.get("relatedInformation").is_none_or(Json::is_null), "{shadowed}");
    bare.leave().expect("it ends well");
}

#[test]
fn the_server_watches_itself_where_the_client_cannot() {
    let mut without = capabilities();
    without["workspace"]["didChangeWatchedFiles"] = json!({ "dynamicRegistration": false });
    let mut client = Client::with(&FILES, without, json!({}));
    client.open("start.md", FILES[2].1);
    client.wait("start.md", |list| list.version == Some(1));
    let folder = client.folder.path().to_owned();
    // Nobody tells it of any of this.
    std::fs::write(folder.join("bye.md"), "---\nto: nowhere\n---\n").expect("it can be written");
    assert!(client.wait("bye.md", |list| !list.diagnostics.is_empty()).lines()[0].contains("`nowhere`"));
    std::fs::create_dir(folder.join("orders")).expect("it can be made");
    std::fs::write(folder.join("orders/find.md"), "---\nto: bey\n---\n").expect("it can be written");
    client.wait("orders/find.md", |list| list.lines().iter().any(|line| line.contains("`bey`")));
    std::fs::remove_file(folder.join("bye.md")).expect("it can be removed");
    client.wait("bye.md", |list| list.diagnostics.is_empty());
    client.wait("start.md", |list| list.lines().iter().any(|line| line.contains("there is no node `bye`")));
    client.leave().expect("it ends well");
}
