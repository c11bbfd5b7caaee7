//! One suite for all channels over a network, against fake providers (orchestrator 10.2).

mod reading;
mod sending;
mod world;
