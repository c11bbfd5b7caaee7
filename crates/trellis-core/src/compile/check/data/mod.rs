//! Data (language 8.1–8.3): that what is read was set, on every way.
//!
//! A fixed point over the ways nominates reads that may miss something; each is then searched for a way there, which the engine itself walks.
//! What cannot be walked is not reported, or reported as not decided.

mod act;
mod env;
mod instance;
mod origins;
mod paths;
mod presence;
mod replay;
mod scene;
mod script;
mod shapes;
mod symbols;
mod witness;

use std::{collections::BTreeSet, sync::Arc};

use self::{
    paths::{Paths, names},
    presence::{Candidate, Presence},
    script::{Kind, Op, Site},
    witness::{Hop, Search, Verdict},
};
use super::flow::Flow;
use crate::{
    diagnostic::{Code, Diagnostic, Near, near},
    path::KeyPath,
    program::{Edge, Guard, Node, Outcome, Place, PointIndex, Program, Target, Why, Write},
    span::Span,
    template::Test,
};

/// Checks a program whose other checks found nothing wrong. Gives the number of reads of which nothing is known.
pub(super) fn check(program: &Arc<Program>, flow: &Flow<'_>, found: &mut Vec<Diagnostic>) -> usize {
    let points = (0..u32::try_from(program.points.len()).unwrap_or(u32::MAX)).map(PointIndex);
    let entering: Vec<Vec<Op<'_>>> = points.map(|point| script::entering(program, point)).collect();
    let (tracked, asked) = tracked(program, &entering);
    let paths = Paths::new(tracked.into_iter());
    let origins = origins::origins(program);
    let mut unchecked = 0;
    let mut budget = witness::BUDGET_OF_ALL;
    let mut reported: BTreeSet<(String, u32)> = BTreeSet::new();
    for word in 0..paths.words() {
        let mut presence = Presence::new(program, &paths, &origins, &entering, word);
        let candidates = presence.solve();
        unchecked += presence.unchecked;
        for candidate in candidates {
            // One mistake is one finding: what is never set is said once.
            let key = (candidate.site.path.to_string(), if candidate.never { 0 } else { candidate.point.0 + 1 });
            if reported.contains(&key) {
                continue;
            }
            let goal = candidate.point;
            let behind = flow.leading_to(goal.0);
            // What can be forgotten again may be there on the way.
            let forgotten = forgets(program, &candidate.site.path);
            let leads = |point: PointIndex| behind[point.0 as usize] && (forgotten || presence.may_be_absent(point, candidate.id));
            let search = Search { program, origins: &origins, entering: &entering, candidate: &candidate, leads: &leads, asked: &asked };
            match search.run(&mut budget) {
                Verdict::Proved(hops) => {
                    reported.insert(key);
                    found.push(report(program, &candidate, &hops));
                }
                Verdict::Refuted => {}
                Verdict::Open => {
                    reported.insert(key);
                    found.push(open(program, &candidate));
                }
            }
        }
    }
    unchecked
}

/// Whether something may take a path away again: what it stands in is written as a whole, or it is there for a moment only.
fn forgets(program: &Program, path: &KeyPath) -> bool {
    let above = |written: &KeyPath| written.segments().len() < path.segments().len() && path.segments().starts_with(written.segments());
    let writes = program.replies.iter().flat_map(|reply| &reply.update);
    matches!(&**path.root(), "input" | "tool_result" | "sys")
        || writes.filter_map(|write| if let Place::Path(written) = &write.to { Some(written) } else { None }).any(above)
}

/// Every path that matters, and those that guards and tests ask about.
fn tracked(program: &Program, entering: &[Vec<Op<'_>>]) -> (BTreeSet<KeyPath>, BTreeSet<KeyPath>) {
    let (mut tracked, mut asked) = (BTreeSet::new(), BTreeSet::new());
    let mut site = |site: &Site, asked: &mut BTreeSet<KeyPath>| {
        tracked.insert(site.path.clone());
        for test in &site.when {
            if let Test::Truthy(path, _) | Test::Set(path, _) | Test::Is(path, ..) = test {
                asked.insert(path.clone());
            }
        }
    };
    for op in entering.iter().flatten() {
        if let Op::Read(read) = op {
            site(read, &mut asked);
        }
    }
    let mut writes: Vec<&Write> =
        entering.iter().flatten().filter_map(|op| if let Op::Write(write) = op { Some(*write) } else { None }).collect();
    for (at, point) in program.points.iter().enumerate() {
        let at = PointIndex(u32::try_from(at).unwrap_or(u32::MAX));
        for reply in program.replies(&point.replies) {
            for op in script::replying(program, at, reply) {
                match op {
                    Op::Read(read) => site(&read, &mut asked),
                    Op::Write(write) => writes.push(write),
                    Op::Assert(_) => {}
                }
            }
            for edge in program.edges_of(reply) {
                for op in script::ending(program, at, &edge.to) {
                    if let Op::Read(read) = op {
                        site(&read, &mut asked);
                    }
                }
                if let Some(operand) = edge.when.operand() {
                    asked.insert(operand.path.clone());
                }
            }
        }
    }
    for write in writes {
        match &write.to {
            Place::Path(path) | Place::Append(path) => {
                tracked.insert(path.clone());
            }
            Place::Absent(key) => tracked.extend(KeyPath::parse(key)),
            Place::Input | Place::Ans | Place::Error => {}
        }
        if let crate::program::From::Shape(shape) = &write.value {
            tracked.extend(shape.reads().into_iter().map(|read| read.path));
        }
    }
    tracked.extend(asked.iter().cloned());
    // The engine writes all of `sys` but these.
    tracked.retain(|path| {
        let (names, _) = names(path);
        names.first().is_some_and(|root| root != "sys")
            || names.get(1).is_some_and(|name| matches!(name.as_str(), "ans" | "error" | "rollback"))
    });
    (tracked, asked)
}

/// Where an edge's condition is written; its target where it has none.
fn span_of(program: &Program, node: &Node, edge: &Edge) -> Span {
    let written = super::never::condition(program, node, edge).map(|condition| condition.span);
    written.or(edge.origin.map(|origin| origin.span)).unwrap_or(node.span)
}

fn report(program: &Program, candidate: &Candidate, hops: &[Hop]) -> Diagnostic {
    let Candidate { site, never, point, there, .. } = candidate;
    let node = program.node(program.point(*point).node);
    let path = &program.documents[site.document as usize].path;
    let (code, message) = match (site.kind, never) {
        (Kind::Required, _) => {
            (Code::UnsetRequiredContext, format!("`{}` needs `{}`, which is not set on every way to it", node.id, site.path))
        }
        (_, true) => (Code::UndefinedVariable, format!("`{}` is not set on any way to `{}`", site.path, node.id)),
        (_, false) => (Code::MaybeUndefined, format!("`{}` is not set on every way to `{}`", site.path, node.id)),
    };
    let guard = match site.kind {
        Kind::Template => format!("guard it, `{{{{ {} | default(\"…\") }}}}`, or set it before", site.path),
        Kind::Condition => format!("ask first whether it is there, `{} is set`, or set it before", site.path),
        Kind::Required | Kind::List => "set it before, or give it a `default_context`".to_owned(),
    };
    let written = site.path.to_string();
    let near = near(&written, there.iter().map(String::as_str)).filter(|_| *never);
    let mut found = Diagnostic::new(code, path, site.span, message).help(near.map_or(guard, Near::question));
    // What is not spelled as the path, such as `user["name"]`, is not written anew.
    if let Some(near) = near.filter(|_| program.documents[site.document as usize].text.get(site.span.range()) == Some(&*written)) {
        found = found.rename_if(near.is_only, site.span, near.name);
    }
    for hop in hops {
        if let Some((path, span, text)) = describe(program, hop) {
            found = found.step(&path, span, text);
        }
    }
    for (path, span) in setters(program, &site.path).into_iter().take(SETTERS).filter(|_| !never) {
        found = found.label(&path, span, format!("sets `{}`, on other ways", site.path));
    }
    found
}

/// How many places are named that set a path.
const SETTERS: usize = 2;

/// Where a path, or what it stands in, is written, in file order.
fn setters(program: &Program, path: &KeyPath) -> BTreeSet<(crate::diagnostic::FilePath, Span)> {
    let sets = |write: &Write| match &write.to {
        Place::Path(written) | Place::Append(written) => path.segments().starts_with(written.segments()),
        Place::Absent(key) => key == path.root(),
        Place::Input | Place::Ans | Place::Error => false,
    };
    let points = program.points.iter().filter(|point| point.part == crate::program::Part::Body);
    let writes = points.flat_map(|point| {
        let node = program.node(point.node);
        let replies = program.replies(&point.replies).iter().flat_map(|reply| &reply.update);
        replies.chain(&node.entry.defaults).map(move |write| (node, write))
    });
    let found = writes.filter(|(_, write)| sets(write)).map(|(node, write)| (program.path_of(node).clone(), write.origin));
    found.collect()
}

fn open(program: &Program, candidate: &Candidate) -> Diagnostic {
    let Candidate { site, point, .. } = candidate;
    let node = program.node(program.point(*point).node);
    let path = &program.documents[site.document as usize].path;
    let message = format!("whether `{}` is set on every way to `{}` was not decided", site.path, node.id);
    Diagnostic::new(Code::NotDecided, path, site.span, message).help("guard it, or set it before, to be sure")
}

/// One hop, as its reason and where it leads.
fn describe(program: &Program, hop: &Hop) -> Option<(crate::diagnostic::FilePath, Span, String)> {
    let edge = &program.edges[hop.edge as usize];
    let reply = &program.replies[hop.on as usize];
    let to = match &edge.to {
        Target::Point(to) | Target::Proceed(to) => program.node(program.point(*to).node).id.to_string(),
        Target::Rollback => "rollback".to_owned(),
        Target::Again | Target::End(_) => return None,
    };
    let why = match (&edge.why, &reply.on) {
        (Why::Option(text), _) => format!("option \"{text}\""),
        (Why::Transition, _) if edge.when != Guard::Always => "a transition whose condition holds".to_owned(),
        (Why::OnError | Why::ErrorDefault, Outcome::Timeout) => "the call takes too long".to_owned(),
        (Why::OnError | Why::ErrorDefault, Outcome::Denied) => "the call is denied".to_owned(),
        (Why::OnError | Why::ErrorDefault, _) => "the call fails".to_owned(),
        (Why::OnDenied, Outcome::Answer) => "the answer is no".to_owned(),
        (Why::OnDenied, _) => "the call is denied".to_owned(),
        (Why::OnSignal | Why::SignalDefault, Outcome::Signal(name)) => format!("the signal `{name}`"),
        (Why::OnSignal, Outcome::Timeout) => "the call takes too long".to_owned(),
        (Why::SignalDefault, _) => "a signal".to_owned(),
        (Why::OnInvalid, _) => "too many invalid inputs".to_owned(),
        (Why::BeforeEach, _) => return None,
        _ => "goes on".to_owned(),
    };
    let origin = edge.origin?;
    Some((program.documents[origin.document as usize].path.clone(), origin.span, format!("{why} → {to}")))
}
