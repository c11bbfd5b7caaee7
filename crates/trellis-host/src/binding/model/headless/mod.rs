//! Programs with a model of their own that answer a prompt without a terminal: `headless: claude`, `headless: codex` (orchestrator 5.1, 5.2).
//!
//! The conversation goes to standard input as one text, lines of JSON come back. The program starts in an empty folder, with `PATH`, `HOME` and the
//! variables of `env` only.
//!
//! **Invariant:** no tool of the program's own runs: one that says that it has some is ended, and one whose shell cannot be switched off starts in
//! `bwrap`, without the files of this user.

use std::{
    collections::BTreeMap,
    env, fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::Value as Json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
};
use trellis_core::{ToolError, Value};

use super::{
    completion::{AnswerFormat, Completion, RequestedCall, Usage, parsed},
    lost,
    provider_keys::HeadlessProgram,
    request::ChatRequest,
};
use crate::binding::process_group::Group;

/// The longest time that an answer may take.
pub(super) const HEADLESS_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes that a program may print.
const MAX_HEADLESS_OUTPUT: usize = 1 << 20;
/// Bytes of its complaints that are shown.
const MAX_ERRORS: usize = 2000;
/// Folders of the system that a program in `bwrap` sees, where they exist.
const SYSTEM_FOLDERS: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/nix", "/run/systemd/resolve"];

/// A program, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Headless {
    pub(super) program: HeadlessProgram,
    /// Its arguments, if they differ from those that it is known to take.
    pub(super) args: Option<Vec<String>>,
    /// True if somebody accepted that it has a shell of its own.
    pub(super) is_shell_accepted: bool,
}

impl Headless {
    fn command(&self) -> &'static str {
        match self.program {
            HeadlessProgram::Claude => "claude",
            HeadlessProgram::Codex => "codex",
        }
    }

    /// The arguments that were tried with claude 2.1 and codex 0.169.
    fn args(&self) -> Vec<String> {
        let known: &[&str] = match self.program {
            HeadlessProgram::Claude => {
                &["-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence", "--strict-mcp-config", "--tools", ""]
            }
            HeadlessProgram::Codex => &["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", "-"],
        };
        self.args.clone().unwrap_or_else(|| known.iter().map(ToString::to_string).collect())
    }

    fn needs_sandbox(&self) -> bool {
        self.program == HeadlessProgram::Codex && !self.is_shell_accepted
    }

    /// Returns the reason why it cannot be started, without starting it.
    pub(super) fn problem(&self) -> Option<String> {
        let missing = |name: &str| format!("there is no program `{name}` in `PATH`");
        if found(self.command()).is_none() {
            return Some(missing(self.command()));
        }
        (self.needs_sandbox() && found("bwrap").is_none()).then(|| {
            format!("{}, without which its own shell would be free: install bubblewrap, or write `own_shell: accept`", missing("bwrap"))
        })
    }

    /// Asks the program.
    ///
    /// # Errors
    /// It cannot be started, fails, prints something else, or has tools of its own.
    pub(super) async fn ask(&self, request: &ChatRequest<'_>, env: &BTreeMap<String, String>) -> Result<Completion, ToolError> {
        if let Some(problem) = self.problem() {
            return Err(lost("unconfigured", problem));
        }
        let folder = EmptyFolder::new().map_err(|error| ToolError::new(format!("no empty folder can be made: {error}")))?;
        let mut child = self.start(&folder.0, env)?;
        let _group = Group::led_by(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let prompt = prompt(request);
        let feeding = async {
            if let Some(mut stdin) = stdin {
                // One that does not read it all says why in its own words.
                let _ = stdin.write_all(prompt.as_bytes()).await;
            }
        };
        let ((), answer, errors) = tokio::join!(feeding, self.answer(stdout), beginning(stderr));
        let mut completion = answer?;
        let status = child.wait().await.map_err(|error| ToolError::new(format!("`{}` was lost: {error}", self.command())))?;
        if completion.finish.is_none() {
            let said = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing about it").trim().to_owned();
            return Err(ToolError::coded("cut", format!("`{}` ended without an answer ({status}): {said}", self.command())));
        }
        if request.format == AnswerFormat::Text && !request.tools.is_empty() {
            take_calls(&mut completion);
        }
        Ok(completion)
    }

    fn start(&self, folder: &Path, env: &BTreeMap<String, String>) -> Result<Child, ToolError> {
        let mut command = if self.needs_sandbox() {
            let mut command = Command::new("bwrap");
            command.args(sandbox(folder, found(self.command()).as_deref(), home().as_deref()));
            command.arg(self.command());
            command
        } else {
            Command::new(self.command())
        };
        command.args(self.args()).current_dir(folder).env_clear().process_group(0).kill_on_drop(true);
        command.envs(["PATH", "HOME"].iter().filter_map(|name| Some((*name, env::var_os(name)?)))).envs(env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| lost("unconfigured", format!("`{}` cannot be started: {error}", self.command())))
    }

    /// Reads its lines, as far as they say something.
    async fn answer(&self, stdout: Option<impl AsyncRead + Unpin>) -> Result<Completion, ToolError> {
        let mut completion = Completion::default();
        let Some(stdout) = stdout else { return Ok(completion) };
        let (mut lines, mut line, mut read) = (BufReader::new(stdout.take(MAX_HEADLESS_OUTPUT as u64 + 1)), Vec::new(), 0);
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line).await.map_err(|error| ToolError::coded("cut", error.to_string()))?;
            read += length;
            if read > MAX_HEADLESS_OUTPUT {
                return Err(lost("too-large", format!("`{}` printed more than {MAX_HEADLESS_OUTPUT} bytes", self.command())));
            }
            if length == 0 {
                return Ok(completion);
            }
            // A line that is no JSON is no part of the answer.
            if let Ok(line) = serde_json::from_slice::<Json>(&line) {
                match self.program {
                    HeadlessProgram::Claude => of_claude(&line, &mut completion)?,
                    HeadlessProgram::Codex => of_codex(&line, &mut completion)?,
                }
            }
        }
    }
}

/// A line of `claude -p --output-format stream-json`.
fn of_claude(line: &Json, completion: &mut Completion) -> Result<(), ToolError> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    match (line["type"].as_str(), line["subtype"].as_str()) {
        (Some("system"), Some("init")) => {
            let tools: Vec<&str> = line["tools"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            if !tools.is_empty() {
                let message = format!("`claude` has tools of its own ({}), which nobody approves: mend its `args`", tools.join(", "));
                return Err(lost("own-tools", message));
            }
            completion.model = text(&line["model"]);
        }
        (Some("result"), _) => {
            let said = text(&line["result"]).unwrap_or_default();
            if line["is_error"] == true {
                return Err(failure(&said, line["api_error_status"].as_u64()));
            }
            let tokens = |key: &str| line["usage"][key].as_u64().unwrap_or_default();
            completion.usage = Usage { input: tokens("input_tokens"), output: tokens("output_tokens") };
            (completion.content, completion.finish) = (said, Some("stop".to_owned()));
        }
        _ => {}
    }
    Ok(())
}

/// A line of `codex exec --json`.
fn of_codex(line: &Json, completion: &mut Completion) -> Result<(), ToolError> {
    match (line["type"].as_str(), line["item"]["type"].as_str()) {
        (Some("item.completed"), Some("agent_message")) => {
            completion.content = line["item"]["text"].as_str().unwrap_or_default().to_owned();
        }
        (Some("turn.completed"), _) => {
            let tokens = |key: &str| line["usage"][key].as_u64().unwrap_or_default();
            completion.usage = Usage { input: tokens("input_tokens"), output: tokens("output_tokens") };
            completion.finish = Some("stop".to_owned());
        }
        (Some("turn.failed"), _) => return Err(failure(line["error"]["message"].as_str().unwrap_or_default(), None)),
        _ => {}
    }
    Ok(())
}

/// The failure that a program tells of.
fn failure(said: &str, status: Option<u64>) -> ToolError {
    let said: String = said.chars().take(500).collect();
    let lower = said.to_lowercase();
    let code = match status {
        Some(status) => format!("http-{status}"),
        None if ["log in", "login", "api key", "unauthorized", "401"].iter().any(|word| lower.contains(word)) => "http-401".to_owned(),
        None if ["limit", "429"].iter().any(|word| lower.contains(word)) => "http-429".to_owned(),
        None => "cut".to_owned(),
    };
    ToolError::coded(code.as_str(), format!("the program failed: {said}"))
}

/// The conversation as one text.
fn prompt(request: &ChatRequest<'_>) -> String {
    let mut parts = Vec::new();
    for message in &request.messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let content = match message.get("content") {
            Some(Value::Text(text)) => text.to_string(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_json(),
        };
        let calls = message.get("tool_calls").filter(|calls| !calls.is_null()).map(Value::to_json);
        let body = [Some(content).filter(|content| !content.is_empty()), calls].into_iter().flatten().collect::<Vec<_>>().join("\n");
        parts.push(format!("<{role}>\n{body}\n</{role}>"));
    }
    if request.format == AnswerFormat::Json {
        let schema = request.schema.map(|schema| format!(" It fits this JSON Schema: {}", schema.to_json())).unwrap_or_default();
        parts.push(format!("Answer with one JSON value and nothing else.{schema}"));
    } else if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let description = tool.description.clone().map_or(Value::Null, Value::Text);
            Value::map([
                ("name", Value::Text(tool.name.clone())),
                ("description", description),
                ("parameters", tool.parameters.clone().into()),
            ])
        });
        let tools = Value::list(tools).to_json();
        parts.push(format!(
            "You may ask for these tools, which somebody else runs; their results come in the next conversation:\n{tools}\n\n\
             Answer with one JSON object and nothing else: {{\"content\": \"what you say\", \"tool_calls\": [{{\"name\": \"…\", \"args\": {{}}}}]}}. \
             Leave `tool_calls` empty once you need no tool."
        ));
    }
    parts.join("\n\n")
}

/// Takes the calls of tools out of an answer that is such an object; any other answer is what the model says.
fn take_calls(completion: &mut Completion) {
    let Ok(Value::Map(answer)) = parsed(&completion.content) else { return };
    let Some(calls) = answer.get("tool_calls").and_then(Value::as_list) else { return };
    let call = |(number, call): (usize, &Value)| {
        Some(RequestedCall {
            id: format!("call_{number}"),
            name: call.get("name")?.as_str()?.to_owned(),
            arguments: call.get("args").map_or_else(|| "{}".to_owned(), Value::to_json),
        })
    };
    completion.calls = (1..).zip(calls.iter()).filter_map(call).collect();
    completion.content = answer.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
}

/// Arguments of `bwrap`: the program sees the system, its own files and its settings, and of the rest an empty folder. It needs the network.
fn sandbox(folder: &Path, program: Option<&Path>, home: Option<&Path>) -> Vec<String> {
    let begin = ["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--new-session", "--tmpfs", "/", "--tmpfs", "/tmp"];
    let mut args: Vec<String> = begin.into_iter().chain(["--dev", "/dev", "--proc", "/proc"]).map(str::to_owned).collect();
    let mut bind = |how: &str, path: &Path| {
        let path = path.display().to_string();
        args.extend([how.to_owned(), path.clone(), path]);
    };
    SYSTEM_FOLDERS.iter().for_each(|path| bind("--ro-bind-try", Path::new(path)));
    if let Some(program) = program {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        // A package of npm lies in one folder with what it needs.
        let package = real.ancestors().filter(|path| path.ends_with("node_modules")).last().or_else(|| real.parent());
        package.into_iter().chain(program.parent()).for_each(|path| bind("--ro-bind-try", path));
    }
    if let Some(home) = home {
        bind("--bind-try", &home.join(".codex"));
    }
    bind("--bind", folder);
    args.extend(["--chdir".to_owned(), folder.display().to_string(), "--".to_owned()]);
    args
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

/// The file of a program in `PATH`.
fn found(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The beginning of a program's error output.
async fn beginning(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let (mut kept, mut chunk) = (Vec::new(), [0_u8; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let room = MAX_ERRORS.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..count.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// A folder of its own, which goes with this.
struct EmptyFolder(PathBuf);

impl EmptyFolder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("trellis-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
