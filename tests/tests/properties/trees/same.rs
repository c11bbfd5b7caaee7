//! A tree plays the same in `trellis test` and in a host: random sessions of a host, written down as the lines of an author.

use std::fs;

use trellis_core::{
    Engine, Input, Predicates, SessionId, Start, ToolError, ToolOutcome, ToolResult, Value,
    engine::{Answers, Call},
    state::CallKind,
};
use trellis_host::{
    Clock, Session,
    session::{Halt, NotBegun},
};
use trellis_tests::harness::Loaded;
use trellis_trial::{Options, Suite, wire::Outcome};

use super::{Rng, graph};

const GRAPHS: u64 = 400;
const WALKS: usize = 4;
/// Lines of an author at most: a session that goes on is left where it waits for an answer.
const LINES: usize = 40;

/// A session of a host, and what an author says in it.
struct Told {
    session: Session,
    lines: Vec<String>,
}

/// The waits of a tree once everything that needs nobody was done.
enum Waits {
    Result(Call),
    Answer(Option<SessionId>),
    Nothing,
}

impl Told {
    fn begin(engine: Engine) -> Self {
        let start = Start { session: Some("root".into()), ..Start::default() };
        let session = Session::start(engine, start, Answers::new(), Clock::fixed(1000)).expect("the graph needs nothing");
        Self { session, lines: vec!["$ session root".into()] }
    }

    /// Begins children, takes their ends, and returns what waits then: results before answers, each from the innermost on; `None` where a session
    /// loops.
    fn goes_on(&mut self) -> Option<Waits> {
        'again: loop {
            let order: Vec<SessionId> = self.session.here().tree().signal_order(None).into_iter().cloned().collect();
            let (mut call, mut asks) = (None, None);
            for id in order {
                let child = self.session.here().children.contains_key(&id).then_some(id);
                let halt = loop {
                    match self.session.advance_in(child.as_ref()).ok()? {
                        Halt::Said { .. } | Halt::Invalid(_) => {}
                        halt => break halt,
                    }
                };
                let open = match halt {
                    Halt::Ask(_) => {
                        asks.get_or_insert(child);
                        continue;
                    }
                    Halt::Call(call) => vec![call],
                    Halt::Parts { open, .. } => open,
                    Halt::Ended(_) => {
                        let Some(child) = child else { return Some(Waits::Nothing) };
                        self.session.return_child(&child).expect("its caller waits");
                        continue 'again;
                    }
                    Halt::Predicate(_) | Halt::Said { .. } | Halt::Invalid(_) => unreachable!("there are no predicates"),
                };
                for one in open {
                    let is_graph = matches!(one.kind, CallKind::Graph(_));
                    if is_graph && !self.session.here().children.contains_key(one.id.as_str()) {
                        self.begin_child(child.as_ref(), &one);
                        continue 'again;
                    }
                    if !is_graph {
                        call.get_or_insert(one);
                    }
                }
            }
            return Some(call.map(Waits::Result).or(asks.map(Waits::Answer)).unwrap_or(Waits::Nothing));
        }
    }

    fn begin_child(&mut self, child: Option<&SessionId>, call: &Call) {
        if let Err(NotBegun::Refused(outcome)) = self.session.begin_child(child, call) {
            self.session.send_in(child, Input::Result(ToolResult::new(call.id.clone(), outcome))).expect("the call is open");
        }
    }

    /// Walks until the session is over or waits for an answer too often; whether it can be compared.
    fn walk(&mut self, rng: &mut Rng) -> bool {
        loop {
            let Some(waits) = self.goes_on() else { return false };
            match waits {
                Waits::Nothing => return self.session.state().ended.is_some(),
                Waits::Answer(_) if self.lines.len() > LINES => return true,
                Waits::Answer(_) if rng.chance(8) => {
                    let name = *rng.pick(&["stop", "skip", "interrupt"]);
                    self.lines.push(format!("^ {name}"));
                    let _ = self.session.raise(None, &name.into());
                }
                Waits::Answer(child) => {
                    let text = *rng.pick(&["1", "3", "-2", "x"]);
                    self.lines.push(format!("> {text}"));
                    let _ = self.session.send_in(child.as_ref(), Input::Text(text.into()));
                }
                Waits::Result(call) => {
                    let (line, outcome) = match rng.below(8) {
                        0 => ("<! broken".to_owned(), ToolOutcome::Error(ToolError::new("broken"))),
                        1 => ("<x".to_owned(), ToolOutcome::Denied(None)),
                        _ => {
                            let json = *rng.pick(&["1", "2", "\"A\"", "\"B\"", "{\"v\":1}", "null"]);
                            (format!("< {json}"), ToolOutcome::Success(Value::from_json(json).expect("it is JSON")))
                        }
                    };
                    self.lines.push(line);
                    self.session.send_result(ToolResult::new(call.id.clone(), outcome)).expect("the call is open");
                }
            }
        }
    }

    /// The case: what comes out is left open, but for the state in the end.
    fn case(&self, number: usize) -> String {
        let mut state = serde_json::to_value(self.session.state()).expect("a state is JSON");
        let state = state.as_object_mut().expect("a state is a mapping");
        // The graph has the sheet beside it there, and so another fingerprint.
        state.remove("program");
        let shown = |(path, value): (&String, &serde_json::Value)| {
            format!("= state {path}\n: {}\n", Value::from_json(&value.to_string()).expect("it is JSON").to_json())
        };
        let shown: String = state.iter().map(shown).collect();
        let lines: String = self.lines.iter().map(|line| format!("{line}\n...\n")).collect();
        format!("## {number}\n\n```transcript\n{lines}{shown}...\n```\n\n")
    }
}

#[test]
fn a_tree_plays_the_same_in_a_test_and_in_a_host() {
    let (mut cases, mut trees, mut rolled_back) = (0, 0, 0);
    for seed in 0..GRAPHS {
        let mut rng = Rng::new(seed);
        let files = graph::graph(&mut rng);
        let sources: Vec<_> = files.iter().map(|(path, text)| trellis_core::Source::text(path.as_str(), text.as_str())).collect();
        let Some(program) = Loaded::new(&sources).compiled.program else { continue };
        let engine = Engine::new(program, Predicates::new()).expect("there are no predicates");
        let mut sheet = String::from("# Walks\n\n");
        for number in 0..WALKS {
            let mut told = Told::begin(engine.clone());
            if told.walk(&mut rng) {
                sheet.push_str(&told.case(number));
                let records = told.session.journal().records();
                trees += u32::from(records.iter().any(|record| record.child.is_some()));
                rolled_back += u32::from(told.session.state().rolled_back);
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("_tests")).expect("a folder");
        for (path, text) in files.iter().map(|(path, text)| (path.as_str(), text)).chain([("_tests/walks.md", &sheet)]) {
            fs::write(folder.path().join(path), text).expect("a file");
        }
        let suite = Suite::open(folder.path()).expect("it is a graph");
        assert!(suite.errors.is_empty(), "seed {seed}: {:?}", suite.errors);
        for (_, case, verdict, _) in suite.play(&Options::default()) {
            assert_eq!(verdict.outcome, Outcome::Passed, "seed {seed}, {}: {:#?}\n{sheet}\n{}", case.title, verdict.difference, files[1].1);
            cases += 1;
        }
    }
    assert!(cases > 80 && trees > 70 && rolled_back > 20, "{cases} cases, {trees} with children, {rolled_back} rolled back");
}
