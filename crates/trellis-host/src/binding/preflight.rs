//! Obstacles that prevent bindings from carrying calls out, found before a call is made: the checks of `check --host`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use trellis_core::{
    Code, Diagnostic, Document, Program, Value, compile,
    diagnostic::{FilePath, Severity},
    span::{Span, Spanned},
    syntax::{document::Content, project::BindingSyntax},
};

use super::{Binding, Bindings, Bound, Carrier, FileFindings, Notice, Obstacle, config::span_of, kind::REACH};

/// Time beyond [`REACH`] after which a binding that sets no bound itself is no longer waited for.
const SLACK: Duration = Duration::from_secs(1);

impl Bindings {
    /// Findings about bindings that could not carry a call out, where they are written; a server, host or provider of several of them has one, at the
    /// first; about contracts that contradict those of builtins, and about nodes in folders that builtins read. Nothing is started, and nothing is
    /// connected to.
    pub fn obstacles(&self, program: &Program) -> Vec<Diagnostic> {
        self.obstacles_beside(program, &FileFindings::default())
    }

    /// Returns the findings of [`Bindings::obstacles`] without those about files whose mistakes are known already.
    pub fn obstacles_beside(&self, program: &Program, known: &FileFindings) -> Vec<Diagnostic> {
        let is_new = |obstacle: &Obstacle| obstacle.file.as_ref().is_none_or(|file| !known.has_read(file));
        let of = |written: &Written<'_>| written.binding.obstacles().into_iter().filter(is_new).collect();
        let mut found = findings(self.written(program).map(|written| (written, of(&written))));
        found.extend(self.written(program).flat_map(|written| compile::contradictions(written.file, written.syntax)));
        found.extend(compile::read_nodes(program));
        found
    }

    /// Lines that a person should read before the first call, each once.
    pub fn notices(&self, program: &Program) -> BTreeSet<String> {
        let mut roles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for notice in self.written(program).filter_map(|written| written.binding.notice()) {
            if let Notice::StandIn { role, answered } = notice {
                roles.entry(answered).or_default().insert(format!("`{role}`"));
            }
        }
        let line = |(answered, roles): (String, BTreeSet<String>)| match roles.len() {
            1 => format!("the role {} is {answered}", roles.into_iter().collect::<String>()),
            _ => format!("the roles {} are {answered}", roles.into_iter().collect::<Vec<_>>().join(", ")),
        };
        roles.into_iter().map(line).collect()
    }

    /// Findings about bindings with which no session may be started here: they would not do what somebody set them up for.
    pub fn refusals(&self, program: &Program) -> Vec<Diagnostic> {
        let refusal = |written: &Written<'_>| match written.binding.notice() {
            Some(Notice::Refusal(refusal)) => Some(refusal),
            _ => None,
        };
        findings(self.written(program).filter_map(|written| Some((written, vec![refusal(&written)?]))))
    }

    /// Returns findings about bindings that cannot reach their other side; one for each server, host and provider. All connect side by side,
    /// each for ten seconds at most.
    pub async fn reach(&self, program: &Program) -> Vec<Diagnostic> {
        let asked = self.written(program).map(|written| async move {
            let reached =
                tokio::time::timeout(REACH + SLACK, async { (written.binding.reach().await, written.binding.takes().await) }).await;
            let (obstacles, takes) = reached.unwrap_or_else(|_| (vec![Obstacle::new("", "nothing answered within 10 s")], None));
            let span = written.syntax.tool.span;
            ((written, obstacles), takes.map(|schema| (Arc::clone(written.file), span, schema)))
        });
        let (results, held): (Vec<_>, Vec<_>) = futures_util::future::join_all(asked).await.into_iter().unzip();
        let held: Vec<_> = held.into_iter().flatten().collect();
        let mut found = findings(results);
        found.extend(misfits(program, &held));
        found
    }

    /// The bindings that project files say something about and that are carried out by themselves.
    fn written<'b>(&'b self, program: &'b Program) -> impl Iterator<Item = Written<'b>> {
        program.graphs().iter().flat_map(move |graph| {
            graph.bindings.iter().filter_map(move |(name, syntax)| match self.bound(&graph.root, name)? {
                Bound::By(Carrier::Binding(binding, _), file) => Some(Written { name, syntax, binding: &**binding, file }),
                Bound::By(Carrier::Function(_), _) | Bound::Faulty => None,
            })
        })
    }
}

/// Returns findings about arguments in the graph that the other sides do not accept: those of the compiler, if each binding declared the schema
/// of its other side.
fn misfits(program: &Program, held: &[(FilePath, Span, Value)]) -> Vec<Diagnostic> {
    if held.is_empty() {
        return Vec::new();
    }
    let declared = |document: &Arc<Document>| {
        let mut document = Document::clone(document);
        if let Content::Project(project) | Content::Nodes(_, project) = &mut document.content {
            for (path, span, schema) in held {
                let here = project.bindings.iter_mut().filter(|binding| *path == document.path && binding.tool.span == *span);
                here.for_each(|binding| binding.tool.parameters = Some(Spanned::new(schema.clone(), *span)));
            }
        }
        Arc::new(document)
    };
    let of = |documents: &[Arc<Document>]| {
        let found = compile(documents).diagnostics;
        found.into_iter().filter(|finding| finding.code == Code::BadToolArgs).collect::<Vec<_>>()
    };
    let known = of(program.documents());
    let documents: Vec<_> = program.documents().iter().map(declared).collect();
    of(&documents).into_iter().filter(|finding| !known.contains(finding)).collect()
}

/// A finding for each obstacle; of those that say the same about the same peer the first, as grave as the gravest, with how many bindings it
/// concerns.
fn findings<'b>(results: impl IntoIterator<Item = (Written<'b>, Vec<Obstacle>)>) -> Vec<Diagnostic> {
    let mut all: Vec<(Written<'b>, Obstacle, usize)> = Vec::new();
    let mut known: BTreeMap<(Arc<str>, String), usize> = BTreeMap::new();
    for (written, obstacles) in results {
        let mut here = BTreeSet::new();
        for obstacle in obstacles {
            let key = obstacle.peer.clone().map(|peer| (peer, obstacle.message.clone()));
            match key.as_ref().and_then(|key| known.get(key)) {
                Some(at) => {
                    let (_, first, others) = &mut all[*at];
                    first.severity = first.severity.min(obstacle.severity);
                    *others += usize::from(here.insert(*at));
                }
                None => {
                    here.insert(all.len());
                    known.extend(key.map(|key| (key, all.len())));
                    all.push((written, obstacle, 0));
                }
            }
        }
    }
    all.into_iter().map(|(written, obstacle, others)| written.finding(obstacle, others)).collect()
}

/// A binding and where it is written.
#[derive(Clone, Copy)]
struct Written<'b> {
    name: &'b str,
    syntax: &'b BindingSyntax,
    binding: &'b dyn Binding,
    file: &'b FilePath,
}

impl Written<'_> {
    /// Returns the finding of an obstacle that this number of other bindings meet too.
    fn finding(&self, Obstacle { place, code, severity, message, help, .. }: Obstacle, others: usize) -> Diagnostic {
        let span = span_of(&self.syntax.config.spans, &place).unwrap_or(self.syntax.tool.span);
        let name = self.name;
        let message = match (severity, others) {
            (Severity::Error, 0) => format!("`{name}` cannot be carried out: {message}"),
            (Severity::Error, 1) => format!("`{name}` and another binding cannot be carried out: {message}"),
            (Severity::Error, others) => format!("`{name}` and {others} other bindings cannot be carried out: {message}"),
            _ => message,
        };
        let mut found = Diagnostic::new(code, self.file, span, message).help_maybe(help);
        found.severity = severity;
        found
    }
}
