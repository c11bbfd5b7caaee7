//! A collection offers its graphs: a numbered list, and one line of standard input.

use std::io::{self, BufRead};

use crate::{open::Place, report::printable, terminal};

/// Asks which graph is meant, until one is; nothing when the input ends before.
///
/// # Errors
/// Standard input or output fails.
pub(crate) fn offer(places: &[Place]) -> anyhow::Result<Option<&Place>> {
    let list = places.iter().enumerate().map(|(at, place)| format!("  {}) {}\n", at + 1, printable(name(place)))).collect::<String>();
    terminal::print(&list)?;
    // The buffer belongs to the process: what stands behind this line is read by the graph.
    let mut stdin = io::stdin().lock();
    loop {
        terminal::print(&format!("[1-{}] > ", places.len()))?;
        let mut line = String::new();
        if stdin.read_line(&mut line)? == 0 {
            terminal::print("\n")?;
            return Ok(None);
        }
        let typed = line.trim();
        match chosen(places, typed) {
            Some(place) => return Ok(Some(place)),
            None => terminal::print(&format!("there is no graph `{}` here\n", printable(typed)))?,
        }
    }
}

/// By number, by name, or by a beginning that only one name has.
fn chosen<'p>(places: &'p [Place], typed: &str) -> Option<&'p Place> {
    if let Some(place) = places.iter().find(|place| name(place) == typed) {
        return Some(place);
    }
    if let Ok(number) = typed.parse::<usize>() {
        return places.get(number.checked_sub(1)?);
    }
    let mut begun = places.iter().filter(|place| !typed.is_empty() && name(place).starts_with(typed));
    begun.next().filter(|_| begun.next().is_none())
}

fn name(place: &Place) -> &str {
    place.below.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_chosen_by_number_name_or_beginning() {
        let place = |name: &str| Place { path: name.into(), below: format!("{name}/") };
        let places = [place("tour"), place("support"), place("sup/2"), place("2")];
        let named = |typed: &str| chosen(&places, typed).map(name);
        assert_eq!(named("1"), Some("tour"));
        assert_eq!(named("2"), Some("2"), "a name comes before a number");
        assert_eq!((named("t"), named("sup"), named("supp")), (Some("tour"), None, Some("support")));
        assert_eq!((named("0"), named("5"), named("")), (None, None, None));
    }
}
