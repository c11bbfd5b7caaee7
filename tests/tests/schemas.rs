//! The JSON Schemas for editors: what compiles meets them, what is wrong in one value does not, and the copies in the docs are the ones that are printed.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
};

use jsonschema::Validator;
use serde_json::Value as Json;
use trellis_core::{
    Code, Document, Source,
    syntax::{
        document::{Bytes, Content},
        vocabulary::{FileKind, schema},
    },
};
use trellis_project::sheet::Case;
use trellis_project::wire;
use trellis_tests::harness::{Loaded, case::read_sheet, graph::parse, run::markdown_files};

use crate::repository;

/// Validators by the name of their kind.
fn validators() -> BTreeMap<&'static str, Validator> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft7);
    FileKind::ALL.iter().map(|kind| (kind.name(), options.build(&schema(*kind)).expect("the schema is a schema"))).collect()
}

/// Every case of the suite and the docs that has a graph of its own.
fn cases() -> Vec<Case> {
    let mut files = markdown_files(&repository().join("tests/suite"));
    files.extend(markdown_files(&repository().join("docs")));
    let mut seen = HashSet::new();
    let cases = files.iter().flat_map(|path| read_sheet(path).expect("a sheet").cases);
    cases.filter(|case| !case.files.is_empty() && seen.insert(case.files.clone())).collect()
}

/// Returns the kind of a file, and its keys as JSON; `None` for pages and texts that are no YAML.
fn keys(document: &Document) -> Option<(FileKind, Json)> {
    let (kind, yaml) = match &document.content {
        Content::Node(node) if !node.has_matter => return None,
        Content::Node(_) => (FileKind::Node, matter(document)),
        Content::Nodes(..) => (FileKind::Graph, &*document.text),
        Content::Library(_) => (FileKind::Library, matter(document)),
        Content::Project(_) if document.path.ends_with("tools.yaml") => (FileKind::Tools, &*document.text),
        Content::Project(_) => (FileKind::Project, &*document.text),
        Content::Broken => return None,
    };
    let json: Json = serde_yaml::from_str(yaml.trim_start_matches('\u{feff}')).ok()?;
    Some((kind, if json.is_null() { Json::Object(serde_json::Map::new()) } else { json }))
}

/// The YAML of a file.
fn matter(document: &Document) -> &str {
    if !document.path.ends_with(".md") {
        return &document.text;
    }
    let text = document.text.trim_start_matches('\u{feff}').trim_start();
    let rest = text.strip_prefix("---").and_then(|rest| rest.split_once('\n')).map_or("", |(_, rest)| rest);
    let end = ["\n---", "\n..."].iter().filter_map(|fence| format!("\n{rest}").find(fence)).min();
    end.map_or("", |end| &rest[..end])
}

#[test]
fn what_compiles_meets_its_schema() {
    let validators = validators();
    let mut met = BTreeMap::<&str, usize>::new();
    for case in cases() {
        if Loaded::new(&case.files).compiled.program.is_none() {
            continue;
        }
        // Drafts are not looked at.
        for document in parse(&case.files).into_iter().filter(|document| !document.path.split('/').any(|name| name.starts_with('_'))) {
            let Some((kind, json)) = keys(&document) else { continue };
            let errors: Vec<String> =
                validators[kind.name()].iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{}: {} as {}\n{}\n{json:#}", case.title, document.path, kind.name(), errors.join("\n"));
            *met.entry(kind.name()).or_default() += 1;
        }
    }
    for kind in FileKind::ALL {
        assert!(met.get(kind.name()).is_some_and(|met| *met > 0), "no {} was met: {met:?}", kind.name());
    }
}

/// Mistakes that a schema cannot see, by words of the message.
const UNSEEN: [&str; 7] = [
    "is taken as it is",
    "and no other holes",
    "has an effect",
    "is no number that JSON has",
    "` is no path",
    "inside a call belongs to",
    "which is no property",
];

#[test]
fn what_is_wrong_in_one_value_does_not_meet_its_schema() {
    let validators = validators();
    let (mut seen, mut unseen) = (0, Vec::new());
    for case in cases() {
        for document in parse(&case.files) {
            let Some((kind, json)) = keys(&document) else { continue };
            let codes = [Code::UnknownKey, Code::WrongType];
            let Some(found) = document.diagnostics.iter().find(|found| codes.contains(&found.code)) else { continue };
            if !validators[kind.name()].is_valid(&json) {
                seen += 1;
            } else if !UNSEEN.iter().any(|words| found.message.contains(words)) {
                unseen.push(format!("{} {}: {}", case.title, document.path, found.message));
            }
        }
    }
    assert!(unseen.is_empty(), "{seen} were seen, these were not:\n{}", unseen.join("\n"));
    assert!(seen > 20, "only {seen} mistakes were seen");
}

#[test]
fn the_docs_hold_what_is_printed() {
    for kind in FileKind::ALL {
        let path = repository().join(format!("docs/reference/schema/{}.json", kind.name()));
        let schema = schema(kind);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, format!("{schema:#}\n")).expect("the docs can be written");
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let copy: Json = serde_json::from_str(&text).expect("JSON");
        assert!(copy == schema, "{} is old: UPDATE=1 writes it again", path.display());
    }
}

#[test]
fn the_docs_hold_the_schemas_of_the_wire_types() {
    let findings = wire::definitions();
    let schemas = [("json-lines", trellis_host::wire::schema(&findings)), ("check", wire::schema())];
    for (name, schema) in schemas {
        let path = repository().join(format!("docs/reference/{name}.schema.json"));
        let text = format!("{schema:#}\n");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &text).expect("the docs can be written");
        }
        let copy = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(copy == text, "{} is old: UPDATE=1 writes it again", path.display());
    }
}

#[test]
fn reports_and_witnesses_are_read_as_they_are_written_and_fit_their_schema() {
    let schema = wire::schema();
    let part = |name: &str| {
        let part = serde_json::json!({ "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"] });
        jsonschema::draft202012::new(&part).expect("a schema")
    };
    let (reports, witnesses) = (part("report"), part("witness"));
    let mut met = 0;
    for case in cases() {
        let documents = parse(&case.files);
        let places = wire::Places::new(&documents, "");
        let found = Loaded::new(&case.files).compiled.diagnostics;
        for witness in found.iter().filter_map(|found| found.witness.as_deref()) {
            let written = serde_json::to_value(wire::Witness::from(witness)).expect("JSON");
            assert_eq!(written, serde_json::to_value(witness).expect("JSON"), "both forms are one");
            assert!(witnesses.is_valid(&written), "{written:#}");
            let read: wire::Witness = serde_json::from_value(written).expect("a witness");
            assert_eq!(read, wire::Witness::from(witness));
            met += 1;
        }
        let report = wire::Report::new(found.iter().map(|found| wire::Diagnostic::new(found, &places)).collect(), wire::Summary::default());
        for report in [report.clone(), report.with_news(&["a.md".into()], &[])] {
            let written = serde_json::to_value(&report).expect("JSON");
            assert!(reports.is_valid(&written), "{written:#}");
            assert_eq!(serde_json::from_value::<wire::Report>(written).expect("a report"), report);
        }
    }
    assert!(met > 50, "{met} witnesses");
}

#[test]
fn a_node_of_numbers_and_words_that_look_like_others_meets_its_schema() {
    let text = "---\nid: 7\nto: 8\noptions: [1, { value: true, text: 2.5 }]\nwait: 1h30m\n---\n";
    let document = Document::parse(&Source { path: "7.md".into(), bytes: Bytes::Read(text.as_bytes().into()) }, Default::default());
    let (kind, json) = keys(&document).expect("it has keys");
    assert!(validators()[kind.name()].is_valid(&json));
}
