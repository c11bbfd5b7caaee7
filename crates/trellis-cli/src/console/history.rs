//! The input history of this run, for the arrow keys.
//!
//! **Invariant:** no secret is added: the caller adds only lines that may be stored.

/// Number of stored lines.
const MAX_LINES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct History {
    lines: Vec<String>,
    /// The shown line, and the draft that it replaced.
    at: Option<(usize, String)>,
}

impl History {
    pub(super) fn add(&mut self, line: &str) {
        self.at = None;
        if line.trim().is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        if self.lines.len() > MAX_LINES {
            self.lines.remove(0);
        }
    }

    /// The line before the one that is shown.
    pub(super) fn older(&mut self, draft: &str) -> Option<String> {
        let (at, draft) = self.at.take().unwrap_or_else(|| (self.lines.len(), draft.to_owned()));
        let older = at.saturating_sub(1);
        let line = self.lines.get(older).cloned();
        self.at = line.is_some().then_some((older, draft));
        line
    }

    /// Returns the next line; after the last one, the draft.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        let Some(line) = self.lines.get(at + 1) else { return Some(draft) };
        self.at = Some((at + 1, draft));
        Some(line.clone())
    }

    /// A new question starts after the last line.
    pub(super) fn rewind(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_the_draft_after_them() {
        let mut history = History::default();
        assert_eq!((history.older("x"), history.newer()), (None, None));
        for line in ["one", "two", "two", " "] {
            history.add(line);
        }
        let older = |history: &mut History| history.older("draft").unwrap();
        assert_eq!([older(&mut history), older(&mut history), older(&mut history)], ["two", "one", "one"]);
        assert_eq!([history.newer(), history.newer(), history.newer()], [Some("two".into()), Some("draft".into()), None]);
    }
}
