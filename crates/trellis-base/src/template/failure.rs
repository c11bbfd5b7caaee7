//! A failure of the engine while it runs, in our words and with its place.

use std::ops::Range;

use minijinja::{Error, ErrorKind};

use super::{RenderLimits, delimiters, dialects::path_text, explain};

/// A failure of a rendering: the message, and its bytes in the text, if they are known.
pub(super) fn failure(error: &Error, text: &str, limits: RenderLimits) -> (String, Option<Range<usize>>) {
    let place = error.range().map(|range| delimiters::clamp(text, range));
    let message = match error.kind() {
        ErrorKind::UndefinedError => match &place {
            Some(place) => format!("`{}` is not set", path_text(&text[place.clone()])),
            None => "a value is not set".into(),
        },
        ErrorKind::WriteFailure => format!("the text is longer than {} bytes (`limits.template_output`)", limits.output),
        ErrorKind::OutOfFuel => format!("the template needs more than {} steps (`limits.template_fuel`)", limits.fuel),
        kind => error.detail().map_or_else(|| kind.to_string(), explain::in_our_words),
    };
    (message, place)
}
