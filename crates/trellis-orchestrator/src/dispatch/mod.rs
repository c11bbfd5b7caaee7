//! From stored messages to sessions, and from what sessions stop for to messages (orchestrator 2.2, 3.4–3.8).
//!
//! **Invariant:** a message is taken by one session, which has the same name however often it is begun; a chat and thread has one conversation at a time.

mod acknowledge;
mod decide;
mod recover;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::JoinSet};
use trellis_core::{Input, Mapping, SessionId, Start, Value, state::EndReason};
use trellis_host::{
    SendError, Sessions,
    sessions::{Stop, Turn},
};

use self::decide::{Ruling, Underway};
use crate::{
    approvals::{held, question},
    inbound::{Command, Group, Kind, Who, grouped},
    message::{ChatPlace, Outgoing, now},
    outbound::Channels,
    queue::{InboundRow, QueueError},
    seal::references,
    tools::Hands,
    workspace::{Said, Speaker},
};

/// Groups that wait behind a run before its chat is told so.
const PATIENCE: usize = 20;
/// The time until what is about to change is looked at again, in milliseconds.
const SOON: u64 = 20;

/// Begins sessions for messages, and tells chats what sessions need.
#[derive(Clone)]
pub struct Dispatcher {
    hands: Arc<Hands>,
    sessions: Arc<Sessions>,
    channels: Arc<Channels>,
    /// Told when there may be something to do.
    pub wake: Arc<Notify>,
    /// Decisions that are being carried out.
    underway: Underway,
    /// The newest message that was looked at.
    looked: Arc<AtomicI64>,
}

impl Dispatcher {
    /// A dispatcher between these.
    pub fn new(hands: Arc<Hands>, sessions: Arc<Sessions>, channels: Arc<Channels>) -> Self {
        let wake = Arc::clone(&hands.wake);
        Self { hands, sessions, channels, wake, underway: Underway::default(), looked: Arc::default() }
    }

    /// Dispatches forever. It may be dropped.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn serve(&self) -> Result<(), QueueError> {
        let mut carried = JoinSet::new();
        loop {
            let due = self.dispatch(&mut carried).await?;
            let wait = due.map_or(Duration::from_secs(60), |due| Duration::from_millis(due.saturating_sub(now()).max(1)));
            let mut news = pin!(tokio::time::timeout(wait, self.wake.notified()));
            loop {
                tokio::select! {
                    _ = &mut news => break,
                    Some(done) = carried.join_next() => done.unwrap_or_else(|error| Err(QueueError::Gone(error.to_string())))?,
                }
            }
        }
    }

    /// Does what can be done about the messages that wait; when the next of them can be looked at, in milliseconds since 1970. What takes as long as a
    /// call is `carried` out beside it.
    async fn dispatch(&self, carried: &mut JoinSet<Result<(), QueueError>>) -> Result<Option<u64>, QueueError> {
        let window = |provider: &str| self.channels.get(provider).map(|channel| channel.grouping()).unwrap_or_default();
        let rows = self.hands.queue.waiting().await?;
        let newest = rows.last().map_or(0, |row| row.n);
        let (groups, mut due) = grouped(rows, now(), window);
        let (mut talks, mut works) = self.open().await?;
        let mut waiting: BTreeMap<ChatPlace, usize> = BTreeMap::new();
        for group in groups {
            let ruling = match &group.kind {
                Kind::Command(_) => {
                    self.begin(group).await?;
                    continue;
                }
                Kind::Work(_) => {
                    // Conversations come first.
                    if talks.len() + works < self.hands.settings.runs {
                        works += 1;
                        self.begin(group).await?;
                    }
                    continue;
                }
                Kind::Answer(answer) => self.decide(&group, answer).await?,
                Kind::Talk => Ruling::Talk,
            };
            match ruling {
                Ruling::Talk => {
                    if group.kind != Kind::Talk {
                        // For good: what stands behind it is looked at in its place.
                        self.hands.queue.are_talk(group.numbers()).await?;
                        due = Some(soon(due));
                    }
                    self.converse(group, &mut talks, &mut waiting).await?;
                }
                Ruling::Later => due = Some(soon(due)),
                Ruling::Done => {}
                Ruling::Carry(carrying) => drop(carried.spawn(self.clone().carry_out(carrying, group))),
            }
        }
        self.looked.fetch_max(newest, Ordering::Relaxed);
        Ok(due)
    }

    /// Hands a group of conversation to the session that it belongs to, or begins one, if that can be done now.
    async fn converse(
        &self,
        group: Group,
        talks: &mut BTreeMap<ChatPlace, String>,
        waiting: &mut BTreeMap<ChatPlace, usize>,
    ) -> Result<(), QueueError> {
        let place = group.place().clone();
        match talks.get(&place) {
            Some(run) if waiting.contains_key(&place) || !self.answer(run, &group).await? => {
                let count = waiting.entry(place.clone()).or_default();
                *count += group.rows.len();
                if *count > PATIENCE {
                    let text = self.hands.settings.language.fill("busy", &[("waiting", &count.to_string())]);
                    self.post(&place, format!("busy:{run}"), text).await?;
                }
            }
            Some(_) => {}
            None if talks.len() >= self.hands.settings.runs => {}
            None if self.lacks(&group).await? => {}
            None => {
                talks.insert(place, group.session());
                self.begin(Group { kind: Kind::Talk, ..group }).await?;
            }
        }
        Ok(())
    }

    /// The conversations that go on, by chat and thread, and the number of works beside them.
    async fn open(&self) -> Result<(BTreeMap<ChatPlace, String>, usize), QueueError> {
        let (mut talks, mut works) = (BTreeMap::new(), 0);
        for row in self.hands.queue.taken().await? {
            match row.kind() {
                Kind::Command(_) => {}
                Kind::Work(_) => works += 1,
                Kind::Answer(_) | Kind::Talk => talks.extend(row.run.map(|run| (row.message.place, run))),
            }
        }
        Ok((talks, works))
    }

    /// Hands a group to a session that waits for an input; whether it did.
    async fn answer(&self, run: &str, group: &Group) -> Result<bool, QueueError> {
        let id = SessionId::new(run);
        let Some(turn) = self.seen(&id).await? else { return Ok(false) };
        if !matches!(turn.stop, Stop::Ask { .. }) || self.lacks(group).await? {
            return Ok(false);
        }
        self.hands.queue.take(group.numbers(), run, Some(turn.asked)).await?;
        self.hand_over(group, &turn).await.map(|()| true)
    }

    /// Hands a group to a session that waits for it: the same one as often as the session waits for the same.
    async fn hand_over(&self, group: &Group, turn: &Turn) -> Result<(), QueueError> {
        self.note(group, turn.session.as_str()).await;
        match self.sessions.send(&turn.session, turn.answer(Input::Text(group.text()))).await {
            Ok(turn) => self.turned(&turn).await,
            // It is handed over after the next start.
            Err(SendError::Stopping) => Ok(()),
            Err(refusal) => {
                // What it waits for says what it takes.
                self.post(group.place(), format!("refused:{}", group.session()), refusal.to_string()).await?;
                self.hands.queue.settle(group.numbers()).await
            }
        }
    }

    /// Whether a group refers to a secret that cannot be opened: it begins nothing then, and its chat is told so (3.8).
    async fn lacks(&self, group: &Group) -> Result<bool, QueueError> {
        let (vault, names) = (Arc::clone(&self.hands.vault), references(&group.text()));
        let missing = tokio::task::spawn_blocking(move || {
            names.into_iter().filter(|name| !matches!(vault.get(name), Ok(Some(_)))).map(|name| format!("`{name}`")).collect::<Vec<_>>()
        });
        let missing = missing.await.map_err(|error| QueueError::Gone(error.to_string()))?;
        if missing.is_empty() {
            return Ok(false);
        }
        let text = self.hands.settings.language.fill("secret_resolution_required", &[("names", &missing.join(", "))]);
        self.post(group.place(), format!("secret:{}", group.session()), text).await?;
        self.hands.queue.settle(group.numbers()).await?;
        Ok(true)
    }

    /// Begins the session of a group: the same one however often this is done.
    async fn begin(&self, group: Group) -> Result<(), QueueError> {
        let (name, place) = (group.session(), group.place().clone());
        let mut context = self.context(&group);
        match &group.kind {
            Kind::Command(Command { name: typed, args }) => {
                let commands = self.hands.commands.now();
                let known = commands.find(typed);
                if known.is_some_and(|known| known.who == Who::Approver) && !self.hands.settings.may_approve(&group.rows[0].message) {
                    let text = self.hands.settings.language.fill("command_denied", &[("name", typed)]);
                    self.post(&place, format!("denied:{name}"), text).await?;
                    return self.hands.queue.settle(group.numbers()).await;
                }
                let known = known.map_or(&**typed, |known| &*known.name);
                let args = args.iter().map(|arg| Value::text(&**arg));
                context.extend([("entry", Value::text("command")), ("command", Value::text(known)), ("args", Value::list(args))]);
            }
            Kind::Work(work) => context.push(("entry", Value::text(work.as_str()))),
            Kind::Answer(_) | Kind::Talk => context.push(("entry", Value::text("agent"))),
        }
        let mut context = Mapping::from_iter(context);
        self.hands.queue.take(group.numbers(), &name, None).await?;
        if let Kind::Work(_) = group.kind {
            // Nobody said it.
            context.remove("text");
            group.rows[0].message.context().iter().for_each(|(key, value)| drop(context.insert(key.clone(), value.clone())));
        } else {
            self.note(&group, &name).await;
            self.acknowledge(&group);
        }
        let locale = Some(self.hands.settings.language.as_str().into());
        let start = Start { session: Some(SessionId::new(&*name)), context, locale, at: None };
        match self.sessions.start(start).await {
            Ok(turn) => self.turned(&turn).await,
            Err(SendError::Exists(_) | SendError::Stopping) => Ok(()),
            Err(error) => {
                let text = format!("{} {error}", self.hands.settings.language.of_code("start"));
                self.post(&place, format!("start:{name}"), text).await?;
                self.hands.queue.end_run(&name).await.map(drop)
            }
        }
    }

    fn context(&self, group: &Group) -> Vec<(&'static str, Value)> {
        let place = group.place();
        let mut context = vec![
            ("provider", Value::text(&*place.provider)),
            ("chat", Value::text(&*place.chat)),
            ("sender", Value::text(&*group.rows[0].message.sender)),
            ("text", Value::text(group.text())),
            ("locale", Value::text(self.hands.settings.language.as_str())),
        ];
        context.extend(place.thread.as_deref().map(|thread| ("thread", Value::text(thread))));
        context
    }

    /// Notes what was said in the history of the chat.
    async fn note(&self, group: &Group, run: &str) {
        let (history, place, run) = (self.hands.history.clone(), group.place().clone(), run.to_owned());
        let rows = group.rows.clone();
        let noting = tokio::task::spawn_blocking(move || {
            rows.into_iter().try_for_each(|InboundRow { message, .. }| {
                let (id, sender) = (message.key(), message.sender_name);
                history.note(
                    &place,
                    &Said { id, at: message.at, role: Speaker::User, sender, text: message.text, run: run.clone(), edited: false },
                )
            })
        });
        // The queue has the messages; a history that cannot be written stops no conversation.
        drop(noting.await);
    }

    /// Tells a chat what a session of it stopped for, and marks it when it has ended.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn turned(&self, turn: &Turn) -> Result<(), QueueError> {
        let (queue, language, run) = (&self.hands.queue, self.hands.settings.language, turn.session.as_str());
        let Some(row) = queue.of_run(run).await? else { return Ok(()) };
        let place = row.message.place;
        for call in held(turn) {
            let mask = self.hands.mask.clone();
            let asking = tokio::task::spawn_blocking(move || question(language, &call, |args| mask.masked(args)));
            for (key, text) in asking.await.map_err(|error| QueueError::Gone(error.to_string()))? {
                self.post(&place, key, text).await?;
            }
        }
        match &turn.stop {
            Stop::Ask { .. } => {
                let texts: Vec<&str> = turn.said.iter().map(|said| said.text.trim()).filter(|text| !text.is_empty()).collect();
                self.post(&place, format!("said:{run}:{}", turn.asked), texts.join("\n\n")).await?;
            }
            Stop::Ended(end) => {
                let is_told = end.output.as_ref().is_some_and(|output| output.get("status").is_some());
                if end.reason != EndReason::Finished && !is_told {
                    let code = end.code.as_deref().unwrap_or("failed");
                    self.post(&place, format!("end:{run}"), language.of_code(code)).await?;
                }
                queue.end_run(run).await?;
                self.wake.notify_one();
            }
            _ => {}
        }
        Ok(())
    }

    async fn post(&self, place: &ChatPlace, key: String, text: String) -> Result<(), QueueError> {
        self.hands.outbox.post(Outgoing { place: place.clone(), text, key }).await.map(drop)
    }

    /// Whether nothing is left that goes on by itself: what is left waits for a person.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_idle(&self) -> Result<bool, QueueError> {
        // In the order in which messages move, so that none is missed between two looks.
        let waiting = self.hands.queue.waiting().await?;
        if !self.underway.is_empty() {
            return Ok(false);
        }
        let mut runs = BTreeSet::new();
        for row in self.hands.queue.taken().await? {
            runs.extend(row.run.map(|run| (SessionId::new(run), row.message.place)));
        }
        let mut places = BTreeSet::new();
        for (run, place) in runs {
            match self.sessions.view(&run).await {
                Ok(turn) if turn.stop.needs_nobody() || matches!(turn.stop, Stop::Ended(_)) => return Ok(false),
                Ok(_) => drop(places.insert(place)),
                // It was taken, and begins right now.
                Err(SendError::Unknown(_)) => return Ok(false),
                // What waits behind it begins, once its chat was told.
                Err(error) if self.failed(&run, &error).await? => return Ok(false),
                Err(_) => {}
            }
        }
        // What waits behind a question waits for a person too, if it is no answer to it.
        let looked = self.looked.load(Ordering::Relaxed);
        let waits = |row: &InboundRow| row.n <= looked && places.contains(&row.message.place);
        Ok(waiting.iter().all(waits) && self.hands.queue.is_flushed().await?)
    }
}

/// When there is something to look at: in a moment.
fn soon(due: Option<u64>) -> u64 {
    due.unwrap_or(u64::MAX).min(now() + SOON)
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("hands", &self.hands).finish_non_exhaustive()
    }
}
