//! Bindings: the contracts that hold where their authors write none (world 9.18, 9.24), and their templates (world 9.2).

mod predicates;
mod templates;

use std::borrow::Cow;

pub(super) use self::{predicates::declare, templates::check_templates};
use super::graphs::GraphSyntax;
use crate::{
    builtin::{BuiltinTool, MODEL},
    diagnostic::{Code, Diagnostic},
    language::Effect,
    span::Spanned,
    syntax::{node::ToolSyntax, project::BindingSyntax},
    value::Value,
};

/// Returns a binding with the contract that holds: the author's, completed by that of its builtin or of a model. With `args:` the arguments of
/// a call are the author's own. A `compute` file has no effect.
pub(super) fn completed(binding: &BindingSyntax) -> Cow<'_, BindingSyntax> {
    if let (Some(span), None) = (binding.config.span("compute"), &binding.tool.effect) {
        let mut binding = binding.clone();
        binding.tool.effect = Some(Spanned::new(Effect::None, span));
        return Cow::Owned(binding);
    }
    let Some(known) = contract_of(binding) else { return Cow::Borrowed(binding) };
    let is_text = |key: &str| binding.config.at(&["model", key]).and_then(Value::as_str);
    let is_json = is_text("format").is_some_and(|format| format != "text");
    let at = |key: &str| binding.config.span(key).unwrap_or(binding.tool.span);
    let span = if std::ptr::eq(known, &raw const MODEL) { at("model") } else { at("builtin") };
    let mut binding = binding.clone();
    let tool: &mut ToolSyntax = &mut binding.tool;
    if tool.parameters.is_none() && binding.config.get("args").is_none() {
        tool.parameters = known.parameters().map(|schema| Spanned::new(schema, span));
    }
    if tool.returns.is_none() && !is_json {
        tool.returns = known.returns().map(|schema| Spanned::new(schema, span));
    }
    let writes = known.name == "sql.query" && binding.config.get("write") == Some(&Value::Bool(true));
    let effect = if writes { Effect::Irreversible } else { known.effect };
    tool.effect.get_or_insert(Spanned::new(effect, span));
    Cow::Owned(binding)
}

/// Reports `policy` and `budget` of graphs that are not the outermost: they would have no effect (world 9.1).
pub(super) fn check_settings(graphs: &[GraphSyntax<'_>], found: &mut Vec<Diagnostic>) {
    for (_, path, project) in graphs.iter().skip(1).flat_map(|graph| &graph.projects) {
        for key in ["policy", "budget"] {
            if let Some(span) = project.host.spans.get(key) {
                let message = format!("`{key}` counts in the outermost graph only");
                let help = "write it in the `trellis.yaml` of that graph";
                found.push(Diagnostic::new(Code::MisplacedKey, path, *span, message).help(help));
            }
        }
    }
}

/// Returns the contract of the tool that a binding names.
fn contract_of(binding: &BindingSyntax) -> Option<&'static BuiltinTool> {
    if binding.config.get("model").is_some() {
        return Some(&MODEL);
    }
    BuiltinTool::find(binding.config.get("builtin")?.as_str()?)
}
