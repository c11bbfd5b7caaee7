//! Killing the worker from outside, at moments that nobody chose.

use std::{
    fmt::Write as _,
    io,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::judge::Verdict;

/// How a store is tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The program that works: it gets the store, the folder and the number of sessions.
    pub worker: std::path::PathBuf,
    /// The store.
    pub store: String,
    /// Sessions side by side in one round.
    pub sessions: usize,
    /// A worker lives no longer than this.
    pub longest: Duration,
    /// Where chance begins.
    pub seed: u64,
}

/// What came of killing.
#[derive(Debug, Default)]
pub struct Killed {
    /// After how many milliseconds, each time.
    pub after: Vec<u64>,
    /// How many times a worker ended by itself before.
    pub survived: usize,
}

impl Trial {
    /// Kills the worker again and again until its sessions have ended; `longest` times over.
    ///
    /// # Errors
    /// The worker cannot be started, or ends with an error.
    pub fn round(&mut self, folder: &Path, killed: &mut Killed) -> io::Result<()> {
        loop {
            let mut worker = self.start(folder)?;
            let life = Duration::from_micros(self.chance() % u64::try_from(self.longest.as_micros()).unwrap_or(u64::MAX).max(1));
            let began = Instant::now();
            while began.elapsed() < life {
                if let Some(status) = worker.try_wait()? {
                    return ended(status, killed);
                }
                std::thread::sleep(Duration::from_micros(500).min(life.saturating_sub(began.elapsed())));
            }
            if let Some(status) = worker.try_wait()? {
                return ended(status, killed);
            }
            // SIGKILL: nothing of it gets to do anything any more. Its tools live on, as they would.
            worker.kill()?;
            worker.wait()?;
            killed.after.push(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
    }

    /// Lets the worker finish in peace.
    ///
    /// # Errors
    /// It ends with an error.
    pub fn finish(&self, folder: &Path) -> io::Result<()> {
        ended(self.start(folder)?.wait()?, &mut Killed::default())
    }

    fn start(&self, folder: &Path) -> io::Result<Child> {
        let mut command = Command::new(&self.worker);
        command.arg(&self.store).arg(folder).arg(self.sessions.to_string());
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

fn ended(status: std::process::ExitStatus, killed: &mut Killed) -> io::Result<()> {
    killed.survived += 1;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the worker ended by itself: {status}"))) }
}

impl Killed {
    /// When the worker was killed, as a histogram, and what was found.
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
        let Verdict { records, acknowledged, calls, repeated, ended, flaws } = verdict;
        let _ = writeln!(
            out,
            "  {ended} sessions ended, {records} records, {acknowledged} turns acknowledged, {calls} calls of tools ({repeated} made again under the same key), {} flaws",
            flaws.len()
        );
        out
    }
}
