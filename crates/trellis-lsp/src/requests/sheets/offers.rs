//! Completion in sheets: beginnings of cases, kinds of blocks, and what a line of a block may say.

use trellis_core::{Value, query::Symbol, span::Span, transcript::unmarked};
use trellis_project::sheet::{BlockKind, called, items};

use super::names::{AFTER, SheetPlace, TitledCase, place};
use crate::{
    sheets::is_sheet,
    state::ServerState,
    text::{Text, to_u32},
    uri,
    wire::TextDocumentPositionParams,
};

/// An offer: a label, a few words, and the text with places to fill in, if that is not the label.
pub(crate) struct SheetOffer {
    pub(crate) label: String,
    pub(crate) about: String,
    pub(crate) snippet: Option<String>,
}

impl SheetOffer {
    fn new(label: impl Into<String>, about: &str) -> Self {
        Self { label: label.into(), about: about.to_owned(), snippet: None }
    }

    fn of(table: &[(&str, &str, &str)]) -> Vec<Self> {
        let offer = |(label, about, snippet): &(&str, &str, &str)| {
            let snippet = Some((*snippet).to_owned()).filter(|snippet| !snippet.is_empty());
            Self { snippet, ..Self::new(*label, about) }
        };
        table.iter().map(offer).collect()
    }
}

/// The author lines about the beginning.
const BEGINNINGS: [(&str, &str); 8] = [
    ("at ", "the node where the session begins"),
    ("context ", "the context that it begins with: JSON, or a file beside the sheet"),
    ("state ", "a stored state that it goes on from: JSON, or a file beside the sheet"),
    ("locale ", "its locale"),
    ("session ", "its id"),
    ("limit ", "the greatest size of an input, in bytes"),
    ("after ", "plays another case of the sheet first"),
    ("by hand", "nothing is answered, walked or computed by itself"),
];

/// The beginning of a sheet, and of a case.
const BEGUN_SHEETS: [(&str, &str, &str); 2] = [
    ("# sheet", "a heading, and a case below it", "# ${1:Title}\n\n## ${2:case}\n\n```transcript\n> $0\n```\n"),
    ("## case", "a case of the sheet", "## ${1:case}\n\n```transcript\n> $0\n```\n"),
];

/// The blocks that `trellis test` reads, with what stands in them.
const BLOCKS: [(&str, &str, &str); 8] = [
    ("transcript", "what author and program say to each other", "transcript\n> $0\n"),
    ("tools", "what calls return", "tools\n${1:tool} ${0:null}\n"),
    ("diagnostics", "the findings of the graph; an empty block: none", "diagnostics\n$0\n"),
    ("finds", "the places and codes of the findings alone", "finds\n$0\n"),
    ("markdown FILE.md", "gives the case this file", "markdown ${1:start.md}\n$0\n"),
    ("yaml FILE.yaml", "gives the case this file", "yaml ${1:trellis.yaml}\n$0\n"),
    ("diff FILE", "changes lines of a file for the case", "diff ${1:start.md}\n-$2\n+$0\n"),
    ("gone FILE", "removes a file for the case", "gone ${1:start.md}\n"),
];

/// The lines of an author, as they begin.
const LINES: [(&str, &str, &str); 10] = [
    ("> text", "an input", "> $0"),
    (">= JSON", "an input that is no text", ">= $0"),
    ("< JSON", "the call succeeded", "< ${0:null}"),
    ("$ ", "how the session begins", ""),
    ("@ NAME = true", "the answer of a predicate from here on", "@ ${1:name} = ${0:true}"),
    ("^ NAME", "a signal", "^ $0"),
    (".", "a pass: a sleep is over", "."),
    ("= PATH", "shows a part of the context", "= $0"),
    ("= state PATH", "shows a part of the state", "= state $0"),
    ("...", "as few lines of the program as possible", "..."),
];

/// The outcomes of a call, behind `<`.
const RESULTS: [(&str, &str, &str); 6] = [
    ("< null", "succeeded, with nothing", "< null"),
    ("< {…}", "succeeded, with this JSON", "< {$0}"),
    ("<! message", "failed", "<! ${0:message}"),
    ("<~ message", "took too long", "<~"),
    ("<x reason", "was denied", "<x ${0:reason}"),
    ("<2 JSON", "the same for the second call of the transcript", "<${1:2} ${0:null}"),
];

/// The outcomes of a double.
const OUTCOMES: [(&str, &str, &str); 5] = [
    ("null", "succeeds, with nothing", "null"),
    ("{…}", "arguments that the call must have, or the result", "{$0}"),
    ("! message", "fails", "! ${0:message}"),
    ("~", "takes too long", "~"),
    ("x reason", "is denied", "x ${0:reason}"),
];

/// Returns what may be typed at a place of a sheet, the span that it replaces, and the text of the sheet; `None` for another file.
pub(crate) fn offers(state: &mut ServerState, params: &TextDocumentPositionParams) -> Option<(Vec<SheetOffer>, Span, Text)> {
    let file = uri::to_path(&params.text_document.uri).filter(|file| is_sheet(file))?;
    if let Some(mut place) = place(state, params) {
        let (offers, span) = place.offers();
        return Some((offers, span, place.text));
    }
    let text = match state.sheets.get(&file) {
        Some(sheet) => sheet.text.clone(),
        None => Text::new(std::fs::read_to_string(&file).ok()?),
    };
    let offset = text.offset(params.position, state.encoding());
    let (offers, typed) = outside(text.as_str(), offset);
    let paths = if offers.is_empty() { changed_file(state, &file, text.as_str(), offset) } else { None };
    let (offers, typed) = paths.unwrap_or((offers, typed));
    Some((offers, Span { start: to_u32(offset - typed), end: to_u32(offset) }, text))
}

/// The line of an offset, up to it, if it is outside of all blocks or begins one.
fn line_outside(text: &str, offset: usize) -> Option<&str> {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    items(&text[..start]).is_ok().then(|| &text[start..offset])
}

/// Returns what may be typed outside of blocks, and the length of what is typed of it.
fn outside(text: &str, offset: usize) -> (Vec<SheetOffer>, usize) {
    let Some(line) = line_outside(text, offset) else { return (Vec::new(), 0) };
    let word = line.trim_start_matches('`');
    let fence = &line[..line.len() - word.len()];
    if fence.len() >= 3 && !word.contains(' ') {
        let mut kinds = SheetOffer::of(&BLOCKS);
        // A fence without its other one takes that of the next block.
        let end = if items(text).is_err() { fence } else { "" };
        for kind in &mut kinds {
            kind.snippet = kind.snippet.take().map(|snippet| match end {
                "" => snippet.lines().next().unwrap_or_default().to_owned(),
                fence => format!("{snippet}{fence}"),
            });
        }
        return (kinds, word.len());
    }
    let is_new = text.trim_start_matches('\u{feff}').trim().bytes().all(|byte| byte == b'#');
    if line.bytes().all(|byte| byte == b'#') {
        return (SheetOffer::of(if is_new { &BEGUN_SHEETS[..1] } else { &BEGUN_SHEETS[1..] }), line.len());
    }
    (Vec::new(), 0)
}

/// Returns the files of the graph behind `diff` and `gone`, and the length of what is typed of them.
fn changed_file(state: &mut ServerState, file: &std::path::Path, text: &str, offset: usize) -> Option<(Vec<SheetOffer>, usize)> {
    let (word, typed) = line_outside(text, offset)?.trim_start_matches('`').split_once(' ')?;
    if !matches!(word, "diff" | "gone" | "markdown" | "yaml") || typed.contains(' ') {
        return None;
    }
    let folder = file.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == trellis_project::sheet::TESTS))?.parent()?;
    let files = super::newest(state, folder);
    let files = files.iter().filter(|file| !file.path.split('/').any(|part| part.starts_with('_')));
    Some((files.map(|file| SheetOffer::new(&*file.path, "file of the graph")).collect(), typed.len()))
}

/// Returns the titles of the other cases: the last part of each, as far as that names one case only.
fn other_titles(cases: &[TitledCase]) -> Vec<String> {
    let others = cases.iter().filter(|case| !case.is_own).map(|case| {
        let is_only = cases.iter().filter(|other| other.last() == case.last()).count() == 1;
        if is_only { case.last().to_owned() } else { case.title.clone() }
    });
    let mut others: Vec<String> = others.collect();
    others.dedup();
    others
}

impl SheetPlace<'_> {
    /// Returns what may be typed here, and the span that it replaces.
    fn offers(&mut self) -> (Vec<SheetOffer>, Span) {
        let line = self.line.clone();
        // Titles and answers have blanks of their own, and the form of a result begins with its mark.
        let from = match line.as_str() {
            "<" | "< " => 0,
            line if line.starts_with(AFTER) => AFTER.len(),
            line if line.starts_with('>') => line.find(' ').map_or(line.len(), |at| at + 1),
            line => line.rfind(' ').map_or(0, |at| at + 1),
        };
        let span = Span { start: to_u32(self.offset - (line.len() - from)), end: to_u32(self.offset) };
        let offers = if self.kind == BlockKind::Tools { self.of_double(&line) } else { self.of_transcript(&line) };
        (offers, span)
    }

    fn of_double(&mut self, line: &str) -> Vec<SheetOffer> {
        match line.split_once(' ') {
            None => named(self.tools(), "tool"),
            Some((_, "")) => SheetOffer::of(&OUTCOMES),
            Some(_) => Vec::new(),
        }
    }

    fn of_transcript(&mut self, line: &str) -> Vec<SheetOffer> {
        let is_first = |mark: &str| line.starts_with(mark) && line.matches(' ').count() == 1;
        let number = self.number();
        match line {
            "" => SheetOffer::of(&LINES),
            "<" | "< " => SheetOffer::of(&RESULTS),
            line if line.starts_with(AFTER) => named(other_titles(&self.cases), "case"),
            line if line.starts_with("$ at ") => {
                let nodes = self.graph.index().nodes();
                let inside = |id: &str| match self.folder.as_str() {
                    "" => Some(id.to_owned()),
                    folder => Some(id.strip_prefix(folder)?.strip_prefix('/')?.to_owned()),
                };
                named(nodes.iter().filter_map(|node| inside(node.id.as_str())).collect(), "node")
            }
            _ if is_first("$ ") => BEGINNINGS.iter().map(|(word, about)| SheetOffer::new(*word, about)).collect(),
            _ if is_first("@ ") => {
                named(self.names(|symbol| if let Symbol::Predicate(_, name) = symbol { Some(name.to_string()) } else { None }), "predicate")
            }
            line if line.starts_with("@ ") && line.ends_with(" = ") => named(vec!["true".into(), "false".into()], "answer"),
            line if line.starts_with("^ ") => {
                named(self.names(|symbol| if let Symbol::Signal(name) = symbol { Some(name.to_string()) } else { None }), "signal")
            }
            line if line.starts_with('!') && line.get(called(line)..).is_some_and(|name| line.contains(' ') && !name.contains(' ')) => {
                named(self.tools(), "tool")
            }
            _ if is_first("= ") => {
                let key = |symbol: &Symbol| match symbol {
                    Symbol::Key(of, key) if *of == number => Some(key.to_string()),
                    _ => None,
                };
                let mut keys = named(self.names(key), "key of the context");
                keys.push(SheetOffer::new("state ", "a part of the state"));
                keys
            }
            line if line.starts_with("> ") || line.starts_with(">[") && line.contains("] ") => self.answers(line),
            _ => Vec::new(),
        }
    }

    /// Returns the values of the options of the question that stands above an answer.
    fn answers(&self, line: &str) -> Vec<SheetOffer> {
        let (_, number) = unmarked(line);
        let text = self.text.as_str();
        let above = text[..self.offset - self.line.len()].lines().rev().take_while(|line| !line.starts_with("```"));
        let is_asked = |line: &&str| match number {
            Some(number) => line.starts_with(&format!("?[{number}] ")),
            None => line.starts_with('?'),
        };
        above.filter(|line| line.starts_with('?')).find(is_asked).map(options).unwrap_or_default()
    }
}

fn named(names: Vec<String>, about: &str) -> Vec<SheetOffer> {
    names.into_iter().map(|name| SheetOffer::new(name, about)).collect()
}

/// Returns the options that the line of a question has: `? any ["Tea", 1: "one"]`.
fn options(question: &str) -> Vec<SheetOffer> {
    let question = question.split_once(' ').map_or("", |(_, question)| question);
    if question == "bool" || question.starts_with("bool ") {
        return named(vec!["true".into(), "false".into()], "answer");
    }
    let Some((_, mut rest)) = question.split_once(" [") else { return Vec::new() };
    let mut found = Vec::new();
    let value = |text: &str| -> Option<(Value, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
        values.next()?.ok()?;
        let length = values.byte_offset();
        Some((Value::from_json(&text[..length]).ok()?, length))
    };
    while let Some((option, length)) = value(rest) {
        rest = &rest[length..];
        let mut about = "option".to_owned();
        if let Some((text, length)) = rest.strip_prefix(": ").and_then(value) {
            about = text.as_str().unwrap_or_default().to_owned();
            rest = &rest[2 + length..];
        }
        found.push(SheetOffer::new(option.as_str().map_or_else(|| option.to_json(), str::to_owned), &about));
        let Some(next) = rest.strip_prefix(", ") else { break };
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_question_are_those_that_its_line_shows() {
        let labels = |line| options(line).into_iter().map(|offer| (offer.label, offer.about)).collect::<Vec<_>>();
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect::<Vec<_>>();
        assert_eq!(labels("? any [\"Tea\", \"A, b\"] open"), owned(&[("Tea", "option"), ("A, b", "option")]));
        assert_eq!(labels("?[2] any [1: \"one ]\", \"b\"]"), owned(&[("1", "one ]"), ("b", "option")]));
        assert_eq!(labels("? bool"), owned(&[("true", "answer"), ("false", "answer")]));
        assert!(labels("? text default \"world\"").is_empty() && labels("?").is_empty());
    }
}
