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
const KEPT: usize = 8;

/// The layouts of one graph, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Layouts(Mutex<Vec<KeptLayout>>);

#[derive(Clone, Debug)]
struct KeptLayout {
    program: Arc<str>,
    settings: LayoutSettings,
    layout: Arc<Layout>,
}

impl Layouts {
    /// Returns the layout of a program, which is the same for the same program.
    pub(crate) fn of(&self, program: &Program, drawing: &Drawing<'_>, settings: &LayoutSettings) -> Arc<Layout> {
        let before = {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let same = kept.iter().rev().find(|kept| kept.settings == *settings);
            same.or_else(|| kept.iter().rev().find(|kept| kept.settings.direction == settings.direction)).cloned()
        };
        if let Some(kept) = &before
            && kept.settings == *settings
            && kept.program == *program.fingerprint()
        {
            return Arc::clone(&kept.layout);
        }
        let layout = Arc::new(Layout::new(drawing, settings, before.as_ref().map(|kept| &*kept.layout)));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.settings != *settings);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(KeptLayout { program: Arc::clone(program.fingerprint()), settings: settings.clone(), layout: Arc::clone(&layout) });
        layout
    }
}
