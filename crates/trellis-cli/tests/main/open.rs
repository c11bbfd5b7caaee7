//! The program while it stays open: what it prints is read as it comes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::Value;

/// Long enough for a line that must come.
const PATIENCE: Duration = Duration::from_secs(120);
/// Long enough for one that must not.
const SILENCE: Duration = Duration::from_millis(400);

pub(crate) struct Open {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Open {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { stdin: child.stdin.take(), child, lines }
    }

    /// The next line.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line must come")
    }

    /// Lines up to one that is as it should be, that one included.
    pub(crate) fn until(&self, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.line());
            if is_it(&lines[lines.len() - 1]) {
                return lines;
            }
        }
    }

    /// The next line of JSON.
    pub(crate) fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next line of JSON that is as it should be; the others are passed over.
    pub(crate) fn json_until(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.json();
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Nothing is printed.
    pub(crate) fn silence(&self) {
        if let Ok(line) = self.lines.recv_timeout(SILENCE) {
            panic!("nothing was to be said: {line}");
        }
    }

    /// Types a line.
    pub(crate) fn type_in(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends standard input.
    pub(crate) fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end; returns its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
