//! Path of a witness in words, edge by edge, and the places that assign a path.

use super::*;
use crate::source_lookup;
use trellis_syntax::condition::Condition;

impl Reporter<'_, '_> {
    /// Describes one edge: its document, its span, and why it is taken to which node. `None` for edges that no author wrote.
    pub(crate) fn describe(&self, hop: &Hop, saving: bool) -> Option<(FilePath, Span, String)> {
        let program = self.program;
        let edge = &program.edges[hop.edge.index()];
        let reply = &program.replies[hop.reply.index()];
        let to = match &edge.to {
            Target::Point(to) | Target::Proceed(to) => program.node(program.point(*to).node).id.to_string(),
            Target::Rollback => "rollback".to_owned(),
            Target::Again | Target::End(_) => return None,
        };
        let condition = || {
            let node = program.node(program.point(hop.point).node);
            source_lookup::condition(program, node, edge)
                .map(|condition| format!("`{}`", Condition::text_of(condition, program.text_of(node))))
        };
        let why = match (&edge.why, &reply.on) {
            (Provenance::Option(text), _) => format!("option \"{text}\""),
            (Provenance::Transition, _) if edge.when != Guard::Always => condition().unwrap_or_else(|| "a condition holds".to_owned()),
            (Provenance::OnError | Provenance::ErrorDefault, Outcome::Timeout) => "the call takes too long".to_owned(),
            (Provenance::OnError | Provenance::ErrorDefault, Outcome::Denied) => "the call is denied".to_owned(),
            (Provenance::OnError | Provenance::ErrorDefault, _) => "the call fails".to_owned(),
            (Provenance::OnDenied, Outcome::Answer) => "the answer is no".to_owned(),
            (Provenance::OnDenied, _) => "the call is denied".to_owned(),
            (Provenance::OnSignal | Provenance::SignalDefault, Outcome::Signal(name)) => format!("the signal `{name}`"),
            (Provenance::OnSignal, Outcome::Timeout) => "the call takes too long".to_owned(),
            (Provenance::SignalDefault, _) => "a signal".to_owned(),
            (Provenance::OnInvalid, _) => "too many invalid inputs".to_owned(),
            (Provenance::OnMaxVisits, _) => "it was entered too often".to_owned(),
            (Provenance::BeforeEach, _) => return None,
            (_, Outcome::Chosen(at)) => match &program.node(program.point(hop.point).node).role {
                Role::Listen(listen) => format!("option \"{}\"", listen.options[*at as usize].text.text()),
                Role::Act(_) | Role::Pass => "goes on".to_owned(),
            },
            _ => "goes on".to_owned(),
        };
        let origin = edge.origin?;
        let saves = reply.update.iter().any(|write| matches!(write.to, WriteTarget::Path(_) | WriteTarget::Append(_)));
        let nothing = if saving && !saves { ", saves nothing" } else { "" };
        Some((self.file(origin.document).clone(), origin.span, format!("{why} → {to}{nothing}")))
    }

    /// Returns the places that write a path or something above it, in file order: the point, and the path that is written.
    pub(crate) fn setters(&self, path: &KeyPath) -> BTreeSet<(FilePath, Span, PointIndex, KeyPath)> {
        let sets = |write: &Write| match &write.to {
            WriteTarget::Path(written) | WriteTarget::Append(written) if path.segments().starts_with(written.segments()) => {
                Some(written.clone())
            }
            WriteTarget::Absent(key) if key == path.root() => KeyPath::new(vec![Segment::Key(key.clone())]),
            _ => None,
        };
        let points = self.program.points.iter().filter(|point| point.part == Part::Body);
        let writes = points.flat_map(|point| {
            let node = self.program.node(point.node);
            let replies = self.program.replies(&point.replies).iter().flat_map(|reply| &reply.update);
            replies.chain(&node.entry.defaults).map(move |write| (node, write))
        });
        let found = writes.filter_map(|(node, write)| Some((self.program.path_of(node).clone(), write.origin, node.body, sets(write)?)));
        found.collect()
    }
}
