//! Renders Markdown for a terminal: blocks with margins, wrapped to the terminal's width.
//!
//! In: Markdown. Out: text for a terminal. Without styles, Markdown's own marks take their place.
//! On a pipe, the caller prints the Markdown itself instead.
//!
//! **Invariant:** nothing in the source reaches the terminal as a command: control characters are replaced before a style is added.
//! A link always shows its target.

mod page;
mod table;
#[cfg(test)]
mod tests;
mod wrap;

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use self::page::Page;
use crate::{columns::is_right_to_left, terminal::Look};

/// Maximum width of a rule.
const RULE: usize = 40;

/// The source as text in at most `width` columns, ended by one newline. Lines of code stay as they are, so that they can be copied.
pub(crate) fn drawn(source: &str, width: usize, look: Look) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    let mut drawing = Drawing { page: Page::new(width, look), look, links: Vec::new(), comment: false };
    for event in Parser::new_ext(source, options) {
        drawing.take(event);
    }
    drawing.page.finished()
}

/// Isolates right-to-left text, so that it does not reorder the margins and cells around it.
fn isolated(text: &str) -> Cow<'_, str> {
    if is_right_to_left(text) { format!("\u{2068}{text}\u{2069}").into() } else { text.into() }
}

/// A page being drawn.
struct Drawing {
    page: Page,
    look: Look,
    /// The targets of open links, and the part of them that is shown so far.
    links: Vec<(String, String)>,
    /// True inside a comment, which is not shown.
    comment: bool,
}

impl Drawing {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::InlineHtml(text) | Event::Html(text) if self.is_comment(&text) => {}
            Event::InlineHtml(tag) if tag.starts_with("<br") => self.page.text("\n"),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => {
                let style = self.page.style().fg_color(Some(AnsiColor::Cyan.into()));
                self.page.piece(&if self.look.styled { text.to_string() } else { format!("`{text}`") }, style);
            }
            Event::SoftBreak => self.page.text(" "),
            Event::HardBreak => self.page.text("\n"),
            Event::Rule => {
                self.page.begin_block();
                let columns = self.page.room().min(RULE);
                self.page.piece(&self.look.pick("─", "-").repeat(columns), Style::new().dimmed());
                self.page.end_block();
            }
            Event::TaskListMarker(done) => self.page.bullet(match done {
                true => self.look.pick("☑ ", "[x] "),
                false => self.look.pick("☐ ", "[ ] "),
            }),
            Event::FootnoteReference(label) => self.page.piece(&format!("[{label}]"), Style::new().dimmed()),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn is_comment(&mut self, html: &str) -> bool {
        let is_comment = self.comment || html.starts_with("<!--");
        self.comment = is_comment && !html.contains("-->");
        is_comment
    }

    fn text(&mut self, text: &str) {
        if let Some((_, shown)) = self.links.last_mut() {
            shown.push_str(text);
        }
        self.page.text(text);
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.page.begin_block(),
            Tag::Heading { level, .. } => {
                self.page.begin_block();
                let style = Style::new().bold();
                self.page.push(if *level == HeadingLevel::H1 { style.underline() } else { style });
                self.mark(&format!("{} ", "#".repeat(*level as usize)));
            }
            Tag::CodeBlock(kind) => self.page.begin_code(match kind {
                CodeBlockKind::Fenced(info) => info.split_once(' ').map(|(_, file)| file),
                CodeBlockKind::Indented => None,
            }),
            Tag::BlockQuote(kind) => {
                self.page.begin_quote();
                if let Some((word, color)) = kind.map(alert) {
                    self.page.piece(word, color.on_default().bold());
                    self.page.end_block();
                }
            }
            Tag::List(number) => self.page.begin_list(*number),
            Tag::Item => self.page.begin_item(),
            Tag::FootnoteDefinition(label) => self.page.begin_note(label),
            Tag::Table(alignments) => self.page.begin_table(alignments.clone()),
            Tag::TableHead => self.page.begin_row(Style::new().bold()),
            Tag::TableRow => self.page.begin_row(Style::new()),
            Tag::Emphasis => self.styled(self.page.style().italic(), "*"),
            Tag::Strong => self.styled(self.page.style().bold(), "**"),
            Tag::Strikethrough => self.styled(self.page.style().strikethrough(), "~~"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                self.page.push(self.page.style().underline());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::HtmlBlock => {
                self.comment = false;
                self.page.end_block();
            }
            TagEnd::Paragraph | TagEnd::Item => self.page.end_block(),
            TagEnd::Heading(_) => {
                self.page.end_block();
                self.page.pop();
            }
            TagEnd::CodeBlock => self.page.end_code(),
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => self.page.end_container(),
            TagEnd::List(_) => self.page.end_list(),
            TagEnd::Table => self.page.end_table(),
            TagEnd::TableHead | TagEnd::TableRow => self.page.pop(),
            TagEnd::TableCell => self.page.end_cell(),
            TagEnd::Emphasis => self.unstyled("*"),
            TagEnd::Strong => self.unstyled("**"),
            TagEnd::Strikethrough => self.unstyled("~~"),
            TagEnd::Link | TagEnd::Image => {
                self.page.pop();
                let (target, shown) = self.links.pop().unwrap_or_default();
                // A relative link leads to a file of the graph, which nobody can follow here.
                if target.contains(':') && shown != target && target.strip_prefix("mailto:") != Some(&*shown) {
                    self.page.piece(&format!(" <{target}>"), Style::new().dimmed());
                }
                if let Some((_, outer)) = self.links.last_mut() {
                    outer.push_str(&shown);
                }
            }
            _ => {}
        }
    }

    fn styled(&mut self, style: Style, mark: &str) {
        self.page.push(style);
        self.mark(mark);
    }

    fn unstyled(&mut self, mark: &str) {
        self.mark(mark);
        self.page.pop();
    }

    /// Writes the mark that replaces a style on plain output.
    fn mark(&mut self, mark: &str) {
        if !self.look.styled {
            self.page.text(mark);
        }
    }
}

fn alert(kind: BlockQuoteKind) -> (&'static str, AnsiColor) {
    match kind {
        BlockQuoteKind::Note => ("Note", AnsiColor::Blue),
        BlockQuoteKind::Tip => ("Tip", AnsiColor::Green),
        BlockQuoteKind::Important => ("Important", AnsiColor::Magenta),
        BlockQuoteKind::Warning => ("Warning", AnsiColor::Yellow),
        BlockQuoteKind::Caution => ("Caution", AnsiColor::Red),
    }
}
