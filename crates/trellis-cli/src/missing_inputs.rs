//! Asks at a terminal for the inputs of a graph that a start lacks, field by field (language 7.1).
//!
//! In: the `inputs` of the graph, and the context that was given. Out: the context with the answers.
//!
//! **Invariant:** only what `inputs` requires is asked for, and an answer fits its field.

use std::io;

use trellis_core::{
    Engine, Mapping, Start, Value,
    engine::{Acceptance, OptionView, Request, RequestType},
    schema::Schema,
    syntax::node::InputType,
};
use trellis_host::{
    Reason,
    runner::{Asking, Awaited, Command, Console, Note},
};

/// A field of `inputs`.
struct InputField {
    /// Its name and description, as Markdown.
    title: String,
    key: String,
    request: Request,
}

/// Asks for each required input that the start lacks. Returns the start, or the reason why there is none.
///
/// # Errors
/// The console is gone.
pub(crate) async fn ask(console: &mut impl Console, engine: &Engine, start: Start) -> io::Result<Result<Start, Reason>> {
    let mut context = start.context.clone();
    for field in missing_fields(engine, &start) {
        match answer(console, &field).await? {
            Ok(value) => context.insert(field.key.into(), value),
            Err(reason) => return Ok(Err(reason)),
        };
    }
    Ok(Ok(Start { context, ..start }))
}

async fn answer(console: &mut impl Console, field: &InputField) -> io::Result<Result<Value, Reason>> {
    let (acceptance, awaited) = (Acceptance::of(&field.request), Awaited::Input(&field.request));
    console.note(Note::Content(&field.title)).await?;
    let mut again = false;
    loop {
        console.ask(awaited, Asking { left: None, again, seq: 0 }).await?;
        match console.read(awaited).await? {
            Command::Input(input) => match acceptance.check(&input) {
                Ok(value) => return Ok(Ok(of_field(&field.request, value))),
                Err(problem) => console.note(Note::Error { code: "invalid-input", message: &problem }).await?,
            },
            Command::Bad { code, message } => console.note(Note::Error { code, message: &message }).await?,
            Command::Signal(_) => return Ok(Err(Reason::Interrupted)),
            Command::End => return Ok(Err(Reason::EndOfInput)),
            _ => {}
        }
        again = true;
    }
}

/// A confirmation is a truth value in a context.
fn of_field(request: &Request, value: Value) -> Value {
    match request.input_type {
        RequestType::Declared(InputType::Confirm) => Value::Bool(value.as_str() == Some("yes")),
        _ => value,
    }
}

/// The required inputs that a start at the entry lacks, in the order of `required`.
fn missing_fields(engine: &Engine, start: &Start) -> Vec<InputField> {
    let program = engine.inspect();
    let is_entry = start.at.as_ref().is_none_or(|at| *at == program.entry().id);
    let inputs = program.root().inputs.as_ref().filter(|_| is_entry).and_then(|inputs| inputs.source().as_map());
    let Some(inputs) = inputs else { return Vec::new() };
    let required = inputs.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str);
    let properties = inputs.get("properties").and_then(Value::as_map);
    let field = |key: &str| InputField::new(key, properties.and_then(|properties| properties.get(key)).and_then(Value::as_map));
    required.filter(|key| !start.context.contains(key)).map(field).collect()
}

impl InputField {
    fn new(key: &str, schema: Option<&Mapping>) -> Self {
        let word = |name: &str| schema.and_then(|schema| schema.get(name)).and_then(Value::as_str);
        let about = word("description").or_else(|| word("title")).map_or_else(String::new, |about| format!(": {about}"));
        Self { title: format!("`{key}`{about}"), key: key.to_owned(), request: schema.map_or_else(|| Request::new(JSON), request) }
    }
}

const JSON: RequestType = RequestType::Declared(InputType::Json);

/// The question for a value of a schema.
fn request(schema: &Mapping) -> Request {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        kind => kind.and_then(Value::as_str).into_iter().collect(),
    };
    let options = schema.get("enum").and_then(Value::as_list).into_iter().flatten();
    let options: Vec<OptionView> = options.map(|value| OptionView::new(value.clone(), value.to_string())).collect();
    let request = match kinds.as_slice() {
        _ if !options.is_empty() => return Request::choice(options),
        ["string"] => Request::new(RequestType::Declared(InputType::Text)),
        ["integer"] => Request::new(RequestType::Declared(InputType::Int)),
        ["number"] => Request::new(RequestType::Declared(InputType::Float)),
        ["boolean"] => return Request::new(RequestType::Declared(InputType::Confirm)),
        _ => Request::new(JSON),
    };
    let schema = Value::Map(schema.clone());
    // References lead into the whole schema, which is checked at the start.
    match Schema::new(&schema) {
        Ok(_) => request.with_schema(schema),
        Err(_) => request,
    }
}
