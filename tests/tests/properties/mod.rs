//! Properties over random graphs, inputs and bytes. Seeds are fixed, so that a failure
//! comes again; a run tries a [share](share) of them.

#![allow(clippy::print_stdout, reason = "coverage is printed beside the test")]

mod bytes;
mod compute;
mod convert;
mod coverage;
mod edits;
mod fixes;
mod format;
mod kinds;
mod migrate;
mod pairs;
mod parts;
mod phrases;
mod random;
mod rng;
mod share;
mod trees;
mod values;
mod walks;
mod written;
