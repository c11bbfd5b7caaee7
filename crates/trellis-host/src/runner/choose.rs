//! The meaning of a typed line for a request: numbers and prefixes of options become their values; the engine sees the value (language
//! 6.5). Every console for people reads lines by these rules.

use trellis_core::{
    Input, Value,
    engine::{OptionView, Request, RequestType},
    syntax::node::InputType,
};

/// Returns the input of a line. Text that fits no option is passed unchanged: the engine reports the accepted input.
pub fn answer(request: &Request, line: &str) -> Input {
    option(request, line).map_or_else(|| Input::Text(line.to_owned()), input)
}

/// The input that an option is.
pub fn input(option: &OptionView) -> Input {
    match &option.value {
        Value::Text(text) => Input::Text(text.to_string()),
        value => Input::Value(value.clone()),
    }
}

/// The option that a line names: by value, then by a text that only one shows, then by number, then by a prefix that only one has. Where other input is
/// accepted too, a prefix is no option.
pub fn option<'r>(request: &'r Request, typed: &str) -> Option<&'r OptionView> {
    let (options, typed) = (&request.options, typed.trim());
    if typed.is_empty() {
        return None;
    }
    let valued = options.iter().find(|option| option.value.to_string() == typed);
    let shown = || only(options.iter().filter(|option| *option.text == *typed));
    let folded = typed.to_lowercase();
    let alike = || only(options.iter().filter(|option| names(option).contains(&folded)));
    let numbered = || {
        let number = typed.bytes().all(|byte| byte.is_ascii_digit()).then(|| typed.parse::<usize>().ok()).flatten();
        number.filter(|_| is_numbered(request)).and_then(|number| options.get(number.checked_sub(1)?))
    };
    let begun = || only(begun(request, &folded));
    valued.or_else(shown).or_else(alike).or_else(numbered).or_else(begun)
}

/// Options that an ambiguous beginning names in full.
const MAX_NAMED_OPTIONS: usize = 5;

/// Returns the message about a line that is the prefix of several options.
pub fn ambiguity(request: &Request, typed: &str) -> Option<String> {
    let typed = typed.trim();
    let folded = typed.to_lowercase();
    let begun: Vec<_> = begun(request, &folded).map(|option| format!("`{}`", option.text)).collect();
    if typed.is_empty() || begun.len() < 2 || option(request, typed).is_some() {
        return None;
    }
    let more = if begun.len() > MAX_NAMED_OPTIONS { ", …" } else { "" };
    Some(format!("`{typed}` fits several options: {}{more}", begun[..begun.len().min(MAX_NAMED_OPTIONS)].join(", ")))
}

/// Returns the options that begin with a text in small letters; none if other input is accepted too.
fn begun<'r>(request: &'r Request, folded: &str) -> impl Iterator<Item = &'r OptionView> {
    request.options.iter().filter(move |option| !request.open && names(option).iter().any(|name| name.starts_with(folded)))
}

/// Returns whether the number of an option names it: not where a number may be an answer of its own.
pub fn is_numbered(request: &Request) -> bool {
    let numeric = matches!(request.input_type, RequestType::Declared(InputType::Int | InputType::Float | InputType::Json));
    !(request.open && numeric)
}

fn names(option: &OptionView) -> [String; 2] {
    [option.value.to_string().to_lowercase(), option.text.to_lowercase()]
}

fn only<'r>(mut options: impl Iterator<Item = &'r OptionView>) -> Option<&'r OptionView> {
    options.next().filter(|_| options.next().is_none())
}

/// Yes or no, as `confirm` takes it (language 6.5).
pub fn yes_or_no(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" | "1" => Some(true),
        "n" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(options: &[(Value, &str)], open: bool) -> Request {
        let options = options.iter().map(|(value, text)| OptionView::new(value.clone(), *text)).collect();
        let request = Request::choice(options);
        if open { request.open_to(RequestType::Declared(InputType::Choice)) } else { request }
    }

    fn text(text: &str) -> Input {
        Input::Text(text.into())
    }

    #[test]
    fn options_are_found_by_value_text_number_and_prefix() {
        let request = request(&[("track".into(), "Track an order"), (Value::Int(7), "Talk to a person"), ("2".into(), "Two")], false);
        for typed in ["track", "Track an order", " TRACK ", "1", "tr"] {
            assert_eq!(answer(&request, typed), text("track"), "{typed}");
        }
        assert_eq!(answer(&request, "talk"), Input::Value(Value::Int(7)));
        assert_eq!(answer(&request, "2"), text("2"), "a value beats a number");
        assert_eq!(answer(&request, "t"), text("t"), "three begin so");
        assert_eq!(ambiguity(&request, " t"), Some("`t` fits several options: `Track an order`, `Talk to a person`, `Two`".into()));
        assert_eq!((ambiguity(&request, "tr"), ambiguity(&request, "x"), ambiguity(&request, "")), (None, None, None));
        for typed in ["", "0", "4", "quit", "+1"] {
            assert_eq!(answer(&request, typed), text(typed));
        }
    }

    #[test]
    fn a_text_that_several_show_names_none_of_them() {
        let request = request(&[("a".into(), "Room"), ("b".into(), "Room"), ("c".into(), "Rooms")], false);
        assert_eq!(answer(&request, "Room"), text("Room"), "the engine says what to do");
        assert_eq!(answer(&request, "2"), text("b"));
        assert_eq!(answer(&request, "rooms"), text("c"));
    }

    #[test]
    fn where_other_input_is_accepted_a_prefix_is_an_answer_of_its_own() {
        let request = request(&[("track".into(), "Track")], true);
        assert_eq!(answer(&request, "tr"), text("tr"));
        assert_eq!(answer(&request, "1"), text("track"));
    }
}
