//! One session of a case: the root, or the child of a `graph` call.

use trellis_core::{State, engine::View, id::CallId, transcript::TranscriptWriter};

/// A session while it is played.
#[derive(Debug)]
pub(crate) struct Session {
    /// The current state.
    pub(crate) state: State,
    /// The writer of its lines, before they are marked with its number.
    pub(crate) writer: TranscriptWriter,
    /// The session that called it, and the call.
    pub(crate) caller: Option<(usize, CallId)>,
    /// The number of the call that began it, among the calls of the transcript.
    pub(crate) number: Option<usize>,
    /// True if its caller has continued without it.
    pub(crate) is_over: bool,
    /// True if its stop has been shown.
    pub(crate) is_shown: bool,
    /// The view of its stop, once it was shown.
    pub(crate) view: Option<View>,
}

impl Session {
    pub(crate) fn new(state: State, caller: Option<(usize, CallId)>, number: Option<usize>) -> Self {
        Self { state, writer: TranscriptWriter::default(), caller, number, is_over: false, is_shown: false, view: None }
    }
}

/// Returns a line of a child, with its number after the mark.
pub(crate) fn marked(line: &str, number: Option<usize>) -> String {
    match (number, line.chars().next()) {
        (Some(number), Some(mark)) => {
            let rest = &line[mark.len_utf8()..];
            format!("{mark}[{number}]{rest}")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_child_stands_behind_the_mark() {
        assert_eq!(marked("| Who?", Some(2)), "|[2] Who?");
        assert_eq!(marked("| Who?", None), "| Who?");
    }
}
