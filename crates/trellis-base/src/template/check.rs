//! The checks of a parsed template: statements, names of filters, tests and functions.
//!
//! **Invariant:** a tree without mistakes here calls nothing that is not in [`super::builtins`].

use std::ops::Range;

use minijinja::machinery::{
    Span,
    ast::{Call, CallArg, CallType, Expr, Spanned, Stmt},
};

use super::{
    Mistake,
    builtins::{Vocabulary, is_namespace},
    const_eval,
    lower::{extent, is_secret},
    reads::OF_LOOP,
    secret::UsedSecret,
};
use crate::diagnostic::near;

/// Every mistake in `tree`, in the order of the text.
pub(super) fn check(tree: &Stmt<'_>, vocabulary: Vocabulary) -> Vec<Mistake> {
    let mut checker = Checker { vocabulary, mistakes: Vec::new(), loops: 0 };
    checker.statement(tree);
    checker.mistakes.sort_by_key(|mistake| (mistake.place.start, mistake.place.end));
    checker.mistakes
}

struct Checker {
    vocabulary: Vocabulary,
    mistakes: Vec<Mistake>,
    /// The number of enclosing loops.
    loops: usize,
}

impl Checker {
    fn statements(&mut self, trees: &[Stmt<'_>]) {
        for tree in trees {
            self.statement(tree);
        }
    }

    fn statement(&mut self, tree: &Stmt<'_>) {
        match tree {
            Stmt::Template(node) => self.statements(&node.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(node) => self.expression(&node.expr),
            Stmt::ForLoop(node) => {
                if node.recursive {
                    self.refuse(node.span(), "`recursive` loops are not part of the language");
                }
                self.expression(&node.iter);
                self.loops += 1;
                self.maybe(node.filter_expr.as_ref());
                self.statements(&node.body);
                self.loops -= 1;
                self.statements(&node.else_body);
            }
            Stmt::IfCond(node) => {
                self.expression(&node.expr);
                self.statements(&node.true_body);
                self.statements(&node.false_body);
            }
            Stmt::WithBlock(node) => {
                for (_, value) in &node.assignments {
                    self.expression(value);
                }
                self.statements(&node.body);
            }
            Stmt::Set(node) => {
                self.target(&node.target);
                match &node.expr {
                    Expr::Call(call)
                        if self.vocabulary == Vocabulary::Compute && is_namespace(call) && matches!(node.target, Expr::Var(_)) =>
                    {
                        self.values(&call.args).into_iter().for_each(|value| self.expression(value));
                    }
                    value => self.expression(value),
                }
            }
            Stmt::SetBlock(node) => {
                self.target(&node.target);
                self.maybe(node.filter.as_ref());
                self.statements(&node.body);
            }
            Stmt::FilterBlock(node) => {
                self.expression(&node.filter);
                self.statements(&node.body);
            }
            Stmt::AutoEscape(node) => self.refuse(node.span(), "`autoescape` is not part of the language: nothing is escaped"),
            Stmt::Do(node) => self.refuse(node.span(), "`do` is not part of the language: there is nothing to change"),
        }
    }

    fn expression(&mut self, tree: &Expr<'_>) {
        if self.is_constant(tree) {
            self.attempt(tree);
        }
    }

    /// Checks an expression, and returns whether it is constant. If it is not, its largest constant parts are evaluated.
    fn is_constant(&mut self, tree: &Expr<'_>) -> bool {
        let mistakes = self.mistakes.len();
        let parts: Vec<&Expr<'_>> = match tree {
            Expr::Var(_) => return false,
            Expr::Const(_) => return true,
            Expr::GetAttr(node) => {
                if let Expr::Var(var) = &node.expr
                    && var.id == "loop"
                    && self.loops > 0
                {
                    self.of_loop(tree, node.name);
                }
                vec![&node.expr]
            }
            Expr::GetItem(node) => vec![&node.expr, &node.subscript_expr],
            Expr::Slice(node) => {
                if matches!(&node.step, Some(Expr::Const(step)) if step.value == 0.into()) {
                    self.mistakes.push(Mistake::syntax(bytes(extent(tree)), "the step of a slice cannot be 0"));
                }
                [Some(&node.expr), node.start.as_ref(), node.stop.as_ref(), node.step.as_ref()].into_iter().flatten().collect()
            }
            Expr::UnaryOp(node) => vec![&node.expr],
            Expr::BinOp(node) => vec![&node.left, &node.right],
            Expr::Compare(node) => std::iter::once(&node.expr).chain(node.ops.iter().map(|op| &op.expr)).collect(),
            Expr::IfExpr(node) => [Some(&node.true_expr), Some(&node.test_expr), node.false_expr.as_ref()].into_iter().flatten().collect(),
            Expr::Filter(node) => {
                if self.known("filter", node.name, name_place(node.span(), node.name)) {
                    self.names_in_arguments(node.name, &node.args);
                }
                node.expr.iter().chain(self.values(&node.args)).collect()
            }
            Expr::Test(node) => {
                self.known("test", node.name, name_place(node.span(), node.name));
                std::iter::once(&node.expr).chain(self.values(&node.args)).collect()
            }
            Expr::Call(node) => {
                self.call(node);
                self.values(&node.args)
            }
            Expr::List(node) => node.items.iter().collect(),
            Expr::Tuple(node) => node.items.iter().collect(),
            Expr::Map(node) => node.keys.iter().zip(&node.values).flat_map(|(key, value)| [key, value]).collect(),
        };
        let constant: Vec<bool> = parts.iter().map(|part| self.is_constant(part)).collect();
        // The input of a block's filter, and the object of a method, are no constants.
        let is_whole = match tree {
            Expr::Call(node) => matches!(node.identify_call(), CallType::Function(_)),
            Expr::Filter(node) => node.expr.is_some(),
            _ => true,
        };
        if constant.iter().all(|constant| *constant) && is_whole {
            return self.mistakes.len() == mistakes;
        }
        for (part, _) in parts.iter().zip(&constant).filter(|(_, constant)| **constant) {
            self.attempt(part);
        }
        if self.mistakes.len() == mistakes && constant.len() > 1 && constant[1..].iter().all(|constant| *constant) {
            let failure = match tree {
                Expr::Filter(node) if node.expr.is_some() => {
                    const_eval::filter(node).map(|why| (name_place(node.span(), node.name), node.name, why))
                }
                Expr::Test(node) => const_eval::test(node).map(|why| (name_place(node.span(), node.name), node.name, why)),
                _ => None,
            };
            if let Some((place, name, why)) = failure {
                self.mistakes.push(Mistake::syntax(place, format!("`{name}` cannot be given this: {why}")));
            }
        }
        false
    }

    /// Evaluates a constant expression, and reports its failure.
    fn attempt(&mut self, tree: &Expr<'_>) {
        if !matches!(tree, Expr::Const(_))
            && let Some(why) = const_eval::constant(tree)
        {
            self.mistakes.push(Mistake::syntax(bytes(extent(tree)), format!("this always fails: {why}")));
        }
    }

    fn of_loop(&mut self, tree: &Expr<'_>, name: &str) {
        if !OF_LOOP.contains(&name) {
            let place = bytes(extent(tree));
            let place = place.end - name.len()..place.end;
            let near = near(name, OF_LOOP);
            let mistake = Mistake::syntax(place, format!("there is no `loop.{name}`"));
            let listed = "it has `index`, `first`, `last`, `length` and others";
            self.mistakes.push(mistake.help(listed).meant(near));
        }
    }

    fn maybe(&mut self, tree: Option<&Expr<'_>>) {
        if let Some(tree) = tree {
            self.expression(tree);
        }
    }

    fn call(&mut self, node: &Spanned<Call<'_>>) {
        match node.identify_call() {
            CallType::Function(name) => {
                let place = bytes(node.expr.span());
                if self.known("function", name, place) && is_namespace(node) {
                    self.refuse(extent(&node.expr), "`namespace` stands alone: `{% set name = namespace(…) %}`");
                }
            }
            CallType::Method(Expr::Var(var), "cycle" | "changed") if var.id == "loop" => {}
            CallType::Method(object, name) => {
                self.expression(object);
                let mistake = Mistake::syntax(bytes(extent(&node.expr)), format!("`{name}` cannot be called: values have no methods"));
                let filter = self.vocabulary.has("filter", name).then(|| format!("write it as a filter: `… | {name}`"));
                self.mistakes.push(mistake.help_maybe(filter));
            }
            CallType::Object(object) => {
                self.expression(object);
                self.refuse(node.span(), "this cannot be called");
            }
        }
    }

    fn values<'t, 's>(&mut self, args: &'t [CallArg<'s>]) -> Vec<&'t Expr<'s>> {
        let mut values = Vec::new();
        for arg in args {
            match arg {
                CallArg::Pos(value) | CallArg::Kwarg(_, value) => values.push(value),
                CallArg::PosSplat(value) | CallArg::KwargSplat(value) => {
                    self.refuse(extent(value), "arguments cannot be unpacked with `*`");
                }
            }
        }
        values
    }

    /// `map("upper")` and `select("odd")` name filters and tests by text.
    fn names_in_arguments(&mut self, filter: &str, args: &[CallArg<'_>]) {
        let (kind, at) = match filter {
            "map" => ("filter", 0),
            "select" | "reject" => ("test", 0),
            "selectattr" | "rejectattr" => ("test", 1),
            _ => return,
        };
        if let Some(CallArg::Pos(Expr::Const(node))) = args.get(at)
            && let Some(name) = node.value.as_str()
        {
            self.known(kind, name, bytes(node.span()));
        }
    }

    fn known(&mut self, kind: &str, name: &str, place: Range<usize>) -> bool {
        if self.vocabulary.has(kind, name) {
            return true;
        }
        let kinds = ["filter", "test", "function"];
        let elsewhere = kinds.iter().find(|kind| self.vocabulary.has(kind, name)).map(|other| match *other {
            "filter" => format!("`{name}` is a filter: `… | {name}`"),
            "test" => format!("`{name}` is a test: `… is {name}`"),
            _ => format!("`{name}` is a function: `{name}(…)`"),
        });
        let elsewhere = elsewhere.or_else(|| Vocabulary::Compute.has(kind, name).then(|| "only a `compute` file has it".to_owned()));
        let near = near(name, self.vocabulary.names(kind)).filter(|_| elsewhere.is_none());
        self.mistakes.push(Mistake::unknown(place, format!("there is no {kind} `{name}`")).meant(near).help_maybe(elsewhere));
        false
    }

    fn target(&mut self, tree: &Expr<'_>) {
        match tree {
            Expr::List(node) => node.items.iter().for_each(|item| self.target(item)),
            // `compute::statements` checks whether the name is a namespace.
            Expr::GetAttr(node) if self.vocabulary == Vocabulary::Compute && matches!(node.expr, Expr::Var(_)) => {}
            Expr::GetAttr(_) => self.refuse(extent(tree), "only a plain name can be set here"),
            _ => {}
        }
    }

    fn refuse(&mut self, span: Span, message: &str) {
        self.mistakes.push(Mistake::syntax(bytes(span), message.to_owned()));
    }
}

fn bytes(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// The bytes of a filter's or test's name, which its range begins with.
fn name_place(span: Span, name: &str) -> Range<usize> {
    let start = span.start_offset as usize;
    start..start + name.len()
}

/// Returns the mistakes of secrets that are not alone, as `{{secret:name}}`, where text is made.
pub(super) fn secrets(tree: &Stmt<'_>, found: &[UsedSecret]) -> Vec<Mistake> {
    let mut alone = Vec::new();
    let mut captures = false;
    find_secrets(tree, &mut alone, &mut captures);
    let misplaced = found.iter().filter(|secret| captures || !alone.iter().any(|at| secret.place.contains(at)));
    let message = if captures {
        "a text with a secret cannot also capture text with `set` or `filter`"
    } else {
        "a secret stands alone: `{{secret:name}}`"
    };
    misplaced.map(|secret| Mistake::syntax(secret.place.clone(), message)).collect()
}

/// Returns the blocks that capture text, in a text that is rendered in pieces: captured text would be no piece any more.
pub(super) fn captures(tree: &Stmt<'_>) -> Vec<Mistake> {
    let mut captures = false;
    find_secrets(tree, &mut Vec::new(), &mut captures);
    let message = "a URL cannot capture text with `set` or `filter`";
    captures.then(|| Mistake::syntax(0..0, message).help("write `{% set x = … %}`, or a filter in the hole")).into_iter().collect()
}

fn find_secrets(tree: &Stmt<'_>, alone: &mut Vec<usize>, captures: &mut bool) {
    let mut below = |trees: &[Stmt<'_>]| trees.iter().for_each(|tree| find_secrets(tree, alone, captures));
    match tree {
        Stmt::Template(node) => below(&node.children),
        Stmt::EmitExpr(node) if is_secret(&node.expr) => alone.push(node.expr.span().start_offset as usize),
        Stmt::ForLoop(node) => {
            below(&node.body);
            below(&node.else_body);
        }
        Stmt::IfCond(node) => {
            below(&node.true_body);
            below(&node.false_body);
        }
        Stmt::WithBlock(node) => below(&node.body),
        Stmt::SetBlock(_) | Stmt::FilterBlock(_) => *captures = true,
        Stmt::EmitRaw(_) | Stmt::EmitExpr(_) | Stmt::Set(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
    }
}
