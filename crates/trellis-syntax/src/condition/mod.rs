//! Conditions as written (language 6.1): the grammar, and the findings about text beyond it.
//!
//! **Invariant:** a condition that does not fit the grammar as a whole is no condition; nothing of it is guessed.

mod quotes;

use std::{fmt, sync::Arc};

use super::{
    lexer::{ConditionLexer, ConditionToken, TokenKind},
    text::shown,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Report, nearest},
    path::{KeyPath, is_name},
    span::{SourceMap, Span, Spanned},
    value::Value,
};

/// A parsed condition. Whether a bare name is a predicate or a key is decided when the graph is compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The text of the author, trimmed, where the file does not contain it verbatim: in quotes, or over several lines.
    pub decoded: Option<Arc<str>>,
    /// The path it reads, or the predicate it names.
    pub subject: KeyPath,
    /// The span of the subject; the whole condition where its text was rewritten by escapes.
    pub subject_span: Span,
    /// The test on the subject.
    pub test: Test,
    /// True if the answer is negated: `not`, `!=`, `is not`.
    pub negated: bool,
}

/// The test of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `path`: a boolean, or a predicate.
    Truth,
    /// `path == literal`.
    Is(Value),
    /// `path in [literal, …]`.
    In(Box<[Value]>),
    /// `path is set`.
    Set,
    /// `path is empty`.
    Empty,
}

const FORMS: &str = "a condition is `path`, `not path`, `path == value`, `path != value`, `path in [value, …]`, `path is [not] set` or `path is [not] empty`";
const SIMPLER: &str = "put transitions in order, the first that holds is taken, or name a predicate in `trellis.yaml`";

impl Condition {
    /// Parses a condition and reports `condition-syntax` and `condition-too-complex`. `map` gives the places of the bytes of `text` in the
    /// file; `quote` is the quote to offer for texts inside it.
    pub fn parse(text: &str, map: &SourceMap, quote: char, report: &mut Report) -> Option<Self> {
        match (Reader { text, map, quote, tokens: ConditionLexer::new(text).collect(), at: 0, path: report.path.clone() }).condition() {
            Ok(condition) => Some(condition),
            Err(found) => {
                report.push(*found);
                None
            }
        }
    }

    /// Returns a condition as the author wrote it, trimmed; `file` is the text that contains it.
    pub fn text_of<'c>(condition: &'c Spanned<Self>, file: &'c str) -> &'c str {
        condition.value.decoded.as_deref().unwrap_or_else(|| file.get(condition.span.range()).unwrap_or_default().trim())
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

struct Reader<'c> {
    text: &'c str,
    map: &'c SourceMap,
    quote: char,
    tokens: Vec<ConditionToken<'c>>,
    at: usize,
    path: Arc<str>,
}

impl<'c> Reader<'c> {
    fn condition(&mut self) -> Read<Condition> {
        if self.tokens.is_empty() {
            return Err(self.wrong(Code::ConditionSyntax, 0..self.text.len(), "the condition is empty").help(FORMS).into());
        }
        self.only_known()?;
        let not = self.negation()?;
        let first = self.peek().map_or(0..0, |token| token.range());
        let subject = self.subject()?;
        let (test, negated) = self.test(not.as_ref())?;
        if let Some(rest) = self.peek().cloned() {
            let message = format!("`{}` is not understood after `{}`", shown(rest.text), shown(self.text[..rest.start].trim()));
            return Err(self.wrong(Code::ConditionSyntax, rest.range(), message).help(FORMS).into());
        }
        let decoded = (!matches!(self.map, SourceMap::Slice(_))).then(|| self.text.trim().into());
        let (subject_span, negated) = (self.map.span(first), negated != not.is_some());
        Ok(Condition { decoded, subject, subject_span, test, negated })
    }

    /// Refuses tokens that no condition can contain, before the rest is read.
    fn only_known(&self) -> Read<()> {
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &self.tokens[before]);
            let alone = self.tokens.len() == 1;
            let complex = match (token.kind, token.text) {
                (TokenKind::Symbol, "{{" | "{%") => {
                    return Err(self.syntax(token, "a condition is no template", "write the path without braces: `order.total`"));
                }
                (TokenKind::Symbol, "!") => {
                    let found = self.wrong(Code::ConditionSyntax, token.range(), "`!` is no word of conditions");
                    return Err(found.help("write `not`").fix("write `not`", self.map.span(token.range()), "not ").into());
                }
                (TokenKind::Symbol, curly) if quotes::CURLY.contains(&curly) => {
                    let found = self.syntax(token, &format!("`{}` is no quote of conditions", token.text), "write plain quotes: `\"…\"`");
                    return Err(self.with_plain_quotes(at, *found));
                }
                (TokenKind::Symbol, "=" | "===") => {
                    let found = self.wrong(Code::ConditionSyntax, token.range(), format!("`{}` does not compare", token.text));
                    return Err(found.help("write `==`").fix("write `==`", self.map.span(token.range()), "==").into());
                }
                (TokenKind::Symbol, "!==") => {
                    let found = self.wrong(Code::ConditionSyntax, token.range(), "`!==` does not compare");
                    return Err(found.help("write `!=`").fix("write `!=`", self.map.span(token.range()), "!=").into());
                }
                (TokenKind::Symbol, "[") if before.is_some_and(|before| before.kind == TokenKind::Word && before.end == token.start) => {
                    return Err(self.syntax(token, "a condition reads a list with a dot", "write `items.0` for the first item"));
                }
                (TokenKind::Unclosed, _) => {
                    let message = format!("the quote {} is never closed", &token.text[..1]);
                    return Err(self.wrong(Code::ConditionSyntax, token.range(), message).into());
                }
                (TokenKind::Symbol, "==" | "!=" | "[" | "]" | ",") => false,
                (TokenKind::Symbol, _) => true,
                (TokenKind::Word, "and" | "or") => !alone,
                _ => false,
            };
            if complex {
                let message = match token.text {
                    "<" | ">" | "<=" | ">=" => format!("a condition does not order values with `{}`", token.text),
                    "(" | ")" => "a condition calls no function and has no parentheses".to_owned(),
                    other => format!("a condition knows no `{other}`"),
                };
                return Err(self.wrong(Code::ConditionTooComplex, token.range(), message).help(SIMPLER).into());
            }
        }
        Ok(())
    }

    fn negation(&mut self) -> Read<Option<ConditionToken<'c>>> {
        let Some(not) = self.peek().filter(|token| token.text == "not" && token.kind == TokenKind::Word).cloned() else { return Ok(None) };
        match self.tokens.get(1) {
            None => Err(self.syntax(&not, "a path is missing after `not`", FORMS)),
            Some(next) if next.kind == TokenKind::Symbol => Ok(None),
            Some(_) => {
                self.at += 1;
                Ok(Some(not))
            }
        }
    }

    fn subject(&mut self) -> Read<KeyPath> {
        let token = self.next(format_args!("a condition begins with a path"))?;
        match token.kind {
            TokenKind::Word if !matches!(token.text, "true" | "false" | "null") => self.key_path(&token),
            TokenKind::Word => {
                Err(self.syntax(&token, &format!("`{}` is no path", token.text), "a transition without a condition is always taken"))
            }
            TokenKind::Text | TokenKind::Number => {
                let turned = match &self.tokens[self.at..] {
                    [compare, path] if path.kind == TokenKind::Word && compare.kind == TokenKind::Symbol => {
                        format!("turn it round: `{} {} {}`", path.text, compare.text, token.text)
                    }
                    _ => FORMS.to_owned(),
                };
                Err(self.syntax(&token, "a condition begins with a path, not with a value", &turned))
            }
            _ => Err(self.syntax(&token, "a condition begins with a path", FORMS)),
        }
    }

    /// The path that a word is.
    fn key_path(&self, token: &ConditionToken<'c>) -> Read<KeyPath> {
        KeyPath::parse(token.text).ok_or_else(|| self.no_path(token))
    }

    /// Explains a word that is no path.
    fn no_path(&self, token: &ConditionToken<'c>) -> Box<Diagnostic> {
        let mut at = token.start;
        for part in token.text.split('.') {
            let is_index = at > token.start && part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<usize>().is_ok();
            if !is_index && !is_name(part) {
                let (range, message) = match part {
                    "" => (token.range(), format!("`{}` is no path: a name is missing beside a dot", token.text)),
                    part => (at..at + part.len(), format!("`{part}` is no name")),
                };
                let help = if part.is_empty() && at == token.start {
                    "write the path without the dot before it"
                } else {
                    "names have letters, digits, `_` and `-`, and begin with a letter or `_`"
                };
                return self.wrong(Code::ConditionSyntax, range, message).help(help).into();
            }
            at += part.len() + 1;
        }
        self.syntax(token, &format!("`{}` is no path", token.text), FORMS)
    }

    fn test(&mut self, not: Option<&ConditionToken<'c>>) -> Read<(Test, bool)> {
        let Some(operator) = self.peek().cloned() else { return Ok((Test::Truth, false)) };
        self.at += 1;
        let known = matches!(operator.text, "==" | "!=" | "in" | "is") && operator.kind != TokenKind::Text;
        if let (true, Some(not)) = (known, not) {
            return Err(self.not_before_comparison(not, &operator));
        }
        match operator.text {
            _ if !known => Err(self.unknown_operator(&operator)),
            "in" => Ok((Test::In(self.list(&operator)?.into()), false)),
            "is" => self.is(),
            compare => Ok((Test::Is(self.literal(&operator)?), compare == "!=")),
        }
    }

    fn not_before_comparison(&self, not: &ConditionToken<'c>, operator: &ConditionToken<'c>) -> Box<Diagnostic> {
        let message = format!("`not` cannot stand before `{}`", operator.text);
        let help = match operator.text {
            "==" => "write `path != value`",
            "!=" => "write `path == value`",
            "is" => "write `path is not …`",
            _ => "put the transition with `in` first, the first that holds is taken",
        };
        self.wrong(Code::ConditionTooComplex, not.range(), message).help(help).into()
    }

    fn unknown_operator(&self, operator: &ConditionToken<'c>) -> Box<Diagnostic> {
        if operator.text == "not" {
            let help = "put the transition with `in` first, the first that holds is taken";
            return self.wrong(Code::ConditionTooComplex, operator.range(), "a condition knows no `not` after the path").help(help).into();
        }
        let message = format!("`{}` is not understood after `{}`", shown(operator.text), shown(self.text[..operator.start].trim()));
        let help = match operator.text {
            "equals" | "eq" => "write `==`".to_owned(),
            "contains" | "matches" | "startswith" | "endswith" => SIMPLER.to_owned(),
            text => nearest(text, ["is", "in"]).map_or_else(|| FORMS.to_owned(), |word| format!("did you mean `{word}`?")),
        };
        self.wrong(Code::ConditionSyntax, operator.range(), message).help(help).into()
    }

    fn is(&mut self) -> Read<(Test, bool)> {
        let mut word = self.next(format_args!("`set` or `empty` is missing after `is`"))?;
        let not = word.text == "not";
        if not {
            word = self.next(format_args!("`set` or `empty` is missing after `is not`"))?;
        }
        let help = match word.text {
            "set" => return Ok((Test::Set, not)),
            "empty" => return Ok((Test::Empty, not)),
            "null" | "none" | "None" => "write `== null`, `is set` or `is empty`",
            "defined" | "undefined" => "write `is set` or `is not set`",
            "true" | "false" | "True" | "False" => "the path alone is true when its value is; `not path` is the other way round",
            _ => "write `==` to compare with a value",
        };
        Err(self.syntax(&word, &format!("`is` is followed by `set` or `empty`, not by `{}`", shown(word.text)), help))
    }

    fn list(&mut self, after: &ConditionToken<'c>) -> Read<Vec<Value>> {
        let open = self.next(format_args!("the list is missing after `in`"))?;
        if open.text != "[" {
            return Err(self.syntax(&open, "the values after `in` belong in brackets", "write `path in [\"a\", \"b\"]`"));
        }
        let mut items = Vec::new();
        loop {
            if let Some(close) = self.peek().filter(|token| token.text == "]" && token.kind == TokenKind::Symbol).cloned() {
                self.at += 1;
                return match items.is_empty() {
                    true => Err(self.syntax(&close, "the list after `in` is empty, so nothing is in it", FORMS)),
                    false => Ok(items),
                };
            }
            items.push(self.literal(after)?);
            match self.next(format_args!("the list after `in` is never closed"))? {
                token if token.text == "]" => return Ok(items),
                token if token.text == "," => {}
                token => return Err(self.syntax(&token, &format!("a comma is missing before `{}`", shown(token.text)), FORMS)),
            }
        }
    }

    fn literal(&mut self, after: &ConditionToken<'c>) -> Read<Value> {
        let token = self.next(format_args!("a value is missing after `{}`", after.text))?;
        match (token.kind, token.text) {
            (TokenKind::Text, text) => unescape(text).map(Value::text).map_err(|(at, length)| {
                let range = token.start + at..token.start + at + length;
                self.wrong(Code::ConditionSyntax, range, "an escape in this text is unknown")
                    .help(r#"there are \\ \" \' \n \t \r and \u{…}"#)
                    .into()
            }),
            (TokenKind::Word, "true") => Ok(Value::Bool(true)),
            (TokenKind::Word, "false") => Ok(Value::Bool(false)),
            (TokenKind::Word, "null") => Ok(Value::Null),
            (TokenKind::Number, text) => self.number(&token, text),
            (TokenKind::Word, text) => Err(self.unquoted(&token, text)),
            (_, text) => {
                Err(self.syntax(&token, &format!("`{text}` is no value"), "values are quoted text, numbers, `true`, `false` and `null`"))
            }
        }
    }

    fn number(&self, token: &ConditionToken<'c>, text: &str) -> Read<Value> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::UInt));
            return value.map_err(|_| self.syntax(token, &format!("the number {text} does not fit 64 bits"), "compare with a quoted text"));
        }
        let number = text.parse().ok().and_then(Value::float).filter(|_| !digits.starts_with('.') && !digits.ends_with('.'));
        number.ok_or_else(|| self.unquoted(token, text))
    }

    fn unquoted(&self, token: &ConditionToken<'c>, text: &str) -> Box<Diagnostic> {
        let quote = self.quote;
        if let Some(word) = nearest(text, ["true", "false", "null"]).filter(|word| word.eq_ignore_ascii_case(text)) {
            let found = self.wrong(Code::ConditionSyntax, token.range(), format!("`{text}` is no value"));
            return found.help(format!("did you mean `{word}`?")).fix(format!("write `{word}`"), self.map.span(token.range()), word).into();
        }
        let found = self.wrong(
            Code::ConditionSyntax,
            token.range(),
            format!("`{text}` is no value: texts have quotes, and paths cannot be compared with each other"),
        );
        let meant = match text.to_ascii_lowercase().as_str() {
            "yes" | "no" | "on" | "off" => Some(format!("for a boolean write `true` or `false`, for the text {quote}{text}{quote}")),
            "none" | "nil" | "undefined" => Some("write `null`, or `is not set` where nothing may be there".to_owned()),
            "empty" | "set" => Some(format!("write `is {text}` or `is not {text}`")),
            _ => None,
        };
        if let Some(help) = meant {
            return found.help(help).into();
        }
        let fixed = format!("{quote}{text}{quote}");
        found.help(format!("for the text write {fixed}")).fix("put it in quotes", self.map.span(token.range()), fixed).into()
    }

    fn peek(&self) -> Option<&ConditionToken<'c>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self, missing: fmt::Arguments<'_>) -> Read<ConditionToken<'c>> {
        let Some(token) = self.peek().cloned() else {
            let end = self.text.trim_end().len();
            let last = self.tokens.last().map_or(end, |token| token.start);
            return Err(self.wrong(Code::ConditionSyntax, last..end, missing.to_string()).help(FORMS).into());
        };
        self.at += 1;
        Ok(token)
    }

    fn syntax(&self, token: &ConditionToken<'c>, message: &str, help: &str) -> Box<Diagnostic> {
        self.wrong(Code::ConditionSyntax, token.range(), message).help(help).into()
    }

    fn wrong(&self, code: Code, range: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
        let span: Span = self.map.span(range);
        Diagnostic::new(code, &self.path, span, message)
    }
}

/// The text of a quoted literal, or the range of an unknown escape in it.
fn unescape(quoted: &str) -> Result<String, (usize, usize)> {
    let inner = &quoted[1..quoted.len() - 1];
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let place = 1 + inner.len() - escape.len() - 1;
        let char = escape.chars().next().ok_or((place, 1))?;
        let mut length = char.len_utf8();
        text.push(match char {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '\\' | '"' | '\'' => char,
            'u' => {
                let digits = escape[1..].strip_prefix('{').and_then(|digits| digits.split_once('}')).ok_or((place, 2))?.0;
                length = digits.len() + 3;
                u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or((place, length + 1))?
            }
            _ => return Err((place, 1 + length)),
        });
        rest = &escape[length..];
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests;
