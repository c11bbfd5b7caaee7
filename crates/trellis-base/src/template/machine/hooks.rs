//! The hooks of a lowered tree, under names that no author can write: using, comparing and naming values, and the operators that could explode.

use minijinja::{
    Environment, Error, ErrorKind, State,
    value::{Value as Dyn, ValueKind},
};

use super::{
    super::bridge::{counted, invalid, is_shared, kind, number, print, to_dyn, weigh},
    RenderBudget, hook,
};

/// Items that `range`, `batch` and `slice` may make at once.
const MAX_ITEMS: usize = 10_000;

/// Parts of a value that gets a name or is compared.
pub(super) const MAX_PARTS: u64 = 1_000_000;

/// Adds the hooks.
pub(super) fn add(engine: &mut Environment<'static>) {
    engine.add_filter(hook::USE, used);
    engine.add_filter(hook::COMPARE, compared);
    engine.add_filter(hook::MAYBE, |value: Dyn| if value.is_undefined() { Dyn::from(()) } else { value });
    engine.add_filter(hook::KEEP, keep);
    engine.add_filter(hook::ITEMS, values);
    engine.add_filter(hook::PAIRS, pairs);
    engine.add_filter(hook::GROUPS, groups);
    engine.add_filter(hook::SLICE, slice);
    engine.add_filter(hook::CONCAT, concat);
    engine.add_filter(hook::ADD, plus);
    engine.add_filter(hook::MULTIPLY, multiply);
    engine.add_filter(hook::FITS, |value: &Dyn| number(value).map(|number| to_dyn(&number)));
    engine.add_function(hook::RANGE, range);
}

/// Fails where a value is not set, and pays for using it.
fn used(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    match value.kind() {
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::String => {
            let bytes = value.as_bytes().map_or(0, <[u8]>::len);
            if bytes > 64 {
                RenderBudget::of(state).work(bytes)?;
            }
        }
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            let items = value.len().unwrap_or_default();
            RenderBudget::of(state).work(items.saturating_mul(16))?;
        }
        _ => {}
    }
    Ok(value)
}

/// Uses a value whose parts are compared.
fn compared(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if is_container(&value) {
        let parts = weigh(&value, MAX_PARTS)?;
        RenderBudget::of(state).parts(parts, 16)?;
        return Ok(value);
    }
    used(state, value)
}

/// A value that gets a name becomes plain data, and is bounded so that names cannot multiply it: `a = [a, a]`.
fn keep(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if is_container(&value) {
        if is_shared(&value) {
            RenderBudget::of(state).parts(1, 64)?;
            return Ok(value);
        }
        let budget = RenderBudget::of(state);
        let (list, parts) = counted(&value, budget.largest(MAX_PARTS)).map_err(|error| budget.too_large(error))?;
        budget.parts(parts, 64)?;
        return Ok(to_dyn(&list));
    }
    if let (ValueKind::String, Some(bytes)) = (value.kind(), value.as_bytes()) {
        RenderBudget::of(state).text(bytes.len())?;
    }
    Ok(value)
}

fn is_container(value: &Dyn) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::Plain)
}

/// The values of a mapping; anything else as it is.
fn values(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(value);
    }
    RenderBudget::of(state).work(value.len().unwrap_or_default().saturating_mul(32))?;
    let keys = value.try_iter()?.checked();
    keys.map(|key| value.get_item(&key?)).collect::<Result<Vec<_>, _>>().map(Dyn::from)
}

/// Index and item of a list, key and value of a mapping.
fn pairs(state: &mut State, value: &Dyn) -> Result<Dyn, Error> {
    RenderBudget::of(state).work(value.len().unwrap_or_default().saturating_mul(64))?;
    let map = value.kind() == ValueKind::Map;
    let pair = |(at, item): (usize, Result<Dyn, Error>)| {
        let item = item?;
        Ok(Dyn::from(if map { vec![item.clone(), value.get_item(&item)?] } else { vec![Dyn::from(at), item] }))
    };
    value.try_iter()?.checked().enumerate().map(pair).collect::<Result<Vec<_>, _>>().map(Dyn::from)
}

/// The items of a list, in which the groups of `groupby` can be taken apart.
fn groups(state: &mut State, value: Dyn) -> Result<Dyn, Error> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(value);
    }
    RenderBudget::of(state).work(value.len().unwrap_or_default().saturating_mul(64))?;
    let apart = |item: Dyn| {
        let [grouper, list] = [item.get_attr("grouper")?, item.get_attr("list")?];
        let is_group = item.kind() == ValueKind::Map && item.len() == Some(2) && !grouper.is_undefined() && !list.is_undefined();
        Ok(if is_group { Dyn::from(vec![grouper, list]) } else { item })
    };
    value.try_iter()?.checked().map(|item| apart(item?)).collect::<Result<Vec<_>, Error>>().map(Dyn::from)
}

/// The text of a value, paid for.
pub(super) fn text_of(state: &mut State, value: &Dyn) -> Result<String, Error> {
    let longest = RenderBudget::of(state).longest();
    let mut text = String::new();
    print(value, &mut text, longest)?;
    Ok(text)
}

/// `value[start:stop:step]`, with all the corners of Python's; the engine's own panics in some of them.
fn slice(value: &Dyn, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Result<Dyn, Error> {
    if let Some(text) = value.as_str() {
        let chars: Vec<char> = text.chars().collect();
        return Ok(Dyn::from(places(chars.len(), start, stop, step)?.map(|at| chars[at]).collect::<String>()));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(invalid(format!("{} has no parts to take", kind(value))));
    }
    let items = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
    Ok(places(items.len(), start, stop, step)?.map(|at| items[at].clone()).collect::<Vec<_>>().into())
}

/// The indexes of a slice of `length` items, each below `length`.
fn places(length: usize, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Result<impl Iterator<Item = usize>, Error> {
    let step = i128::from(step.unwrap_or(1));
    if step == 0 {
        return Err(invalid("the step of a slice cannot be 0"));
    }
    let length = length as i128;
    let (first, last) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamp = |bound: i64| (if bound < 0 { i128::from(bound) + length } else { i128::from(bound) }).clamp(first, last);
    let start = start.map_or(if step > 0 { first } else { last }, clamp);
    let stop = stop.map_or(if step > 0 { last } else { first }, clamp);
    let mut at = start;
    Ok(std::iter::from_fn(move || {
        let inside = if step > 0 { at < stop } else { at > stop };
        let place = usize::try_from(at).ok().filter(|_| inside)?;
        at += step;
        Some(place)
    }))
}

fn concat(state: &mut State, left: &Dyn, right: &Dyn) -> Result<Dyn, Error> {
    let mut text = text_of(state, left)?;
    text.push_str(&text_of(state, right)?);
    RenderBudget::of(state).text(text.len())?;
    Ok(Dyn::from(text))
}

fn plus(state: &mut State, left: &Dyn, right: &Dyn) -> Result<Dyn, Error> {
    let list = |value: &Dyn| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    if let (ValueKind::String, ValueKind::String) = (left.kind(), right.kind()) {
        return concat(state, left, right);
    }
    if list(left) && list(right) {
        let items = left.len().unwrap_or_default().saturating_add(right.len().unwrap_or_default());
        RenderBudget::of(state).container(items)?;
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
        RenderBudget::of(state).text(text.len().saturating_mul(times))?;
        return Ok(Dyn::from(text.repeat(times)));
    }
    match numbers(left, right) {
        Some(Numbers::Int(left, right)) => left.checked_mul(right).map(Dyn::from).ok_or_else(overflow),
        Some(Numbers::Float(left, right)) => Ok(Dyn::from(left * right)),
        None => Err(cannot("multiply", left, "by", right)),
    }
}

/// Two numbers of one kind.
pub(super) enum Numbers {
    /// Integers.
    Int(i128, i128),
    /// Decimals, or one of each.
    Float(f64, f64),
}

/// Both operands as numbers; truth values are none.
pub(super) fn numbers(left: &Dyn, right: &Dyn) -> Option<Numbers> {
    if left.kind() != ValueKind::Number || right.kind() != ValueKind::Number {
        return None;
    }
    if left.is_integer() && right.is_integer() {
        return Some(Numbers::Int(i128::try_from(left.clone()).ok()?, i128::try_from(right.clone()).ok()?));
    }
    Some(Numbers::Float(f64::try_from(left.clone()).ok()?, f64::try_from(right.clone()).ok()?))
}

/// A result that does not fit.
pub(super) fn overflow() -> Error {
    invalid("the result does not fit 64 bits")
}

fn cannot(verb: &str, left: &Dyn, with: &str, right: &Dyn) -> Error {
    invalid(format!("cannot {verb} {} {with} {}", kind(left), kind(right)))
}

/// Refuses to make more than [`MAX_ITEMS`] items.
pub(super) fn bounded(filter: &str, count: usize) -> Result<usize, Error> {
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
    RenderBudget::of(state).work(count.saturating_mul(64))?;
    let numbers = (0..count as i64).map(|at| start.wrapping_add(at.wrapping_mul(step)));
    Ok(numbers.map(Dyn::from).collect::<Vec<_>>().into())
}
