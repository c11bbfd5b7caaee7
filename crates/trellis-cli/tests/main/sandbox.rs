//! A folder with graphs in it, and the program started there.

use std::{
    fs,
    io::Write,
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// A folder that is removed afterwards.
pub(crate) struct Sandbox(TempDir);

/// The output of the program, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Sandbox {
    /// A folder with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let sandbox = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            sandbox.write(path, text.as_bytes());
        }
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The program with these arguments, standing in the folder, with no wish about colours.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_trellis")), args)
    }

    /// The same of a copy of the program.
    pub(crate) fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path());
        for name in [
            "CI",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "TRELLIS_MAX_INPUT_SIZE",
            "TRELLIS_STORE",
            "TRELLIS_KEY_FILE",
            "TRELLIS_VAULT",
            "TRELLIS_VAULT_KEY",
        ] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn trellis(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// Runs the program as somebody to whom the system refuses things: nothing is refused to the superuser.
    pub(crate) fn trellis_as_nobody(&self, args: &[&str]) -> Ran {
        use std::os::unix::{fs::MetadataExt, process::CommandExt};
        let mut command = self.command_of(&self.program_of_all(), args);
        if fs::metadata(self.path()).unwrap().uid() == 0 {
            command.uid(65534).gid(65534);
        }
        finish(command.spawn().unwrap())
    }

    /// The program where anybody may start it.
    pub(crate) fn program_of_all(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let (program, here) = (env!("CARGO_BIN_EXE_trellis"), self.path().join("trellis-of-nobody"));
        if !here.exists() {
            // Copied by another process: a file that this one has open for writing could not be run while some test forks.
            if fs::hard_link(program, &here).is_err() {
                assert!(Command::new("cp").arg(program).arg(&here).status().unwrap().success());
            }
            fs::set_permissions(self.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        here
    }

    /// Runs the program with this on standard input.
    pub(crate) fn trellis_with(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that ends before it has read everything is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        finish(child)
    }
}

/// A program that is killed when it is dropped, so that a test that failed leaves nothing behind.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the program.
pub(crate) fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// Waits for something to hold.
pub(crate) fn soon(mut holds: impl FnMut() -> bool) -> bool {
    (0..12_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        holds()
    })
}

/// A graph in which three files are wrong.
pub(crate) const THREE_MISTAKES: &[(&str, &str)] = &[
    (
        "start.md",
        "---\noptions:\n  - { text: Pay, to: recipt }\n  - { text: Help, to: help }\n  - { text: Leave, to: bye }\n---\nWhat now?\n",
    ),
    ("receipt.md", "---\nid: receipt\nto: bye\n---\nHere it is, {{ name | uper }}.\n"),
    ("help.md", "---\nsavto: topic\nwait: true\nto: bye\n---\nAsk.\n"),
    ("bye.md", "Bye.\n"),
];

/// A graph in which nothing is wrong.
pub(crate) const SOUND: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: bye\n---\nWho are you?\n"),
    ("bye.md", "---\noutput: \"{{ name }}\"\n---\nBye, {{ name }}.\n"),
];
