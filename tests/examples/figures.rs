//! Measures the program from outside and prints the figures of `docs/performance.md`:
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example figures [TRELLIS [ROUNDS]]`.
//!
//! Compared things run in turn, in one run, and ratios are of medians: a busy machine slows both sides.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use trellis_core::{
    Dialect, Document, Source,
    compile::{Compiler, compile},
};
use trellis_project::{Memory, Project};
use trellis_tests::generator;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let program = args.next().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/trellis"), PathBuf::from);
    let program = fs::canonicalize(&program).map_err(|error| format!("{}: {error}; build it first", program.display()))?;
    let rounds: usize = args.next().map_or(Ok(11), |text| text.parse())?;
    let graphs = SIZES.iter().map(|&nodes| Graph::new(nodes)).collect::<io::Result<Vec<_>>>()?;
    let check = |graph: &Graph| command(&program, ["check".as_ref(), graph.folder.path()]);

    // The first runs warm the file cache and show that the graphs are sound.
    for graph in &graphs {
        let status = check(graph).stderr(Stdio::inherit()).status()?;
        assert!(status.success(), "the generated graph of {} nodes has findings", graph.nodes);
    }
    let ten_thousand = &graphs[1];
    let mut checked = Samples::default();
    let mut read = Samples::default();
    for _ in 0..rounds {
        read.run(&mut ten_thousand.cat())?;
        checked.run(&mut check(ten_thousand))?;
    }
    against("10,000 nodes, all processors", &read, &checked, 1.0);
    println!("               peak memory {:.1} MiB (≤ 64)", checked.peak as f64 / 1024.0);
    on_one_processor(ten_thousand, &program, rounds)?;

    let mut each: Vec<Samples> = graphs.iter().map(|_| Samples::default()).collect();
    for _ in 0..rounds.div_ceil(2) {
        for (graph, samples) in graphs.iter().zip(&mut each) {
            samples.run(&mut check(graph))?;
        }
    }
    let per_node = |at: usize| each[at].median().as_secs_f64() * 1e6 / graphs[at].nodes as f64;
    for (at, graph) in graphs.iter().enumerate() {
        let peak = each[at].peak as f64 / 1024.0;
        println!("check {:>7} nodes   {:>8}   {:.2} µs a node   {peak:.1} MiB", graph.nodes, millis(each[at].median()), per_node(at));
    }
    println!("per node, 100,000 against 10,000: {:.2} (≤ 1.2), against 1,000: {:.2}", per_node(2) / per_node(1), per_node(2) / per_node(0));
    println!("memory per node of 100,000: {:.1} KiB (≤ 10)", each[2].peak as f64 / graphs[2].nodes as f64);

    for (name, files) in [
        ("web of 2,000 nodes, 40,000 edges, 500 keys (≤ 100 ms)", generator::web(2_000, 20, 500)),
        ("lively, 10,000 nodes", generator::lively(10_000)),
    ] {
        let graph = Graph::of(0, &files)?;
        let mut checked = Samples::default();
        for _ in 0..rounds {
            checked.run(&mut check(&graph))?;
        }
        println!("{name}: check {}", millis(checked.median()));
    }
    for (nodes, reach) in [(1_000, 1), (10_000, 10)] {
        let (graph, one_loop) = (generator::generate(nodes), generator::looped(nodes));
        for (what, files, edit) in
            [("words", &graph, Edit::Words), ("data", &graph, Edit::Data), ("data, all one loop", &one_loop, Edit::Data)]
        {
            let (edited, all) = edits(files, rounds * 3, edit)?;
            println!(
                "one edited file of {nodes}, {what}: text → diagnostics {} (≤ {reach} ms); all linked anew {}",
                millis(edited),
                millis(all)
            );
        }
    }

    let mut help = Samples::default();
    for _ in 0..rounds * 5 {
        help.run(&mut command(&program, ["--help".as_ref()]))?;
    }
    println!("--help {} (≤ 5 ms)", millis(help.median()));
    println!("program {:.2} MB (≤ 12)", fs::metadata(&program)?.len() as f64 / 1e6);
    Ok(())
}

fn against(what: &str, read: &Samples, checked: &Samples, reach: f64) {
    let ratio = checked.median().as_secs_f64() / read.median().as_secs_f64();
    println!("{what}   cat {:>7}   check {:>7}   ratio {ratio:.2} (≤ {reach})", millis(read.median()), millis(checked.median()));
}

/// The same with one processor, where `taskset` can see to that.
fn on_one_processor(graph: &Graph, program: &Path, rounds: usize) -> io::Result<()> {
    let one = |command: &Command| {
        let mut one = Command::new("taskset");
        one.args(["-c", "0"]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null()).stdout(Stdio::null());
        one
    };
    let (mut read, mut checked) = (Samples::default(), Samples::default());
    for _ in 0..rounds {
        match read.run(&mut one(&graph.cat())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result?,
        }
        checked.run(&mut one(&command(program, ["check".as_ref(), graph.folder.path()])))?;
    }
    against("10,000 nodes, one processor", &read, &checked, 1.5);
    Ok(())
}

/// The edited part of one file.
#[derive(Clone, Copy)]
enum Edit {
    /// A line of its body.
    Words,
    /// The key that it saves to and asks about.
    Data,
}

impl Edit {
    /// The text of a node of the generator after the edit of a round.
    fn of(self, text: &str, round: usize) -> String {
        let keys = ["reply", "choice", "amount"];
        let saved = |key: &&str| text.contains(&format!("save_to: {key}"));
        match (self, keys.into_iter().find(saved)) {
            (Self::Data, Some(key)) => {
                let renamed = format!("{key}_{}", round % 2);
                text.replace(&format!("save_to: {key}"), &format!("save_to: {renamed}"))
                    .replace(&format!("condition: {key} "), &format!("condition: {renamed} "))
            }
            _ => format!("{text}More {round}.\n"),
        }
    }
}

/// From the new text of one file to the diagnostics, and compiling the same documents from nothing; in process, medians.
fn edits(files: &[generator::File], rounds: usize, edit: Edit) -> Result<(Duration, Duration), Box<dyn Error>> {
    let memory: Memory = files.iter().map(|(path, text)| (path.as_str(), text)).collect();
    let mut documents = Project::with_loader(memory)?.documents().to_vec();
    let mut compiler = Compiler::default();
    // A session holds the program before this one.
    let mut held = compiler.compile(&documents);
    let (mut edited, mut all) = (Samples::default(), Samples::default());
    for round in 0..rounds {
        let at = round * 37 % documents.len();
        if !documents[at].path.ends_with(".md") {
            continue;
        }
        let source = Source::text(documents[at].path.clone(), &edit.of(&documents[at].text, round));
        let began = Instant::now();
        documents[at] = Arc::new(Document::parse(&source, Dialect::default()));
        let compiled = compiler.compile(&documents);
        edited.times.push(began.elapsed());
        assert!(compiled.program.is_some() && compiled.diagnostics.is_empty(), "the edited graph has findings");
        drop(std::mem::replace(&mut held, compiled));
        let began = Instant::now();
        let fresh = compile(&documents);
        all.times.push(began.elapsed());
        assert_eq!(fresh.diagnostics, held.diagnostics);
    }
    Ok((edited.median(), all.median()))
}

/// A generated graph on disk.
struct Graph {
    nodes: usize,
    folder: TempDir,
    files: Vec<PathBuf>,
}

impl Graph {
    fn new(nodes: usize) -> io::Result<Self> {
        Self::of(nodes, &generator::generate(nodes))
    }

    fn of(nodes: usize, files: &[generator::File]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        generator::write(folder.path(), files)?;
        let files = files.iter().map(|(path, _)| folder.path().join(path)).collect();
        Ok(Self { nodes, folder, files })
    }

    /// Reads every file.
    fn cat(&self) -> Command {
        command(Path::new("cat"), self.files.iter().map(PathBuf::as_path))
    }
}

fn command<'a>(program: &Path, args: impl IntoIterator<Item = &'a Path>) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Runs of one command.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    /// The most memory that any run had resident, in KiB, sampled.
    peak: u64,
}

impl Samples {
    fn run(&mut self, command: &mut Command) -> io::Result<()> {
        let began = Instant::now();
        let mut child = command.spawn()?;
        // Every other run is watched for its memory, so that watching does not cost the others time.
        if self.times.len() % 2 == 1 {
            self.peak = self.peak.max(watch(&mut child)?);
        }
        let status = child.wait()?;
        self.times.push(began.elapsed());
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// The peak memory of a process until it ends, in KiB; 0 where the system does not tell.
fn watch(child: &mut Child) -> io::Result<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.and_then(|line| line.trim_end_matches("kB").trim().parse().ok()).unwrap_or(0));
        thread::sleep(Duration::from_micros(500));
    }
    Ok(peak)
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
