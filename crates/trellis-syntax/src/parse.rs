//! One file, from its bytes to its document: its kind, and the decoding of its parts.
//!
//! A Markdown file is split first, everything else is YAML as a whole; JSON is YAML. The kind of a file is decided by its name
//! (`trellis.yaml`, `tools.yaml`) and its keys (`nodes`, `tools` alone), never by another file.

use std::{ops::Range, sync::Arc};

use super::{
    allow,
    decode::{Decoder, NODE, has_bindings, is_library},
    document::{Content, Document, Source, is_hidden},
    frontmatter::{self, Split},
    links, misspellings,
    node::{NodeSyntax, SpeechSyntax},
    project::{HostConfig, ProjectSyntax},
    text,
    tree::{self, YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Report},
    span::{Span, Spanned},
    template::{Dialect, Template},
};

impl Document {
    /// Parses one file. Pure; the dialect is the one its graph's `trellis.yaml` names. Mistakes are diagnostics of the document.
    ///
    /// ```
    /// use trellis_base::{Code, Dialect};
    /// use trellis_syntax::{Document, Source};
    ///
    /// let document = Document::parse(&Source::text("start.md", "---\nto: [end\n---\n"), Dialect::default());
    /// assert_eq!(document.diagnostics[0].code, Code::YamlSyntax);
    /// ```
    pub fn parse(source: &Source, dialect: Dialect) -> Self {
        document(source, dialect)
    }
}

impl HostConfig {
    /// Reads a YAML file that belongs to a host and to no graph: each key with its value and its place. Mistakes of YAML are findings; the meaning of
    /// keys and values is the host's matter.
    ///
    /// ```
    /// use trellis_base::Value;
    /// use trellis_syntax::project::HostConfig;
    ///
    /// let (config, found) = HostConfig::parse("host.yaml", "locale: en\nlimits: { runs: 16 }\n");
    /// assert!(found.is_empty());
    /// assert_eq!(config.at(&["limits", "runs"]).and_then(Value::as_i64), Some(16));
    /// assert!(config.span("limits.runs").is_some());
    /// ```
    pub fn parse(path: impl Into<FilePath>, text: &str) -> (Self, Vec<Diagnostic>) {
        let mut report = Report::new(&path.into());
        let config = match mapping(text, 0..text.len(), "the file", &mut report) {
            Ok(entries) => Decoder { text, dialect: Dialect::default(), report: &mut report }.settings(&entries),
            Err(tree::Malformed) => Self { path: Arc::clone(&report.path), ..Self::default() },
        };
        report.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        (config, report.diagnostics)
    }
}

fn document(source: &Source, dialect: Dialect) -> Document {
    let mut report = Report::new(&source.path);
    let mut allows = Box::default();
    let (text, content) = match text::read(&source.bytes, &mut report) {
        Ok(text) => {
            if text.contains(allow::MARK) {
                allows = allow::allows(&text, yaml(&source.path, &text));
            }
            let content = match frontmatter::is_markdown(&source.path) {
                true => markdown(&text, dialect, &mut report),
                false => data(&text, &source.path, dialect, &mut report),
            };
            (text, content)
        }
        Err(text) => (text, Content::Broken),
    };
    // Mistakes of a draft are not reported; a library of any name may be used (language 1.2).
    if is_hidden(&source.path) && !matches!(content, Content::Library(_)) {
        report.diagnostics.clear();
    }
    report.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
    Document::new(Arc::clone(&source.path), text, content, report.diagnostics, allows)
}

/// Returns the place of a file's YAML.
fn yaml(path: &str, text: &str) -> Range<usize> {
    match frontmatter::is_markdown(path).then(|| frontmatter::split(text)) {
        Some(Split::Matter { yaml, .. }) => yaml,
        Some(Split::Body(_) | Split::Unclosed(_)) => 0..0,
        None => 0..text.len(),
    }
}

/// Returns whether `path` names this file in some folder.
pub(super) fn is_named(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// A Markdown file: a node, a page, or a library.
fn markdown(text: &Arc<str>, dialect: Dialect, report: &mut Report) -> Content {
    let (header, yaml, body) = match frontmatter::split(text) {
        Split::Matter { header, yaml, body } => (Span::new(header.start, header.end), yaml, body),
        Split::Body(body) => {
            if let Some(found) = frontmatter::fenceless(text, body.start)
                && reads_as_node(text, found.yaml.clone(), dialect)
            {
                found.report(text, report);
                return Content::Broken;
            }
            if frontmatter::toml(text, body.start, report) || frontmatter::late(text, body.start, report) {
                return Content::Broken;
            }
            let mut node = NodeSyntax::default();
            say_body(&mut node, text, body, dialect, report);
            return Content::Node(Box::new(node));
        }
        Split::Unclosed(fence) => {
            frontmatter::unclosed(text, fence, report);
            return Content::Broken;
        }
    };
    let entries = match mapping(text, yaml, "frontmatter", report) {
        Ok(entries) => entries,
        Err(tree::Malformed) => return Content::Broken,
    };
    let mut decoder = Decoder { text, dialect, report };
    if is_library(&entries) {
        return library(&mut decoder, &entries);
    }
    if decoder.report_foreign(&entries) {
        return Content::Broken;
    }
    let mut node = decoder.node(&entries, header);
    say_body(&mut node, text, body, dialect, report);
    Content::Node(Box::new(node))
}

/// Stores the body of a Markdown file as the content of its node; a blank one counts as none.
fn say_body(node: &mut NodeSyntax, text: &Arc<str>, body: Range<usize>, dialect: Dialect, report: &mut Report) {
    let markdown = &text[body.clone()];
    if markdown.trim().is_empty() {
        return;
    }
    let span = Span::new(body.start, body.end);
    if let Some(key) = node.key("content") {
        let start = body.end - markdown.trim_start().len();
        let first = Span::new(start, start + text[start..].lines().next().unwrap_or_default().trim_end().len());
        let found = Diagnostic::new(Code::DuplicateKey, &report.path, first, "the node has a body and `content`");
        report.push(found.label(&report.path, key, "first here").help("keep one of them"));
        return;
    }
    node.content = Some(Spanned::new(SpeechSyntax::Text(Template::body(text, span, dialect, report)), span));
    node.links = links::links(text, body).into();
}

/// Returns whether a part of a file is the frontmatter of a node, without a mistake. Prose never is.
fn reads_as_node(text: &str, yaml: Range<usize>, dialect: Dialect) -> bool {
    let mut report = Report::new(&"".into());
    let Ok(entries) = mapping(text, yaml.clone(), "frontmatter", &mut report) else { return false };
    Decoder { text, dialect, report: &mut report }.node(&entries, Span::at(yaml.start));
    !entries.is_empty() && report.diagnostics.is_empty()
}

/// A YAML or JSON file.
fn data(text: &str, path: &str, dialect: Dialect, report: &mut Report) -> Content {
    let is_project = is_named(path, "trellis.yaml");
    let root = match tree::read(text, 0..text.len(), report) {
        Ok(Some(root)) if !root.is_null() => root,
        Ok(_) if is_project || path == "tools.yaml" => return Content::Project(Box::default()),
        Ok(_) => {
            report.add(Code::MissingValue, Span::at(0), "the file is empty").help = Some("a node that only ends is `{}`".into());
            return Content::Broken;
        }
        Err(tree::Malformed) => return Content::Broken,
    };
    let span = root.span;
    let Ok(entries) = entries(root, text, "a file of a graph", report) else { return Content::Broken };
    let is_misnamed = is_named(path, "trellis.yml") && entries.iter().any(|entry| NODE.canonical(&entry.key).is_none());
    if is_misnamed {
        report.add(Code::MisplacedKey, entries[0].span, "a project file is named `trellis.yaml`").help = Some("rename the file".into());
    }
    let mut decoder = Decoder { text, dialect, report };
    if is_project || is_misnamed {
        Content::Project(Box::new(decoder.project(&entries, false).0))
    } else if path == "tools.yaml" || is_named(path, "tools.yaml") && has_bindings(&entries) {
        Content::Project(Box::new(decoder.tools_file(&entries)))
    } else if entries.iter().any(|entry| entry.key == "nodes") {
        let (project, nodes): (ProjectSyntax, _) = decoder.project(&entries, true);
        Content::Nodes(nodes, Box::new(project))
    } else if is_library(&entries) {
        library(&mut decoder, &entries)
    } else if decoder.report_foreign(&entries) {
        Content::Broken
    } else {
        Content::Node(Box::new(decoder.node(&entries, span)))
    }
}

fn library<'t>(decoder: &mut Decoder<'t, '_>, entries: &[YamlEntry<'t>]) -> Content {
    let tools = entries.iter().find(|entry| entry.key == "tools");
    Content::Library(tools.map(|entry| decoder.tools(&entry.value)).unwrap_or_default())
}

/// The entries of the frontmatter; none when there is nothing in it.
fn mapping<'t>(text: &'t str, yaml: Range<usize>, what: &str, report: &mut Report) -> Result<Vec<YamlEntry<'t>>, tree::Malformed> {
    if yaml.is_empty() {
        return Ok(Vec::new());
    }
    match tree::read(text, yaml, report)? {
        Some(root) if !root.is_null() => entries(root, text, what, report),
        _ => Ok(Vec::new()),
    }
}

fn entries<'t>(root: YamlNode<'t>, text: &str, what: &str, report: &mut Report) -> Result<Vec<YamlEntry<'t>>, tree::Malformed> {
    let kind = root.kind();
    match root.data {
        YamlData::Map(entries) => Ok(entries),
        YamlData::Reported => Err(tree::Malformed),
        YamlData::Scalar(..) | YamlData::List(_) => {
            let line = text[root.span.range()].lines().next().unwrap_or_default().trim_end().len();
            let start = root.span.start as usize;
            if let Some(slip) = misspellings::missing_space(&text[start..start + line], start) {
                slip.report(Code::WrongType, report);
                return Err(tree::Malformed);
            }
            let found = report.add(Code::WrongType, Span::new(start, start + line), format!("{what} is a mapping of keys, not {kind}"));
            found.help = Some("a key is followed by `: ` and its value".into());
            Err(tree::Malformed)
        }
    }
}
