//! Acceptance of an input, checked before it is handed in: for hosts that check while a person types.
//!
//! In: a request, then inputs. Out: the value that each would become, or the reason why it is refused.
//!
//! **Invariant:** it holds no rule of its own: its result is that of `navigate`, without `on_invalid` and the bound on size.

use super::{
    Input, Request, RequestType,
    input::{ReceivedInput, Taken, read, written},
};
use crate::program::{Choice, Listen};
use trellis_base::{schema::Schema, template::Template, value::Value};

/// The accepted inputs of a request, made once for many checks.
#[derive(Debug)]
pub struct Acceptance(Listen);

impl Acceptance {
    /// Collects the inputs that `request` accepts.
    pub fn of(request: &Request) -> Self {
        let kind = match request.input_type {
            RequestType::Declared(kind) => Some(kind),
            RequestType::Any(_) | RequestType::None(_) => None,
        };
        let sleep = matches!(request.input_type, RequestType::None(_)).then(|| request.timeout.unwrap_or_default());
        let options = request.options.iter().map(|option| Choice {
            value: option.value.clone(),
            text: Template::literal(option.text.clone()),
            writes: false,
        });
        Self(Listen {
            kind,
            options: options.collect(),
            closed: !request.options.is_empty() && !request.open,
            default: request.default.clone(),
            schema: request.schema.as_ref().and_then(|schema| Schema::new(schema).ok()),
            on_invalid: None,
            sleep,
            timeout: request.timeout,
        })
    }

    /// The value that `input` would become.
    ///
    /// # Errors
    /// It would be refused; with the reason, in one line. A secret is never part of it.
    pub fn check(&self, input: &Input) -> Result<Value, String> {
        let given = match input {
            Input::Text(text) => ReceivedInput::Text(text.clone()),
            Input::Value(value) => ReceivedInput::Value(value.clone()),
            Input::Pass => ReceivedInput::Nothing,
            Input::Result(_) | Input::Signal(_) => return Err("this is no input".to_owned()),
        };
        match read(&self.0, &written, given) {
            Taken::Answer(value) => Ok(value),
            Taken::Slept => Ok(Value::Null),
            Taken::Invalid(problem) => Err(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::OptionView;
    use trellis_base::language::InputType;

    fn request(kind: InputType) -> Request {
        let input_type = RequestType::Declared(kind);
        Request { input_type, options: Vec::new(), default: None, schema: None, timeout: None, metadata: None, open: false }
    }

    fn said(request: &Request, text: &str) -> Result<String, String> {
        Acceptance::of(request).check(&Input::Text(text.into())).map(|value| value.to_json())
    }

    #[test]
    fn types_schemas_and_defaults_are_those_of_the_node() {
        let schema = Value::from_json(r#"{"type": "integer", "maximum": 5}"#).unwrap();
        let number = Request { schema: Some(schema), default: Some(Value::Int(3)), ..request(InputType::Int) };
        assert_eq!(said(&number, "4").unwrap(), "4");
        assert_eq!(said(&number, " ").unwrap(), "3");
        assert_eq!(said(&number, "6").unwrap_err(), "must be at most 5, is 6");
        assert_eq!(said(&number, "x").unwrap_err(), "`x` is not a whole number");
    }

    #[test]
    fn options_are_named_as_they_are_shown() {
        let options = vec![OptionView { value: "tea".into(), text: "Chá".into() }];
        let closed = Request { options, ..request(InputType::Choice) };
        assert_eq!(said(&closed, "Chá").unwrap(), r#""tea""#);
        assert_eq!(said(&closed, "no").unwrap_err(), "choose one of: Chá");
        assert_eq!(said(&Request { open: true, ..closed }, "no").unwrap(), r#""no""#);
    }

    #[test]
    fn a_secret_is_in_no_sentence() {
        let schema = Value::from_json(r#"{"minLength": 9}"#).unwrap();
        let secret = Request { schema: Some(schema), ..request(InputType::Secret) };
        assert!(!said(&secret, "hunter2").unwrap_err().contains("hunter2"));
    }
}
