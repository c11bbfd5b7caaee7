//! Names of traces and spans: derived from the journal, so that every process gives the same.

use trellis_core::{NodeId, SessionId, id::CallId};

use crate::hooks::Moment;

/// The trace of a session. Another session of the same name began at another time.
pub(super) fn trace(moment: &Moment) -> u128 {
    trace_of(&moment.session, moment.began)
}

/// Returns the trace of a session, from its name and the time at which it began.
pub(super) fn trace_of(session: &SessionId, began: u64) -> u128 {
    let hash = Hash::new().text("trace").text(session.as_str()).number(began);
    (u128::from(hash.half()) << 64) | u128::from(hash.text("low").half())
}

/// A session as one process saw it, from record `seq` on.
pub(super) fn session(trace: u128, seq: u64) -> u64 {
    Hash::of(trace).text("session").number(seq).half()
}

/// A visit of a node by a session, or by a child of it, by the step that entered it.
pub(super) fn visit(trace: u128, child: Option<&SessionId>, node: &NodeId, entered: u64) -> u64 {
    let visit = Hash::of(trace).text("visit").text(node.as_str()).number(entered);
    child.map_or(visit, |child| visit.text(child.as_str())).half()
}

/// An attempt of a call.
pub(super) fn call(trace: u128, call: &CallId) -> u64 {
    Hash::of(trace).text("call").text(call.as_str()).half()
}

/// FNV-1a over 64 bits, stirred at the end: which traces are taken for a sample is read off single bits. Written out because the result must never
/// change.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn of(trace: u128) -> Self {
        Self::new().bytes(&trace.to_le_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// A text and an end mark that no text contains.
    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Never 0, which names nothing.
    fn half(self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (bits ^ (bits >> 33)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(session: &str, began: u64) -> Moment {
        Moment { session: session.into(), child: None, seq: 0, at: 0, node: "a".into(), entered: 0, began, program: "p".into() }
    }

    #[test]
    fn names_never_change() {
        let trace = trace(&moment("ana", 1000));
        assert_eq!(format!("{trace:032x}"), "ad0e2db02a32487b66b279d91e7384d9");
        assert_eq!(format!("{:016x}", session(trace, 0)), "b3c95d96add3d9f1");
        assert_eq!(format!("{:016x}", visit(trace, None, &"a".into(), 0)), "7ccf1653dd97afbb");
        assert_eq!(format!("{:016x}", call(trace, &"k-1".into())), "7d4678073e416e40");
    }

    #[test]
    fn what_differs_has_another_name() {
        let one = trace(&moment("ana", 1000));
        for other in [trace(&moment("ana", 1001)), trace(&moment("bob", 1000))] {
            assert_ne!(one, other);
            assert_ne!(visit(one, None, &"a".into(), 0), visit(other, None, &"a".into(), 0));
        }
        let visits: std::collections::BTreeSet<_> = (0..1000).map(|step| visit(one, None, &"a".into(), step)).collect();
        assert_eq!(visits.len(), 1000);
        assert_ne!(visit(one, None, &"a".into(), 0), visit(one, Some(&"k-1".into()), &"a".into(), 0));
    }
}
