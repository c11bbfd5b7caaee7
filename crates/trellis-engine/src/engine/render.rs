//! `render`: the next action of the host (language 7.2). Pure; a pending call is repeated unchanged.

use std::sync::Arc;

use super::{
    Engine, Next, OptionView, RenderError, Request, RequestType, View,
    io::{AnyInput, NoInput},
    speech::render_speech,
    step::{limits, scope},
};
use crate::{
    program::{Choice, Failure, Listen, Localised, Node, Program, Role, Speech},
    state::{CallRole, Ended, State, Status},
};
use trellis_base::{
    template::{Shape, Template, TemplateError},
    value::Value,
};

impl Engine {
    pub(super) fn view(&self, state: &State) -> Result<View, RenderError> {
        if let (Status::WaitingForTool | Status::RollingBack, Some(call)) = (state.status, &state.pending_tool_call)
            && (state.status == Status::RollingBack || call.role == CallRole::BeforeEach)
        {
            return Ok(View { content: None, next: self.next(state, call)? });
        }
        let found = self.program.find(&state.current_node_id);
        if let (Status::Terminated, Some(ended)) = (state.status, &state.ended) {
            let shown = found.map(|index| self.program.node(index)).filter(|node| renders_final_text(node, ended));
            let content = shown.map(|node| self.content(state, node)).transpose()?.flatten();
            return Ok(View { content, next: Next::End(ended.clone()) });
        }
        let node = found.map(|index| self.program.node(index));
        let node = node.ok_or_else(|| RenderError::Unadopted(state.current_node_id.clone()))?;
        match (state.status, &node.role, &state.pending_tool_call) {
            (Status::Active, Role::Pass, _) => Ok(View { content: self.content(state, node)?, next: Next::Pass }),
            (Status::WaitingForInput, Role::Listen(listen), _) => {
                let content = self.content(state, node)?;
                let asked = request(&self.program, state, node, listen).map_err(|error| failed(node, &error))?;
                Ok(View { content, next: Next::Ask(asked) })
            }
            (Status::WaitingForTool, Role::Act(call), Some(pending)) => {
                let content = if call.body.is_some() { None } else { self.content(state, node)? };
                Ok(View { content, next: self.next(state, pending)? })
            }
            _ => Err(RenderError::Unadopted(node.id.clone())),
        }
    }

    fn content(&self, state: &State, node: &Node) -> Result<Option<Arc<str>>, RenderError> {
        let Some(speech) = content(&self.program, state, node) else { return Ok(None) };
        let rendered = render_speech(&self.program, &scope(&self.program, state), speech);
        rendered.map_err(|unsaid| RenderError::Template { node: node.id.clone(), message: unsaid.message })
    }
}

/// Returns whether an ended session still shows its node: it does if a terminal with content only was entered and ended it.
fn renders_final_text(node: &Node, ended: &Ended) -> bool {
    let of_its_own = ended.code.as_deref().is_none_or(|code| code == Failure::End.as_str());
    node.terminal && matches!(node.role, Role::Pass) && ended.node == node.id && of_its_own
}

fn failed(node: &Node, error: &TemplateError) -> RenderError {
    RenderError::Template { node: node.id.clone(), message: error.message.clone() }
}

/// Renders a text over the values that are readable at a state.
fn text(program: &Program, state: &State, template: &Template) -> Result<Arc<str>, TemplateError> {
    template.render(&scope(program, state), limits(program))
}

/// Renders the question of a node.
pub(super) fn request(program: &Program, state: &State, node: &Node, listen: &Listen) -> Result<Request, TemplateError> {
    let options = options(program, state, node, listen)?;
    Ok(Request { options, metadata: metadata(program, state, node)?, ..demand(listen) })
}

/// Returns the question of a node without its rendered texts.
pub(super) fn demand(listen: &Listen) -> Request {
    Request {
        input_type: match (listen.sleep, listen.kind) {
            (Some(_), _) => RequestType::None(NoInput::None),
            (None, Some(kind)) => RequestType::Declared(kind),
            (None, None) => RequestType::Any(AnyInput::Any),
        },
        options: Vec::new(),
        default: listen.default.clone(),
        schema: listen.schema.as_ref().map(|schema| schema.source().clone()),
        timeout: listen.sleep.or(listen.timeout),
        metadata: None,
        open: !listen.closed && !listen.options.is_empty(),
    }
}

/// Renders the options of a node.
fn options(program: &Program, state: &State, node: &Node, listen: &Listen) -> Result<Vec<OptionView>, TemplateError> {
    let words = localised(program, state, node);
    let view = |choice: &Choice| {
        let text = option_text(program, state, choice, words_of(words, choice).unwrap_or(&choice.text))?;
        Ok(OptionView { value: choice.value.clone(), text })
    };
    listen.options.iter().map(view).collect()
}

/// Returns the text of an option in the session's locale.
pub(super) fn shown<'n>(program: &Program, state: &State, node: &'n Node, choice: &'n Choice) -> &'n Template {
    words_of(localised(program, state, node), choice).unwrap_or(&choice.text)
}

/// Returns the names of an option: its text, and the text that it has where no locale has its own. A text that cannot be rendered is no name.
pub(super) fn called(program: &Program, state: &State, node: &Node, choice: &Choice) -> [Option<Arc<str>>; 2] {
    let shown = words_of(localised(program, state, node), choice);
    let text = |template| option_text(program, state, choice, template).ok();
    [text(shown.unwrap_or(&choice.text)), shown.and_then(|_| text(&choice.text))]
}

/// The words that the session's locale has for an option.
fn words_of<'n>(words: [Option<&'n Localised>; 2], choice: &Choice) -> Option<&'n Template> {
    let mut options = words.into_iter().flatten().flat_map(|words| &words.options).peekable();
    options.peek()?;
    let value = choice.value.to_string();
    options.find(|(key, _)| **key == *value).map(|(_, text)| text)
}

/// Renders an option's text in one line; the value replaces an empty one (language 6.4).
fn option_text(program: &Program, state: &State, choice: &Choice, template: &Template) -> Result<Arc<str>, TemplateError> {
    let text = text(program, state, template)?;
    if template.is_literal() {
        return Ok(text);
    }
    let line = text.split(char::is_control).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Ok(if line.is_empty() { choice.value.to_string().into() } else { line.into() })
}

/// Returns the metadata that accompanies the question of a node.
pub(super) fn metadata(program: &Program, state: &State, node: &Node) -> Result<Option<Value>, TemplateError> {
    match node.metadata.as_deref() {
        None => Ok(None),
        Some(Shape::Literal(value)) => Ok(Some(value.clone())),
        Some(shape) => shape.evaluate(&scope(program, state), limits(program), &mut Vec::new()),
    }
}

/// Returns the text of a node in the session's locale.
pub(super) fn content<'n>(program: &Program, state: &State, node: &'n Node) -> Option<&'n Speech> {
    localised(program, state, node).into_iter().flatten().find_map(|words| words.content.as_ref()).or(node.content.as_ref())
}

/// Returns `messages` of exactly the session's locale, then of its language: texts that the first lacks are taken from the second. The
/// locale is the one of the start, else the current text under the graph's `locale` key.
pub(super) fn localised<'n>(program: &Program, state: &State, node: &'n Node) -> [Option<&'n Localised>; 2] {
    in_locale(program, state, node, &node.localised)
}

/// Returns the locales of `messages` whose words a node has for a session: exactly its own, its language, or both where each has a part.
pub(super) fn rendered_locales<'n>(program: &Program, state: &State, node: &'n Node) -> impl Iterator<Item = &'n Arc<str>> {
    let words = localised(program, state, node);
    let is_rendered = move |own: &Localised| words.into_iter().flatten().any(|words| std::ptr::eq(words, own));
    node.localised.iter().filter(move |(_, own)| is_rendered(own)).map(|(locale, _)| locale)
}

/// Looks up exactly the session's locale, then its language, in a list that is sorted by locale.
pub(super) fn in_locale<'n, T>(program: &Program, state: &State, node: &Node, words: &'n [(Arc<str>, T)]) -> [Option<&'n T>; 2] {
    if words.is_empty() {
        return [None, None];
    }
    let chosen = || state.context.get(program.graph_of(node).locale.as_deref()?)?.as_str();
    let Some(locale) = state.locale.as_deref().or_else(chosen) else { return [None, None] };
    let of = |name: &str| {
        let found = words.binary_search_by(|(locale, _)| (**locale).cmp(name));
        found.ok().map(|at| &words[at].1)
    };
    [of(locale), locale.split_once(['-', '_']).and_then(|(language, _)| of(language))]
}
