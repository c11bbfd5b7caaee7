//! Test doubles of tools: a line of a `tools` block is the outcome of a call.

use trellis_core::{
    Mapping, ToolOutcome, Value,
    transcript::{DoubleLine, RecordedResult},
};
use trellis_project::sheet::{Expected, recorded};

use crate::beside::Beside;

/// One line of a block.
#[derive(Clone, Debug)]
pub(crate) struct Double {
    /// The line of the sheet, from 1.
    pub(crate) line: usize,
    /// The line of its block, from 1.
    line_of_block: usize,
    /// The tool, or `graph:NODE`.
    pub(crate) name: String,
    /// Arguments that the call must have; `None` if any will do.
    args: Option<Mapping>,
    /// The outcome of the call.
    pub(crate) outcome: ToolOutcome,
    /// `?`: it need not be used.
    pub(crate) is_optional: bool,
    /// The number of headings between its block and the case: 0 for the case's own block.
    pub(crate) distance: usize,
    /// The number of calls that it answered.
    pub(crate) used: usize,
    /// True if it is of a recording: then it answers calls with the same arguments and no others.
    is_recorded: bool,
}

impl Double {
    /// Returns its name in a transcript: the line of its block, so that it stays the same where the block moves.
    pub(crate) fn place(&self) -> String {
        let above = if self.distance > 0 { " above" } else { "" };
        format!("double {}{above}", self.line_of_block)
    }

    /// Returns whether it is of a recording whose line was used.
    pub(crate) fn shares(&self, is_used: impl Fn(usize) -> bool) -> bool {
        self.is_recorded && is_used(self.line)
    }
}

/// The doubles of a case, those of the nearest heading first; an error comes with its line.
pub(crate) fn read_blocks(headings: &[Vec<Expected>], beside: &dyn Beside) -> Result<Vec<Double>, (usize, String)> {
    let mut doubles = Vec::new();
    for (distance, blocks) in headings.iter().enumerate() {
        let lines = blocks.iter().flat_map(|block| (1..).zip(block.text.lines()).map(|(at, text)| (block.line + at, at, text)));
        for (line, line_of_block, text) in lines {
            match DoubleLine::read(text).map_err(|error| (line, error))? {
                Some(DoubleLine::Recording { file, is_optional }) => {
                    let read = beside.read_beside(file).and_then(|text| of_recording(&text, (line, line_of_block), distance, is_optional));
                    doubles.extend(read.map_err(|error| (line, format!("`{file}`: {error}")))?);
                }
                Some(DoubleLine::Double { name, args, outcome, is_optional }) => {
                    let name = name.to_owned();
                    doubles.push(Double { line, line_of_block, name, args, outcome, is_optional, distance, used: 0, is_recorded: false });
                }
                None => {}
            }
        }
    }
    Ok(doubles)
}

/// Returns the doubles of a case, followed by those of the case that it replays. A line of both has been used as often as the replay used
/// it; other doubles of the replayed case may stay unused.
pub(crate) fn before(mut own: Vec<Double>, replayed: Vec<Double>) -> Vec<Double> {
    let beyond = own.iter().map(|double| double.distance).max().unwrap_or_default() + 1;
    for mut double in replayed {
        match own.iter_mut().find(|known| known.line == double.line) {
            Some(known) => known.used = double.used,
            None => {
                double.distance += beyond;
                double.is_optional = true;
                own.push(double);
            }
        }
    }
    own
}

/// Reads the results of a recording: each answers the calls of its tool with just its arguments. They share the line that names the file, so that
/// one of them counts as its use.
fn of_recording(text: &str, (line, line_of_block): (usize, usize), distance: usize, is_optional: bool) -> Result<Vec<Double>, String> {
    let double = |result: RecordedResult| {
        let (name, args) = (result.tool.to_string(), Some(result.args));
        Double { line, line_of_block, name, args, outcome: result.outcome, is_optional, distance, used: 0, is_recorded: true }
    };
    Ok(recorded(text)?.into_iter().map(double).collect())
}

/// Returns the double that answers a call: nearest block first, then the most particular, then the next unused; the last of its kind answers
/// all further calls.
pub(crate) fn answering<'d>(doubles: &'d mut [Double], name: &str, args: &Mapping) -> Option<&'d mut Double> {
    let args = Value::Map(args.clone());
    let rank = |double: &Double| {
        let given = double.args.clone().map(Value::Map);
        let particular = given.as_ref().map_or(Some(0), |given| equal_parts(given, &args))?;
        let fits = !double.is_recorded || given.as_ref() == Some(&args);
        (fits && double.name == name).then_some((double.distance, std::cmp::Reverse(particular)))
    };
    let best = doubles.iter().filter_map(rank).min()?;
    let kind: Vec<usize> = (0..doubles.len()).filter(|&at| rank(&doubles[at]) == Some(best)).collect();
    let at = kind.iter().copied().find(|&at| doubles[at].used == 0).or(kind.last().copied())?;
    doubles[at].used += 1;
    Some(&mut doubles[at])
}

/// Returns the number of leaves of `given` that `args` has with the same value; `None` if one differs or is missing.
fn equal_parts(given: &Value, args: &Value) -> Option<usize> {
    match (given, args) {
        (Value::Map(given), Value::Map(args)) => {
            given.iter().map(|(key, value)| equal_parts(value, args.get(key)?)).try_fold(1, |sum, parts| Some(sum + parts?))
        }
        _ => (given == args).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trellis_core::{NodeId, Program};
    use trellis_project::sheet::BlockKind;

    use super::*;

    /// No file and no calculation.
    struct Nothing;

    impl Beside for Nothing {
        fn read_beside(&self, path: &str) -> Result<String, String> {
            Err(path.to_owned())
        }

        fn compute(&self, _: &Program, _: &NodeId, _: &Arc<str>, _: &Mapping) -> Option<ToolOutcome> {
            None
        }
    }

    fn doubles(text: &str) -> Vec<Double> {
        let block = Expected { kind: BlockKind::Tools, words: Vec::new(), line: 0, range: 0..0, text: text.to_owned() };
        let mut doubles = read_blocks(&[vec![block]], &Nothing).unwrap();
        doubles.iter_mut().for_each(|double| double.line -= 1);
        doubles
    }

    fn answered(doubles: &mut [Double], args: &str) -> usize {
        let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args}") };
        answering(doubles, "a", &args).unwrap().line
    }

    #[test]
    fn the_most_particular_line_answers_then_the_next_and_the_last_goes_on() {
        let mut found = doubles("a 1\na 2\na {\"x\": {\"y\": 1}} 3\na {\"x\": {\"y\": 1}, \"z\": 2} ! no\nb null ?");
        assert_eq!(answered(&mut found, "{}"), 0);
        assert_eq!(answered(&mut found, "{\"x\":{\"y\":2}}"), 1);
        assert_eq!(answered(&mut found, "{}"), 1, "the last of its kind goes on");
        assert_eq!(answered(&mut found, "{\"x\":{\"y\":1,\"w\":1}}"), 2);
        assert_eq!(answered(&mut found, "{\"x\":{\"y\":1},\"z\":2}"), 3);
        assert!(found[4].is_optional && !found[3].is_optional);
    }

    #[test]
    fn a_replayed_case_stands_behind_and_what_it_used_stays_used() {
        let mut replayed = doubles("a 1\na 2");
        assert_eq!(answered(&mut replayed, "{}"), 0);
        replayed[1].line = 9;
        let both = before(doubles("a 1"), replayed);
        assert_eq!(both.iter().map(|double| (double.line, double.used, double.distance)).collect::<Vec<_>>(), [(0, 1, 0), (9, 0, 1)]);
        assert!(both[1].is_optional && !both[0].is_optional);
    }

    #[test]
    fn a_recording_answers_calls_with_its_arguments_and_no_others() {
        let line = |args: &str, result: u8| format!("{{\"tool\":\"a\",\"args\":{args},\"outcome\":{{\"success\":{result}}}}}\n");
        let text = [line("{\"x\":1}", 1), line("{\"x\":1}", 2), "{\"tool\":".to_owned()].concat();
        let mut found = of_recording(&text, (3, 3), 0, false).unwrap();
        let mut outcome = |args: &str| {
            let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args}") };
            answering(&mut found, "a", &args).map(|double| double.outcome.clone())
        };
        let is = |value: i64| Some(ToolOutcome::Success(Value::Int(value)));
        assert_eq!([outcome("{\"x\":1}"), outcome("{\"x\":1}"), outcome("{\"x\":1}")], [is(1), is(2), is(2)]);
        assert_eq!(outcome("{\"x\":1,\"y\":2}"), None);
    }
}
