//! One suite for all channels over a network, against fake providers (orchestrator 10.2, requirements 003.15, §11 of the source).

mod reading;
mod sending;
mod world;
