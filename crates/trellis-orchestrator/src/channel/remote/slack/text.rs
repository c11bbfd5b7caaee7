//! Converts the text format of Slack to plain text.

/// A text without the marks of Slack: links as addresses, `&lt;` as `<`. Mentions of people stay as they are.
pub(super) fn plain(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, (inner, after))) = rest.split_once('<').and_then(|(before, after)| Some((before, after.split_once('>')?))) {
        plain += before;
        let (target, label) = inner.split_once('|').map_or((inner, None), |(target, label)| (target, Some(label)));
        match (target.chars().next(), label) {
            (Some('@'), _) => plain += &format!("<{target}>"),
            (Some('#'), label) => plain += &format!("#{}", label.filter(|label| !label.is_empty()).unwrap_or(&target[1..])),
            (Some('!'), label) => {
                plain += &label.map_or_else(|| format!("@{}", target[1..].split('^').next().unwrap_or_default()), str::to_owned)
            }
            (_, Some(label)) if label != target && !target.ends_with(&format!("://{label}")) && target != format!("mailto:{label}") => {
                plain += &format!("{label} ({target})");
            }
            (_, Some(label)) if target.starts_with("mailto:") => plain += label,
            _ => plain += target,
        }
        rest = after;
    }
    plain += rest;
    plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_words() {
        for (text, expected) in [
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
            ("<@U1> see <https://example.org/a?b=1&amp;c=2>", "<@U1> see https://example.org/a?b=1&c=2"),
            ("<https://example.org|the docs> <http://example.org|example.org>", "the docs (https://example.org) http://example.org"),
            (
                "<mailto:a@example.org|a@example.org> <#C1|general> <#C2> <!channel> <!subteam^S1|@team>",
                "a@example.org #general #C2 @channel @team",
            ),
            ("1 &lt; 2 <not closed", "1 < 2 <not closed"),
            ("&amp;lt;", "&lt;"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
