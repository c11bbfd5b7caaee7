//! A Redis.

use std::{fs, path::PathBuf};

use super::{PASSWORD, Running, asked, folder, free_port, program, wait_until};

/// A Redis of its own, which syncs every write before it answers.
#[derive(Debug)]
pub(crate) struct Redis {
    folder: PathBuf,
    port: u16,
    running: Option<Running>,
}

impl Redis {
    /// Starts one and waits until it answers.
    pub(crate) fn start() -> Self {
        Self::start_with("appendonly yes\nappendfsync always\n")
    }

    /// Starts one with these settings.
    pub(crate) fn start_with(settings: &str) -> Self {
        let folder = folder("redis");
        // The password stands in a file: the process list shows arguments to everybody.
        let settings = format!("bind 127.0.0.1\nsave \"\"\nrequirepass {PASSWORD}\ndir {}\n{settings}", folder.display());
        fs::write(folder.join("redis.conf"), settings).expect("a file in a temporary folder");
        let mut redis = Self { folder, port: free_port(), running: None };
        // Somebody else may take the port between looking and starting.
        for _ in 0..5 {
            if redis.begin() {
                return redis;
            }
            redis.kill();
            redis.port = free_port();
        }
        panic!("redis-server does not start:\n{}", Running::log(&redis.folder))
    }

    fn begin(&mut self) -> bool {
        let file = self.folder.join("redis.conf").display().to_string();
        let command = [program("redis-server", "redis-server"), file, "--port".into(), self.port.to_string()];
        self.running = Some(Running::start(&self.folder, "KILL", &command));
        let hello = format!("AUTH {PASSWORD}\r\nPING\r\n");
        let mut is_taken = false;
        let answers = wait_until(|| {
            is_taken = Running::log(&self.folder).contains("Address already in use");
            is_taken || asked(self.port, hello.as_bytes()).is_some_and(|answer| answer.starts_with(b"+OK"))
        });
        answers && !is_taken
    }

    /// Ends it at once, as a loss of power would end it.
    pub(crate) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }

    /// Starts it again, where it was.
    pub(crate) fn restart(&mut self) {
        self.kill();
        assert!(self.begin(), "redis-server does not start again:\n{}", Running::log(&self.folder));
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A store of its own in it: `prefix` is what its keys begin with.
    pub(crate) fn url(&self, prefix: &str) -> String {
        Self::url_at(self.port, prefix)
    }

    /// The same behind another port.
    pub(crate) fn url_at(port: u16, prefix: &str) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{port}/0?prefix={prefix}")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
