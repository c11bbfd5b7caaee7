//! Finds scripts and addresses in a picture.

use roxmltree::{Document, Node};

/// Elements that run something, or show other content.
const ELEMENTS: [&str; 12] =
    ["script", "foreignObject", "iframe", "object", "embed", "audio", "video", "image", "handler", "listener", "animate", "set"];

/// Returns the harmful part of a picture; `None` if it is harmless.
pub(super) fn harm_in(svg: &str) -> Option<String> {
    let Ok(document) = Document::parse(svg) else { return Some("no sound markup".to_owned()) };
    document.descendants().find_map(|node| harm_of(&node))
}

fn harm_of(node: &Node<'_, '_>) -> Option<String> {
    if node.is_pi() {
        return Some("an instruction".to_owned());
    }
    let name = node.tag_name().name();
    if ELEMENTS.iter().any(|element| element.eq_ignore_ascii_case(name)) {
        return Some(format!("an element `{name}`"));
    }
    if name.eq_ignore_ascii_case("style") && node.descendants().filter_map(|inner| inner.text()).any(has_address) {
        return Some("an address in its style".to_owned());
    }
    node.attributes().find_map(|attribute| {
        let (name, value) = (attribute.name().to_ascii_lowercase(), attribute.value().trim());
        match &*name {
            name if name.starts_with("on") => Some(format!("an attribute `{name}`")),
            "href" | "src" if !value.is_empty() && !value.starts_with('#') => Some(format!("an address in `{name}`")),
            name if has_address(value) => Some(format!("an address in `{name}`")),
            _ => None,
        }
    })
}

/// Returns whether a value of a style refers to something outside the picture.
fn has_address(value: &str) -> bool {
    let plain: String = value.chars().filter(|char| !char.is_whitespace() && !matches!(char, '"' | '\'' | '\\')).collect();
    let plain = plain.to_ascii_lowercase();
    let outside = plain.split("url(").skip(1).any(|rest| !rest.starts_with('#'));
    outside || ["@import", "javascript:", "expression(", "-moz-binding"].iter().any(|mark| plain.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 10.3: an SVG with a script; 6: no script, `foreignObject` or outside address
    #[test]
    fn what_runs_or_leads_out_is_found() {
        let svg =
            |inner: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">{inner}</svg>");
        for harmless in [
            "",
            "<g id=\"a\"><path d=\"M0,0\" marker-end=\"url(#arrow)\"/><text>javascript and https://example.org</text></g>",
            "<style>#a { fill: red; filter: url( '#shadow' ) }</style><use xlink:href=\"#a\"/>",
        ] {
            assert_eq!(harm_in(&svg(harmless)), None, "{harmless}");
        }
        for harmful in [
            "<script>1</script>",
            "<SCRIPT/>",
            "<g><foreignObject/></g>",
            "<image href=\"a.png\"/>",
            "<a xlink:href=\"javascript:alert(1)\"/>",
            "<a href=\"https://example.org\"/>",
            "<use href=\" //evil.example/a.svg#b\"/>",
            "<rect onclick=\"1\"/>",
            "<rect OnLoad=\"1\"/>",
            "<rect style=\"fill: URL(https://evil.example)\"/>",
            "<rect fill=\"u\\rl(data:x)\"/>",
            "<style>@import 'a.css';</style>",
            "<style>a { background: url(//evil.example/a) }</style>",
            "<set attributeName=\"href\"/>",
            "<?xml-stylesheet href=\"a\"?>",
            "<g>",
        ] {
            assert!(harm_in(&svg(harmful)).is_some(), "{harmful}");
        }
    }
}
