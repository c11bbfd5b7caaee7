//! Checks that the command line adds to those of a graph: `--host`, `--reach`, `--strict`, `--deny`.
//!
//! In: a checked graph. Out: the same graph with additional findings, or findings of a higher severity.

use std::path::Path;

use anyhow::Context as _;
use trellis_core::{
    Code, Diagnostic, Program,
    compile::{UncheckedRead, apply_severities},
    diagnostic::{Severity, did_you_mean},
};
use trellis_host::{
    Bindings,
    binding::{Host, check_bindings, check_files, check_names},
};

use crate::{report::Checked, store_config::secrets, unknown_secrets::unknown_secrets};

/// The demands of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckPolicy {
    /// True if every tool has to be carried out here.
    pub(crate) host: bool,
    /// True if bindings connect to their services.
    pub(crate) reach: bool,
    /// True if it is asked again at each save.
    pub(crate) watch: bool,
    /// True if every read has to be proved.
    pub(crate) strict: bool,
    /// Findings that are errors.
    pub(crate) deny: Vec<Denied>,
}

/// The findings that count as errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Every warning.
    Warnings,
    /// Every finding of a code.
    Code(Code),
}

impl Denied {
    /// Reads one word of `--deny`.
    ///
    /// # Errors
    /// There is no such code; the message suggests a similar one.
    pub(crate) fn named(word: &str) -> Result<Self, String> {
        if word == "warnings" {
            return Ok(Self::Warnings);
        }
        Code::named(word).map(Self::Code).ok_or_else(|| {
            let words = Code::ALL.iter().map(|code| code.as_str()).chain(["warnings"]);
            let help = did_you_mean(word, words).unwrap_or_else(|| "`trellis explain` lists the codes".to_owned());
            format!("there is no code `{word}`, {help}")
        })
    }

    fn means(self, found: &Diagnostic) -> bool {
        match self {
            Self::Warnings => found.severity == Severity::Warning,
            Self::Code(code) => found.code == code,
        }
    }
}

impl CheckPolicy {
    /// Adds what a run would refuse of the bindings, what the host cannot carry out and what is not proved, and says what is an error. `program` is
    /// there if the graph compiles, `folder` is where its relative paths begin.
    ///
    /// # Errors
    /// The system gives nothing to connect with.
    pub(crate) fn apply(&self, checked: &mut Checked, program: Option<&Program>, folder: &Path) -> anyhow::Result<()> {
        let mut late = check_bindings(&checked.documents);
        late.extend(check_names(&checked.documents));
        let mut files = check_files(&checked.documents, folder);
        late.append(&mut files.diagnostics);
        if let Some(program) = program.filter(|_| self.host) {
            let host = Host::new().secrets(secrets(folder));
            let (bindings, _) = Bindings::new(program, folder, &host);
            late.extend(bindings.unbound_tools(program, Severity::Error));
            late.extend(unknown_secrets(program, &secrets(folder)));
            // A watch looks at the files of graphs, so it would not hear of a command that came or went.
            late.extend(bindings.obstacles_beside(program, &files).into_iter().filter(|_| !self.watch));
            if self.reach {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("nothing can be connected to")?;
                late.extend(runtime.block_on(async {
                    let found = bindings.reach(program).await;
                    host.close().await;
                    found
                }));
                // Whatever still looks up a name is not waited for.
                runtime.shutdown_background();
            }
        }
        if self.strict {
            late.extend(checked.unchecked.iter().map(UncheckedRead::finding));
            // An undecided finding means that nothing is proved.
            for found in checked.diagnostics.iter_mut().filter(|found| found.code == Code::NotDecided) {
                found.severity = Severity::Error;
            }
        }
        apply_severities(&checked.documents, &mut late);
        checked.diagnostics.extend(late);
        checked.documents.extend(files.sources);
        for found in &mut checked.diagnostics {
            if self.deny.iter().any(|denied| denied.means(found)) {
                found.severity = Severity::Error;
            }
        }
        checked.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_code_names_the_nearest() {
        assert_eq!(Denied::named("warnings"), Ok(Denied::Warnings));
        assert_eq!(Denied::named("broken-link"), Ok(Denied::Code(Code::BrokenLink)));
        assert_eq!(Denied::named("brokn-link").unwrap_err(), "there is no code `brokn-link`, did you mean `broken-link`?");
        assert_eq!(Denied::named("warning").unwrap_err(), "there is no code `warning`, did you mean `warnings`?");
        assert_eq!(Denied::named("").unwrap_err(), "there is no code ``, `trellis explain` lists the codes");
    }
}
