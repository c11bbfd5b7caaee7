//! The text of an HTML page, for a reader who sees no layout.
//!
//! It reads once from front to back: tags become line breaks or nothing; scripts, styles and comments are left out. It accepts every
//! page, also one that is not HTML.

/// Elements whose content is no text.
const SILENT: [&str; 6] = ["script", "style", "template", "noscript", "svg", "iframe"];
/// Block elements.
const BLOCKS: [&str; 35] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "tr",
    "ul",
];
/// Characters with a name that pages use.
const NAMED: [(&str, &str); 20] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("copy", "©"),
    ("reg", "®"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("bull", "•"),
    ("middot", "·"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("euro", "€"),
];

/// Returns the text of a page.
pub(super) fn text_of(html: &str) -> String {
    let (mut out, mut rest) = (PageText::default(), html);
    while let Some(at) = rest.find('<') {
        out.push(&rest[..at]);
        rest = match after_markup(&rest[at..], &mut out) {
            Some(rest) => rest,
            None => {
                out.push("<");
                &rest[at + 1..]
            }
        };
    }
    out.push(rest);
    out.text.trim().to_owned()
}

/// Reads a tag or a comment and returns the text after it; `None` if a `<` begins neither.
fn after_markup<'h>(markup: &'h str, out: &mut PageText) -> Option<&'h str> {
    if let Some(comment) = markup.strip_prefix("<!--") {
        return Some(comment.split_once("-->").map_or("", |(_, rest)| rest));
    }
    if markup.starts_with("<!") || markup.starts_with("<?") {
        return Some(markup.split_once('>').map_or("", |(_, rest)| rest));
    }
    let tag = markup.strip_prefix("</").or_else(|| markup.strip_prefix('<'))?;
    let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if !name.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return None;
    }
    let rest = after_tag(&tag[name.len()..]);
    if BLOCKS.contains(&&*name) {
        out.end_line();
    }
    match &*name {
        "li" if !markup.starts_with("</") => out.push("- "),
        "td" | "th" => out.push(" "),
        _ => {}
    }
    if SILENT.contains(&&*name) && !markup.starts_with("</") {
        return Some(from_end_tag(rest, &name));
    }
    Some(rest)
}

/// Returns the text after a tag, whose attributes may contain a `>` in quotes.
fn after_tag(tag: &str) -> &str {
    let mut quote = None;
    for (at, char) in tag.char_indices() {
        match (quote, char) {
            (None, '>') => return &tag[at + 1..],
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), char) if open == char => quote = None,
            _ => {}
        }
    }
    ""
}

/// Returns the text from the end tag of an element on; empty if there is none.
fn from_end_tag<'h>(text: &'h str, name: &str) -> &'h str {
    let is_end = |rest: &str| rest.get(2..2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
    text.match_indices("</").map(|(at, _)| &text[at..]).find(|rest| is_end(rest)).unwrap_or_default()
}

/// A text in lines, with one blank between words and at most one empty line between others.
#[derive(Default)]
struct PageText {
    text: String,
}

impl PageText {
    fn push(&mut self, html: &str) {
        for char in decode(html).chars() {
            let is_blank = char.is_whitespace() || char.is_control();
            if is_blank && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            } else if !is_blank {
                self.text.push(char);
            }
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

/// A text with its character references replaced.
fn decode(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        out += &rest[..at];
        rest = &rest[at..];
        // A name is short: this avoids a search for the end of the whole text each time.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let name = end.and_then(|end| rest.get(1..end));
        match name.and_then(|name| Some((name, character(name)?))) {
            Some((name, character)) => {
                out += &character;
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn character(name: &str) -> Option<String> {
    let number = |digits: &str| match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    };
    match name.strip_prefix('#') {
        Some(digits) => Some(number(digits).and_then(char::from_u32)?.to_string()),
        None => NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| (*character).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_its_text() {
        let page = "<!doctype html><html><head><title>Tea &amp; more</title><style>p { x: '<b>' }</style>
            <script>if (a < b) { alert('</p>') }</script></head>
            <body><!-- <p>hidden</p> --><h1>Teas</h1><p>Green,\n   <b>black</b><br>white.</p>
            <ul><li>one</li><li>two &#x2713; &#8364;&euro;</li></ul><a title='a > b' href=x>link</a> 1 < 2 &unknown; &</body></html>";
        let expected = "Tea & more\n\nTeas\n\nGreen, black\nwhite.\n\n- one\n\n- two ✓ €€\n\nlink 1 < 2 &unknown; &";
        assert_eq!(text_of(page), expected);
    }

    #[test]
    fn what_is_no_page_is_read_too() {
        for (page, text) in [
            ("", ""),
            ("a", "a"),
            ("<", "<"),
            ("a<script>b", "a"),
            ("<p", ""),
            ("<!--", ""),
            ("é<é>", "é<é>"),
            ("</", "</"),
            ("<svg></é", ""),
        ] {
            assert_eq!(text_of(page), text, "{page}");
        }
    }
}
