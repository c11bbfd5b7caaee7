//! Other processes: a test that plays both parts starts itself again, and says by the environment which part to play.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

const PART: &str = "TRELLIS_TEST_PART";

/// The part that this process was started to play, as words.
pub(crate) fn part() -> Option<Vec<String>> {
    let part = std::env::var(PART).ok()?;
    Some(part.split('|').map(str::to_owned).collect())
}

/// Starts the test of this name once more, to play a part.
pub(crate) fn start(test: &str, part: &[&str]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    begin(&mut command, test, part)
}

/// The same behind a shell script, which has the command as `"$@"`.
pub(crate) fn start_behind(script: &[&str], test: &str, part: &[&str]) -> Child {
    let mut command = Command::new(script[0]);
    command.args(&script[1..]).arg("sh").arg(std::env::current_exe().unwrap());
    begin(&mut command, test, part)
}

fn begin(command: &mut Command, test: &str, part: &[&str]) -> Child {
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(PART, part.join("|"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Says something to the process that started this one.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsaid {line}").and_then(|()| out.flush()).unwrap();
}

/// Returns the lines that a process says.
pub(crate) fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("said ")?.to_owned()))
}
