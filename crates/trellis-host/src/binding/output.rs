//! The output of a tool, as a value or as a message.

use trellis_core::{ToolError, Value, engine::ToolErrorKind};

/// The standard output of a success: JSON where it is JSON, else text without its trailing newline; nothing at all is null.
pub(super) fn value(tool: &str, bytes: Vec<u8>) -> Result<Value, ToolError> {
    let breach = |message: String| ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(breach(format!("the output of `{tool}` is not UTF-8")));
    };
    if text.is_empty() {
        return Ok(Value::Null);
    }
    match Value::from_json(&text) {
        Ok(value) => Ok(value),
        // JSON that the language refuses, such as an integer beyond 64 bits (language 3.1), is no text either.
        Err(error) if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() => {
            Err(breach(format!("the output of `{tool}` cannot be taken: {error}")))
        }
        Err(_) => {
            let line = text.strip_suffix('\n').unwrap_or(&text);
            Ok(line.strip_suffix('\r').unwrap_or(line).into())
        }
    }
}

/// The last bytes of a stream.
#[derive(Default)]
pub(super) struct OutputTail(Vec<u8>);

impl OutputTail {
    const BYTES: usize = 2048;

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * Self::BYTES {
            self.0.drain(..self.0.len() - Self::BYTES);
        }
    }

    /// Returns the tail as a message; `None` if it is blank.
    pub(super) fn message(&self) -> Option<String> {
        let tail = &self.0[self.0.len().saturating_sub(Self::BYTES)..];
        let text = String::from_utf8_lossy(tail);
        // A cut may have split a character.
        let text = text.trim_start_matches('\u{fffd}').trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, ToolError> {
        value("t", text.as_bytes().to_vec())
    }

    #[test]
    fn json_is_a_value_and_anything_else_is_text() {
        assert_eq!(read("{\"a\": [1, 2.5]}\n").unwrap().to_json(), r#"{"a":[1,2.5]}"#);
        assert_eq!(read("hello\r\n").unwrap(), Value::text("hello"));
        assert_eq!(read("two\nlines\n\n").unwrap(), Value::text("two\nlines\n"));
        assert_eq!(read("").unwrap(), Value::Null);
        assert_eq!(read("\n").unwrap(), Value::text(""));
    }

    #[test]
    fn json_that_would_lose_digits_is_refused() {
        let error = read(r#"{"id": 18446744073709551616}"#).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Schema);
        assert!(error.message.contains("18446744073709551616"), "{}", error.message);
        assert_eq!(value("t", vec![0xff]).unwrap_err().message, "the output of `t` is not UTF-8");
    }

    #[test]
    fn the_tail_keeps_the_end() {
        let mut tail = OutputTail::default();
        for line in 0..10_000 {
            tail.push(format!("line {line}\n").as_bytes());
        }
        let message = tail.message().unwrap();
        assert!(message.ends_with("line 9999") && message.len() <= OutputTail::BYTES);
    }
}
