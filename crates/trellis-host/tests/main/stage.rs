//! The base of every test here: a graph in memory, a folder for its tools, and runs over bytes.

use std::{path::Path, sync::Arc};

use tokio::io::{AsyncBufRead, AsyncWrite};
use trellis_core::{Dialect, Document, Engine, Program, Source, Start, compile};
use trellis_host::{
    Bindings, Clock, JsonLines, Outcome, Policy, Runner, Secrets, Sessions, TextConsole, assembly::deferred_predicates, binding::Host,
    store::SessionStore, testing::TestClock,
};
use trellis_tests::wire::{Way, schema};

/// A graph and the folder where its tools stand.
pub(crate) struct Stage {
    pub(crate) program: Arc<Program>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) policy: Policy,
    clock: Clock,
    functions: Vec<Box<dyn Fn(Bindings) -> Bindings>>,
    host: Host,
}

/// Compiles a graph; it must be clean of errors.
pub(crate) fn program(files: &[(&str, &str)]) -> Arc<Program> {
    let documents: Vec<_> =
        files.iter().map(|(path, text)| Arc::new(Document::parse(&Source::text(*path, text), Dialect::default()))).collect();
    let compiled = compile(&documents);
    compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

impl Stage {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self {
            program: program(files),
            folder: tempfile::tempdir().unwrap(),
            policy: Policy::default(),
            clock: clock(),
            functions: Vec::new(),
            host: Host::new(),
        }
    }

    /// With these secrets.
    pub(crate) fn secrets(self, secrets: Secrets) -> Self {
        Self { host: self.host.secrets(secrets), ..self }
    }

    /// With a script that the shell reads: `process: [sh, ./name]`.
    pub(crate) fn script(self, name: &str, body: &str) -> Self {
        std::fs::write(self.folder.path().join(name), body).unwrap();
        self
    }

    pub(crate) fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    pub(crate) fn function(mut self, add: impl Fn(Bindings) -> Bindings + 'static) -> Self {
        self.functions.push(Box::new(add));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.program), deferred_predicates(&self.program)).unwrap()
    }

    pub(crate) fn bindings(&self) -> Bindings {
        let (bindings, found) = Bindings::new(&self.program, self.folder.path(), &self.host);
        assert!(found.is_empty(), "{found:?}");
        self.functions.iter().fold(bindings, |bindings, add| add(bindings))
    }

    pub(crate) fn sessions(&self) -> Sessions {
        Sessions::new(self.engine(), self.bindings()).unwrap().policy(self.policy).clock(self.clock.clone())
    }

    /// Sessions that are kept in a store.
    pub(crate) fn stored(&self, store: &Arc<impl SessionStore + 'static>) -> Arc<Sessions> {
        Arc::new(self.sessions().store(Arc::clone(store) as Arc<dyn SessionStore>, "graph"))
    }

    pub(crate) fn text_runner<R, W>(&self, input: R, output: W) -> Runner<TextConsole<R, W>>
    where
        R: AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let console = TextConsole::new(input, output, 4096, 1 << 20).echo(true);
        Runner::new(console, self.sessions())
    }

    pub(crate) fn json_runner<R, W>(&self, input: R, output: W) -> Runner<JsonLines<R, W>>
    where
        R: AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        Runner::new(JsonLines::new(input, output, 1 << 20), self.sessions().predictable_keys())
    }

    /// A run in text whose input is all there at once.
    pub(crate) fn text(&self, input: impl AsRef<[u8]>) -> (Outcome, String) {
        let mut output = Vec::new();
        let outcome = run(self.text_runner(input.as_ref(), &mut output).run(Start::default())).unwrap();
        (outcome, String::from_utf8(output).unwrap())
    }

    /// A run in JSON Lines whose input is all there at once; every line out must fit the schema.
    pub(crate) fn json(&self, input: impl AsRef<[u8]>) -> (Outcome, Vec<String>) {
        let mut output = Vec::new();
        let outcome = run(self.json_runner(input.as_ref(), &mut output).run(Start::default())).unwrap();
        let lines: Vec<_> = String::from_utf8(output).unwrap().lines().map(str::to_owned).collect();
        schema().assert(Way::Out, &lines);
        (outcome, lines)
    }
}

/// A clock that stands at 1000 when a test begins and goes as the test's timers go.
pub(crate) fn clock() -> Clock {
    TestClock::new(1000).clock()
}

/// Runs a future to its end on one thread.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The same with a clock that jumps to the next timer while nothing else is to do.
pub(crate) fn run_timeless<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
}
