//! The costs of a layout: a generated graph with every module open, with each as one box, and laid out again after an edit; and its picture.
//!
//! `cargo bench -p trellis-tests --bench layout`; `docs/performance.md` says what must come out.

use std::{hint::black_box, sync::Arc};

use divan::Bencher;
use trellis_core::{
    Dialect, Document, Program, Source, compile,
    draw::{
        Drawing,
        layout::{Layout, LayoutSettings},
        picture,
    },
};
use trellis_tests::generator;

fn main() {
    divan::main();
}

fn program(nodes: usize) -> Arc<Program> {
    let files = generator::generate(nodes);
    let document =
        |(path, text): &(String, String)| Arc::new(Document::parse(&Source::text(path.as_str(), text.as_str()), Dialect::default()));
    compile(&files.iter().map(document).collect::<Vec<_>>()).program.expect("it compiles")
}

/// Every module open.
#[divan::bench(args = [1_000, 10_000])]
fn open(bencher: Bencher<'_, '_>, nodes: usize) {
    let program = program(nodes);
    let drawing = Drawing::new(&program);
    bencher.bench_local(|| Layout::new(black_box(&drawing), &LayoutSettings::default(), None));
}

/// As a drawing begins: above 400 nodes each module is one box.
#[divan::bench(args = [1_000, 10_000])]
fn collapsed(bencher: Bencher<'_, '_>, nodes: usize) {
    let program = program(nodes);
    let drawing = Drawing::new(&program);
    let settings = LayoutSettings::for_drawing(&drawing);
    bencher.bench_local(|| Layout::new(black_box(&drawing), &settings, None));
}

/// With the layout before, as after an edit.
#[divan::bench(args = [1_000, 10_000])]
fn again(bencher: Bencher<'_, '_>, nodes: usize) {
    let program = program(nodes);
    let drawing = Drawing::new(&program);
    let before = Layout::new(&drawing, &LayoutSettings::default(), None);
    bencher.bench_local(|| Layout::new(black_box(&drawing), &LayoutSettings::default(), Some(&before)));
}

/// The picture of a graph with every module open, without its layout.
#[divan::bench(args = [1_000])]
fn svg(bencher: Bencher<'_, '_>, nodes: usize) {
    let program = program(nodes);
    let drawing = Drawing::new(&program);
    let layout = Layout::new(&drawing, &LayoutSettings { has_labels: true, ..LayoutSettings::default() }, None);
    bencher.bench_local(|| picture(black_box(&drawing), &layout));
}
