//! Questions, keys, and the pictures that come of them. The cursor is drawn as `▏`.

mod said;

use std::time::{Duration, Instant};

use trellis_core::{
    Input, NodeId, ToolOutcome, Value,
    engine::{AnyInput, OptionView, Request, RequestType},
    state::PendingCall,
    syntax::node::InputType,
};
use trellis_host::runner::{Awaited, Command};

use super::{
    frame::Frame,
    history::History,
    keys::{Decoder, Key},
    notes::forget_unseen,
    question::{Pressed, Question},
    rows::Window,
};
use crate::{
    columns::{split, width},
    terminal::Look,
};

const LOOK: Look = Look { styled: true, unicode: true };
const WINDOW: Window = Window { room: 60, height: 24, look: LOOK };

fn request(kind: InputType) -> Request {
    Request::new(RequestType::Declared(kind))
}

fn choice(count: usize) -> Request {
    let option = |at: usize| OptionView::new(format!("value {at}"), format!("Option {at}"));
    Request::choice((1..=count).map(option).collect())
}

fn schema(json: &str) -> Value {
    Value::from_json(json).unwrap()
}

fn open(request: Request) -> Request {
    let kind = request.input_type;
    request.open_to(kind)
}

fn pending(args: &str) -> PendingCall {
    let json = format!(r#"{{"id":"c-1","name":"refund","role":"do","node":"pay","args":{args},"idempotency_key":"k","attempt":1}}"#);
    serde_json::from_str(&json).unwrap()
}

/// A question and who answers it.
struct Desk {
    question: Question,
    history: History,
    given: Vec<(Command, String)>,
}

impl Desk {
    fn new(awaited: Awaited<'_>) -> Self {
        Self { question: Question::new(awaited, 4096, 1 << 20).unwrap(), history: History::default(), given: Vec::new() }
    }

    fn asked(request: &Request) -> Self {
        Self::new(Awaited::Input(request))
    }

    /// Types bytes, as a terminal sends them.
    fn typed(mut self, bytes: &str) -> Self {
        for key in Decoder::default().take(bytes.as_bytes()) {
            match self.question.press(&key, &mut self.history) {
                Pressed::Given(command, shown) => self.given.push((command, shown)),
                Pressed::Open | Pressed::Part(_) => {}
            }
        }
        self
    }

    fn picture(&mut self) -> String {
        picture(&self.question.frame(WINDOW, None))
    }

    /// The input that was given, and its text for the scrollback.
    fn input(&self) -> (Input, &str) {
        match self.given.as_slice() {
            [(Command::Input(input), shown)] => (input.clone(), shown),
            other => panic!("{other:?}"),
        }
    }
}

fn picture(frame: &Frame) -> String {
    let rows = frame.rows.iter().enumerate().map(|(at, row)| {
        let row = anstream::adapter::strip_str(row).to_string();
        match frame.cursor {
            Some((cursor, column)) if cursor == at => {
                let (before, after, _) = split(&row, column);
                format!("{before}▏{after}")
            }
            _ => row,
        }
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

#[test]
fn a_number_is_judged_while_it_is_typed() {
    let number = request(InputType::Int).with_schema(schema(r#"{"minimum": 1, "maximum": 5}"#)).with_default(Value::Int(3));
    let mut desk = Desk::asked(&number);
    assert_eq!(desk.picture(), "› ▏\n  a whole number, from 1 to 5; Enter for 3");
    let mut desk = desk.typed("8\x1b[D");
    assert_eq!(desk.picture(), "› ▏8\n  must be at most 5, is 8\n  a whole number, from 1 to 5; Enter for 3");
    let mut desk = desk.typed("\x1b[3~4");
    assert_eq!(desk.picture(), "› 4▏\n  a whole number, from 1 to 5; Enter for 3");
    assert_eq!(desk.typed("\r").input(), (text("4"), "4"));
    assert_eq!(Desk::asked(&number).typed("\r").input(), (text(""), "3"));
    assert_eq!(Desk::asked(&number).typed("nine\r").input(), (text("nine"), "nine"), "the engine refuses, not the console");
}

#[test]
fn what_was_refused_stays_to_be_mended() {
    let mut desk = Desk::asked(&request(InputType::Int)).typed("1x\r");
    desk.question.refuse("a whole number, please");
    assert_eq!(desk.picture(), "› 1x▏\n  ✗ a whole number, please\n  a whole number");
    assert_eq!(desk.typed("\x7f").picture(), "› 1▏\n  a whole number");
}

#[test]
fn what_was_half_typed_outlives_an_edit_of_the_question() {
    let taken = |from: &Request, to: &Request| {
        let mut desk = Desk::asked(to);
        desk.question.take_over(Desk::asked(from).typed("12").question);
        desk.picture()
    };
    let small = request(InputType::Int).with_schema(schema(r#"{"maximum": 5}"#));
    assert_eq!(taken(&request(InputType::Int), &small), "› 12▏\n  must be at most 5, is 12\n  a whole number, at most 5");
    assert_eq!(taken(&request(InputType::Secret), &request(InputType::Text)), "› ▏\n  some text", "no secret is shown by an edit");
}

#[test]
fn json_may_be_half_typed() {
    let json = request(InputType::Json).with_schema(schema(r#"{"type": "object", "required": ["id"]}"#));
    let mut desk = Desk::asked(&json).typed("{\"i");
    assert_eq!(desk.picture(), "› {\"i▏\n  this is not complete yet\n  a mapping with `id`");
    let mut desk = desk.typed("\"}");
    assert_eq!(desk.picture(), "› {\"i\"}▏\n  not a JSON value: expected `:` at line 1 column 5\n  a mapping with `id`");
    assert_eq!(desk.typed("\x15{}").picture(), "› {}▏\n  `id` is missing\n  a mapping with `id`");
}

#[test]
fn a_confirmation_shows_its_default() {
    let confirm = request(InputType::Confirm).with_default("yes");
    assert_eq!(Desk::asked(&confirm).picture(), "[Y/n] › ▏");
    assert_eq!(Desk::asked(&confirm).typed("\r").input(), (text(""), "yes"));
    assert_eq!(Desk::asked(&confirm).typed("n\r").input(), (text("n"), "no"));
    assert_eq!(Desk::asked(&request(InputType::Confirm)).typed("maybe").picture(), "[y/n] › maybe▏\n  `maybe` is neither yes nor no");
}

#[test]
fn a_secret_is_neither_shown_nor_remembered() {
    let secret = request(InputType::Secret).with_schema(schema(r#"{"minLength": 9}"#)).with_default("hidden");
    let mut desk = Desk::asked(&secret).typed("hunter2");
    assert_eq!(
        desk.picture(),
        "› •••••••▏\n  the secret does not fit what is asked\n  a secret, which is not shown, at least 9 characters; Enter\n  for the default"
    );
    let mut desk = desk.typed("\r");
    assert_eq!(desk.input(), (text("hunter2"), "***"));
    assert_eq!(desk.history.older(""), None);
    assert_eq!(Desk::asked(&secret).typed("hunter2").question.left("^C"), "^C");
    assert_eq!(Desk::asked(&request(InputType::Text)).typed("Ada").question.left("^C"), "Ada^C");
}

#[test]
fn texts_come_back_with_the_arrow_keys() {
    let mut desk = Desk::asked(&request(InputType::Text)).typed("one\r\x15two\r\x15dra\x1b[A\x1b[A");
    assert_eq!(desk.picture(), "› one▏\n  some text");
    assert_eq!(desk.typed("\x1b[B\x1b[B").picture(), "› dra▏\n  some text");
}

#[test]
fn a_paste_keeps_its_lines_until_the_answer() {
    let mut desk = Desk::asked(&request(InputType::Text)).typed("\x1b[200~one\r\ntwo\x1b[31m\x1b[201~");
    assert_eq!(desk.picture(), "› one⏎\ntwo[31m▏\n  1 control character was left out\n  some text");
    assert_eq!(desk.typed("\r").input(), (text("one\ntwo[31m"), "one\ntwo[31m"));
}

#[test]
fn an_answer_above_the_bound_is_refused_whole_and_its_line_is_gone() {
    let long = "x".repeat(5000);
    let mut desk = Desk::asked(&request(InputType::Text)).typed(&format!("ab{long}\r"));
    let message = "the input is 5002 bytes, the limit is 4096".to_owned();
    assert_eq!(desk.given, [(Command::Bad { code: "input-too-large", message }, String::new())]);
    assert_eq!(desk.picture(), "› ▏\n  some text");
}

#[test]
fn options_are_taken_by_arrow_number_value_and_beginning() {
    for (typed, chosen) in
        [("\x1b[B\r", 2), ("3\r", 3), ("value 2\r", 2), ("option 3\r", 3), ("\x1b[A\r", 3), ("\r", 1), ("o\x1b[B\x1b[B\r", 2)]
    {
        assert_eq!(
            Desk::asked(&choice(3)).typed(typed).input(),
            (text(&format!("value {chosen}")), &*format!("Option {chosen}")),
            "{typed:?}"
        );
    }
    let mut several = Desk::asked(&choice(3)).typed("opt\r");
    assert!(several.given.is_empty() && several.picture().contains("`opt` fits several options: `Option 1`"), "{}", several.picture());
    let open = open(choice(2));
    assert_eq!(Desk::asked(&open).typed("something else\r").input().0, text("something else"));
    assert_eq!(
        Desk::asked(&open).typed("z").picture(),
        "  1  Option 1\n  2  Option 2\n› z▏\n  arrow keys or a number, then Enter; or anything else"
    );
    let numbers = open.clone().open_to(RequestType::Declared(InputType::Int));
    assert_eq!(Desk::asked(&numbers).picture(), "❯ Option 1\n  Option 2\n› ▏\n  arrow keys, then Enter; or another value; a whole number");
    assert_eq!(Desk::asked(&numbers).typed("2\r").input().0, text("2"), "a number is an answer of its own there");
    let any = open.open_to(RequestType::Any(AnyInput::Any));
    assert_eq!(Desk::asked(&any).typed("\r").input().0, text(""), "nothing is an answer too");
}

#[test]
fn an_approval_needs_a_yes() {
    let call = pending("{}");
    let approved =
        |typed: &str| Desk::new(Awaited::Approval { call: &call, by: None }).typed(typed).given.pop().map(|(command, _)| command);
    assert_eq!(approved("\r"), Some(Command::Approve { id: None, yes: false }));
    assert_eq!(approved("yes\r"), Some(Command::Approve { id: None, yes: true }));
    assert_eq!(approved("sure\r"), None);
    let mut desk = Desk::new(Awaited::Approval { call: &call, by: None }).typed("sure\r");
    assert_eq!(
        picture(&desk.question.frame(WINDOW, Some(Duration::from_secs(75)))),
        "[y/N] › sure▏\n  ✗ answer `y` or `n`\n  1 min 15 s left"
    );
}

#[test]
fn a_result_may_be_typed_in() {
    let call = pending("{}");
    let outcome = |typed: &str| match Desk::new(Awaited::Result(&call)).typed(typed).given.pop() {
        Some((Command::Result(result), _)) => result.outcome,
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome("\x1b[200~{\n \"a\": 1\n}\n\x1b[201~\r"), ToolOutcome::Success(Value::from_json(r#"{"a": 1}"#).unwrap()));
    assert_eq!(outcome("some text\r"), ToolOutcome::Success("some text".into()));
    assert_eq!(outcome("\r"), ToolOutcome::Success(Value::Null));
    assert_eq!(outcome("\"!no\"\r"), ToolOutcome::Success("!no".into()));
    assert!(matches!(outcome("!no such order\r"), ToolOutcome::Error(error) if error.message == "no such order"));
    assert_eq!(outcome("!denied\r"), ToolOutcome::Denied(None));
    assert_eq!(outcome("!denied too late\r"), ToolOutcome::Denied(Some("too late".into())));
}

#[test]
fn keys_are_asked_for_one_by_one() {
    let (node, missing) = (NodeId::from("pay"), ["amount".to_owned(), "currency".to_owned()]);
    let mut desk = Desk::new(Awaited::Keys { node: &node, missing: &missing }).typed("\r12.5\r");
    assert_eq!(desk.picture(), "currency › ▏\n  JSON or text");
    let desk = desk.typed("EUR\r");
    let Some((Command::Context(keys), _)) = desk.given.last() else { panic!("{:?}", desk.given) };
    assert_eq!(Value::Map(keys.clone()).to_json(), r#"{"amount":12.5,"currency":"EUR"}"#);
}

#[test]
fn keys_that_would_decide_an_unseen_question_are_forgotten() {
    let recognised = |awaited: Awaited<'_>, typed: &str| {
        let mut keys = Decoder::default().take(typed.as_bytes()).into();
        forget_unseen(awaited, &mut keys);
        Vec::from(keys)
    };
    assert_eq!(recognised(Awaited::Approval { call: &pending("{}"), by: None }, "y\r\x03"), [Key::Interrupt]);
    assert_eq!(recognised(Awaited::Input(&choice(2)), "\r\r2\r"), [Key::Text("2".into()), Key::Enter]);
    assert_eq!(recognised(Awaited::Input(&request(InputType::Text)), "\r"), [Key::Enter]);
}

const SIZES: [usize; 10] = [1, 2, 3, 4, 5, 8, 13, 24, 40, 80];

#[test]
fn every_window_holds_its_picture() {
    let call = pending("{}");
    let requests = [choice(500), choice(1), request(InputType::Json), request(InputType::Secret), open(choice(3))];
    let mut desks = requests.iter().map(Desk::asked).collect::<Vec<_>>();
    desks.push(Desk::new(Awaited::Result(&call)));
    for mut desk in desks {
        desk.question.refuse("a refusal that is long enough for three lines of a window as narrow as those that stand below this one");
        for typed in ["", "日本 👩‍👩‍👧 e\u{301} שלום ", "\x1b[200~a\nb\nc\nd\ne\nf\ng\x1b[201~\x1b[H"] {
            desk = desk.typed(typed);
            for (columns, height) in SIZES.iter().flat_map(|&columns| SIZES.iter().map(move |&height| (columns, height))) {
                let window = Window { room: columns, height, look: LOOK };
                let frame = desk.question.frame(window, Some(Duration::from_secs(5)));
                let (row, column) = frame.cursor.unwrap();
                assert!(frame.rows.len() <= height && row < frame.rows.len() && column <= columns, "{columns}×{height}: {frame:?}");
                // A grapheme of two columns does not fit into one.
                let widest = frame.rows.iter().map(|row| width(&anstream::adapter::strip_str(row).to_string())).max().unwrap();
                assert!(widest <= columns.max(2), "{columns}×{height}: {frame:?}");
            }
        }
    }
}

/// `cargo test -p trellis-cli --bin trellis redraw -- --nocapture` says how long it takes.
#[test]
#[expect(clippy::print_stdout, reason = "a figure for who asks for it")]
fn a_key_in_a_choice_of_500_redraws_two_rows() {
    let mut desk = Desk::asked(&choice(500));
    let mut before = desk.question.frame(WINDOW, None);
    let (mut longest, mut most) = (Duration::ZERO, 0);
    for _ in 0..10 {
        let start = Instant::now();
        desk.question.press(&Key::Down, &mut desk.history);
        let next = desk.question.frame(WINDOW, None);
        let written = before.turned_into(&next, "").len();
        (longest, most) = (longest.max(start.elapsed()), most.max(written));
        before = next;
    }
    println!("a key and its rows: at most {longest:?}, {most} bytes");
    assert!(most < 4 * WINDOW.room, "{most} bytes");
}
