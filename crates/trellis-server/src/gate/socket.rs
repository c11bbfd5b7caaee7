//! The socket of a connection, which ends when its client takes no byte of the waiting data for too long, does not send its first header, or does
//! not end one that it began, and when a new connection needs its seat.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use futures_util::task::AtomicWaker;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

use crate::bounds::Bounds;

/// The number of waits of all connections so far.
static WAITS: AtomicU64 = AtomicU64::new(0);

/// The header of a request that a connection waits for, if it does. Between requests it may be idle for longer than a header may take. Only the task
/// of the connection changes its number.
#[derive(Clone, Debug)]
pub(crate) struct HeaderWait(Arc<WaitParts>);

#[derive(Debug)]
struct WaitParts {
    number: AtomicU64,
    /// True if another connection needs the seat.
    is_given_up: AtomicBool,
    waker: AtomicWaker,
}

impl Default for HeaderWait {
    /// The wait of a new connection for its first header.
    fn default() -> Self {
        Self(Arc::new(WaitParts { number: next_number().into(), is_given_up: AtomicBool::new(false), waker: AtomicWaker::new() }))
    }
}

/// Returns the number of a wait that begins; it is above those of all waits before.
fn next_number() -> u64 {
    2 * WAITS.fetch_add(1, Ordering::Relaxed) + 1
}

impl HeaderWait {
    /// The next bytes of the client begin a header.
    pub(crate) fn begin(&self) {
        self.0.number.store(next_number(), Ordering::Release);
    }

    /// A header is there: what comes next is the body of its request.
    pub(crate) fn end(&self) {
        let number = self.number();
        self.0.number.store(number + number % 2, Ordering::Release);
    }

    /// The number of the header that it waits for, which is odd; an even number if it waits for none.
    pub(super) fn number(&self) -> u64 {
        self.0.number.load(Ordering::Acquire)
    }

    /// Returns whether the connection waits for a header.
    pub(super) fn is_waiting(&self) -> bool {
        !self.number().is_multiple_of(2)
    }

    /// Ends the connection, now or after the request that it is answering.
    pub(super) fn give_up(&self) {
        self.0.is_given_up.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Returns whether two are of one connection.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns whether the connection must end while it waits; else its task is woken when it must.
    fn is_given_up(&self, context: &Context<'_>) -> bool {
        self.0.waker.register(context.waker());
        self.0.is_given_up.load(Ordering::Acquire)
    }
}

/// The body of an answer; when it is over, the connection waits for the next header.
#[derive(Debug)]
pub(crate) struct LastingBody {
    body: Body,
    wait: HeaderWait,
}

impl LastingBody {
    pub(crate) fn new(body: Body, wait: HeaderWait) -> Self {
        Self { body, wait }
    }
}

impl HttpBody for LastingBody {
    type Data = <Body as HttpBody>::Data;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LastingBody {
    fn drop(&mut self) {
        self.wait.begin();
    }
}

/// A socket with bounds on how long its client may take nothing, and how long a header may take that has begun.
#[derive(Debug)]
pub(crate) struct PatientSocket {
    stream: TcpStream,
    patience: Duration,
    header_time: Duration,
    wait: HeaderWait,
    /// The end of the patience, while something waits for the client.
    end: Option<Pin<Box<Sleep>>>,
    /// The end of the time for a header, while a part of one is there, or the first one is awaited.
    header_end: Option<Pin<Box<Sleep>>>,
    /// The number of that header.
    header: u64,
}

impl PatientSocket {
    pub(crate) fn new(stream: TcpStream, bounds: &Bounds, wait: HeaderWait) -> Self {
        let Bounds { patience, header_time, first_header_time, .. } = *bounds;
        let (header, header_end) = (wait.number(), Some(Box::pin(tokio::time::sleep(first_header_time))));
        Self { stream, patience, header_time, wait, end: None, header_end, header }
    }

    /// Observes an attempt to write: the time runs from the first one that has to wait until one that takes a byte.
    fn tried(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        let patience = self.patience;
        let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Observes an attempt to read: the time of a header runs from its first byte, that of the first one from the begin of the connection.
    fn heard(&mut self, context: &mut Context<'_>, read: Poll<io::Result<()>>, has_bytes: bool) -> Poll<io::Result<()>> {
        let header = self.wait.number();
        if self.header != header {
            (self.header, self.header_end) = (header, None);
        }
        if header.is_multiple_of(2) {
            return read;
        }
        // One that still takes an answer has it whole.
        if self.end.is_none() && self.wait.is_given_up(context) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if has_bytes && self.header_end.is_none() {
            self.header_end = Some(Box::pin(tokio::time::sleep(self.header_time)));
        }
        match self.header_end.as_mut().map(|end| end.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            _ => read,
        }
    }
}

impl AsyncRead for PatientSocket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let has_bytes = buffer.filled().len() > before;
        self.heard(context, read, has_bytes)
    }
}

impl AsyncWrite for PatientSocket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.tried(context, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.tried(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // Neither waits for the client.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
