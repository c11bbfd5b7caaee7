//! The progress of a tool while it runs: a stream is cut into lines, of which a readable number is reported.
//!
//! **Invariant:** however much a tool writes, a bounded number of lines and bytes is reported, per second and in all; dropped lines are counted, and
//! the count is reported. The last line is always reported.

use tokio::time::{Duration, Instant};

use super::Progress;

/// The largest number of bytes of a reported line; a longer one comes in pieces.
const LINE: usize = 1024;

/// The amount that is reported in one second.
const A_SECOND: Amount = Amount { lines: 100, bytes: 64 << 10 };
/// The amount that is reported of one run of a tool.
const IN_ALL: Amount = Amount { lines: 10_000, bytes: 1 << 20 };

/// A number of lines, and of bytes in all.
#[derive(Clone, Copy, Default)]
struct Amount {
    lines: u64,
    bytes: usize,
}

impl Amount {
    fn with(self, line: &str) -> Self {
        Self { lines: self.lines + 1, bytes: self.bytes + line.len() }
    }

    fn is_within(self, bound: Self) -> bool {
        self.lines <= bound.lines && self.bytes <= bound.bytes
    }
}

/// Cuts a stream into lines and reports them. A carriage return ends a line too, since progress bars draw over themselves.
#[derive(Default)]
pub(super) struct ProgressLines {
    /// The line that is not over.
    line: Vec<u8>,
    /// The amount that was reported in all.
    admitted: Amount,
    /// The amount that was reported in the second that began then.
    second: Option<(Instant, Amount)>,
    /// The number of lines that were dropped since the last reported one, not counting `last`.
    dropped: u64,
    /// The last line, where it was left out.
    last: Option<String>,
}

impl ProgressLines {
    /// Takes the next piece of the stream, and the time.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant, tell: Progress<'_>) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            for piece in part.chunks(LINE) {
                self.line.extend_from_slice(piece);
                if self.line.len() >= LINE || matches!(piece.last(), Some(b'\n' | b'\r')) {
                    self.end_line(now, tell);
                }
            }
        }
    }

    /// Reports the rest without a line break, the number of dropped lines, and the last line if it was dropped.
    pub(super) fn finish(&mut self, now: Instant, tell: Progress<'_>) {
        self.end_line(now, tell);
        self.tell_dropped(tell);
        if let Some(last) = self.last.take() {
            tell(&last);
        }
    }

    fn end_line(&mut self, now: Instant, tell: Progress<'_>) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        if self.admits(line, now) {
            self.dropped += u64::from(self.last.take().is_some());
            self.tell_dropped(tell);
            tell(line);
        } else {
            self.dropped += u64::from(self.last.replace(line.to_owned()).is_some());
        }
    }

    /// Returns whether there is room for a line, which is taken then.
    fn admits(&mut self, line: &str, now: Instant) -> bool {
        let this_second = self.second.filter(|(since, _)| now.saturating_duration_since(*since) < Duration::from_secs(1));
        let (since, admitted) = this_second.unwrap_or((now, Amount::default()));
        let (admitted, in_all) = (admitted.with(line), self.admitted.with(line));
        let is_admitted = admitted.is_within(A_SECOND) && in_all.is_within(IN_ALL);
        if is_admitted {
            (self.second, self.admitted) = (Some((since, admitted)), in_all);
        }
        is_admitted
    }

    fn tell_dropped(&mut self, tell: Progress<'_>) {
        match std::mem::take(&mut self.dropped) {
            0 => {}
            1 => tell("… 1 line was left out"),
            dropped => tell(&format!("… {dropped} lines were left out")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Lines with the ones they reported.
    #[derive(Default)]
    struct Collected {
        lines: ProgressLines,
        admitted: Mutex<Vec<String>>,
    }

    impl Collected {
        fn push(&mut self, text: &str, now: Instant) {
            let (lines, admitted) = (&mut self.lines, &self.admitted);
            lines.push(text.as_bytes(), now, &|line: &str| admitted.lock().unwrap().push(line.to_owned()));
        }

        fn finish(mut self, now: Instant) -> Vec<String> {
            let (lines, admitted) = (&mut self.lines, &self.admitted);
            lines.finish(now, &|line: &str| admitted.lock().unwrap().push(line.to_owned()));
            self.admitted.into_inner().unwrap()
        }
    }

    #[test]
    fn a_stream_comes_line_by_line_whatever_its_pieces() {
        let (mut admitted, now) = (Collected::default(), Instant::now());
        for piece in ["10%\r5", "0%\r\n", "", "\n\ndone", " now"] {
            admitted.push(piece, now);
        }
        assert_eq!(admitted.finish(now), ["10%", "50%", "done now"]);
        let mut admitted = Collected::default();
        admitted.push(&"x".repeat(5000), now);
        assert_eq!(admitted.finish(now).len(), 5, "a long line comes in pieces");
    }

    #[test]
    fn more_than_a_hundred_lines_a_second_are_counted_and_the_last_one_is_told() {
        let (mut admitted, began) = (Collected::default(), Instant::now());
        for line in 0..250 {
            admitted.push(&format!("{line}\n"), began);
        }
        admitted.push("later\n", began + Duration::from_secs(1));
        for line in 0..100 {
            admitted.push(&format!("{line}\n"), began + Duration::from_secs(1));
        }
        let admitted = admitted.finish(began + Duration::from_secs(1));
        assert_eq!(admitted[99..102], ["99", "… 150 lines were left out", "later"]);
        assert_eq!(admitted[200..], ["98", "99"]);
    }

    #[test]
    fn a_second_has_a_bound_in_bytes_too() {
        let (mut admitted, now) = (Collected::default(), Instant::now());
        for _ in 0..80 {
            admitted.push(&format!("{}\n", "x".repeat(1000)), now);
        }
        let admitted = admitted.finish(now);
        assert_eq!(admitted.len(), 65 + 2);
        assert_eq!(admitted[65], "… 14 lines were left out");
    }

    #[test]
    fn there_is_a_bound_in_all() {
        let (mut admitted, began) = (Collected::default(), Instant::now());
        for second in 0..200 {
            for _ in 0..100 {
                admitted.push("x\n", began + Duration::from_secs(second));
            }
        }
        let admitted = admitted.finish(began + Duration::from_secs(200));
        assert_eq!(admitted.len(), 10_000 + 2);
        assert_eq!(admitted[10_000], "… 9999 lines were left out");
    }
}
