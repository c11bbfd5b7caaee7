//! `check --format sarif`: a log in the Static Analysis Results Interchange Format, version 2.1.0.
//!
//! **Invariant:** the same findings give the same bytes, on every machine; columns count characters, as SARIF calls it code points.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};
use trellis_core::{
    Code, Diagnostic,
    diagnostic::{Place, Severity, TextEdit},
};
use trellis_project::wire::{Places, Region};

use super::Checked;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the folder that relative paths begin at.
const ROOT: &str = "SRCROOT";

/// The findings of these graphs as one SARIF log, ended by a newline.
pub(crate) fn sarif(graphs: &[Checked]) -> String {
    let mut codes: Vec<Code> = graphs.iter().flat_map(|graph| &graph.diagnostics).map(|found| found.code).collect();
    codes.sort_by_key(|code| code.as_str());
    codes.dedup();
    let mut seen = BTreeMap::new();
    let results: Vec<Value> = graphs.iter().flat_map(|graph| results(graph, &codes, &mut seen)).collect();
    let driver = json!({
        "name": "trellis",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": codes.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
    });
    let run = json!({
        "tool": { "driver": driver },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": { ROOT: { "description": { "text": "The folder that `trellis check` was started in." } } },
        "results": results,
    });
    let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    serde_json::to_string_pretty(&log).unwrap_or_else(|_| unreachable!("names and numbers are always JSON")) + "\n"
}

/// A code with its page.
fn rule(code: Code) -> Value {
    let page = code.page();
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": super::title(page) },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(code.severity()) },
        "properties": { "tags": [code.family()] },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn results(graph: &Checked, codes: &[Code], seen: &mut BTreeMap<String, usize>) -> Vec<Value> {
    let places = graph.places(&graph.shown_below);
    graph.diagnostics.iter().map(|found| result(graph, found, &places, codes, seen)).collect()
}

fn result(graph: &Checked, found: &Diagnostic, places: &Places<'_>, codes: &[Code], seen: &mut BTreeMap<String, usize>) -> Value {
    let own = found.place.as_ref().map_or_else(|| whole(graph), |place| physical(place, places));
    let labels =
        found.labels.iter().enumerate().map(
            |(at, label)| json!({ "id": at, "physicalLocation": physical(&label.place, places), "message": { "text": label.message } }),
        );
    let labels: Vec<Value> = labels.collect();
    let help = found.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let mut result = json!({
        "ruleId": found.code.as_str(),
        "ruleIndex": codes.iter().position(|code| *code == found.code),
        "level": level(found.severity),
        "message": { "text": format!("{}{help}", found.message) },
        "locations": [{ "physicalLocation": own }],
        "partialFingerprints": { "trellisFinding/v1": fingerprint(graph, found, seen) },
    });
    if !labels.is_empty() {
        result["relatedLocations"] = labels.into();
    }
    if let Some(fix) = &found.fix {
        let changes: Vec<Value> = fix.edits.iter().map(|edit| change(edit, places)).collect();
        result["fixes"] = json!([{ "description": { "text": fix.title }, "artifactChanges": changes }]);
    }
    result
}

/// A place in a file.
fn physical(place: &Place, places: &Places<'_>) -> Value {
    json!({ "artifactLocation": artifact(&places.path(place)), "region": region(places.region(place)) })
}

/// Returns the place of a finding about a whole graph: at its project file, else at its folder.
fn whole(graph: &Checked) -> Value {
    let project = graph.documents.iter().find(|document| &*document.path == "trellis.yaml");
    let path = project.map_or(String::new(), |document| document.path.to_string());
    let path = format!("{}{path}", graph.shown_below);
    json!({ "artifactLocation": artifact(if path.is_empty() { "./" } else { &path }) })
}

fn region(region: Region) -> Value {
    let Region { start, end } = region;
    json!({ "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column })
}

fn change(edit: &TextEdit, places: &Places<'_>) -> Value {
    json!({
        "artifactLocation": artifact(&places.path(&edit.place)),
        "replacements": [{ "deletedRegion": region(places.region(&edit.place)), "insertedContent": { "text": edit.text } }],
    })
}

/// Returns the URI of a file: relative to the working directory, absolute outside of it.
fn artifact(path: &str) -> Value {
    if !path.starts_with('/') && !path.split('/').any(|part| part == "..") {
        return json!({ "uri": escaped(path), "uriBaseId": ROOT });
    }
    let real = std::path::absolute(path).map_or_else(|_| path.to_owned(), |real| real.to_string_lossy().into_owned());
    let mut parts: Vec<&str> = Vec::new();
    for part in real.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    json!({ "uri": format!("file:///{}", escaped(&parts.join("/"))) })
}

/// A path as the path of a URI.
fn escaped(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// Returns the fingerprint that tells a finding from others when lines have moved: its message and its file; equal ones are counted.
fn fingerprint(graph: &Checked, found: &Diagnostic, seen: &mut BTreeMap<String, usize>) -> String {
    let path = found.place.as_ref().map_or("", |place| &*place.path);
    let key = format!("{}\0{}{path}\0{}", found.code, graph.shown_below, found.message);
    let count = seen.entry(key.clone()).or_default();
    *count += 1;
    // FNV-1a: any hash will do that is the same everywhere.
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}:{count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(artifact("a b/é:#.md"), json!({ "uri": "a%20b/%C3%A9%3A%23.md", "uriBaseId": "SRCROOT" }));
        assert_eq!(artifact("/x/../y/a.md"), json!({ "uri": "file:///y/a.md" }));
        let up = artifact("../a.md")["uri"].as_str().unwrap().to_owned();
        assert!(up.starts_with("file:///") && !up.contains(".."), "{up}");
    }
}
