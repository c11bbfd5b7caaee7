//! Approvals by text (orchestrator 3.6).

/// A decision about a call that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Approve,
    /// It may not.
    Deny,
    /// It stays held.
    Defer,
    /// It may not, and what asked for it is stopped.
    Cancel,
}

/// A text that decides about a call, if one waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// The beginning of the id that it names.
    pub id: Option<String>,
}

/// The shortest beginning of an id that names it.
const MIN_ID_PREFIX: usize = 6;

/// Reads a text as a decision: one of its words, alone or with an id.
pub fn answer(text: &str) -> Option<Answer> {
    let text = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let mut words = text.split_whitespace();
    let decision = match words.next()? {
        "approve" | "yes" | "ok" | "승인" | "네" => Decision::Approve,
        "deny" | "no" | "거절" | "아니오" => Decision::Deny,
        "defer" | "later" | "보류" => Decision::Defer,
        "cancel" | "취소" => Decision::Cancel,
        _ => return None,
    };
    let id = words.next().map(|id| id.trim_matches('`').to_owned());
    let is_id = |id: &String| id.len() >= MIN_ID_PREFIX && id.chars().all(|char| char.is_ascii_hexdigit());
    (words.next().is_none() && id.as_ref().is_none_or(is_id)).then_some(Answer { decision, id })
}
