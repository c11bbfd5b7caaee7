//! A Redis.

use std::{fs, path::Path};

use super::{Kind, PASSWORD, Server, asked, program};

/// A Redis of its own, which syncs every write before it answers.
pub(crate) type Redis = Server<Settings>;

/// The contents of its file of settings.
#[derive(Debug)]
pub(crate) struct Settings(String);

impl Redis {
    /// Starts one and waits until it answers.
    pub(crate) fn start() -> Self {
        Self::start_with("appendonly yes\nappendfsync always\n")
    }

    /// Starts one with these settings.
    pub(crate) fn start_with(settings: &str) -> Self {
        Self::launch(Settings(settings.to_owned()))
    }
}

impl Kind for Settings {
    const NAME: &'static str = "redis";
    const SIGNAL: &'static str = "KILL";
    const TAKEN: &'static str = "Address already in use";

    fn prepare(&self, folder: &Path) {
        // The password stands in a file: the process list shows arguments to everybody.
        let settings = format!("bind 127.0.0.1\nsave \"\"\nrequirepass {PASSWORD}\ndir {}\n{}", folder.display(), self.0);
        fs::write(folder.join("redis.conf"), settings).expect("a file in a temporary folder");
    }

    fn command(&self, folder: &Path, port: u16) -> Vec<String> {
        let file = folder.join("redis.conf").display().to_string();
        vec![program("redis-server", "redis-server"), file, "--port".into(), port.to_string()]
    }

    fn answers(port: u16) -> bool {
        let hello = format!("AUTH {PASSWORD}\r\nPING\r\n");
        asked(port, hello.as_bytes()).is_some_and(|answer| answer.starts_with(b"+OK"))
    }

    /// `name` is what its keys begin with.
    fn url_at(port: u16, name: &str) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{port}/0?prefix={name}")
    }
}
