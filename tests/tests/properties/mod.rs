//! Properties over random graphs, inputs and bytes. Seeds are fixed, so that a failure comes again.

mod bytes;
mod coverage;
mod random;
mod rng;
mod walks;
