//! The titles of the cases of a sheet, and what comes after what: a title that means two cases, and a circle, are mistakes of the whole sheet.

use std::collections::HashMap;

use trellis_core::transcript::{AuthorLine, read::read};

use super::{BlockKind, Case, Expected, Sheet, SheetError};

/// Returns the title of the case that a transcript comes after, if its author names one by `$ after`, and the line that does.
pub(super) fn after(block: &Expected) -> Option<(usize, String)> {
    let begins = lines(block).filter(|(_, text)| text.starts_with('$'));
    let mut named = begins.filter_map(|(line, text)| match read(text) {
        Ok(AuthorLine::Begin(what, title)) if what == "after" => Some((line, title)),
        _ => None,
    });
    named.next()
}

/// The lines of a block with their numbers in the sheet.
pub(super) fn lines(block: &Expected) -> impl Iterator<Item = (usize, &str)> {
    block.text.lines().enumerate().map(|(at, text)| (block.line + 1 + at, text))
}

impl Sheet {
    /// Returns the case that a block of a case comes after, with the transcript that is replayed first; `None` for one that begins by itself.
    ///
    /// # Errors
    /// There is no such case, or none that can be replayed.
    pub fn before(&self, case: &Case, block: &Expected) -> Result<Option<(&Case, &Expected)>, SheetError> {
        let Some((line, title)) = after(block) else { return Ok(None) };
        let error = |message| SheetError { line, message };
        let next = self.cases.iter().find(|other| other.title.rsplit(" › ").next() == Some(&title) || other.title == title);
        let next = next.ok_or_else(|| error(format!("no case of this sheet is named `{title}`")))?;
        if next.changes_graph && next.line != case.line && !case.changes_graph {
            return Err(error(format!("`{title}` has files of its own: give them above both cases")));
        }
        let before = next.of(BlockKind::Transcript).next().ok_or_else(|| error(format!("`{title}` has no transcript")))?;
        Ok(Some((next, before)))
    }

    /// Returns the mistake in what its cases say of each other, because of which none of them is played: two have one title, so that an id would
    /// mean both, or one comes after itself.
    pub fn mistake(&self) -> Option<SheetError> {
        self.repeated().or_else(|| self.circle())
    }

    /// Returns the second one of two cases with one title.
    fn repeated(&self) -> Option<SheetError> {
        let mut titles: Vec<_> = self.cases.iter().map(|case| (&*case.title, case.line)).collect();
        titles.sort_unstable();
        let twice = titles.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
        Some(SheetError { line: twice[1].1, message: format!("two cases are named `{}`", twice[1].0) })
    }

    /// Returns a case that `$ after` leads back to.
    fn circle(&self) -> Option<SheetError> {
        let mut named: HashMap<&str, usize> = HashMap::new();
        for (at, case) in self.cases.iter().enumerate() {
            named.entry(case.title.rsplit(" › ").next().unwrap_or_default()).or_insert(at);
            named.entry(&case.title).or_insert(at);
        }
        let before = |block: &Expected| after(block).and_then(|(line, title)| Some((*named.get(&*title)?, line, title)));
        // What is replayed of a case is its first transcript.
        let replayed: Vec<_> = self.cases.iter().map(|case| case.of(BlockKind::Transcript).next().and_then(before)).collect();
        let mut is_done = vec![false; self.cases.len()];
        for (at, case) in self.cases.iter().enumerate() {
            for block in case.of(BlockKind::Transcript) {
                let (mut chain, mut next) = (vec![at], before(block));
                while let Some((found, line, title)) = next.take() {
                    if chain.contains(&found) {
                        return Some(SheetError { line, message: format!("`$ after {title}` leads back to the case itself") });
                    }
                    if !is_done[found] {
                        chain.push(found);
                        next.clone_from(&replayed[found]);
                    }
                }
                // The chain of a later block begins at its own case, which the first one alone is replayed of.
                chain[1..].iter().for_each(|&passed| is_done[passed] = true);
            }
        }
        None
    }
}
