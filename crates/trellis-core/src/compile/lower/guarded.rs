//! `unset-key`: keys that are tested or guarded, and that nothing can set (language 8.8).
//!
//! A guard accepts an absent key, so no session fails on such a name: it only never does what its author meant. The keys of a whole graph decide, so
//! names are listed while nodes are lowered and looked up afterwards.

use rustc_hash::FxHashSet;

use super::{Here, Lowering};
use crate::{
    diagnostic::{Code, Diagnostic, FilePath, Severity, near},
    program::{Call, Callee, ITEM, Node, Role, Speech, WriteSource},
    scope::RESERVED,
    span::{Span, Spanned},
    syntax::{
        condition::Test,
        node::{CalleeSyntax, NodeSyntax},
    },
    template::{Reference, Shape, Template},
    value::{Key, Value},
};

/// A key that a node tests, or that one of its templates reads only under a guard.
#[derive(Clone, Debug)]
pub(crate) struct GuardedName {
    document: u32,
    graph: u32,
    name: Key,
    span: Span,
    /// True if the text at the span is the name.
    is_exact: bool,
}

/// The names that one node guards.
struct GuardedNames<'d> {
    here: Here<'d>,
    found: Vec<GuardedName>,
}

impl GuardedNames<'_> {
    fn add(&mut self, name: &Key, span: Span, is_exact: bool) {
        if !RESERVED.contains(&&**name) && **name != *ITEM {
            let Here { document, graph, .. } = self.here;
            self.found.push(GuardedName { document, graph, name: name.clone(), span, is_exact });
        }
    }

    /// Adds the keys that a template names and does not read unguarded: those reads have a finding of their own.
    fn template(&mut self, template: &Template) {
        if !template.is_guarded() {
            return;
        }
        let mut read: FxHashSet<Key> = FxHashSet::default();
        template.each_use(&mut |used| read.extend(used.when.is_empty().then(|| used.path.root().clone())));
        for Reference { path, span, is_exact } in template.references().into_iter().filter(|found| !read.contains(found.path.root())) {
            let root = path.root();
            let name = if is_exact { Span::new(span.start as usize, span.start as usize + root.len()) } else { span };
            self.add(root, name, is_exact);
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
            let (root, span) = (condition.subject.root(), condition.subject_span);
            let is_exact = span.range().len() == condition.subject.to_string().len();
            let name = if is_exact { Span::new(span.start as usize, span.start as usize + root.len()) } else { span };
            self.add(root, name, is_exact);
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

    /// Reports guarded keys, `redact` and `locale` that name a key which nothing in the program can set. It is asked once all nodes are lowered.
    pub(crate) fn unset_keys<'g>(&mut self, guarded: impl Iterator<Item = &'g GuardedName>) {
        let Some(given) = self.given_keys() else { return };
        let mut reported = FxHashSet::default();
        let mut found = Vec::new();
        for name in guarded {
            if given.contains(&*name.name) || self.keys(name.graph).contains(&*name.name) || !reported.insert((name.document, name.span)) {
                continue;
            }
            let message = format!("`{}` is guarded here, and nothing in the graph sets it", name.name);
            let help = || "set it before, or name it in `inputs`".to_owned();
            let path = &self.documents[name.document as usize].path;
            let named = Spanned::new(name.name.clone(), name.span);
            found.extend(self.unset(path, name.graph, &named, message, help).map(|finding| {
                let finding = Diagnostic { severity: Severity::Warning, ..finding };
                if name.is_exact { finding } else { Diagnostic { fix: None, ..finding } }
            }));
        }
        for (graph, at) in self.graphs.iter().zip(0_u32..) {
            for &(_, path, project) in &graph.syntax.projects {
                // The redaction of a program is that of its outermost graph, children included.
                let is_set = |key: &str| given.contains(key) || (0_u32..).take(self.graphs.len()).any(|at| self.keys(at).contains(key));
                for hidden in
                    project.redact.iter().filter(|hidden| !is_set(hidden.value.root()) && !RESERVED.contains(&&**hidden.value.root()))
                {
                    let root = hidden.value.root().clone();
                    let message = format!("nothing sets `{root}`, so nothing of it is redacted");
                    let name = Spanned::new(root.clone(), Span::new(hidden.span.start as usize, hidden.span.start as usize + root.len()));
                    found.extend(self.unset(path, at, &name, message, || "name a key of the context, or take it out".to_owned()));
                }
                if let Some(locale) = &project.locale
                    && !self.sets(at, &locale.value)
                    && !given.contains(&*locale.value)
                {
                    let message = format!("nothing sets `{}`, so the graph has one locale", locale.value);
                    found.extend(self.unset(path, at, locale, message, || "set it, or name it in `inputs`".to_owned()));
                }
            }
        }
        self.found.append(&mut found);
    }

    /// Returns the finding of a key that nothing sets; `None` if a host may have it: there is no similar key, and `inputs` do not say what may be given.
    fn unset(
        &self,
        path: &FilePath,
        graph: u32,
        name: &Spanned<Key>,
        message: String,
        help: impl FnOnce() -> String,
    ) -> Option<Diagnostic> {
        let mut candidates: Vec<&str> = self.keys(graph).iter().copied().filter(|key| **key != *name.value).collect();
        candidates.sort_unstable();
        // A name that is another one by chance alone may be known to a host.
        let is_slip = candidates.iter().any(|key| near(&name.value, [*key]).is_some_and(|near| near.is_only));
        let is_closed =
            || self.graphs[graph as usize].syntax.project(|project| project.inputs.as_ref()).is_some_and(|inputs| is_closed(&inputs.value));
        let near = near(&name.value, candidates);
        (is_slip || is_closed()).then(|| Diagnostic::new(Code::UnsetKey, path, name.span, message).meant(name.span, near, help))
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
