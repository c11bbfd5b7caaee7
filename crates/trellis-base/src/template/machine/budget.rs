//! The budget of one rendering: bytes of output, and work that the engine's own count of instructions does not see.

use std::sync::Arc;

use minijinja::{Error, ErrorKind, State, value::Value as Dyn};

use super::{
    super::{
        RenderLimits,
        bridge::{ScopeView, Size, from_dyn, invalid, too_long},
    },
    AuthorText, Met, MetPiece, Secret, VIEW,
};
use crate::value::Value;

/// The rest of the bounds of one rendering.
pub(super) struct RenderBudget {
    /// Bytes printed so far.
    pub(super) printed: u64,
    /// Bytes that may still be printed.
    pub(super) output: u64,
    work: u64,
    /// Bytes of a list or mapping that the rendering creates.
    made: u64,
    /// Secrets met so far.
    pub(super) secrets: Vec<Met>,
    /// Pieces met so far, where they are wanted instead of a text.
    pub(super) pieces: Option<Vec<MetPiece>>,
}

impl RenderBudget {
    /// The budget of the rendering that calls.
    pub(super) fn of<'s>(state: &'s mut State<'_, '_>) -> &'s mut Self {
        if state.get_extension::<Self>().is_none() {
            let bounds = state
                .lookup(VIEW)
                .and_then(|view| view.downcast_object_ref::<ScopeView>().map(|view| (view.limits, view.made, view.in_pieces)));
            let (limits, made, in_pieces) = bounds.unwrap_or((RenderLimits { output: 0, fuel: 0 }, 0, false));
            let work = limits.fuel.saturating_mul(256);
            let pieces = in_pieces.then(Vec::new);
            return state.get_or_insert_extension(Self { printed: 0, output: limits.output, work, made, secrets: Vec::new(), pieces });
        }
        state.get_or_insert_extension_with(|| unreachable!("it was put there when it was missing"))
    }

    /// Adds a piece, and pays for it as if it were printed.
    pub(super) fn piece(&mut self, value: &Dyn) -> Result<(), Error> {
        let piece = if let Some(AuthorText(text)) = value.downcast_object_ref::<AuthorText>() {
            MetPiece::Author(Arc::clone(text))
        } else if let Some(secret) = value.downcast_object_ref::<Secret>() {
            MetPiece::Secret(secret.place)
        } else {
            MetPiece::Value(from_dyn(value, Size::printed(self.output))?)
        };
        let bytes = match &piece {
            MetPiece::Author(text) | MetPiece::Value(Value::Text(text)) => text.len() as u64,
            MetPiece::Value(_) | MetPiece::Secret(_) => 1,
        };
        self.output = self.output.checked_sub(bytes).ok_or_else(too_long)?;
        self.pieces.get_or_insert_default().push(piece);
        Ok(())
    }

    /// Pays for touching `bytes`.
    pub(super) fn work(&mut self, bytes: usize) -> Result<(), Error> {
        self.work = self.work.checked_sub(bytes as u64).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    /// Pays for an intermediate text of `bytes`.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Error> {
        self.join(0, bytes)
    }

    /// Pays for adding `bytes` to a text that already has `before`.
    pub(super) fn join(&mut self, before: usize, bytes: usize) -> Result<(), Error> {
        if before.saturating_add(bytes) as u64 > self.longest() {
            return Err(too_long());
        }
        // A new text may also be stored, so it costs more than reading one.
        self.work(bytes.saturating_mul(4))
    }

    /// Charges for `parts` of a value, each as much as reading `each` bytes.
    pub(super) fn parts(&mut self, parts: u64, each: u64) -> Result<(), Error> {
        self.work(usize::try_from(parts.saturating_mul(each)).unwrap_or(usize::MAX))
    }

    /// Pays for a list or mapping of `parts` that is made from others.
    pub(super) fn container(&mut self, parts: usize) -> Result<(), Error> {
        self.size(parts as u64)?;
        self.work(parts.saturating_mul(64))
    }

    /// Refuses a list or mapping of more bytes than may be made.
    pub(super) fn size(&self, bytes: u64) -> Result<(), Error> {
        if bytes > self.made { Err(self.too_large(too_long())) } else { Ok(()) }
    }

    /// Replaces an error about a list or mapping that is too large by one that names the bound; returns others unchanged.
    pub(super) fn too_large(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::WriteFailure || self.made == u64::MAX {
            return error;
        }
        invalid(format!("a list or mapping that is made here has more than {} bytes (`limits.tool_output`)", self.made))
    }

    /// Returns the largest size of an intermediate list or mapping of at most `parts` parts.
    pub(super) fn largest(&self, parts: u64) -> Size {
        Size::made(parts, self.made)
    }

    /// Returns the length of the longest intermediate text: a short one is always allowed, it need not be printed.
    pub(super) fn longest(&self) -> u64 {
        self.output.max(1 << 10)
    }
}
