//! Names of calls (language 7.8): the same on every platform and in every version, since hosts and the tools behind them store them.
//!
//! A session whose start has a random number derives its keys with SHA-256 from that number and the names: nobody without the number learns or
//! tests a name by them. One without it, as sessions were begun before, derives them from the names alone.

use sha2::{Digest, Sha256};

use crate::state::{CallRole, State};
use trellis_base::id::{CallId, IdempotencyKey, KeySeed, NodeId};

/// The key of a call: of the number of its start, its graph, where that has a name, its session, its node, the step that entered the node, its role
/// and its tool.
pub(super) fn key(state: &State, node: &NodeId, role: &CallRole, tool: &str) -> IdempotencyKey {
    let (role, number) = match role {
        CallRole::Do => ("do", 0),
        CallRole::Undo(number) => ("undo", *number),
        CallRole::BeforeEach => ("before_each", 0),
    };
    let words = state.graph.iter().fold(Words::default(), |words, graph| words.text(GRAPH).text(graph));
    let words = words.text(state.session_id.as_str()).text(node.as_str()).number(state.entered);
    words.text(role).number(number.into()).text(tool).key(state.seed.as_ref())
}

/// The prefix of the name of a graph: no session is named so.
const GRAPH: &str = "\u{0}graph";

/// Returns the key of a call that belongs to another one: a branch by its name, an undo by the call that it undoes.
pub(super) fn below(state: &State, key: &IdempotencyKey, role: &str, name: &str) -> IdempotencyKey {
    Words::default().text(key.as_str()).text(role).text(name).key(state.seed.as_ref())
}

/// Returns the key of an item of a call. It names nothing but its place, so it needs no number of a start beside the key.
pub(super) fn item(key: &IdempotencyKey, at: u32) -> IdempotencyKey {
    Words::default().text(key.as_str()).text("item").text(&at.to_string()).key(None)
}

/// Returns the key of a question to a tool that no call of the graph asks, such as whether a predicate holds; `question` names it within its session.
pub fn question_key(seed: &KeySeed, question: &str) -> IdempotencyKey {
    Words::default().text(QUESTION).text(question).key(Some(seed))
}

/// The prefix of the name of a question: no session is named so.
const QUESTION: &str = "\u{0}question";

/// The id of one attempt.
pub(super) fn call(key: &IdempotencyKey, attempt: u32) -> CallId {
    CallId::new(format!("{key}-{attempt}"))
}

/// The parts of a key, each so that its end is known.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    /// A text and an end mark that no text contains.
    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().chain([0xff]));
        self
    }

    fn number(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Returns the key: 128 bits in hexadecimal digits.
    fn key(self, seed: Option<&KeySeed>) -> IdempotencyKey {
        let digest = match seed {
            None => fnv_1a(&self.0),
            Some(seed) => {
                let digest = Sha256::new().chain_update(seed.as_str()).chain_update([0xff]).chain_update(&self.0).finalize();
                digest.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
            }
        };
        IdempotencyKey::new(format!("{digest:032x}"))
    }
}

/// FNV-1a over 128 bits, written out here because the result must never change.
fn fnv_1a(bytes: &[u8]) -> u128 {
    let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
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
        assert_eq!(format!("{:032x}", fnv_1a(b"foobar")), "343e1662793c64bf6f0d3597ba446f18");
        let unnamed = charge(&state(None, "s", 3));
        assert_eq!(unnamed.as_str(), "bda7035ca8f15f7117ca75122c399d2c", "a session begun before graphs were told apart");
        assert_eq!(call(&unnamed, 2).as_str(), "bda7035ca8f15f7117ca75122c399d2c-2");
        assert_eq!(charge(&state(Some("shop"), "s", 3)).as_str(), "7b15182d1c39d16fff6372c573fb7186");
    }

    fn state_of(seed: &str) -> State {
        State { seed: Some(seed.into()), ..state(Some("shop"), "s", 3) }
    }

    #[test]
    fn keys_of_two_starts_differ_and_never_change() {
        let (one, other) = (state_of("9f86d081884c7d65"), state_of("9f86d081884c7d66"));
        let whole = charge(&one);
        assert_eq!(whole.as_str(), "756c0d066c2c3bbaa458c79061611c29");
        assert_eq!(below(&one, &whole, "undo", "refund").as_str(), "3d499e79ea7888abf1e03aef36681488");
        assert_ne!(whole, charge(&other));
        assert_ne!(
            below(&one, &whole, "undo", "refund"),
            below(&other, &whole, "undo", "refund"),
            "nobody tests a name without the number"
        );
        assert_ne!(item(&whole, 0), item(&whole, 1));
        assert_ne!(question_key(&KeySeed::from("9f"), "is_open@1"), question_key(&KeySeed::from("9e"), "is_open@1"));
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
            below(&here, &base, "branch", "a"),
            item(&base, 0),
            charge(&state_of("9f")),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
