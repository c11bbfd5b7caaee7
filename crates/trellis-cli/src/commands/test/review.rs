//! `trellis test --review`: shows each block that differs and asks whether to accept it.
//!
//! **Invariant:** nothing is written before the last question.

use std::io::{BufRead as _, IsTerminal as _, stdin, stdout};

use anstyle::Style;
use anyhow::bail;
use trellis_project::sheet::Sheet;
use trellis_trial::wire::{Difference, Outcome};

use super::PlayedCase;
use crate::{diff::difference, report::printable, terminal};

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
    fn named(word: &str) -> Option<Self> {
        match word {
            "a" | "accept" => Some(Self::Accept),
            "r" | "reject" => Some(Self::Reject),
            "s" | "skip" => Some(Self::Skip),
            "q" | "quit" => Some(Self::Quit),
            _ => None,
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
    loop {
        terminal::print("accept, reject, skip or quit? ")?;
        let mut answer = String::new();
        if stdin().lock().read_line(&mut answer)? == 0 {
            terminal::print("\n")?;
            return Ok(Decision::Quit);
        }
        if let Some(decision) = Decision::named(&answer.trim().to_lowercase()) {
            return Ok(decision);
        }
        terminal::print("`a` writes it, `r` fails the case, `s` leaves it for later, `q` leaves all that follow\n")?;
    }
}
