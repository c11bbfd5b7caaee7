//! Routes of events: streams of `text/event-stream`.

use super::{answer::Answered, ask::Ask, event_sink::stream, follow::Follower, server_events};
use crate::{
    act::Target,
    gate::{Admission, Right, admission},
    hub::ServerFeed,
    trouble::{Code, Trouble},
};

/// Sessions that are streamed beside the server's events.
const MAX_SESSIONS: usize = 16;

pub(super) async fn session(ask: Ask) -> Answered {
    let target = ask.target().await?;
    // There must be such a session before there is a stream.
    target.sessions.view(&target.id).await.map_err(Trouble::from)?;
    let since = match ask.headers.get("last-event-id").and_then(|id| id.to_str().ok()) {
        Some(id) => Some(id.parse().map_err(|_| Trouble::new(Code::BadRequest, "`Last-Event-ID` is the number of a record"))?),
        None => ask.query_as("since", "the number of a record")?,
    };
    let permit = ask.app.rates.stream(&ask.caller.label, &ask.app.settings.bounds)?;
    let (is_whole, with_html) = (ask.caller.rights.has(Right::Walk), ask.flag("html")?);
    let follower = Follower { target, admission: admitted(&ask), is_whole, with_html, of: None };
    let feed = feed(&ask)?;
    Ok(stream(permit, (ask.app.settings.bounds.patience, ask.wants_texts()), |sink| async move { follower.run(&sink, since, feed).await }))
}

pub(super) async fn server(ask: Ask) -> Answered {
    // Whoever has a chat, and reads nothing else, hears of that chat.
    let chat = (!ask.caller.rights.has(Right::Read)).then(|| ask.caller.label.clone());
    if chat.is_some() {
        ask.admit(if ask.query("session").is_some() || ask.query("graph").is_some() { Right::Read } else { Right::Chat })?;
    }
    let graph = match ask.query("graph") {
        Some(name) => Some(ask.app.served.graph(Some(name))?.name.clone()),
        None => None,
    };
    let names: Vec<_> = ask.query("session").into_iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_SESSIONS {
        return Err(Trouble::new(Code::BadRequest, format!("`session` names at most {MAX_SESSIONS} sessions, not {}", names.len())).into());
    }
    let mut followers = Vec::new();
    for name in names {
        let target = Target::find(&ask.app.served, name, ask.query("graph")).await?;
        target.sessions.view(&target.id).await.map_err(Trouble::from)?;
        let (of, is_whole) = (Some(target.id.clone()), ask.caller.rights.has(Right::Walk));
        followers.push(Follower { target, admission: admitted(&ask), is_whole, with_html: false, of });
    }
    let since = ask.headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let permit = ask.app.rates.stream(&ask.caller.label, &ask.app.settings.bounds)?;
    let (app, has_texts) = (ask.app.clone(), ask.wants_texts());
    let scope = server_events::Scope { graph, chat, is_seed: ask.route.is_alias };
    // Before the response begins: whoever has its headers misses nothing.
    let followers: Vec<_> = followers.into_iter().map(|follower| (follower, app.served.hub.feed(None))).collect();
    let begin = server_events::Begin::of(&app.served.hub, since.as_deref(), admitted(&ask));
    refuse_at_the_end(&ask)?;
    Ok(stream(permit, (app.settings.bounds.patience, has_texts), move |sink| async move {
        let followed = followers.into_iter().map(|(follower, feed)| {
            let sink = sink.clone();
            async move { follower.run(&sink, None, feed).await }
        });
        let followed: Vec<_> = followed.map(tokio::spawn).collect();
        server_events::run(&app, &sink, begin, &scope).await;
        followed.iter().for_each(tokio::task::JoinHandle::abort);
    }))
}

/// Returns the admission of a stream, by the token of its request.
fn admitted(ask: &Ask) -> Admission {
    admission(&ask.app.settings.tokens, &ask.headers, ask.caller.rights)
}

/// The events of the server from now on, its end among them.
///
/// # Errors
/// The server stops.
fn feed(ask: &Ask) -> Result<ServerFeed, Trouble> {
    let feed = ask.app.served.hub.feed(None);
    refuse_at_the_end(ask)?;
    Ok(feed)
}

/// Refuses a stream once the server stops. One that listens before this is asked hears of a later end.
///
/// # Errors
/// The server stops.
fn refuse_at_the_end(ask: &Ask) -> Result<(), Trouble> {
    if ask.app.served.is_stopping() { Err(Trouble::new(Code::Stopping, Code::Stopping.title())) } else { Ok(()) }
}
