//! `trellis test --review`: shows each block that differs and asks whether to accept it.
//!
//! **Invariant:** nothing is written before the last question.

use std::io::{IsTerminal as _, stdin, stdout};

use anstyle::Style;
use anyhow::bail;
use trellis_project::sheet::Sheet;
use trellis_trial::wire::{Difference, Outcome};

use super::PlayedCase;
use crate::{diff::difference, report::printable, terminal, watch::on_interrupt};

/// The line that a rejected difference gets in place of one that was compared.
const REJECTED: &str = "this difference was rejected";

/// The decision about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// It is written.
    Accept,
    /// It is wrong: the case fails.
    Reject,
    /// It is left for later.
    Skip,
    /// It is left for later, and so are all after it.
    Quit,
}

impl Decision {
    fn of(key: u8) -> Option<Self> {
        match key.to_ascii_lowercase() {
            b'a' => Some(Self::Accept),
            b'r' => Some(Self::Reject),
            b's' => Some(Self::Skip),
            // Ctrl-D, too.
            b'q' | 0x04 => Some(Self::Quit),
            _ => None,
        }
    }

    /// The word that stands behind the question once it is answered.
    fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Skip => "skip",
            Self::Quit => "quit",
        }
    }
}

/// Returns an error if no person can answer.
///
/// # Errors
/// Standard input or output is no terminal.
pub(super) fn expect_terminal() -> anyhow::Result<()> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        bail!("`--review` asks at a terminal, and there is none\nuse `trellis test --update`, and review the difference of the files");
    }
    Ok(())
}

/// Asks about each block that would be written, and leaves out those that are not accepted. Returns whether the user quit.
///
/// # Errors
/// The terminal fails.
pub(super) fn decide(verdicts: &mut [PlayedCase<'_>], shown: impl Fn(&Sheet) -> String, has_quit: bool) -> anyhow::Result<bool> {
    let mut has_quit = has_quit;
    for (sheet, case, verdict, _) in verdicts {
        let (mut accepted, mut left) = (Vec::new(), None);
        for (range, new) in std::mem::take(&mut verdict.edits) {
            let line = sheet.text[..range.start].matches('\n').count();
            let decision = if has_quit {
                Decision::Skip
            } else {
                let mut after = sheet.text.clone();
                after.replace_range(range.clone(), &new);
                ask(&case.title, &difference(&shown(sheet), &sheet.text, &after))?
            };
            has_quit |= decision == Decision::Quit;
            match decision {
                Decision::Accept => accepted.push((range, new)),
                Decision::Reject => left = Some((Outcome::Failed, line)),
                Decision::Skip | Decision::Quit => left = left.or(Some((Outcome::Skipped, line))),
            }
        }
        verdict.edits = accepted;
        if let Some((outcome, line)) = left {
            verdict.outcome = outcome;
            if outcome == Outcome::Failed {
                let mut difference = Difference::default();
                (difference.line, difference.message) = (line, Some(REJECTED.to_owned()));
                verdict.difference = Some(difference);
            }
        }
    }
    Ok(has_quit)
}

/// Shows a difference until the user decides; the end of the input is a decision too.
fn ask(title: &str, difference: &str) -> anyhow::Result<Decision> {
    let bold = Style::new().bold();
    terminal::print(&format!("\n{bold}{}{bold:#}\n{difference}", printable(title)))?;
    terminal::print("a accept, r reject, s skip, q quit? ")?;
    let decision = pressed()?.unwrap_or(Decision::Quit);
    terminal::print(&format!("{}\n", decision.word()))?;
    Ok(decision)
}

/// Takes keys as they are pressed until one is a decision.
#[cfg(unix)]
fn pressed() -> anyhow::Result<Option<Decision>> {
    terminal::begin_keys()?;
    let mut decision = None;
    super::keys::read(|key| {
        decision = Decision::of(key);
        decision.is_none()
    });
    terminal::end_keys();
    Ok(decision)
}

/// Takes lines until one begins with a decision: elsewhere a terminal hands on only whole lines.
#[cfg(not(unix))]
fn pressed() -> anyhow::Result<Option<Decision>> {
    loop {
        let mut line = String::new();
        if stdin().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if let Some(decision) = line.trim().bytes().next().and_then(Decision::of) {
            return Ok(Some(decision));
        }
    }
}

/// Ends the program on an interrupt, with the terminal as it was found.
///
/// # Errors
/// The system gives no thread.
pub(super) fn end_on_interrupt() -> anyhow::Result<()> {
    on_interrupt(|| {
        terminal::end_keys();
        let _ = terminal::print("\n");
        std::process::exit(130);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_decides_or_means_nothing() {
        let decisions = [Decision::Accept, Decision::Reject, Decision::Skip, Decision::Quit];
        assert_eq!([b'a', b'R', b's', 0x04].map(Decision::of), decisions.map(Some));
        assert_eq!([b'x', b'\r', 0x1b].map(Decision::of), [None; 3]);
    }
}
