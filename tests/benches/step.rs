//! The costs of a step, through the public API, events included, on the generator's node; of a check; and the throughput of a session.
//!
//! `cargo bench -p trellis-tests`; `docs/performance.md` says what must come out.

use std::{hint::black_box, sync::Arc};

use divan::{Bencher, counter::ItemsCount};
use trellis_core::{
    Compiled, Context, Dialect, Document, Engine, Input, Mapping, Next, Predicates, Program, SessionId, Source, Start, State, ToolOutcome,
    ToolResult, Value,
    compile::Compiler,
    engine::{Answers, RequestType},
    state::Changes,
    syntax::node::InputType,
};
use trellis_host::{Clock, Session, session::Halt};
use trellis_project::{Memory, Project};
use trellis_tests::generator::{self, File};

fn main() {
    divan::main();
}

/// `render` of a node of 1 KB, by keys of the context.
#[divan::bench(args = [10, 1_000, 10_000])]
fn render(bencher: Bencher<'_, '_>, keys: usize) {
    let (engine, state) = standing(keys, 10);
    bencher.bench_local(|| engine.render(black_box(&state)).expect("it renders"));
}

/// `navigate` from such a node, by keys of the context.
#[divan::bench(args = [10, 1_000, 10_000])]
fn navigate(bencher: Bencher<'_, '_>, keys: usize) {
    let (engine, state) = standing(keys, 10);
    bencher.with_inputs(|| Input::Text("forward".to_owned())).bench_local_values(|input| engine.navigate(&state, input).expect("it moves"));
}

/// `render` of a call of so many parts, three of them open, and `navigate` with the result of one.
#[divan::bench(args = [3, 1_000])]
fn part(bencher: Bencher<'_, '_>, parts: usize) {
    let project =
        "bindings: { t: { effect: none } }\ninputs: { type: object, required: [calls], properties: { calls: { type: array } } }\n";
    let graph = "nodes:\n  start: { tools: [t], do: { each: calls, limit: 3 }, to: end }\n  end: {}\n";
    let engine = engine(&[("trellis.yaml".to_owned(), project.to_owned()), ("graph.yaml".to_owned(), graph.to_owned())]);
    let item = Value::map([("name", Value::text("t"))]);
    let calls = Value::list(std::iter::repeat_n(item, parts));
    let state = engine.start(start(Mapping::from_iter([("calls", calls)]))).expect("it starts").state;
    bencher.bench_local(|| {
        let Next::Parts { open, .. } = engine.render(black_box(&state)).expect("it renders").next else { unreachable!("parts are open") };
        let result = ToolResult::new(open[0].id.clone(), ToolOutcome::Success(Value::Null));
        engine.navigate(&state, Input::Result(result)).expect("it moves")
    });
}

/// A step that appends to a list of so many items, which the state before it holds too.
#[divan::bench(args = [10, 100, 10_000])]
fn append(bencher: Bencher<'_, '_>, items: usize) {
    let (engine, state) = appending(items);
    bencher.bench_local(|| engine.navigate(black_box(&state), Input::Pass).expect("it moves"));
}

/// A step that appends, and what a journal records of it.
#[divan::bench(args = [10, 100, 10_000])]
fn append_recorded(bencher: Bencher<'_, '_>, items: usize) {
    let (engine, state) = appending(items);
    bencher.bench_local(|| {
        let step = engine.navigate(black_box(&state), Input::Pass).expect("it moves");
        serde_json::to_string(&Changes::between(&state, &step.state, &step.wrote)).expect("changes are JSON")
    });
}

/// `navigate` where steps wrote so many keys, one each, and a loop goes on with a few of them.
#[divan::bench(args = [10, 1_000, 10_000])]
fn navigate_after_writes(bencher: Bencher<'_, '_>, keys: usize) {
    let (engine, mut state) = standing(0, 10);
    (0..keys).for_each(|key| state.context.insert(format!("key_{key:05}").into(), Value::text("value")));
    bencher.with_inputs(|| Input::Text("forward".to_owned())).bench_local_values(|input| engine.navigate(&state, input).expect("it moves"));
}

/// A context in which steps wrote so many keys, and more steps write each of those anew in turn: the price of a write to a key that lay still.
#[divan::bench(args = [10, 1_000, 10_000])]
fn write_each_key(bencher: Bencher<'_, '_>, keys: usize) {
    let mut context = Context::default();
    let names: Vec<Arc<str>> = (0..keys).map(|key| format!("key_{key:05}").into()).collect();
    names.iter().for_each(|name| context.insert(Arc::clone(name), Value::Int(0)));
    let mut at = 0;
    bencher.bench_local(|| {
        at = (at + 7) % keys;
        let before = context.clone();
        context.insert(Arc::clone(&names[at]), Value::Int(1));
        before
    });
}

/// `render` after so many steps.
#[divan::bench(args = [10, 10_000])]
fn render_after_steps(bencher: Bencher<'_, '_>, steps: u64) {
    let (engine, state) = standing(10, steps);
    bencher.bench_local(|| engine.render(black_box(&state)).expect("it renders"));
}

/// `navigate` after so many steps.
#[divan::bench(args = [10, 10_000])]
fn navigate_after_steps(bencher: Bencher<'_, '_>, steps: u64) {
    let (engine, state) = standing(10, steps);
    bencher.with_inputs(|| Input::Text("forward".to_owned())).bench_local_values(|input| engine.navigate(&state, input).expect("it moves"));
}

/// Parsing and compiling a graph in memory, on all threads.
#[divan::bench(args = [1_000, 10_000], sample_count = 20, sample_size = 1)]
fn check(bencher: Bencher<'_, '_>, nodes: usize) {
    let memory = memory(&generator::generate(nodes));
    bencher.counter(ItemsCount::new(nodes)).with_inputs(|| memory.clone()).bench_local_values(compiled);
}

/// Compiling alone: what a save costs beside parsing the file that changed.
#[divan::bench(args = [1_000, 10_000], sample_count = 20, sample_size = 1)]
fn relink(bencher: Bencher<'_, '_>, nodes: usize) {
    let project = Project::with_loader(memory(&generator::generate(nodes))).expect("memory is always there");
    bencher.counter(ItemsCount::new(nodes)).bench_local(|| project.compile());
}

/// One edited file, from its text to the diagnostics of the graph.
#[divan::bench(args = [1_000, 10_000], sample_count = 20, sample_size = 1)]
fn edit(bencher: Bencher<'_, '_>, nodes: usize) {
    let mut documents = Project::with_loader(memory(&generator::generate(nodes))).expect("memory is always there").documents().to_vec();
    let mut compiler = Compiler::default();
    let mut held = compiler.compile(&documents);
    bencher.bench_local(|| {
        let at = nodes / 2;
        let source = Source::text(documents[at].path.clone(), &documents[at].text);
        documents[at] = Arc::new(Document::parse(&source, Dialect::default()));
        held = compiler.compile(&documents);
        held.nodes
    });
}

/// A session in memory that passes through a chain, journal included.
#[divan::bench(args = [10_000], sample_count = 20, sample_size = 1)]
fn pass_through(bencher: Bencher<'_, '_>, nodes: usize) {
    let engine = engine(&[generator::chain(nodes)]);
    let start = || Session::start(engine.clone(), start(Mapping::new()), Answers::new(), Clock::system()).expect("it starts");
    bencher.counter(ItemsCount::new(nodes - 1)).with_inputs(start).bench_local_values(|mut session| {
        while !matches!(session.advance().expect("it advances"), Halt::Ended(_)) {}
        session
    });
}

/// A session that stands before an append to a list of so many items, each of which a step appended.
fn appending(items: usize) -> (Engine, State) {
    let graph = "nodes:\n  start: { default_context: { log: [] }, append: { log: { role: user, text: Hello } }, to: again }\n  again: { transitions: [{ condition: log is empty, to: done }, { to: start }] }\n  done: {}\n";
    let engine = engine(&[("graph.yaml".to_owned(), graph.to_owned())]);
    let mut state = engine.start(start(Mapping::new())).expect("it starts").state;
    while state.context.get("log").and_then(Value::as_list).map_or(0, |log| log.len()) < items || state.current_node_id.as_str() != "start"
    {
        state = engine.navigate(&state, Input::Pass).expect("it passes").state;
    }
    (engine, state)
}

fn memory(files: &[File]) -> Memory {
    files.iter().map(|(path, text)| (path.as_str(), text)).collect()
}

fn compiled(memory: Memory) -> Compiled {
    Project::with_loader(memory).expect("memory is always there").compile()
}

fn engine(files: &[File]) -> Engine {
    let program: Arc<Program> = compiled(memory(files)).program.expect("generated graphs are sound");
    Engine::new(program, Predicates::new()).expect("generated graphs ask for no predicates")
}

fn start(context: Mapping) -> Start {
    Start { session: Some(SessionId::from("bench")), context, ..Start::default() }
}

/// A session that took `steps` steps and more, and stands at a node that asks for text, with `keys` keys in its context.
fn standing(keys: usize, steps: u64) -> (Engine, State) {
    let engine = engine(&generator::generate(1_000));
    let context: Mapping = (0..keys).map(|key| (format!("key_{key:05}"), Value::text("value"))).collect();
    let mut state = engine.start(start(context)).expect("it starts").state;
    // The first steps write every key that nodes save to, so that all sizes are measured in the same place of a session's life.
    while state.step < steps || state.step < 50 || asks(&engine, &state) != InputType::Text {
        // Nodes that ask for text lead back to the beginning of their module now and then: the walk never meets the end.
        let answer = match asks(&engine, &state) {
            InputType::Int => Input::Value(Value::Int(5)),
            InputType::Choice => Input::Text("Go on".to_owned()),
            _ if state.step % 4 == 3 => Input::Text("again".to_owned()),
            _ => Input::Text("forward".to_owned()),
        };
        state = engine.navigate(&state, answer).expect("it moves").state;
    }
    (engine, frozen(state))
}

/// The state as it comes back from a store: everything in `given`, then one write of each kind on top.
fn frozen(state: State) -> State {
    State { context: Context::new(state.context.to_mapping()), ..state }
}

fn asks(engine: &Engine, state: &State) -> InputType {
    match engine.render(state).expect("it renders").next {
        Next::Ask(request) => match request.input_type {
            RequestType::Declared(kind) => kind,
            _ => InputType::Text,
        },
        other => panic!("the walk left the module: {other:?}"),
    }
}
