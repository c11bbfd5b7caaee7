//! The sheets of one graph, read once and run in parallel.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use trellis_core::{
    Compiled, Diagnostic, Document, Mapping, NodeId, Program, Source, ToolError, ToolOutcome,
    diagnostic::{FilePath, Place},
    template::{Compute, DEFAULT_FUEL, RenderLimits},
};
use trellis_project::{
    LoadError, Memory, Project,
    sheet::{
        Case, Sheet, SheetFiles, TESTS, files_below,
        findings::{self, Texts},
        read_inside, sheets_of,
    },
};

use crate::{
    beside::Beside,
    limits::Limits,
    trial::{Graph, Trial, Verdict, unused},
    update::Update,
    wire,
};

/// Steps that a calculation may take, as in a host.
const FUEL: u64 = 16 * DEFAULT_FUEL;

/// A sheet that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuiteError {
    /// The sheet.
    pub path: PathBuf,
    /// The line, from 1; 0 if it is about the whole file.
    pub line: usize,
    /// The description of the mistake.
    pub message: String,
}

/// The options of a test run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Parts of ids; a case is played if one fits, or if there are none.
    pub filters: Vec<String>,
    /// The ids of the only cases that are played, if not all that the filters choose are.
    pub only: Option<BTreeSet<String>>,
    /// The number of cases that are played at a time.
    pub jobs: usize,
    /// The longest duration of a case.
    pub timeout: Duration,
    /// The blocks that are rewritten.
    pub update: Option<Update>,
    /// True if blocks without a program line fail.
    pub is_ci: bool,
    /// True to stop at the first failure.
    pub fail_fast: bool,
    /// Set to end the run: what is played at that moment counts as not played.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        let timeout = Duration::from_secs(10);
        Self { filters: Vec::new(), only: None, jobs: 1, timeout, update: None, is_ci: false, fail_fast: false, interrupt: Arc::default() }
    }
}

/// The sheets of a graph.
///
/// ```
/// use std::fs;
///
/// use trellis_trial::{Options, Suite};
///
/// # let folder = tempfile::tempdir()?;
/// # fs::create_dir(folder.path().join("_tests"))?;
/// fs::write(folder.path().join("start.md"), "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n")?;
/// fs::write(folder.path().join("hello.md"), "---\n---\nHello {{ name }}.\n")?;
/// let sheet = "# Greeting\n\n## by name\n\n```transcript\n| Your name?\n? text\n> Ana\n| Hello Ana.\n* end finished\n```\n";
/// fs::write(folder.path().join("_tests/greeting.md"), sheet)?;
///
/// let suite = Suite::open(folder.path())?;
/// let played = suite.play(&Options::default());
/// assert!(played.len() == 1 && played.iter().all(|(_, _, verdict, _)| verdict.difference.is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Suite {
    root: PathBuf,
    /// The result of compiling the graph.
    pub compiled: Compiled,
    /// The files of the graph.
    pub documents: Vec<Arc<Document>>,
    texts: Texts,
    sources: Vec<Source>,
    /// Its sheets, by path.
    pub sheets: Vec<Sheet>,
    /// Sheets that cannot be read.
    pub errors: Vec<SuiteError>,
}

impl Suite {
    /// Reads a graph and the sheets in its `_tests`.
    ///
    /// # Errors
    /// The graph cannot be listed.
    pub fn open(root: &Path) -> Result<Self, LoadError> {
        let project = Project::open(root)?;
        let folder = project.root().map_or_else(|| root.to_owned(), Path::to_owned);
        let mut suite = Self {
            compiled: project.compile(),
            texts: findings::texts(project.documents()),
            sources: project.documents().iter().map(|document| Source::text(Arc::clone(&document.path), &document.text)).collect(),
            documents: project.documents().to_vec(),
            root: root.to_owned(),
            sheets: Vec::new(),
            errors: Vec::new(),
        };
        suite.root = if root.is_dir() { root.to_owned() } else { folder };
        for path in sheets_of(&suite.root) {
            suite.read(path);
        }
        Ok(suite)
    }

    /// Returns the suite of a graph that lies in the folder `root` of another one: its findings are those of the graph that calls it, where what
    /// callers give is known.
    #[must_use]
    pub fn inside(mut self, outer: &Self, root: &str) -> Self {
        let inner = |path: &str| path.strip_prefix(root).and_then(|path| path.strip_prefix('/')).map(FilePath::from);
        let place = |place: &Place| inner(&place.path).map_or_else(|| place.clone(), |path| Place::new(&path, place.span));
        let own = outer.compiled.diagnostics.iter().filter(|found| found.place.as_ref().is_some_and(|at| inner(&at.path).is_some()));
        let moved = own.cloned().map(|mut found| {
            found.place = found.place.as_ref().map(place);
            found.labels.iter_mut().for_each(|label| label.place = place(&label.place));
            found.fix.iter_mut().flat_map(|fix| &mut fix.edits).for_each(|edit| edit.place = place(&edit.place));
            found
        });
        self.compiled.diagnostics = moved.collect();
        if !self.compiled.diagnostics.iter().any(Diagnostic::is_error) && self.compiled.program.is_none() {
            self.compiled.program = self.compiled.draft.as_ref().map(|draft| Arc::clone(draft.program()));
        }
        self
    }

    /// The folder of the graph.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of its sheets.
    pub fn sheets_folder(&self) -> PathBuf {
        self.root.join(TESTS)
    }

    /// The files that its cases depend on, with their bytes: the graph, files of calculations, the sheets and the files beside them.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let graphs = self.compiled.program.iter().flat_map(|program| program.graphs());
        let computed = graphs.flat_map(|graph| {
            let files = graph.bindings.values().filter_map(|binding| binding.config.values.get("compute")?.as_str());
            files.map(|file| self.root.join(&*graph.root).join(file))
        });
        let sources = self.sources.iter().map(|source| self.root.join(&*source.path));
        let sheets = self.sheets.iter().map(|sheet| sheet.path.clone());
        let all = sources.chain(computed).chain(sheets).chain(files_below(&self.root.join(TESTS)));
        all.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
    }

    /// Reads one sheet more, of any place.
    pub fn read(&mut self, path: PathBuf) {
        if self.sheets.iter().any(|known| known.path == path) {
            return;
        }
        let error = |line, message: String| SuiteError { path: path.clone(), line, message };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(problem) => return self.errors.push(error(0, problem.to_string())),
        };
        match Sheet::parse(path.clone(), text, self) {
            Ok(sheet) => match sheet.mistake() {
                Some(problem) => self.errors.push(error(problem.line, problem.message)),
                None => self.sheets.push(sheet),
            },
            Err(problem) => self.errors.push(error(problem.line, problem.message)),
        }
    }

    /// The id of a case: `sheet › heading › title`, the sheet below its `_tests`.
    pub fn id(&self, sheet: &Sheet, case: &Case) -> String {
        let tests = self.root.join(TESTS);
        let below = sheet.path.strip_prefix(&tests).or_else(|_| sheet.path.strip_prefix(&self.root)).unwrap_or(&sheet.path);
        format!("{} › {}", below.display().to_string().replace('\\', "/"), case.title)
    }

    /// The cases that filters choose, in order of sheets.
    pub fn chosen(&self, filters: &[String]) -> Vec<(&Sheet, &Case)> {
        let all = self.sheets.iter().flat_map(|sheet| sheet.cases.iter().map(move |case| (sheet, case)));
        let fits = |(sheet, case): &(&Sheet, &Case)| {
            let id = self.id(sheet, case);
            filters.is_empty() || filters.iter().any(|filter| id.contains(filter))
        };
        all.filter(fits).collect()
    }

    /// Runs the chosen cases and returns them in order, each with its verdict and time. With `fail_fast`, cases after the first failure are left out.
    pub fn play(&self, options: &Options) -> Vec<(&Sheet, &Case, Verdict, Duration)> {
        let mut chosen = self.chosen(&options.filters);
        chosen.retain(|(sheet, case)| options.only.as_ref().is_none_or(|only| only.contains(&self.id(sheet, case))));
        let (next, stop, done) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
        let work = || {
            while !stop.load(Ordering::Relaxed) && !options.interrupt.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(sheet, case)) = chosen.get(at) else { return };
                let began = Instant::now();
                let verdict = self.judge(sheet, case, options);
                if options.interrupt.load(Ordering::Relaxed) {
                    return;
                }
                if options.fail_fast && verdict.outcome != wire::Outcome::Passed {
                    stop.store(true, Ordering::Relaxed);
                }
                done.lock().unwrap_or_else(PoisonError::into_inner).push((at, verdict, began.elapsed()));
            }
        };
        let jobs = options.jobs.clamp(1, chosen.len().max(1));
        std::thread::scope(|scope| {
            (1..jobs).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, ..)| *at);
        done.into_iter().map(|(at, verdict, took)| (chosen[at].0, chosen[at].1, verdict, took)).collect()
    }

    /// Inherited doubles that no case of a sheet used, by line: known once all its cases were played, and none if one could not be.
    pub fn unused(&self, sheet: &Sheet, verdicts: &[&Verdict]) -> Vec<(usize, String)> {
        if verdicts.iter().any(|verdict| verdict.is_unplayed) {
            return Vec::new();
        }
        let used: Vec<usize> = verdicts.iter().flat_map(|verdict| verdict.used.iter().copied()).collect();
        let beside = BesideSheet { root: &self.root, sheet: sheet.path.parent().unwrap_or(Path::new("")) };
        unused(sheet, &used, &beside).into_iter().collect()
    }

    fn judge(&self, sheet: &Sheet, case: &Case, options: &Options) -> Verdict {
        let interrupt = Arc::clone(&options.interrupt);
        let limits = Limits { until: Instant::now().checked_add(options.timeout), interrupt, ..Limits::default() };
        let own = case.changes_graph.then(|| compiled(&case.files));
        let graph = match &own {
            Some((compiled, texts)) => Graph { compiled, texts },
            None => Graph { compiled: &self.compiled, texts: &self.texts },
        };
        let beside = BesideSheet { root: &self.root, sheet: sheet.path.parent().unwrap_or(Path::new("")) };
        Trial { sheet, case, graph, beside: &beside, limits: &limits, update: options.update, is_ci: options.is_ci }.play()
    }
}

impl SheetFiles for Suite {
    fn beside(&self) -> &[Source] {
        &self.sources
    }

    fn folder(&self, path: &str) -> Result<Vec<Source>, String> {
        Err(format!("`{path}` is not read: a sheet is about the graph beside it"))
    }
}

/// The graph that a case made.
fn compiled(files: &[Source]) -> (Compiled, Texts) {
    let mut memory = Memory::new();
    for file in files {
        if let trellis_core::syntax::document::Bytes::Read(bytes) = &file.bytes {
            memory.insert(Arc::clone(&file.path), Arc::clone(bytes));
        }
    }
    match Project::with_loader(memory) {
        Ok(project) => (project.compile(), findings::texts(project.documents())),
        Err(error) => unreachable!("memory can be listed: {error}"),
    }
}

/// The files beside a sheet on disk.
#[derive(Debug)]
struct BesideSheet<'s> {
    root: &'s Path,
    sheet: &'s Path,
}

impl Beside for BesideSheet<'_> {
    fn read_beside(&self, path: &str) -> Result<String, String> {
        read_inside(self.root, &self.sheet.join(path))
    }

    fn compute(&self, program: &Program, node: &NodeId, tool: &Arc<str>, args: &Mapping) -> Option<ToolOutcome> {
        let node = program.node(program.find(node)?);
        let binding = program.outwards(program.graph_of(node)).find_map(|graph| Some((graph, graph.bindings.get(tool)?)));
        let (graph, binding) = binding?;
        let file = binding.config.values.get("compute")?.as_str()?;
        let output = program.limits().value;
        let made = read_inside(self.root, &self.root.join(&*graph.root).join(file)).map_err(|error| format!("`{file}`: {error}")).and_then(
            |text| {
                Compute::parse(file, text).map_err(|found| found.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("; "))
            },
        );
        Some(match made {
            Ok(made) => match made.evaluate(args, RenderLimits { output, fuel: FUEL }, output) {
                Ok(value) => ToolOutcome::Success(value),
                Err(error) => ToolOutcome::Error(ToolError::from(error)),
            },
            Err(error) => ToolOutcome::Error(ToolError::coded("compute", error).finally()),
        })
    }
}
