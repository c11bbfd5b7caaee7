//! Reloads a running graph: each save yields a program that this host can run, or its findings.
//!
//! **Invariant:** only programs that this host can run are handed on; one that it cannot run counts as one that does not compile.

use std::{path::PathBuf, thread};

use tokio::sync::mpsc;
use trellis_host::{
    assembly::{self, Assembled, LiveGraph, Runnable},
    runner::{self, Findings},
    wire,
};
use trellis_project::{Status, Version};

use super::{millis, warn_of_polling};
use crate::{
    assemble::{RunMode, checked, runnable},
    open::Place,
    report::{self, Checked, printable},
    terminal::{self, Width},
};

/// The number of edits that may wait to be taken; the last one counts.
const WAITING: usize = 16;

/// A graph, its edits, and the mode in which it runs.
pub(crate) struct Following {
    graph: LiveGraph,
    place: Place,
    terms: RunMode,
}

/// The outcome of an edit.
#[derive(Clone)]
pub(crate) enum Reload {
    /// It can be run; with further findings, in one line.
    Sound(Box<Runnable>, Option<String>),
    /// It cannot be run; the version of `since` stays in use, in milliseconds since 1970.
    Broken { findings: Findings, since: u64 },
}

impl From<Reload> for runner::Edit {
    fn from(news: Reload) -> Self {
        match news {
            Reload::Sound(ready, script_note) => {
                let Runnable { engine, bindings, .. } = *ready;
                Self::Sound { engine, bindings: Box::new(bindings), script_note }
            }
            Reload::Broken { findings, since } => Self::Broken { findings, since },
        }
    }
}

impl Following {
    /// Loads the graph at a place, and watches it from then on; without the system's help if it is to `poll`.
    ///
    /// # Errors
    /// There is no graph.
    pub(crate) fn open(place: &Place, terms: RunMode, poll: bool) -> anyhow::Result<Self> {
        let assembly = terms.assembly(place.folder());
        let graph = if poll { LiveGraph::polling(&place.path, assembly)? } else { LiveGraph::open(&place.path, assembly)? };
        warn_of_polling(graph.trouble());
        Ok(Self { graph, place: place.clone(), terms })
    }

    /// Waits for the first version that can be run, and returns its findings; shows the errors until then.
    ///
    /// # Errors
    /// Standard output fails.
    pub(crate) fn first(&mut self) -> anyhow::Result<(Runnable, Checked)> {
        let mut assembled = Some(self.graph.assemble());
        loop {
            if let Some(assembled) = assembled.take() {
                match self.prepared(self.graph.live().version(), assembled) {
                    Ok(first) => return Ok(first),
                    Err(findings) => self.refuse(&findings)?,
                }
            }
            let Some(reload) = self.graph.next() else { continue };
            if let Status::Gone { error, .. } = &reload.edit.status {
                terminal::print_error(&format!("error: {}\n", printable(error)));
            }
            assembled = reload.assembled;
        }
    }

    /// Tells edits from now on, on a thread of its own.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn tell(mut self) -> anyhow::Result<mpsc::Receiver<Reload>> {
        let (sender, news) = mpsc::channel(WAITING);
        thread::Builder::new().name("edits".to_owned()).spawn(move || {
            while let Some(reload) = self.graph.next() {
                let news = self.news(reload);
                if sender.blocking_send(news).is_err() {
                    return;
                }
            }
        })?;
        Ok(news)
    }

    fn news(&self, reload: assembly::Reload) -> Reload {
        let prepared = match (reload.assembled, &reload.edit.status) {
            (Some(assembled), _) => self.prepared(&reload.edit.version, assembled),
            (None, Status::Gone { error, .. }) => Err(self.findings(&[], std::slice::from_ref(error))),
            (None, _) => Err(self.findings(&[], &[])),
        };
        match prepared {
            Ok((ready, _)) => Reload::Sound(Box::new(ready), self.script_note(&reload.edit.scripts)),
            Err(findings) => Reload::Broken { findings, since: millis(reload.since) },
        }
    }

    /// Names the scripts that are others now.
    fn script_note(&self, scripts: &[PathBuf]) -> Option<String> {
        let root = self.graph.live().root();
        let below = |script: &PathBuf| script.strip_prefix(&root).unwrap_or(script).to_string_lossy().into_owned();
        let names = scripts.iter().map(|script| format!("`{}`", printable(&below(script)))).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{names} changed"))
    }

    /// A version that can be run here, with everything that was found; or why it cannot.
    fn prepared(&self, version: &Version, assembled: Assembled) -> Result<(Runnable, Checked), Findings> {
        let mut checked = checked(version, &self.place);
        checked.diagnostics.extend(assembled.findings);
        checked.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        match runnable(assembled.runnable) {
            Ok(Some(ready)) => Ok((ready, checked)),
            Ok(None) => Err(self.findings(&[checked], &version.problems)),
            Err(error) => Err(self.findings(&[checked], &[format!("{error:#}")])),
        }
    }

    fn findings(&self, checked: &[Checked], problems: &[String]) -> Findings {
        let script_note = problems.iter().flat_map(|problem| problem.lines().map(|line| format!("error: {}\n", printable(line))));
        let script_note = script_note.collect::<String>();
        let drawn = report::human(checked, Width::of(&std::io::stdout()));
        if self.terms.json {
            // Text that is no diagnostic has no place in the line.
            terminal::print_error(&script_note);
        }
        Findings { text: terminal::adapted(format!("{script_note}{drawn}")), json: report::diagnostics(checked) }
    }

    /// Shows why there is nothing to run yet.
    fn refuse(&self, findings: &Findings) -> anyhow::Result<()> {
        if self.terms.json {
            let line = report::value(&wire::SessionEvent::Reload(wire::Reload::broken(findings.json.clone(), None)));
            return terminal::print(&format!("{line}\n"));
        }
        let path = printable(&self.place.path.to_string_lossy()).into_owned();
        terminal::print_error(&format!("{}waiting for `{path}` to be fixed; Ctrl-C ends it\n", findings.text));
        Ok(())
    }
}
