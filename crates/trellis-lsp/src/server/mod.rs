//! The loop: messages of the client and of the linking thread, one after the other.
//!
//! **Invariant:** what waits is taken all at once before a list is published or a graph is linked, so that of ten keystrokes one is.

mod notifications;
mod start;

use std::fmt;

use crossbeam_channel::{Receiver, never, select};
use lsp_server::{Connection, ErrorCode, Message, ProtocolError, Request, Response};

use crate::{
    LateFindings,
    findings::Published,
    linker::{Job, Linked, Linker},
    requests::{self, Refusal},
    state::ServerState,
};

/// An error that ends the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The client broke the protocol.
    Protocol(ProtocolError),
    /// The client said `exit` without `shutdown`, or is gone.
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

/// Serves a client until it says `exit`. `late` makes the findings of `trellis check` that are not of the graph's own rules.
///
/// # Errors
/// The client breaks the protocol, leaves without `shutdown`, or a thread cannot be started.
pub fn serve(connection: &Connection, late: LateFindings) -> Result<(), ServeError> {
    let Some(mut server) = start::start(connection, late)? else { return Ok(()) };
    server.run()
}

/// A server with its client.
struct Server<'c> {
    connection: &'c Connection,
    state: ServerState,
    published: Published,
    linker: Linker,
    /// Rings when files changed, where the client does not say so.
    saves: Receiver<()>,
    /// Requests that wait for the link of the newest text.
    waiting: Vec<Request>,
    is_shut_down: bool,
}

/// How the loop goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Exit,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), ServeError> {
        self.settle();
        loop {
            let linked = self.linker.linked.clone();
            let flow = select! {
                recv(self.connection.receiver) -> message => match message {
                    Ok(message) => self.take(message),
                    Err(_) => return Err(ServeError::Left),
                },
                recv(linked) -> linked => {
                    linked.into_iter().for_each(|linked| self.linked(linked));
                    Flow::On
                }
                recv(self.saves) -> rang => {
                    if rang.is_ok() {
                        self.state.workspace.graphs.iter_mut().for_each(crate::graph::Graph::reload);
                    } else {
                        self.saves = never();
                    }
                    Flow::On
                }
            };
            let mut exits = flow == Flow::Exit;
            while !exits && let Ok(message) = self.connection.receiver.try_recv() {
                exits = self.take(message) == Flow::Exit;
            }
            if exits {
                return if self.is_shut_down { Ok(()) } else { Err(ServeError::Left) };
            }
            self.settle();
        }
    }

    fn take(&mut self, message: Message) -> Flow {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) if notification.method == "exit" => return Flow::Exit,
            Message::Notification(notification) if !self.is_shut_down => self.notified(notification),
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
            self.waiting.clear();
            return self.send(Response::new_ok(request.id, serde_json::Value::Null));
        }
        self.answer(request, false);
    }

    /// Answers a request, or keeps it until the newest text is linked.
    fn answer(&mut self, request: Request, is_last: bool) {
        let response = match requests::answer(&mut self.state, &request) {
            Ok(value) => Response::new_ok(request.id, value),
            Err(Refusal::NotLinked) if !is_last => return self.waiting.push(request),
            Err(Refusal::NotLinked) => {
                Response::new_err(request.id, ErrorCode::ContentModified as i32, "the text changed meanwhile".into())
            }
            Err(Refusal::Unknown) => {
                let message = format!("`{}` is not offered", request.method);
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message)
            }
            Err(Refusal::BadParams(message)) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, message),
            Err(Refusal::Refused(message)) => Response::new_err(request.id, ErrorCode::RequestFailed as i32, message),
        };
        self.send(response);
    }

    /// Takes what the linking thread found.
    fn linked(&mut self, linked: Linked) {
        match linked {
            Linked::Link(number, link) => {
                if let Some(graph) = self.state.workspace.numbered(number) {
                    graph.linked(link);
                }
            }
            Linked::Types(number, generation, types) => {
                if let Some(graph) = self.state.workspace.numbered(number) {
                    graph.typed(generation, *types);
                }
            }
        }
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().for_each(|request| self.answer(request, false));
    }

    /// Publishes the lists that are not as their client has them, and hands over what is to be linked.
    fn settle(&mut self) {
        let mut messages = Vec::new();
        for graph in &mut self.state.workspace.graphs {
            for path in std::mem::take(&mut graph.stale) {
                messages.extend(self.published.list(graph, &path, &self.state.client));
            }
            if let Some(job) = graph.job() {
                self.linker.hand_over(job);
            }
        }
        messages.into_iter().for_each(|message| self.send(message));
    }

    /// Serves a graph no more: its lists are taken back.
    fn leave(&mut self, graph: &crate::graph::Graph) {
        self.linker.hand_over(Job::Forget(graph.number));
        let messages = self.published.taken_back(graph);
        messages.into_iter().for_each(|message| self.send(message));
    }

    /// Sends a message. A client that is gone gets nothing, and the loop ends when it reads.
    fn send(&self, message: impl Into<Message>) {
        let _ = self.connection.sender.send(message.into());
    }
}
