//! `render`: what the host should do now (language 7.2). Pure; a kept call is repeated as it is.

use std::sync::Arc;

use super::{
    Engine, Next, OptionView, RenderError, Request, RequestType, View,
    input::{Words, option_text},
    io::{AnyInput, NoInput},
    step::{limits, scope},
};
use crate::{
    program::{Choice, Failure, Listen, Node, Program, Role},
    state::{CallRole, Ended, State, Status},
    template::{Shape, Template, TemplateError},
    value::Value,
};

impl Engine {
    pub(super) fn view(&self, state: &State) -> Result<View, RenderError> {
        if let (Status::WaitingForTool | Status::RollingBack, Some(call)) = (state.status, &state.pending_tool_call)
            && (state.status == Status::RollingBack || call.role == CallRole::BeforeEach)
        {
            return Ok(View { content: None, next: Next::Call(call.clone()) });
        }
        let found = self.program.find(&state.current_node_id);
        if let (Status::Terminated, Some(ended)) = (state.status, &state.ended) {
            let said = found.map(|index| self.program.node(index)).filter(|node| says_farewell(node, ended));
            let content = said.map(|node| self.content(state, node)).transpose()?.flatten();
            return Ok(View { content, next: Next::End(ended.clone()) });
        }
        let node = found.map(|index| self.program.node(index));
        let node = node.ok_or_else(|| RenderError::Unadopted(state.current_node_id.clone()))?;
        match (state.status, &node.role, &state.pending_tool_call) {
            (Status::Active, Role::Pass, _) => Ok(View { content: self.content(state, node)?, next: Next::Pass }),
            (Status::WaitingForInput, Role::Listen(listen), _) => {
                let content = self.content(state, node)?;
                let metadata = metadata(&self.program, state, node).map_err(|error| failed(node, &error))?;
                Ok(View { content, next: Next::Ask(Request { metadata, ..request(&self.program, state, node, listen) }) })
            }
            (Status::WaitingForTool, Role::Act(call), Some(pending)) => {
                let content = if call.body.is_some() { None } else { self.content(state, node)? };
                Ok(View { content, next: Next::Call(pending.clone()) })
            }
            _ => Err(RenderError::Unadopted(node.id.clone())),
        }
    }

    fn content(&self, state: &State, node: &Node) -> Result<Option<Arc<str>>, RenderError> {
        let Some(template) = content(&self.program, state, node) else { return Ok(None) };
        text(&self.program, state, template).map(Some).map_err(|error| failed(node, &error))
    }
}

/// Whether an ended session still shows its node: it does where a terminal that only says something was entered and ended it.
fn says_farewell(node: &Node, ended: &Ended) -> bool {
    let of_its_own = ended.code.as_deref().is_none_or(|code| code == Failure::End.as_str());
    node.terminal && matches!(node.role, Role::Pass) && ended.node == node.id && of_its_own
}

fn failed(node: &Node, error: &TemplateError) -> RenderError {
    RenderError::Template { node: node.id.clone(), message: error.message.clone() }
}

/// A text over what can be read at a state.
pub(super) fn text(program: &Program, state: &State, template: &Template) -> Result<Arc<str>, TemplateError> {
    template.render(&scope(program, state), limits(program))
}

/// What a node asks, but for its metadata.
pub(super) fn request(program: &Program, state: &State, node: &Node, listen: &Listen) -> Request {
    let localised = localised(program, state, node);
    let view = |choice: &Choice| OptionView { value: choice.value.clone(), text: option_text(localised, choice).clone() };
    Request {
        input_type: match (listen.sleep, listen.kind) {
            (Some(_), _) => RequestType::None(NoInput::None),
            (None, Some(kind)) => RequestType::Declared(kind),
            (None, None) => RequestType::Any(AnyInput::Any),
        },
        options: listen.options.iter().map(view).collect(),
        default: listen.default.clone(),
        schema: listen.schema.as_ref().map(|schema| schema.source().clone()),
        timeout: listen.sleep.or(listen.timeout),
        metadata: None,
        open: !listen.closed && !listen.options.is_empty(),
    }
}

/// The metadata that travels with what a node asks.
pub(super) fn metadata(program: &Program, state: &State, node: &Node) -> Result<Option<Value>, TemplateError> {
    match &node.metadata {
        None => Ok(None),
        Some(Shape::Literal(value)) => Ok(Some(value.clone())),
        Some(shape) => shape.evaluate(&scope(program, state), limits(program), &mut Vec::new()),
    }
}

/// What a node says in the session's locale.
pub(super) fn content<'n>(program: &Program, state: &State, node: &'n Node) -> Option<&'n Template> {
    localised(program, state, node).into_iter().flatten().find_map(|words| words.content.as_ref()).or(node.content.as_ref())
}

/// `messages` of exactly the session's locale, then of its language: what the first leaves out is taken from the second.
/// The locale is the one of the start, else the text under the graph's `locale` key as it is now.
pub(super) fn localised<'n>(program: &Program, state: &State, node: &'n Node) -> Words<'n> {
    if node.localised.is_empty() {
        return [None, None];
    }
    let chosen = || state.context.get(program.graph_of(node).locale.as_deref()?)?.as_str();
    let Some(locale) = state.locale.as_deref().or_else(chosen) else { return [None, None] };
    let of = |name: &str| {
        let found = node.localised.binary_search_by(|(locale, _)| (**locale).cmp(name));
        found.ok().map(|at| &node.localised[at].1)
    };
    [of(locale), locale.split_once(['-', '_']).and_then(|(language, _)| of(language))]
}
