//! Bodies of `multipart/form-data`, in which files are sent.

use serde_json::Value as Json;

use crate::seal::sha256;

/// A body with its media type.
pub(super) struct Content {
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

impl Content {
    pub(super) fn json(json: &Json) -> Self {
        Self { kind: "application/json; charset=utf-8".to_owned(), bytes: json.to_string().into_bytes() }
    }
}

/// Fields, and a text as a file.
pub(super) fn multipart(fields: &[(&str, &str)], (field, name, text): (&str, &str, &str)) -> Content {
    // No text has its own hash in it.
    let boundary = format!("trellis-{}", &sha256(text)[..40]);
    let mut body = String::new();
    for (name, value) in fields {
        body += &format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    body += &format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n");
    body += &format!("content-type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--{boundary}--\r\n");
    Content { kind: format!("multipart/form-data; boundary={boundary}"), bytes: body.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_no_header() {
        let Content { kind, bytes } = multipart(&[("chat", "1")], ("document", "a\"\r\nx: y.md", "--trellis\r\n"));
        let (boundary, body) = (kind.split_once("boundary=").expect("one").1.to_owned(), String::from_utf8(bytes).expect("text"));
        assert!(
            body.contains("filename=\"a%22%0D%0Ax: y.md\"\r\n") && body.ends_with(&format!("\r\n--trellis\r\n\r\n--{boundary}--\r\n")),
            "{body}"
        );
        assert_eq!(body.matches(&boundary).count(), 3);
    }
}
