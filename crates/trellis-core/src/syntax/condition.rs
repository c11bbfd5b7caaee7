//! Conditions as written (language 6.1): the grammar, and what is said to those who write more than it knows.
//!
//! **Invariant:** a condition that does not fit the grammar as a whole is no condition; nothing of it is guessed.

use std::sync::Arc;

use super::lexer::{Lexer, Token, TokenKind};
use crate::{
    diagnostic::{Code, Diagnostic, Report, nearest},
    path::{KeyPath, Segment, is_name},
    span::{SourceMap, Span},
    value::Value,
};

/// A parsed condition. Whether a bare name is a predicate or a key is decided when the graph is compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as the author wrote it, trimmed.
    pub text: Arc<str>,
    /// The path it reads, or the predicate it names.
    pub subject: KeyPath,
    /// What is asked of it.
    pub test: Test,
    /// Whether the answer is turned round: `not`, `!=`, `is not`.
    pub negated: bool,
}

/// What a condition asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `path`: a boolean, or a predicate.
    Truth,
    /// `path == literal`.
    Is(Value),
    /// `path in [literal, …]`.
    In(Vec<Value>),
    /// `path is set`.
    Set,
    /// `path is empty`.
    Empty,
}

const FORMS: &str = "a condition is `path`, `not path`, `path == value`, `path != value`, `path in [value, …]`, `path is [not] set` or `path is [not] empty`";
const SIMPLER: &str = "put transitions in order, the first that holds is taken, or name a predicate in `trellis.yaml`";

impl Condition {
    /// Parses a condition and reports `condition-syntax` and `condition-too-complex`.
    /// `map` says where the bytes of `text` stand in the file; `quote` is the quote to offer for texts inside it.
    pub fn parse(text: &str, map: &SourceMap, quote: char, report: &mut Report) -> Option<Self> {
        match (Reader { text, map, quote, tokens: Lexer::new(text).collect(), at: 0, path: report.path.clone() }).condition() {
            Ok(condition) => Some(condition),
            Err(found) => {
                report.push(*found);
                None
            }
        }
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

struct Reader<'c> {
    text: &'c str,
    map: &'c SourceMap,
    quote: char,
    tokens: Vec<Token<'c>>,
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
        let subject = self.subject()?;
        let (test, negated) = self.test(not.as_ref())?;
        if let Some(rest) = self.peek().cloned() {
            let message = format!("`{}` is not understood behind `{}`", rest.text, self.text[..rest.start].trim());
            return Err(self.wrong(Code::ConditionSyntax, rest.range(), message).help(FORMS).into());
        }
        Ok(Condition { text: self.text.trim().into(), subject, test, negated: negated != not.is_some() })
    }

    /// Refuses what no condition can hold, before anything is made of the rest.
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

    fn negation(&mut self) -> Read<Option<Token<'c>>> {
        let Some(not) = self.peek().filter(|token| token.text == "not" && token.kind == TokenKind::Word).cloned() else { return Ok(None) };
        match self.tokens.get(1) {
            None => Err(self.syntax(&not, "a path is missing behind `not`", FORMS)),
            Some(next) if next.kind == TokenKind::Symbol => Ok(None),
            Some(_) => {
                self.at += 1;
                Ok(Some(not))
            }
        }
    }

    fn subject(&mut self) -> Read<KeyPath> {
        let token = self.next("a condition begins with a path")?;
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
    fn key_path(&self, token: &Token<'c>) -> Read<KeyPath> {
        let mut at = token.start;
        let mut segments = Vec::new();
        for part in token.text.split('.') {
            let index = (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok()).flatten();
            let segment = match index {
                Some(index) if !segments.is_empty() => Some(Segment::Index(index)),
                _ => is_name(part).then(|| Segment::Key(part.into())),
            };
            let Some(segment) = segment else {
                let (range, message) = match part {
                    "" => (token.range(), format!("`{}` is no path: a name is missing beside a dot", token.text)),
                    part => (at..at + part.len(), format!("`{part}` is no name")),
                };
                let help = if part.is_empty() && at == token.start {
                    "write the path without the dot before it"
                } else {
                    "names have letters, digits, `_` and `-`, and begin with a letter or `_`"
                };
                return Err(self.wrong(Code::ConditionSyntax, range, message).help(help).into());
            };
            segments.push(segment);
            at += part.len() + 1;
        }
        KeyPath::new(segments).ok_or_else(|| self.syntax(token, &format!("`{}` is no path", token.text), FORMS))
    }

    fn test(&mut self, not: Option<&Token<'c>>) -> Read<(Test, bool)> {
        let Some(operator) = self.peek().cloned() else { return Ok((Test::Truth, false)) };
        self.at += 1;
        let known = matches!(operator.text, "==" | "!=" | "in" | "is") && operator.kind != TokenKind::Text;
        if let (true, Some(not)) = (known, not) {
            return Err(self.not_before_comparison(not, &operator));
        }
        match operator.text {
            _ if !known => Err(self.unknown_operator(&operator)),
            "in" => Ok((Test::In(self.list(&operator)?), false)),
            "is" => self.is(),
            compare => Ok((Test::Is(self.literal(&operator)?), compare == "!=")),
        }
    }

    fn not_before_comparison(&self, not: &Token<'c>, operator: &Token<'c>) -> Box<Diagnostic> {
        let message = format!("`not` cannot stand before `{}`", operator.text);
        let help = match operator.text {
            "==" => "write `path != value`",
            "!=" => "write `path == value`",
            "is" => "write `path is not …`",
            _ => "put the transition with `in` first, the first that holds is taken",
        };
        self.wrong(Code::ConditionTooComplex, not.range(), message).help(help).into()
    }

    fn unknown_operator(&self, operator: &Token<'c>) -> Box<Diagnostic> {
        if operator.text == "not" {
            let help = "put the transition with `in` first, the first that holds is taken";
            return self.wrong(Code::ConditionTooComplex, operator.range(), "a condition knows no `not` behind the path").help(help).into();
        }
        let message = format!("`{}` is not understood behind `{}`", operator.text, self.text[..operator.start].trim());
        let help = match operator.text {
            "equals" | "eq" => "write `==`".to_owned(),
            "contains" | "matches" | "startswith" | "endswith" => SIMPLER.to_owned(),
            text => nearest(text, ["is", "in"]).map_or_else(|| FORMS.to_owned(), |word| format!("did you mean `{word}`?")),
        };
        self.wrong(Code::ConditionSyntax, operator.range(), message).help(help).into()
    }

    fn is(&mut self) -> Read<(Test, bool)> {
        let mut word = self.next("`set` or `empty` is missing behind `is`")?;
        let not = word.text == "not";
        if not {
            word = self.next("`set` or `empty` is missing behind `is not`")?;
        }
        let help = match word.text {
            "set" => return Ok((Test::Set, not)),
            "empty" => return Ok((Test::Empty, not)),
            "null" | "none" | "None" => "write `== null`, `is set` or `is empty`",
            "defined" | "undefined" => "write `is set` or `is not set`",
            "true" | "false" | "True" | "False" => "the path alone is true when its value is; `not path` is the other way round",
            _ => "write `==` to compare with a value",
        };
        Err(self.syntax(&word, &format!("`is` is followed by `set` or `empty`, not by `{}`", word.text), help))
    }

    fn list(&mut self, after: &Token<'c>) -> Read<Vec<Value>> {
        let open = self.next("the list is missing behind `in`")?;
        if open.text != "[" {
            return Err(self.syntax(&open, "the values behind `in` stand in brackets", "write `path in [\"a\", \"b\"]`"));
        }
        let mut items = Vec::new();
        loop {
            if let Some(close) = self.peek().filter(|token| token.text == "]" && token.kind == TokenKind::Symbol).cloned() {
                self.at += 1;
                return match items.is_empty() {
                    true => Err(self.syntax(&close, "the list behind `in` is empty, so nothing is in it", FORMS)),
                    false => Ok(items),
                };
            }
            items.push(self.literal(after)?);
            match self.next("the list behind `in` is never closed")? {
                token if token.text == "]" => return Ok(items),
                token if token.text == "," => {}
                token => return Err(self.syntax(&token, &format!("a comma is missing before `{}`", token.text), FORMS)),
            }
        }
    }

    fn literal(&mut self, after: &Token<'c>) -> Read<Value> {
        let token = self.next(&format!("a value is missing behind `{}`", after.text))?;
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

    fn number(&self, token: &Token<'c>, text: &str) -> Read<Value> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::UInt));
            return value.map_err(|_| self.syntax(token, &format!("the number {text} does not fit 64 bits"), "compare with a quoted text"));
        }
        let number = text.parse().ok().and_then(Value::float).filter(|_| !digits.starts_with('.') && !digits.ends_with('.'));
        number.ok_or_else(|| self.unquoted(token, text))
    }

    fn unquoted(&self, token: &Token<'c>, text: &str) -> Box<Diagnostic> {
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
        let fixed = format!("{quote}{text}{quote}");
        found.help(format!("for the text write {fixed}")).fix("put it in quotes", self.map.span(token.range()), fixed).into()
    }

    fn peek(&self) -> Option<&Token<'c>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self, missing: &str) -> Read<Token<'c>> {
        let Some(token) = self.peek().cloned() else {
            let end = self.text.trim_end().len();
            let last = self.tokens.last().map_or(end, |token| token.start);
            return Err(self.wrong(Code::ConditionSyntax, last..end, missing).help(FORMS).into());
        };
        self.at += 1;
        Ok(token)
    }

    fn syntax(&self, token: &Token<'c>, message: &str, help: &str) -> Box<Diagnostic> {
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
mod tests {
    use super::*;

    /// What a condition means, or `code place: message` of its one diagnostic.
    fn read(text: &str) -> String {
        let mut report = Report::new(&"a.md".into());
        match Condition::parse(text, &SourceMap::Slice(0), '"', &mut report) {
            Some(condition) => {
                assert_eq!(report.diagnostics, [], "{text}");
                format!("{}{} {:?}", if condition.negated { "not " } else { "" }, condition.subject, condition.test)
            }
            None => {
                let [found] = &report.diagnostics[..] else { panic!("{text}: {:?}", report.diagnostics) };
                assert!(found.help.is_some() || found.message.contains("never closed"), "{text}");
                let place = found.place.as_ref().map(|place| &text[place.span.range()]).unwrap_or_default();
                format!("{} {place}: {}", found.code, found.message)
            }
        }
    }

    #[test]
    fn the_grammar() {
        for (text, meaning) in [
            ("user.ok", "user.ok Truth"),
            (" not user.ok ", "not user.ok Truth"),
            ("is_adult", "is_adult Truth"),
            ("nothing", "nothing Truth"),
            ("items.0.id == 5", "items.0.id Is(Int(5))"),
            ("a==-1", "a Is(Int(-1))"),
            ("a != 1.50", "not a Is(Float(1.5))"),
            ("a == 18446744073709551615", "a Is(UInt(18446744073709551615))"),
            ("a == true", "a Is(Bool(true))"),
            ("a == null", "a Is(Null)"),
            ("input == 'yes'", "input Is(Text(\"yes\"))"),
            (r#"a == "it's \"so\" \\ \n \u{e9}""#, r#"a Is(Text("it's \"so\" \\ \n é"))"#),
            ("a == 'x and y (z) < 1'", "a Is(Text(\"x and y (z) < 1\"))"),
            ("a in ['x', 2, null]", "a In([Text(\"x\"), Int(2), Null])"),
            ("a in [1,]", "a In([Int(1)])"),
            ("a is set", "a Set"),
            ("a.b is not set", "not a.b Set"),
            ("a is empty", "a Empty"),
            ("a is not empty", "not a Empty"),
            ("in == 1", "in Is(Int(1))"),
            ("größe == 1", "größe Is(Int(1))"),
        ] {
            assert_eq!(read(text), meaning, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_at_its_place() {
        for (text, finding) in [
            ("", "condition-syntax : the condition is empty"),
            ("a and b", "condition-too-complex and: a condition knows no `and`"),
            ("a == 1 or b", "condition-too-complex or: a condition knows no `or`"),
            ("a && b", "condition-too-complex &&: a condition knows no `&&`"),
            ("a > 18", "condition-too-complex >: a condition does not order values with `>`"),
            ("a + 1 == 2", "condition-too-complex +: a condition knows no `+`"),
            ("a - 1 == 2", "condition-too-complex -: a condition knows no `-`"),
            ("len(a) == 2", "condition-too-complex (: a condition calls no function and has no parentheses"),
            ("a | length", "condition-too-complex |: a condition knows no `|`"),
            ("not a == 1", "condition-too-complex not: `not` cannot stand before `==`"),
            ("a not in [1]", "condition-too-complex not: a condition knows no `not` behind the path"),
            ("!a", "condition-syntax !: `!` is no word of conditions"),
            ("a = 1", "condition-syntax =: `=` does not compare"),
            ("a === 1", "condition-syntax ===: `===` does not compare"),
            ("{{ a }}", "condition-syntax {{: a condition is no template"),
            ("a == b", "condition-syntax b: `b` is no value: texts have quotes, and paths cannot be compared with each other"),
            ("a == True", "condition-syntax True: `True` is no value"),
            ("a == 'x", "condition-syntax 'x: the quote ' is never closed"),
            ("a == 12ab", "condition-syntax 12ab: `12ab` is no value: texts have quotes, and paths cannot be compared with each other"),
            ("a == 18446744073709551616", "condition-syntax 18446744073709551616: the number 18446744073709551616 does not fit 64 bits"),
            (r#"a == "\q""#, "condition-syntax \\q: an escape in this text is unknown"),
            ("a ==", "condition-syntax ==: a value is missing behind `==`"),
            ("a == 1 2", "condition-syntax 2: `2` is not understood behind `a == 1`"),
            ("a in 'x'", "condition-syntax 'x': the values behind `in` stand in brackets"),
            ("a in []", "condition-syntax ]: the list behind `in` is empty, so nothing is in it"),
            ("a in [1", "condition-syntax 1: the list behind `in` is never closed"),
            ("a in [1 2]", "condition-syntax 2: a comma is missing before `2`"),
            ("a is null", "condition-syntax null: `is` is followed by `set` or `empty`, not by `null`"),
            ("a is", "condition-syntax is: `set` or `empty` is missing behind `is`"),
            ("a si set", "condition-syntax si: `si` is not understood behind `a`"),
            (".a == 1", "condition-syntax .a: `.a` is no path: a name is missing beside a dot"),
            ("a..b", "condition-syntax a..b: `a..b` is no path: a name is missing beside a dot"),
            ("a.-b", "condition-syntax -b: `-b` is no name"),
            ("a[0] == 1", "condition-syntax [: a condition reads a list with a dot"),
            ("'yes' == a", "condition-syntax 'yes': a condition begins with a path, not with a value"),
            ("0.a == 1", "condition-syntax 0.a: a condition begins with a path, not with a value"),
            ("true", "condition-syntax true: `true` is no path"),
            ("not", "condition-syntax not: a path is missing behind `not`"),
            ("== 1", "condition-syntax ==: a condition begins with a path"),
        ] {
            assert_eq!(read(text), finding, "{text}");
        }
    }
}
