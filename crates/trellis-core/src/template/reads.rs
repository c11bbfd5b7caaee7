//! What rendering a template certainly uses: the paths that must be set whatever way it takes.
//!
//! It reads the tree that runs, in which every use carries [`hook::USE`] or [`hook::COMPARE`]; what stands in a branch, in a loop's body or behind a
//! guard is no certain use.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};

use super::machine::hook;
use crate::path::{KeyPath, Segment};

/// The paths that a template certainly uses, in order; names that it sets itself are none.
pub(super) fn of_template(tree: &Stmt<'_>) -> Vec<KeyPath> {
    let mut reads = Reads::default();
    reads.statement(tree);
    reads.paths
}

/// The paths that an expression certainly uses.
pub(super) fn of_expression(tree: &Expr<'_>, optional: bool) -> Vec<KeyPath> {
    let mut reads = Reads::default();
    match path(tree) {
        Some(path) if !optional => reads.add(path),
        _ => reads.expression(tree),
    }
    reads.paths
}

#[derive(Default)]
struct Reads<'s> {
    paths: Vec<KeyPath>,
    /// Names that the template gives values to.
    local: Vec<&'s str>,
}

impl<'s> Reads<'s> {
    fn add(&mut self, path: KeyPath) {
        if !self.local.contains(&&**path.root()) && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn statement(&mut self, tree: &Stmt<'s>) {
        match tree {
            Stmt::Template(node) => node.children.iter().for_each(|child| self.statement(child)),
            Stmt::EmitExpr(node) => self.expression(&node.expr),
            Stmt::ForLoop(node) => self.expression(&node.iter),
            Stmt::IfCond(node) => self.expression(&node.expr),
            Stmt::WithBlock(node) => {
                let outside = self.local.len();
                for (target, value) in &node.assignments {
                    self.expression(value);
                    self.named(target);
                }
                node.body.iter().for_each(|child| self.statement(child));
                self.local.truncate(outside);
            }
            Stmt::Set(node) => {
                self.expression(&node.expr);
                self.named(&node.target);
            }
            Stmt::SetBlock(node) => {
                node.body.iter().for_each(|child| self.statement(child));
                self.named(&node.target);
            }
            Stmt::FilterBlock(node) => node.body.iter().for_each(|child| self.statement(child)),
            Stmt::EmitRaw(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
        }
    }

    fn named(&mut self, target: &Expr<'s>) {
        match target {
            Expr::Var(node) => self.local.push(node.id),
            Expr::List(node) => node.items.iter().for_each(|item| self.named(item)),
            _ => {}
        }
    }

    fn expression(&mut self, tree: &Expr<'s>) {
        match tree {
            Expr::Filter(node) => {
                let used = matches!(node.name, hook::USE | hook::COMPARE);
                match node.expr.as_ref().and_then(path).filter(|_| used) {
                    Some(path) => self.add(path),
                    None => node.expr.iter().for_each(|inner| self.expression(inner)),
                }
                // What `default` falls back to is used only when it is the result.
                if !matches!(node.name, "default" | "d") {
                    self.arguments(&node.args);
                }
            }
            Expr::GetAttr(node) => self.expression(&node.expr),
            Expr::GetItem(node) => {
                self.expression(&node.expr);
                self.expression(&node.subscript_expr);
            }
            Expr::UnaryOp(node) => self.expression(&node.expr),
            Expr::BinOp(node) => {
                self.expression(&node.left);
                if !matches!(node.op, BinOpKind::ScAnd | BinOpKind::ScOr) {
                    self.expression(&node.right);
                }
            }
            Expr::Compare(node) => {
                self.expression(&node.expr);
                node.ops.iter().for_each(|op| self.expression(&op.expr));
            }
            Expr::IfExpr(node) => self.expression(&node.test_expr),
            Expr::Test(node) => {
                self.expression(&node.expr);
                self.arguments(&node.args);
            }
            Expr::Call(node) => self.arguments(&node.args),
            Expr::List(node) => node.items.iter().for_each(|item| self.expression(item)),
            Expr::Tuple(node) => node.items.iter().for_each(|item| self.expression(item)),
            Expr::Map(node) => node.keys.iter().chain(&node.values).for_each(|item| self.expression(item)),
            Expr::Var(_) | Expr::Const(_) | Expr::Slice(_) => {}
        }
    }

    fn arguments(&mut self, args: &[CallArg<'s>]) {
        for arg in args {
            let (CallArg::Pos(value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) | CallArg::Kwarg(_, value)) = arg;
            self.expression(value);
        }
    }
}

/// The path that an expression is, if it is one: names only.
fn path(tree: &Expr<'_>) -> Option<KeyPath> {
    fn segments(tree: &Expr<'_>, out: &mut Vec<Segment>) -> Option<()> {
        match tree {
            Expr::Var(node) => out.push(Segment::Key(node.id.into())),
            Expr::GetAttr(node) => {
                segments(&node.expr, out)?;
                out.push(Segment::Key(node.name.into()));
            }
            _ => return None,
        }
        Some(())
    }
    let mut out = Vec::new();
    segments(tree, &mut out)?;
    KeyPath::new(out)
}

#[cfg(test)]
mod tests {
    use crate::{
        diagnostic::Report,
        span::SourceMap,
        template::{Dialect, Shape, Template},
    };

    fn reads(text: &str) -> String {
        let template = Template::parse(text, &SourceMap::Slice(0), Dialect::Jinja, &mut Report::new(&"x.md".into()));
        template.reads().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_use_on_every_way_is_certain() {
        assert_eq!(reads("{{ a }} {{ b.c }} {{ a }}"), "a b.c");
        assert_eq!(reads("{{ a | upper }} {{ b + c.d }} {{ e[f] }}"), "a b c.d f");
        assert_eq!(reads("{% for x in xs %}{{ x }}{{ y }}{% endfor %}"), "xs");
        assert_eq!(reads("{% if a == 1 %}{{ b }}{% endif %}"), "a");
        assert_eq!(reads("{% set n = a | length %}{{ n }}{{ b }}"), "a b");
        assert_eq!(reads("{{ 'x' if a > 1 else b }}"), "a");
    }

    #[test]
    fn a_guarded_use_is_none() {
        assert_eq!(reads("{{ a | default('x') }} {{ b | optional }} {{ c is defined }}{% if d %}{{ d }}{% endif %}"), "");
        assert_eq!(reads("{{ a.b.c | default(d) }}"), "");
        assert_eq!(reads("plain"), "");
    }

    #[test]
    fn shapes_read_what_their_parts_read() {
        let mut report = Report::new(&"x.md".into());
        let shape = |text: &str, report: &mut Report| Shape::parse(text, &SourceMap::Slice(0), Dialect::Jinja, false, report).reads();
        let text = |reads: Vec<crate::path::KeyPath>| reads.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(shape("{{ a.b }}", &mut report)), ["a.b"]);
        assert_eq!(text(shape("{{ a | length }}", &mut report)), ["a"]);
        assert_eq!(text(shape("{{ a | optional }}", &mut report)), [""; 0]);
        assert_eq!(text(shape("{{ a if b else c }}", &mut report)), [""; 0]);
        assert_eq!(text(shape("to {{ a }}", &mut report)), ["a"]);
    }
}
