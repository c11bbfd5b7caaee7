//! Texts as HTML that can run nothing, for untrusted authors.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html::push_html};

/// Schemes that a link may have.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Returns Markdown as safe HTML: HTML in it becomes text, links lead to the web or below, images are data, and no attribute comes from the text.
pub fn html(text: &str) -> String {
    of(text)
}

/// As [`html`].
pub(super) fn of(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS);
    let mut is_open = Vec::new();
    let events = parser.filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => None,
        Event::Start(Tag::CodeBlock(_)) => Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Indented))),
        Event::Start(Tag::Heading { level, .. }) => {
            Some(Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() }))
        }
        Event::Start(Tag::Link { dest_url, .. }) => {
            let is_safe = is_link(&dest_url);
            is_open.push(is_safe);
            is_safe.then(|| Event::Html(format!("<a href=\"{}\" rel=\"noopener noreferrer\">", escaped(&dest_url)).into()))
        }
        Event::End(TagEnd::Link) => is_open.pop().filter(|is_open| *is_open).map(|_| Event::Html(CowStr::Borrowed("</a>"))),
        Event::Start(Tag::Image { link_type, dest_url, .. }) => {
            let dest_url = if dest_url.starts_with("data:image/") { dest_url } else { CowStr::Borrowed("") };
            Some(Event::Start(Tag::Image { link_type, dest_url, title: CowStr::Borrowed(""), id: CowStr::Borrowed("") }))
        }
        event => Some(event),
    });
    let mut html = String::new();
    push_html(&mut html, events);
    html
}

/// Returns whether an address leads to the web, to a mailbox, or to a place below.
fn is_link(address: &str) -> bool {
    let address: String = address.chars().filter(|char| !char.is_ascii_control() && !char.is_whitespace()).collect();
    if address.starts_with("//") {
        return false;
    }
    match address.split_once([':', '/', '?', '#']) {
        Some((scheme, _)) if address[scheme.len()..].starts_with(':') => SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)),
        _ => true,
    }
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, char| {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            char if char.is_control() => {}
            char => out.push(char),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of graphs, tools, persons and models are all shown as text.
    #[test]
    fn nothing_that_was_said_can_run() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java\tscript:alert(1))",
            "[x](data:text/html,<script>)",
            "[x](//evil.example)",
            "![x](javascript:alert(1))",
            "![x](http://evil.example/track.png)",
            "<a href=\"javascript:alert(1)\">x</a>",
            "[x](<http://a\" onclick=\"alert(1)>)",
            "```\" onload=\"alert(1)\nx\n```",
            "# x {#id .class onclick=alert(1)}",
            "<svg/onload=alert(1)>",
        ] {
            let html = of(text);
            let tags: Vec<_> = html.split('<').skip(1).filter_map(|tag| tag.split('>').next()).collect();
            for tag in tags {
                let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
                assert!(["p", "a", "img", "pre", "code", "h1"].contains(&name), "{text} becomes {html}");
                let attributes = tag.replace("&quot;", "");
                assert!(!attributes.contains("\" on") && !attributes.to_lowercase().contains("script:"), "{text} becomes {html}");
            }
            assert!(!html.contains("href=\"//") && !html.contains("src=\"http") && !html.contains("class="), "{text} becomes {html}");
        }
        assert_eq!(
            of("[a](http://b.example/?x=1&y)"),
            "<p><a href=\"http://b.example/?x=1&amp;y\" rel=\"noopener noreferrer\">a</a></p>\n"
        );
        assert_eq!(of("[a](below.md) **b**"), "<p><a href=\"below.md\" rel=\"noopener noreferrer\">a</a> <strong>b</strong></p>\n");
    }
}
