//! The conversation: the context of the model, and the messages to the chat.

use std::{fs, sync::Arc};

use jiff::Zoned;
use trellis_core::{Mapping, ToolError, Value, value::List};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, run_blocking, store_error, text};
use crate::{
    decisions::StoredDecision,
    fence::in_fence,
    message::{Attachment, ChatPlace, Outgoing, now},
    model_context::{ContextParts, DECISIONS, HISTORY, messages},
    outbound::late_prefix,
    queue::InboundRow,
    texts::Language,
    visible::is_blank,
    workspace::{Said, Speaker},
};

/// Messages around the place of a thread that the model is shown.
const NEARBY: u32 = 10;

/// The messages `N` to `M`, counted from the newest, which is 1: `N~M`, or `M` for `1~M`.
pub(super) fn newest_range(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('~').map_or((Some(1), text.parse().ok()), |(from, to)| (from.parse().ok(), to.parse().ok()));
    from.zip(to).filter(|(from, to)| 1 <= *from && from <= to)
}

/// The key of the message by which a session says that its model is away.
pub(crate) fn away_key(session: &str) -> String {
    format!("away:{session}")
}

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = function(bindings, hands, "context.build", build);
    let bindings = function(bindings, hands, "skill.read", async |hands: Arc<Hands>, _: CallContext, args: Mapping| {
        run_blocking(move || {
            let id = text(&args, "id");
            let card = hands.workspace.skill(id).map_err(store_error)?;
            let card = card.ok_or_else(|| ToolError::coded("not_found", format!("there is no skill `{id}`")).finally())?;
            Ok(Value::map([("text", Value::text(hands.mask.masked(&card)))]))
        })
        .await
    });
    let bindings = function(bindings, hands, "message", async |hands: Arc<Hands>, context: CallContext, args: Mapping| {
        let place = match args.get("chat").and_then(Value::as_str) {
            None => hands.place(&context.session).await?,
            Some(named) => {
                let unknown = || ToolError::coded("not_found", format!("`{named}` is no chat: write `provider:chat`")).finally();
                let thread = args.get("thread").and_then(Value::as_str).map(str::to_owned);
                ChatPlace { thread, ..ChatPlace::named(named).ok_or_else(unknown)? }
            }
        };
        let said = text(&args, "text");
        if is_blank(said) {
            return Err(ToolError::coded("no_text", "nobody sees anything of this text").finally());
        }
        hands.say(&context, place, context.idempotency_key.to_string(), said.to_owned()).await
    });
    let bindings = function(bindings, hands, "reply.look", async |_: Arc<Hands>, _: CallContext, args: Mapping| {
        Ok(Value::map([("is_blank", Value::Bool(is_blank(text(&args, "text"))))]))
    });
    function(bindings, hands, "notice", async |hands: Arc<Hands>, context: CallContext, args: Mapping| {
        let language = hands.settings.language;
        let said = match text(&args, "notice") {
            "failed" => language.of_code(text(&args, "code")),
            "model_away" => language.fill("model_away", &[("code", text(&args, "code"))]),
            "task_done" if is_blank(text(&args, "answer")) => language.text("empty_answer").to_owned(),
            name => language.fill(name, &[("answer", text(&args, "answer"))]),
        };
        let said = match text(&args, "task") {
            "" => said,
            title => language.fill("task_said", &[("title", title), ("said", &said)]),
        };
        let place = hands.place(&context.session).await?;
        let key = match text(&args, "notice") {
            "model_away" => away_key(context.session.as_str()),
            _ => context.idempotency_key.to_string(),
        };
        hands.say(&context, place, key, said).await
    })
}

impl Hands {
    /// Puts a message of a session into the outbox, under a key that makes one row. It says that it is late if its model was away.
    async fn say(&self, context: &CallContext, place: ChatPlace, key: String, text: String) -> Returned {
        let away = self.queue.row_by_key(&away_key(context.session.as_str())).await.map_err(store_error)?;
        let late = away.and_then(|away| late_prefix(self.settings.language, now().saturating_sub(away.queued)));
        let message = Outgoing::new(place.clone(), format!("{}{text}", late.unwrap_or_default()), key.clone());
        let row = self.outbox.post(message).await.map_err(store_error)?;
        let (history, run) = (self.history.clone(), context.session.to_string());
        let (role, sender) = (Speaker::Assistant, self.settings.agent.clone());
        let said = Said {
            id: key,
            at: now(),
            role,
            sender,
            text,
            run,
            thread: place.thread.clone(),
            files: Vec::new(),
            edited: false,
            deleted: false,
        };
        // The message is on its way; a history that cannot be written stops no conversation.
        if let Err(error) = run_blocking(move || history.note(&place, &said).map_err(store_error)).await {
            self.log.say(&error.message);
        }
        Ok(Value::map([("row", Value::Int(row))]))
    }

    /// The parts of the context for a message of a chat.
    fn parts(&self, place: &ChatPlace, run: &str, asked: &AskedContext, now: &Zoned) -> Result<ContextParts, ToolError> {
        let mut templates: Vec<_> =
            fs::read_dir(self.workspace.path("templates")).map_err(store_error)?.flatten().map(|entry| entry.path()).collect();
        templates.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        templates.sort();
        templates.push(self.workspace.path(&format!("agents/{}.md", self.settings.agent)));
        let read =
            |path: &std::path::PathBuf| fs::read_to_string(path).map_err(|error| store_error(format!("`{}`: {error}", path.display())));
        // The messages of this run are the current message, not history.
        let history = match asked.range {
            Some((from, to)) => self.history.range(place, from, to).map_err(store_error)?,
            None => self.history.newest(place, HISTORY, |said| said.run != run).map_err(store_error)?,
        };
        let yesterday = now.date().yesterday().map_err(store_error)?;
        Ok(ContextParts {
            fixed: templates.iter().map(read).collect::<Result<_, _>>()?,
            memory: self.memory.long().map_err(store_error)?,
            yesterday: self.memory.day(yesterday).map_err(store_error)?,
            today: self.memory.day(now.date()).map_err(store_error)?,
            skills: self.workspace.skills().map_err(store_error)?,
            nearby: asked.nearby.clone(),
            decisions: self.decisions.newest(place, DECISIONS).iter().map(StoredDecision::line).collect(),
            moment: self
                .settings
                .language
                .fill("context_moment", &[("moment", &now.strftime("%A, %Y-%m-%d %H:%M, %Q").to_string()), ("channel", &place.provider)]),
            history,
            message: asked.text.clone(),
        })
    }
}

/// The request of a graph for a context, with its data from the queue.
struct AskedContext {
    text: String,
    /// The messages of the history, counted from the newest; else the newest ones.
    range: Option<(usize, usize)>,
    nearby: Vec<String>,
}

/// A message with the files that came with it, a line each: their local paths, which the tools for files read. The text of a name is data.
fn with_files(language: Language, text: &str, files: Option<&List>) -> String {
    let file = |file: &Value| {
        let field = |name: &str| file.get(name).and_then(Value::as_str).map(str::to_owned);
        let size = file.get("size").and_then(Value::as_i64).and_then(|size| u64::try_from(size).ok());
        let (name, source) = (field("name").unwrap_or_default(), String::new());
        Attachment { name, media_type: field("media_type"), size, source, path: field("path"), trouble: field("error") }.line()
    };
    let lines: Vec<String> = files.into_iter().flat_map(|files| files.iter()).map(file).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let said = format!("{}\n\n{}", language.text("context_files"), in_fence(&lines.join("\n")));
    [text.trim(), &said].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

async fn build(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    let rows = hands.queue.nearby(&place, NEARBY).await.map_err(store_error)?;
    let line = |row: InboundRow| {
        let words: Vec<&str> = row.message.text.split_whitespace().collect();
        format!("{}: {}", row.message.sender_name, words.join(" "))
    };
    let nearby = rows.into_iter().filter(|row| row.message.work().is_none()).map(line).collect();
    let range = args.get("history").and_then(Value::as_str).map(|range| {
        let wrong = || ToolError::coded("history", format!("`{range}` is no range: write `1~40`, counted from the newest")).finally();
        newest_range(range).ok_or_else(wrong)
    });
    let asked = AskedContext { text: text(&args, "text").to_owned(), range: range.transpose()?, nearby };
    run_blocking(move || {
        let message = with_files(hands.settings.language, &asked.text, args.get("files").and_then(Value::as_list));
        let asked = AskedContext { text: message, ..asked };
        let parts = hands.parts(&place, context.session.as_str(), &asked, &Zoned::now())?;
        let messages = messages(parts, hands.settings.context_tokens)
            .map_err(|error| ToolError::coded("context-too-large", error.to_string()).finally())?;
        Ok(Value::map([("messages", Value::list(messages))]))
    })
    .await
}
