//! The routes of a dashboard, each with its right (orchestrator 8.5).

use std::sync::Arc;

use serde_json::json;
use trellis_server::{
    Code, Right, Trouble,
    extra::{ExtraReply, ExtraRequest, ExtraRoute},
};

use super::{View, chat, look::queue_trouble};

/// A message that was taken.
const ACCEPTED_STATUS: u16 = 202;

/// The routes of the chat.
pub(super) fn chat(view: &Arc<View>) -> Vec<ExtraRoute> {
    vec![
        of(view, "GET", "/api/channels/web/messages", Right::Read, |view, request| {
            Box::pin(async move {
                let thread = request.query.get("thread").map(String::as_str);
                let items = view.conversation(&request.label, thread).await?;
                Ok(json!({ "items": items, "next": null, "chat": &*request.label }).into())
            })
        })
        // Whoever writes here, or is asked for a decision here, reads what is said.
        .or(Right::Chat)
        .or(Right::Walk)
        .or(Right::Approve)
        .query(&["thread"]),
        of(view, "POST", "/api/channels/web/messages", Right::Walk, |view, request| {
            Box::pin(async move {
                let text = request.text("text", chat::MESSAGE_KEYS)?.ok_or_else(|| Trouble::request("/text", "`text` is missing"))?;
                let thread = request.text("thread", chat::MESSAGE_KEYS)?;
                let may_write = [Right::Walk, Right::Chat].into_iter().any(|right| request.rights.has(right));
                if !may_write && !view.is_decision(text).await? {
                    let label = &request.label;
                    let detail = format!("`{label}` has neither `chat` nor `walk`: it decides here about calls that wait, as `yes ID`");
                    return Err(Trouble::new(Code::Forbidden, detail));
                }
                let said = view.say(&request.label, text, thread, request.key.as_deref()).await?;
                Ok(ExtraReply { status: ACCEPTED_STATUS, body: json!(said) })
            })
        })
        .or(Right::Chat)
        // Whoever is asked for a decision here may say it here.
        .or(Right::Approve),
    ]
}

/// The routes of the state, and of actions on it.
pub(super) fn state(view: &Arc<View>) -> Vec<ExtraRoute> {
    vec![
        of(view, "GET", "/api/state", Right::Read, |view, request| {
            Box::pin(async move { Ok(view.look(request.calls().await?).await?.into()) })
        }),
        of(view, "POST", "/api/outbox/{letter}/retry", Right::Operate, |view, request| {
            Box::pin(async move {
                let letter = number(&request)?;
                empty_reply(view.hands.outbox.retry(letter).await.map_err(queue_trouble)?, &request, Code::UnknownLetter, "letter")
            })
        }),
        of(view, "DELETE", "/api/outbox/{letter}", Right::Operate, |view, request| {
            Box::pin(async move {
                let letter = number(&request)?;
                empty_reply(view.hands.queue.drop_dead(letter).await.map_err(queue_trouble)?, &request, Code::UnknownLetter, "letter")
            })
        }),
        of(view, "POST", "/api/cron/{job}/pause", Right::Operate, |view, request| {
            Box::pin(async move { view.enable(&request, false).await })
        }),
        of(view, "POST", "/api/cron/{job}/resume", Right::Operate, |view, request| {
            Box::pin(async move { view.enable(&request, true).await })
        }),
        of(view, "POST", "/api/services/{service}/start", Right::Operate, |view, request| {
            Box::pin(async move {
                let is_there = match view.services.get() {
                    Some(services) => services.start(request.part("service")).await,
                    None => false,
                };
                empty_reply(is_there, &request, Code::UnknownRoute, "service")
            })
        }),
        of(view, "POST", "/api/services/{service}/restart", Right::Operate, |view, request| {
            Box::pin(async move {
                let is_there = match view.services.get() {
                    Some(services) => services.restart(request.part("service")).await,
                    None => false,
                };
                empty_reply(is_there, &request, Code::UnknownRoute, "service")
            })
        }),
    ]
}

type RouteAnswer = std::pin::Pin<Box<dyn Future<Output = Result<ExtraReply, Trouble>> + Send>>;

fn of(
    view: &Arc<View>,
    method: &'static str,
    path: &'static str,
    right: Right,
    run: impl Fn(Arc<View>, ExtraRequest) -> RouteAnswer + Send + Sync + 'static,
) -> ExtraRoute {
    let view = Arc::clone(view);
    ExtraRoute::new(method, path, right, move |request| run(Arc::clone(&view), request))
}

impl View {
    /// Pauses a schedule, or resumes it.
    async fn enable(&self, request: &ExtraRequest, is_enabled: bool) -> Result<ExtraReply, Trouble> {
        let (jobs, id) = (self.hands.jobs.clone(), request.part("job").to_owned());
        let changed = tokio::task::spawn_blocking(move || {
            jobs.update(&id, |job| {
                job.enable(is_enabled);
                true
            })
        });
        let internal = |error: &dyn std::fmt::Display| {
            Trouble::new(Code::StoreUnwritable, "the schedules cannot be written").logged(error.to_string())
        };
        let is_there = changed.await.map_err(|error| internal(&error))?.map_err(|error| internal(&error))?;
        empty_reply(is_there, request, Code::UnknownRoute, "job")
    }
}

/// The number of a message that was given up.
fn number(request: &ExtraRequest) -> Result<i64, Trouble> {
    let text = request.part("letter");
    text.parse().map_err(|_| Trouble::new(Code::UnknownLetter, format!("`{text}` is no number of a message")))
}

/// An empty reply if something was there; else an error.
fn empty_reply(is_there: bool, request: &ExtraRequest, code: Code, what: &str) -> Result<ExtraReply, Trouble> {
    if is_there {
        return Ok(ExtraReply { status: 204, body: serde_json::Value::Null });
    }
    Err(Trouble::new(code, format!("there is no {what} `{}`; `/api/state` lists them", request.part(what))))
}
