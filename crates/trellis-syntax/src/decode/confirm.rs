//! `confirm_msg` in the metadata of a call: how Go Trellis writes the question of an approval (language 2.2).

use std::borrow::Cow;

use super::Decoder;
use crate::{
    node::{ApproveSyntax, CallSyntax},
    removal::removal,
    scalar::Plain,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::Code,
    span::{Span, Spanned},
};

const CONFIRM_KEY: &str = "confirm_msg";

impl<'t> Decoder<'t, '_> {
    /// Takes the question out of `metadata` and puts it into the call, whose `approve` is written at `approve`. The rest remains metadata.
    pub(super) fn confirm<'n>(
        &mut self,
        call: &mut CallSyntax,
        approve: Option<&YamlEntry<'t>>,
        metadata: &'n YamlEntry<'t>,
    ) -> Option<Cow<'n, YamlNode<'t>>> {
        let YamlData::Map(entries) = &metadata.value.data else { return Some(Cow::Borrowed(&metadata.value)) };
        let Some(at) = entries.iter().position(|entry| entry.key == CONFIRM_KEY) else { return Some(Cow::Borrowed(&metadata.value)) };
        let confirm = &entries[at];
        let is_refused = approve.is_some_and(|approve| approve.value.plain() == Plain::Bool(false));
        let asked = call.approve.as_ref().is_some_and(|approve| approve.value.ask.is_some());
        match approve {
            Some(approve) if is_refused || asked => self.contradicted(confirm, approve, is_refused, metadata),
            _ => {
                let ask = self.template(CONFIRM_KEY, &confirm.value);
                let span = call.approve.as_ref().map_or(confirm.value.span, |approve| approve.span);
                let expires = call.approve.take().and_then(|approve| approve.value.expires);
                call.approve = Some(Spanned::new(ApproveSyntax { ask, messages: Vec::new(), expires }, span));
            }
        }
        let rest: Vec<_> = entries.iter().filter(|entry| entry.key != CONFIRM_KEY).cloned().collect();
        let is_left = !rest.is_empty();
        is_left.then_some(Cow::Owned(YamlNode { data: YamlData::Map(rest), span: metadata.value.span }))
    }

    /// Reports a question beside an `approve` that has one already, or is `false`.
    fn contradicted(&mut self, confirm: &YamlEntry<'t>, approve: &YamlEntry<'t>, is_refused: bool, metadata: &YamlEntry<'t>) {
        let (message, label, help) = if is_refused {
            ("`approve` is false, so nobody is asked this", "nobody is asked", "remove `confirm_msg`, or write the question as `approve`")
        } else {
            ("`approve` has a question already", "asked here", "keep one of them; `confirm_msg` is the older form")
        };
        let path = self.report.path.clone();
        let found = self.finding(Code::DuplicateKey, confirm.span, message).label(&path, approve.span, label).help(help);
        let is_alone = matches!(&metadata.value.data, YamlData::Map(entries) if entries.len() == 1);
        let gone = if is_alone { removal(self.text, self.whole(metadata)) } else { self.without(confirm, metadata) };
        self.report.push(gone.into_iter().fold(found, |found, gone| found.fix("remove `confirm_msg`", gone, "")));
    }

    /// Returns the text to remove with an entry: itself, or in brackets up to the next one.
    fn without(&self, entry: &YamlEntry<'t>, of: &YamlEntry<'t>) -> Option<Span> {
        let YamlData::Map(entries) = &of.value.data else { return None };
        self.taken_out(entry, entries)
    }

    /// Returns the text to remove so that an entry of these is gone; `None` if other text is between it and its neighbours.
    pub(super) fn taken_out(&self, entry: &YamlEntry<'t>, entries: &[YamlEntry<'t>]) -> Option<Span> {
        let whole = self.whole(entry);
        let line = self.text[..whole.start as usize].rsplit('\n').next().unwrap_or_default();
        // Behind the dash of its item it shares its line with the next one.
        let alone = if line.trim_start().starts_with("- ") { None } else { removal(self.text, whole) };
        alone.or_else(|| {
            let next = entries.iter().map(|next| self.whole(next)).find(|next| next.start >= whole.end)?;
            let between = self.text.get(whole.end as usize..next.start as usize)?;
            matches!(between.trim(), "" | ",").then(|| Span::new(whole.start as usize, next.start as usize))
        })
    }

    /// An entry with the quotes around it.
    fn whole(&self, entry: &YamlEntry<'t>) -> Span {
        let quote_at = |span: Span| {
            let quote = self.text[..span.start as usize].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
            quote.is_some_and(|quote| self.text[span.end as usize..].starts_with(quote))
        };
        let start = entry.span.start as usize - usize::from(quote_at(entry.span));
        if let YamlData::Map(entries) = &entry.value.data {
            let last = entries.last().map_or(entry.value.span, |last| self.whole(last));
            return Span::new(start, entry.value.span.end.max(last.end).max(entry.span.end) as usize);
        }
        let value = entry.value.span;
        Span::new(start, entry.span.end.max(value.end) as usize + usize::from(quote_at(value)))
    }
}
