//! Comparison of two values, without recursing on their depth.

use super::Value;

/// Returns whether two values are alike, where `same` compares values that are neither list nor mapping.
pub(super) fn alike(one: &Value, other: &Value, same: fn(&Value, &Value) -> bool) -> bool {
    let mut open = Vec::new();
    let mut pair = Some((one, other));
    while let Some((one, other)) = pair {
        let is_same = match (one, other) {
            (Value::List(a), Value::List(b)) => {
                a.is_shared(b) || a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b, same, &mut open))
            }
            (Value::Map(a), Value::Map(b)) => {
                let mut pairs = a.iter().zip(b.iter());
                a.is_shared(b) || a.len() == b.len() && pairs.all(|((key, a), (other, b))| key == other && is_same(a, b, same, &mut open))
            }
            (one, other) => same(one, other),
        };
        if !is_same {
            return false;
        }
        pair = open.pop();
    }
    true
}

/// Returns whether two parts are alike; lists and mappings are queued.
fn is_same<'v>(one: &'v Value, other: &'v Value, same: fn(&Value, &Value) -> bool, open: &mut Vec<(&'v Value, &'v Value)>) -> bool {
    if one.is_nested() && other.is_nested() {
        open.push((one, other));
        return true;
    }
    same(one, other)
}
