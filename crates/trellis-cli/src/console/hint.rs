//! The answers that a request accepts, in one line.

use trellis_core::{
    Value,
    engine::{Request, RequestType},
    syntax::node::InputType,
};
use trellis_host::runner::choose;

use super::{layout::in_one_row, schema_text::words};
use crate::terminal::Look;

/// Describes the accepted answers and the meaning of Enter alone; `None` if the prompt already does.
pub(super) fn hint(request: &Request) -> Option<String> {
    let kind = match request.input_type {
        RequestType::Declared(InputType::Confirm) => return None,
        RequestType::Declared(InputType::Int) => "a whole number",
        RequestType::Declared(InputType::Float) => "a number",
        RequestType::Declared(InputType::Json) => "a JSON value",
        RequestType::Declared(InputType::Secret) => "a secret, which is not shown",
        _ if !request.options.is_empty() => "",
        RequestType::Declared(InputType::Text) => "some text",
        _ => "any text, or just Enter",
    };
    let names_kind = |schema: &Value| {
        let keys = ["type", "enum", "const", "description", "title", "anyOf", "oneOf", "format"];
        keys.iter().any(|key| schema.as_map().is_some_and(|schema| schema.contains(key)))
    };
    let said = request.schema.as_ref().and_then(|schema| Some((words(schema)?, names_kind(schema))));
    let is_secret = request.input_type == RequestType::Declared(InputType::Secret);
    let accepted = match said {
        Some((words, true)) if !is_secret => words,
        Some((words, _)) if kind.is_empty() => words,
        Some((words, _)) => format!("{kind}, {words}"),
        None => kind.to_owned(),
    };
    let options = (!request.options.is_empty()).then(|| match (request.open, choose::is_numbered(request)) {
        (false, _) => "arrow keys, a number or a beginning, then Enter",
        (true, true) => "arrow keys or a number, then Enter; or anything else",
        (true, false) => "arrow keys, then Enter; or another value",
    });
    let default = request.default.as_ref().filter(|_| request.options.is_empty()).map(|default| match is_secret {
        true => "Enter for the default".to_owned(),
        false => format!("Enter for {}", in_one_row(&default.to_string(), 40, Look { styled: false, unicode: true })),
    });
    let parts = [options.map(str::to_owned), (!accepted.is_empty()).then_some(accepted), default];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}
