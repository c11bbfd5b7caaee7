//! Integers that JavaScript does not hold exactly, as texts (`?integers=text`, `docs/serve.md#turns`).

use serde_json::Value as Json;

/// The largest integer that JavaScript holds exactly.
const EXACT: u64 = (1 << 53) - 1;

/// Writes large integers as texts.
pub(super) fn texts(json: &mut Json) {
    match json {
        Json::Number(number) => {
            let is_large =
                number.as_u64().is_some_and(|number| number > EXACT) || number.as_i64().is_some_and(|number| number.unsigned_abs() > EXACT);
            if is_large {
                *json = number.to_string().into();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(texts),
        Json::Object(entries) => entries.iter_mut().for_each(|(_, value)| texts(value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Integers are exact, as texts on request of the client.
    #[test]
    fn large_integers_become_texts() {
        let mut json = json!({ "a": [9_007_199_254_740_992_u64, 9_007_199_254_740_991_u64], "b": i64::MIN, "c": 0.5 });
        texts(&mut json);
        assert_eq!(json, json!({ "a": ["9007199254740992", 9_007_199_254_740_991_u64], "b": "-9223372036854775808", "c": 0.5 }));
    }
}
