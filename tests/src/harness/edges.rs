//! Every edge of a program beside the line that wrote it: `node outcome guard → target  (why) path:line "line"`.

use std::fmt::Write as _;

use trellis_core::{
    Program,
    program::{Edge, Guard, Operand, OutEdge, Outcome, Part, PointIndex, Provenance, Reason, Target, Write, WriteTarget},
    span::LineIndex,
};

use super::diagnostics::Texts;

/// The edge list, of all nodes or of those named, in the order in which the engine tries it.
pub fn print(program: &Program, texts: &Texts, nodes: &[String]) -> String {
    let mut out = String::new();
    for (at, point) in (0_u32..).zip(program.points()) {
        let id = program.node(point.node).id.as_str();
        if nodes.is_empty() || nodes.iter().any(|node| node == id) {
            let from = name(program, PointIndex(at));
            for way in program.out_edges(PointIndex(at)) {
                line(&mut out, program, texts, &from, way);
            }
        }
    }
    for (at, graph) in (0_u32..).zip(program.graphs()) {
        let from = if graph.root.is_empty() { "graph".to_owned() } else { format!("graph {}", graph.root) };
        for way in program.edges_after_rollback(at).filter(|_| nodes.is_empty() || nodes.contains(&from)) {
            line(&mut out, program, texts, &from, way);
        }
    }
    out
}

/// One way out.
fn line(out: &mut String, program: &Program, texts: &Texts, from: &str, way: OutEdge<'_>) {
    let writes = way.reply.update.iter().map(write).collect::<Vec<_>>().join(", ");
    let writes = if writes.is_empty() { writes } else { format!(" [{writes}]") };
    let _ = write!(out, "{from} {}{writes} {} → {}", outcome(&way.reply.on), guard(program, &way.edge.when), target(program, &way.edge.to));
    let _ = writeln!(out, "  ({}){}", why(&way.edge.why), source(program, texts, way.edge));
}

/// A point: its node, with `.gate` for `before_each`.
pub fn name(program: &Program, point: PointIndex) -> String {
    let point = program.point(point);
    let id = program.node(point.node).id.as_str();
    if point.part == Part::Gate { format!("{id}.gate") } else { id.to_owned() }
}

/// An outcome in words.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass => "pass".into(),
        Outcome::Answer => "answer".into(),
        Outcome::Chosen(at) => format!("option {}", at + 1),
        Outcome::Invalid => "invalid".into(),
        Outcome::Success => "success".into(),
        Outcome::Error => "error".into(),
        Outcome::Timeout => "timeout".into(),
        Outcome::Denied => "denied".into(),
        Outcome::Signal(signal) => format!("signal {signal}"),
        Outcome::AnySignal => "signal *".into(),
        Outcome::Exhausted => "exhausted".into(),
        Outcome::RolledBack => "unwound".into(),
    }
}

/// A guard as an author would write it.
pub fn guard(program: &Program, guard: &Guard) -> String {
    let path = |operand: &Operand| operand.path.to_string();
    let not = |holds: &bool| if *holds { "" } else { "not " };
    match guard {
        Guard::Always => "always".into(),
        Guard::Is(operand, holds, value) => format!("{} {} {}", path(operand), if *holds { "==" } else { "!=" }, value.to_json()),
        Guard::In(operand, holds, values) => {
            let values = values.iter().map(trellis_core::Value::to_json).collect::<Vec<_>>().join(", ");
            format!("{}{} in [{values}]", not(holds), path(operand))
        }
        Guard::Truth(operand, holds) => format!("{}{}", not(holds), path(operand)),
        Guard::Set(operand, holds) => format!("{} is {}set", path(operand), not(holds)),
        Guard::Empty(operand, holds) => format!("{} is {}empty", path(operand), not(holds)),
        Guard::Predicate(index, holds) => format!("{}{}()", not(holds), program.predicates()[*index as usize].name),
        Guard::Attempts(most) => format!("attempt < {most}"),
    }
}

/// A target in words.
fn target(program: &Program, target: &Target) -> String {
    match target {
        Target::Point(point) => name(program, *point),
        Target::Proceed(point) => format!("{} (entered)", name(program, *point)),
        Target::Again => "again".into(),
        Target::Rollback => "rollback".into(),
        Target::End(Reason::Finished) => "end finished".into(),
        Target::End(Reason::Denied) => "end denied".into(),
        Target::End(Reason::RolledBack) => "end rolled_back".into(),
        Target::End(Reason::Failed(failure)) => format!("end failed {}", failure.as_str()),
    }
}

/// Returns a write before the guards, as text.
fn write(write: &Write) -> String {
    match &write.to {
        WriteTarget::Input => "input".into(),
        WriteTarget::Ans => "sys.ans".into(),
        WriteTarget::Error => "sys.error".into(),
        WriteTarget::Path(path) => path.to_string(),
        WriteTarget::Append(path) => format!("{path}[]"),
        WriteTarget::Absent(key) => format!("{key}?"),
    }
}

/// Returns the key that wrote the edge.
fn why(why: &Provenance) -> String {
    match why {
        Provenance::Option(text) => format!("option {text:?}"),
        Provenance::Transition => "transition".into(),
        Provenance::To => "to".into(),
        Provenance::OnError => "on_error".into(),
        Provenance::OnDenied => "on_denied".into(),
        Provenance::OnSignal => "on_signal".into(),
        Provenance::OnMaxVisits => "on_max_visits".into(),
        Provenance::OnInvalid => "on_invalid".into(),
        Provenance::SignalDefault => "on_signal_default".into(),
        Provenance::ErrorDefault => "graph on_error".into(),
        Provenance::OnRolledBack => "on_rolled_back".into(),
        Provenance::Retry => "retry".into(),
        Provenance::BeforeEach => "before_each".into(),
        Provenance::Terminal => "terminal".into(),
        Provenance::Rule => "rule".into(),
    }
}

/// The line that wrote an edge.
fn source(program: &Program, texts: &Texts, edge: &Edge) -> String {
    let Some(origin) = edge.origin else { return String::new() };
    let path = &program.documents()[origin.document as usize].path;
    let index = LineIndex::new(texts.get(path).map_or("", |text| text));
    let at = index.locate(origin.span.start).line;
    format!(" {path}:{at} {:?}", index.line(at).trim())
}
