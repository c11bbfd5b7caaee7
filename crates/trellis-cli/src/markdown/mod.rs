//! Markdown as a terminal shows it: headings, emphasis, lists and code in ANSI styles, wrapped to the terminal's width.
//!
//! In: Markdown. Out: styled text. On a pipe the Markdown itself is printed instead; who calls decides.
//!
//! **Invariant:** nothing in the source reaches the terminal as a command: control characters are replaced before a style is added.

mod wrap;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use self::wrap::{Piece, wrapped};
use crate::report::{display_width, printable};

/// Before each line of a quote.
const QUOTE: &str = "│ ";

/// The source as styled text in at most `width` columns, ended by one newline.
pub(crate) fn styled(source: &str, width: usize) -> String {
    let mut page = Page { width: width.max(20), ..Page::default() };
    for event in Parser::new(source) {
        page.take(event);
    }
    page.end_block();
    page.out
}

/// A page in the making.
#[derive(Default)]
struct Page {
    out: String,
    width: usize,
    /// The words of the open block.
    words: Vec<Piece>,
    /// Styles that are on, the innermost last.
    styles: Vec<Style>,
    /// What each line begins with, by container: quotes and lists.
    margins: Vec<Margin>,
    /// Whether the open block is code: its lines stay as they are.
    code: bool,
    /// Whether a blank line comes before the next block.
    gap: bool,
    /// Where open links lead.
    links: Vec<String>,
}

struct Margin {
    /// What stands before the first line of an item; taken by it.
    first: Option<String>,
    /// What stands before the other lines.
    rest: String,
    /// The number of the next item of an ordered list.
    number: Option<u64>,
    /// Whether a line of it was written.
    begun: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => {
                let style = self.style().fg_color(Some(AnsiColor::Cyan.into()));
                self.piece(&text, style);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.end_block();
                self.begin_block();
                let width = self.width.min(40);
                self.piece(&"─".repeat(width), Style::new().dimmed());
                self.end_block();
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let style = Style::new().bold();
                self.styles.push(if *level == HeadingLevel::H1 { style.underline() } else { style });
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                if let CodeBlockKind::Fenced(info) = kind
                    && let Some((_, file)) = info.split_once(' ')
                {
                    self.piece(file, Style::new().dimmed());
                    self.end_block();
                }
                self.code = true;
                self.margins.push(Margin::same("    "));
                self.styles.push(AnsiColor::Cyan.on_default());
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                self.gap = !self.out.is_empty();
                self.margins.push(Margin::same(QUOTE));
            }
            Tag::List(number) => {
                self.end_block();
                self.margins.push(Margin { first: None, rest: String::new(), number: *number, begun: false });
            }
            Tag::Item => self.begin_item(),
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                self.styles.push(self.style().underline());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::CodeBlock => {
                self.end_block();
                self.code = false;
                self.styles.pop();
                self.margins.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.margins.pop();
            }
            TagEnd::List(_) => {
                self.end_block();
                self.margins.pop();
                self.gap = true;
            }
            TagEnd::Item => self.end_block(),
            TagEnd::Emphasis | TagEnd::Strong => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let target = self.links.pop().unwrap_or_default();
                let is_shown = self.words.last().is_some_and(|piece| piece.text == target);
                if !is_shown && target.contains(':') {
                    self.piece(&format!(" <{target}>"), Style::new().dimmed());
                }
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str) {
        self.piece(text, self.style());
    }

    fn piece(&mut self, text: &str, style: Style) {
        let lines = text.split('\n').map(|line| printable(&line.replace('\t', "    ")).into_owned());
        self.words.push(Piece { text: lines.collect::<Vec<_>>().join("\n"), style });
    }

    fn begin_block(&mut self) {
        let is_item = self.margins.last().is_some_and(|margin| margin.first.is_some());
        self.end_block();
        self.gap = !self.out.is_empty() && !is_item;
    }

    fn begin_item(&mut self) {
        self.end_block();
        let first_of_page = self.out.is_empty();
        let Some(list) = self.margins.last_mut() else { return };
        let bullet = match &mut list.number {
            Some(number) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            None => "• ".to_owned(),
        };
        let is_first = list.rest.is_empty();
        list.rest = " ".repeat(display_width(&bullet));
        list.first = Some(bullet);
        self.gap = is_first && !first_of_page && self.margins.len() == 1;
    }

    /// Lays out the open block, if there is one.
    fn end_block(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        if std::mem::take(&mut self.gap) {
            let quotes = self.margins.iter().filter(|margin| margin.begun && margin.rest == QUOTE);
            let margin = quotes.map(|_| QUOTE).collect::<String>();
            self.out.push_str(margin.trim_end());
            self.out.push('\n');
        }
        let lines = if self.code { code_lines(&words) } else { wrapped(&words, self.room()) };
        for line in lines {
            let margin = self.margin();
            self.out.push_str(if line.is_empty() { margin.trim_end() } else { &margin });
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    /// Columns that the margins leave; deep nesting does not take all.
    fn room(&self) -> usize {
        let margins = self.margins.iter().map(|margin| display_width(&margin.rest)).sum::<usize>();
        self.width.saturating_sub(margins).max(self.width / 3)
    }

    fn margin(&mut self) -> String {
        let most = self.width * 2 / 3;
        let mut margin = String::new();
        for part in &mut self.margins {
            part.begun = true;
            let text = part.first.take().unwrap_or_else(|| part.rest.clone());
            if margin.len() + text.len() <= most {
                margin.push_str(&text);
            }
        }
        margin
    }
}

impl Margin {
    fn same(text: &str) -> Self {
        Self { first: None, rest: text.to_owned(), number: None, begun: false }
    }
}

/// The lines of a code block, each styled by itself so that margins stay plain.
fn code_lines(words: &[Piece]) -> Vec<String> {
    let style = words.first().map(|piece| piece.style).unwrap_or_default();
    let text = words.iter().map(|piece| piece.text.as_str()).collect::<String>();
    let styled = |line: &str| if line.trim().is_empty() { String::new() } else { format!("{style}{line}{style:#}") };
    text.trim_end_matches('\n').split('\n').map(styled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(source: &str, width: usize) -> String {
        anstream::adapter::strip_str(&styled(source, width)).to_string()
    }

    #[test]
    fn blocks_are_told_apart_by_blank_lines_and_margins() {
        let source = "# Title\n\nOne *two* `three`\nfour.\n\n- a\n- b\n  1. c\n  2. d\n\n> said\n\n```yaml start.yaml\nto: x\n\n  y: 1\n```\nend [here](https://x.y)\n";
        let expected = "Title\n\nOne two three four.\n\n• a\n• b\n  1. c\n  2. d\n\n│ said\n\nstart.yaml\n    to: x\n\n      y: 1\n\nend here <https://x.y>\n";
        assert_eq!(plain(source, 80), expected);
    }

    #[test]
    fn paragraphs_are_wrapped_between_words_only() {
        let text = plain("aaaa bbbb **cccc**dddd eeee ffff\n\n- gggg hhhh iiii jjjj kkkk", 20);
        assert_eq!(text, "aaaa bbbb ccccdddd\neeee ffff\n\n• gggg hhhh iiii\n  jjjj kkkk\n");
    }

    #[test]
    fn headings_and_emphasis_are_styled() {
        let text = styled("## Head up\n\nan *odd* `key`", 80);
        assert!(text.contains("\u{1b}[1mHead up\u{1b}[0m"), "{text:?}");
        assert!(text.contains("\u{1b}[3modd") && text.contains("\u{1b}[36mkey"), "{text:?}");
    }

    #[test]
    fn control_characters_and_deep_nesting_do_no_harm() {
        let hostile = format!("{}deep\u{1b}[2J\n", "> - ".repeat(3000));
        let text = plain(&hostile, 80);
        assert!(text.chars().all(|char| char == '\n' || !char.is_control()));
        assert_eq!(plain("", 80), "");
    }
}
