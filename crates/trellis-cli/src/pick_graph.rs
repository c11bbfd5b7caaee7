//! Asks which graph of a collection to use: with a menu at a terminal, otherwise with a numbered list and a line of standard input.
//!
//! **Invariant:** input after the answer is left for the graph, whether it came from a pipe or was typed ahead.

use std::io::{self, BufRead};

use trellis_core::engine::{OptionView, Request};
use trellis_host::runner::choose;

use crate::{
    console::{Chosen, Interactive, Tty},
    open::Place,
    report::printable,
    terminal::{self, Look},
};

/// Bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 4096;

/// The outcome of offering graphs.
#[derive(Debug)]
pub(crate) enum Offered<'p> {
    Chosen(&'p Place),
    /// The input ended.
    Ended,
    Interrupted,
}

/// Asks for a graph until one is chosen. A terminal is usable again afterwards.
///
/// # Errors
/// The terminal, standard input or output fails.
pub(crate) fn offer<'p>(places: &'p [Place], tty: &mut Option<Tty>) -> anyhow::Result<Offered<'p>> {
    let request = request(places);
    let Some(own) = tty.take() else { return from_lines(places, &request) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (chosen, own) = runtime.block_on(async {
        Interactive::new(own, Look::of_stdout(), MAX_ANSWER_BYTES, MAX_ANSWER_BYTES)?.choose("Which graph?", &request).await
    })?;
    *tty = own;
    Ok(match chosen {
        Chosen::Option(at) => places.get(at).map_or(Offered::Ended, Offered::Chosen),
        Chosen::Ended => Offered::Ended,
        Chosen::Interrupted => Offered::Interrupted,
    })
}

fn from_lines<'p>(places: &'p [Place], request: &Request) -> anyhow::Result<Offered<'p>> {
    let list =
        request.options.iter().enumerate().map(|(at, option)| format!("  {}) {}\n", at + 1, printable(&option.text))).collect::<String>();
    terminal::print(&list)?;
    // The buffer belongs to the process: what stands behind this line is read by the graph.
    let mut stdin = io::stdin().lock();
    loop {
        terminal::print(&format!("[1-{}] > ", places.len()))?;
        let mut line = String::new();
        if stdin.read_line(&mut line)? == 0 {
            terminal::print("\n")?;
            return Ok(Offered::Ended);
        }
        match chosen(places, request, &line) {
            Some(place) => return Ok(Offered::Chosen(place)),
            None => {
                let none = || format!("there is no graph `{}` here", line.trim());
                terminal::print(&format!("{}\n", printable(&choose::ambiguity(request, &line).unwrap_or_else(none))))?;
            }
        }
    }
}

/// By name, by number, or by a beginning that only one name has: as options of a graph.
fn chosen<'p>(places: &'p [Place], request: &Request, typed: &str) -> Option<&'p Place> {
    let option = choose::option(request, typed)?;
    let at = request.options.iter().position(|known| known.value == option.value)?;
    places.get(at)
}

fn request(places: &[Place]) -> Request {
    let option = |place: &Place| {
        let name = place.below.trim_end_matches('/');
        OptionView::new(name, name)
    };
    Request::choice(places.iter().map(option).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_chosen_by_number_name_or_beginning() {
        let place = |name: &str| Place { path: name.into(), below: format!("{name}/") };
        let places = [place("tour"), place("support"), place("sup/2"), place("2")];
        let request = request(&places);
        let named = |typed: &str| chosen(&places, &request, typed).map(|place| place.below.trim_end_matches('/'));
        assert_eq!(named("1"), Some("tour"));
        assert_eq!(named("2"), Some("2"), "a name comes before a number");
        assert_eq!((named("t"), named("sup"), named("supp")), (Some("tour"), None, Some("support")));
        assert_eq!((named("0"), named("5"), named("")), (None, None, None));
    }
}
