//! Names of calls (language 7.8): the same on every platform and in every version, since hosts and the tools behind them store them.

use crate::{
    id::{CallId, IdempotencyKey, NodeId},
    state::{CallRole, State},
};

/// The key of a call: of its graph, where that has a name, its session, its node, the step that entered the node, its role and its tool.
pub(super) fn key(state: &State, node: &NodeId, role: &CallRole, tool: &str) -> IdempotencyKey {
    let (role, number) = match role {
        CallRole::Do => ("do", 0),
        CallRole::Undo(number) => ("undo", *number),
        CallRole::BeforeEach => ("before_each", 0),
    };
    let hash = state.graph.iter().fold(Hash::new(), |hash, graph| hash.text(GRAPH).text(graph));
    let hash = hash.text(state.session_id.as_str()).text(node.as_str()).number(state.entered);
    IdempotencyKey::new(hash.text(role).number(number.into()).text(tool).hex())
}

/// The prefix of the name of a graph: no session is named so.
const GRAPH: &str = "\u{0}graph";

/// Returns the key of a call that belongs to another one: a branch by its name, an undo by the call that it undoes.
pub(super) fn below(key: &IdempotencyKey, role: &str, name: &str) -> IdempotencyKey {
    IdempotencyKey::new(Hash::new().text(key.as_str()).text(role).text(name).hex())
}

/// The id of one attempt.
pub(super) fn call(key: &IdempotencyKey, attempt: u32) -> CallId {
    CallId::new(format!("{key}-{attempt}"))
}

/// FNV-1a over 128 bits, written out here because the result must never change.
struct Hash(u128);

impl Hash {
    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
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

    fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(graph: Option<&str>, session: &str, entered: u64) -> State {
        let graph = graph.map(|graph| format!(r#""graph":"{graph}","#)).unwrap_or_default();
        let json = format!(
            r#"{{"version":1,"session_id":"{session}",{graph}"program":"p","current_node_id":"pay","status":"active","attempt":1,"context":{{}},"system_context":{{}},"step":{entered},"entered":{entered}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn charge(state: &State) -> IdempotencyKey {
        key(state, &"pay".into(), &CallRole::Do, "charge")
    }

    #[test]
    fn the_hash_is_fnv_1a_and_keys_never_change() {
        assert_eq!(Hash::new().bytes(b"foobar").hex(), "343e1662793c64bf6f0d3597ba446f18");
        let unnamed = charge(&state(None, "s", 3));
        assert_eq!(unnamed.as_str(), "bda7035ca8f15f7117ca75122c399d2c", "a session begun before graphs were told apart");
        assert_eq!(call(&unnamed, 2).as_str(), "bda7035ca8f15f7117ca75122c399d2c-2");
        assert_eq!(charge(&state(Some("shop"), "s", 3)).as_str(), "7b15182d1c39d16fff6372c573fb7186");
    }

    #[test]
    fn each_part_of_a_key_matters() {
        let here = state(Some("shop"), "s", 3);
        let base = charge(&here);
        let others = [
            charge(&state(None, "s", 3)),
            charge(&state(Some("shops"), "", 3)),
            key(&state(Some("shop"), "sp", 3), &"ay".into(), &CallRole::Do, "charge"),
            charge(&state(Some("shop"), "s", 4)),
            key(&here, &"pay".into(), &CallRole::BeforeEach, "charge"),
            key(&here, &"pay".into(), &CallRole::Undo(1), "charge"),
            key(&here, &"pay".into(), &CallRole::Do, "refund"),
            below(&base, "branch", "a"),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
