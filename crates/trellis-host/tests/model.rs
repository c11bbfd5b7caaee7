//! Roles of models against endpoints with bad manners, and against the mock servers of others, which `.ci/install` installs. They start servers, so
//! `./test quick` leaves these tests out.
#![cfg(feature = "model")]
#![allow(clippy::unwrap_used)]

#[path = "model/chain.rs"]
mod chain;
#[path = "model/checks.rs"]
mod checks;
#[path = "model/endpoint.rs"]
mod endpoint;
#[path = "model/manners.rs"]
mod manners;
#[path = "model/peers.rs"]
mod peers;
#[path = "model/stage.rs"]
mod stage;
