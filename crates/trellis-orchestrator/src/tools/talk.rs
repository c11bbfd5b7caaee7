//! The conversation: what the model gets, and what the chat is told.

use std::{fs, sync::Arc};

use jiff::Zoned;
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, aside, function, stored, text};
use crate::{
    decisions::KeptDecision,
    message::{ChatPlace, Outgoing, now},
    model_context::{ContextParts, DECISIONS, HISTORY, messages},
    workspace::{Said, Speaker},
};

pub(super) fn bound(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = function(bindings, hands, "context.build", build);
    let bindings = function(bindings, hands, "message", async |hands: Arc<Hands>, context: CallContext, args: Mapping| {
        let place = match args.get("chat").and_then(Value::as_str) {
            None => hands.place(&context.session).await?,
            Some(named) => {
                let unknown = || ToolError::coded("not_found", format!("`{named}` is no chat: write `provider:chat`")).finally();
                let thread = args.get("thread").and_then(Value::as_str).map(str::to_owned);
                ChatPlace { thread, ..ChatPlace::named(named).ok_or_else(unknown)? }
            }
        };
        hands.say(&context, place, text(&args, "text").to_owned()).await
    });
    function(bindings, hands, "notice", async |hands: Arc<Hands>, context: CallContext, args: Mapping| {
        let language = hands.settings.language;
        let said = match text(&args, "notice") {
            "failed" => language.of_code(text(&args, "code")),
            name => language.fill(name, &[("answer", text(&args, "answer"))]),
        };
        let said = match text(&args, "task") {
            "" => said,
            title => language.fill("task_said", &[("title", title), ("said", &said)]),
        };
        let place = hands.place(&context.session).await?;
        hands.say(&context, place, said).await
    })
}

impl Hands {
    /// Puts a message of a session into the outbox: one call makes one row.
    async fn say(&self, context: &CallContext, place: ChatPlace, text: String) -> Returned {
        let key = context.idempotency_key.to_string();
        let message = Outgoing { place: place.clone(), text: text.clone(), key: key.clone() };
        let row = self.outbox.post(message).await.map_err(stored)?;
        let (history, run) = (self.history.clone(), context.session.to_string());
        let said = Said { id: key, at: now(), role: Speaker::Assistant, sender: self.settings.agent.clone(), text, run, edited: false };
        aside(move || history.note(&place, &said).map_err(stored)).await?;
        Ok(Value::map([("row", Value::Int(row))]))
    }

    /// The parts of the context for a message of a chat.
    fn parts(&self, place: &ChatPlace, run: &str, message: &str, now: &Zoned) -> Result<ContextParts, ToolError> {
        let mut templates: Vec<_> =
            fs::read_dir(self.workspace.path("templates")).map_err(stored)?.flatten().map(|entry| entry.path()).collect();
        templates.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        templates.sort();
        templates.push(self.workspace.path(&format!("agents/{}.md", self.settings.agent)));
        let read = |path: &std::path::PathBuf| fs::read_to_string(path).map_err(|error| stored(format!("`{}`: {error}", path.display())));
        // What this run answers is the message, not something said before.
        let history = self.history.newest(place, HISTORY, |said| said.run != run).map_err(stored)?;
        let yesterday = now.date().yesterday().map_err(stored)?;
        Ok(ContextParts {
            fixed: templates.iter().map(read).collect::<Result<_, _>>()?,
            memory: self.memory.long().map_err(stored)?,
            yesterday: self.memory.day(yesterday).map_err(stored)?,
            today: self.memory.day(now.date()).map_err(stored)?,
            decisions: self.decisions.newest(place, DECISIONS).iter().map(KeptDecision::line).collect(),
            moment: format!("It is {}. This chat is on the channel `{}`.", now.strftime("%A, %Y-%m-%d %H:%M, %Q"), place.provider),
            history,
            message: message.to_owned(),
        })
    }
}

async fn build(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    aside(move || {
        let parts = hands.parts(&place, context.session.as_str(), text(&args, "text"), &Zoned::now())?;
        let messages = messages(parts, hands.settings.context_tokens)
            .map_err(|error| ToolError::coded("context-too-large", error.to_string()).finally())?;
        Ok(Value::map([("messages", Value::list(messages))]))
    })
    .await
}
