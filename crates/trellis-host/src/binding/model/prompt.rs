//! The file of `system:`: a Markdown text whose braces are literal (language 9.17).

use std::{fs, io, path::Path};

use trellis_core::ToolError;

use super::lost;
use crate::binding::frontmatter;

/// Bytes of a prompt file.
const MAX_PROMPT_FILE: u64 = 1 << 20;

/// The text of a prompt file, without its frontmatter.
///
/// # Errors
/// Code `store`: it cannot be read; it is final where another attempt would find the same, since the file is no text or too long.
pub(super) fn text(file: &Path) -> Result<String, ToolError> {
    let shown = file.display();
    let read = fs::metadata(file)
        .and_then(|found| if found.len() > MAX_PROMPT_FILE { Err(io::ErrorKind::FileTooLarge.into()) } else { fs::read(file) });
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => lost("store", format!("the prompt file `{shown}` is longer than {MAX_PROMPT_FILE} bytes")),
        io::ErrorKind::NotFound => ToolError::coded("store", format!("the prompt file `{shown}` does not exist")),
        _ => ToolError::coded("store", format!("the prompt file `{shown}` cannot be read: {error}")),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| lost("store", format!("the prompt file `{shown}` is not UTF-8")))?;
    let (_, text) = frontmatter::split(&text);
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_is_left_out_and_braces_stay() {
        // language 9.17
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("planner.md");
        let read = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            text(&file)
        };
        assert_eq!(read(b"---\ntitle: x\n---\nPlan {{ this }}.\n\n{% not a tag %}\n").unwrap(), "Plan {{ this }}.\n\n{% not a tag %}");
        assert_eq!(read(b"Plain.\n").unwrap(), "Plain.");
        assert_eq!(read(b"Hi.").unwrap(), "Hi.");
        let broken = read(b"\xff").unwrap_err();
        assert!(broken.is_final && broken.message.contains("is not UTF-8"), "{broken:?}");
        let gone = text(&folder.path().join("gone.md")).unwrap_err();
        assert!(!gone.is_final && gone.message.contains("does not exist"), "{gone:?}");
    }
}
