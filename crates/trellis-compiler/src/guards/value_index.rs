//! Many values, each found without looking at the others.

use rustc_hash::FxHashMap;

use trellis_base::value::Value;

/// Values that are compared one by one: most lists are short, and cost no table.
const MAX_UNINDEXED_VALUES: usize = 8;

/// Index from a value to the equal ones of a list.
#[derive(Default)]
pub(crate) struct Literals<'v> {
    scanned: Vec<(u32, &'v Value)>,
    more: ValueIndex<'v>,
}

#[derive(Default)]
struct ValueIndex<'v> {
    texts: FxHashMap<&'v str, Vec<u32>>,
    /// By the nearest double: equal numbers are under the same key.
    numbers: FxHashMap<u64, Vec<(u32, &'v Value)>>,
    others: Vec<(u32, &'v Value)>,
}

impl<'v> Literals<'v> {
    pub(crate) fn new(values: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut literals = Self::default();
        for (at, value) in (0..).zip(values) {
            literals.add(at, value);
        }
        literals
    }

    /// Adds a value under a number.
    pub(crate) fn add(&mut self, at: u32, value: &'v Value) {
        if self.scanned.len() < MAX_UNINDEXED_VALUES { self.scanned.push((at, value)) } else { self.more.add(at, value) }
    }

    /// The numbers of the values that are equal to this one.
    pub(crate) fn of(&self, value: &Value) -> impl Iterator<Item = u32> {
        let scanned = self.scanned.iter().filter(move |(_, other)| *other == value).map(|(at, _)| *at);
        scanned.chain(self.more.of(value))
    }

    pub(crate) fn has(&self, value: &Value) -> bool {
        self.of(value).next().is_some()
    }
}

impl<'v> ValueIndex<'v> {
    fn add(&mut self, at: u32, value: &'v Value) {
        match (value, number(value)) {
            (Value::Text(text), _) => self.texts.entry(text).or_default().push(at),
            (_, Some(number)) => self.numbers.entry(number).or_default().push((at, value)),
            (_, None) => self.others.push((at, value)),
        }
    }

    fn of(&self, value: &Value) -> impl Iterator<Item = u32> {
        let texts = if let Value::Text(text) = value { self.texts.get(&**text) } else { None };
        let others = match number(value) {
            Some(number) => self.numbers.get(&number).map_or(&[][..], Vec::as_slice),
            None if texts.is_some() => &[],
            None => &self.others,
        };
        let others = others.iter().filter(move |(_, other)| *other == value).map(|(at, _)| *at);
        texts.into_iter().flatten().copied().chain(others)
    }
}

#[expect(clippy::cast_precision_loss, reason = "equal numbers have the same nearest double; others are told apart")]
fn number(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return None,
    };
    // Zero has two signs.
    Some((number + 0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_equal() {
        let values = [
            Value::Int(1),
            Value::Float(1.0),
            Value::text("1"),
            Value::Bool(true),
            Value::Null,
            Value::Float(0.0),
            Value::Int(9_007_199_254_740_993),
            Value::Float(9_007_199_254_740_992.0),
            Value::UInt(u64::MAX),
            Value::from(vec![Value::Int(1)]),
            Value::text("1"),
        ];
        let literals = Literals::new(&values);
        for value in values.iter().chain([&Value::Float(-0.0), &Value::text(""), &Value::Int(2), &Value::from(vec![Value::Float(1.0)])]) {
            let mut found: Vec<u32> = literals.of(value).collect();
            found.sort_unstable();
            let equal: Vec<u32> = (0..).zip(&values).filter(|(_, other)| *other == value).map(|(at, _)| at).collect();
            assert_eq!(found, equal, "{value:?}");
            assert_eq!(literals.has(value), !equal.is_empty());
        }
    }
}
