//! The text and needs of a session in words, with instructions for a model to continue it.

use std::fmt::Write as _;

use trellis_core::Value;
use trellis_host::wire::{Call, End, EndReason, InputQuestion, InputType, Said, Stop, Turn};

use super::{option_texts, refusal, shown};
use crate::trouble::Trouble;

/// Returns the text of a turn, for a model that sees nothing else. `is_hidden`: arguments of its call are secret. `is_resumed`: the next call ends
/// its pause.
pub(in crate::mcp) fn words(turn: &Turn, is_hidden: bool, is_resumed: bool) -> String {
    let mut text = refusal(turn).map(|why| format!("{why}\n\n")).unwrap_or_default();
    let others: Vec<_> = turn.others.iter().filter(|other| other.child.is_some() && other.child != turn.child).collect();
    let is_of_other = |said: &&Said| others.iter().any(|other| other.child == said.child);
    for said in turn.said.iter().filter(|said| !is_of_other(said)).map(|said| said.text.trim()).filter(|text| !text.is_empty()) {
        let _ = write!(text, "{said}\n\n");
    }
    let is_waiting = matches!(turn.stop, Stop::Running(_) | Stop::Sleeping(_)) && turn.paused && is_resumed;
    let need = match is_waiting {
        true => format!("It is paused at `{}`, since its task was cancelled. `navigate` without an answer resumes it.", turn.node),
        false => need(turn, &turn.stop, is_hidden),
    };
    if !need.is_empty() {
        let _ = write!(text, "{need}\n\n");
    }
    let mut last_child = None;
    for other in &turn.others {
        let child = other.child.as_ref().map(|child| format!(" in `{child}` (`to`)")).unwrap_or_default();
        let _ = write!(text, "Besides, at `{}`{child}: ", other.node);
        // A child that waits for several things said its text once.
        let is_first = last_child.replace(&other.child).is_none_or(|before| *before != other.child);
        for said in turn.said.iter().filter(|said| is_first && is_of_other(said) && said.child == other.child) {
            let _ = write!(text, "{}\n\n", said.text.trim());
        }
        let _ = write!(text, "{}\n\n", self::need(turn, &other.stop, is_hidden));
    }
    let _ = write!(text, "session {}, seq {}", turn.session, turn.seq);
    text
}

/// Returns the description of the trouble, with the current turn.
pub(in crate::mcp) fn detail(trouble: &Trouble, is_resumed: bool) -> String {
    let mut text = format!("{}: {}", trouble.code.as_str(), trouble.detail);
    for misfit in trouble.errors.iter().filter(|misfit| misfit.message != trouble.detail) {
        let _ = write!(text, "\n- {}: {}", misfit.pointer, misfit.message);
    }
    if let Some(current) = &trouble.current {
        let _ = write!(text, "\n\n{}", words(current, false, is_resumed));
    }
    text
}

fn need(turn: &Turn, stop: &Stop, is_hidden: bool) -> String {
    let go_on = |how: &str| format!("Then call `navigate` with `session`, `seq` and {how}.");
    match stop {
        Stop::Running(_) | Stop::Sleeping(_) if turn.paused => format!(
            "It is paused at `{}`, and does not go on by itself: a person resumes it on the pages of `trellis serve`, or over HTTP \
             (`POST /api/sessions/{}/resume`).",
            turn.node, turn.session
        ),
        Stop::RequestInput(question) if question.input_type == InputType::Secret => format!(
            "A secret is asked for. A person types it, never a model: on the pages of `trellis serve`, or at a terminal with `trellis run --session {}`.",
            turn.session
        ),
        Stop::RequestInput(question) if question.options.is_empty() => format!("{} {}", asked(question), go_on("`input`")),
        // A list ends its line.
        Stop::RequestInput(question) => format!("{}{}", asked(question), go_on("`input`")),
        Stop::Approval(question) => {
            let ask = question.ask.as_deref().map(|ask| format!("{ask} ")).unwrap_or_default();
            format!(
                "{ask}The call `{}` ({}) with {} waits for the approval of a person: on the pages of `trellis serve`, over HTTP, or at a terminal with \
                 `trellis run --session {}`. `navigate` with `deny` refuses it.",
                question.name,
                question.id,
                shown(&question.args, &question.secrets),
                turn.session
            )
        }
        Stop::CallTool(call) => called(call, is_hidden),
        Stop::Predicate(question) => {
            format!(
                "Does `{}` hold? {}",
                question.name,
                go_on(&format!("`predicate`: {{\"id\": \"{}\", \"value\": true or false}}", question.id))
            )
        }
        Stop::Needs(question) => {
            let keys = question.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            format!("The graph was edited, and `{}` needs {keys}. {}", question.node, go_on("`context`, an object with these keys"))
        }
        Stop::Changed(question) => {
            let pending = &question.pending;
            format!("The graph was edited while `{pending}` was under way. {}", go_on("`keep`: true keeps the call, false makes it again"))
        }
        Stop::Running(running) => {
            let what = running.call.as_ref().map_or_else(|| format!("`{}`", running.node), |call| format!("the call `{}`", call.name));
            format!("It is working on {what}. `render_state` waits for it.")
        }
        Stop::Sleeping(sleeping) => {
            let left = sleeping.until.saturating_sub(turn.now.unwrap_or(sleeping.until)).div_ceil(1000);
            format!("It sleeps at `{}` for {left} s. `render_state` waits for it.", sleeping.node)
        }
        Stop::End(end) => over(end),
        _ => String::new(),
    }
}

fn asked(question: &InputQuestion) -> String {
    if !question.options.is_empty() {
        let options =
            question.options.iter().zip(option_texts(&question.options)).map(|(option, value)| {
                if *option.text == *value { format!("- {value}\n") } else { format!("- {value}: {}\n", option.text) }
            });
        let open = if question.open { "Something else is taken, too.\n" } else { "" };
        return format!("A choice is asked for:\n{}{open}", options.collect::<String>());
    }
    let what = match question.input_type {
        InputType::Confirm => "Yes or no is asked for (`true` or `false`)",
        InputType::Int => "A whole number is asked for",
        InputType::Float => "A number is asked for",
        InputType::Json => "JSON is asked for",
        _ => "An answer is asked for",
    };
    let schema = question.schema.as_ref().map(|schema| format!(" that fits {}", schema.to_json())).unwrap_or_default();
    let default = question.default.as_ref().map(|default| format!("; an empty text stands for {}", default.to_json())).unwrap_or_default();
    format!("{what}{schema}{default}.")
}

fn called(call: &Call, is_hidden: bool) -> String {
    let args = Value::Map(call.args.clone()).to_json();
    let within = call.timeout.map(|timeout| format!(" within {} s", timeout.div_ceil(1000))).unwrap_or_default();
    if is_hidden || !call.secrets.is_empty() {
        return format!(
            "Call `{}` ({}) with {args} has arguments that are secret, so a program completes it over HTTP (`tool_result`){within}.",
            call.name, call.id
        );
    }
    format!(
        "Call `{}` with {args}{within}. Then call `navigate` with `session`, `seq` and `tool_result`: {{\"id\": \"{}\", \"result\": …}}, or \
         `\"error\": \"why\"`, or `\"denied\": true`.",
        call.name, call.id
    )
}

fn over(end: &End) -> String {
    let output = end.output.as_ref().filter(|output| **output != Value::Null).map(|output| format!(" Output: {}", output.to_json()));
    let output = output.unwrap_or_default();
    let message = end.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
    match &end.reason {
        EndReason::Finished => format!("It finished.{output}"),
        reason => {
            let reason = serde_json::to_value(reason).unwrap_or_default();
            format!("It ended, {}{message}.{output}", reason.as_str().unwrap_or_default())
        }
    }
}
