//! Requested layouts. The next one, of an edited graph or with another module open, keeps their order.

use std::sync::{Arc, Mutex, PoisonError};

use trellis_core::{
    Program,
    draw::{
        Drawing,
        layout::{Layout, LayoutSettings},
    },
};

/// The number of layouts that are stored of one graph.
const MAX_CACHED_LAYOUTS: usize = 8;

/// The layouts of one graph, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Layouts(Mutex<Vec<CachedLayout>>);

#[derive(Clone, Debug)]
struct CachedLayout {
    program: Arc<str>,
    settings: LayoutSettings,
    layout: Arc<Layout>,
}

impl Layouts {
    /// Returns the layout of a program, which is the same for the same program.
    pub(crate) fn of(&self, program: &Program, drawing: &Drawing<'_>, settings: &LayoutSettings) -> Arc<Layout> {
        let before = {
            let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let same = cached.iter().rev().find(|cached| cached.settings == *settings);
            same.or_else(|| cached.iter().rev().find(|cached| cached.settings.direction == settings.direction)).cloned()
        };
        if let Some(cached) = &before
            && cached.settings == *settings
            && cached.program == *program.fingerprint()
        {
            return Arc::clone(&cached.layout);
        }
        let layout = Arc::new(Layout::new(drawing, settings, before.as_ref().map(|cached| &*cached.layout)));
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|cached| cached.settings != *settings);
        if cached.len() == MAX_CACHED_LAYOUTS {
            cached.remove(0);
        }
        cached.push(CachedLayout { program: Arc::clone(program.fingerprint()), settings: settings.clone(), layout: Arc::clone(&layout) });
        layout
    }
}
