//! The shell in `bwrap`: it writes among the files only, sees neither `runtime/` nor `.env` of the workspace, and has no network (orchestrator 6).

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    process::{Command as Blocking, Stdio},
};

use tokio::process::Command;

use crate::config::{Sandbox, ShellSettings};

/// The program that makes sandboxes.
const BWRAP: &str = "bwrap";

/// Namespaces of its own, the whole system to read, and folders of its own where sockets of other programs lie.
const SYSTEM: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/run",
    "--ro-bind-try",
    "/run/current-system",
    "/run/current-system",
];

/// The reason why there is no sandbox, if the settings ask for one.
pub(crate) fn obstacle(shell: &ShellSettings) -> Option<String> {
    if shell.sandbox == Sandbox::None {
        return None;
    }
    let tried = Blocking::new(BWRAP).args(SYSTEM).arg("true").stdin(Stdio::null()).output();
    let why = match tried {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "it is not installed".to_owned(),
        Err(error) => error.to_string(),
    };
    let help = "install the package `bubblewrap`, or write `tools: { shell: { sandbox: none } }` if commands may reach everything that this program can";
    Some(format!("`tools.shell` wants a sandbox, and `bwrap` makes none: {why}\n{help}"))
}

/// A shell in a sandbox, without its line.
pub(super) fn shell(workspace: &Path, files: &Path) -> io::Result<Command> {
    let (workspace, files) = (workspace.canonicalize()?, files.canonicalize()?);
    let mut command = Command::new(BWRAP);
    command.args(SYSTEM);
    // The workspace may lie in a folder that was hidden.
    bind(&mut command, "--ro-bind", &workspace, &workspace);
    command.arg("--tmpfs").arg(workspace.join("runtime"));
    for hidden in secret_files(&workspace) {
        bind(&mut command, "--ro-bind", Path::new("/dev/null"), &hidden);
    }
    bind(&mut command, "--bind", &files, &files);
    command.arg("--chdir").arg(&files).arg("sh");
    Ok(command)
}

fn bind(command: &mut Command, how: &str, from: &Path, to: &Path) {
    command.args([OsStr::new(how), from.as_os_str(), to.as_os_str()]);
}

/// Files of the workspace with variables: `.env`, and what an editor leaves beside it.
fn secret_files(workspace: &Path) -> Vec<PathBuf> {
    let entries = workspace.read_dir().into_iter().flatten().flatten();
    let is_secret = |name: &OsStr| name.to_string_lossy().starts_with(".env");
    entries.filter(|entry| is_secret(&entry.file_name())).map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}
