//! One terminal session: author lines are carried out, screens are looked at.
//!
//! **Invariant:** where a screen is expected, the session goes on as soon as it is there and fails when it never comes; where none is known yet, it is
//! written down when the terminal rests.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use portable_pty::CommandBuilder;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    look::{Detail, lines, steady},
    picture::picture,
    script::{Line, is_program_line, read},
    terminal::{PATIENCE, Size, Terminal},
};

/// The place where sessions are played.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The program.
    pub program: PathBuf,
    /// The folder of the pictures.
    pub pictures: PathBuf,
}

/// The result of a session.
pub(super) struct Played {
    /// The block as it should be.
    pub(super) text: String,
    /// Problems that no block can make right.
    pub(super) problems: Vec<String>,
}

/// Plays a block in a folder.
pub(super) fn play(stage: &Stage, folder: &Path, size: Size, block: &str, update: bool) -> Played {
    let place = folder.to_string_lossy().into_owned();
    let mut session = Session {
        stage,
        folder,
        place,
        size,
        update,
        terminal: None,
        command: String::new(),
        seen: false,
        out: String::new(),
        problems: Vec::new(),
    };
    let mut steps = steps(block).into_iter().peekable();
    while let Some((author, expected)) = steps.next() {
        let is_last_of_program = steps.peek().is_none_or(|(next, _)| next.starts_with("$ "));
        session.out.push_str(&format!("{author}\n"));
        let before = session.out.len();
        session.step(author, &expected, is_last_of_program);
        if !session.problems.is_empty() || (!update && session.out[before..] != expected) {
            // The rest depends on output that did not come: it stays as it is.
            session.out.extend(steps.flat_map(|(author, expected)| [author, "\n", &expected].map(str::to_owned)));
            break;
        }
    }
    Played { text: session.out, problems: session.problems }
}

/// Author lines, each with the program lines below it.
fn steps(block: &str) -> Vec<(&str, String)> {
    let mut steps: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match steps.last_mut().filter(|_| is_program_line(line)) {
            Some((_, below)) => below.push_str(&format!("{line}\n")),
            None if is_program_line(line) => {}
            None => steps.push((line, String::new())),
        }
    }
    steps
}

struct Session<'s> {
    stage: &'s Stage,
    folder: &'s Path,
    /// The folder as text, which no two runs share.
    place: String,
    size: Size,
    update: bool,
    terminal: Option<Terminal>,
    /// The command line of the program.
    command: String,
    /// True if the screen was looked at since the last act.
    seen: bool,
    out: String,
    problems: Vec<String>,
}

impl Session<'_> {
    fn step(&mut self, author: &str, expected: &str, is_last_of_program: bool) {
        match read(author) {
            Ok(line) => self.take(line, expected),
            Err(error) => self.problems.push(error),
        }
        if is_last_of_program && self.problems.is_empty() {
            self.end();
        }
    }

    fn take(&mut self, line: Line, expected: &str) {
        let looks = matches!(line, Line::Remark | Line::Screen(_) | Line::Picture(_) | Line::Shell(_));
        // A terminal that is gone shows nothing.
        self.seen = (self.seen && looks) || line == Line::HangUp;
        match line {
            Line::Remark => {}
            Line::Start(command) => self.start(command),
            Line::Shell(command) => self.shell(&command),
            Line::Screen(detail) => self.look(detail, expected),
            line => match &mut self.terminal {
                Some(terminal) => act(terminal, line, self.stage, &self.command, &self.place, self.update, &mut self.problems),
                None => self.problems.push("nothing runs: a session begins with `$ trellis …`".into()),
            },
        }
    }

    fn start(&mut self, command: String) {
        let mut words = command.split(' ').peekable();
        let mut environment = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            environment.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let words: Vec<_> = words.collect();
        let is_shell = command.contains(['|', '<', '>', '&', ';', '\'', '"', '$', '(']);
        let mut builder = match words.first() {
            Some(&"trellis") if !is_shell => CommandBuilder::new(&self.stage.program),
            _ => CommandBuilder::new("sh"),
        };
        match words.first() {
            Some(&"trellis") if !is_shell => builder.args(&words[1..]),
            _ => builder.args(["-c", &words.join(" ")]),
        }
        builder.cwd(self.folder);
        builder.env_clear();
        for (name, value) in self.environment() {
            builder.env(name, value);
        }
        environment.iter().for_each(|(name, value)| builder.env(name, value));
        self.terminal = Some(Terminal::start(builder, self.size));
        self.command = command;
    }

    /// Returns the environment of program and tools: nothing that differs between machines, and the folder of the graphs of the repository.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let folder = self.stage.program.parent().unwrap_or(Path::new("/")).to_string_lossy();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let home = self.folder.to_string_lossy().into_owned();
        let graphs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs").to_string_lossy().into_owned();
        vec![
            ("GRAPHS", graphs),
            ("PATH", path),
            ("HOME", home),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
        ]
    }

    /// Runs a command of somebody else; what it prints stands below.
    fn shell(&mut self, command: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(self.folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = match shell.envs(self.environment()).spawn() {
            Ok(child) => child,
            Err(error) => return self.problems.push(format!("`sh` cannot start: {error}")),
        };
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    let _ = child.kill();
                    return self.problems.push(format!("`! {command}` does not end"));
                }
            }
        };
        let mut printed = String::new();
        let _ = child.stdout.take().map(|mut stdout| stdout.read_to_string(&mut printed));
        for line in printed.lines() {
            self.out.push_str(&format!("% {}\n", steady(line, line, &self.place)));
        }
        if !status.success() {
            self.out.push_str(&format!("% exit {}\n", status.code().unwrap_or(-1)));
        }
    }

    /// Waits for the expected screen, and writes down what is there.
    fn look(&mut self, detail: Detail, expected: &str) {
        let Some(terminal) = &self.terminal else { return self.problems.push("nothing runs that has a screen".into()) };
        // Behind the last screen of a program stands how it ended.
        let expected = expected.split_inclusive('\n').filter(|line| !line.starts_with('*')).collect::<String>();
        let look = |screen: &vt100::Screen| lines(screen, detail, &self.place);
        let shown = if self.update {
            terminal.at_rest(look)
        } else {
            terminal.until(|screen| Some(look(screen)).filter(|shown| *shown == expected)).unwrap_or_else(|| terminal.screen(look))
        };
        self.out.push_str(&shown);
        self.seen = true;
    }

    /// Waits for the end of the program, and writes down how it ended and what it left on the screen.
    fn end(&mut self) {
        let Some(mut terminal) = self.terminal.take() else { return };
        let Some(status) = terminal.end() else {
            let shown = terminal.screen(|screen| lines(screen, Detail { plain: true }, &self.place));
            return self.problems.push(format!("`{}` does not end; it shows:\n{shown}", self.command));
        };
        if !self.seen {
            self.out.push_str(&terminal.screen(|screen| lines(screen, Detail { plain: true }, &self.place)));
        }
        self.out.push_str(&match status.signal() {
            Some(signal) => format!("* {}\n", signal.to_lowercase()),
            None => format!("* exit {}\n", status.exit_code()),
        });
    }
}

/// Performs an act at the terminal itself.
fn act(terminal: &mut Terminal, line: Line, stage: &Stage, title: &str, place: &str, update: bool, problems: &mut Vec<String>) {
    match line {
        Line::Type(bytes) => terminal.send(bytes),
        Line::Keys(keys) => {
            let application = terminal.screen(|screen| screen.application_cursor());
            keys.iter().for_each(|key| terminal.send(key.bytes(application)));
        }
        Line::Paste(bytes) if terminal.brackets_paste() => terminal.send([b"\x1b[200~", &*bytes, b"\x1b[201~"].concat()),
        Line::Paste(bytes) => terminal.send(bytes),
        Line::Resize(size) => terminal.resize(size),
        Line::HangUp => terminal.hang_up(),
        Line::Signal(name) => {
            let signal = match &*name {
                "hup" => Some(Signal::HUP),
                "int" => Some(Signal::INT),
                "term" => Some(Signal::TERM),
                _ => None,
            };
            let process = terminal.process().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            let sent = signal.zip(process).map(|(signal, process)| kill_process(process, signal));
            if !matches!(sent, Some(Ok(()))) {
                problems.push(format!("the signal `{name}` cannot be sent: hup, int, term"));
            }
        }
        Line::Wait(text) => {
            if terminal.until(|screen| lines(screen, Detail { plain: true }, place).contains(&text).then_some(())).is_none() {
                let shown = terminal.screen(|screen| lines(screen, Detail { plain: true }, place));
                problems.push(format!("`{text}` never comes; the screen is\n{shown}"));
            }
        }
        Line::Picture(name) => {
            let drawn = terminal.screen(|screen| picture(screen, title, place));
            let path = stage.pictures.join(format!("{name}.svg"));
            if update {
                let written = fs::create_dir_all(&stage.pictures).and_then(|()| fs::write(&path, drawn));
                problems.extend(written.err().map(|error| format!("{}: {error}", path.display())));
            } else if fs::read_to_string(&path).unwrap_or_default() != drawn {
                problems.push(format!("{} is not how the screen looks; UPDATE=1 draws it anew", path.display()));
            }
        }
        Line::Remark | Line::Start(_) | Line::Shell(_) | Line::Screen(_) => {}
    }
}
