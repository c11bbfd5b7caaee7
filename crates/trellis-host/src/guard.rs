//! Foreign code, which may panic: functions, interceptors, observers, hooks. A panic ends the call in which it happened, and nothing else.
//!
//! A program that is built with `panic = "abort"` has no unwinding to stop; there every panic ends the process.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

/// The words of a panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Panicked(pub(crate) String);

impl Panicked {
    fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self(text.unwrap_or("it panicked").to_owned())
    }
}

/// Does `work`; state that it shares must be consistent between any two of its statements.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panicked::new(&*payload))
}

/// A future that ends where it panics.
pub(crate) struct Guarded<F>(Pin<Box<F>>);

impl<F: Future> Guarded<F> {
    pub(crate) fn new(work: F) -> Self {
        Self(Box::pin(work))
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match guarded(|| self.0.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}
