//! Calls: the settings of tool, call, node and graph are joined here (language 5, 7.4).

use std::sync::Arc;

use super::{Here, Lowering, OwnTools, edges::of_branches, listen::local_texts};
use crate::{
    check::args::{self, Demands},
    inputs::closed,
    names::{Candidate, Resolved},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Near},
    path::KeyPath,
    span::Spanned,
    value::Key,
};
use trellis_engine::program::{Approve, Call, Callee, Composite, Tool, Write, WriteSource, WriteTarget};
use trellis_syntax::node::{CallSyntax, CalleeSyntax, CompositeSyntax, Effect, NodeSyntax, OnBranchError, TargetSyntax};

/// The surroundings of a call that is lowered.
pub(super) struct Around<'a, 'd> {
    pub(super) here: Here<'d>,
    pub(super) candidate: Candidate<'d>,
    pub(super) own: &'a OwnTools,
}

impl<'d> Lowering<'d> {
    /// Lowers the call of a node with its undo and its node-wide `timeout` and `retry`.
    pub(super) fn node_call(&mut self, around: &Around<'_, 'd>, node: &'d NodeSyntax, syntax: &'d CallSyntax, writes: &[Write]) -> Call {
        let mut call = self.call(around, syntax);
        call.timeout = syntax.timeout.as_ref().or(node.timeout.as_deref()).map(|timeout| timeout.value).or(call.timeout);
        call.retry = syntax.retry.as_ref().or(node.retry.as_deref()).map(|retry| retry.value.clone()).or(call.retry);
        call.metadata = call.metadata.or_else(|| node.metadata.as_ref().map(|metadata| metadata.value.clone()));
        call.writes = writes.into();
        self.branches_agree(around, node, syntax);
        if let Some(undo) = &node.undo {
            call.undo = Some(Arc::new(self.call(around, undo)));
            if syntax.effect.is_none() {
                call.effect = Effect::Undoable;
            }
        }
        if let Some(body) = &syntax.body
            && node.content.is_none()
        {
            self.report(around.here, Code::MissingValue, body.span, format!("`{}` takes this node's body, but it has none", body.value))
                .help = Some("write the text below the frontmatter, or drop `body`".into());
        }
        call
    }

    /// Lowers one call. Policies: the call's beats the tool's, that the graph's, which is for tools only.
    pub(super) fn call(&mut self, around: &Around<'_, 'd>, syntax: &'d CallSyntax) -> Call {
        let here = around.here;
        // A key beside the call may have been meant for its arguments.
        let is_unclear = around.candidate.syntax.is_some_and(|node| node.is_unclear);
        let (callee, tool) = match &syntax.callee {
            CalleeSyntax::Tool(name) => {
                let tool = self.tool(around, name);
                if !is_unclear {
                    args::of_tool(self.tools.document(here.document), syntax, name.span, &tool, &mut self.found);
                }
                (Callee::Tool(Arc::clone(&tool)), tool)
            }
            CalleeSyntax::Graph(target) => {
                let (callee, candidate) = self.child(here, target);
                candidate.filter(|_| !is_unclear).into_iter().for_each(|candidate| self.child_args(here, syntax, target, candidate));
                (callee, Arc::new(Tool::default()))
            }
            CalleeSyntax::Parallel(branches, composite) => {
                let branches = branches.iter().map(|(name, branch)| (name.value.clone(), self.branch(around, branch)));
                let branches: Vec<_> = branches.collect();
                (Callee::Parallel(branches.into(), join_composite(*composite, OnBranchError::Fail)), Arc::new(Tool::default()))
            }
            CalleeSyntax::Each(list, composite) => {
                if around.own.is_empty() {
                    self.report(here, Code::UnknownTool, list.span, "`each` has nothing to call: this node names no tools").help =
                        Some("name what the items may call: `tools: […]`".into());
                }
                (Callee::Each(list.value.clone(), join_composite(*composite, OnBranchError::Collect)), Arc::new(Tool::default()))
            }
        };
        let returns =
            syntax.returns.as_ref().and_then(|schema| self.schemas.checked(Code::InvalidToolSchema, here.path, schema, &mut self.found));
        // Defaults of the graph are for tools: attempts and effects would multiply with the depth of nested calls (language 9.3).
        let defaults = self.graphs[here.graph as usize].syntax.project(|project| project.defaults.retry.as_ref());
        let defaults = defaults.filter(|_| matches!(callee, Callee::Tool(_)));
        let effect = syntax.effect.as_ref().map(|effect| effect.value).or(tool.effect);
        Call {
            effect: effect.unwrap_or_else(|| strongest(&callee, around.own)),
            callee,
            args: syntax.args.as_ref().map(|args| args.value.clone()),
            body: syntax.body.as_ref().map(|body| body.value.clone()),
            timeout: syntax.timeout.as_ref().map(|timeout| timeout.value).or(tool.timeout),
            retry: syntax
                .retry
                .as_ref()
                .map(|retry| retry.value.clone())
                .or_else(|| tool.retry.clone())
                .or_else(|| defaults.map(|retry| retry.value.clone())),
            approve: syntax.approve.as_ref().map(|approve| Approve {
                ask: approve.value.ask.as_ref().map(|ask| ask.value.clone()),
                messages: local_texts(&approve.value.messages),
                expires: approve.value.expires.as_ref().map(|expires| expires.value),
            }),
            returns: tool.returns.clone().into_iter().chain(returns).collect(),
            undo: None,
            save_to: syntax.save_to.as_ref().map(|path| path.value.clone()),
            metadata: syntax.metadata.as_ref().map(|metadata| metadata.value.clone()),
            offered: around.own.tools().into(),
            writes: Box::default(),
        }
    }

    /// Lowers a branch of `parallel`, with its undo, which sees the values that the branch itself saves (language 10.6).
    fn branch(&mut self, around: &Around<'_, 'd>, syntax: &'d CallSyntax) -> Call {
        let mut call = self.call(around, syntax);
        call.writes = Self::saved(syntax).into();
        if let Some(undo) = &syntax.undo {
            call.undo = Some(Arc::new(self.call(around, undo)));
            if syntax.effect.is_none() {
                call.effect = Effect::Undoable;
            }
        }
        call
    }

    /// Reports branches that save to one path, or inside each other's, and an `undo` of the node beside those of its branches.
    fn branches_agree(&mut self, around: &Around<'_, 'd>, node: &'d NodeSyntax, syntax: &'d CallSyntax) {
        let CalleeSyntax::Parallel(branches, _) = &syntax.callee else { return };
        let (here, mut saved) = (around.here, Vec::<(&Spanned<Key>, &Spanned<KeyPath>)>::new());
        for (name, branch) in branches {
            let Some(path) = &branch.save_to else { continue };
            let segments = path.value.segments();
            let clash = saved
                .iter()
                .find(|(_, other)| segments.starts_with(other.value.segments()) || other.value.segments().starts_with(segments));
            if let Some((first, other)) = clash {
                let is_same = path.value == other.value;
                let how = if is_same { "to the same path as" } else { "into what is saved by" };
                let message = format!("the branch `{}` saves {how} the branch `{}`", name.value, first.value);
                let found = Diagnostic::new(Code::WrongType, here.path, path.span, message);
                self.push(found.label(here.path, other.span, "first here").help("give each branch a path of its own"));
            }
            saved.push((name, path));
        }
        if let (Some(undo), Some((name, own))) =
            (&node.undo, branches.iter().find_map(|(name, branch)| Some((name, branch.undo.as_ref()?))))
        {
            let message = format!("the node has an `undo`, and so has its branch `{}`", name.value);
            let found = Diagnostic::new(Code::WrongType, here.path, own.key, message);
            let help = "keep the one of the node, which undoes the whole, or those of the branches";
            self.push(found.label(here.path, undo.key, "the node's").help(help));
        }
    }

    fn tool(&mut self, around: &Around<'_, 'd>, name: &Spanned<Arc<str>>) -> Arc<Tool> {
        match self.tools.find(around.candidate, around.own, &name.value) {
            Ok(tool) => tool,
            Err(unknown) => {
                if let Some(near) = unknown {
                    let near = near.as_ref().map(|(name, is_only)| Near { name, is_only: *is_only });
                    let found =
                        Diagnostic::new(Code::UnknownTool, around.here.path, name.span, format!("there is no tool `{}`", name.value));
                    self.push(found.meant(name.span, near, || {
                        if let Some((called, _)) = name.value.split_once('(') {
                            return format!("arguments stand under `args`: `do: {{ name: {called}, args: {{ … }} }}`");
                        }
                        let binding = format!("`bindings: {{{}: {{process: […]}}}}`", name.value);
                        format!("declare it under `tools` here, in a library, or bind it in `trellis.yaml`: {binding}")
                    }));
                }
                Arc::new(Tool { name: name.value.clone(), ..Tool::default() })
            }
        }
    }

    /// The node that a `graph:` call begins at (language 5.4); a graph of its own may be called too.
    fn child(&mut self, here: Here<'d>, target: &'d TargetSyntax) -> (Callee, Option<Candidate<'d>>) {
        let missing = match self.names.resolve(&target.name.value, target.is_jump(), here.folder, here.graph, true) {
            Ok(Resolved::Node(candidate)) => match self.layouts.nodes_of[candidate as usize] {
                Some(node) => return (Callee::Graph(node), Some(self.names.candidate(candidate))),
                None => None,
            },
            Ok(_) => None,
            Err(missing) => Some(missing.at(here.path, target)),
        };
        self.unresolved = true;
        self.found.extend(missing);
        (Callee::Tool(Arc::new(Tool { name: target.name.value.clone(), ..Tool::default() })), None)
    }

    /// Checks the arguments of a `graph:` call against the demands of the called node.
    fn child_args(&mut self, here: Here<'d>, syntax: &'d CallSyntax, target: &TargetSyntax, candidate: Candidate<'d>) {
        let Some(node) = candidate.syntax else { return };
        let graph = &self.graphs[candidate.graph as usize];
        let is_entry = graph.syntax.entry.is_some_and(|entry| self.names.candidate(entry).id == candidate.id);
        let inputs = graph.syntax.project(|project| project.inputs.as_ref()).filter(|_| is_entry);
        let saved = graph.defaults.before_each.and_then(|declared| declared.value.save_to.as_ref());
        let demands = Demands {
            path: candidate.path,
            node,
            saved: saved.map(|path| path.value.root().clone()),
            inputs: inputs.and_then(|inputs| self.schemas.get(&closed(&inputs.value, node))),
            types: node
                .context_schema
                .iter()
                .filter_map(|(key, schema)| Some((key.value.clone(), key.span, self.schemas.get(&schema.value)?)))
                .collect(),
            declared: graph.types.iter().map(|of| (of.key.value.clone(), of.path, of.key.span, of.schema.clone())).collect(),
        };
        let document = self.tools.document(here.document);
        args::of_child(document, syntax, target.name.span, &target.name.value, &demands, &mut self.found);
    }

    /// The write of a call's own `save_to`.
    pub(super) fn saved(syntax: &CallSyntax) -> Vec<Write> {
        let save =
            |path: &Spanned<_>| Write { to: WriteTarget::Path(Clone::clone(&path.value)), value: WriteSource::Input, origin: path.span };
        syntax.save_to.iter().map(save).chain(of_branches(syntax)).collect()
    }
}

fn join_composite(syntax: CompositeSyntax, on_error: OnBranchError) -> Composite {
    Composite { any: syntax.any, on_error: syntax.on_error.unwrap_or(on_error), limit: syntax.limit }
}

/// The effect of a call that names none: a composite has the strongest of the calls that it may make (language 5.5).
fn strongest(callee: &Callee, own: &OwnTools) -> Effect {
    let of = |tool: &Tool| tool.effect.unwrap_or(Effect::Undoable);
    match callee {
        Callee::Tool(tool) => of(tool),
        Callee::Graph(_) => Effect::Undoable,
        Callee::Parallel(branches, _) => branches.iter().map(|(_, call)| call.effect).max().unwrap_or(Effect::None),
        Callee::Each(..) => own.tools().iter().map(|tool| of(tool)).max().unwrap_or(Effect::None),
    }
}
