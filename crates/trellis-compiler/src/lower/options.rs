//! Options with writes of their own: each is an outcome of its own, beside the answer that all others are (language 6.4).
//!
//! **Invariant:** edges of the answer precede those of such options in the list, and replies that share edges of it precede the others.

use super::{
    Here, Lowering,
    edges::{MainEdges, assigned},
};
use trellis_engine::program::{Edge, Guard, Listen, Outcome, Provenance, Reply, Write, WriteSource, WriteTarget};
use trellis_syntax::node::{NodeSyntax, OptionWrites};

impl Lowering<'_> {
    /// The replies to a valid input; `writes` are those of the node alone.
    pub(super) fn answers(&mut self, here: Here<'_>, node: &NodeSyntax, listen: &Listen, main: &MainEdges, writes: Vec<Write>) {
        let end = self.next_edge();
        let chosen: Vec<_> = (0..).zip(node.options()).filter_map(|(at, option)| Some((at, option, option.writes.as_deref()?))).collect();
        let of_options: Vec<_> = chosen.iter().map(|(.., own)| after(&writes, own)).collect();
        // If every input is such an option, there is no other answer.
        if !listen.closed || listen.others().next().is_some() {
            self.replies.push(Reply { on: Outcome::Answer, update: writes.into(), edges: main.start..end });
        }
        for ((at, option, _), update) in chosen.iter().zip(&of_options) {
            if option.target.is_none() {
                let edges = main.after_options..end;
                self.replies.push(Reply { on: Outcome::Chosen(*at), update: update.clone().into(), edges });
            }
        }
        for ((at, option, _), update) in chosen.iter().zip(of_options) {
            if let Some(target) = &option.target {
                let edge: Edge = self.edge(here, Guard::Always, target, Provenance::Option(option.text.value.shared_text()));
                self.reply(Outcome::Chosen(*at), update, [edge]);
            }
        }
    }
}

/// Returns the writes of a node with those of an option: its `save_to` replaces the node's, the others come after them.
fn after(writes: &[Write], own: &OptionWrites) -> Vec<Write> {
    let is_saved = |write: &&Write| matches!((&write.to, &write.value), (WriteTarget::Path(_), WriteSource::Input));
    let saved =
        own.save_to.as_ref().map(|to| Write { to: WriteTarget::Path(to.value.clone()), value: WriteSource::Input, origin: to.span });
    let (ans, rest) = writes.split_at(writes.iter().take_while(|write| write.to == WriteTarget::Ans).count());
    let rest = rest.iter().filter(|write| saved.is_none() || !is_saved(write)).cloned();
    ans.iter().cloned().chain(saved.clone()).chain(rest).chain(assigned(&own.set, &own.append)).collect()
}
