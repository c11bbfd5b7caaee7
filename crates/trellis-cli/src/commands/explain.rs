//! `trellis explain CODE`: the page of a diagnostic code; without a code, all of them. `trellis explain language`: the language in short.

use std::fmt::Write as _;

use anyhow::bail;
use trellis_core::{Code, diagnostic::did_you_mean};

use crate::{
    Exit, markdown,
    report::title,
    terminal::{self, Look},
};

/// Explains a diagnostic code, or lists all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis explain                     all codes, by family
  trellis explain unknown-target      its meaning, an example, and how to fix it
  trellis explain language            the whole language in short, for programs that write graphs")]
pub(crate) struct Explain {
    /// The code in brackets after `error` or `warning`, or `language`
    code: Option<String>,
}

/// The name of the page that is about no code.
pub(crate) const LANGUAGE: &str = "language";

impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let text = match &self.code {
            Some(name) => page(name)?.to_owned(),
            None => list(),
        };
        let text = if terminal::is_styled() { markdown::drawn(&text, terminal::width(), Look::of_stdout()) } else { text };
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }
}

fn page(name: &str) -> anyhow::Result<&'static str> {
    if name == LANGUAGE {
        return Ok(include_str!("../../llms.txt"));
    }
    // As it stands on the terminal: `error[unknown-target]`.
    let bare = name.rsplit_once('[').map_or(name, |(_, code)| code.trim_end_matches([']', ':']));
    if let Some(code) = Code::named(&bare.to_ascii_lowercase()) {
        return Ok(code.page());
    }
    let help = did_you_mean(bare, Code::ALL.iter().map(|code| code.as_str()));
    bail!("there is no code `{bare}`\n{}", help.unwrap_or_else(|| "`trellis explain` lists them".to_owned()))
}

/// Lists all codes by family, each with the first line of its page.
fn list() -> String {
    let mut out = String::new();
    let mut family = "";
    for code in Code::ALL {
        if code.family() != family {
            family = code.family();
            let _ = write!(out, "{}## {family}\n\n", if out.is_empty() { "" } else { "\n" });
        }
        let _ = writeln!(out, "- `{code}`: {}", title(code.page()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_below_its_family() {
        let list = list();
        for code in Code::ALL {
            assert_eq!(list.matches(&format!("- `{code}`:")).count(), 1, "{code}");
        }
        assert_eq!(list.matches("## ").count(), 6);
    }

    #[test]
    fn a_misspelled_code_names_the_nearest() {
        let error = page("unkown-target").unwrap_err().to_string();
        assert!(error.ends_with("did you mean `unknown-target`?"), "{error}");
        assert!(page("error[unknown-target]:").is_ok());
    }

    #[test]
    fn a_title_is_the_first_paragraph() {
        assert_eq!(title("# unknown-target\n\nA target names\nno node.\n\nMore."), "A target names no node.");
    }
}
