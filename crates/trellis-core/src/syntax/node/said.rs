//! What a node says and offers, as written: texts, parts, words of locales, options, and what follows an invalid input.

use std::sync::Arc;

use super::{AssignSyntax, TargetSyntax};
use crate::{
    path::KeyPath,
    span::{Span, Spanned},
    syntax::condition::Condition,
    template::Template,
    value::{Key, Value},
};

/// One entry of `options:`.
#[derive(Clone, Debug)]
pub struct OptionSyntax {
    /// The whole entry.
    pub span: Span,
    /// The identity: `value`, else the text.
    pub value: Spanned<Value>,
    /// What is shown; literal where it is the value too (language 6.4).
    pub text: Spanned<Template>,
    /// What choosing it writes.
    pub writes: Option<Box<OptionWrites>>,
    /// Where it leads.
    pub target: Option<TargetSyntax>,
}

/// What choosing an option writes: `save_to` stands in place of the node's, the others come after the node's (language 6.4).
#[derive(Clone, Debug, Default)]
pub struct OptionWrites {
    /// `save_to:`.
    pub save_to: Option<Spanned<KeyPath>>,
    /// `set:`, in file order.
    pub set: Vec<AssignSyntax>,
    /// `append:`, in file order.
    pub append: Vec<AssignSyntax>,
}

/// What a node says: one text, or parts.
#[derive(Clone, Debug)]
pub enum SpeechSyntax {
    /// One text.
    Text(Template),
    /// Parts, of which those are said whose condition holds.
    Parts(Arc<[SpeechPartSyntax]>),
}

/// One part of what a node says.
#[derive(Clone, Debug)]
pub struct SpeechPartSyntax {
    /// The whole entry.
    pub span: Span,
    /// The text.
    pub text: Spanned<Template>,
    /// `condition:`; without one the part is always said.
    pub condition: Option<Spanned<Condition>>,
}

/// One locale of `messages:`.
#[derive(Clone, Debug)]
pub struct MessageSyntax {
    /// The locale's name, such as `pt` or `pt-BR`.
    pub locale: Spanned<Arc<str>>,
    /// The text in that locale.
    pub content: Option<Spanned<SpeechSyntax>>,
    /// Option value to text.
    pub options: Vec<(Spanned<Key>, Spanned<Template>)>,
}

/// One locale of the `messages:` of a single text.
pub type LocalText = (Spanned<Arc<str>>, Spanned<Template>);

/// `on_invalid:`.
#[derive(Clone, Debug)]
pub struct OnInvalidSyntax {
    /// What to say, in which `input` is what was given.
    pub text: Option<Spanned<Template>>,
    /// The same by locale.
    pub messages: Vec<LocalText>,
    /// How many invalid inputs are taken.
    pub max: Option<Spanned<u32>>,
    /// Where the last of them leads.
    pub to: Option<TargetSyntax>,
}
