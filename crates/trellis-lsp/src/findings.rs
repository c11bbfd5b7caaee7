//! Findings as diagnostics of the protocol, and the published lists.
//!
//! **Invariant:** a list is complete, and a list that equals the last one for the same version is not sent.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lsp_server::Notification;
use trellis_core::{
    Code, Diagnostic,
    diagnostic::{FilePath, Severity},
    span::Span,
};

use crate::{
    client::Client,
    graph::Graph,
    linker::GraphNumber,
    sheets::is_sheet,
    uri,
    wire::{self, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, PublishDiagnosticsParams},
};

/// A list that a client has.
struct Sent {
    graph: GraphNumber,
    version: Option<i32>,
    diagnostics: Vec<wire::Diagnostic>,
}

/// The lists that a client has, by address.
#[derive(Default)]
pub(crate) struct Published(BTreeMap<String, Sent>);

impl Published {
    /// Returns the message with the list of a file, unless the client has it.
    pub(crate) fn list(&mut self, graph: &mut Graph, path: &FilePath, client: &Client) -> Option<Notification> {
        let found = graph.findings(path);
        let diagnostics: Vec<_> = found.iter().map(|found| diagnostic(graph, path, found, client)).collect();
        let open = graph.open.get(path);
        let version = open.map(|open| open.revisions.version);
        let (uri, is_open) = (graph.uri(path), open.is_some());
        match self.0.get(&uri.0) {
            Some(sent) if sent.version == version && sent.diagnostics == diagnostics => return None,
            None if diagnostics.is_empty() && !is_open => return None,
            _ => {}
        }
        if diagnostics.is_empty() && !is_open {
            self.0.remove(&uri.0);
        } else {
            self.0.insert(uri.0.clone(), Sent { graph: graph.number, version, diagnostics: diagnostics.clone() });
        }
        let version = version.filter(|_| client.versions);
        Some(Notification::new("textDocument/publishDiagnostics".into(), PublishDiagnosticsParams { uri, version, diagnostics }))
    }

    /// Returns the message with the list of a file beside a graph, such as a sheet, unless the client has it. `open`: its address and version, as its
    /// client has them.
    pub(crate) fn beside(
        &mut self,
        graph: GraphNumber,
        file: &Path,
        open: Option<(wire::Uri, i32)>,
        diagnostics: Vec<wire::Diagnostic>,
        client: &Client,
    ) -> Option<Notification> {
        let (uri, version) = match open {
            Some((uri, version)) => (uri, Some(version)),
            // A client that closed it may have had another spelling of its address.
            None => (self.uri_of(file).unwrap_or_else(|| uri::of_path(file)), None),
        };
        match self.0.get(&uri.0) {
            Some(sent) if sent.version == version && sent.diagnostics == diagnostics => return None,
            None if version.is_none() && diagnostics.is_empty() => return None,
            _ => {}
        }
        if version.is_none() && diagnostics.is_empty() {
            self.0.remove(&uri.0);
        } else {
            self.0.insert(uri.0.clone(), Sent { graph, version, diagnostics: diagnostics.clone() });
        }
        let version = version.filter(|_| client.versions);
        Some(Notification::new("textDocument/publishDiagnostics".into(), PublishDiagnosticsParams { uri, version, diagnostics }))
    }

    /// Returns the address under which a client has the list of a file.
    fn uri_of(&self, file: &Path) -> Option<wire::Uri> {
        self.0.keys().map(|uri| wire::Uri(uri.clone())).find(|uri| uri::to_path(uri).is_some_and(|path| path == file))
    }

    /// Returns the sheets of a graph of which the client has lists.
    pub(crate) fn sheets(&self, graph: GraphNumber) -> impl Iterator<Item = PathBuf> {
        let lists = self.0.iter().filter(move |(_, sent)| sent.graph == graph);
        lists.filter_map(|(uri, _)| uri::to_path(&wire::Uri(uri.clone()))).filter(|file| is_sheet(file))
    }

    /// Returns the messages that take back the lists of a graph.
    pub(crate) fn taken_back(&mut self, graph: &Graph) -> Vec<Notification> {
        let gone: Vec<String> = self.0.iter().filter(|(_, sent)| sent.graph == graph.number).map(|(uri, _)| uri.clone()).collect();
        let empty = |uri: String| {
            self.0.remove(&uri);
            let params = PublishDiagnosticsParams { uri: wire::Uri(uri), version: None, diagnostics: Vec::new() };
            Notification::new("textDocument/publishDiagnostics".into(), params)
        };
        gone.into_iter().map(empty).collect()
    }
}

/// Converts a finding to a diagnostic of the protocol.
pub(crate) fn diagnostic(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> wire::Diagnostic {
    let span = found.place.as_ref().map_or_else(Span::default, |place| place.span);
    let range = match found.place {
        Some(_) => graph.range(path, span, client.encoding),
        // A finding about the whole graph stands on the first line.
        None => first_line(graph, path, client),
    };
    let related = found.labels.iter().map(|label| {
        let range = graph.range(&label.place.path, label.place.span, client.encoding);
        DiagnosticRelatedInformation { location: Location { uri: graph.uri(&label.place.path), range }, message: label.message.clone() }
    });
    let related: Vec<_> = related.collect();
    let message = match &found.help {
        Some(help) => format!("{}\nhelp: {help}", found.message),
        None => found.message.clone(),
    };
    wire::Diagnostic {
        range,
        severity: Some(severity(found.severity)),
        code: Some(wire::Code::String(found.code.to_string())),
        code_description: None,
        source: Some("trellis".into()),
        message: wire::Message::String(message),
        tags: tag(found.code).filter(|_| client.tags).map(|tag| vec![tag]),
        related_information: (client.related && !related.is_empty()).then_some(related),
        data: None,
    }
}

fn first_line(graph: &mut Graph, path: &FilePath, client: &Client) -> wire::Range {
    let line = graph.text(path).and_then(|text| text.line(0)).unwrap_or_default();
    graph.range(path, Span::new(line.start, line.end), client.encoding)
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Error => DiagnosticSeverity::Error,
        Severity::Warning => DiagnosticSeverity::Warning,
        _ => DiagnosticSeverity::Information,
    }
}

/// Returns the tag of a code about what has no effect.
fn tag(code: Code) -> Option<DiagnosticTag> {
    match code {
        Code::ShadowedTransition | Code::UnreachableNode => Some(DiagnosticTag::Unnecessary),
        code if code.as_str().starts_with("unused-") => Some(DiagnosticTag::Unnecessary),
        _ => None,
    }
}
