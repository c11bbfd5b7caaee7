//! The tags of the result, written in the order of the actions that they come from.

use std::{collections::BTreeMap, ops::Range};

use minijinja::machinery::{
    Span,
    ast::{Expr, ForLoop, Stmt},
};

use super::{
    super::{Parser, Tag},
    Problem,
    expression::{ConvertedBinding, Printer},
    names::FreshNames,
};
use crate::template::lower::is_secret;

/// The result, with where its tags come from.
pub(super) struct ConvertedText {
    pub(super) text: String,
    /// The first byte of each tag in the result, and the bytes of its action.
    origins: Vec<(usize, Range<usize>)>,
}

impl ConvertedText {
    /// The bytes of the action that the tag at `at` comes from.
    pub(super) fn origin(&self, at: usize) -> Range<usize> {
        let before = self.origins.partition_point(|(start, _)| *start <= at);
        before.checked_sub(1).and_then(|last| self.origins.get(last)).map_or(0..0, |(_, action)| action.clone())
    }
}

/// An action as the tree holds it.
#[derive(Clone, Copy)]
enum ConvertedAction<'t, 's> {
    Print(&'t Expr<'s>),
    If(&'t Expr<'s>),
    Range(&'t ForLoop<'s>),
    /// The name of its dot, and its value.
    With(&'s str, &'t Expr<'s>),
}

/// A block that is open.
struct ConvertedBlock {
    /// The number of names before it.
    outside: usize,
    is_loop: bool,
    close: &'static str,
}

/// The state of one conversion.
pub(super) struct Writer<'t, 's> {
    /// The author's text, secrets included.
    text: &'t str,
    /// The source with masked secrets.
    source: &'s str,
    /// The actions of the tree by the byte of their first word, or of their `{{`.
    actions: BTreeMap<usize, ConvertedAction<'t, 's>>,
    names: FreshNames<'s>,
    blocks: Vec<ConvertedBlock>,
    out: ConvertedText,
    problems: Vec<Problem>,
}

impl<'t, 's> Writer<'t, 's> {
    pub(super) fn new(text: &'t str, source: &'s str, tree: &'t Stmt<'s>) -> Self {
        let mut actions = BTreeMap::new();
        gather(tree, &mut actions);
        let out = ConvertedText { text: String::with_capacity(text.len()), origins: Vec::new() };
        Self { text, source, actions, names: FreshNames::new(tree), blocks: Vec::new(), out, problems: Vec::new() }
    }

    /// The result.
    pub(super) fn write(mut self) -> Result<ConvertedText, Vec<Problem>> {
        let mut parser = Parser { source: self.source, at: 0, blocks: 0, dots: 0, trim: false, names: Vec::new(), mistakes: Vec::new() };
        let mut from = 0;
        while let (_, Some(tag)) = parser.next_tag().map_err(|mistake| vec![mistake.into()])? {
            self.between(from..tag.place.start);
            self.out.origins.push((self.out.text.len(), tag.place.clone()));
            match self.tag(&parser, &tag) {
                Ok(written) => self.out.text.push_str(&written),
                Err(problem) => self.problems.push(problem),
            }
            from = tag.place.end;
        }
        self.between(from..self.source.len());
        if self.problems.is_empty() { Ok(self.out) } else { Err(self.problems) }
    }

    /// Writes text between actions; marks that Jinja would read as tags are printed by expressions.
    fn between(&mut self, place: Range<usize>) {
        let mut rest = &self.text[place];
        while let Some(at) = ["{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
            let (before, mark) = (&rest[..at], &rest[at..at + 2]);
            self.out.text.push_str(before);
            self.out.text.push_str(&format!("{{{{ \"{mark}\" }}}}"));
            rest = &rest[at + 2..];
        }
        self.out.text.push_str(rest);
    }

    fn tag(&mut self, parser: &Parser<'s>, tag: &Tag) -> Result<String, Problem> {
        let (place, inner) = (&tag.place, &tag.inner);
        let left = if inner.start > place.start + 2 { "-" } else { "" };
        let right = if inner.end + 2 < place.end { "-" } else { "" };
        let statement = |words: &str| format!("{{%{left} {words} {right}%}}");
        let body = &self.source[inner.clone()];
        if let Some(comment) = body.trim_start().strip_prefix("/*") {
            let comment = comment.split_once("*/").map_or(comment, |(comment, _)| comment).replace("#}", "# }");
            let space = |is_there: bool| if is_there { "" } else { " " };
            let (before, after) = (space(comment.starts_with(char::is_whitespace)), space(comment.ends_with(char::is_whitespace)));
            return Ok(format!("{{#{left}{before}{comment}{after}{right}#}}"));
        }
        let word = inner.end - body.trim_start().len();
        let action = self.actions.get(&word).or_else(|| self.actions.get(&place.start)).copied();
        match action {
            Some(ConvertedAction::Print(value)) if is_secret(value) => Ok(self.text[place.clone()].to_owned()),
            Some(ConvertedAction::Print(value)) => Ok(format!("{{{{{left} {} {right}}}}}", self.print(value)?)),
            Some(ConvertedAction::If(condition)) => {
                let is_first = self.source[word..].starts_with("if");
                if is_first {
                    self.open(false, "{% endif %}");
                }
                let condition = self.print(condition)?;
                Ok(statement(&format!("{} {condition}", if is_first { "if" } else { "elif" })))
            }
            Some(ConvertedAction::Range(node)) => {
                let over = self.print(&node.iter);
                self.open(true, "{% endfor %}");
                let names = self.targets(node, parser.declared(word + "range".len()..inner.end).0.last().map(|(name, _)| *name));
                Ok(statement(&format!("for {names} in {}", over?)))
            }
            Some(ConvertedAction::With(dot, value)) if is_path(value) => {
                let path = self.print(value);
                self.open(false, "{% endif %}");
                self.names.stand(dot, path.clone().unwrap_or_default());
                Ok(statement(&format!("if {}", path?)))
            }
            Some(ConvertedAction::With(dot, value)) => {
                let value = self.print(value);
                self.open(false, "{% endif %}{% endwith %}");
                let name = self.names.name(dot, "value");
                Ok(format!("{{%{left} with {name} = {} %}}{{% if {name} {right}%}}", value?))
            }
            None => Ok(self.ends(word, left, right)),
        }
    }

    /// `else` and `end`.
    fn ends(&mut self, word: usize, left: &str, right: &str) -> String {
        let is_else = self.source[word..].starts_with("else");
        let Some(block) = self.blocks.last_mut() else { return String::new() };
        self.names.forget(block.outside);
        block.is_loop = false;
        if is_else {
            return format!("{{%{left} else {right}%}}");
        }
        let close = block.close;
        self.blocks.pop();
        // The markers belong to the outer sides.
        format!("{{%{left}{}{right}%}}", close.trim_start_matches("{%").trim_end_matches("%}"))
    }

    fn open(&mut self, is_loop: bool, close: &'static str) {
        self.blocks.push(ConvertedBlock { outside: self.names.len(), is_loop, close });
    }

    /// The names before `in`.
    fn targets(&mut self, node: &ForLoop<'s>, item: Option<&str>) -> String {
        let item = item.map_or("item", |name| name.trim_start_matches('$'));
        match &node.target {
            Expr::List(list) => {
                let mut names = Vec::new();
                for (target, wanted) in list.items.iter().zip([None, Some(item)]) {
                    if let Expr::Var(target) = target {
                        names.push(self.names.name(target.id, wanted.unwrap_or(target.id.trim_start_matches('$'))));
                    }
                }
                names.join(", ")
            }
            Expr::Var(target) => self.names.name(target.id, item),
            _ => String::new(),
        }
    }

    fn print(&self, tree: &Expr<'_>) -> Result<String, Problem> {
        let looped = self.blocks.iter().any(|block| block.is_loop);
        let hides_marks = !self.source.contains("{#") && !self.source.contains("/*");
        Printer { source: self.source, names: &self.names, looped, hides_marks }.print(tree, ConvertedBinding::Or)
    }
}

/// Returns true if the value is at a place in the context, so that its path may be written wherever it is used.
pub(super) fn is_path(tree: &Expr<'_>) -> bool {
    match tree {
        Expr::Var(_) => true,
        Expr::GetAttr(node) => is_path(&node.expr),
        Expr::GetItem(node) => is_path(&node.expr) && matches!(node.subscript_expr, Expr::Const(_)),
        _ => false,
    }
}

fn gather<'t, 's>(tree: &'t Stmt<'s>, actions: &mut BTreeMap<usize, ConvertedAction<'t, 's>>) {
    let start = |span: Span| span.start_offset as usize;
    match tree {
        Stmt::Template(node) => node.children.iter().for_each(|child| gather(child, actions)),
        Stmt::EmitExpr(node) => {
            actions.insert(start(node.span()), ConvertedAction::Print(&node.expr));
        }
        Stmt::IfCond(node) => {
            actions.insert(start(node.span()), ConvertedAction::If(&node.expr));
            node.true_body.iter().chain(&node.false_body).for_each(|child| gather(child, actions));
        }
        Stmt::ForLoop(node) => {
            actions.insert(start(node.span()), ConvertedAction::Range(node));
            node.body.iter().chain(&node.else_body).for_each(|child| gather(child, actions));
        }
        Stmt::WithBlock(node) => {
            if let [(Expr::Var(dot), value)] = node.assignments.as_slice()
                && let [Stmt::IfCond(inside)] = node.body.as_slice()
            {
                actions.insert(start(node.span()), ConvertedAction::With(dot.id, value));
                inside.true_body.iter().chain(&inside.false_body).for_each(|child| gather(child, actions));
            }
        }
        _ => {}
    }
}
