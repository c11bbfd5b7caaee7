//! The inside of an action: pipelines of fields, constants and the functions of the subset.

use std::ops::Range;

use minijinja::{
    machinery::ast::{self, BinOpKind, CallArg, Expr, Spanned, UnaryOpKind},
    value::Value as Dyn,
};

use super::{
    super::{Mistake, bridge::LOOP_KEY, secret::is_masked},
    SUBSET, constant,
    lexer::{GoLexer, GoToken},
    span,
};
use crate::diagnostic::did_you_mean;

/// The meaning of `.`.
#[derive(Clone, Copy)]
pub(super) enum Dot {
    /// The whole context.
    Root,
    /// The value that a `range` or `with` named.
    Named(&'static str),
}

/// Parts of one action; nesting is bounded by it, since every level is a part.
const MAX_PARTS: usize = 200;

/// The functions of the subset.
pub(super) const FUNCTIONS: [&str; 9] = ["default", "coalesce", "toJson", "index", "eq", "ne", "and", "or", "not"];

/// One action that is read.
pub(super) struct GoAction<'s, 'p> {
    lexer: GoLexer<'s>,
    dot: Dot,
    /// The names given by `range`, and the variables of the tree.
    names: &'p [(&'s str, &'s str)],
    parts: usize,
}

impl<'s, 'p> GoAction<'s, 'p> {
    pub(super) fn new(source: &'s str, range: Range<usize>, dot: Dot, names: &'p [(&'s str, &'s str)]) -> Self {
        Self { lexer: GoLexer::new(source, range), dot, names, parts: 0 }
    }

    /// The whole action as one value.
    pub(super) fn whole(mut self) -> Result<Expr<'s>, Mistake> {
        let value = self.pipeline()?;
        match self.lexer.next()? {
            None => Ok(value),
            Some((_, place)) => Err(Mistake::syntax(place, "this `)` was not opened")),
        }
    }

    /// `a | f x | g`: each value becomes the last argument of the function after it.
    fn pipeline(&mut self) -> Result<Expr<'s>, Mistake> {
        let mut value = self.command(None)?;
        while let Some((GoToken::Pipe, _)) = self.lexer.peek()? {
            self.lexer.next()?;
            value = self.command(Some(value))?;
        }
        Ok(value)
    }

    fn command(&mut self, piped: Option<Expr<'s>>) -> Result<Expr<'s>, Mistake> {
        if let Some((GoToken::Word(word), place)) = self.lexer.peek()? {
            let (word, place) = (*word, place.clone());
            if !matches!(word, "true" | "false" | "nil") && !is_masked(word) {
                self.lexer.next()?;
                return self.function(word, place, piped);
            }
        }
        let value = self.operand()?;
        let extra = match self.lexer.peek()? {
            None | Some((GoToken::Pipe | GoToken::Close, _)) => piped.map(|_| extent(&value)),
            Some((_, place)) => Some(place.clone()),
        };
        match extra {
            None => Ok(value),
            Some(place) => Err(Mistake::syntax(place, "only a function takes arguments").help(SUBSET)),
        }
    }

    fn function(&mut self, name: &str, place: Range<usize>, piped: Option<Expr<'s>>) -> Result<Expr<'s>, Mistake> {
        self.part(&place)?;
        if !FUNCTIONS.contains(&name) {
            let bare = piped.is_none() && matches!(self.lexer.peek()?, None | Some((GoToken::Pipe | GoToken::Close, _)));
            let help = match did_you_mean(name, FUNCTIONS).filter(|_| !bare && name.len() > 3) {
                Some(help) => help,
                None if bare => format!("write `.{name}` for the value of a key"),
                None => SUBSET.to_owned(),
            };
            return Err(Mistake::syntax(place, format!("`{name}` is not in the Go subset")).help(help));
        }
        let mut args = Vec::new();
        while !matches!(self.lexer.peek()?, None | Some((GoToken::Pipe | GoToken::Close, _))) {
            args.push(self.operand()?);
        }
        args.extend(piped);
        let whole = place.start..args.last().map_or(place.end, |last| extent(last).end.max(place.end));
        let count = args.len();
        let wrong = |wanted: &str| Err(Mistake::syntax(place.clone(), format!("`{name}` takes {wanted}, not {count}")));
        let mut args = args.into_iter();
        match (name, count) {
            ("default", 2) => match (args.next(), args.next()) {
                (Some(otherwise), Some(value)) => Ok(or_else(value, otherwise, whole)),
                _ => wrong("a default and a value"),
            },
            ("coalesce", 1..) => {
                Ok(args.rev().reduce(|rest, value| or_else(value, rest, whole.clone())).unwrap_or_else(|| constant(Dyn::from(()), whole)))
            }
            ("toJson", 1) => args.next().map_or_else(|| wrong("one value"), |value| Ok(filter("tojson", value, Vec::new(), whole))),
            ("not", 1) => args.next().map_or_else(
                || wrong("one value"),
                |expr| Ok(Expr::UnaryOp(Spanned::new(ast::UnaryOp { op: UnaryOpKind::Not, expr }, span(whole)))),
            ),
            ("index", 2..) => Ok(args.reduce(|value, key| item(value, key, &whole)).unwrap_or_else(|| constant(Dyn::from(()), place))),
            ("and", 1..) => Ok(chain(BinOpKind::ScAnd, args, whole)),
            ("or", 1..) => Ok(chain(BinOpKind::ScOr, args, whole)),
            ("ne", 2) => Ok(chain(BinOpKind::Ne, args, whole)),
            ("eq", 2) => Ok(chain(BinOpKind::Eq, args, whole)),
            // `eq a b c`: whether `a` is one of the others.
            ("eq", 3..) => {
                let first = args.next().unwrap_or_else(|| constant(Dyn::from(()), place));
                let others = Expr::List(Spanned::new(ast::List { items: args.collect() }, span(whole.clone())));
                Ok(binary(BinOpKind::In, first, others, whole))
            }
            ("default", _) => wrong("a default and a value"),
            ("toJson" | "not", _) => wrong("one value"),
            ("and" | "or" | "coalesce", _) => wrong("at least one value"),
            ("index", _) => wrong("a value and its keys"),
            _ => wrong("two values"),
        }
    }

    /// A field, a constant, or a pipeline in parentheses, each with fields behind it.
    fn operand(&mut self) -> Result<Expr<'s>, Mistake> {
        let end = self.lexer.end();
        let Some((token, place)) = self.lexer.next()? else {
            return Err(Mistake::syntax(end, "a value is missing here").help(SUBSET));
        };
        self.part(&place)?;
        let mut end = place.end;
        let value = match token {
            GoToken::Field(name) => match self.dot {
                Dot::Root => variable(name, place.clone()),
                Dot::Named(dot) => field(variable(dot, place.start..place.start + 1), name, place.clone()),
            },
            GoToken::Dot => match self.dot {
                Dot::Root => return Err(Mistake::syntax(place, "`.` alone is the whole context: name a key, `.key`")),
                Dot::Named(dot) => return Ok(variable(dot, place)),
            },
            GoToken::Root => match self.lexer.next()? {
                Some((GoToken::Field(name), next)) if next.start == place.end => {
                    end = next.end;
                    let is_shadowed = name == "loop" && matches!(self.dot, Dot::Named(_));
                    variable(if is_shadowed { LOOP_KEY } else { name }, place.start..next.end)
                }
                _ => return Err(Mistake::syntax(place, "`$` alone is the whole context: name a key, `$.key`")),
            },
            GoToken::Variable(name) => match self.names.iter().rev().find(|(known, _)| *known == name) {
                Some((_, variable)) => self::variable(variable, place.clone()),
                None => {
                    let mistake = Mistake::syntax(place, format!("`{name}` is not declared"));
                    return Err(mistake.help("`range $index, $item := .list` declares names; `$` is the whole context"));
                }
            },
            GoToken::Open => {
                let value = self.pipeline()?;
                match self.lexer.next()? {
                    Some((GoToken::Close, close)) => {
                        end = close.end;
                        value
                    }
                    _ => return Err(Mistake::syntax(place, "this `(` is not closed")),
                }
            }
            GoToken::Word("true") => return Ok(constant(Dyn::from(true), place)),
            GoToken::Word("false") => return Ok(constant(Dyn::from(false), place)),
            GoToken::Word("nil") => return Ok(constant(Dyn::from(()), place)),
            GoToken::Word(word) if is_masked(word) => return Ok(variable(word, place)),
            GoToken::Word(word) => {
                let help = if FUNCTIONS.contains(&word) {
                    format!("put it in parentheses: `({word} …)`")
                } else {
                    format!("write `.{word}` for the value of a key")
                };
                return Err(Mistake::syntax(place, format!("`{word}` is no value")).help(help));
            }
            GoToken::Text(text) => return Ok(constant(Dyn::from(text), place)),
            GoToken::Int(number) => return Ok(constant(Dyn::from(number), place)),
            GoToken::UInt(number) => return Ok(constant(Dyn::from(number), place)),
            GoToken::Float(number) => return Ok(constant(Dyn::from(number), place)),
            GoToken::Comma | GoToken::Declare => return Err(Mistake::syntax(place, "names are declared by `range` only").help(SUBSET)),
            GoToken::Close | GoToken::Pipe => return Err(Mistake::syntax(place, "a value is missing here").help(SUBSET)),
        };
        self.fields(value, place.start..end)
    }

    /// `.b.c` directly behind a value.
    fn fields(&mut self, mut value: Expr<'s>, mut place: Range<usize>) -> Result<Expr<'s>, Mistake> {
        loop {
            match self.lexer.peek()? {
                Some((GoToken::Field(name), next)) if next.start == place.end => {
                    let name = *name;
                    place.end = next.end;
                    self.lexer.next()?;
                    self.part(&place)?;
                    value = field(value, name, place.clone());
                }
                _ => return Ok(value),
            }
        }
    }

    fn part(&mut self, place: &Range<usize>) -> Result<(), Mistake> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Mistake::syntax(place.clone(), format!("this action has more than {MAX_PARTS} parts")));
        }
        Ok(())
    }
}

/// A variable of the tree.
pub(super) fn variable<'s>(id: &'s str, place: Range<usize>) -> Expr<'s> {
    Expr::Var(Spanned::new(ast::Var { id }, span(place)))
}

/// A filter of the tree.
pub(super) fn filter<'s>(name: &'s str, input: Expr<'s>, args: Vec<Expr<'s>>, place: Range<usize>) -> Expr<'s> {
    let args = args.into_iter().map(CallArg::Pos).collect();
    Expr::Filter(Spanned::new(ast::Filter { name, expr: Some(input), args }, span(place)))
}

/// Go's `default`: also where the value counts as false.
fn or_else<'s>(value: Expr<'s>, otherwise: Expr<'s>, place: Range<usize>) -> Expr<'s> {
    let lax = constant(Dyn::from(true), place.clone());
    filter("default", value, vec![otherwise, lax], place)
}

fn field<'s>(expr: Expr<'s>, name: &'s str, place: Range<usize>) -> Expr<'s> {
    Expr::GetAttr(Spanned::new(ast::GetAttr { expr, name }, span(place)))
}

fn item<'s>(expr: Expr<'s>, subscript_expr: Expr<'s>, place: &Range<usize>) -> Expr<'s> {
    Expr::GetItem(Spanned::new(ast::GetItem { expr, subscript_expr }, span(place.clone())))
}

fn binary<'s>(op: BinOpKind, left: Expr<'s>, right: Expr<'s>, place: Range<usize>) -> Expr<'s> {
    Expr::BinOp(Spanned::new(ast::BinOp { op, left, right }, span(place)))
}

fn chain<'s>(op: BinOpKind, args: impl Iterator<Item = Expr<'s>>, place: Range<usize>) -> Expr<'s> {
    args.reduce(|left, right| binary(op, left, right, place.clone())).unwrap_or_else(|| constant(Dyn::from(()), place))
}

fn extent(tree: &Expr<'_>) -> Range<usize> {
    let span = tree.span();
    span.start_offset as usize..span.end_offset as usize
}
