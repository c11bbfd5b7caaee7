//! The targets of a node: targets, transitions, recovery, ends.

use super::{Decoder, Form};
use crate::{
    node::{DefaultsSyntax, EndSyntax, NodeSyntax, RareList, TargetSyntax, TransitionSyntax},
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::Code,
    id::SignalName,
    span::{Span, Spanned},
};

pub(crate) static TRANSITION: Form = Form {
    elsewhere: &[
        ("next", Some("to"), "write `to`"),
        ("to_node_id", Some("to"), "write `to`"),
        ("target", Some("to"), "write `to`"),
        ("when", Some("condition"), "write `condition`"),
        ("if", Some("condition"), "write `condition`"),
        ("from", None, "a transition leaves the node that holds it: remove `from`"),
        ("from_node_id", None, "a transition leaves the node that holds it: remove `from_node_id`"),
    ],
    ..Form::new("a transition", &["condition", "to", "jump_to", "text"])
};

pub(super) const ENDS: [(&str, EndSyntax); 2] = [("finished", EndSyntax::Finished), ("failed", EndSyntax::Failed)];

impl<'t> Decoder<'t, '_> {
    /// Decodes one of the keys that say where a node leads or how it ends.
    pub(super) fn decide(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "to" | "jump_to" if node.to.is_none() => node.to = self.target(key, entry),
            "to" | "jump_to" => {}
            "transitions" => node.transitions = self.transitions(value, &mut node.unread).into(),
            "on_error" => node.on_error = self.target(key, entry).map(Box::new),
            "on_denied" => node.on_denied = self.target(key, entry).map(Box::new),
            "on_timeout" => self.short_signal(node, SignalName::TIMEOUT, key, entry),
            "on_interrupt" => self.short_signal(node, SignalName::INTERRUPT, key, entry),
            "on_signal" => {
                for signal in self.mapping(key, "a mapping from signals to targets", value).unwrap_or_default() {
                    if let Some(target) = self.target_under(key, signal.span, &signal.key, &signal.value) {
                        self.put_signal(node, &signal.key, signal.span, target);
                    }
                }
            }
            "max_visits" => node.max_visits = self.count(key, value),
            "on_max_visits" => node.on_max_visits = self.target(key, entry).map(Box::new),
            "output" => node.output = Some(Box::new(self.shape(false, value))),
            "reason" => node.reason = self.template(key, value),
            _ => node.end = self.one_of(key, &ENDS, value),
        }
    }

    /// The target under `to`, `on_error` …
    pub(super) fn target(&mut self, key: &'static str, entry: &YamlEntry<'t>) -> Option<TargetSyntax> {
        self.target_under(key, entry.span, &entry.key, &entry.value)
    }

    fn target_under(&mut self, key: &'static str, span: Span, written: &str, value: &YamlNode<'t>) -> Option<TargetSyntax> {
        if value.is_null() {
            self.find(Code::MissingValue, span, format!("`{}` names no target", shown(written)));
            return None;
        }
        let name = self.name(written, value)?;
        Some(TargetSyntax { key: Spanned::new(key, span), name })
    }

    /// Stores `to` or `jump_to`; reports the second of the two.
    pub(super) fn put_target(&mut self, slot: &mut Option<TargetSyntax>, key: &'static str, entry: &YamlEntry<'t>) {
        let target = self.target(key, entry);
        let Some(first) = slot else {
            *slot = target;
            return;
        };
        let found = self.finding(Code::DuplicateKey, entry.span, "`to` and `jump_to` exclude each other");
        let path = self.report.path.clone();
        self.report.push(found.label(&path, first.key.span, "first here").help("keep one: `jump_to` looks at the root first"));
    }

    /// `on_timeout`, `on_interrupt`.
    fn short_signal(&mut self, node: &mut NodeSyntax, signal: &str, key: &'static str, entry: &YamlEntry<'t>) {
        if let Some(target) = self.target(key, entry) {
            self.put_signal(node, signal, entry.span, target);
        }
    }

    fn put_signal(&mut self, node: &mut NodeSyntax, signal: &str, span: Span, target: TargetSyntax) {
        // Repeated keys were found before: only the two with a short form can come twice.
        let short = matches!(signal, SignalName::TIMEOUT | SignalName::INTERRUPT);
        let first = short.then(|| node.on_signal.iter().find(|(known, _)| known.value.as_str() == signal)).flatten();
        let Some((first, _)) = first else {
            node.on_signal.push((Spanned::new(signal.into(), span), target));
            return;
        };
        let found = self.finding(Code::DuplicateKey, span, format!("the signal `{}` is handled a second time", shown(signal)));
        let (path, first) = (self.report.path.clone(), first.span);
        self.report.push(
            found.label(&path, first, "first here").help("keep one: `on_timeout` and `on_interrupt` are short for entries of `on_signal`"),
        );
    }

    fn transitions(&mut self, value: &YamlNode<'t>, unread: &mut RareList<TargetSyntax>) -> Vec<TransitionSyntax> {
        let items = self.list("transitions", "a list of transitions", value).unwrap_or_default();
        // The exact capacity: a graph stores these lists, and growing ones would be half empty.
        let mut transitions = Vec::with_capacity(items.len());
        transitions.extend(items.iter().filter_map(|item| self.transition(item, unread)));
        transitions
    }

    fn transition(&mut self, item: &YamlNode<'t>, unread: &mut RareList<TargetSyntax>) -> Option<TransitionSyntax> {
        let YamlData::Map(entries) = &item.data else {
            if let YamlData::Scalar(text, _) = &item.data {
                let found = self.finding(Code::WrongType, self.head(item), format!("a transition is a mapping, not {}", item.kind()));
                let plain = !text.is_empty() && !text.contains(['\n', ':', '{', ',']);
                self.report.push(if plain {
                    found.help(format!("write `to: {text}`")).fix("write `to:` before it", item.span, format!("to: {text}"))
                } else {
                    found
                });
            } else {
                self.wrong_type("transitions", "mappings with `to`", item);
            }
            return None;
        };
        let mut transition = TransitionSyntax { span: item.span, condition: None, target: None, text: None };
        let seen = self.each(entries, &TRANSITION, |decoder, key, entry| match key {
            "condition" => transition.condition = decoder.condition_of(entry, entries),
            "text" => transition.text = decoder.text(key, &entry.value).map(Box::new),
            _ => decoder.put_target(&mut transition.target, key, entry),
        });
        if seen.lacks(&["to", "jump_to"]) {
            self.find_with(Code::MissingValue, self.head(item), "the transition names no target", "add `to:`");
        }
        // One whose condition is broken must not be taken for an unconditional one.
        let broken = seen.has("condition") && transition.condition.is_none();
        if broken {
            transition.target.into_iter().for_each(|target| unread.push(target));
            return None;
        }
        Some(transition)
    }

    /// The graph-wide keys that the entry node and `trellis.yaml` share.
    pub(super) fn default(&mut self, defaults: &mut DefaultsSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        match key {
            "before_each" => defaults.before_each = self.call(key, entry.span, &entry.value).map(Box::new),
            "on_rolled_back" => defaults.on_rolled_back = self.target(key, entry),
            _ => match &entry.value.data {
                YamlData::Map(signals) => {
                    for signal in signals {
                        if let Some(target) = self.target_under(key, signal.span, &signal.key, &signal.value) {
                            defaults.on_signal_default.push((Some(Spanned::new((&*signal.key).into(), signal.span)), target));
                        }
                    }
                }
                YamlData::Scalar(..) => defaults.on_signal_default.extend(self.target(key, entry).map(|target| (None, target))),
                _ => self.wrong_type(key, "a target, or a mapping from signals to targets", &entry.value),
            },
        }
    }
}
