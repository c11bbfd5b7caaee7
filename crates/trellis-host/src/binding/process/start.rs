//! Reasons why a process did not start: the binding, the file, the remedy.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use trellis_core::{ToolError, Value};

use super::Process;

/// The error for the system's refusal to start a process.
pub(super) fn refused(process: &Process, tool: &str, error: &io::Error) -> ToolError {
    let why = reason(process, error);
    ToolError::new(format!("the binding `{tool}` of `{}` cannot start: {why}", process.file))
}

/// The reason of the system's refusal, as the end of a sentence.
pub(super) fn reason(process: &Process, error: &io::Error) -> String {
    folder(process).unwrap_or_else(|| program(process, error))
}

/// Returns the reason why the system would refuse to start a process, as far as it shows without starting anything.
pub(super) fn foreseen(process: &Process) -> Option<String> {
    folder(process).or_else(|| {
        let is_path = process.program.components().count() > 1;
        let refusal =
            if is_path { refusal(&process.program) } else { (!is_on_path(process, &process.command)).then_some(io::ErrorKind::NotFound) };
        refusal.map(|kind| program(process, &kind.into())).or_else(|| through_env(process))
    })
}

/// The error with which the system would refuse to start a file.
fn refusal(file: &Path) -> Option<io::ErrorKind> {
    let file = &started(file);
    match file.metadata() {
        Err(error) => Some(error.kind()),
        Ok(found) if found.is_dir() || !may_run(file) => Some(io::ErrorKind::PermissionDenied),
        Ok(_) => {
            let interpreter = Shebang::of(file).map(|shebang| shebang.interpreter)?;
            refusal(Path::new(&interpreter))
        }
    }
}

/// The file that the system starts under a name: Windows adds `.exe` where there is such a file.
fn started(file: &Path) -> PathBuf {
    let mut with_suffix = file.as_os_str().to_owned();
    with_suffix.push(env::consts::EXE_SUFFIX);
    let with_suffix = PathBuf::from(with_suffix);
    if with_suffix.is_file() { with_suffix } else { file.to_owned() }
}

/// A failure of a script whose `#!` line goes through `env`: where `env` found no interpreter, the script never began.
pub(super) fn explained(process: &Process, tool: &str, error: ToolError) -> ToolError {
    match through_env(process).filter(|_| error.code == Some(Value::Int(127))) {
        Some(why) => ToolError { message: format!("the binding `{tool}` of `{}` cannot start: {why}", process.file), ..error },
        None => error,
    }
}

/// The interpreter that a script's `env` would not find.
fn through_env(process: &Process) -> Option<String> {
    let named = Shebang::of(&process.program)?.through_env.filter(|named| !is_on_path(process, named))?;
    let command = &process.command;
    Some(format!("the interpreter `{named}` of `{command}` is not on the PATH; install it, or correct the script's `#!` line"))
}

/// The mistake in the folder that it should run in.
fn folder(process: &Process) -> Option<String> {
    let cwd = process.cwd.display();
    match process.cwd.join(".").metadata() {
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(format!("its `cwd`, `{cwd}`, may not be entered; try `chmod +x {cwd}`"))
        }
        Err(_) if process.cwd.exists() => Some(format!("its `cwd`, `{cwd}`, is a file; change `cwd` to a folder")),
        Err(_) => Some(format!("its `cwd`, `{cwd}`, does not exist; make that folder, or change `cwd`")),
    }
}

/// The mistake in the program itself.
fn program(process: &Process, error: &io::Error) -> String {
    let command = &process.command;
    let is_path = process.program.components().count() > 1;
    match error.kind() {
        io::ErrorKind::NotFound if !is_path => {
            format!("`{command}` is not on the PATH; install it, or write its path in `process`")
        }
        io::ErrorKind::NotFound => match Shebang::of(&process.program) {
            Some(shebang) if shebang.has_carriage_return => {
                format!("the first line of `{command}` ends in a carriage return; save it with the line breaks of Unix")
            }
            Some(Shebang { interpreter, .. }) => {
                format!("the interpreter `{interpreter}` of `{command}` does not exist; install it, or correct the script's `#!` line")
            }
            None => format!("`{command}` does not exist; paths start at the folder of the project file"),
        },
        io::ErrorKind::NotADirectory => format!("`{command}` leads through a file; correct the path"),
        io::ErrorKind::PermissionDenied if process.program.is_dir() => format!("`{command}` is a folder; name a program in it"),
        io::ErrorKind::PermissionDenied if !may_run(&process.program) => format!("`{command}` may not be run; try `chmod +x {command}`"),
        io::ErrorKind::PermissionDenied => match Shebang::of(&process.program) {
            Some(Shebang { interpreter, .. }) if !may_run(Path::new(&interpreter)) => {
                format!("the interpreter `{interpreter}` of `{command}` may not be run; correct the script's `#!` line")
            }
            _ => format!("the system does not let `{command}` run; a folder above it or its disk may forbid it"),
        },
        io::ErrorKind::ExecutableFileBusy => format!("`{command}` is being written; try again when it is saved"),
        _ if error.raw_os_error() == Some(8) => format!("`{command}` is no program; a script begins with a line such as `#!/bin/sh`"),
        _ => format!("`{command}`: {error}"),
    }
}

/// The first line of a script.
struct Shebang {
    interpreter: String,
    /// The program that `env` is to look for.
    through_env: Option<String>,
    has_carriage_return: bool,
}

impl Shebang {
    fn of(script: &Path) -> Option<Self> {
        let mut head = Vec::new();
        File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
        let line = std::str::from_utf8(head.split(|&byte| byte == b'\n').next()?.strip_prefix(b"#!")?).ok()?;
        let mut words = line.split_whitespace();
        let interpreter = words.next()?.to_owned();
        let is_env = Path::new(&interpreter).file_name().is_some_and(|name| name == "env");
        // `env -S prog` and `env NAME=value prog` look for the first word that is neither.
        let through_env = words.find(|word| !word.starts_with('-') && !word.contains('=')).filter(|_| is_env).map(str::to_owned);
        Some(Self { interpreter, through_env, has_carriage_return: line.ends_with('\r') })
    }
}

/// Returns whether the `PATH` that the process gets knows a name.
fn is_on_path(process: &Process, name: &str) -> bool {
    let path = process.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH")).unwrap_or_default();
    env::split_paths(&path).map(|folder: PathBuf| started(&process.cwd.join(folder).join(name))).any(|file| file.is_file())
}

#[cfg(unix)]
fn may_run(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0)
}

#[cfg(not(unix))]
fn may_run(file: &Path) -> bool {
    file.exists()
}
