//! The thread that links graphs: it takes snapshots and returns the results.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use crossbeam_channel::{Receiver, Sender, never, unbounded};
use trellis_core::{
    Diagnostic, Document, Program,
    compile::{Compiler, Draft},
    context_types::ContextTypes,
    diagnostic::FilePath,
};
use trellis_project::Snapshot;

use crate::{LateAnswer, LateFindings, LateQuestion};

/// The number of a graph; it is not given twice.
pub(crate) type GraphNumber = u32;

/// A graph to link.
pub(crate) enum Job {
    /// The documents of a graph, at a generation of its texts.
    Link(Box<LinkJob>),
    /// Nobody asks for this graph any more.
    Forget(GraphNumber),
}

/// The documents of a graph that are linked.
pub(crate) struct LinkJob {
    pub(crate) graph: GraphNumber,
    /// The generation of its texts.
    pub(crate) generation: u64,
    pub(crate) snapshot: Snapshot,
    /// True if unchecked reads are findings.
    pub(crate) strict: bool,
    /// The folder of the graph.
    pub(crate) root: PathBuf,
    /// The texts of open files there that are no files of the graph.
    pub(crate) unsaved: BTreeMap<FilePath, Arc<str>>,
}

/// The result of linking a snapshot.
pub(crate) struct Link {
    pub(crate) generation: u64,
    /// The documents that were linked.
    pub(crate) documents: Vec<Arc<Document>>,
    /// The files beside the graph in which there are findings.
    pub(crate) beside: Vec<Arc<Document>>,
    /// The files and folders beside the graph that were looked at.
    pub(crate) looked: BTreeSet<FilePath>,
    /// The texts of open files beside the graph that were seen.
    pub(crate) unsaved: BTreeMap<FilePath, Arc<str>>,
    /// Findings as `trellis check` has them, in its order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The graph as far as it was lowered, also with mistakes.
    pub(crate) program: Option<Arc<Program>>,
}

impl Link {
    /// Returns the findings of a file, or those about the whole graph. They are found without looking at those of other files.
    pub(crate) fn of(&self, path: Option<&str>) -> &[Diagnostic] {
        let start = self.diagnostics.partition_point(|found| found.order().0 < path);
        let end = self.diagnostics.partition_point(|found| found.order().0 <= path);
        &self.diagnostics[start..end]
    }
}

/// A message of the linking thread.
pub(crate) enum Linked {
    /// A link is done.
    Link(GraphNumber, Link),
    /// The types of the keys at each node of the last link, of this generation.
    Types(GraphNumber, u64, Box<ContextTypes>),
}

/// The thread, as its user sees it. It ends when this is dropped.
pub(crate) struct Linker {
    jobs: Sender<Job>,
    pub(crate) linked: Receiver<Linked>,
    /// True if the thread broke off: nothing is linked any more.
    pub(crate) is_gone: bool,
}

impl Linker {
    /// Starts the thread. `late` makes the findings that need more than the graph's own rules.
    pub(crate) fn start(late: LateFindings) -> std::io::Result<Self> {
        let (jobs, queue) = unbounded();
        let (done, linked) = unbounded();
        std::thread::Builder::new().name("trellis-link".into()).spawn(move || run(&queue, &done, late))?;
        Ok(Self { jobs, linked, is_gone: false })
    }

    /// Notes that the thread is gone.
    pub(crate) fn lost(&mut self) {
        (self.linked, self.is_gone) = (never(), true);
    }

    /// Hands over a job. A thread that is gone leaves the last link as it was.
    pub(crate) fn hand_over(&self, job: Job) {
        let _ = self.jobs.send(job);
    }
}

fn run(queue: &Receiver<Job>, done: &Sender<Linked>, late: LateFindings) {
    let mut compilers: BTreeMap<GraphNumber, Compiler> = BTreeMap::new();
    while let Ok(job) = queue.recv() {
        let LinkJob { graph, generation, snapshot, strict, root, unsaved } = match job {
            Job::Link(job) => *job,
            Job::Forget(graph) => {
                compilers.remove(&graph);
                continue;
            }
        };
        let compiler = compilers.entry(graph).or_default();
        let compiled = snapshot.recompile(compiler);
        let mut diagnostics = compiled.diagnostics;
        let question = LateQuestion { documents: snapshot.documents(), root: &root, unsaved: &unsaved };
        let LateAnswer { diagnostics: mut more, sources: beside, looked } = late(&question);
        if strict {
            more.extend(compiled.unchecked.iter().map(trellis_core::compile::UncheckedRead::finding));
        }
        if !more.is_empty() {
            trellis_core::compile::apply_severities(snapshot.documents(), &mut more);
            diagnostics.extend(more);
        }
        diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        let program = compiled.draft.as_ref().map(|draft: &Draft| Arc::clone(draft.program()));
        let link = Link { generation, documents: snapshot.documents().to_vec(), beside, looked, unsaved, diagnostics, program };
        if done.send(Linked::Link(graph, link)).is_err() {
            return;
        }
        // Types are asked for where somebody rests: the next link does not wait for them.
        if queue.is_empty()
            && let Some(types) = compiler.context_types()
            && done.send(Linked::Types(graph, generation, Box::new(types))).is_err()
        {
            return;
        }
    }
}
