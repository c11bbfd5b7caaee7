//! The Go dialect: a documented subset of Go's templates, read straight into the tree that the jinja dialect is read into (language 3.5).
//!
//! Text and actions are separated here, and blocks are matched; [`expression`] reads the inside of an action.
//!
//! **Invariant:** every node carries the author's own bytes, so no position is ever translated.

mod convert;
mod expression;
mod lexer;

use std::ops::Range;

use minijinja::{
    machinery::{
        Span,
        ast::{self, Expr, Spanned, Stmt},
    },
    value::Value as Dyn,
};

pub use self::convert::{Problem, go_to_jinja};
use self::{
    expression::{Dot, GoAction},
    lexer::{GoLexer, GoToken},
};
use super::{Mistake, machine::hook, nesting::MAX_NESTING};

use crate::index::to_u32;

/// The names in `range` and `with` for the value of `.` inside of them, by depth.
const DOTS: [&str; 32] = [
    "\u{2}00", "\u{2}01", "\u{2}02", "\u{2}03", "\u{2}04", "\u{2}05", "\u{2}06", "\u{2}07", "\u{2}08", "\u{2}09", "\u{2}10", "\u{2}11",
    "\u{2}12", "\u{2}13", "\u{2}14", "\u{2}15", "\u{2}16", "\u{2}17", "\u{2}18", "\u{2}19", "\u{2}20", "\u{2}21", "\u{2}22", "\u{2}23",
    "\u{2}24", "\u{2}25", "\u{2}26", "\u{2}27", "\u{2}28", "\u{2}29", "\u{2}30", "\u{2}31",
];

/// The subset, for help.
pub(super) const SUBSET: &str =
    "`templates: go` knows `.path`, `default`, `coalesce`, `toJson`, `index`, `eq`, `ne`, `and`, `or`, `not`, `if`, `range` and `with`";

/// Returns whether an action with a value begins with this word.
pub(super) fn is_word(word: &str) -> bool {
    matches!(word, "if" | "range" | "with") || expression::FUNCTIONS.contains(&word)
}

/// Parses a template.
///
/// # Errors
/// The mistakes inside of actions, and the first one in their nesting.
pub(super) fn parse(source: &str) -> Result<Stmt<'_>, Vec<Mistake>> {
    let mut parser = Parser { source, at: 0, blocks: 0, dots: 0, trim: false, names: Vec::new(), mistakes: Vec::new() };
    let children = match parser.statements(Dot::Root) {
        Ok((children, None)) => children,
        Ok((_, Some(end))) => {
            parser.mistakes.push(Mistake::syntax(end.place, format!("`{}` belongs to no `if`, `range` or `with`", end.word)));
            Vec::new()
        }
        Err(mistake) => {
            parser.mistakes.push(mistake);
            Vec::new()
        }
    };
    if !parser.mistakes.is_empty() {
        parser.mistakes.sort_by_key(|mistake| (mistake.place.start, mistake.place.end));
        return Err(parser.mistakes);
    }
    Ok(Stmt::Template(Spanned::new(ast::Template { children }, span(0..source.len()))))
}

/// The bytes as the tree holds them.
fn span(range: Range<usize>) -> Span {
    Span { start_line: 1, start_col: 0, start_offset: to_u32(range.start), end_line: 1, end_col: 0, end_offset: to_u32(range.end) }
}

struct Parser<'s> {
    source: &'s str,
    at: usize,
    /// Blocks that are open, `else if` included.
    blocks: usize,
    /// `range` and `with` that are open.
    dots: usize,
    /// True if the last action trims the white space after it.
    trim: bool,
    /// The names given by `range`, and the variables of the tree: `$item` is another name for the `.` of its loop.
    names: Vec<(&'s str, &'s str)>,
    /// Mistakes inside of actions; they do not hide those of the following text.
    mistakes: Vec<Mistake>,
}

/// `end` or `else`, which ends the statements before it.
struct End<'s> {
    word: &'s str,
    place: Range<usize>,
    /// The text after `else`: the action of `else if`.
    rest: Option<Range<usize>>,
}

/// An action, without its braces and trim markers.
struct Tag {
    /// Bytes from `{{` to `}}`.
    place: Range<usize>,
    /// Bytes between them.
    inner: Range<usize>,
}

/// A name that `range` declares, with its bytes.
type RangeVariable<'s> = (&'s str, Range<usize>);

type Statements<'s> = (Vec<Stmt<'s>>, Option<End<'s>>);

impl<'s> Parser<'s> {
    /// Statements up to `end`, `else` or the end of the text.
    fn statements(&mut self, dot: Dot) -> Result<Statements<'s>, Mistake> {
        let mut statements = Vec::new();
        loop {
            let (text, tag) = self.next_tag()?;
            if !text.is_empty() {
                statements.push(Stmt::EmitRaw(Spanned::new(ast::EmitRaw { raw: &self.source[text.clone()] }, span(text))));
            }
            let Some(tag) = tag else { return Ok((statements, None)) };
            if self.source[tag.inner.clone()].trim_start().starts_with("/*") {
                continue;
            }
            let mut lexer = GoLexer::new(self.source, tag.inner.clone());
            let (word, place) = match lexer.peek() {
                Ok(Some((GoToken::Word(word), place))) => (*word, place.clone()),
                // A mistake is met again, and remembered, when the expression is read.
                _ => ("", tag.inner.clone()),
            };
            match word {
                "end" | "else" => {
                    lexer.next()?;
                    let rest = lexer.peek()?.map(|(_, next)| next.start..tag.inner.end);
                    if word == "end"
                        && let Some(rest) = rest
                    {
                        return Err(Mistake::syntax(rest, "nothing follows `end`"));
                    }
                    return Ok((statements, Some(End { word, place, rest })));
                }
                "if" => statements.push(self.branch(place.end..tag.inner.end, &place, dot)?),
                "range" => statements.push(self.range(place.end..tag.inner.end, &place, dot)?),
                "with" => statements.push(self.with(place.end..tag.inner.end, &place, dot)?),
                "define" | "template" | "block" | "break" | "continue" => {
                    self.mistakes.push(Mistake::syntax(place, format!("`{word}` is not in the Go subset")).help(SUBSET));
                    if matches!(word, "define" | "block") {
                        // Its `end` belongs to it and to nothing else.
                        self.blocks += 1;
                        self.last_branch(word, &tag.place, dot)?;
                        self.blocks -= 1;
                    }
                }
                _ => {
                    let expr = self.expression(tag.inner.clone(), dot);
                    statements.push(Stmt::EmitExpr(Spanned::new(ast::EmitExpr { expr }, span(tag.place))));
                }
            }
        }
    }

    /// Returns the expression of an action; one with a mistake is recorded and replaced by null.
    fn expression(&mut self, range: Range<usize>, dot: Dot) -> Expr<'s> {
        let place = range.clone();
        GoAction::new(self.source, range, dot, &self.names).whole().unwrap_or_else(|mistake| {
            self.mistakes.push(mistake);
            constant(Dyn::from(()), place)
        })
    }

    /// `if …`, up to its `end`.
    fn branch(&mut self, condition: Range<usize>, opened: &Range<usize>, dot: Dot) -> Result<Stmt<'s>, Mistake> {
        self.open(opened)?;
        let expr = self.expression(condition, dot);
        let (true_body, end) = self.statements(dot)?;
        let false_body = match end.ok_or_else(|| unclosed("if", opened))? {
            End { word: "end", .. } => Vec::new(),
            End { place, rest: Some(rest), .. } => {
                let mut lexer = GoLexer::new(self.source, rest.clone());
                match lexer.next()? {
                    Some((GoToken::Word("if"), word)) => vec![self.branch(word.end..rest.end, &(place.start..word.end), dot)?],
                    _ => return Err(Mistake::syntax(rest, "only `if` may follow `else` here")),
                }
            }
            End { .. } => self.last_branch("if", opened, dot)?,
        };
        self.blocks -= 1;
        Ok(Stmt::IfCond(Spanned::new(ast::IfCond { expr, true_body, false_body }, span(opened.clone()))))
    }

    /// `range …`, also with names: `range $item := …`, `range $index, $item := …`.
    fn range(&mut self, over: Range<usize>, opened: &Range<usize>, dot: Dot) -> Result<Stmt<'s>, Mistake> {
        self.open(opened)?;
        let (declared, over) = self.declared(over);
        let place = over.clone();
        let items = self.expression(over, dot);
        let outside = self.names.len();
        let (name, inside) = self.new_dot(opened)?;
        let (item, index) = match declared.as_slice() {
            [(index, place), (item, _)] => (Some(*item), Some((*index, place.clone()))),
            [(item, _)] => (Some(*item), None),
            _ => (None, None),
        };
        self.names.extend(index.iter().map(|(index, _)| (*index, *index)));
        self.names.extend(item.map(|item| (item, name)));
        let (body, end) = self.statements(inside)?;
        self.names.truncate(outside);
        self.dots -= 1;
        let else_body = self.otherwise("range", opened, end, dot)?;
        let value = expression::variable(name, opened.clone());
        let (hook, target) = match index {
            None => (hook::ITEMS, value),
            Some((index, place)) => {
                let items = vec![expression::variable(index, place), value];
                (hook::PAIRS, Expr::List(Spanned::new(ast::List { items }, span(opened.clone()))))
            }
        };
        let iter = expression::filter(hook, items, Vec::new(), place);
        let lowered = ast::ForLoop { target, iter, filter_expr: None, recursive: false, body, else_body };
        Ok(Stmt::ForLoop(Spanned::new(lowered, span(opened.clone()))))
    }

    /// The names before `:=`, and the bytes behind it.
    fn declared(&self, over: Range<usize>) -> (Vec<RangeVariable<'s>>, Range<usize>) {
        let mut lexer = GoLexer::new(self.source, over.clone());
        let mut names = Vec::new();
        while let Ok(Some((GoToken::Variable(name), place))) = lexer.next() {
            names.push((name, place));
            match lexer.next() {
                Ok(Some((GoToken::Comma, _))) => {}
                Ok(Some((GoToken::Declare, place))) if names.len() <= 2 => return (names, place.end..over.end),
                _ => break,
            }
        }
        (Vec::new(), over)
    }

    fn with(&mut self, value: Range<usize>, opened: &Range<usize>, dot: Dot) -> Result<Stmt<'s>, Mistake> {
        self.open(opened)?;
        let value = self.expression(value, dot);
        let (name, inside) = self.new_dot(opened)?;
        let (true_body, end) = self.statements(inside)?;
        self.dots -= 1;
        let false_body = self.otherwise("with", opened, end, dot)?;
        let place = span(opened.clone());
        let condition = ast::IfCond { expr: expression::variable(name, opened.clone()), true_body, false_body };
        let assignments = vec![(expression::variable(name, opened.clone()), value)];
        Ok(Stmt::WithBlock(Spanned::new(ast::WithBlock { assignments, body: vec![Stmt::IfCond(Spanned::new(condition, place))] }, place)))
    }

    /// Parses the `else` of `range` or `with`, where `.` has its outer meaning.
    fn otherwise(&mut self, block: &str, opened: &Range<usize>, end: Option<End<'s>>, dot: Dot) -> Result<Vec<Stmt<'s>>, Mistake> {
        let body = match end.ok_or_else(|| unclosed(block, opened))? {
            End { word: "end", .. } => Vec::new(),
            End { rest: Some(rest), .. } => return Err(Mistake::syntax(rest, format!("nothing may follow the `else` of `{block}`"))),
            End { .. } => self.last_branch(block, opened, dot)?,
        };
        self.blocks -= 1;
        Ok(body)
    }

    /// Parses the statements between a plain `else` and `end`.
    fn last_branch(&mut self, block: &str, opened: &Range<usize>, dot: Dot) -> Result<Vec<Stmt<'s>>, Mistake> {
        let (body, end) = self.statements(dot)?;
        match end.ok_or_else(|| unclosed(block, opened))? {
            End { word: "end", .. } => Ok(body),
            End { place, .. } => Err(Mistake::syntax(place, format!("this `{block}` already has an `else`"))),
        }
    }

    fn open(&mut self, place: &Range<usize>) -> Result<(), Mistake> {
        self.blocks += 1;
        if self.blocks > MAX_NESTING {
            return Err(Mistake::syntax(place.clone(), format!("this nests deeper than {MAX_NESTING} levels")));
        }
        Ok(())
    }

    fn new_dot(&mut self, place: &Range<usize>) -> Result<(&'static str, Dot), Mistake> {
        let name = DOTS
            .get(self.dots)
            .ok_or_else(|| Mistake::syntax(place.clone(), format!("`range` and `with` nest deeper than {} levels", DOTS.len())))?;
        self.dots += 1;
        Ok((name, Dot::Named(name)))
    }

    /// The text before the next action, and the action.
    fn next_tag(&mut self) -> Result<(Range<usize>, Option<Tag>), Mistake> {
        let start = if std::mem::take(&mut self.trim) { self.source.len() - self.source[self.at..].trim_start().len() } else { self.at };
        let Some(open) = self.source[start..].find("{{").map(|found| start + found) else {
            self.at = self.source.len();
            return Ok((start..self.at, None));
        };
        let mut inner = open + 2;
        let mut text = start..open;
        let mut marker = self.source[inner..].chars();
        if marker.next() == Some('-') && marker.next().is_some_and(char::is_whitespace) {
            inner += 1;
            text.end = start + self.source[text.clone()].trim_end().len();
        }
        let close = lexer::close(self.source, inner).ok_or_else(|| Mistake::syntax(open..open + 2, "this `{{` has no `}}`"))?;
        self.at = close + 2;
        let body = &self.source[inner..close];
        let trims = body.strip_suffix('-').is_some_and(|rest| rest.ends_with(char::is_whitespace));
        self.trim = trims;
        Ok((text, Some(Tag { place: open..close + 2, inner: inner..close - usize::from(trims) })))
    }
}

fn unclosed(block: &str, opened: &Range<usize>) -> Mistake {
    Mistake::syntax(opened.clone(), format!("this `{block}` has no `{{{{ end }}}}`"))
}

/// A constant of the tree.
fn constant<'s>(value: Dyn, place: Range<usize>) -> Expr<'s> {
    Expr::Const(Spanned::new(ast::Const { value }, span(place)))
}
