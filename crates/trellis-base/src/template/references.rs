//! Every path that a template names, with its place: for tools that show, follow or rename it.
//!
//! It reads the tags of the text alone, so that it also finds the paths of an incomplete template. [`Template::reads`] lists the paths that
//! rendering needs; here guarded paths count too, and names that the template itself binds do not.

use std::ops::Range;

use super::{Body, Template};
use crate::{
    path::{KeyPath, Segment},
    span::{SourceMap, Span},
};

/// A path that a template names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The path, as far as it is written in dots and quotes.
    pub path: KeyPath,
    /// Its place in the author's file.
    pub span: Span,
    /// False for a path inside a scalar that escapes rewrote: then the span is that of the whole scalar.
    pub is_exact: bool,
}

impl Template {
    /// Returns whether it may name paths that rendering does not need.
    pub fn is_guarded(&self) -> bool {
        matches!(self.inner.body, Body::Engine(_))
    }

    /// Every path that the template names, guarded or not, in order; names of loops and of `set` are left out.
    pub fn references(&self) -> Vec<Reference> {
        let inner = &*self.inner;
        let is_exact = !matches!(inner.map, SourceMap::Whole(_));
        let found = paths(self.text());
        found.into_iter().map(|(path, place)| Reference { path, span: inner.map.span(place), is_exact }).collect()
    }
}

/// Words of the template languages that are no paths.
const WORDS: [&str; 33] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "with",
    "endwith",
    "filter",
    "endfilter",
    "block",
    "endblock",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "autoescape",
    "endautoescape",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "do",
    "recursive",
];

/// Returns the place of the first tag from `at` on.
fn next_tag(text: &str, at: usize) -> Option<usize> {
    text[at..].match_indices('{').map(|(open, _)| at + open).find(|open| matches!(text.as_bytes().get(open + 1), Some(b'{' | b'%' | b'#')))
}

/// Returns the paths in the tags of a text and their places in it.
pub fn paths(text: &str) -> Vec<(KeyPath, Range<usize>)> {
    let (mut found, mut locals) = (Vec::new(), Vec::new());
    // Of Go: whether each open block is about another value than the context.
    let mut blocks: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(open) = next_tag(text, at) {
        let closing = match &text.as_bytes()[open + 1] {
            b'{' => "}}",
            b'%' => "%}",
            _ => "#}",
        };
        let inside = open + 2..text[open + 2..].find(closing).map_or(text.len(), |end| open + 2 + end);
        at = (inside.end + 2).min(text.len());
        if closing == "#}" {
            continue;
        }
        let written = &text[inside.clone()];
        if written.trim_matches(['-', '+', ' ']) == "raw" {
            let end = text[at..].find("endraw").map_or(text.len(), |end| at + end);
            at = text[end..].find("%}").map_or(text.len(), |close| end + close + 2);
            continue;
        }
        if written.trim_start().starts_with("secret:") {
            continue;
        }
        let (known, is_inner) = (found.len(), blocks.contains(&true));
        TagReader { text: written, at: 0, offset: inside.start, before: Before::Begin }.read(&mut found, &mut locals);
        if is_inner {
            let mut own = found.split_off(known);
            own.retain(|name: &NamedPath| !name.is_dotted || text[..name.place.start].ends_with('$'));
            found.append(&mut own);
        }
        match written.trim_start_matches(['-', ' ']).split_whitespace().next() {
            Some("range" | "with") if closing == "}}" => blocks.push(true),
            Some("if" | "block" | "define") if closing == "}}" => blocks.push(false),
            Some("end") if closing == "}}" => drop(blocks.pop()),
            _ => {}
        }
    }
    // A path that begins with a dot is of Go: there, other names are functions.
    let is_go = found.iter().any(|name: &NamedPath| name.is_dotted);
    found.retain(|name| {
        name.is_dotted == is_go && **name.path.root() != *"loop" && !locals.iter().any(|local| **name.path.root() == **local)
    });
    found.into_iter().map(|name| (name.path, name.place)).collect()
}

struct NamedPath {
    path: KeyPath,
    place: Range<usize>,
    is_dotted: bool,
}

/// The last thing that was read in a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Begin,
    /// `|`: the name of a filter follows.
    Pipe,
    /// `is`: the name of a test follows.
    Is,
    /// `for` or `set`: names follow that the template gives.
    Binds,
    Other,
}

/// A reader of the text between the braces of a tag.
struct TagReader<'t> {
    text: &'t str,
    at: usize,
    /// The offset of the tag in its template.
    offset: usize,
    before: Before,
}

impl TagReader<'_> {
    fn read(mut self, found: &mut Vec<NamedPath>, locals: &mut Vec<String>) {
        while let Some(char) = self.text[self.at..].chars().next() {
            match char {
                '"' | '\'' => self.at = self.after_quote(char),
                '|' => {
                    self.before = Before::Pipe;
                    self.at += 1;
                }
                '.' if self.begins_name(self.at + 1) && !self.continues() => {
                    let start = self.at;
                    self.at += 1;
                    self.path(found, start, true);
                }
                // A part of what brackets hold, or of an item.
                '.' if self.begins_name(self.at + 1) => {
                    self.at += 1;
                    self.name();
                    self.before = Before::Other;
                }
                '$' => {
                    self.at += 1;
                    self.name();
                }
                _ if self.begins_name(self.at) => self.word(found, locals),
                '0'..='9' => {
                    self.at += self.text[self.at..]
                        .find(|char: char| !char.is_ascii_alphanumeric() && char != '.')
                        .unwrap_or(self.text.len() - self.at)
                }
                _ => {
                    if !matches!(char, ' ' | '\n' | '\t' | '\r' | ',' | '(' | ')' | '-' | '+')
                        || self.before != Before::Binds && char == '('
                    {
                        self.before = Before::Other;
                    }
                    self.at += char.len_utf8();
                }
            }
        }
    }

    fn begins_name(&self, at: usize) -> bool {
        self.text[at..].starts_with(|char: char| char.is_alphabetic() || char == '_')
    }

    /// Returns true if the text before is one that a dot continues.
    fn continues(&self) -> bool {
        self.text[..self.at].ends_with(|char: char| char.is_alphanumeric() || matches!(char, '_' | ')' | ']' | '"' | '\''))
    }

    fn after_quote(&self, quote: char) -> usize {
        let mut escaped = false;
        let rest = self.text[self.at + 1..].char_indices();
        let end = rest.into_iter().find(|(_, char)| {
            let ends = !escaped && *char == quote;
            escaped = !escaped && *char == '\\';
            ends
        });
        end.map_or(self.text.len(), |(end, _)| self.at + 1 + end + 1)
    }

    /// Takes a name.
    fn name(&mut self) -> Range<usize> {
        let start = self.at;
        let rest = &self.text[start..];
        self.at = start + rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
        start..self.at
    }

    fn word(&mut self, found: &mut Vec<NamedPath>, locals: &mut Vec<String>) {
        let start = self.at;
        let place = self.name();
        let word = &self.text[place];
        let rest = self.text[self.at..].trim_start();
        let before = std::mem::replace(&mut self.before, Before::Other);
        match (before, word) {
            (Before::Binds, "in") => {}
            (Before::Binds, name) => {
                locals.push(name.to_owned());
                self.before = if rest.starts_with('=') { Before::Other } else { Before::Binds };
            }
            (Before::Pipe, _) => {}
            (Before::Is, "not") => self.before = Before::Is,
            (Before::Is, _) => {}
            (Before::Begin, "for" | "set" | "with") => self.before = Before::Binds,
            (_, "is") => self.before = Before::Is,
            (_, word) if WORDS.contains(&word) => {}
            // A function, or the name of an argument.
            _ if rest.starts_with('(') || (rest.starts_with('=') && !rest.starts_with("==")) => {}
            _ => {
                self.at = start;
                self.path(found, start, false);
            }
        }
    }

    /// Takes a path, as far as its parts are written.
    fn path(&mut self, found: &mut Vec<NamedPath>, start: usize, is_dotted: bool) {
        let first = self.name();
        let mut segments = vec![Segment::Key(self.text[first].into())];
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with('.') && self.begins_name(self.at + 1) {
                self.at += 1;
                let name = self.name();
                segments.push(Segment::Key(self.text[name].into()));
            } else if let Some(index) = rest.strip_prefix('.').filter(|rest| rest.starts_with(|char: char| char.is_ascii_digit())) {
                let digits = index.find(|char: char| !char.is_ascii_digit()).unwrap_or(index.len());
                let Ok(number) = index[..digits].parse() else { break };
                segments.push(Segment::Index(number));
                self.at += 1 + digits;
            } else if let Some((key, after)) = quoted(rest) {
                segments.push(Segment::Key(key.into()));
                self.at += after;
            } else {
                break;
            }
        }
        self.before = Before::Other;
        if let Some(path) = KeyPath::new(segments) {
            found.push(NamedPath { path, place: self.offset + start..self.offset + self.at, is_dotted });
        }
    }
}

/// Returns the key in `["key"]` and the length of it all.
fn quoted(rest: &str) -> Option<(&str, usize)> {
    let inside = rest.strip_prefix('[')?;
    let quote = inside.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    let (key, after) = inside[1..].split_once(quote)?;
    (after.starts_with(']') && !key.contains('\\')).then(|| (key, key.len() + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnostic::Report, template::Dialect};

    fn named(text: &str) -> Vec<String> {
        paths(text).into_iter().map(|(path, place)| format!("{path}@{}", &text[place])).collect()
    }

    #[test]
    fn every_path_has_its_place() {
        for (text, expected) in [
            ("Hi {{ name }}, {{ order.items.0.id | upper }}", &["name@name", "order.items.0.id@order.items.0.id"][..]),
            (
                "{{ a | default(b) }}{% if c is defined and not d.e %}{{ f['g'].h }}{% endif %}",
                &["a@a", "b@b", "c@c", "d.e@d.e", "f.g.h@f['g'].h"],
            ),
            ("{% for x in list %}{{ x.y }} {{ loop.index }} {{ z }}{% endfor %}", &["list@list", "z@z"]),
            ("{% set total = price * 2 %}{{ total }}", &["price@price"]),
            ("{{ \"name\" ~ 'it\\'s' ~ who }} {# no #} {{secret:key}}", &["who@who"]),
            ("{{ range(n) }} {{ f(arg=value) }}", &["n@n", "value@value"]),
            ("Hello {{ .name }} {{ if .order.paid }}{{ len .items }}{{ end }}", &["name@.name", "order.paid@.order.paid", "items@.items"]),
            ("{{ rows[0].name }} {{ (a | first).b }} {{ c[d].e.f }} {{ g[-1].h is set }}", &["rows@rows", "a@a", "c@c", "d@d", "g@g"]),
            (
                "{{ range .items }}{{ .name }}{{ $.who }}{{ if .paid }}{{ .x }}{{ end }}{{ end }}{{ .after }}",
                &["items@.items", "who@.who", "after@.after"],
            ),
            ("{{ with .user }}{{ .nick }}{{ end }}{{ if .a }}{{ .b }}{{ end }}", &["user@.user", "a@.a", "b@.b"]),
            ("{{ name", &["name@name"]),
            ("{% raw %}{{ no }}{% endraw %}{{ yes }}", &["yes@yes"]),
            ("plain { text }", &[]),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    /// Every read of a rendering is a reference.
    #[test]
    fn reads_are_references() {
        for text in [
            "{{ a }} {{ b.c }} {{ d | default(e) }}",
            "{% for x in rows %}{{ x.id }} {{ other }}{% endfor %}",
            "{% if ok and count > 3 %}{{ a + b * c }}{% else %}{{ d[0] }}{% endif %}",
            "{% set n = a.b %}{{ n }} {{ rest | join(sep) }}",
        ] {
            let mut report = Report::new(&"a.md".into());
            let template = Template::parse(text, &SourceMap::Slice(10), Dialect::Jinja, &mut report);
            let references = template.references();
            for read in template.reads() {
                let is_named = |reference: &Reference| {
                    reference.path.root() == read.path.root()
                        && reference.span.start >= read.span.start
                        && reference.span.end <= read.span.end
                        || reference.span == read.span
                };
                // A name that the template gives refers to a path that is written elsewhere.
                let is_alias = !text[read.span.start as usize - 10..].starts_with(&**read.path.root());
                assert!(is_alias || references.iter().any(is_named), "{read:?} in {text}");
            }
        }
    }

    #[test]
    fn a_path_in_an_escaped_scalar_has_no_place_of_its_own() {
        let mut report = Report::new(&"a.md".into());
        let whole = Span::new(4, 30);
        let template = Template::parse("{{ a }}\n{{ b }}", &SourceMap::Whole(whole), Dialect::Jinja, &mut report);
        assert!(template.references().iter().all(|reference| !reference.is_exact && reference.span == whole));
    }
}
