//! The names that a template gives values to, and where those values come from.

use minijinja::machinery::ast::{CallArg, Expr};

use super::{inner, value_of};
use crate::{
    path::{KeyPath, Segment},
    template::{
        bridge::context_key,
        kinds::{KindSet, keeps_items},
        machine::hook,
    },
    value::Key,
};

/// A step into the value of a path, beyond names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementStep {
    /// Each item of a list; of a mapping each key.
    Item,
    /// Each item of a list; of a mapping each value.
    Each,
    /// The value under a name.
    Key(Key),
}

/// The place of a value: a path, and steps into its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueSource {
    pub(super) path: KeyPath,
    pub(super) inside: Vec<ElementStep>,
    /// True if it continues from there into unknown values: a list's item, a computed key.
    pub(super) deep: bool,
}

impl ValueSource {
    fn of(name: &str) -> Option<Self> {
        Some(Self { path: KeyPath::new(vec![Segment::Key(name.into())])?, inside: Vec::new(), deep: false })
    }

    fn under(mut self, key: &str) -> Self {
        if self.deep {
            return self;
        }
        if self.inside.is_empty() {
            let segments = self.path.segments().iter().cloned().chain([Segment::Key(key.into())]).collect();
            self.path = KeyPath::new(segments).unwrap_or(self.path);
        } else {
            self.inside.push(ElementStep::Key(key.into()));
        }
        self
    }

    fn step(mut self, step: ElementStep) -> Self {
        if !self.deep {
            self.inside.push(step);
        }
        self
    }

    fn deeper(self) -> Self {
        Self { deep: true, ..self }
    }

    /// Returns the path, if it is a path and nothing else.
    pub(crate) fn plain(self) -> Option<KeyPath> {
        (self.inside.is_empty() && !self.deep).then_some(self.path)
    }
}

/// The known facts about a named value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Binding {
    pub(super) sorts: KindSet,
    /// The place of the value.
    pub(super) whole: Option<ValueSource>,
    /// The place of its items.
    pub(super) items: Option<ValueSource>,
}

impl Binding {
    /// Creates a binding of which only the possible sorts are known.
    pub(super) fn of(sorts: KindSet) -> Self {
        let sorts = if sorts.meet(KindSet::READ) { sorts.or(KindSet::ANY).without(KindSet::READ) } else { sorts };
        Self { sorts, whole: None, items: None }
    }

    /// Returns the common facts of two alternatives; without a binding the context is read.
    fn either(one: Option<Self>, other: Option<Self>) -> Self {
        match (one, other) {
            (Some(one), Some(other)) if one == other => one,
            (Some(one), Some(other)) if one.whole.is_none() && other.whole.is_none() => Self::of(one.sorts.or(other.sorts)),
            _ => Self::of(KindSet::ANY.or(KindSet::UNSET)),
        }
    }
}

/// The names of a template, the newest last.
#[derive(Default)]
pub(crate) struct TemplateNames<'s> {
    bound: Vec<(&'s str, Binding)>,
}

impl<'s> TemplateNames<'s> {
    pub(super) fn len(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn forget(&mut self, down_to: usize) -> Vec<(&'s str, Binding)> {
        self.bound.split_off(down_to)
    }

    pub(super) fn bind(&mut self, name: &'s str, binding: Binding) {
        self.bound.push((name, binding));
    }

    fn get(&self, name: &str) -> Option<&Binding> {
        self.bound.iter().rev().find(|(bound, _)| *bound == name).map(|(_, binding)| binding)
    }

    /// Combines the bindings of two branches, `one` and `other`, to the facts that hold in both.
    pub(super) fn meet(&mut self, one: &[(&'s str, Binding)], other: &[(&'s str, Binding)]) {
        let newest =
            |of: &[(&'s str, Binding)], name: &str| of.iter().rev().find(|(bound, _)| *bound == name).map(|(_, binding)| binding.clone());
        let outside = self.bound.len();
        for (name, _) in one.iter().chain(other) {
            if self.bound[outside..].iter().any(|(known, _)| known == name) {
                continue;
            }
            let before = || self.bound[..outside].iter().rev().find(|(known, _)| known == name).map(|(_, binding)| binding.clone());
            let met = Binding::either(newest(one, name).or_else(before), newest(other, name).or_else(before));
            self.bound.push((name, met));
        }
    }

    /// Returns the place of the value of an expression, if it is a path into the context. Names with values of their own are not tracked below.
    pub(crate) fn source(&self, tree: &Expr<'_>) -> Option<ValueSource> {
        match tree {
            Expr::Var(node) if super::super::secret::is_masked(node.id) => None,
            Expr::Var(node) => match self.get(node.id) {
                Some(binding) => binding.whole.clone(),
                None => ValueSource::of(context_key(node.id)),
            },
            Expr::GetAttr(node) => Some(self.source(&node.expr)?.under(node.name)),
            Expr::GetItem(node) => {
                let of = self.source(&node.expr)?;
                Some(match inner(&node.subscript_expr)? {
                    Expr::Const(key) => match key.value.as_str() {
                        Some(key) => of.under(key),
                        None => of.deeper(),
                    },
                    _ => of.deeper(),
                })
            }
            _ => None,
        }
    }

    /// Returns the path of the value of a name, or the path that contains it.
    pub(super) fn whole(&self, name: &str) -> Option<KeyPath> {
        Some(self.get(name)?.whole.as_ref()?.path.clone())
    }

    /// The sorts of a name's value.
    pub(super) fn sorts(&self, name: &str) -> Option<KindSet> {
        self.get(name).map(|binding| binding.sorts)
    }

    /// Returns the place of the items of an expression.
    pub(super) fn items(&self, tree: &Expr<'_>) -> Option<ValueSource> {
        if let Expr::Var(node) = tree
            && let Some(Binding { whole: None, items, .. }) = self.get(node.id)
        {
            return items.clone();
        }
        if let Some(source) = self.source(tree) {
            return Some(source.step(ElementStep::Item));
        }
        match tree {
            Expr::Filter(node) if keeps_items(node.name) => self.items(node.expr.as_ref()?),
            Expr::Filter(node) if let Some(names) = attribute(node.name, &node.args) => {
                let items = self.items(node.expr.as_ref()?)?;
                Some(names.iter().fold(items, |items, name| items.under(name)))
            }
            Expr::Filter(node) if node.name == hook::ITEMS => Some(self.source(inner(node.expr.as_ref()?)?)?.step(ElementStep::Each)),
            // An empty list has no items.
            Expr::Filter(node) if matches!(node.name, "default" | "d") => {
                let is_empty = |arg: &CallArg<'_>| matches!(arg, CallArg::Pos(value) if matches!(inner(value), Some(Expr::List(list)) if list.items.is_empty()));
                let is_empty = node.args.first().is_some_and(is_empty) && node.args.len() == 1;
                if is_empty { self.items(node.expr.as_ref()?) } else { None }
            }
            _ => None,
        }
    }

    /// Returns the value that `map` took from each item of a loop: it is present.
    pub(super) fn mapped(&self, tree: &Expr<'_>) -> Option<ValueSource> {
        match inner(tree)? {
            over @ Expr::Filter(node) if attribute(node.name, &node.args).is_some() => self.items(over),
            _ => None,
        }
    }

    /// The path whose items are looped over, all of them.
    pub(super) fn over(&self, tree: &Expr<'_>) -> Option<KeyPath> {
        match inner(tree)? {
            Expr::Filter(node)
                if matches!(node.name, "sort" | "reverse" | "unique" | "list" | "default" | "d")
                    || attribute(node.name, &node.args).is_some() =>
            {
                self.items(tree)?;
                self.over(node.expr.as_ref()?)
            }
            Expr::Filter(node) if matches!(node.name, hook::ITEMS | hook::PAIRS | hook::GROUPS) => self.over(node.expr.as_ref()?),
            over => self.source(over)?.plain(),
        }
    }

    /// Returns the bindings of the names of a loop over an expression: one name for each item, or a pair.
    pub(super) fn looped(&self, tree: &Expr<'_>, pair: bool) -> Vec<Binding> {
        let of = |source: Option<ValueSource>, sorts: KindSet| Binding { sorts, whole: source, items: None };
        let Some(over) = inner(tree) else { return Vec::new() };
        if !pair {
            let sorts = if is_range(over) { KindSet::NUMBER } else { KindSet::ANY };
            return vec![of(self.items(over), sorts)];
        }
        let Expr::Filter(node) = over else { return Vec::new() };
        let source = node.expr.as_ref().and_then(inner).and_then(|inner| self.source(inner)).map(|source| source.step(ElementStep::Each));
        match node.name {
            "items" | "dictsort" => vec![of(None, KindSet::TEXT), of(source, KindSet::ANY)],
            hook::GROUPS => match node.expr.as_ref().and_then(inner) {
                Some(Expr::Filter(groups)) if groups.name == "groupby" => {
                    let items = groups.expr.as_ref().and_then(|rows| self.items(inner(rows)?));
                    vec![of(None, KindSet::ANY), Binding { items, ..of(None, KindSet::LIST) }]
                }
                _ => Vec::new(),
            },
            hook::PAIRS => vec![of(None, KindSet::TEXT.or(KindSet::NUMBER)), of(source, KindSet::ANY)],
            _ => Vec::new(),
        }
    }
}

/// The names that `map(attribute="a.b")` goes down by in each item.
pub(super) fn attribute<'a>(filter: &str, args: &'a [CallArg<'_>]) -> Option<Vec<&'a str>> {
    let [CallArg::Kwarg("attribute", Expr::Const(node))] = args else { return None };
    let names: Vec<&str> = node.value.as_str().filter(|_| filter == "map")?.split('.').collect();
    let is_name = |name: &&str| !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit());
    names.iter().all(is_name).then_some(names)
}

/// The name that an expression begins with.
pub(super) fn beginning(tree: &Expr<'_>) -> Option<KeyPath> {
    let mut tree = tree;
    loop {
        tree = match tree {
            Expr::Var(node) => return KeyPath::new(vec![Segment::Key(context_key(node.id).into())]),
            Expr::Filter(node) => node.expr.as_ref().or_else(|| node.args.first().map(value_of))?,
            Expr::GetAttr(node) => &node.expr,
            Expr::GetItem(node) => &node.expr,
            Expr::UnaryOp(node) => &node.expr,
            Expr::BinOp(node) => &node.left,
            Expr::Compare(node) => &node.expr,
            Expr::IfExpr(node) => &node.true_expr,
            Expr::Test(node) => &node.expr,
            Expr::Call(node) => node.args.first().map(value_of)?,
            Expr::List(node) => node.items.first()?,
            _ => return None,
        };
    }
}

/// Returns whether an expression is `range(…)`.
pub(crate) fn is_range(tree: &Expr<'_>) -> bool {
    matches!(tree, Expr::Call(node) if matches!(&node.expr, Expr::Var(name) if name.id == hook::RANGE))
}

/// Returns the sorts of a name of `loop`.
pub(super) fn of_loop(name: &str) -> KindSet {
    match name {
        "first" | "last" => KindSet::TRUTH,
        "previtem" | "nextitem" => KindSet::ANY.or(KindSet::UNSET),
        _ => KindSet::NUMBER,
    }
}

/// The names of `loop`.
pub(crate) const OF_LOOP: [&str; 13] =
    ["changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"];
