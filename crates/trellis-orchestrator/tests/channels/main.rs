//! One suite for all channels over a network, against fake providers (orchestrator 10.2, requirements 003.15).

mod peer;
mod reading;
mod sending;
mod splits;
mod world;
