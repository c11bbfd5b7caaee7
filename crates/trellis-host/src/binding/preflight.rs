//! What keeps bindings from carrying calls out, found before a call is made: what `check --host` asks.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use trellis_core::{
    Code, Diagnostic, Document, Program, Value, compile,
    diagnostic::FilePath,
    span::{Span, Spanned},
    syntax::{document::Content, project::BindingSyntax},
};

use super::{Binding, Bindings, Bound, Carrier, Obstacle, config::span_of};

/// Time that one binding has to connect.
const REACH: Duration = Duration::from_secs(10);

impl Bindings {
    /// Findings about bindings that could not carry a call out, where they are written. Nothing is started, and nothing is connected to.
    pub fn obstacles(&self, program: &Program) -> Vec<Diagnostic> {
        let found = self.written(program).flat_map(|written| written.findings(written.binding.obstacles()));
        found.collect()
    }

    /// Lines that a person should read before the first call, each once.
    pub fn notices(&self, program: &Program) -> BTreeSet<String> {
        self.written(program).filter_map(|written| written.binding.notice()).collect()
    }

    /// Findings about bindings that cannot reach what they call. All connect side by side, each for ten seconds at most.
    pub async fn reach(&self, program: &Program) -> Vec<Diagnostic> {
        let asked = self.written(program).map(|written| async move {
            let reached = tokio::time::timeout(REACH, async { (written.binding.reach().await, written.binding.takes().await) }).await;
            let (obstacles, takes) = reached.unwrap_or_else(|_| (vec![Obstacle::new("", "nothing answered within 10 s")], None));
            let span = written.syntax.tool.span;
            (written.findings(obstacles), takes.map(|schema| (Arc::clone(written.file), span, schema)))
        });
        let (mut found, mut held) = (Vec::new(), Vec::new());
        for (findings, takes) in futures_util::future::join_all(asked).await {
            found.extend(findings);
            held.extend(takes);
        }
        found.extend(misfits(program, &held));
        found
    }

    /// The bindings that project files say something about and that are carried out by themselves.
    fn written<'b>(&'b self, program: &'b Program) -> impl Iterator<Item = Written<'b>> {
        program.graphs().iter().flat_map(move |graph| {
            graph.bindings.iter().filter_map(move |(name, syntax)| match self.bound(&graph.root, name)? {
                Bound::By(Carrier::Binding(binding), file) => Some(Written { name, syntax, binding: &**binding, file }),
                Bound::By(Carrier::Function(_), _) | Bound::Faulty => None,
            })
        })
    }
}

/// Arguments in the graph that do not fit what the other sides take: findings of the compiler, should each binding declare the schema of its own.
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

/// A binding and where it is written.
struct Written<'b> {
    name: &'b str,
    syntax: &'b BindingSyntax,
    binding: &'b dyn Binding,
    file: &'b FilePath,
}

impl Written<'_> {
    fn findings(&self, obstacles: Vec<Obstacle>) -> Vec<Diagnostic> {
        obstacles.into_iter().map(|obstacle| self.finding(obstacle)).collect()
    }

    fn finding(&self, Obstacle { place, code, severity, message, help }: Obstacle) -> Diagnostic {
        let span = span_of(&self.syntax.config.spans, &place).unwrap_or(self.syntax.tool.span);
        let message = format!("`{}` cannot be carried out: {message}", self.name);
        let mut found = Diagnostic::new(code, self.file, span, message).help_maybe(help);
        found.severity = severity;
        found
    }
}
