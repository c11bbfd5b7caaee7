//! `check --watch`: checks again after every save.
//!
//! **Invariant:** it ends on an interrupt or when its output is closed, never because of a change of files.

use std::{sync::Arc, time::Instant};

use trellis_project::{Extent, Live, Status, Version, Wake, Watch};

use super::{READER_CHECK_INTERVAL, ReportOutput, close_on_interrupt, render::Report, warn_of_polling};
use crate::{
    Exit,
    check_policy::CheckPolicy,
    open::Place,
    report::{Checked, Summary},
    terminal::{self, Closed},
};

/// The graphs that are checked, whichever they are at the moment.
pub(crate) struct Checker<P> {
    /// Their places.
    places: P,
    /// The demands on each.
    demands: CheckPolicy,
    shown: ReportOutput,
    graphs: Vec<WatchedGraph>,
    /// The reason why they cannot be found, if they cannot.
    gone: Option<String>,
    /// True if the last report had problems.
    was_wrong: bool,
}

struct WatchedGraph {
    place: Place,
    shown_below: String,
    live: Option<Live>,
    /// The reason why it cannot be loaded, if it cannot.
    gone: Option<String>,
}

impl<P> Checker<P>
where
    P: Fn() -> anyhow::Result<Vec<Place>>,
{
    /// A checker of the graphs that `places` finds.
    ///
    /// # Errors
    /// There is nothing to begin with.
    pub(crate) fn open(places: P, demands: CheckPolicy, shown: ReportOutput) -> anyhow::Result<Self> {
        let graphs = places()?.into_iter().map(WatchedGraph::open).collect();
        Ok(Self { places, demands, shown, graphs, gone: None, was_wrong: false })
    }

    /// Reports the findings, and again after each edit, until it is interrupted.
    ///
    /// # Errors
    /// Standard output fails.
    pub(crate) fn stay(mut self, mut watch: Watch) -> anyhow::Result<Exit> {
        close_on_interrupt(watch.handle())?;
        warn_of_polling(watch.trouble());
        let mut is_warned = watch.trouble().is_some();
        self.show(Instant::now(), None)?;
        loop {
            watch.also(self.graphs.iter().filter_map(|graph| graph.live.as_ref()).flat_map(Live::scripts));
            match watch.next(Some(READER_CHECK_INTERVAL)) {
                Wake::Closed => break,
                Wake::Elapsed if terminal::is_closed() => return Err(Closed.into()),
                Wake::Elapsed => continue,
                Wake::Changed => {}
            }
            if !is_warned {
                warn_of_polling(watch.trouble());
                is_warned = watch.trouble().is_some();
            }
            let began = Instant::now();
            if let Some(changed) = self.look(watch.extent()) {
                self.show(began, Some(&changed))?;
            }
        }
        if self.shown == ReportOutput::Page {
            terminal::print("\n")?;
        }
        Ok(Exit::Fine)
    }

    /// Reads what every graph has of an extent again; returns the files that changed, or `None` if nothing did.
    fn look(&mut self, extent: &Extent) -> Option<Vec<String>> {
        let mut news = self.find();
        let mut changed = Vec::new();
        for graph in &mut self.graphs {
            news |= graph.look(extent, self.shown, &mut changed);
        }
        changed.sort_unstable();
        news.then_some(changed)
    }

    /// Finds new graphs, and drops those that are gone; returns whether there were any.
    fn find(&mut self) -> bool {
        let places = match (self.places)() {
            Ok(places) => places,
            Err(error) => {
                let gone = Some(error.to_string());
                let news = self.gone != gone;
                self.gone = gone;
                return news;
            }
        };
        let mut news = self.gone.take().is_some();
        let mut known = std::mem::take(&mut self.graphs);
        for place in places {
            let at = known.iter().position(|graph| graph.place.path == place.path && graph.place.below == place.below);
            news |= at.is_none();
            self.graphs.push(at.map_or_else(|| WatchedGraph::open(place), |at| known.swap_remove(at)));
        }
        news | !known.is_empty()
    }

    fn show(&mut self, began: Instant, changed: Option<&[String]>) -> anyhow::Result<()> {
        let graphs: Vec<Checked> = match self.gone {
            Some(_) => Vec::new(),
            None => self.graphs.iter().filter_map(|graph| graph.checked(&self.demands)).collect(),
        };
        let of_graphs = self.graphs.iter().flat_map(WatchedGraph::problems);
        let problems: Vec<String> = self.gone.as_ref().map_or_else(|| of_graphs.collect(), |gone| vec![gone.clone()]);
        let is_wrong = !problems.is_empty() || Summary::of(&graphs).errors > 0;
        let report = Report {
            graphs: &graphs,
            changed: changed.unwrap_or_default(),
            problems: &problems,
            healed: self.was_wrong && !is_wrong,
            took: began.elapsed(),
            first: changed.is_none(),
        };
        self.was_wrong = is_wrong;
        terminal::print(&self.shown.text(&report))
    }
}

impl WatchedGraph {
    fn open(place: Place) -> Self {
        let shown_below = place.shown_below();
        let (live, gone) = match Live::open(&place.path) {
            Ok(live) => (Some(live), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { place, shown_below, live, gone }
    }

    /// Loads it again, adds the changed files, and returns whether there are any.
    fn look(&mut self, extent: &Extent, shown: ReportOutput, changed: &mut Vec<String>) -> bool {
        let Some(live) = &mut self.live else {
            let again = Self::open(self.place.clone());
            let news = again.live.is_some() || again.gone != self.gone;
            *self = again;
            return news;
        };
        let Some(edit) = live.look_at(extent) else { return false };
        let below = if shown == ReportOutput::Json { &self.place.below } else { &self.shown_below };
        changed.extend(edit.changed.iter().map(|path| format!("{below}{path}")));
        self.gone = match edit.status {
            Status::Gone { error, .. } => Some(error),
            Status::Sound { .. } | Status::Broken { .. } => None,
        };
        // An edited script changes nothing that is checked; templates that compute, replies, statements and cards are checked themselves.
        let is_checked = |script: &std::path::PathBuf| {
            let ends = script.extension().and_then(|end| end.to_str());
            script.is_dir() || ends.is_some_and(|end| ["jinja", "jinja2", "j2", "txt", "yaml", "yml", "json", "sql", "md"].contains(&end))
        };
        edit.scripts.is_empty() || !edit.changed.is_empty() || edit.scripts.iter().any(is_checked)
    }

    fn version(&self) -> Option<&Arc<Version>> {
        self.live.as_ref().filter(|_| self.gone.is_none()).map(Live::version)
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let unread = self.version().into_iter().flat_map(|version| version.problems.iter().cloned());
        self.gone.clone().into_iter().chain(unread)
    }

    fn checked(&self, demands: &CheckPolicy) -> Option<Checked> {
        let version = self.version()?;
        let root = self.live.as_ref().map(Live::root).unwrap_or_default();
        let mut checked = Checked {
            shown_below: self.shown_below.clone(),
            below: self.place.below.clone(),
            documents: version.documents.clone(),
            diagnostics: version.diagnostics.clone(),
            nodes: version.nodes,
            unchecked: version.unchecked.clone(),
        };
        // A watch connects to nothing, so this does not fail.
        demands.apply(&mut checked, version.program.as_deref(), &root).ok()?;
        Some(checked)
    }
}
