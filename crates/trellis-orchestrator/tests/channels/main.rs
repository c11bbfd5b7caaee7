//! One suite for all channels over a network, against fake providers (orchestrator 10.2, source 003.11.1).

mod peer;
mod reading;
mod sending;
mod splits;
mod world;
