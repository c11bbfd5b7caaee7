//! The costs of `documents.search` over 10,000 pages of 1 KB: the index, made at the first call, and a query over it.
//!
//! `cargo bench -p trellis-tests --bench search`; `docs/performance.md` says what must come out.

use std::{fmt::Write as _, fs, sync::Arc};

use divan::Bencher;
use tokio::runtime::Runtime;
use trellis_core::{Dialect, Document, Program, Source, ToolOutcome, Value, compile, state::PendingCall};
use trellis_host::{
    Bindings,
    binding::{Caller, Host},
};

const PAGES: usize = 10_000;

/// Words of the pages; each page has some of them.
const WORDS: [&str; 12] =
    ["lamp", "desk", "chair", "window", "garden", "invoice", "delivery", "refund", "warranty", "kitchen", "stair", "paper"];

fn main() {
    divan::main();
}

/// The first call: all files are read and indexed.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn index(bencher: Bencher<'_, '_>) {
    let library = Library::new();
    bencher.with_inputs(|| library.bindings()).bench_local_values(|bindings| library.search(&bindings));
}

/// A call over an index that is there: files are looked at, not read.
#[divan::bench]
fn query(bencher: Bencher<'_, '_>) {
    let library = Library::new();
    let bindings = library.bindings();
    library.search(&bindings);
    bencher.bench_local(|| library.search(&bindings));
}

/// Pages in a folder, and a program that searches them.
struct Library {
    folder: tempfile::TempDir,
    program: Arc<Program>,
    call: PendingCall,
    runtime: Runtime,
}

impl Library {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join("_pages");
        fs::create_dir(&pages).expect("a folder");
        for number in 0..PAGES {
            fs::write(pages.join(format!("{number}.md")), page(number)).expect("a page");
        }
        let files = [
            ("trellis.yaml", "bindings: { find: { builtin: documents.search, folder: _pages } }\n"),
            ("start.md", "---\ndo: { name: find, args: { query: lamp } }\n---\n"),
        ];
        let documents = files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())));
        let program = compile(&documents).program.expect("it compiles");
        let call =
            r#"{"id":"c","name":"find","role":"do","node":"start","args":{"query":"desk lamp 77"},"idempotency_key":"k","attempt":1}"#;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { folder, program, call: serde_json::from_str(call).expect("a call"), runtime }
    }

    /// Bindings of a host that has no index yet.
    fn bindings(&self) -> Bindings {
        Bindings::new(&self.program, self.folder.path(), &Host::new()).0
    }

    fn search(&self, bindings: &Bindings) -> Value {
        let caller = Caller::new("s".into(), "g".into(), |_| {});
        match self.runtime.block_on(bindings.call(&self.program, &self.call, &caller)).outcome {
            ToolOutcome::Success(found) => {
                assert_eq!(found.get("hits").and_then(Value::as_list).map(|hits| hits.len()), Some(5), "{found:?}");
                found
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A page of 1 KB.
fn page(number: usize) -> String {
    let mut text = format!("---\ntitle: Page {number} about the {}\n---\n\n", WORDS[number % WORDS.len()]);
    let mut at = number;
    while text.len() < 1_000 {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(
            text,
            "The {} stands beside the {} of house {}. ",
            WORDS[(at >> 33) % WORDS.len()],
            WORDS[(at >> 45) % WORDS.len()],
            at % 997
        )
        .expect("a text");
    }
    text
}
