//! The lines of a session's files. Each begins with its kind and its number, and a checksum over all of it.
//!
//! ```text
//! {"trellis":1,"sum":"5c0d7a11","session":"run-1","first":3}       the first line: format, session, number of the first record
//! {"snapshot":4,"sum":"93b1c2f0","head":{…},"state":{…}}           the result of the records before 4, if records were taken out
//! {"seq":3,"sum":"0b77e654","record":{…}}                          a record
//! {"seq":4,"sum":"e2a4d09b","head":{…},"record":{…}}               the last record of an append: without it nothing was appended
//! ```
//!
//! The newest snapshot is in a file of its own beside the journal, with the place where the journal continues:
//! `{"snapshot":4,"sum":"…","head":{…},"beside":{"journal":"5c0d7a11","offset":310},"state":{…}}`.

use std::{fmt::Write, sync::Arc};

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use trellis_core::{NodeId, SessionId};

use crate::store::{Head, SessionStatus};

/// The format that is written, and the newest that is read.
pub(super) const LINE_FORMAT: u64 = 1;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Trellis,
    Snapshot,
    Seq,
}

impl LineKind {
    const ALL: [Self; 3] = [Self::Seq, Self::Snapshot, Self::Trellis];

    /// Returns the beginning of its lines; the number follows.
    pub(super) fn begins(self) -> &'static str {
        match self {
            Self::Trellis => "{\"trellis\":",
            Self::Snapshot => "{\"snapshot\":",
            Self::Seq => "{\"seq\":",
        }
    }
}

/// A line whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedLine<'a> {
    pub(super) kind: LineKind,
    pub(super) number: u64,
    pub(super) sum: &'a str,
    /// The text after the checksum, without the brace at the end.
    rest: &'a str,
}

const SUM: &str = ",\"sum\":\"";
const HEAD_KEY: &str = "\"head\":";
const BESIDE: &str = "\"beside\":";

/// Reads a line, without its line break.
pub(super) fn read(line: &[u8]) -> Result<CheckedLine<'_>, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let (kind, digits) = begins(line).ok_or("it does not begin as a line of a session does")?;
    let (head, rest) = line.split_at(kind.begins().len() + digits);
    let (sum, rest) = rest.strip_prefix(SUM).and_then(|rest| rest.split_at_checked(8)).ok_or("it has no checksum")?;
    if sum != checksum([head, rest].into_iter()) {
        return Err("its checksum is wrong");
    }
    let rest = rest.strip_prefix("\",").and_then(|rest| rest.strip_suffix('}')).ok_or("it does not end as a line of a session does")?;
    let number = head[kind.begins().len()..].parse().map_err(|_| "its number is none")?;
    Ok(CheckedLine { kind, number, sum, rest })
}

/// Returns the kind of a line, and the number of digits of its number.
fn begins(line: &str) -> Option<(LineKind, usize)> {
    let (kind, rest) = LineKind::ALL.into_iter().find_map(|kind| Some((kind, line.strip_prefix(kind.begins())?)))?;
    Some((kind, rest.bytes().take_while(u8::is_ascii_digit).count()))
}

/// The format that a first line names, also where nothing else of it can be read.
pub(super) fn format(line: &[u8]) -> Option<u64> {
    number(line, LineKind::Trellis)
}

/// The number behind the snapshot that a line begins with; 0 where it does not.
pub(super) fn held(line: &[u8]) -> u64 {
    number(line, LineKind::Snapshot).unwrap_or_default()
}

fn number(line: &[u8], kind: LineKind) -> Option<u64> {
    let digits = line.strip_prefix(kind.begins().as_bytes())?;
    let digits = &digits[..digits.iter().take_while(|byte| byte.is_ascii_digit()).count()];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Writes a line of `parts`, which are JSON keys with their values, and gives back its checksum.
fn write(kind: LineKind, number: u64, rest: &str, into: &mut String) -> String {
    let begins = into.len();
    // Writing to a text cannot fail.
    let _ = write!(into, "{}{number}", kind.begins());
    let suffix = ["\",", rest, "}"];
    let sum = checksum(std::iter::once(&into[begins..]).chain(suffix));
    into.push_str(SUM);
    into.push_str(&sum);
    suffix.iter().for_each(|part| into.push_str(part));
    into.push('\n');
    sum
}

fn checksum<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = crc32fast::Hasher::new();
    parts.for_each(|part| hasher.update(part.as_bytes()));
    format!("{:08x}", hasher.finalize())
}

/// Returns a value as JSON; the values written here always have a JSON form.
fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The head as a line has it; session and number are in the line itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    graph: Arc<str>,
    program: Arc<str>,
    began: u64,
    at: u64,
    node: NodeId,
    standing: SessionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<u64>,
}

impl Mark {
    pub(super) fn of(head: &Head) -> Self {
        let Head { graph, program, began, at, node, standing, due, .. } = head.clone();
        Self { graph, program, began, at, node, standing, due }
    }

    pub(super) fn head(self, session: SessionId, next: u64) -> Head {
        let Self { graph, program, began, at, node, standing, due } = self;
        Head { session, graph, program, next, began, at, node, standing, due }
    }
}

/// The content of the first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FirstLine {
    pub(super) session: SessionId,
    /// The number of the first stored record.
    pub(super) first: u64,
}

/// The place where a journal continues after the snapshot beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Beside {
    /// The checksum of the first line of the journal.
    pub(super) journal: String,
    /// The beginning of the first record that is not in the snapshot, in bytes.
    pub(super) offset: u64,
}

/// Writes the first line, and gives back its checksum.
pub(super) fn write_opening(opening: &FirstLine, into: &mut String) -> String {
    let fields = json(opening);
    write(LineKind::Trellis, LINE_FORMAT, &fields[1..fields.len() - 1], into)
}

/// Writes a record; `mark` for the last of an append.
pub(super) fn write_record(seq: u64, mark: Option<&Mark>, text: &str, into: &mut String) {
    let rest = mark.map_or_else(|| format!("\"record\":{text}"), |mark| format!("\"head\":{},\"record\":{text}", json(mark)));
    write(LineKind::Seq, seq, &rest, into);
}

/// Writes a snapshot that holds the records before `next`.
pub(super) fn write_snapshot(next: u64, mark: &Mark, beside: Option<&Beside>, text: &str, into: &mut String) {
    let beside = beside.map_or_else(String::new, |beside| format!("\"beside\":{},", json(beside)));
    write(LineKind::Snapshot, next, &format!("\"head\":{},{beside}\"state\":{text}", json(mark)), into);
}

impl<'a> CheckedLine<'a> {
    /// Returns the content of the first line.
    pub(super) fn opening(&self) -> Option<FirstLine> {
        (self.kind == LineKind::Trellis).then(|| serde_json::from_str(&format!("{{{}}}", self.rest)).ok())?
    }

    /// Returns whether it has a head.
    pub(super) fn is_marked(&self) -> bool {
        self.rest.starts_with(HEAD_KEY)
    }

    /// Returns the head of the session.
    pub(super) fn mark(&self) -> Option<Mark> {
        Some(leading(self.rest.strip_prefix(HEAD_KEY)?)?.0)
    }

    /// Returns the place where the journal continues after a snapshot.
    pub(super) fn beside(&self) -> Option<Beside> {
        Some(leading(self.after_head()?.strip_prefix(BESIDE)?)?.0)
    }

    /// The text of a record or a snapshot, byte for byte.
    pub(super) fn text(&self) -> Option<&'a str> {
        let mut rest = self.after_head()?;
        if let Some(beside) = rest.strip_prefix(BESIDE) {
            rest = leading::<IgnoredAny>(beside)?.1.strip_prefix(',')?;
        }
        rest.strip_prefix("\"record\":").or_else(|| rest.strip_prefix("\"state\":"))
    }

    fn after_head(&self) -> Option<&'a str> {
        match self.rest.strip_prefix(HEAD_KEY) {
            Some(head) => leading::<IgnoredAny>(head)?.1.strip_prefix(','),
            None => Some(self.rest),
        }
    }
}

/// Returns the JSON value at the beginning of a text, and the rest.
fn leading<T: DeserializeOwned>(text: &str) -> Option<(T, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        let (graph, program, node) = ("a \"b\"".into(), "p".into(), "n".into());
        Mark { graph, program, began: 1, at: 2, node, standing: SessionStatus::Active, due: Some(3) }
    }

    #[test]
    fn lines_come_back() {
        let mut text = String::new();
        write_opening(&FirstLine { session: "a\n\"".into(), first: 7 }, &mut text);
        write_record(7, None, "{\"head\":1}", &mut text);
        write_record(8, Some(&mark()), "[\"record\"]", &mut text);
        write_snapshot(9, &mark(), Some(&Beside { journal: "x".into(), offset: 5 }), "null", &mut text);
        let lines: Vec<_> = text.lines().map(|line| read(line.as_bytes()).unwrap()).collect();
        let opening = lines[0].opening().unwrap();
        assert_eq!((opening.session.as_str(), opening.first, lines[0].number), ("a\n\"", 7, LINE_FORMAT));
        assert_eq!((lines[1].number, lines[1].is_marked(), lines[1].text()), (7, false, Some("{\"head\":1}")));
        assert_eq!((lines[2].number, lines[2].is_marked(), lines[2].text()), (8, true, Some("[\"record\"]")));
        assert_eq!(lines[2].mark().unwrap().head("s".into(), 9).due, Some(3));
        assert_eq!((lines[3].text(), lines[3].beside().unwrap().offset), (Some("null"), 5));
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut text = String::new();
        write_record(12, Some(&mark()), "{\"seq\":12,\"text\":\"hello\"}", &mut text);
        let line = text.trim_end().as_bytes();
        assert!(read(line).is_ok());
        for bit in 0..line.len() * 8 {
            let mut other = line.to_vec();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&other).is_err(), "bit {bit}: {}", String::from_utf8_lossy(&other));
        }
        for cut in 0..line.len() {
            assert!(read(&line[..cut]).is_err(), "{cut}");
        }
    }
}
