//! The share of its cases that a property tries.
//!
//! `./test` tries a tenth of the seeds of each property, another tenth each day, so that all of them are tried within ten days. `SHARE=all`, which
//! `./test long` says, tries all; `SHARE=3/10` tries the fourth tenth again, and
//! `SHARE=25/10` a tenth of other cases.

use std::{
    env,
    ops::Range,
    time::{SystemTime, UNIX_EPOCH},
};

/// The parts of a whole that are tried on different days.
const PARTS: u64 = 10;
const DAY: u64 = 24 * 60 * 60;

/// One part of all cases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    part: u64,
    parts: u64,
}

impl Share {
    /// Returns the share of this run and prints it, so that a failure can be repeated on another day.
    pub(super) fn of_today() -> Self {
        let share = match env::var("SHARE").as_deref() {
            Ok("all") => Self { part: 0, parts: 1 },
            Ok(named) => {
                let numbers = named.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
                let (part, parts) = numbers.filter(|(_, parts)| *parts > 0).expect("SHARE is `all` or a part, such as 3/10");
                Self { part, parts }
            }
            Err(_) => {
                let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / DAY);
                Self { part: days % PARTS, parts: PARTS }
            }
        };
        println!("SHARE={}/{}", share.part, share.parts);
        share
    }

    /// Returns the seeds of this share, of those below `all`.
    pub(super) fn of(self, all: u64) -> Range<u64> {
        all * self.part / self.parts..all * (self.part + 1) / self.parts
    }

    /// Returns the least number of events in this share where all cases have more than `least`: a third of its proportion, since chance spreads them.
    pub(super) fn least<N: TryFrom<u64>>(self, least: u64) -> N {
        let least = if self.parts == 1 { least } else { least / (3 * self.parts) };
        N::try_from(least).ok().expect("a count is small")
    }
}
