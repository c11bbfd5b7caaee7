//! The statements of a `compute` file: nothing is printed, entries are set in namespaces only, and something sets `result`.

use std::{collections::BTreeSet, ops::Range};

use minijinja::machinery::ast::{Expr, Stmt};

use super::{
    super::{
        builtins::{OUTCOMES, is_namespace},
        lower::extent,
    },
    Mistake,
};

/// Checks the statements of a file.
///
/// # Errors
/// Printed text, an entry of a value that is no namespace, no `result`.
pub(super) fn check<'s>(tree: &Stmt<'s>, text: &'s str) -> Result<(), Vec<Mistake>> {
    let mut checker = OutcomeChecker { text, namespaces: BTreeSet::new(), sets: Vec::new(), mistakes: Vec::new() };
    checker.collect(tree);
    checker.statement(tree, StatementPlace { is_top: true, is_captured: false });
    if !checker.sets.contains(&true) {
        let missing = "nothing at the top of this file sets `result` or `error`";
        let help = if checker.sets.is_empty() {
            "add `{% set result = … %}`"
        } else {
            "what a loop or `with` sets is gone after it: keep it in a `namespace`, and set `result` from that at the end"
        };
        checker.mistakes.push(Mistake::syntax(0..0, missing).help(help));
    }
    checker.mistakes.sort_by_key(|mistake| (mistake.place.start, mistake.place.end));
    if checker.mistakes.is_empty() { Ok(()) } else { Err(checker.mistakes) }
}

struct OutcomeChecker<'s> {
    text: &'s str,
    namespaces: BTreeSet<&'s str>,
    /// For each statement that sets an outcome, whether it is at the top.
    sets: Vec<bool>,
    mistakes: Vec<Mistake>,
}

/// The surroundings of a statement.
#[derive(Clone, Copy)]
struct StatementPlace {
    /// No loop and no `with`: names that are set stay.
    is_top: bool,
    /// A `set` that captures printed text.
    is_captured: bool,
}

impl<'s> OutcomeChecker<'s> {
    /// Collects the names of namespaces.
    fn collect(&mut self, tree: &Stmt<'s>) {
        match tree {
            Stmt::Set(node) => {
                if let (Expr::Var(name), Expr::Call(call)) = (&node.target, &node.expr)
                    && is_namespace(call)
                {
                    self.namespaces.insert(name.id);
                }
            }
            Stmt::Template(node) => node.children.iter().for_each(|tree| self.collect(tree)),
            Stmt::ForLoop(node) => node.body.iter().chain(&node.else_body).for_each(|tree| self.collect(tree)),
            Stmt::IfCond(node) => node.true_body.iter().chain(&node.false_body).for_each(|tree| self.collect(tree)),
            Stmt::WithBlock(node) => node.body.iter().for_each(|tree| self.collect(tree)),
            Stmt::SetBlock(node) => node.body.iter().for_each(|tree| self.collect(tree)),
            Stmt::FilterBlock(node) => node.body.iter().for_each(|tree| self.collect(tree)),
            Stmt::EmitRaw(_) | Stmt::EmitExpr(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
        }
    }

    fn statements(&mut self, trees: &[Stmt<'s>], place: StatementPlace) {
        trees.iter().for_each(|tree| self.statement(tree, place));
    }

    fn statement(&mut self, tree: &Stmt<'s>, place: StatementPlace) {
        let inside = StatementPlace { is_top: false, ..place };
        match tree {
            Stmt::Template(node) => self.statements(&node.children, place),
            Stmt::EmitRaw(node) if !place.is_captured && !node.raw.trim().is_empty() => {
                let start = node.raw.as_ptr() as usize - self.text.as_ptr() as usize;
                let blanks = node.raw.len() - node.raw.trim_start().len();
                let line = node.raw.trim().lines().next().unwrap_or_default().trim_end();
                self.prints(start + blanks..start + blanks + line.len());
            }
            Stmt::EmitExpr(node) if !place.is_captured => self.prints(bytes(&node.expr)),
            Stmt::FilterBlock(node) if !place.is_captured => self.prints(bytes(&node.filter)),
            Stmt::FilterBlock(node) => self.statements(&node.body, place),
            Stmt::ForLoop(node) => {
                self.statements(&node.body, inside);
                self.statements(&node.else_body, place);
            }
            Stmt::IfCond(node) => {
                self.statements(&node.true_body, place);
                self.statements(&node.false_body, place);
            }
            Stmt::WithBlock(node) => self.statements(&node.body, inside),
            Stmt::Set(node) => self.target(&node.target, place),
            Stmt::SetBlock(node) => {
                self.target(&node.target, place);
                self.statements(&node.body, StatementPlace { is_captured: true, ..place });
            }
            Stmt::EmitRaw(_) | Stmt::EmitExpr(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
        }
    }

    /// Checks the target of an assignment: a name, or an entry.
    fn target(&mut self, target: &Expr<'s>, place: StatementPlace) {
        match target {
            Expr::Var(name) => self.sets.extend(OUTCOMES.contains(&name.id).then_some(place.is_top)),
            Expr::List(node) => node.items.iter().for_each(|item| self.target(item, place)),
            Expr::GetAttr(node) => {
                if let Expr::Var(name) = &node.expr
                    && !self.namespaces.contains(name.id)
                {
                    let made = format!("`{{% set {} = namespace() %}}` makes one; a mapping gets entries by `merge`", name.id);
                    self.mistakes.push(Mistake::syntax(bytes(target), format!("`{}` is no namespace", name.id)).help(made));
                }
            }
            _ => {}
        }
    }

    fn prints(&mut self, place: Range<usize>) {
        let help = "give it a name: `{% set result = … %}`; a note stands in `{# … #}`";
        self.mistakes.push(Mistake::syntax(place, "this would be printed, and a `compute` file prints nothing").help(help));
    }
}

fn bytes(tree: &Expr<'_>) -> Range<usize> {
    let span = extent(tree);
    span.start_offset as usize..span.end_offset as usize
}
