//! The shell: `sh -c` in the folder of files, in a process group of its own, and in a sandbox if the settings ask for one (orchestrator 6). The
//! policy decides which lines may run; `rules.rs` has the rules that the settings add to it.
//!
//! **Invariant:** a line that was cut off with the program runs a second time only after another approval; what is left of it is ended first.

mod mark;
mod rules;
mod sandbox;

use std::{env, process::Stdio, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
};
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use self::mark::Mark;
pub(crate) use self::{mark::end_orphans, sandbox::obstacle};
use super::{
    Hands, Returned,
    files::{MAX_RESULT, beginning},
    function,
    references::FilledCommand,
    run_blocking, store_error, text,
};
use crate::{config::Sandbox, message::Outgoing};

/// Variables that a command has.
const ENVIRONMENT: [&str; 3] = ["PATH", "HOME", "LANG"];

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = bindings.allow(rules::allowed_calls(&hands.settings.shell));
    function(bindings, hands, "shell", run)
}

/// The processes of a command: its group ends with the call. What left the group ends where the call is cut off: when it times out or is stopped.
struct ProcessGroup {
    group: Option<rustix::process::Pid>,
    /// The name of a command that has not ended.
    name: Option<String>,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.name.iter().for_each(|name| mark::end_named(name));
        if let Some(group) = self.group {
            // It may be gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

async fn run(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    let filling = Arc::clone(&hands);
    let of_chat = place.clone();
    let FilledCommand { line, variables: values } = run_blocking(move || filling.filled_command(&of_chat, text(&args, "command"))).await?;
    let variables = ENVIRONMENT.iter().filter_map(|name| Some((*name, env::var_os(name)?)));
    let files = hands.files_folder()?;
    let mut command = match hands.settings.shell.sandbox {
        Sandbox::Bwrap => sandbox::shell(hands.workspace.folder(), &files).map_err(store_error)?,
        Sandbox::None => Command::new("sh"),
    };
    command.arg("-c").arg(line).current_dir(files).env_clear().envs(variables);
    command.envs(values.iter().map(|(name, value)| (name, value.as_str())));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let (marking, key) = (Arc::clone(&hands), context.idempotency_key.to_string());
    let Some(mark) = run_blocking(move || Mark::begin(&marking.workspace, &key).map_err(store_error)).await? else {
        let said = hands.settings.language.text("shell_cut_off").to_owned();
        hands.outbox.post(Outgoing::new(place, said, format!("cut:{}", context.idempotency_key))).await.map_err(store_error)?;
        let why = "the command was cut off with the program, and may have been carried out in part; look before you ask for it again";
        return Err(ToolError::coded("cut_off", why).finally());
    };
    command.env(mark::COMMAND_VARIABLE, mark.name());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            mark.end();
            return Err(store_error(format!("the shell cannot be started: {error}")));
        }
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let mut processes = ProcessGroup { group, name: Some(mark.name()) };
    let mark = run_blocking(move || mark.with_group(group).map_err(store_error)).await?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (output, errors) = tokio::join!(read_beginning(out), read_beginning(err));
    let status = child.wait().await.map_err(|error| ToolError::new(error.to_string()))?;
    processes.name = None;
    mark.end();
    let shown = |(text, is_cut): (String, bool)| if is_cut { format!("{text}\n[cut]") } else { text };
    let (output, errors) = (shown(output), shown(errors));
    let (output, errors) = run_blocking(move || Ok((hands.mask.masked(&output), hands.mask.masked(&errors)))).await?;
    Ok(Value::map([
        ("status", status.code().map_or(Value::Null, |code| Value::Int(i64::from(code)))),
        ("output", Value::text(output)),
        ("errors", Value::text(errors)),
    ]))
}

/// Returns the beginning of the output of a command; the rest is read and dropped, so that the command does not block.
async fn read_beginning(stream: Option<impl AsyncRead + Unpin>) -> (String, bool) {
    let Some(mut stream) = stream else { return (String::new(), false) };
    let (mut output, mut is_cut, mut buffer) = (Vec::new(), false, [0_u8; 8192]);
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let room = (MAX_RESULT / 2).saturating_sub(output.len());
        is_cut |= count > room;
        output.extend_from_slice(&buffer[..count.min(room)]);
    }
    let text = String::from_utf8_lossy(&output).into_owned();
    (beginning(&text, MAX_RESULT / 2).to_owned(), is_cut)
}
