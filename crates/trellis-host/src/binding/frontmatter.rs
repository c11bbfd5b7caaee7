//! Frontmatter of the Markdown files in which no finding points at a byte: documents, skills and prompts.

use gray_matter::{Matter, ParsedEntity, Pod, engine::Engine};

/// Leaves the frontmatter unread.
struct Untouched;

impl Engine for Untouched {
    fn parse(_: &str) -> gray_matter::Result<Pod> {
        Ok(Pod::Null)
    }
}

/// The YAML between two lines `---` at the beginning of a text, empty where there is none, and the text behind it. A byte order mark is left out;
/// behind frontmatter, line breaks are `\n`, and blank lines before the text and the last line break are left out as well.
pub(super) fn split(text: &str) -> (String, String) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_end);
    // Frontmatter without an end is text.
    let has_matter = lines.next() == Some("---") && lines.any(|line| line == "---");
    let parsed: Option<ParsedEntity> = if has_matter { Matter::<Untouched>::new().parse(text).ok() } else { None };
    parsed.map_or_else(|| (String::new(), text.to_owned()), |parsed| (parsed.matter, parsed.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_is_what_stands_between_two_fences_at_the_beginning() {
        for (text, matter, rest) in [
            ("---\ntitle: x\n---\nBody.\n\n---\nMore.\n", "title: x", "Body.\n\n---\nMore."),
            ("\u{feff}---\r\ntitle: x\r\n--- \r\nBody.\r\n", "title: x", "Body."),
            ("---\n---\nBody.", "", "Body."),
            ("---\ntitle: x\n---", "title: x", ""),
            ("---\nnever closed\n", "", "---\nnever closed\n"),
            ("----\na\n---\n", "", "----\na\n---\n"),
            ("Text.\n---\na: 1\n---\n", "", "Text.\n---\na: 1\n---\n"),
            ("Hi.", "", "Hi."),
            ("", "", ""),
        ] {
            assert_eq!(split(text), (matter.to_owned(), rest.to_owned()), "{text:?}");
        }
    }
}
