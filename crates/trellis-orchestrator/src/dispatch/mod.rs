//! Hands stored messages to sessions, and the stops of sessions to chats (orchestrator 2.2, 3.4–3.8).
//!
//! **Invariant:** one session takes a message, under the same name after every restart; a thread of a chat has one conversation at a time.

mod acknowledge;
mod answer;
mod decide;
mod expire;
mod react;
mod recover;
mod stops;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::JoinSet};
use trellis_core::{Mapping, SessionId, Start, Value};
use trellis_host::{SendError, Sessions};
use trellis_server::extra::SharedGraph;

pub(crate) use self::expire::approver_chats;
use self::{
    answer::Unhanded,
    decide::{Ruling, Underway},
    react::Reacting,
    stops::Noted,
};
use crate::{
    inbound::{Command, Group, Kind, Who, group_rows},
    message::{Attachment, ChatPlace, Outgoing, now},
    outbound::Channels,
    queue::{InboundRow, QueueError},
    seal::references,
    supervisor::Pulse,
    tools::Hands,
    workspace::Said,
};

/// Waiting groups of a chat before it gets a notice.
const MAX_SILENT_GROUPS: usize = 20;
/// The interval at which pending changes are checked, in milliseconds.
const SOON: u64 = 20;
/// The interval at which what cannot be judged yet is looked at again, in milliseconds.
const RETRY: u64 = 200;

/// Begins sessions for messages, and tells chats what sessions need.
#[derive(Clone)]
pub struct Dispatcher {
    hands: Arc<Hands>,
    sessions: Arc<Sessions>,
    channels: Arc<Channels>,
    /// Notified when there may be something to do.
    pub wake: Arc<Notify>,
    /// Its pulse.
    pub pulse: Arc<Pulse>,
    /// Decisions that are being carried out.
    underway: Underway,
    /// Reactions that are being acted on.
    reacting: Reacting,
    /// The newest message that was considered.
    looked: Arc<AtomicI64>,
    /// The turns that were noted last.
    noted: Noted,
    /// The sessions that an answer could not be handed to yet.
    unhanded: Unhanded,
    /// The sessions that wait for a person.
    resting: Arc<Mutex<BTreeSet<String>>>,
    /// The other receiver of turns.
    shared: Option<SharedGraph>,
}

/// The knowledge that the history and the chat have of messages that are handed to a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// None: they are told.
    New,
    /// All: they were told before the session could not be reached.
    Known,
}

/// The groups that wait behind the conversation of a chat.
#[derive(Default)]
struct Queued {
    groups: usize,
    messages: usize,
}

impl Dispatcher {
    /// A dispatcher between these.
    pub fn new(hands: Arc<Hands>, sessions: Arc<Sessions>, channels: Arc<Channels>) -> Self {
        let wake = Arc::clone(&hands.wake);
        let (underway, reacting, noted, unhanded) = (Underway::default(), Reacting::default(), Noted::default(), Unhanded::default());
        let (pulse, looked) = (Arc::default(), Arc::default());
        Self { hands, sessions, channels, wake, pulse, underway, reacting, looked, noted, unhanded, resting: Arc::default(), shared: None }
    }

    /// Reports each turn to those who follow the graph, too.
    #[must_use]
    pub fn with_shared(self, shared: Option<SharedGraph>) -> Self {
        Self { shared, ..self }
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
                    () = self.pulse.asked() => self.pulse.beat(),
                    Some(done) = carried.join_next() => done.unwrap_or_else(|error| Err(QueueError::Gone(error.to_string())))?,
                }
            }
        }
    }

    /// Handles the waiting messages; returns when the next of them is due, in milliseconds since 1970. Work that lasts as long as a call is `carried`
    /// out beside it.
    async fn dispatch(&self, carried: &mut JoinSet<Result<(), QueueError>>) -> Result<Option<u64>, QueueError> {
        let again = self.ask_again().await?;
        let late = self.act_on_reactions(carried).await?;
        let expiring = self.expire(carried).await?;
        self.hand_again().await?;
        let window = |provider: &str| self.channels.get(provider).map(|channel| channel.grouping()).unwrap_or_default();
        let rows = self.hands.queue.waiting().await?;
        let newest = rows.last().map_or(0, |row| row.n);
        let (groups, mut due) = group_rows(rows, now(), window);
        due = [due, again, late, expiring].into_iter().flatten().min();
        let (mut talks, mut works) = self.open().await?;
        let mut waiting: BTreeMap<ChatPlace, Queued> = BTreeMap::new();
        for group in groups {
            self.pulse.beat();
            let ruling = match &group.kind {
                Kind::Command(_) => {
                    self.begin(group, Telling::New).await?;
                    continue;
                }
                Kind::Work(_) => {
                    // Conversations come first.
                    if self.count_running(&talks) + works < self.hands.settings.runs {
                        works += 1;
                        self.begin(group, Telling::New).await?;
                    }
                    continue;
                }
                Kind::Answer(answer) => self.decide(&group, answer).await?,
                Kind::Talk => Ruling::Talk,
            };
            match ruling {
                Ruling::Talk => {
                    if group.kind != Kind::Talk {
                        // For good: messages behind it are considered in its place.
                        self.hands.queue.are_talk(group.numbers()).await?;
                        due = Some(soon(due));
                    }
                    self.converse(group, &mut talks, &mut waiting).await?;
                }
                Ruling::Later => due = Some(later(due)),
                Ruling::Done => {}
                Ruling::Carry(carrying) => drop(carried.spawn(self.clone().carry_out(carrying, group))),
            }
        }
        self.looked.fetch_max(newest, Ordering::Relaxed);
        if !self.unhanded.is_empty() {
            due = Some(later(due));
        }
        Ok(due)
    }

    /// Hands a group of conversation to the session that it belongs to, or begins one, if that can be done now.
    async fn converse(
        &self,
        group: Group,
        talks: &mut BTreeMap<ChatPlace, String>,
        waiting: &mut BTreeMap<ChatPlace, Queued>,
    ) -> Result<(), QueueError> {
        let place = group.place().clone();
        if group.files().next().is_some() && self.bring_files(&group).await? {
            return Ok(());
        }
        match talks.get(&place) {
            // It waits for the end of the session, which may wait for the answer behind it.
            Some(_) if group.is_late() => {}
            Some(run) if waiting.contains_key(&place) || !self.answer(run, &group).await? => {
                let queued = waiting.entry(place.clone()).or_default();
                queued.groups += 1;
                queued.messages += group.rows.len();
                if queued.groups > MAX_SILENT_GROUPS {
                    let text = self.hands.settings.language.fill("busy", &[("waiting", &queued.messages.to_string())]);
                    self.post(&place, format!("busy:{run}"), text).await?;
                }
            }
            Some(_) => {}
            None if self.count_running(talks) >= self.hands.settings.runs => {}
            None if self.lacks(&group).await? => {}
            None => {
                talks.insert(place, group.session());
                self.begin(Group { kind: Kind::Talk, ..group }, Telling::New).await?;
            }
        }
        Ok(())
    }

    /// The running conversations, by chat and thread, and the number of tasks beside them.
    async fn open(&self) -> Result<(BTreeMap<ChatPlace, String>, usize), QueueError> {
        let (mut talks, mut works) = (BTreeMap::new(), 0);
        for row in self.hands.queue.taken_rows().await? {
            match row.kind() {
                Kind::Command(_) => {}
                Kind::Work(_) => works += usize::from(!row.run.as_deref().is_some_and(|run| self.is_resting(run))),
                Kind::Answer(_) | Kind::Talk => talks.extend(row.run.map(|run| (row.message.place, run))),
            }
        }
        Ok((talks, works))
    }

    /// The number of conversations that do not wait for a person: what waits costs nobody a place.
    fn count_running(&self, talks: &BTreeMap<ChatPlace, String>) -> usize {
        talks.values().filter(|run| !self.is_resting(run)).count()
    }

    /// Returns whether a session waits for a person: for a decision, an answer or a file.
    fn is_resting(&self, run: &str) -> bool {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner).contains(run) || self.hands.files.has_session(run)
    }

    /// Notes whether a session waits for a person.
    fn rest(&self, run: &str, is_resting: bool) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let has_changed = if is_resting { resting.insert(run.to_owned()) } else { resting.remove(run) };
        if has_changed && is_resting {
            self.wake.notify_one();
        }
    }

    /// Returns whether a group refers to a secret that cannot be opened: then it begins nothing, and its chat gets a notice (orchestrator 3.8).
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

    /// Begins the session of a group; repeating this has no effect.
    async fn begin(&self, group: Group, telling: Telling) -> Result<(), QueueError> {
        let (name, place) = (group.session(), group.place().clone());
        let mut context = self.context(&group);
        match &group.kind {
            Kind::Command(Command { name: typed, args }) => {
                let commands = self.hands.commands.now();
                let known = commands.find(typed);
                if known.is_some_and(|known| known.who == Who::Approver) && !self.hands.may_approve(&group.rows[0].message) {
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
            // No person wrote it.
            context.remove("text");
            group.rows[0].message.context().iter().for_each(|(key, value)| drop(context.insert(key.clone(), value.clone())));
        } else if telling == Telling::New {
            self.note(&group, &name).await;
            self.acknowledge(&group);
        }
        let locale = Some(self.hands.settings.language.as_str().into());
        let start = Start { session: Some(SessionId::new(&*name)), context, locale, at: None, seed: None };
        match self.sessions.start(start).await {
            Ok(turn) => self.tell_turn(&turn).await,
            Err(SendError::Exists(_) | SendError::Stopping) => Ok(()),
            Err(error) if recover::may_pass(&error) => {
                self.unhanded.add(&SessionId::new(name));
                Ok(())
            }
            Err(error) => {
                let text = format!("{} {error}", self.hands.settings.language.of_code("start"));
                if let Some(key) = recover::start_failure_key(&group, &name, &text) {
                    self.post(&place, key, text).await?;
                }
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
            ("files", Value::list(group.files().map(Attachment::value))),
            ("locale", Value::text(self.hands.settings.language.as_str())),
        ];
        context.extend(place.thread.as_deref().map(|thread| ("thread", Value::text(thread))));
        context
    }

    /// Appends messages to the history of the chat.
    async fn note(&self, group: &Group, run: &str) {
        let (history, place, run) = (self.hands.history.clone(), group.place().clone(), run.to_owned());
        let rows = group.rows.clone();
        let noting = tokio::task::spawn_blocking(move || {
            rows.into_iter().try_for_each(|InboundRow { message, .. }| history.note(&place, &Said::by(message, &run)))
        });
        // The queue has the messages; a history that cannot be written stops no conversation.
        if let Ok(Err(error)) = noting.await {
            self.hands.log.say(&error.to_string());
        }
    }

    /// Gives a group to the call of its chat that waits for a file, if one does.
    async fn bring_files(&self, group: &Group) -> Result<bool, QueueError> {
        let Some((call, session)) = self.hands.files.waiting(group.place()) else { return Ok(false) };
        // Messages before the file are conversation, and wait.
        let has_no_file = |row: &InboundRow| row.message.files.is_empty();
        let brings = Group { rows: group.rows.iter().skip_while(|row| has_no_file(row)).cloned().collect(), kind: Kind::Talk };
        if !self.hands.queue.answer_file_request(&call, brings.numbers()).await? {
            return Ok(false);
        }
        self.note(&brings, &session).await;
        self.acknowledge(&brings);
        self.wake.notify_one();
        self.hands.files.news.notify_waiters();
        Ok(true)
    }

    async fn post(&self, place: &ChatPlace, key: String, text: String) -> Result<(), QueueError> {
        self.hands.outbox.post(Outgoing::new(place.clone(), text, key)).await.map(drop)
    }
}

/// Returns a time in a moment, or `due` if that is earlier.
fn soon(due: Option<u64>) -> u64 {
    due.unwrap_or(u64::MAX).min(now() + SOON)
}

/// Returns the time of another look at what cannot be judged yet, or `due` if that is earlier.
fn later(due: Option<u64>) -> u64 {
    due.unwrap_or(u64::MAX).min(now() + RETRY)
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("hands", &self.hands).finish_non_exhaustive()
    }
}
