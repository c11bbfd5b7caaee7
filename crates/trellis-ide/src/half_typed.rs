//! The names in a file that cannot be understood: of its lines that hold a target or a path, and of its templates.

use super::{
    OccurrenceKind,
    named::{Name, Named},
};
use trellis_base::{
    path::{KeyPath, is_name},
    span::Span,
    template::paths_in,
};
use trellis_syntax::document::Document;

/// Keys whose value is a target.
pub const TARGETS: [&str; 10] = [
    "to",
    "jump_to",
    "on_error",
    "on_denied",
    "on_timeout",
    "on_interrupt",
    "on_max_visits",
    "on_rolled_back",
    "graph",
    "on_signal_default",
];

/// Collects the names that lines and templates show by themselves.
pub(super) fn names(document: &Document, all: &mut Vec<Named>) {
    let text = &*document.text;
    let mut add = |name, span, kind| all.push(Named { name, span, kind, is_exact: true, ordinal: 0 });
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '-']);
        if let Some((key, value)) = content.split_once(':').filter(|(key, _)| is_name(key)) {
            let offset = start + (line.len() - content.len()) + key.len() + 1;
            let written = value.trim().trim_matches(['"', '\'']);
            let at = offset + value.find(written).unwrap_or_default();
            let span = Span::new(at, at + written.len());
            if TARGETS.contains(&key) && !written.is_empty() && !written.contains([' ', '{', '[', ',']) {
                let name = Name::Target { name: written.into(), is_jump: key == "jump_to", is_call: key == "graph" };
                add(name, span, OccurrenceKind::Refers);
            } else if key == "save_to"
                && let Some(path) = KeyPath::parse(written)
            {
                add(Name::Key(path.root().clone()), span, OccurrenceKind::Writes);
            } else if key == "id" && !span.range().is_empty() {
                add(Name::Node, span, OccurrenceKind::Defines);
            }
        }
        start += line.len();
    }
    for (path, place) in paths_in(text) {
        if !trellis_base::scope::RESERVED.contains(&&**path.root()) {
            add(Name::Key(path.root().clone()), Span::new(place.start, place.end), OccurrenceKind::Reads);
        }
    }
}
