//! Converts the Markdown of answers to the markup of providers: `mrkdwn` of Slack, HTML of Telegram.
//!
//! **Invariant:** for any text, every mark that is opened is closed, and nothing in it becomes a mention or a tag.

use std::fmt::Write as _;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Bold(&'t str),
    Code(&'t str),
    Fence(&'t str),
    Link(&'t str, &'t str),
}

/// The text as Slack reads it.
pub(super) fn mrkdwn(text: &str) -> String {
    pieces(text).into_iter().fold(String::new(), |mut out, piece| {
        let _ = match piece {
            Piece::Text(text) => write!(out, "{}", escape(text)),
            Piece::Bold(text) => write!(out, "*{}*", escape(text)),
            Piece::Code(text) => write!(out, "`{}`", escape(text)),
            Piece::Fence(text) => write!(out, "```\n{}\n```", escape(text)),
            Piece::Link(label, url) => write!(out, "<{}|{}>", escape(url), escape(label).replace('|', " ")),
        };
        out
    })
}

/// The text as Telegram reads it with `parse_mode: HTML`.
pub(super) fn html(text: &str) -> String {
    pieces(text).into_iter().fold(String::new(), |mut out, piece| {
        let _ = match piece {
            Piece::Text(text) => write!(out, "{}", escape(text)),
            Piece::Bold(text) => write!(out, "<b>{}</b>", escape(text)),
            Piece::Code(text) => write!(out, "<code>{}</code>", escape(text)),
            Piece::Fence(text) => write!(out, "<pre>{}</pre>", escape(text)),
            Piece::Link(label, url) => write!(out, "<a href=\"{}\">{}</a>", escape(url).replace('"', "%22"), escape(label)),
        };
        out
    })
}

/// A text in which nothing is a mark of the provider: `<!channel>` is words.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The pieces of a text, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
    let mut is_line_start = true;
    while at < text.len() {
        let rest = &text[at..];
        let found = if is_line_start { fence(rest) } else { None }.or_else(|| inline(rest));
        match found {
            Some((piece, length)) => {
                if start < at {
                    pieces.push(Piece::Text(&text[start..at]));
                }
                pieces.push(piece);
                at += length;
                start = at;
                is_line_start = text[..at].ends_with('\n');
            }
            None => {
                let char = rest.chars().next().unwrap_or_default();
                // Ticks that open nothing are passed as one, since what is behind them opens nothing either.
                at += if char == '`' { rest.len() - rest.trim_start_matches('`').len() } else { char.len_utf8() };
                is_line_start = char == '\n';
            }
        }
    }
    if start < text.len() {
        pieces.push(Piece::Text(&text[start..]));
    }
    pieces
}

/// A fence at the beginning of a text, and its length.
fn fence(text: &str) -> Option<(Piece<'_>, usize)> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let opener = text.lines().next()?;
    if ticks < 3 || opener[ticks..].contains('`') {
        return None;
    }
    let body = text.get(opener.len() + 1..)?;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let closes = line.trim_end();
        if closes.len() >= ticks && closes.bytes().all(|byte| byte == b'`') {
            let inner = body[..at].strip_suffix('\n').unwrap_or(&body[..at]);
            return Some((Piece::Fence(inner), opener.len() + 1 + at + closes.len()));
        }
        at += line.len();
    }
    None
}

/// Code, bold words or a link at the beginning of a text, and its length.
fn inline(text: &str) -> Option<(Piece<'_>, usize)> {
    match text.as_bytes()[0] {
        b'`' => {
            let ticks = &text[..text.len() - text.trim_start_matches('`').len()];
            let after = &text[ticks.len()..];
            // A run of the same length closes it.
            let mut from = 0;
            loop {
                let at = from + after[from..].find(ticks)?;
                let run = after[at..].len() - after[at..].trim_start_matches('`').len();
                if run == ticks.len() {
                    let code = after[..at].trim();
                    let is_line = !code.is_empty() && !code.contains("\n\n");
                    return is_line.then_some((Piece::Code(code), 2 * ticks.len() + at));
                }
                from = at + run;
            }
        }
        b'*' => {
            let after = text.strip_prefix("**")?;
            let end = after.find("**")?;
            let bold = &after[..end];
            let is_bold = !bold.is_empty() && bold.trim() == bold && !bold.contains(['\n', '`', '*']);
            is_bold.then_some((Piece::Bold(bold), end + 4))
        }
        b'[' => {
            let (label, after) = text[1..].split_once("](")?;
            let url = &after[..after.find(')')?];
            let is_url = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)) && !url.contains(['|', '<', '>', ' ', '\n']);
            let is_link = is_url && !label.is_empty() && !label.contains(['[', ']', '\n', '`']);
            is_link.then_some((Piece::Link(label, url), label.len() + url.len() + 4))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "**May I?** `a < b` & <!channel>\n\n```sh\necho \"`x`\" > **y**\n```\n[docs](https://example.org/a?b=1&c=2) **open `tick";

    // orchestrator 10.3: `<!channel>` and HTML are words
    #[test]
    fn slack_reads_marks_and_no_mentions() {
        let expected = "*May I?* `a &lt; b` &amp; &lt;!channel&gt;\n\n```\necho \"`x`\" &gt; **y**\n```\n\
                        <https://example.org/a?b=1&amp;c=2|docs> **open `tick";
        assert_eq!(mrkdwn(TEXT), expected);
    }

    #[test]
    fn telegram_reads_closed_tags() {
        let expected = "<b>May I?</b> <code>a &lt; b</code> &amp; &lt;!channel&gt;\n\n<pre>echo \"`x`\" &gt; **y**</pre>\n\
                        <a href=\"https://example.org/a?b=1&amp;c=2\">docs</a> **open `tick";
        assert_eq!(html(TEXT), expected);
        for text in ["", "`", "``", "```", "**", "****", "[a](", "[a](javascript:x)", "```\nx", "*a*", "``a`b``", "é**é**"] {
            let html = html(text);
            assert_eq!(html.matches("</").count() * 2, html.matches('<').count(), "{text}: {html}");
        }
        assert_eq!(html("``a`b``"), "<code>a`b</code>");
    }
}
