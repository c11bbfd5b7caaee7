//! Filters and tests: minijinja's, and our own where a filter could make more than it is given or prints values.

use std::collections::BTreeMap;

use minijinja::{
    Environment, Error, State, filters, tests,
    value::{Kwargs, Value as Dyn, ValueKind},
};

use super::{
    super::bridge::{Size, from_dyn, invalid, kind},
    RenderBudget,
    hooks::{Numbers, bounded, numbers, overflow, text_of},
};
use crate::value::Value;

/// Adds the filters of [`super::super::builtins::FILTERS`].
pub(super) fn add(engine: &mut Environment<'static>) {
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

/// Adds the tests of [`super::super::builtins::TESTS`].
pub(super) fn add_tests(engine: &mut Environment<'static>) {
    engine.add_test("boolean", tests::is_boolean);
    engine.add_test("defined", tests::is_defined);
    engine.add_test("divisibleby", |value: &Dyn, by: &Dyn| by.as_i64() != Some(0) && tests::is_divisibleby(value, by));
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
        RenderBudget::of(state).join(text.len(), item.len() + between.len())?;
        text.push_str(&item);
    }
    Ok(Dyn::from(text))
}

fn replace(state: &mut State, value: &Dyn, from: &Dyn, to: &Dyn) -> Result<Dyn, Error> {
    let (text, from, to) = (text_of(state, value)?, text_of(state, from)?, text_of(state, to)?);
    let places = text.matches(&*from).count();
    RenderBudget::of(state).text(text.len().saturating_add(places.saturating_mul(to.len())))?;
    Ok(Dyn::from(text.replace(&*from, &to)))
}

fn indent(state: &mut State, value: &Dyn, width: usize, first: Option<bool>, blank: Option<bool>) -> Result<Dyn, Error> {
    let text = text_of(state, value)?;
    let lines = text.split('\n').count();
    RenderBudget::of(state).text(text.len().saturating_add(lines.saturating_mul(width)))?;
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
    RenderBudget::of(state).text(text.len())?;
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
            None => return Err(invalid(format!("cannot add {} to a sum", kind(&item)))),
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
    let longest = RenderBudget::of(state).longest();
    let value = from_dyn(value, Size::printed(longest))?;
    let spaces = match indent {
        None => None,
        Some(indent) if indent.kind() == ValueKind::Bool => indent.is_true().then_some(2),
        Some(indent) => Some(indent.as_usize().filter(|&width| width <= 16).ok_or_else(|| invalid("`indent` is a number up to 16"))?),
    };
    let text = match spaces {
        None => value.to_json(),
        Some(width) => pretty(&value, width)?,
    };
    RenderBudget::of(state).text(text.len())?;
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
