//! What one rendering may still spend: bytes of output, and work that the engine's own count of instructions does not see.

use minijinja::{Error, ErrorKind, State};

use super::{
    super::{
        RenderLimits,
        bridge::{ScopeView, too_long},
    },
    Met, VIEW,
};

/// What is left of the bounds of one rendering.
pub(super) struct RenderBudget {
    /// Bytes printed so far.
    pub(super) printed: u64,
    /// Bytes that may still be printed.
    pub(super) output: u64,
    work: u64,
    /// Secrets met so far.
    pub(super) secrets: Vec<Met>,
}

impl RenderBudget {
    /// The budget of the rendering that calls.
    pub(super) fn of<'s>(state: &'s mut State<'_, '_>) -> &'s mut Self {
        if state.get_extension::<Self>().is_none() {
            let limits = state.lookup(VIEW).and_then(|view| Some(view.downcast_object_ref::<ScopeView>()?.limits));
            let limits = limits.unwrap_or(RenderLimits { output: 0, fuel: 0 });
            let work = limits.fuel.saturating_mul(256);
            return state.get_or_insert_extension(Self { printed: 0, output: limits.output, work, secrets: Vec::new() });
        }
        state.get_or_insert_extension_with(|| unreachable!("it was put there when it was missing"))
    }

    /// Pays for touching `bytes`.
    pub(super) fn work(&mut self, bytes: usize) -> Result<(), Error> {
        self.work = self.work.checked_sub(bytes as u64).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    /// Pays for a text of `bytes` that is made on the way.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Error> {
        self.join(0, bytes)
    }

    /// Pays for adding `bytes` to a text that already has `before`.
    pub(super) fn join(&mut self, before: usize, bytes: usize) -> Result<(), Error> {
        if before.saturating_add(bytes) as u64 > self.longest() {
            return Err(too_long());
        }
        // A text that is made may also be kept, so it costs more than reading one.
        self.work(bytes.saturating_mul(4))
    }

    /// Pays for `parts` of a value, `each` as much as reading so many bytes.
    pub(super) fn parts(&mut self, parts: u64, each: u64) -> Result<(), Error> {
        self.work(usize::try_from(parts.saturating_mul(each)).unwrap_or(usize::MAX))
    }

    /// The longest text that may be made on the way: a short one is always allowed, it need not be printed.
    pub(super) fn longest(&self) -> u64 {
        self.output.max(1 << 10)
    }
}
