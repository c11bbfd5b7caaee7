//! The commands of a chat (orchestrator 3.7). Each returns `{text}`, which the graph sends.

use std::sync::Arc;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use trellis_core::{Mapping, SessionId, SignalName, ToolError, Value};
use trellis_host::{
    Bindings, CallContext,
    sessions::{Stop, Turn},
};

use super::{
    Hands, Returned, consolidate::begin, function, run_blocking, schedules::cron, store_error, talk::newest_range, text, typed::Typed,
};
use crate::{
    approvals::short_id,
    channel::Rendering,
    inbound::Kind,
    message::{ChatPlace, now},
    seal::references,
};

/// Messages that `/sessions` shows by default.
const DEFAULT_SESSIONS_SHOWN: usize = 10;

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = command(bindings, hands, "command.help", help);
    let bindings = command(bindings, hands, "command.status", status);
    let bindings = command(bindings, hands, "command.stop", stop);
    let bindings = command(bindings, hands, "command.render", render);
    let bindings = command(bindings, hands, "command.sessions", sessions);
    let bindings = command(bindings, hands, "command.memory", memory);
    let bindings = command(bindings, hands, "command.secret", secret);
    let bindings = command(bindings, hands, "command.cron", cron);
    let bindings = function(bindings, hands, "memory.append", remember);
    function(bindings, hands, "memory.search", recall)
}

fn command<F, Fut>(bindings: Bindings, hands: &Arc<Hands>, name: &str, run: F) -> Bindings
where
    F: Fn(Arc<Hands>, Typed) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    function(bindings, hands, name, move |hands: Arc<Hands>, context: CallContext, args: Mapping| {
        let run = run.clone();
        async move {
            let crate::message::Incoming { place, sender, .. } = hands.first_row(&context.session).await?.message;
            let list = args.get("args").and_then(Value::as_list);
            let words = list.into_iter().flat_map(|list| list.iter()).filter_map(Value::as_str).map(str::to_owned).collect();
            let unknown = args.get("unknown").and_then(Value::as_str).map(str::to_owned);
            let said = run(hands, Typed { place, sender, args: words, key: context.idempotency_key.to_string(), unknown }).await?;
            Ok(Value::map([("text", Value::text(said))]))
        }
    })
}

async fn help(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let (language, commands) = (hands.settings.language, hands.commands.now());
    let list = commands.list(language);
    let unknown = |name: &str| language.fill("unknown_command", &[("name", name), ("list", &list)]);
    Ok(match (&typed.unknown, typed.args().first()) {
        (Some(name), _) => unknown(name),
        (None, Some(name)) => match commands.find(&name.trim_start_matches(['/', '!']).to_lowercase()) {
            Some(known) => known.line(language),
            None => unknown(name),
        },
        (None, None) => list,
    })
}

impl Hands {
    /// The running conversations of a chat, with their state.
    async fn runs(&self, place: &ChatPlace) -> Result<Vec<ChatRun>, ToolError> {
        let sessions = self.live()?;
        let rows = self.queue.taken_rows().await.map_err(store_error)?;
        let mut runs: Vec<ChatRun> = Vec::new();
        for row in rows.into_iter().filter(|row| row.message.place == *place && !matches!(row.kind(), Kind::Command(_))) {
            let Some(id) = row.run.as_deref().map(SessionId::new).filter(|id| runs.iter().all(|run| run.id != *id)) else { continue };
            if let Ok(turn) = sessions.view(&id).await
                && !matches!(turn.stop, Stop::Ended(_))
            {
                let title = row.message.work().and_then(|_| Some(row.message.context().get("title")?.as_str()?.to_owned()));
                runs.push(ChatRun { id, turn, title });
            }
        }
        Ok(runs)
    }
}

/// A running session of a chat.
struct ChatRun {
    id: SessionId,
    turn: Turn,
    /// The title of a task.
    title: Option<String>,
}

impl ChatRun {
    /// Returns whether a prefix names it, with or without `task-`.
    fn is_named(&self, typed: &str) -> bool {
        const MIN_PREFIX: usize = 4;
        let typed = typed.trim_matches('`');
        let typed = typed.strip_prefix("task-").unwrap_or(typed);
        typed.len() >= MIN_PREFIX && self.id.as_str().strip_prefix("task-").is_some_and(|name| name.starts_with(typed))
    }
}

async fn status(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let language = hands.settings.language;
    let runs = hands.runs(&typed.place).await?;
    if runs.is_empty() {
        return Ok(language.text("status_idle").to_owned());
    }
    let mut lines = vec![language.text("status_head").to_owned()];
    for ChatRun { id: session, turn, title } in &runs {
        let stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
        let held: Vec<_> = stops.filter_map(Stop::held).collect();
        let name = title.as_ref().map_or_else(|| format!("`{session}`"), |title| format!("`{session}` **{title}**"));
        for call in &held {
            let id = short_id(&call.id);
            lines.push(language.fill("status_held", &[("session", &name), ("tool", &call.name), ("id", &id)]));
        }
        match &turn.stop {
            _ if !held.is_empty() => {}
            Stop::Ask { .. } => lines.push(language.fill("status_input", &[("session", &name)])),
            _ => lines.push(language.fill("status_call", &[("session", &name), ("node", turn.node.as_str())])),
        }
    }
    Ok(lines.join("\n"))
}

async fn stop(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let (language, sessions) = (hands.settings.language, hands.live()?);
    let interrupt = SignalName::new(SignalName::INTERRUPT);
    let mut runs = hands.runs(&typed.place).await?;
    if let Some(named) = typed.args().first() {
        runs.retain(|run| run.is_named(named));
        if runs.is_empty() {
            return Ok(language.fill("stop_unknown", &[("name", named)]));
        }
    }
    let mut stopped = 0;
    for run in runs {
        stopped += usize::from(sessions.signal(&run.id, &interrupt).await.is_ok());
    }
    Ok(match stopped {
        0 => language.text("stop_none").to_owned(),
        count => language.fill("stopped", &[("count", &count.to_string())]),
    })
}

async fn render(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let language = hands.settings.language;
    match typed.args()[..] {
        [mode] if Rendering::named(mode).is_some() => {
            let ChatPlace { provider, chat, .. } = &typed.place;
            hands.queue.set(provider, chat, "render", mode).await.map_err(store_error)?;
            Ok(language.fill("render_set", &[("mode", mode)]))
        }
        _ => Ok(language.text("render_usage").to_owned()),
    }
}

async fn sessions(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let language = hands.settings.language;
    let range = match typed.args()[..] {
        [] => Some((1, DEFAULT_SESSIONS_SHOWN)),
        [word] => newest_range(word),
        _ => None,
    };
    let Some((from, to)) = range else {
        return Ok(language.text("sessions_usage").to_owned());
    };
    let said = run_blocking(move || hands.history.range(&typed.place, from, to).map_err(store_error)).await?;
    if said.is_empty() {
        return Ok(language.text("sessions_empty").to_owned());
    }
    let line = |said: &crate::workspace::Said| {
        let at = i64::try_from(said.at).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or_default();
        let text: Vec<&str> = said.text.split_whitespace().collect();
        format!("- {} **{}** {}", at.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M"), said.sender, text.join(" "))
    };
    Ok(said.iter().map(line).collect::<Vec<_>>().join("\n"))
}

async fn memory(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let language = hands.settings.language;
    let shown = move |text: String| if text.trim().is_empty() { language.text("memory_empty").to_owned() } else { text };
    match typed.args()[..] {
        [] => run_blocking(move || hands.memory.long().map(shown).map_err(store_error)).await,
        ["consolidate"] => begin(hands, typed).await,
        ["today"] => run_blocking(move || hands.memory.day(Zoned::now().date()).map(shown).map_err(store_error)).await,
        ["search", ..] if typed.args.len() > 1 => {
            let query = typed.args[1..].join(" ");
            let found = run_blocking(move || hands.memory.search(&query).map_err(store_error)).await?;
            let lines: Vec<String> = found.iter().map(|(file, line)| format!("- `{file}` {line}")).collect();
            Ok(match lines.len() {
                0 => language.text("memory_none").to_owned(),
                count => format!("{}\n{}", language.fill("memory_found", &[("count", &count.to_string())]), lines.join("\n")),
            })
        }
        _ => Ok(language.text("memory_usage").to_owned()),
    }
}

async fn secret(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    let language = hands.settings.language;
    let named = move |text: &'static str, name: &str| language.fill(text, &[("name", name)]);
    let words: Vec<String> = typed.args.clone();
    run_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let vault = &hands.vault;
        Ok(match words[..] {
            ["ls"] => {
                let entries = vault.list().map_err(store_error)?;
                let lines: Vec<String> = entries.iter().map(|entry| format!("- `{}` {}", entry.name, day(entry.set))).collect();
                match lines.len() {
                    0 => language.text("secret_empty").to_owned(),
                    _ => format!("{}\n{}", language.text("secret_list"), lines.join("\n")),
                }
            }
            ["set", name, _] if !trellis_host::secrets::is_name(name) => named("secret_name", name),
            ["set", name, reference] => {
                let Some(value) = references(reference).first().and_then(|key| vault.get(key).ok().flatten()) else {
                    return Ok(language.fill("secret_resolution_required", &[("names", reference)]));
                };
                vault.set(name, value.as_str()).map_err(store_error)?;
                named("secret_set", name)
            }
            ["rm", name] => match vault.remove(name).map_err(store_error)? {
                true => named("secret_removed", name),
                false => named("secret_unknown", name),
            },
            _ => language.text("secret_usage").to_owned(),
        })
    })
    .await
}

/// The day of a moment, in milliseconds since 1970.
fn day(moment: u64) -> String {
    let at = i64::try_from(moment).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or_default();
    at.to_zoned(TimeZone::system()).date().to_string()
}

async fn remember(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    hands.remember(&context.idempotency_key.to_string(), &place, text(&args, "text")).await?;
    Ok(Value::map([("written", Value::Bool(true))]))
}

impl Hands {
    /// Writes a line into the memory of today, sealed; the call of a key writes one, however often it is made.
    pub(super) async fn remember(self: Arc<Self>, key: &str, place: &ChatPlace, text: &str) -> Result<(), ToolError> {
        let _writing = self.memory.writing.lock().await;
        let (hands, place, text) = (Arc::clone(&self), place.clone(), text.to_owned());
        let made = run_blocking(move || {
            let sealed = hands.sealer.seal(&place.provider, &place.chat, &text, None);
            hands.memory.line(&sealed, &Zoned::now()).map_err(store_error)
        });
        let line = self.queue.note(key, made.await?, now()).await.map_err(store_error)?;
        let memory = self.memory.clone();
        run_blocking(move || memory.write(&line).map_err(store_error)).await
    }
}

async fn recall(hands: Arc<Hands>, _: CallContext, args: Mapping) -> Returned {
    run_blocking(move || {
        let found = hands.memory.search(text(&args, "query")).map_err(store_error)?;
        let hits = found.into_iter().map(|(file, line)| Value::map([("file", Value::text(file)), ("line", Value::text(line))]));
        Ok(Value::map([("lines", Value::list(hits))]))
    })
    .await
}
