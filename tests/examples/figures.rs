//! Measures the program from outside and prints the figures of `docs/performance.md`:
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example figures [TRELLIS [ROUNDS]]`.
//!
//! What is compared runs in turn, in one run, and ratios are of medians: a busy machine slows both sides.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
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
    let ratio = checked.median().as_secs_f64() / read.median().as_secs_f64();
    println!("10,000 nodes   cat {:>7}   check {:>7}   ratio {ratio:.2} (≤ 1.2)", millis(read.median()), millis(checked.median()));
    println!("               peak memory {:.1} MiB (≤ 64)", checked.peak as f64 / 1024.0);

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
    println!("per node, 100,000 against 1,000: {:.2} (≤ 1.2)", per_node(2) / per_node(0));

    let mut help = Samples::default();
    for _ in 0..rounds * 5 {
        help.run(&mut command(&program, ["--help".as_ref()]))?;
    }
    println!("--help {} (≤ 5 ms)", millis(help.median()));
    println!("program {:.2} MB (≤ 12)", fs::metadata(&program)?.len() as f64 / 1e6);
    Ok(())
}

/// A generated graph on disk.
struct Graph {
    nodes: usize,
    folder: TempDir,
    files: Vec<PathBuf>,
}

impl Graph {
    fn new(nodes: usize) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let files = generator::generate(nodes);
        generator::write(folder.path(), &files)?;
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
