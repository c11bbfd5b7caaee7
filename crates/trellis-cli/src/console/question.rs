//! A question to a person: the input line, the options, the accepted answers, and the reason why the current line is not one.
//!
//! In: the awaited reply and keys. Out: a command, and rows.
//!
//! **Invariant:** it rejects nothing by itself; it only shows the engine's verdict early.

use trellis_core::{
    Mapping, ToolError, ToolOutcome, ToolResult, Value,
    engine::{Acceptance, Request, RequestType},
    id::CallId,
    syntax::node::InputType,
};
use trellis_host::runner::{Awaited, Command, choose};

use super::{editor::Editor, hint::hint, history::History, keys::Key, menu::Menu};
use crate::terminal::Look;

pub(super) struct Question {
    asked: Asked,
    pub(super) editor: Editor,
    pub(super) menu: Option<Menu>,
    /// The reason why the last answer was not taken; until something else is typed.
    refused: Option<String>,
    /// The reason why the current line would be rejected.
    problem: Option<String>,
    /// The answers that are accepted.
    hint: Option<String>,
    /// The branch that asks.
    branch: Option<String>,
}

enum Asked {
    Input {
        request: Box<Request>,
        acceptance: Box<Acceptance>,
    },
    Approval,
    Result(CallId),
    Predicate(String),
    /// Keys that are given one by one.
    Keys {
        missing: Vec<String>,
        given: Mapping,
    },
    Keep,
}

/// The hint for a result of a call that is typed in.
const RESULT: &str = "its result: JSON or text, nothing for null; `!message` says that it failed, `!denied` that it may not";

/// The outcome of a key.
pub(super) enum Pressed {
    /// Nothing yet.
    Open,
    /// An answer, and its text for the scrollback.
    Given(Command, String),
    /// A part of an answer, as text for the scrollback.
    Part(String),
}

impl Question {
    /// Creates the question, for answers of at most `input` bytes and results of at most `result` bytes; `None` if nothing is asked.
    pub(super) fn new(awaited: Awaited<'_>, input: u64, result: u64) -> Option<Self> {
        let mut menu = None;
        let (mut bound, mut secret) = (input, false);
        let asked = match awaited {
            Awaited::Input(request) => {
                menu = (!request.options.is_empty()).then(|| Menu::new(request));
                secret = request.input_type == RequestType::Declared(InputType::Secret);
                Asked::Input { request: Box::new(request.clone()), acceptance: Box::new(Acceptance::of(request)) }
            }
            Awaited::Approval { .. } => Asked::Approval,
            Awaited::Result(call) => {
                bound = result;
                Asked::Result(call.id.clone())
            }
            Awaited::Predicate { id, .. } => Asked::Predicate(id.to_owned()),
            Awaited::Keys { missing, .. } => Asked::Keys { missing: missing.to_vec(), given: Mapping::new() },
            Awaited::Changed { .. } => Asked::Keep,
            Awaited::Nothing => return None,
        };
        let hint = match &asked {
            Asked::Input { request, .. } => hint(request),
            Asked::Result(_) => Some(RESULT.to_owned()),
            Asked::Keys { .. } => Some("JSON or text".to_owned()),
            Asked::Approval | Asked::Predicate(_) | Asked::Keep => None,
        };
        Some(Self { asked, editor: Editor::new(bound, secret), menu, refused: None, problem: None, hint, branch: None })
    }

    /// Names the branch that asks.
    pub(super) fn in_branch(self, branch: Option<String>) -> Self {
        Self { branch, ..self }
    }

    /// Says why the last answer was not taken.
    pub(super) fn refuse(&mut self, message: &str) {
        self.refused = Some(message.to_owned());
        self.problem = None;
    }

    /// Takes over the line that was typed for the same question before an edit.
    pub(super) fn take_over(&mut self, before: Self) {
        if std::mem::discriminant(&self.asked) == std::mem::discriminant(&before.asked)
            && self.editor.is_secret() == before.editor.is_secret()
        {
            self.editor = before.editor;
            self.check();
        }
    }

    /// Returns the rows of a question that ends without an answer, with the reason.
    pub(super) fn left(&self, why: &str) -> String {
        let typed = if self.editor.is_secret() { "" } else { self.editor.text() };
        if typed.is_empty() { why.trim_start().to_owned() } else { format!("{typed}{why}") }
    }

    /// Returns whether the line is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: &Key, history: &mut History) -> Pressed {
        if *key == Key::Enter {
            return self.enter(history);
        }
        if self.menu.as_mut().is_some_and(|menu| menu.press(key)) {
            return Pressed::Open;
        }
        let older = match key {
            Key::Up => self.remembers().then(|| history.older(self.editor.text())).flatten(),
            Key::Down => self.remembers().then(|| history.newer()).flatten(),
            _ => None,
        };
        let is_changed = match older {
            Some(line) => {
                self.editor.replace(&line);
                true
            }
            None => self.editor.press(key),
        };
        if is_changed {
            self.refused = None;
            self.check();
        }
        Pressed::Open
    }

    /// Checks the current line.
    fn check(&mut self) {
        let line = self.editor.text();
        if let (Asked::Input { request, .. }, Some(menu)) = (&self.asked, &mut self.menu) {
            menu.narrow(request, line);
        }
        self.problem = match &self.asked {
            _ if line.trim().is_empty() => None,
            Asked::Input { request, acceptance } if self.menu.is_some() && !request.open => {
                let is_meant = acceptance.check(&choose::answer(request, line)).is_ok();
                (!is_meant).then(|| "this is not one of them yet".to_owned())
            }
            Asked::Input { request, acceptance } => acceptance.check(&choose::answer(request, line)).err().map(|problem| {
                // JSON that ends too early is mostly still being typed.
                if problem.contains("EOF while parsing") { "this is not complete yet".to_owned() } else { problem }
            }),
            Asked::Approval | Asked::Predicate(_) | Asked::Keep => choose::yes_or_no(line).is_none().then(unclear),
            Asked::Result(_) | Asked::Keys { .. } => None,
        };
    }

    fn enter(&mut self, history: &mut History) -> Pressed {
        let line = self.editor.text().to_owned();
        if let Some((size, limit)) = self.editor.too_large() {
            self.editor.clear();
            let message = format!("the input is {size} bytes, the limit is {limit}");
            return Pressed::Given(Command::Bad { code: "input-too-large", message }, String::new());
        }
        if self.remembers() {
            history.add(&line);
        }
        let truth = if line.trim().is_empty() { None } else { choose::yes_or_no(&line) };
        let said = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        match (&mut self.asked, truth) {
            (Asked::Input { request, .. }, _) => {
                let is_moved = self.menu.as_ref().is_some_and(|menu| menu.chosen(request, &line).is_some());
                match choose::ambiguity(request, &line).filter(|_| !is_moved) {
                    Some(several) => {
                        self.refuse(&several);
                        Pressed::Open
                    }
                    None => answer(request, self.menu.as_ref(), &line),
                }
            }
            (Asked::Approval, None) if line.trim().is_empty() => Pressed::Given(Command::Approve { id: None, yes: false }, said(false)),
            (Asked::Approval, Some(yes)) => Pressed::Given(Command::Approve { id: None, yes }, said(yes)),
            (Asked::Predicate(id), Some(value)) => Pressed::Given(Command::Predicate { id: id.clone(), value }, said(value)),
            (Asked::Keep, Some(keep)) => Pressed::Given(Command::Keep(keep), said(keep)),
            (Asked::Result(id), _) => {
                let result = ToolResult::new(id.clone(), outcome(&line));
                Pressed::Given(Command::Result(result), if line.trim().is_empty() { "null".to_owned() } else { line })
            }
            (Asked::Keys { missing, given }, _) if !line.trim().is_empty() && !missing.is_empty() => {
                let key = missing.remove(0);
                given.insert(key.into(), value(&line));
                self.editor.clear();
                if missing.is_empty() { Pressed::Given(Command::Context(given.clone()), line) } else { Pressed::Part(line) }
            }
            (Asked::Keys { .. }, _) => {
                self.refuse("a value is needed; `null` is one");
                Pressed::Open
            }
            (Asked::Approval | Asked::Predicate(_) | Asked::Keep, None) => {
                self.refuse(&unclear());
                Pressed::Open
            }
        }
    }

    /// Returns whether the line may be added to the input history.
    fn remembers(&self) -> bool {
        let Asked::Input { request, .. } = &self.asked else { return matches!(self.asked, Asked::Result(_)) };
        let is_text = matches!(request.input_type, RequestType::Any(_) | RequestType::Declared(InputType::Text | InputType::Json));
        is_text && self.menu.is_none()
    }

    /// Returns the text before the line.
    pub(super) fn lead(&self, look: Look) -> String {
        let asks = match &self.asked {
            Asked::Input { request, .. } => match (request.input_type, &request.default) {
                (RequestType::Declared(InputType::Confirm), default) => match default.as_ref().and_then(Value::as_str) {
                    Some("yes") => "[Y/n] ",
                    Some("no") => "[y/N] ",
                    _ => "[y/n] ",
                },
                _ => "",
            },
            Asked::Approval => "[y/N] ",
            Asked::Predicate(_) | Asked::Keep => "[y/n] ",
            Asked::Result(_) => "",
            Asked::Keys { missing, .. } => return format!("{} {} ", missing.first().map_or("", String::as_str), look.pick("›", ">")),
        };
        let branch = self.branch.as_ref().map_or_else(String::new, |branch| format!("{branch}: "));
        format!("{branch}{asks}{} ", look.pick("›", ">"))
    }

    /// Returns the hint about accepted answers.
    pub(super) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the reason why the last answer was not taken.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Returns the remark about the current line.
    pub(super) fn remark(&self) -> Option<String> {
        self.editor.notice().or_else(|| self.problem.clone())
    }

    /// The request, where options are to be shown.
    pub(super) fn request(&self) -> Option<&Request> {
        match &self.asked {
            Asked::Input { request, .. } => Some(request),
            _ => None,
        }
    }
}

fn unclear() -> String {
    "answer `y` or `n`".to_owned()
}

/// The answer to a request, and its text for the scrollback.
fn answer(request: &Request, menu: Option<&Menu>, line: &str) -> Pressed {
    let by_hand = menu.and_then(|menu| menu.chosen(request, line));
    if let Some(option) = by_hand.or_else(|| choose::option(request, line)) {
        return Pressed::Given(Command::Input(choose::input(option)), option.text.to_string());
    }
    let shown = match (request.input_type, &request.default) {
        (RequestType::Declared(InputType::Secret), _) => "***".to_owned(),
        (_, Some(default)) if line.trim().is_empty() => default.to_string(),
        (RequestType::Declared(InputType::Confirm), _) => match choose::yes_or_no(line) {
            Some(yes) => if yes { "yes" } else { "no" }.to_owned(),
            None => line.to_owned(),
        },
        _ => line.to_owned(),
    };
    Pressed::Given(Command::Input(choose::answer(request, line)), shown)
}

/// A typed value: JSON, else the text itself.
fn value(line: &str) -> Value {
    Value::from_json(line.trim()).unwrap_or_else(|_| Value::text(line))
}

/// A typed result: a value, nothing for null, `!message` for a failure, `!denied` for a no.
fn outcome(line: &str) -> ToolOutcome {
    let typed = line.trim();
    match typed.strip_prefix('!').map(str::trim) {
        None if typed.is_empty() => ToolOutcome::Success(Value::Null),
        None => ToolOutcome::Success(value(line)),
        Some("denied") => ToolOutcome::Denied(None),
        Some("") => ToolOutcome::Error(ToolError::new("it failed")),
        Some(message) => match message.strip_prefix("denied ") {
            Some(why) => ToolOutcome::Denied(Some(why.trim().to_owned())),
            None => ToolOutcome::Error(ToolError::new(message)),
        },
    }
}
