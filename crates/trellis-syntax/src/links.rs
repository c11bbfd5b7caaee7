//! Relative links to `.md` files in a Markdown body, for `broken-link` and for editors.

use std::{ops::Range, sync::Arc};

use memchr::memchr;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use trellis_base::span::{Span, Spanned};

/// The links of the body at `body` of `text`, in file order; the destination as written, without fragment.
pub(super) fn links(text: &str, body: Range<usize>) -> Vec<Spanned<Arc<str>>> {
    let markdown = &text[body.clone()];
    // Most bodies hold no link, and only links need the whole parser.
    if memchr(b']', markdown.as_bytes()).is_none() || !markdown.contains("](") && !markdown.contains("]:") {
        return Vec::new();
    }
    let parser = Parser::new_ext(markdown, Options::empty());
    let definitions: Vec<_> = parser.reference_definitions().iter().map(|(_, link)| (link.dest.to_string(), link.span.clone())).collect();
    let inline = parser.into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(
            Tag::Link { link_type: LinkType::Inline, dest_url, .. } | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
        ) => Some((dest_url.to_string(), range)),
        _ => None,
    });
    let mut found: Vec<_> =
        definitions.into_iter().chain(inline).filter_map(|(to, range)| link(markdown, body.start, &to, range)).collect();
    found.sort_by_key(|link| link.span);
    found
}

fn link(markdown: &str, base: usize, destination: &str, range: Range<usize>) -> Option<Spanned<Arc<str>>> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    let relative = !path.starts_with('/') && !path.contains([':', '{']);
    if !relative || path.len() < 4 || !path.to_ascii_lowercase().ends_with(".md") {
        return None;
    }
    let written = markdown.get(range.clone())?;
    let span = match written.rfind(path) {
        Some(at) => Span::new(base + range.start + at, base + range.start + at + path.len()),
        None => Span::new(base + range.start, base + range.end),
    };
    Some(Spanned::new(path.into(), span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_relative_markdown_links_with_their_place() {
        let text = "é ---\nSee [a](a.md), [b](../x/b.MD#top \"t\") and [c][ref], ![i](i.md).\n\n[ref]: <sub/c.md> \"C\"\n";
        let found = links(text, 7..text.len());
        let names: Vec<_> = found.iter().map(|link| &text[link.span.range()]).collect();
        assert_eq!(names, ["a.md", "../x/b.MD", "i.md", "sub/c.md"]);
        assert!(found.iter().all(|link| *link.value == text[link.span.range()]));
    }

    #[test]
    fn leaves_other_links_alone() {
        let text = "[a](https://x.org/a.md) [b](/b.md) [c](c.txt) [d](#d) [e]({{ x }}.md) `[f](f.md)`\n\n    [g](g.md)\n";
        assert_eq!(links(text, 0..text.len()), []);
    }
}
