//! Killing the worker from outside, at moments that nobody chose.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant, SystemTime},
};

use tokio::runtime::Runtime;
use trellis_host::store;

use super::judge::{Verdict, judge};

/// Sessions side by side in one round.
pub const SESSIONS: usize = 8;
/// A worker lives no longer than this at first.
const LONGEST: Duration = Duration::from_millis(200);

/// The least number of kills that says anything.
const LEAST: usize = 10;

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Until so many workers were killed.
    Kills(usize),
    /// For so long, and on a slow machine until some were killed at every kind of moment that a verdict counts.
    Time(Duration),
}

/// Tries a store: rounds of sessions, each in a folder of its own, whose workers are killed until all have ended; then they are judged.
///
/// # Errors
/// A worker cannot be started, or ends with an error.
pub fn crash(program: &Path, limit: Limit, runtime: &Runtime, store_in: impl Fn(&Path) -> String) -> io::Result<(Killed, Verdict)> {
    let (began, mut killed, mut all) = (Instant::now(), Killed::default(), Verdict::default());
    let mut trial = Trial { program: program.to_owned(), store: String::new(), seed: seed() };
    loop {
        let is_over = match limit {
            Limit::Kills(kills) => killed.after.len() >= kills,
            Limit::Time(time) => began.elapsed() >= time && killed.after.len() >= LEAST && all.inside > 0 && all.noted > 0,
        };
        if is_over {
            return Ok((killed, all));
        }
        let (folder, before) = (tempfile::tempdir()?, killed.at.len());
        trial.store = store_in(folder.path());
        trial.round(folder.path(), &mut killed)?;
        let verdict = runtime.block_on(async {
            let store = store::open(&trial.store).await.map_err(io::Error::other)?;
            judge(&*store, folder.path(), SESSIONS, &killed.at[before..]).await
        });
        all = all.and(verdict?);
        killed.rounds += 1;
    }
}

/// Returns a seed for chance: another one each time.
fn seed() -> u64 {
    u64::try_from(since_1970().as_nanos() & u128::from(u64::MAX)).unwrap_or_default() | 1
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// One store, and the program that works on it.
struct Trial {
    program: PathBuf,
    store: String,
    seed: u64,
}

/// The results of the kills.
#[derive(Debug, Default)]
pub struct Killed {
    /// After how many milliseconds, each time.
    pub after: Vec<u64>,
    /// When, each time, in milliseconds since 1970.
    pub at: Vec<u64>,
    /// The number of rounds of sessions that were walked to their ends.
    pub rounds: usize,
}

impl Trial {
    /// Kills the worker again and again until its sessions have ended.
    fn round(&mut self, folder: &Path, killed: &mut Killed) -> io::Result<()> {
        let before = killed.after.len();
        loop {
            let mut worker = self.start(folder)?;
            // On a slow machine or server, lives get longer until something is done in them.
            let longest = LONGEST * u32::try_from(1 + (killed.after.len() - before) / 10).unwrap_or(u32::MAX);
            let life = Duration::from_micros(self.chance() % u64::try_from(longest.as_micros()).unwrap_or(u64::MAX).max(1));
            let began = Instant::now();
            while began.elapsed() < life {
                if let Some(status) = worker.try_wait()? {
                    return ended(status);
                }
                std::thread::sleep(Duration::from_micros(500).min(life.saturating_sub(began.elapsed())));
            }
            if let Some(status) = worker.try_wait()? {
                return ended(status);
            }
            // SIGKILL: nothing of it gets to do anything any more. Its tools live on, as they would.
            killed.at.push(u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX));
            worker.kill()?;
            worker.wait()?;
            killed.after.push(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
    }

    fn start(&self, folder: &Path) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.arg(&self.store).arg(folder).arg(SESSIONS.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()
    }

    /// The next number of a plain generator (xorshift64*).
    fn chance(&mut self) -> u64 {
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn ended(status: ExitStatus) -> io::Result<()> {
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the worker ended by itself: {status}"))) }
}

impl Killed {
    /// Returns the times of the kills, as a histogram, and the findings.
    pub fn report(&self, store: &str, verdict: &Verdict) -> String {
        let widest = 40;
        let slot = (self.after.iter().max().copied().unwrap_or(0) / 12).max(1);
        let mut counts = std::collections::BTreeMap::<u64, usize>::new();
        for after in &self.after {
            *counts.entry(after / slot).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap_or(1);
        let mut out = format!("{store}: {} kills\n", self.after.len());
        for (at, count) in counts {
            let _ =
                writeln!(out, "  {:>4}–{:<4} ms {:>5} {}", at * slot, (at + 1) * slot, count, "█".repeat((count * widest).div_ceil(most)));
        }
        let Verdict { records, acknowledged, calls, repeated, ended, inside, noted, flaws } = verdict;
        let _ = writeln!(
            out,
            "  {inside} inside of trees of children; {ended} sessions ended, {records} records, {acknowledged} turns acknowledged, {calls} calls of \
             tools ({repeated} made again under the same key), {noted} values appended, {} flaws",
            flaws.len()
        );
        out
    }
}
