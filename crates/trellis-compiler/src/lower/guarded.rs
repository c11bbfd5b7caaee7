//! `unset-key`: keys that are tested or guarded, and that nothing can set (language 8.8).
//!
//! A guard accepts an absent key, so no session fails on such a name: it only never does what its author meant. The keys of a whole graph decide, so
//! names are listed while nodes are lowered and looked up afterwards.

use rustc_hash::FxHashSet;

use super::{Here, Lowering, known_paths::KnownPaths};
use crate::names::places_of;
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Severity, near},
    path::{KeyPath, Segment},
    scope::RESERVED,
    span::Span,
    template::{Reference, Shape, Template},
    value::Value,
};
use trellis_engine::program::{Call, Callee, ITEM, Node, Role, Speech, WriteSource};
use trellis_syntax::{
    condition::Test,
    node::{CalleeSyntax, NodeSyntax},
};

/// A path that a node tests, or that one of its templates reads only under a guard.
#[derive(Clone, Debug)]
pub(crate) struct GuardedName {
    document: u32,
    graph: u32,
    path: KeyPath,
    span: Span,
    /// True if the text at the span is the path.
    is_exact: bool,
    /// False if the template also reads the key, or a part of it, without a guard.
    is_key_guarded: bool,
}

/// A name that nothing sets: a key, or one inside of its value.
struct UnsetName<'k> {
    /// The path to it.
    shown: String,
    name: &'k str,
    span: Span,
    /// True if the text at the span is the name.
    is_exact: bool,
    candidates: Vec<&'k str>,
    /// True if no host may give it.
    is_closed: bool,
}

impl UnsetName<'_> {
    /// Returns its finding; `None` if a host may give it and it resembles no other name.
    fn report(self, file: &FilePath, message: String, help: &str) -> Option<Diagnostic> {
        // A name that is another one by chance alone may be known to a host.
        let is_slip = |of: &str| near(self.name, [of]).is_some_and(|near| near.is_only);
        if !self.is_closed && !self.candidates.iter().any(|of| is_slip(of)) {
            return None;
        }
        let near = near(self.name, self.candidates.iter().copied()).filter(|near| is_slip(near.name));
        let finding = Diagnostic::new(Code::UnsetKey, file, self.span, message).meant(self.span, near, || help.to_owned());
        Some(if self.is_exact { finding } else { finding.without_fix() })
    }
}

/// The names that one node guards.
struct GuardedNames<'d> {
    here: Here<'d>,
    found: Vec<GuardedName>,
}

impl GuardedNames<'_> {
    fn add(&mut self, path: &KeyPath, span: Span, is_exact: bool, is_key_guarded: bool) {
        if !RESERVED.contains(&&**path.root()) && **path.root() != *ITEM {
            let Here { document, graph, .. } = self.here;
            self.found.push(GuardedName { document, graph, path: path.clone(), span, is_exact, is_key_guarded });
        }
    }

    /// Adds the paths that a template names and does not read unguarded: those reads have a finding of their own.
    fn template(&mut self, template: &Template) {
        if !template.is_guarded() {
            return;
        }
        let mut read: Vec<KeyPath> = Vec::new();
        template.each_use(&mut |used| read.extend(used.when.is_empty().then(|| used.path.clone())));
        for Reference { path, span, is_exact } in template.references() {
            if !read.iter().any(|read| read.segments().starts_with(path.segments())) {
                let is_key_guarded = !read.iter().any(|read| read.root() == path.root());
                self.add(&path, span, is_exact, is_key_guarded);
            }
        }
    }

    fn shape(&mut self, shape: &Shape) {
        shape.each_template(&mut |template| self.template(template));
    }

    fn speech(&mut self, speech: &Speech) {
        speech.texts().for_each(|text| self.template(text));
    }

    fn call(&mut self, call: &Call) {
        let mut open = vec![call];
        while let Some(call) = open.pop() {
            call.args.iter().chain(&call.metadata).for_each(|shape| self.shape(shape));
            let asked = call.approve.iter().flat_map(|approve| approve.ask.iter().chain(approve.messages.iter().map(|(_, ask)| ask)));
            asked.for_each(|ask| self.template(ask));
            if let Callee::Parallel(branches, _) = &call.callee {
                open.extend(branches.iter().map(|(_, branch)| branch));
            }
            open.extend(call.undo.as_deref());
        }
    }

    fn node(&mut self, node: &Node) {
        let words = node.localised.iter().map(|(_, words)| words);
        node.content.iter().chain(words.clone().filter_map(|words| words.content.as_ref())).for_each(|speech| self.speech(speech));
        words.flat_map(|words| &words.options).map(|(_, text)| text).chain(&node.reason).for_each(|text| self.template(text));
        node.metadata.iter().chain(&node.output).for_each(|shape| self.shape(shape));
        match &node.role {
            Role::Act(call) => self.call(call),
            Role::Listen(listen) => {
                listen.options.iter().for_each(|choice| self.template(&choice.text));
                let invalid = listen.on_invalid.iter();
                invalid.flat_map(|invalid| invalid.text.iter().chain(invalid.messages.iter().map(|(_, text)| text))).for_each(|text| {
                    self.template(text);
                });
            }
            Role::Pass => {}
        }
        for write in &node.entry.defaults {
            if let WriteSource::Shape(shape) = &write.value {
                self.shape(shape);
            }
        }
    }

    /// Adds the keys that conditions test for presence.
    fn conditions(&mut self, node: &NodeSyntax) {
        let transitions = node.transitions.iter().filter_map(|transition| transition.condition.as_ref());
        let parts = node.speech_parts().filter_map(|part| part.condition.as_ref());
        for condition in transitions.chain(&node.asserts).chain(parts) {
            let condition = &condition.value;
            if !matches!(condition.test, Test::Set | Test::Empty) {
                continue;
            }
            let span = condition.subject_span;
            let is_exact = span.range().len() == condition.subject.to_string().len();
            self.add(&condition.subject, span, is_exact, true);
        }
    }
}

impl<'d> Lowering<'d> {
    /// Lists the keys that a node tests or guards, with the writes of its replies from `replies` on.
    pub(super) fn guarded(&mut self, here: Here<'d>, syntax: &NodeSyntax, node: &Node, replies: usize) {
        let mut names = GuardedNames { here, found: std::mem::take(&mut self.guarded_names) };
        names.conditions(syntax);
        names.node(node);
        for write in self.replies[replies..].iter().flat_map(|reply| &reply.update) {
            if let WriteSource::Shape(shape) = &write.value {
                names.shape(shape);
            }
        }
        self.guarded_names = names.found;
    }

    /// Reports guarded paths, `redact` and `locale` that name a key which nothing in the program can set. It is asked once all nodes are lowered.
    ///
    /// A file with mistakes might set any key that it names. So a name is not reported if such a file has it beside the places where it is only guarded.
    pub(crate) fn unset_keys<'g>(&mut self, guarded: impl Iterator<Item = &'g GuardedName>) {
        let Some(given) = self.given_keys() else { return };
        let guarded: Vec<&GuardedName> = guarded.collect();
        let projects = || self.graphs.iter().flat_map(|graph| &graph.syntax.projects).map(|(_, _, project)| *project);
        let mut paths = KnownPaths::default();
        let hidden = projects().flat_map(|project| &project.redact).map(|hidden| &hidden.value);
        if guarded.iter().map(|name| &name.path).chain(hidden).any(|path| !path.is_key()) {
            projects().for_each(|project| paths.project(project));
            self.names.candidates().filter_map(|candidate| candidate.syntax).for_each(|node| paths.node(node));
        }
        let mut reported = FxHashSet::default();
        let mut found = Vec::new();
        for name in &guarded {
            let GuardedName { document, graph, path, span, is_exact, is_key_guarded } = *name;
            let is_set = given.contains(&**path.root()) || self.keys(*graph).contains(&**path.root());
            let unset = match is_set {
                true => self.unset_below(&paths, *document, path, *span, *is_exact),
                false => is_key_guarded.then(|| self.unset_key(*graph, path.root(), *span, *is_exact)),
            };
            let Some(unset) = unset.filter(|unset| !self.is_mentioned(unset.name, &guarded, None)) else { continue };
            if reported.insert((*document, unset.span)) {
                let message = format!("`{}` is guarded here, and nothing in the graph sets it", unset.shown);
                let finding = unset.report(&self.documents[*document as usize].path, message, "set it before, or name it in `inputs`");
                found.extend(finding.map(|finding| finding.severity(Severity::Warning)));
            }
        }
        for (graph, at) in self.graphs.iter().zip(0_u32..) {
            for &(document, file, project) in &graph.syntax.projects {
                // The redaction of a program is that of its outermost graph, children included.
                let is_set = |key: &str| given.contains(key) || (0_u32..).take(self.graphs.len()).any(|at| self.keys(at).contains(key));
                let named = |unset: &UnsetName<'_>| self.is_mentioned(unset.name, &guarded, Some(document));
                for hidden in project.redact.iter().filter(|hidden| !RESERVED.contains(&&**hidden.value.root())) {
                    let unset = match is_set(hidden.value.root()) {
                        true => self.unset_below(&paths, document, &hidden.value, hidden.span, true),
                        false => Some(self.unset_key(at, hidden.value.root(), hidden.span, true)),
                    };
                    let Some(unset) = unset.filter(|unset| !named(unset)) else { continue };
                    let message = format!("nothing sets `{}`, so nothing of it is redacted", unset.shown);
                    found.extend(unset.report(file, message, "name a key of the context, or take it out"));
                }
                if let Some(locale) = &project.locale
                    && !self.sets(at, &locale.value)
                    && !given.contains(&*locale.value)
                {
                    let unset = self.unset_key(at, &locale.value, locale.span, true);
                    let message = format!("nothing sets `{}`, so the graph has one locale", locale.value);
                    let finding = Some(unset).filter(|unset| !named(unset));
                    let finding = finding.and_then(|unset| unset.report(file, message, "set it, or name it in `inputs`"));
                    found.extend(finding.map(|finding| finding.severity(Severity::Warning)));
                }
            }
        }
        self.found.append(&mut found);
    }

    /// Returns a key of a graph that nothing sets.
    fn unset_key<'k>(&'k self, graph: u32, key: &'k str, span: Span, is_exact: bool) -> UnsetName<'k> {
        let mut candidates: Vec<&str> = self.keys(graph).iter().copied().filter(|known| *known != key).collect();
        candidates.sort_unstable();
        let inputs = self.graphs[graph as usize].syntax.project(|project| project.inputs.as_ref());
        let is_closed = inputs.is_some_and(|inputs| is_closed(&inputs.value));
        let span = if is_exact { Span::new(span.start as usize, span.start as usize + key.len()) } else { span };
        UnsetName { shown: key.to_owned(), name: key, span, is_exact, candidates, is_closed }
    }

    /// Returns the first name of a path that nothing sets inside of a value whose other names are known.
    fn unset_below<'k>(
        &self,
        paths: &'k KnownPaths<'_>,
        document: u32,
        path: &'k KeyPath,
        span: Span,
        is_exact: bool,
    ) -> Option<UnsetName<'k>> {
        let (at, known) = paths.missing(path)?;
        let (above, Segment::Key(name)) = (KeyPath::new(path.segments()[..at].to_vec())?.to_string(), &path.segments()[at]) else {
            return None;
        };
        let text = &self.documents[document as usize].text;
        // A method is no key.
        if is_exact && text.get(span.end as usize..).is_some_and(|rest| rest.starts_with('(')) {
            return None;
        }
        let start = span.start as usize + above.len() + 1;
        let inner = Span::new(start, start + name.len());
        let is_exact = is_exact && text.get(inner.range()) == Some(&**name);
        let span = if is_exact { inner } else { span };
        Some(UnsetName { shown: format!("{above}.{name}"), name, span, is_exact, candidates: known.collect(), is_closed: false })
    }

    /// Returns whether a file with mistakes has a name beside the places where it is guarded, and where a setting names it.
    fn is_mentioned(&self, name: &str, guarded: &[&GuardedName], setting: Option<u32>) -> bool {
        let has = |path: &KeyPath| path.segments().iter().any(|segment| matches!(segment, Segment::Key(key) if **key == *name));
        (0..).zip(self.documents.iter()).filter(|(_, document)| document.has_errors()).any(|(at, document)| {
            let known = guarded.iter().filter(|guarded| guarded.document == at && has(&guarded.path)).count();
            document.text.is_empty() || places_of(&document.text, name).count() > known + usize::from(setting == Some(at))
        })
    }

    /// Returns whether a node of a graph sets a key, or its `inputs` name it: `locale` itself only reads it.
    fn sets(&self, graph: u32, key: &str) -> bool {
        let info = &self.graphs[graph as usize];
        let own = self.names.candidates().filter(|candidate| candidate.graph == graph).filter_map(|candidate| candidate.syntax);
        super::known_keys(&info.syntax, own, false).contains(key)
    }

    /// Returns the keys that calls of graphs give to their children; `None` if one of them computes all its arguments.
    fn given_keys(&self) -> Option<FxHashSet<&'d str>> {
        let mut given = FxHashSet::default();
        let gates = self.graphs.iter().filter_map(|graph| graph.defaults.before_each).map(|declared| declared.value);
        let nodes = self.names.candidates().filter_map(|candidate| candidate.syntax);
        let mut open: Vec<_> = nodes.flat_map(|node| node.call.as_deref().into_iter().chain(node.undo.as_deref())).chain(gates).collect();
        while let Some(call) = open.pop() {
            open.extend(call.undo.as_deref());
            match &call.callee {
                CalleeSyntax::Parallel(branches, _) => open.extend(branches.iter().map(|(_, branch)| branch)),
                CalleeSyntax::Graph(_) => match call.args.as_ref().map(|args| &args.value) {
                    Some(Shape::Map(entries)) => given.extend(entries.iter().map(|(key, _)| &*key.value)),
                    None => {}
                    Some(_) => return None,
                },
                CalleeSyntax::Tool(_) | CalleeSyntax::Each(..) => {}
            }
            given.extend(call.body.iter().map(|body| &*body.value));
        }
        Some(given)
    }
}

/// Returns whether a schema of inputs names all that may be given.
fn is_closed(inputs: &Value) -> bool {
    let open = ["additionalProperties", "patternProperties", "if", "dependentSchemas", "anyOf", "oneOf", "allOf", "$ref"];
    inputs.as_map().is_some_and(|inputs| {
        inputs.contains("properties") && !open.iter().any(|word| inputs.get(word).is_some_and(|part| part.as_bool() != Some(false)))
    })
}
