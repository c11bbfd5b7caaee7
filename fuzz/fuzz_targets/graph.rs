//! Any bytes as the files of a graph: `cargo +nightly fuzz run graph`. The same body runs for a while in every test run.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trellis_tests::harness::fuzz::run(bytes));
