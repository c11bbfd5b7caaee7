//! Lines of a reader, one by one, never more of one in memory than a bound.
//!
//! **Invariant:** every byte belongs to exactly one line, in order; a read that is dropped loses nothing.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// One line, without its line break. The last one counts without one too.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Text(String),
    NotUtf8,
    /// Longer than the bound; all of it was read and thrown away.
    TooLong {
        size: u64,
        limit: u64,
    },
    End,
}

/// Reads lines.
pub(super) struct LineReader<R> {
    reader: R,
    line: Vec<u8>,
    /// Bytes of the current line so far, including discarded ones.
    size: u64,
    ended: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), size: 0, ended: false }
    }

    /// Returns whether the end was read.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The next line of at most `limit` bytes.
    pub(super) async fn next(&mut self, limit: u64) -> io::Result<Line> {
        // A carriage return before the line break is none of the line's bytes.
        let keep = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
        while !self.ended {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                self.ended = true;
                break;
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            self.line.extend_from_slice(&part[..part.len().min(keep - self.line.len())]);
            self.size += part.len() as u64;
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(self.take(limit));
            }
        }
        Ok(if self.size == 0 { Line::End } else { self.take(limit) })
    }

    fn take(&mut self, limit: u64) -> Line {
        let mut line = std::mem::take(&mut self.line);
        let mut size = std::mem::take(&mut self.size);
        if size == line.len() as u64 && line.last() == Some(&b'\r') {
            line.pop();
            size -= 1;
        }
        if size > limit {
            return Line::TooLong { size, limit };
        }
        String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    fn read(bytes: &[u8], limit: u64) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = LineReader::new(BufReader::with_capacity(3, bytes));
            let mut all = Vec::new();
            loop {
                match lines.next(limit).await.unwrap() {
                    Line::End => return all,
                    line => all.push(line),
                }
            }
        })
    }

    #[test]
    fn every_line_comes_also_the_last_without_a_break() {
        let text = |text: &str| Line::Text(text.into());
        assert_eq!(read(b"one\r\n\ntwo\rthree\nlast", 100), [text("one"), text(""), text("two\rthree"), text("last")]);
        assert_eq!(read(b"\xff\n", 100), [Line::NotUtf8]);
        assert_eq!(read(b"", 100), []);
    }

    #[test]
    fn a_line_over_the_bound_is_thrown_away_and_the_next_one_is_whole() {
        assert_eq!(
            read(b"12345\r\n123456\nok", 5),
            [Line::Text("12345".into()), Line::TooLong { size: 6, limit: 5 }, Line::Text("ok".into())]
        );
        let long = [b"x".repeat(10 << 20), b"\nnext".to_vec()].concat();
        assert_eq!(read(&long, 4096), [Line::TooLong { size: 10 << 20, limit: 4096 }, Line::Text("next".into())]);
    }
}
