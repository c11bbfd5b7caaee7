//! Diagnostics about missing paths, with suggestions for misspelt names.

use super::*;
use trellis_base::{
    scope::RESERVED,
    template::Dialect,
    template::{RAW, is_like_code},
};
use trellis_syntax::node::{CallSyntax, CalleeSyntax, TargetSyntax};

/// Fields of `sys.error`.
const ERRORS: [&str; 6] = ["sys.error.tool", "sys.error.node", "sys.error.kind", "sys.error.code", "sys.error.message", "sys.error.data"];

/// Returns true if a path is below a name.
fn stands_in(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns true if two names differ by a letter or two in their last part.
fn is_beside(name: &str, other: &str) -> bool {
    let parts =
        |name: &str| name.rsplit_once('.').map_or((String::new(), name.to_owned()), |(above, last)| (above.to_owned(), last.to_owned()));
    let ((above, last), (beside, like)) = (parts(name), parts(other));
    above == beside && near(&last, [&*like]).is_some_and(|near| near.is_only)
}

/// Returns the target of the first call of a graph at a node that `is_it` holds for: its own call, a branch, or an undo of these.
fn begun_by<'p>(program: &'p Program, node: &Node, is_it: impl Fn(&Call) -> bool) -> Option<&'p TargetSyntax> {
    let (Role::Act(call), Some(syntax)) = (&node.role, syntax_of(program, node)) else { return None };
    let mut open: Vec<(&Call, &CallSyntax)> = syntax.undo.iter().filter_map(|undo| Some((call.undo.as_deref()?, &**undo))).collect();
    open.extend(syntax.call.as_ref().map(|syntax| (&**call, &**syntax)));
    while let Some((call, syntax)) = open.pop() {
        if let CalleeSyntax::Graph(target) = &syntax.callee
            && is_it(call)
        {
            return Some(target);
        }
        // The undo of a node is in `open` from the beginning; that of a branch stands in its own call.
        open.extend(call.undo.as_deref().zip(syntax.undo.as_deref()));
        if let (Callee::Parallel(parts, _), CalleeSyntax::Parallel(written, _)) = (&call.callee, &syntax.callee) {
            open.extend(parts.iter().zip(written).rev().map(|((_, part), (_, written))| (part, written)));
        }
    }
    None
}

impl Reporter<'_, '_> {
    pub(crate) fn missing(
        &self,
        analysis: &mut Analysis<'_, '_>,
        alarm: &Alarm,
        site: &ReadSite<'_>,
        details: &WitnessDetails,
    ) -> Diagnostic {
        if !site.inside().is_empty() {
            return self.missing_inside(analysis, alarm, site);
        }
        let node = self.node(alarm);
        let path = site.path;
        let is_uncounted = site.is_count();
        let (code, message) = match (site.kind, alarm.never) {
            (ReadKind::Required(..), _) => {
                (Code::UnsetRequiredContext, format!("`{}` needs `{path}`, which is not set on every path to it", node.id))
            }
            _ if is_uncounted => (Code::UndefinedVariable, format!("`{path}` is set on nodes with `max_visits` only")),
            (_, true) => (Code::UndefinedVariable, format!("`{path}` is not set on any path to `{}`", node.id)),
            (_, false) => (Code::MaybeUndefined, format!("`{path}` is not set on every path to `{}`", node.id)),
        };
        let is_error = matches!(path.rest().first(), Some(Segment::Key(key)) if &**key == "error");
        let hint = match &**path.root() {
            "input" => Some("the answer is there while its question resolves: save it with `save_to`, and read that key"),
            "tool_result" => Some("the result is there while its call resolves: save it with `save_to`, and read that key"),
            "sys" if is_error && ["sys.error.code", "sys.error.data"].contains(&&*path.to_string()) => {
                Some("not every error has it: guard it, and read it after `on_error`")
            }
            "sys" if is_error => Some("`sys.error` is there after a call that failed: read it after `on_error`, or guard it"),
            _ => None,
        };
        let is_predicate = self.program.predicates.iter().any(|predicate| *predicate.name == *path.to_string());
        let guard = match site.kind {
            _ if hint.is_some() => hint.unwrap_or_default().to_owned(),
            _ if is_uncounted => format!("give `{}` a `max_visits`", node.id),
            ReadKind::Edge(..) | ReadKind::Assert(..) | ReadKind::Part(..) if is_predicate => {
                format!("`{path}` is a predicate: ask it by its name alone, `{path}` or `not {path}`")
            }
            ReadKind::Template(..) => format!("guard it, {}, or set it before", self.fallback(site.document, &path.to_string())),
            ReadKind::Edge(..) | ReadKind::Assert(..) | ReadKind::Schema(..) => {
                format!("ask first whether it is there, `{path} is set`, or set it before")
            }
            ReadKind::Required(..) | ReadKind::List(_) | ReadKind::Part(..) => "set it before, or give it a `default_context`".to_owned(),
        };
        let (written, span) = (path.to_string(), site.span(self.program));
        let sibling = if alarm.never { None } else { self.sibling(path, details) };
        // A path that is set on some path is probably spelled correctly.
        let is_meant = alarm.never || sibling.is_some();
        let near = match &sibling {
            Some((whole, is_only)) => Some(Near { name: whole, is_only: *is_only }),
            None if is_error && ERRORS.contains(&&*written) => None,
            None if is_error && &**path.root() == "sys" => near(&written, ERRORS),
            None if hint.is_some() || is_uncounted || is_predicate => None,
            None if alarm.never => near(&written, details.set_names.iter().map(String::as_str).filter(|name| !stands_in(&written, name))),
            // Such a path is taken for misspelt only if a similar field is beside it.
            None => details
                .set_names
                .iter()
                .map(String::as_str)
                .filter(|name| is_beside(&written, name))
                .find_map(|name| near(&written, [name])),
        };
        // A name that is set on some paths only is no certain fix.
        let possible =
            if near.is_none() && alarm.never && hint.is_none() && !is_predicate { self.possible(analysis, alarm) } else { Vec::new() };
        let near = near.or_else(|| {
            self::near(&written, possible.iter().map(String::as_str).filter(|name| !stands_in(&written, name)))
                .map(|near| Near { is_only: false, ..near })
        });
        let help = match near {
            Some(near) if is_meant => near.question(),
            Some(near) => format!("{} if not, {guard}", near.question()),
            None => guard,
        };
        let is_shown = matches!(site.kind, ReadKind::Template(..)) && {
            let text = &self.program.documents[site.document as usize].text;
            is_like_code(text, span.start as usize)
        };
        let help = if is_shown && alarm.never { format!("{help}; {RAW}") } else { help };
        let near = near.filter(|_| is_meant);
        let found = Diagnostic::new(code, self.file(site.document), span, message).help(help);
        let found = match self.asker(alarm, site) {
            Some(asked) => found.label(self.program.path_of(node), asked, "asked here"),
            None => found,
        };
        let found = near.filter(|_| alarm.never).into_iter().fold(found, |found, near| self.unread(found, near.name));
        // A read that is not spelled as its path, such as `user["name"]`, gets no fix.
        let text = self.program.documents[site.document as usize].text.get(span.range());
        match near.filter(|_| text == Some(&*written)) {
            Some(near) => found.rename_if(near.is_only, span, near.name),
            None => found,
        }
    }

    /// Returns the condition of a transition that asks the predicate whose schema reads.
    fn asker(&self, alarm: &Alarm, site: &ReadSite<'_>) -> Option<Span> {
        let ReadKind::Schema(span, _) = site.kind else { return None };
        let point = self.program.point(alarm.point);
        let mut edges = self.program.replies(&point.replies).iter().flat_map(|reply| reply.edges.clone());
        let asks = |edge: &u32| match self.program.edges[*edge as usize].when {
            Guard::Predicate(index, _) => {
                let mut keys = self.program.predicates[index as usize].keys.iter();
                keys.any(|key| key.place.document == site.document && key.place.span == span)
            }
            _ => false,
        };
        edges.find(asks).map(|edge| edge_span(self.program, self.node(alarm), edge))
    }

    /// Returns the names that can be present at the point of an alarm, and the keys that are written and never read.
    fn possible(&self, analysis: &mut Analysis<'_, '_>, alarm: &Alarm) -> Vec<String> {
        let read = self.read_keys();
        let written = self.program.replies.iter().flat_map(|reply| &reply.update).filter_map(|write| match &write.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => Some(path.root()),
            _ => None,
        });
        let unread: BTreeSet<&str> = written.map(|key| &**key).filter(|key| !read.contains(key)).collect();
        let mut names: Vec<String> = unread.into_iter().map(str::to_owned).collect();
        if let Some(env) = analysis.env_at(alarm.point) {
            let set_names = analysis.keys().into_iter().filter(|(_, slot)| env.may_hold(*slot, &analysis.types));
            names.extend(set_names.map(|(name, _)| name).filter(|name| !RESERVED.contains(&name.split('.').next().unwrap_or(name))));
        }
        names
    }

    /// Returns the keys that some site or condition reads.
    fn read_keys(&self) -> &FxHashSet<&str> {
        self.read.get_or_init(|| {
            let asked = self.program.edges.iter().filter_map(|edge| edge.when.operand()).map(|operand| &**operand.path.root());
            self.ir.sites.iter().map(|site| &**site.path.root()).chain(asked).collect()
        })
    }

    /// Reports a missing path in a child at the call that does not pass it (language 8.7). `None` if the path does not start at a child, or
    /// is a misspelt name.
    pub(crate) fn at_call(&self, alarm: &Alarm, hops: &[Hop], details: &WitnessDetails) -> Option<Diagnostic> {
        let Violation::Missing(site) = alarm.violation else { return None };
        let site = &self.ir.sites[site.index()];
        let (program, path) = (self.program, site.path);
        let begin = program.node(program.point(hops.first().map_or(alarm.point, |hop| hop.point)).node);
        let is_read = !matches!(site.kind, ReadKind::Required(..) | ReadKind::Assert(..)) && site.inside().is_empty();
        // A `start` declares its inputs itself.
        let is_entry = begin.id.is_start();
        let name = path.to_string();
        if !is_read || is_entry || RESERVED.contains(&&**path.root()) || near(&name, details.set_names.iter().map(String::as_str)).is_some()
        {
            return None;
        }
        let lacks = |call: &Call| {
            let gives = matches!(&call.args, Some(Shape::Map(entries)) if entries.iter().any(|(key, _)| key.value == *path.root()));
            matches!(call.callee, Callee::Graph(child) if child == begin.index) && !gives
        };
        let (caller, target) = program.nodes.iter().find_map(|node| Some((node, begun_by(program, node, lacks)?)))?;
        let message = format!("`{}` needs `{name}`, which is not given", target.name.value);
        let found = Diagnostic::new(Code::BadToolArgs, program.path_of(caller), target.name.span, message);
        let found = found.label(self.file(site.document), site.span(program), format!("`{name}` is read here"));
        Some(found.help(format!("add `{}: …` to `args`", path.root())))
    }

    /// Describes the call with which the session of a path begins, if that is a child: it has a context of its own.
    pub(crate) fn begin_of_child(&self, alarm: &Alarm, hops: &[Hop]) -> Option<(FilePath, Span, String)> {
        let program = self.program;
        let begin = program.node(program.point(hops.first().map_or(alarm.point, |hop| hop.point)).node);
        if begin.index == program.root().entry {
            return None;
        }
        let begins = |call: &Call| matches!(call.callee, Callee::Graph(child) if child == begin.index);
        let (caller, target) = program.nodes.iter().find_map(|node| Some((node, begun_by(program, node, begins)?)))?;
        Some((program.path_of(caller).clone(), target.name.span, format!("a call begins `{}` with its arguments alone", begin.id)))
    }

    /// Labels the places that assign a suggested name which nothing reads: the name may be wrong there (language 8.8).
    fn unread(&self, found: Diagnostic, name: &str) -> Diagnostic {
        let read = self.read_keys();
        let Some(path) = KeyPath::parse(name).filter(|path| path.is_key() && !read.contains(&**path.root())) else { return found };
        let setters = self.setters(&path).into_iter().take(MAX_SETTERS_NAMED);
        setters.fold(found, |found, (file, span, ..)| found.label(&file, span, format!("sets `{name}`, which nothing reads")))
    }

    /// Returns a field with a similar name in the same mapping, if nothing assigns the missing one; and whether it is the only such field.
    fn sibling(&self, path: &KeyPath, details: &WitnessDetails) -> Option<(String, bool)> {
        let (Segment::Key(last), above @ [_, ..]) = path.segments().split_last()? else { return None };
        if details.set_names.contains(&path.to_string()) || self.setters(path).iter().any(|(.., written)| written == path) {
            return None;
        }
        let prefix = format!("{}.", KeyPath::new(above.to_vec())?);
        let beside = details.set_names.iter().filter_map(|name| name.strip_prefix(&prefix)).filter(|name| !name.contains('.'));
        near(last, beside).map(|near| (format!("{prefix}{}", near.name), near.is_only))
    }

    /// Writes a template of a path with a fallback, in the dialect of its graph.
    fn fallback(&self, document: u32, path: &str) -> String {
        let file = &*self.program.documents[document as usize].path;
        let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let is_around = |other: &str| other == file || is_below(file, &folder(other));
        let settings = self.program.documents.iter().filter(|other| is_around(&other.path));
        let nearest =
            settings.filter_map(|other| Some((folder(&other.path).len(), other.dialect()?.value))).max_by_key(|(depth, _)| *depth);
        match nearest {
            Some((_, Dialect::Go)) => format!("`{{{{ default \"…\" .{} }}}}`", path.trim_start_matches('.')),
            _ => format!("`{{{{ {path} | default(\"…\") }}}}`"),
        }
    }

    /// Reports a missing field of an element of a list or mapping.
    fn missing_inside(&self, analysis: &mut Analysis<'_, '_>, alarm: &Alarm, site: &ReadSite<'_>) -> Diagnostic {
        let (name, path) = (site.name(self.program), site.path);
        let message = match alarm.never {
            true => format!("`{name}` is not set: nothing in `{path}` has it"),
            false => format!("`{name}` is not set for everything that can be in `{path}`"),
        };
        let code = if alarm.never { Code::UndefinedVariable } else { Code::MaybeUndefined };
        let span = site.span(self.program);
        let found = Diagnostic::new(code, self.file(site.document), span, message);
        let guard = format!("guard it, {}", self.fallback(site.document, &name));
        let Some((ElementStep::Key(last), above)) = site.inside().split_last() else { return found.help(guard) };
        let of = analysis.env_at(alarm.point).and_then(|env| analysis.known(&env, path));
        let names = of.map(|of| {
            let of = analysis.types.inside(of, above);
            analysis.types.names(of)
        });
        let names = names.unwrap_or_default();
        let is_declared = names.contains(last);
        let near = near(last, names.iter().map(|name| &**name)).filter(|_| !is_declared);
        let whole = near.and_then(|near| Some(format!("{}{}", name.strip_suffix(&**last)?, near.name)));
        match (near, whole) {
            (Some(near), Some(whole)) => found.help(format!("did you mean `{whole}`?")).rename_if(near.is_only, span, &whole),
            (Some(near), None) => found.help(near.question()),
            (None, _) => found.help(guard),
        }
    }
}

/// Returns true if a file is in a folder, or in a folder below it.
fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
