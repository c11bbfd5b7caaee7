//! Diagnostics about alarms that were neither witnessed nor refuted.

use super::*;

impl Reporter<'_, '_> {
    /// Reports a read of a key that nothing assigns, without a witness. Returns the path.
    pub(crate) fn name(&mut self, analysis: &mut Analysis<'_, '_>, alarm: &Alarm, found: &mut Vec<Diagnostic>) -> Option<KeyPath> {
        self.remember(alarm);
        let finding = self.finding(analysis, alarm, &WitnessDetails::default());
        found.push(finding);
        if let Violation::Missing(site) = alarm.violation { Some(self.ir.sites[site.index()].path.clone()) } else { None }
    }

    /// Reports an undecided alarm, or only counts it if there are too many.
    pub(crate) fn report_undecided(&mut self, analysis: &Analysis<'_, '_>, alarm: &Alarm, found: &mut Vec<Diagnostic>) {
        self.remember(alarm);
        self.open += 1;
        if self.open <= MAX_UNDECIDED_NAMED {
            let (document, span, message, help) = self.undecided(analysis, alarm);
            found.push(Diagnostic::new(Code::NotDecided, self.file(document), span, message).help(help));
        }
    }

    fn undecided(&self, analysis: &Analysis<'_, '_>, alarm: &Alarm) -> (u32, Span, String, String) {
        let (program, node) = (self.program, self.node(alarm));
        let id = &node.id;
        let (document, span, message, help) = match alarm.violation {
            Violation::Missing(at) | Violation::Truth(at) | Violation::Operand(at) => {
                let site = &self.ir.sites[at.index()];
                let name = site.name(program);
                let (message, help) = match alarm.violation {
                    Violation::Missing(_) if !site.inside().is_empty() => {
                        (format!("whether `{name}` is set for everything that can be in `{}` was not decided", site.path), GUARD)
                    }
                    Violation::Missing(_) => (format!("whether `{name}` is set on every path to `{id}` was not decided"), GUARD),
                    Violation::Truth(_) => (
                        format!("whether `{name}` is a boolean on every path to `{id}` was not decided"),
                        "compare it with a value, to be sure",
                    ),
                    _ if site.calculation().is_some() => {
                        (format!("whether `{name}` can be calculated on every path to `{id}` was not decided"), WRITE)
                    }
                    _ => (format!("whether `{name}` is of the right kind on every path to `{id}` was not decided"), WRITE),
                };
                (site.document, site.span(program), message, help)
            }
            Violation::NoMatch(on) => {
                let span = program
                    .edges_of(&program.replies[on.index()])
                    .first()
                    .and_then(|edge| edge.origin)
                    .map_or(node.span, |origin| origin.span);
                let message = format!("whether `{id}` has a transition for every value was not decided");
                (node.document, span, message, "add a transition that always holds, `to`, to be sure")
            }
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => match &self.ir.ops[op.index()] {
                Instr::Fit { node: of, index, .. } => {
                    let of = program.node(*of);
                    let key = of.entry.types.get(*index as usize).map_or("", |(key, _)| &**key);
                    let message = format!("whether `{key}` fits on every path to `{id}` was not decided");
                    (of.document, declared_at(program, of, key), message, WRITE)
                }
                Instr::Assert { node: of, index, .. } => {
                    let text = program.node(*of).entry.asserts.get(*index as usize).map_or("", |(_, text)| text);
                    let message = format!("whether `{text}` holds on every path to `{id}` was not decided");
                    (
                        node.document,
                        assert_span(program, *of, *index),
                        message,
                        "ask the same in the condition of the transition, to be sure",
                    )
                }
                Instr::Write { write, .. } => {
                    let path =
                        if let WriteTarget::Path(path) | WriteTarget::Append(path) = &write.to { path.to_string() } else { String::new() };
                    let message = format!("whether `{path}` can be written on every path was not decided");
                    (node.document, write.origin, message, "write to another key, or set what it stands in before, to be sure")
                }
                Instr::Args { call } => return self.open_argument(analysis, alarm, call),
                Instr::Read(_) | Instr::Ask { .. } | Instr::Undo { .. } => {
                    unreachable!("a read is missing something, or takes it for a truth")
                }
            },
        };
        (document, span, message, help.to_owned())
    }
}

const GUARD: &str = "guard it, or set it before, to be sure";
const WRITE: &str = "say more about what every path saves, or ask for less, to be sure";
