//! Measures how long it takes from a save to the first line that is rendered anew, with `run --watch` on generated graphs:
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example reload [TRELLIS [ROUNDS]]`.
//!
//! The clock starts before the file is written and stops when the line with the new text was read from the program's standard output.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    env,
    error::Error,
    fs, io,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use trellis_tests::generator;

const SIZES: [usize; 2] = [1_000, 10_000];
/// Until files count as left alone, and are not read at each save.
const SETTLED: Duration = Duration::from_secs(4);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let program = args.next().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/trellis"), PathBuf::from);
    let program = fs::canonicalize(&program).map_err(|error| format!("{}: {error}; build it first", program.display()))?;
    let rounds: usize = args.next().map_or(Ok(21), |text| text.parse())?;
    for nodes in SIZES {
        let folder = tempfile::tempdir()?;
        generator::write(folder.path(), &generator::generate(nodes))?;
        let mut session = Session::start(&program, folder.path())?;
        let fresh = session.save(Save::InPlace)?;
        thread::sleep(SETTLED);
        // The first save after that reads every file once more, and trusts it from then on.
        let first = session.save(Save::InPlace)?;
        let in_place = session.median(Save::InPlace, rounds)?;
        let renamed = session.median(Save::RenamedOver, rounds)?;
        println!(
            "{nodes:>6} nodes   written in place {}   renamed over {}   (all files new {}, read again {})",
            millis(in_place),
            millis(renamed),
            millis(fresh),
            millis(first)
        );
    }
    println!("reach: 80 ms for 1,000 nodes, of which 40 ms pass until the writer has been quiet for so long");
    Ok(())
}

/// The manner of a save.
#[derive(Clone, Copy)]
enum Save {
    InPlace,
    RenamedOver,
}

/// A session that waits at the first node.
struct Session {
    child: Child,
    lines: io::Lines<BufReader<ChildStdout>>,
    file: PathBuf,
    text: String,
    saves: usize,
}

impl Session {
    fn start(program: &Path, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(["run", "--watch", "--json"]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let file = folder.join("start.md");
        let text = fs::read_to_string(&file)?;
        let mut session = Self { child, lines, file, text, saves: 0 };
        session.until("REQUEST_INPUT")?;
        Ok(session)
    }

    /// Saves the file of the node where the session waits, and waits until the node says what is new in it.
    fn save(&mut self, save: Save) -> Result<Duration, Box<dyn Error>> {
        self.saves += 1;
        let mark = format!("Saved for the {}th time.", self.saves);
        let text = format!("{}\n{mark}\n", self.text);
        let began = Instant::now();
        match save {
            Save::InPlace => fs::write(&self.file, text)?,
            Save::RenamedOver => {
                let other = self.file.with_extension("new");
                fs::write(&other, text)?;
                fs::rename(other, &self.file)?;
            }
        }
        self.until(&mark)?;
        let took = began.elapsed();
        self.until("REQUEST_INPUT")?;
        Ok(took)
    }

    fn median(&mut self, save: Save, rounds: usize) -> Result<Duration, Box<dyn Error>> {
        let mut times = (0..rounds).map(|_| self.save(save)).collect::<Result<Vec<_>, _>>()?;
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    fn until(&mut self, word: &str) -> Result<(), Box<dyn Error>> {
        loop {
            let line = self.lines.next().ok_or("the program has ended")??;
            if line.contains(word) {
                return Ok(());
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
