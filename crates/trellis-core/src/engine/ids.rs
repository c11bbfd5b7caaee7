//! Names of calls (language 7.8): the same on every platform and in every version, since hosts and the tools behind them keep them.

use crate::{
    id::{CallId, IdempotencyKey, NodeId, SessionId},
    state::CallRole,
};

/// The key of a call: of its session, node, the step that entered the node, its role and its tool.
pub(super) fn key(session: &SessionId, node: &NodeId, entered: u64, role: &CallRole, tool: &str) -> IdempotencyKey {
    let (role, number) = match role {
        CallRole::Do => ("do", 0),
        CallRole::Undo(number) => ("undo", *number),
        CallRole::BeforeEach => ("before_each", 0),
    };
    let hash = Hash::new().text(session.as_str()).text(node.as_str()).number(entered).text(role).number(number.into()).text(tool);
    IdempotencyKey::new(hash.hex())
}

/// The key of a call that belongs to another one: a branch by its name, an undo by what it undoes.
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

    #[test]
    fn the_hash_is_fnv_1a_and_keys_never_change() {
        assert_eq!(Hash::new().bytes(b"foobar").hex(), "343e1662793c64bf6f0d3597ba446f18");
        let key = key(&"s".into(), &"pay".into(), 3, &CallRole::Do, "charge");
        assert_eq!(key.as_str(), "bda7035ca8f15f7117ca75122c399d2c");
        assert_eq!(call(&key, 2).as_str(), "bda7035ca8f15f7117ca75122c399d2c-2");
    }

    #[test]
    fn each_part_of_a_key_matters() {
        let base = key(&"s".into(), &"pay".into(), 3, &CallRole::Do, "charge");
        let others = [
            key(&"sp".into(), &"ay".into(), 3, &CallRole::Do, "charge"),
            key(&"s".into(), &"pay".into(), 4, &CallRole::Do, "charge"),
            key(&"s".into(), &"pay".into(), 3, &CallRole::BeforeEach, "charge"),
            key(&"s".into(), &"pay".into(), 3, &CallRole::Undo(1), "charge"),
            key(&"s".into(), &"pay".into(), 3, &CallRole::Do, "refund"),
            below(&base, "branch", "a"),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
