//! The content and options of a node, as written: texts, parts, words of locales, options, and the reply to an invalid input.

use std::sync::Arc;

use super::{AssignSyntax, TargetSyntax};
use crate::condition::Condition;
use trellis_base::{
    path::KeyPath,
    span::{Span, Spanned},
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
    /// The visible text; literal where it is the value too (language 6.4).
    pub text: Spanned<Template>,
    /// The writes of choosing it.
    pub writes: Option<Box<OptionWrites>>,
    /// The target.
    pub target: Option<TargetSyntax>,
}

/// The writes of choosing an option: `save_to` replaces the node's, the others come after the node's (language 6.4).
#[derive(Clone, Debug, Default)]
pub struct OptionWrites {
    /// `save_to:`.
    pub save_to: Option<Spanned<KeyPath>>,
    /// `set:`, in file order.
    pub set: Vec<AssignSyntax>,
    /// `append:`, in file order.
    pub append: Vec<AssignSyntax>,
}

/// The content of a node: one text, or parts.
#[derive(Clone, Debug)]
pub enum SpeechSyntax {
    /// One text.
    Text(Template),
    /// Parts: those whose condition holds are shown.
    Parts(Arc<[SpeechPartSyntax]>),
}

/// One part of the content of a node.
#[derive(Clone, Debug)]
pub struct SpeechPartSyntax {
    /// The whole entry.
    pub span: Span,
    /// The text.
    pub text: Spanned<Template>,
    /// `condition:`; without one the part is always shown.
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
    /// The message, in which `input` is the given input.
    pub text: Option<Spanned<Template>>,
    /// The text by locale.
    pub messages: Vec<LocalText>,
    /// The number of invalid inputs that are accepted.
    pub max: Option<Spanned<u32>>,
    /// The target after the last of them.
    pub to: Option<TargetSyntax>,
}
