//! The interactive console on systems other than Unix: there is none, and plain text takes its place.

use std::io;

use trellis_core::engine::Request;
use trellis_host::runner::{Asking, Awaited, Command, Console, Note};

use crate::terminal::Look;

pub(crate) enum Tty {}

impl Tty {
    pub(crate) fn open() -> Option<Self> {
        None
    }
}

pub(crate) enum Interactive {}

#[expect(dead_code, reason = "matched by who asks, made by nobody")]
pub(crate) enum Chosen {
    Option(usize),
    Ended,
    Interrupted,
}

impl Interactive {
    pub(crate) fn new(tty: Tty, _: Look, _: u64, _: u64) -> io::Result<Self> {
        match tty {}
    }

    pub(crate) async fn choose(self, _: &str, _: &Request) -> io::Result<(Chosen, Option<Tty>)> {
        match self {}
    }
}

impl Console for Interactive {
    async fn note(&mut self, _: Note<'_>) -> io::Result<()> {
        match *self {}
    }

    async fn ask(&mut self, _: Awaited<'_>, _: Asking) -> io::Result<()> {
        match *self {}
    }

    async fn read(&mut self, _: Awaited<'_>) -> io::Result<Command> {
        match *self {}
    }
}
