//! Renames of predicates and signals: hosts answer the ones and send the others.

use super::{
    GraphChange, Occurrence, RenameRefusal, Symbol, SymbolIndex,
    rename::{edit, missing, not_exact, refused},
};
use trellis_base::{id::SignalName, path::is_name, span::Span};
use trellis_syntax::{document::Content, project::PredicateAnswer};

impl SymbolIndex {
    /// Renames a predicate of one graph: its declaration, and every condition that asks it.
    ///
    /// # Errors
    /// There is no such predicate, the name is taken or none that a predicate can have, or some place cannot be rewritten exactly.
    pub fn rename_predicate(&self, graph: u32, old: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let symbol = Symbol::Predicate(graph, old.into());
        if !self.is_predicate(graph, &old.into()) {
            let own = self.predicates.iter().filter(|(of, _)| *of == graph);
            return refused(missing("predicate", old, own.map(|(_, name)| &**name)));
        }
        if !is_name(new) || trellis_base::scope::RESERVED.contains(&new) {
            return refused(format!("`{new}` is no name of a predicate: a letter or `_`, then letters, digits, `_` and `-`"));
        }
        if self.is_predicate(graph, &new.into()) || !self.occurrences(&Symbol::Key(graph, new.into())).is_empty() {
            return refused(format!("`{new}` is a predicate or a key already"));
        }
        let mut change = self.named_anew(&symbol, old, new)?;
        change.predicate = Some((old.into(), new.into()));
        if self.is_asked_outside(graph, old) {
            change.is_known_outside = true;
            change.notes.push(format!("the host answers `{old}`: rename it there too"));
        }
        Ok(change)
    }

    /// Renames a signal: every node and project file that waits for it.
    ///
    /// # Errors
    /// There is no such signal, it is one of the language, the name is taken or none that a signal can have.
    pub fn rename_signal(&self, old: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let own = [SignalName::TIMEOUT, SignalName::INTERRUPT];
        if let Some(name) = own.into_iter().find(|name| [old, new].contains(name)) {
            return refused(format!("`{name}` is a signal of the language"));
        }
        if !is_name(new) {
            return refused(format!("`{new}` is no name of a signal: a letter or `_`, then letters, digits, `_` and `-`"));
        }
        if !self.occurrences(&Symbol::Signal(new.into())).is_empty() {
            return refused(format!("there is a signal `{new}` already"));
        }
        let symbol = Symbol::Signal(old.into());
        if self.occurrences(&symbol).is_empty() {
            let symbols = self.symbols();
            let signals = symbols.iter().filter_map(|symbol| if let Symbol::Signal(name) = symbol { Some(&**name) } else { None });
            return refused(missing("signal", old, signals));
        }
        let mut change = self.named_anew(&symbol, old, new)?;
        change.signal = Some((old.into(), new.into()));
        change.is_known_outside = true;
        change.notes.push(format!("what sends `{old}` must send `{new}` from now on"));
        Ok(change)
    }

    /// Rewrites every occurrence of a symbol that is written as its name.
    fn named_anew(&self, symbol: &Symbol, old: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let mut change = GraphChange::default();
        for occurrence in &self.occurrences(symbol) {
            let Some(start) = self.written_at(occurrence, old) else { return refused(not_exact(occurrence)) };
            change.edits.push(edit(&occurrence.path, Span::new(start, start + old.len()), new));
        }
        change.edits.sort();
        change.edits.dedup();
        Ok(change)
    }

    /// Returns the offset of a name in the text of an occurrence, if the text is the name, in quotes or not.
    fn written_at(&self, occurrence: &Occurrence, name: &str) -> Option<usize> {
        let text = self.document(&occurrence.path)?.text.get(occurrence.span.range()).filter(|_| occurrence.is_exact)?;
        let is_name = text.trim().trim_matches(['"', '\'']) == name;
        is_name.then(|| text.find(name)).flatten().map(|at| occurrence.span.start as usize + at)
    }

    fn is_asked_outside(&self, graph: u32, name: &str) -> bool {
        self.documents.iter().filter(|document| self.graph_of(&document.path) == graph).any(|document| {
            let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return false };
            let asks = |answer: &PredicateAnswer| matches!(answer, PredicateAnswer::Host { .. });
            project.predicates.iter().any(|predicate| *predicate.name.value == *name && asks(&predicate.answer))
        })
    }
}
