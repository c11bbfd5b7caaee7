//! The specification: its rules are numbered in order, each names tests that are there, and every rule that is cited stands in it. So it is
//! with the page of the sources and the one of the orchestrator.

mod citations;
mod markdown;
mod orchestrator;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use self::{
    citations::{Number, cited, cited_by, headed, in_brackets},
    markdown::{Heading, Link, anchors, headings, links, prose},
};
use crate::repository;

const SPECIFICATION: &str = "docs/specification.md";

/// A heading of the specification with the links of its list of tests.
struct Section {
    heading: Heading,
    number: Option<Number>,
    tests: Vec<Link>,
}

/// The chapters and rules of the specification, in order.
fn sections() -> Vec<Section> {
    let text = read(SPECIFICATION);
    let links = links(&text);
    let headings = headings(&text);
    let ends = headings.iter().skip(1).map(|next| next.line).chain([usize::MAX]);
    let section = |(heading, end): (&Heading, usize)| {
        let inside = |line: usize| heading.line < line && line < end;
        let tests = prose(&text).find(|(line, text)| inside(*line) && *text == "Tests:").map_or(usize::MAX, |(line, _)| line);
        Section {
            number: Number::of_heading(&heading.title),
            tests: links.iter().filter(|link| inside(link.line) && link.line > tests).cloned().collect(),
            heading: heading.clone(),
        }
    };
    headings.iter().zip(ends).map(section).collect()
}

/// Every number that can be cited.
fn numbers() -> BTreeSet<Number> {
    sections().into_iter().filter_map(|section| section.number).collect()
}

#[test]
fn rules_are_numbered_in_order() {
    let (mut found, mut last) = (Vec::new(), None::<Number>);
    for section in sections() {
        let Some(number) = section.number else { continue };
        if !number.follows(last.as_ref()) {
            found.push(format!("{SPECIFICATION}:{}: `{number}` does not follow `{}`", section.heading.line, last.unwrap_or_default()));
        }
        last = Some(number);
    }
    assert!(last.is_some(), "the specification has rules");
    assert_none(found);
}

#[test]
fn every_rule_names_tests_that_are_there() {
    let mut found = Vec::new();
    for section in sections().iter().filter(|section| section.heading.level == 3) {
        let at = format!("{SPECIFICATION}:{}: `{}`", section.heading.line, section.heading.title);
        if section.tests.is_empty() {
            found.push(format!("{at} names no test"));
        }
        found.extend(section.tests.iter().filter_map(|link| Some(format!("{at}: {}", no_test(link)?))));
    }
    assert_none(found);
}

/// Returns the reason why a link leads to no test: a heading of the suite, or a function of a Rust file that is marked as a test.
fn no_test(link: &Link) -> Option<String> {
    let Some(name) = link.target.strip_suffix(".rs").and_then(|_| link.text.strip_prefix('`')?.strip_suffix('`')) else {
        let is_case = link.target.starts_with("../tests/suite/") && link.target.contains(".md#");
        return (!is_case).then(|| format!("`{}` is neither a case of the suite nor a Rust test", link.target));
    };
    let text = fs::read_to_string(repository().join("docs").join(&link.target)).ok()?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_named = |line: &str| line.contains(&format!("fn {name}("));
    let is_test = |at: usize| lines[..at].iter().rev().take(4).any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    // The promises of stores become tests of each store by their list in `contract/mod.rs`.
    let is_contract = |line: &str| link.target.contains("/stores/contract/") && line.starts_with("pub(crate) async fn ");
    let is_there = lines.iter().enumerate().any(|(at, line)| is_named(line) && (is_test(at) || is_contract(line)));
    (!is_there).then(|| format!("there is no test `{name}` in {}", link.target))
}

#[test]
fn every_citation_leads_to_a_rule() {
    let numbers = numbers();
    let mut found = Vec::new();
    for (path, text) in files() {
        let own = own_list(&path, &text);
        for (number, line) in text.lines().enumerate() {
            let mut all = cited(line);
            if path.starts_with("docs/reference/") {
                all.extend(in_brackets(line));
            }
            if path.starts_with("tests/suite/") || path == "tests/README.md" {
                all.extend(headed(line).into_iter().filter(|number| !own.contains(number)));
            }
            let missing = all.into_iter().filter(|number| !numbers.contains(number));
            found.extend(missing.map(|rule| format!("{path}:{}: {SPECIFICATION} has no rule `{rule}`", number + 1)));
        }
    }
    assert_none(found);
}

/// The numbers of a list that a flow's sheet has of its own.
fn own_list(path: &str, text: &str) -> BTreeSet<Number> {
    let lines = text.lines().filter(|_| path.starts_with("tests/suite/flows/"));
    lines.filter_map(|line| Number::of_chapter(line.split_once(". ")?.0)).collect()
}

#[test]
fn nothing_is_cited_that_is_not_in_the_repository() {
    let marks = ["\u{a7}", concat!("source ", "document"), concat!("(design", " "), concat!("language", ".md"), concat!("design", ".md")];
    let marks = marks.into_iter().chain([concat!("(world", " "), concat!("equirements", " 0")]);
    let elsewhere = ["world ", "World ", "doors ", "Doors ", "workbench ", "Workbench ", "issue ", "Issue "];
    for word in elsewhere {
        assert_eq!(cited_by(&format!("// as {word}9.6 has it"), &elsewhere).len(), 1, "{word}");
    }
    let mut found = Vec::new();
    // A decision is a record of its day.
    for (path, text) in files().into_iter().filter(|(path, _)| path != "docs/decisions.md") {
        for (number, line) in text.lines().enumerate() {
            let at = format!("{path}:{}", number + 1);
            found.extend(marks.clone().filter(|mark| line.contains(mark)).map(|mark| format!("{at}: `{mark}`")));
            found.extend(cited_by(line, &elsewhere).into_iter().map(|rule| format!("{at}: the rule {rule} stands elsewhere")));
        }
    }
    assert_none(found);
}

/// The pages that a line names with their place: `docs/serve.md#turns`.
fn named_pages(line: &str) -> impl Iterator<Item = &str> {
    let places = line.match_indices("docs/").filter(|(at, _)| line[..*at].ends_with('`'));
    places.filter_map(|(at, _)| line[at..].split_once('`')).map(|(page, _)| page).filter(|page| page.contains(".md"))
}

#[test]
fn every_page_that_is_named_is_there() {
    let mut found = Vec::new();
    for (path, text) in files().into_iter().filter(|(path, _)| path.ends_with(".rs") || path.ends_with(".yaml")) {
        for (at, page) in text.lines().enumerate().flat_map(|(at, line)| named_pages(line).map(move |page| (at + 1, page))) {
            let (file, anchor) = page.split_once('#').unwrap_or((page, ""));
            let is_there = known_anchors(&repository().join(file)).is_some_and(|anchors| anchor.is_empty() || anchors.contains(anchor));
            found.extend((!is_there).then(|| format!("{path}:{at}: there is no `{page}`")));
        }
    }
    assert_none(found);
}

#[test]
fn every_link_of_the_docs_leads_somewhere() {
    let mut anchors_of = BTreeMap::<PathBuf, Option<BTreeSet<String>>>::new();
    let mut found = Vec::new();
    let is_page = |path: &str| path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/") || path.ends_with("README.md"));
    for (path, text) in files().into_iter().filter(|(path, _)| is_page(path)) {
        for link in links(&text).into_iter().filter(|link| !link.target.contains("://")) {
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let here = repository().join(&path);
            let target = if file.is_empty() { here } else { here.with_file_name("").join(file) };
            let there = anchors_of.entry(target).or_insert_with_key(|target| known_anchors(target));
            match there {
                None => found.push(format!("{path}:{}: there is no `{file}`", link.line)),
                Some(anchors) if !anchor.is_empty() && !anchors.contains(anchor) => {
                    found.push(format!("{path}:{}: `{file}` has no heading `#{anchor}`", link.line));
                }
                Some(_) => {}
            }
        }
    }
    assert_none(found);
}

/// The anchors of a file, none for what is no Markdown; `None` if there is no such file or folder.
fn known_anchors(path: &Path) -> Option<BTreeSet<String>> {
    if !path.exists() {
        return None;
    }
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    Some(if is_markdown { anchors(&fs::read_to_string(path).ok()?) } else { BTreeSet::new() })
}

/// Every text file of the repository that people write, with its path below it.
fn files() -> Vec<(String, String)> {
    let root = repository();
    let kinds = ["rs", "md", "toml", "yaml", "yml", "sh"];
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> =
        ["crates", "docs", "examples", "fuzz", "graphs", "tests", "README.md", "CHANGELOG.md"].iter().map(|name| root.join(name)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
            open.extend(inside.filter(|path| !path.ends_with("target")));
        } else if path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| kinds.contains(&extension)) {
            let below = path.strip_prefix(&root).expect("it is below the root").to_string_lossy().replace('\\', "/");
            files.extend(fs::read_to_string(&path).ok().map(|text| (below, text)));
        }
    }
    files.sort();
    files
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn assert_none(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
