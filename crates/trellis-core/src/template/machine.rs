//! The template engine as we set it up: minijinja with our printing, our bounds and our own versions of whatever could explode.
//!
//! An expression tree that was lowered (see [`super::lower`]) enters, text or a value leaves. What a lowered tree calls under a name that no author can write
//! (`~`, `+`, `*`, `!`, `=`) stands here.
//!
//! **Invariant:** work and memory of one rendering are bounded by its limits, whatever the template and the data are.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, filters,
    machinery::{CodeGenerator, Instructions, ast, eval, make_string_output},
    tests,
    value::{Kwargs, Object, ObjectRepr, Value as Dyn, ValueKind},
};

use super::{
    RenderLimits,
    bridge::{ScopeView, from_dyn, invalid, is_shared, print, to_dyn, too_long, weigh},
};
use crate::{scope::Scope, value::Value};

/// The hidden name under which filters find the scope and its limits.
pub(super) const VIEW: &str = "\u{1}";

/// Names of filters that only a lowered tree uses.
pub(super) mod hook {
    /// Fails where its input is not set.
    pub(in crate::template) const USE: &str = "!";
    /// The same for a value that is compared part by part.
    pub(in crate::template) const COMPARE: &str = "==";
    /// Nothing where its input is not set.
    pub(in crate::template) const MAYBE: &str = "?";
    /// A value that gets a name.
    pub(in crate::template) const KEEP: &str = "=";
    /// What Go's `range` loops over: the values of a mapping, not its keys.
    pub(in crate::template) const ITEMS: &str = "[]";
    /// Joins texts.
    pub(in crate::template) const CONCAT: &str = "~";
    /// Adds numbers, texts, lists.
    pub(in crate::template) const ADD: &str = "+";
    /// The function `range`, under a name that hides no key of that name.
    pub(in crate::template) const RANGE: &str = "range()";
    /// Multiplies numbers, repeats texts.
    pub(in crate::template) const MULTIPLY: &str = "*";
}

/// Items that `range`, `batch` and `slice` may make at once.
const MAX_ITEMS: usize = 10_000;

/// Parts of a value that gets a name: comparing two such values must stay cheap.
const MAX_PARTS: u64 = 1_000_000;

/// A secret in a lowered tree, by the place of its variable.
#[derive(Debug)]
pub(super) struct Secret {
    /// Byte in the text.
    pub(super) place: usize,
}

impl Object for Secret {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// A secret that was met: the byte of its variable in the template, and its offset in the result.
pub(super) type Met = (usize, usize);

/// What is left of the bounds of one rendering.
struct Budget {
    printed: u64,
    output: u64,
    work: u64,
    secrets: Vec<Met>,
}

impl Budget {
    fn of<'s>(state: &'s mut State<'_, '_>) -> &'s mut Self {
        if state.get_extension::<Self>().is_none() {
            let limits = state.lookup(VIEW).and_then(|view| Some(view.downcast_object_ref::<ScopeView>()?.limits));
            let limits = limits.unwrap_or(RenderLimits { output: 0, fuel: 0 });
            let work = limits.fuel.saturating_mul(256);
            return state.get_or_insert_extension(Self { printed: 0, output: limits.output, work, secrets: Vec::new() });
        }
        state.get_or_insert_extension_with(|| unreachable!("it was put there when it was missing"))
    }

    /// Pays for touching `bytes`.
    fn work(&mut self, bytes: usize) -> Result<(), Error> {
        self.work = self.work.checked_sub(bytes as u64).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    /// Pays for a text of `bytes` that is made on the way.
    fn text(&mut self, bytes: usize) -> Result<(), Error> {
        self.join(0, bytes)
    }

    /// Pays for adding `bytes` to a text that already has `before`.
    fn join(&mut self, before: usize, bytes: usize) -> Result<(), Error> {
        if before.saturating_add(bytes) as u64 > self.longest() {
            return Err(too_long());
        }
        // A text that is made may also be kept, so it costs more than reading one.
        self.work(bytes.saturating_mul(4))
    }

    /// Pays for `parts` of a value, `each` as much as reading so many bytes.
    fn parts(&mut self, parts: u64, each: u64) -> Result<(), Error> {
        self.work(usize::try_from(parts.saturating_mul(each)).unwrap_or(usize::MAX))
    }

    /// The longest text that may be made on the way: a short one is always allowed, it need not be printed.
    fn longest(&self) -> u64 {
        self.output.max(1 << 10)
    }
}

/// The engine, without fuel: each rendering brings its own.
static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::empty();
    engine.set_debug(false);
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_formatter(emit);
    engine.set_fuel(Some(crate::program::Limits::default().template_fuel));
    add_hooks(&mut engine);
    add_filters(&mut engine);
    add_tests(&mut engine);
    engine.add_function(hook::RANGE, range);
    engine
});

fn add_hooks(engine: &mut Environment<'static>) {
    engine.add_filter(hook::USE, used);
    engine.add_filter(hook::COMPARE, compared);
    engine.add_filter(hook::MAYBE, |value: Dyn| if value.is_undefined() { Dyn::from(()) } else { value });
    engine.add_filter(hook::KEEP, keep);
    engine.add_filter(hook::ITEMS, values);
    engine.add_filter(hook::CONCAT, concat);
    engine.add_filter(hook::ADD, add);
    engine.add_filter(hook::MULTIPLY, multiply);
}

fn add_filters(engine: &mut Environment<'static>) {
    engine.add_filter("abs", filters::abs);
    engine.add_filter("attr", filters::attr);
    engine.add_filter("batch", |state: &mut State, value: Dyn, count: usize, fill: Option<Dyn>| {
        filters::batch(state, value, bounded("batch", count)?, fill)
    });
    engine.add_filter("bool", filters::bool);
    engine.add_filter("capitalize", filters::capitalize);
    engine.add_filter("count", filters::length);
    engine.add_filter("d", filters::default);
    engine.add_filter("default", filters::default);
    engine.add_filter("dictsort", filters::dictsort);
    engine.add_filter("first", filters::first);
    engine.add_filter("float", filters::float);
    engine.add_filter("groupby", group_by);
    engine.add_filter("indent", indent);
    engine.add_filter("int", filters::int);
    engine.add_filter("items", filters::items);
    engine.add_filter("join", join);
    engine.add_filter("last", filters::last);
    engine.add_filter("length", filters::length);
    engine.add_filter("lines", filters::lines);
    engine.add_filter("list", filters::list);
    engine.add_filter("lower", filters::lower);
    engine.add_filter("map", filters::map);
    engine.add_filter("max", filters::max);
    engine.add_filter("min", filters::min);
    engine.add_filter("optional", |value: Dyn| value);
    engine.add_filter("reject", filters::reject);
    engine.add_filter("rejectattr", filters::rejectattr);
    engine.add_filter("replace", replace);
    engine.add_filter("reverse", filters::reverse);
    engine.add_filter("round", filters::round);
    engine.add_filter("select", filters::select);
    engine.add_filter("selectattr", filters::selectattr);
    engine.add_filter("slice", |state: &mut State, value: Dyn, count: usize, fill: Option<Dyn>| {
        filters::slice(state, value, bounded("slice", count)?, fill)
    });
    engine.add_filter("sort", filters::sort);
    engine.add_filter("split", filters::split);
    engine.add_filter("string", string);
    engine.add_filter("sum", sum);
    engine.add_filter("title", filters::title);
    engine.add_filter("tojson", to_json);
    engine.add_filter("trim", filters::trim);
    engine.add_filter("unique", filters::unique);
    engine.add_filter("upper", filters::upper);
    engine.add_filter("zip", filters::zip);
}

fn add_tests(engine: &mut Environment<'static>) {
    engine.add_test("boolean", tests::is_boolean);
    engine.add_test("defined", tests::is_defined);
    engine.add_test("divisibleby", tests::is_divisibleby);
    engine.add_test("endingwith", tests::is_endingwith);
    engine.add_test("eq", tests::is_eq);
    engine.add_test("equalto", tests::is_eq);
    engine.add_test("even", tests::is_even);
    engine.add_test("false", tests::is_false);
    engine.add_test("float", tests::is_float);
    engine.add_test("ge", tests::is_ge);
    engine.add_test("greaterthan", tests::is_gt);
    engine.add_test("gt", tests::is_gt);
    engine.add_test("in", tests::is_in);
    engine.add_test("int", tests::is_integer);
    engine.add_test("integer", tests::is_integer);
    engine.add_test("iterable", tests::is_iterable);
    engine.add_test("le", tests::is_le);
    engine.add_test("lessthan", tests::is_lt);
    engine.add_test("lower", tests::is_lower);
    engine.add_test("lt", tests::is_lt);
    engine.add_test("mapping", tests::is_mapping);
    engine.add_test("ne", tests::is_ne);
    engine.add_test("none", tests::is_none);
    engine.add_test("number", tests::is_number);
    engine.add_test("odd", tests::is_odd);
    engine.add_test("sequence", tests::is_sequence);
    engine.add_test("startingwith", tests::is_startingwith);
    engine.add_test("string", tests::is_string);
    engine.add_test("true", tests::is_true);
    engine.add_test("undefined", tests::is_undefined);
    engine.add_test("upper", tests::is_upper);
}

/// A prepared template or expression.
pub(super) struct Program<'s> {
    instructions: Instructions<'s>,
}

impl<'s> Program<'s> {
    /// A lowered template.
    pub(super) fn template(source: &'s str, tree: &ast::Stmt<'s>) -> Self {
        let mut generator = CodeGenerator::new("template", source);
        generator.compile_stmt(tree);
        Self { instructions: generator.finish().0 }
    }

    /// A lowered expression.
    pub(super) fn expression(source: &'s str, tree: &ast::Expr<'s>) -> Self {
        let mut generator = CodeGenerator::new("expression", source);
        generator.compile_expr(tree);
        Self { instructions: generator.finish().0 }
    }

    /// Renders to text, with the secrets that were met.
    pub(super) fn render(&self, scope: &Scope, limits: RenderLimits) -> Result<(String, Vec<Met>), Error> {
        let mut out = String::new();
        let (_, secrets) = self.run(scope, limits, &mut out)?;
        if out.len() as u64 > limits.output { Err(too_long()) } else { Ok((out, secrets)) }
    }

    /// Evaluates to a value; nothing where it is not set.
    pub(super) fn evaluate(&self, scope: &Scope, limits: RenderLimits) -> Result<Option<Value>, Error> {
        let value = self.run(scope, limits, &mut String::new())?.0.unwrap_or(Dyn::UNDEFINED);
        if value.is_undefined() { Ok(None) } else { from_dyn(&value, limits.output.max(1)).map(Some) }
    }

    fn run(&self, scope: &Scope, limits: RenderLimits, out: &mut String) -> Result<(Option<Dyn>, Vec<Met>), Error> {
        let view = Dyn::from_object(ScopeView { scope: scope.clone(), limits });
        if ENGINE.fuel() == Some(limits.fuel) {
            return self.run_on(&ENGINE, view, out);
        }
        let mut engine = ENGINE.clone();
        engine.set_fuel(Some(limits.fuel));
        self.run_on(&engine, view, out)
    }

    fn run_on(&self, engine: &Environment<'_>, view: Dyn, out: &mut String) -> Result<(Option<Dyn>, Vec<Met>), Error> {
        let blocks = BTreeMap::new();
        let mut out = make_string_output(out);
        let (value, mut state) = eval(engine, &self.instructions, view, &blocks, &mut out, AutoEscape::None)?;
        Ok((value, state.get_extension_mut::<Budget>().map(|budget| std::mem::take(&mut budget.secrets)).unwrap_or_default()))
    }
}

/// Prints a value.
fn emit(out: &mut Output, state: &mut State, value: &Dyn) -> Result<(), Error> {
    let budget = Budget::of(state);
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    if let Some(secret) = value.downcast_object_ref::<Secret>() {
        budget.secrets.push((secret.place, usize::try_from(budget.printed).unwrap_or(usize::MAX)));
        return Ok(());
    }
    let written = print(value, out, budget.output)?;
    budget.output -= written;
    budget.printed += written;
    Ok(())
}

/// Fails where a value is not set, and pays for using it.
fn used(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    match value.kind() {
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::String => {
            let bytes = value.as_bytes().map_or(0, <[u8]>::len);
            if bytes > 64 {
                Budget::of(state).work(bytes)?;
            }
        }
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            let items = value.len().unwrap_or_default();
            Budget::of(state).work(items.saturating_mul(16))?;
        }
        _ => {}
    }
    Ok(value)
}

/// The same for a value whose parts are compared.
fn compared(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if is_container(&value) {
        let parts = weigh(&value, MAX_PARTS)?;
        Budget::of(state).parts(parts, 16)?;
        return Ok(value);
    }
    used(state, value)
}

/// A value that gets a name becomes plain data, and is bounded so that names cannot multiply it: `a = [a, a]`.
fn keep(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if is_container(&value) {
        let parts = if is_shared(&value) { 1 } else { weigh(&value, MAX_PARTS)? };
        Budget::of(state).parts(parts, 64)?;
        return from_dyn(&value, MAX_PARTS).map(|value| to_dyn(&value));
    }
    if let (ValueKind::String, Some(bytes)) = (value.kind(), value.as_bytes()) {
        Budget::of(state).text(bytes.len())?;
    }
    Ok(value)
}

fn is_container(value: &Dyn) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::Plain)
}

/// The values of a mapping; anything else as it is.
fn values(value: Dyn) -> Result<Dyn, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(value);
    }
    let keys = value.try_iter()?.checked();
    keys.map(|key| value.get_item(&key?)).collect::<Result<Vec<_>, _>>().map(Dyn::from)
}

/// The text of a value, paid for.
fn text_of(state: &mut State, value: &Dyn) -> Result<String, Error> {
    let longest = Budget::of(state).longest();
    let mut text = String::new();
    print(value, &mut text, longest)?;
    Ok(text)
}

fn concat(state: &mut State, left: &Dyn, right: &Dyn) -> Result<Dyn, Error> {
    let mut text = text_of(state, left)?;
    text.push_str(&text_of(state, right)?);
    Budget::of(state).text(text.len())?;
    Ok(Dyn::from(text))
}

fn add(state: &mut State, left: &Dyn, right: &Dyn) -> Result<Dyn, Error> {
    let list = |value: &Dyn| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    if let (ValueKind::String, ValueKind::String) = (left.kind(), right.kind()) {
        return concat(state, left, right);
    }
    if list(left) && list(right) {
        let items = left.len().unwrap_or_default().saturating_add(right.len().unwrap_or_default());
        Budget::of(state).work(items.saturating_mul(64))?;
        return left.try_iter()?.checked().chain(right.try_iter()?.checked()).collect::<Result<Vec<_>, _>>().map(Dyn::from);
    }
    match numbers(left, right) {
        Some(Numbers::Int(left, right)) => left.checked_add(right).map(Dyn::from).ok_or_else(overflow),
        Some(Numbers::Float(left, right)) => Ok(Dyn::from(left + right)),
        None => Err(cannot("add", left, "and", right)),
    }
}

fn multiply(state: &mut State, left: &Dyn, right: &Dyn) -> Result<Dyn, Error> {
    let (text, times) = if left.kind() == ValueKind::String { (left, right) } else { (right, left) };
    if text.kind() == ValueKind::String && times.is_integer() {
        let times = times.as_usize().ok_or_else(|| cannot("multiply", left, "by", right))?;
        let text = text.as_str().unwrap_or_default();
        Budget::of(state).text(text.len().saturating_mul(times))?;
        return Ok(Dyn::from(text.repeat(times)));
    }
    match numbers(left, right) {
        Some(Numbers::Int(left, right)) => left.checked_mul(right).map(Dyn::from).ok_or_else(overflow),
        Some(Numbers::Float(left, right)) => Ok(Dyn::from(left * right)),
        None => Err(cannot("multiply", left, "by", right)),
    }
}

enum Numbers {
    Int(i128, i128),
    Float(f64, f64),
}

/// Both operands as numbers; truth values are none.
fn numbers(left: &Dyn, right: &Dyn) -> Option<Numbers> {
    if left.kind() != ValueKind::Number || right.kind() != ValueKind::Number {
        return None;
    }
    if left.is_integer() && right.is_integer() {
        return Some(Numbers::Int(i128::try_from(left.clone()).ok()?, i128::try_from(right.clone()).ok()?));
    }
    Some(Numbers::Float(f64::try_from(left.clone()).ok()?, f64::try_from(right.clone()).ok()?))
}

fn overflow() -> Error {
    invalid("the result does not fit 64 bits")
}

fn cannot(verb: &str, left: &Dyn, with: &str, right: &Dyn) -> Error {
    invalid(format!("cannot {verb} {} {with} {}", left.kind(), right.kind()))
}

fn bounded(filter: &str, count: usize) -> Result<usize, Error> {
    if count > MAX_ITEMS { Err(invalid(format!("`{filter}` makes at most {MAX_ITEMS} items, not {count}"))) } else { Ok(count) }
}

fn range(state: &mut State, first: i64, last: Option<i64>, step: Option<i64>) -> Result<Dyn, Error> {
    let (start, end) = last.map_or((0, first), |last| (first, last));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(invalid("the step of a `range` cannot be 0"));
    }
    let width = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
    let stride = i128::from(step).abs();
    let count = bounded("range", usize::try_from((width.max(0) + stride - 1) / stride).unwrap_or(usize::MAX))?;
    Budget::of(state).work(count.saturating_mul(64))?;
    let numbers = (0..count as i64).map(|at| start.wrapping_add(at.wrapping_mul(step)));
    Ok(numbers.map(Dyn::from).collect::<Vec<_>>().into())
}

fn join(state: &mut State, value: &Dyn, between: Option<&Dyn>, kwargs: Kwargs) -> Result<Dyn, Error> {
    let attribute = kwargs.get::<Option<&str>>("attribute")?;
    kwargs.assert_all_used()?;
    let between = between.map_or(Ok(String::new()), |between| text_of(state, between))?;
    let mut text = String::new();
    for (at, item) in value.try_iter()?.checked().enumerate() {
        let item = item?;
        let item = attribute.map_or(Ok(item.clone()), |name| item.get_attr(name))?;
        if at > 0 {
            text.push_str(&between);
        }
        let item = text_of(state, &item)?;
        Budget::of(state).join(text.len(), item.len() + between.len())?;
        text.push_str(&item);
    }
    Ok(Dyn::from(text))
}

fn replace(state: &mut State, value: &Dyn, from: &Dyn, to: &Dyn) -> Result<Dyn, Error> {
    let (text, from, to) = (text_of(state, value)?, text_of(state, from)?, text_of(state, to)?);
    let places = text.matches(&*from).count();
    Budget::of(state).text(text.len().saturating_add(places.saturating_mul(to.len())))?;
    Ok(Dyn::from(text.replace(&*from, &to)))
}

fn indent(state: &mut State, value: &Dyn, width: usize, first: Option<bool>, blank: Option<bool>) -> Result<Dyn, Error> {
    let text = text_of(state, value)?;
    let lines = text.split('\n').count();
    Budget::of(state).text(text.len().saturating_add(lines.saturating_mul(width)))?;
    let mut out = String::new();
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let moved = (at > 0 || first.unwrap_or(false)) && (!line.is_empty() || blank.unwrap_or(false));
        out.extend(std::iter::repeat_n(' ', if moved { width } else { 0 }));
        out.push_str(line);
    }
    Ok(Dyn::from(out))
}

fn string(state: &mut State, value: &Dyn) -> Result<Dyn, Error> {
    let text = text_of(state, value)?;
    Budget::of(state).text(text.len())?;
    Ok(Dyn::from(text))
}

fn sum(value: &Dyn, kwargs: Kwargs) -> Result<Dyn, Error> {
    let attribute = kwargs.get::<Option<&str>>("attribute")?;
    kwargs.assert_all_used()?;
    let mut total = Dyn::from(0);
    for item in value.try_iter()?.checked() {
        let item = item?;
        let item = attribute.map_or(Ok(item.clone()), |name| item.get_attr(name))?;
        total = match numbers(&total, &item) {
            Some(Numbers::Int(total, item)) => total.checked_add(item).map(Dyn::from).ok_or_else(overflow)?,
            Some(Numbers::Float(total, item)) => Dyn::from(total + item),
            None => return Err(invalid(format!("cannot add {} to a sum", item.kind()))),
        };
    }
    Ok(total)
}

/// Lists of items by their attribute, sorted: plain data, unlike the engine's own.
fn group_by(value: &Dyn, attribute: &str) -> Result<Dyn, Error> {
    let mut groups = BTreeMap::<Dyn, Vec<Dyn>>::new();
    for item in value.try_iter()?.checked() {
        let item = item?;
        let key = item.get_attr(attribute)?;
        if key.is_undefined() {
            return Err(invalid(format!("an item has no `{attribute}`")));
        }
        groups.entry(key).or_default().push(item);
    }
    let group = |(key, items)| Dyn::from_pairs([("grouper", key), ("list", Dyn::from(items))]);
    Ok(groups.into_iter().map(group).collect::<Vec<_>>().into())
}

fn to_json(state: &mut State, value: &Dyn, indent: Option<&Dyn>, kwargs: Kwargs) -> Result<Dyn, Error> {
    let indent = indent.cloned().or(kwargs.get::<Option<Dyn>>("indent")?);
    kwargs.assert_all_used()?;
    let longest = Budget::of(state).longest();
    let value = from_dyn(value, longest)?;
    let spaces = match indent {
        None => None,
        Some(indent) if indent.kind() == ValueKind::Bool => indent.is_true().then_some(2),
        Some(indent) => Some(indent.as_usize().filter(|&width| width <= 16).ok_or_else(|| invalid("`indent` is a number up to 16"))?),
    };
    let text = match spaces {
        None => value.to_json(),
        Some(width) => pretty(&value, width)?,
    };
    Budget::of(state).text(text.len())?;
    Ok(Dyn::from(text))
}

fn pretty(value: &Value, width: usize) -> Result<String, Error> {
    let spaces = " ".repeat(width);
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer).map_err(|error| invalid(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))
}

/// A message of the engine as ours read: truth values and other kinds by our names are not worth a table, the tone is.
pub(super) fn in_our_words(message: &str) -> String {
    message.trim_end_matches('.').to_owned()
}
