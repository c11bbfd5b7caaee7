//! The main loop: messages of the client and of the linking thread, in order.
//!
//! **Invariant:** all waiting messages are read before a list is published or a graph is linked, so that ten keystrokes cause one link.

mod asking;
mod notifications;
mod start;
mod unhoused;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crossbeam_channel::{Receiver, never, select};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use serde_json::json;
use trellis_project::sheet::sheets_within;

use self::waiting::Queue;
use crate::{
    LateFindings,
    findings::{self, Published},
    linker::{GraphNumber, Job, Linked, Linker},
    log::Log,
    parent::Parent,
    requests::{self, Refusal},
    sheets::is_sheet,
    state::ServerState,
};

/// An error that ends the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The client broke the protocol.
    Protocol(ProtocolError),
    /// The client sent `exit` without `shutdown`, or has exited.
    Left,
    /// The system gives no thread, or a stream failed.
    Stream(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => write!(f, "the client broke the protocol: {error}"),
            Self::Left => f.write_str("the client left without `shutdown`"),
            Self::Stream(error) => write!(f, "a stream failed: {error}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Protocol(error) => Some(error),
            Self::Stream(error) => Some(error),
            Self::Left => None,
        }
    }
}

/// Serves a client until it sends `exit`. `late` computes the findings of `trellis check` that need more than the graph.
///
/// # Errors
/// The client breaks the protocol, leaves without `shutdown`, or a thread cannot be started.
pub fn serve(connection: &Connection, late: LateFindings) -> Result<(), ServeError> {
    serve_with(connection, late, Log::default())
}

/// Serves a client, with a log.
pub(crate) fn serve_with(connection: &Connection, late: LateFindings, log: Log) -> Result<(), ServeError> {
    let Some(mut server) = start::start(connection, late, log)? else { return Ok(()) };
    server.run()
}

/// The message after the linking thread ended.
const BROKEN: &str = "checking this graph broke off: findings stay as they are until the server is started again";

/// The kinds of `window/showMessage`.
const WARNING: u8 = 2;
const INFO: u8 = 3;

/// A server with its client.
struct Server<'c> {
    connection: &'c Connection,
    state: ServerState,
    published: Published,
    linker: Linker,
    /// Rings when files changed, where the client does not say so.
    saves: Receiver<()>,
    /// The process of the client.
    parent: Parent,
    waiting: Queue,
    /// Messages that were shown to the user.
    said: BTreeSet<String>,
    /// The questions to the client, by the ids of the requests.
    asked: BTreeMap<String, Asked>,
    /// True if the client shows the progress of the first link.
    is_progressing: bool,
    log: Log,
    is_shut_down: bool,
}

/// A question of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// The settings.
    Settings,
    /// The display of a progress: that of the first link.
    Progress,
}

/// The next move of the loop.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Exit,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), ServeError> {
        self.ask_settings();
        self.begin_progress();
        self.settle();
        loop {
            let (linked, timer) = (self.linker.linked.clone(), self.waiting.timer());
            let flow = select! {
                recv(self.connection.receiver) -> message => match message {
                    Ok(message) => self.take_all(message),
                    Err(_) => return Err(ServeError::Left),
                },
                recv(linked) -> linked => {
                    match linked {
                        Ok(linked) => self.linked(linked),
                        Err(_) => self.lost(),
                    }
                    Flow::On
                }
                // `settle` refuses the requests that waited too long.
                recv(timer) -> _ => Flow::On,
                recv(self.parent.gone) -> _ => return Err(ServeError::Left),
                recv(self.saves) -> rang => {
                    if rang.is_ok() {
                        self.state.workspace.graphs.iter_mut().for_each(crate::graph::Graph::forget_all);
                        self.look_around();
                    } else {
                        self.saves = never();
                    }
                    Flow::On
                }
            };
            if flow == Flow::Exit {
                return if self.is_shut_down { Ok(()) } else { Err(ServeError::Left) };
            }
            self.settle();
        }
    }

    /// Takes a message and what waits behind it. A request that is taken back in the meantime is not begun.
    fn take_all(&mut self, first: Message) -> Flow {
        let messages: Vec<Message> = std::iter::once(first).chain(self.connection.receiver.try_iter()).collect();
        let cancelled: BTreeSet<String> = messages.iter().filter_map(cancelled).collect();
        for message in messages {
            match message {
                Message::Request(request) if cancelled.contains(&request.id.to_string()) => {
                    self.refuse(vec![request.id], ErrorCode::RequestCanceled, "cancelled");
                }
                message => {
                    if self.take(message) == Flow::Exit {
                        return Flow::Exit;
                    }
                }
            }
        }
        Flow::On
    }

    fn take(&mut self, message: Message) -> Flow {
        // Of many files that are saved or closed, all are read at once.
        if !notifications::is_of_disk(&message) {
            self.state.workspace.read();
            self.house();
        }
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) if notification.method == "exit" => return Flow::Exit,
            Message::Notification(notification) if !self.is_shut_down => self.notified(notification),
            Message::Response(response) if !self.is_shut_down => self.answered(response),
            Message::Notification(_) | Message::Response(_) => {}
        }
        Flow::On
    }

    fn request(&mut self, request: Request) {
        if self.is_shut_down {
            let refused = Response::new_err(request.id, ErrorCode::InvalidRequest as i32, "the server was shut down".into());
            return self.send(refused);
        }
        if request.method == "shutdown" {
            self.is_shut_down = true;
            let waiting = self.waiting.take_all();
            self.refuse(waiting, ErrorCode::RequestCanceled, "the server was shut down");
            return self.send(Response::new_ok(request.id, serde_json::Value::Null));
        }
        match self.response(&request) {
            Some(response) => self.send(response),
            None => self.waiting.add(&mut self.state, request),
        }
    }

    /// Answers a request; `None` if it must wait until the newest text is linked.
    fn response(&mut self, request: &Request) -> Option<Response> {
        let (code, message) = match requests::answer(&mut self.state, request) {
            Ok(value) => return Some(Response::new_ok(request.id.clone(), value)),
            Err(Refusal::NotLinked) if !self.linker.is_gone => return None,
            Err(Refusal::NotLinked) => (ErrorCode::RequestFailed, BROKEN.into()),
            Err(Refusal::Unknown) => (ErrorCode::MethodNotFound, format!("`{}` is not offered", request.method)),
            Err(Refusal::BadParams(message)) => (ErrorCode::InvalidParams, message),
            Err(Refusal::Refused(message)) => (ErrorCode::RequestFailed, message),
        };
        Some(Response::new_err(request.id.clone(), code as i32, message))
    }

    fn refuse(&self, requests: Vec<RequestId>, code: ErrorCode, message: &str) {
        requests.into_iter().for_each(|id| self.send(Response::new_err(id, code as i32, message.to_owned())));
    }

    /// Warns a person, once.
    fn say(&mut self, message: String) {
        if self.said.insert(message.clone()) {
            self.log.warning(&message);
            self.show(WARNING, &message);
        }
    }

    fn show(&self, kind: u8, message: &str) {
        self.send(Notification::new("window/showMessage".into(), json!({ "type": kind, "message": message })));
    }

    /// Applies a result of the linking thread.
    fn linked(&mut self, linked: Linked) {
        match linked {
            Linked::Link(number, link) => {
                if let Some(graph) = self.state.workspace.numbered(number) {
                    let (root, found) = (graph.root.display().to_string(), link.diagnostics.len());
                    self.log.note(&format!("linked {root}, text {}: {found} findings", link.generation));
                    graph.linked(link);
                    graph.stir_outdated(&self.state.unhoused);
                }
                self.end_progress();
            }
            Linked::Types(number, generation, types) => {
                if let Some(graph) = self.state.workspace.numbered(number) {
                    graph.typed(generation, *types);
                }
                self.refresh();
            }
        }
        self.refuse_outdated();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.ask_again(|request| self.response(request).map(|response| self.send(response)).is_some());
        self.waiting = waiting;
    }

    /// The linking thread broke off: nothing that waits for it comes.
    fn lost(&mut self) {
        self.linker.lost();
        let waiting = self.waiting.take_all();
        self.refuse(waiting, ErrorCode::RequestFailed, BROKEN);
        self.say(BROKEN.into());
    }

    /// Refuses what waited too long, or is about a text that is another one now.
    fn refuse_outdated(&mut self) {
        let outdated = self.waiting.outdated(&mut self.state);
        self.refuse(outdated, ErrorCode::ContentModified, "the text changed meanwhile");
    }

    /// Publishes the lists that differ from the client's, and hands changed graphs to the linking thread.
    fn settle(&mut self) {
        self.state.workspace.read();
        self.house();
        self.refuse_outdated();
        std::mem::take(&mut self.state.workspace.problems).into_iter().for_each(|problem| self.say(problem));
        std::mem::take(&mut self.state.notes).iter().for_each(|note| self.show(INFO, note));
        let mut messages = Vec::new();
        for graph in &mut self.state.workspace.graphs {
            for path in std::mem::take(&mut graph.stale) {
                let file = graph.file(&path);
                // A sheet has a list of its own.
                if is_sheet(&file) {
                    continue;
                }
                if graph.document(&path).is_some() || graph.open.contains_key(&path) {
                    messages.extend(self.published.list(graph, &path, &self.state.client));
                    continue;
                }
                let open = self.state.unhoused.get(&file);
                // The next link sees the newest text.
                if open.zip(graph.beside(&path)).is_some_and(|(open, seen)| open.text.as_str() != &**seen) {
                    continue;
                }
                let found = graph.findings(&path);
                let found = found.iter().map(|found| findings::diagnostic(graph, &path, found, &self.state.client)).collect();
                let open = open.map(|open| (open.uri.clone(), open.revisions.version));
                messages.extend(self.published.beside(graph.number, &file, open, found, &self.state.client));
            }
            if std::mem::take(&mut graph.lists_sheets) {
                self.state.stale_sheets.extend(sheets_within(&graph.root, graph.documents()));
                self.state.stale_sheets.extend(self.published.sheets(graph.number));
            }
            if let Some(job) = graph.job(self.state.settings.strict, &self.state.unhoused) {
                let changing = self.state.sheets.iter().filter(|(file, sheet)| sheet.needs_graph && graph.path_of(file).is_some());
                self.state.stale_sheets.extend(changing.map(|(file, _)| file.clone()));
                self.linker.hand_over(job);
            }
        }
        messages.extend(self.lists_of_sheets());
        messages.into_iter().for_each(|message| self.send(message));
    }

    /// Returns the lists of sheets that changed. A sheet that is closed has one as a file of its graph.
    fn lists_of_sheets(&mut self) -> Vec<Notification> {
        let mut messages = Vec::new();
        for file in std::mem::take(&mut self.state.stale_sheets) {
            let open = self.state.sheets.get(&file).map(|sheet| (sheet.uri.clone(), sheet.revisions.version));
            let graph = self.state.workspace.above(&file).map(|(graph, _)| self.state.workspace.graphs[graph].number);
            if open.is_none() && graph.is_none() {
                continue;
            }
            let found = requests::sheets::findings(&mut self.state, &file);
            messages.extend(self.published.beside(graph.unwrap_or(GraphNumber::MAX), &file, open, found, &self.state.client));
        }
        messages
    }

    /// Serves a graph no more: its lists are taken back.
    fn leave(&mut self, mut graph: crate::graph::Graph) {
        self.keep_open(&mut graph);
        self.linker.hand_over(Job::Forget(graph.number));
        let messages = self.published.taken_back(&graph);
        messages.into_iter().for_each(|message| self.send(message));
    }

    /// Sends a message. A client that is gone gets nothing, and the loop ends when it reads.
    fn send(&self, message: impl Into<Message>) {
        let _ = self.connection.sender.send(message.into());
    }
}

/// Returns the id of the request that a message takes back.
fn cancelled(message: &Message) -> Option<String> {
    let Message::Notification(notification) = message else { return None };
    let id = notification.params.get("id").filter(|_| notification.method == "$/cancelRequest")?;
    serde_json::from_value::<RequestId>(id.clone()).ok().map(|id| id.to_string())
}
