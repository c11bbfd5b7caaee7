//! Bindings: the contracts that hold where their authors write none (language 9.18, 9.24), and their templates (language 9.2).

mod folders;
mod predicates;
mod templates;

use std::borrow::Cow;

pub use self::folders::read_nodes;
pub(super) use self::{
    folders::{hint_at_folders, read_folders},
    predicates::declare,
    templates::check_templates,
};
use super::graphs::GraphSyntax;
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    language::Effect,
    span::Spanned,
    value::Value,
};
use trellis_syntax::{
    builtin::{BuiltinTool, MODEL},
    {node::ToolSyntax, project::BindingSyntax},
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
    let at = |key: &str| binding.config.span(key).unwrap_or(binding.tool.span);
    let span = if std::ptr::eq(known, &raw const MODEL) { at("model") } else { at("builtin") };
    let is_json = is_json(binding);
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

/// Returns findings about the contract of an author that no call of a builtin, or of a model, can meet (language 9.8).
pub fn contradictions(path: &FilePath, binding: &BindingSyntax) -> Vec<Diagnostic> {
    let Some(known) = contract_of(binding) else { return Vec::new() };
    let finding = |written: &Spanned<Value>, key: &str, why: String, help: &str| {
        let message = format!("nothing fits both `{key}` and what `{}` has there: {why}", known.name);
        Diagnostic::new(Code::UnboundTool, path, written.span, message).help(help)
    };
    let parameters = binding.tool.parameters.as_ref().filter(|_| binding.config.get("args").is_none());
    let returns = binding.tool.returns.as_ref().filter(|_| !is_json(binding));
    let taken = parameters.and_then(|written| {
        let why = known.cannot_take(&written.value)?;
        Some(finding(written, "parameters", why, "make its arguments from those with `args:`, or leave `parameters` out"))
    });
    let returned = returns.and_then(|written| {
        let why = known.cannot_return(&written.value)?;
        Some(finding(written, "returns", why, "leave `returns` out: what it returns is known"))
    });
    taken.into_iter().chain(returned).collect()
}

/// Returns whether a binding asks a model for JSON, whose results no contract knows.
fn is_json(binding: &BindingSyntax) -> bool {
    binding.config.at(&["model", "format"]).and_then(Value::as_str).is_some_and(|format| format != "text")
}

/// Reports `policy` and `budget` of graphs that are not the outermost: they would have no effect (language 9.1).
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
