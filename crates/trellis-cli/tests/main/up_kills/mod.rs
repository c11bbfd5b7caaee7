//! The whole program killed in mid-flow, over and over, at the moments that the table of orchestrator 9 names (orchestrator 10.1): nothing is lost, and nothing comes
//! twice without a mark.
//!
//! It goes on for a minute; `KILLS=2000 cargo test -p trellis-cli --test main -- --nocapture up_kills::` kills so often instead.

mod judge;
mod shop;

use std::{
    fmt::Write as _,
    io::Write as _,
    time::{Duration, Instant},
};

use self::shop::{Chance, Shop};

/// The time of the run, if no number of kills is asked for.
const TIME: Duration = Duration::from_secs(15);
/// The time limit of a moment, once the program reads its chats: messages are collected for 3.5 s before a model is asked.
const PATIENCE: Duration = Duration::from_secs(9);

/// The rows of the table: the process dies …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// … after a read, before the store
    Read,
    /// … after the store, before the run starts
    Stored,
    /// … around the beginning of the session
    Begun,
    /// … while the model works
    Model,
    /// … while a tool runs
    Tool,
    /// … after the reply, before the outbox row
    Replied,
    /// … after sending, before the acknowledgement is stored
    Sending,
    /// … between dead letter and its file
    Dead,
    /// … in the middle of consolidation
    Memory,
}

const ROWS: [Row; 9] = [Row::Read, Row::Stored, Row::Begun, Row::Model, Row::Tool, Row::Replied, Row::Sending, Row::Dead, Row::Memory];

impl Row {
    /// The longest time, in microseconds, from the moment that is seen from outside to the kill.
    fn slack(self) -> u64 {
        match self {
            Self::Stored => 800_000,
            Self::Tool => 40_000,
            Self::Model | Self::Memory => 25_000,
            Self::Replied => 12_000,
            Self::Read | Self::Begun | Self::Sending | Self::Dead => 6_000,
        }
    }
}

/// The results of the kills.
#[derive(Debug, Default)]
struct Killed {
    /// The number of kills at each row.
    hits: [usize; ROWS.len()],
    /// Kills at a moment that nobody chose, since the one that was waited for did not come.
    others: usize,
    rounds: usize,
    messages: usize,
    /// Messages that came again, with a mark.
    marked: usize,
    /// Calls of tools that were made again under their keys.
    repeated: usize,
}

impl Killed {
    fn count(&self) -> usize {
        self.hits.iter().sum::<usize>() + self.others
    }

    /// The row that was hit least, of those that are not given up for now.
    fn rarest(&self, misses: &[usize; ROWS.len()]) -> usize {
        (0..ROWS.len()).min_by_key(|row| (misses[*row], self.hits[*row])).unwrap_or_default()
    }

    fn report(&self) -> String {
        let mut report = format!("{} kills of the whole program in {} rounds, {} messages:", self.count(), self.rounds, self.messages);
        for (row, hits) in ROWS.iter().zip(self.hits) {
            let _ = write!(report, " {row:?} {hits},");
        }
        let _ = write!(report, " others {}; {} came again with a mark, {} calls were made again", self.others, self.marked, self.repeated);
        report
    }
}

/// Plays a round: messages are posted, and the program is killed until all of them are answered.
fn round(killed: &mut Killed, chance: &mut Chance) {
    let mut shop = Shop::new();
    let mut misses = [0; ROWS.len()];
    loop {
        shop.post(chance);
        let mut up = shop.start();
        let at = killed.rarest(&misses);
        let is_hit = shop.wait_for(ROWS[at], Instant::now() + PATIENCE, &mut up);
        if is_hit {
            std::thread::sleep(Duration::from_micros(chance.below(ROWS[at].slack())));
        } else {
            misses[at] += 1;
        }
        shop.kill(up);
        if is_hit {
            killed.hits[at] += 1;
        } else {
            killed.others += 1;
        }
        if shop.is_over() {
            break;
        }
    }
    shop.finish();
    let verdict = judge::judge(&shop);
    assert!(verdict.flaws.is_empty(), "after {}: {:#?}\n{}", killed.report(), verdict.flaws, shop.log());
    killed.rounds += 1;
    killed.messages += verdict.messages;
    killed.marked += verdict.marked;
    killed.repeated += verdict.repeated;
}

// orchestrator 9, the table; orchestrator 10.1: kills at each of its moments
#[test]
fn nothing_is_lost_or_comes_twice_unmarked() {
    let kills: Option<usize> = std::env::var("KILLS").ok().map(|kills| kills.parse().expect("KILLS is a number"));
    let (began, mut killed, mut chance) = (Instant::now(), Killed::default(), Chance::new());
    loop {
        // On a slow machine it continues until each row was met.
        let time = if killed.hits.contains(&0) { 40 * TIME } else { TIME };
        if kills.map_or_else(|| began.elapsed() >= time, |kills| killed.count() >= kills) {
            break;
        }
        round(&mut killed, &mut chance);
    }
    let report = format!("{} ({} s)", killed.report(), began.elapsed().as_secs());
    // Unlike `println!`, this is not captured.
    let _ = std::io::stderr().write_all(format!("{report}\n").as_bytes());
    assert!(!killed.hits.contains(&0), "every row was met: {report}");
}
