//! The schemas of JSON Lines and of `check` in one document, in the form that generators of clients understand: what is valid stays the same.

use serde_json::{Map, Value as Json, json};

/// The place of schemas in the document.
const PLACE: &str = "#/components/schemas/";

/// Definitions of JSON Lines, and those of `check`.
pub(super) fn merged(lines: &Json, check: &Json) -> Json {
    // `input` is a line there, and what a host hands in here.
    let of_check = |name: &str| {
        let is_other = lines.get(name).is_some_and(|other| *other != check[name]);
        if is_other { format!("check_{name}") } else { name.to_owned() }
    };
    let mut schemas = renamed(lines, &line_name);
    schemas.extend(renamed(check, &of_check));
    let alternatives: Vec<_> = schemas.iter_mut().flat_map(|(name, schema)| named_alternatives(name, schema)).collect();
    schemas.extend(alternatives);
    let mut schemas = Json::Object(schemas);
    gather_constants(&mut schemas);
    schemas
}

/// The name of a line, which differs from that of its payload also where case does not count: generators make files of names.
fn line_name(name: &str) -> String {
    let is_line = name.chars().all(|char| char.is_ascii_uppercase() || char == '_');
    if is_line { format!("{}_line", name.to_ascii_lowercase()) } else { name.to_owned() }
}

/// Returns definitions under other names, with references to their new place.
fn renamed(definitions: &Json, name: &dyn Fn(&str) -> String) -> Map<String, Json> {
    let definitions = definitions.as_object().into_iter().flatten();
    let moved = definitions.map(|(key, schema)| {
        let mut schema = schema.clone();
        rewrite(&mut schema, name);
        (name(key), schema)
    });
    moved.collect()
}

fn rewrite(json: &mut Json, name: &dyn Fn(&str) -> String) {
    match json {
        Json::Object(entries) => {
            if let Some(Json::String(reference)) = entries.get_mut("$ref")
                && let Some(old) = reference.strip_prefix("#/$defs/")
            {
                *reference = format!("{PLACE}{}", name(old));
            }
            entries.iter_mut().for_each(|(_, value)| rewrite(value, name));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rewrite(item, name)),
        _ => {}
    }
}

/// Gives a name to each alternative of a schema that is an object with one needed key: generators make a class of each.
fn named_alternatives(name: &str, schema: &mut Json) -> Vec<(String, Json)> {
    let mut named = Vec::new();
    for alternative in schema.get_mut("oneOf").and_then(Json::as_array_mut).into_iter().flatten() {
        let key = match alternative["required"].as_array().map(Vec::as_slice) {
            Some([key]) if alternative["type"] == "object" => format!("{name}_{}", key.as_str().unwrap_or_default()),
            _ => continue,
        };
        let reference = json!({ "$ref": format!("{PLACE}{key}") });
        named.push((key, std::mem::replace(alternative, reference)));
    }
    named
}

/// Makes one `enum` of the texts among the alternatives of a schema, with a line for each that says what it means.
fn gather_constants(json: &mut Json) {
    match json {
        Json::Object(entries) => {
            if let Some(Json::Array(alternatives)) = entries.get("oneOf") {
                let (texts, others): (Vec<_>, Vec<_>) =
                    alternatives.iter().cloned().partition(|alternative| alternative["const"].is_string());
                if texts.len() > 1 {
                    let lines =
                        texts.iter().filter_map(|text| Some(format!("- `{}`: {}", text["const"].as_str()?, text["description"].as_str()?)));
                    let about = lines.collect::<Vec<_>>().join("\n");
                    let values: Vec<_> = texts.iter().map(|text| text["const"].clone()).collect();
                    replace_constants(entries, json!(values), &about, others);
                }
            }
            entries.iter_mut().for_each(|(_, value)| gather_constants(value));
        }
        Json::Array(items) => items.iter_mut().for_each(gather_constants),
        _ => {}
    }
}

fn replace_constants(entries: &mut Map<String, Json>, values: Json, about: &str, others: Vec<Json>) {
    if others.is_empty() {
        let description = entries.get("description").and_then(Json::as_str).unwrap_or_default();
        let description = [description, about].join("\n\n");
        entries.remove("oneOf");
        entries.extend([("type".into(), "string".into()), ("enum".into(), values), ("description".into(), description.trim().into())]);
    } else {
        let texts = json!({ "type": "string", "enum": values, "description": about });
        entries.insert("oneOf".into(), std::iter::once(texts).chain(others).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One name for one thing, whatever the case, and alternatives that have names.
    #[test]
    fn names_do_not_clash_and_alternatives_have_some() {
        let lines = json!({
            "END": { "properties": { "payload": { "$ref": "#/$defs/end" } } }, "end": { "type": "object" }, "input": { "title": "a line" },
            "role": { "oneOf": [
                { "const": "do", "description": "One." }, { "const": "before_each", "description": "Two." },
                { "type": "object", "required": ["undo"] },
            ] },
        });
        let check = json!({ "input": { "title": "a text" }, "moment": { "$ref": "#/$defs/input" }, "end": { "type": "object" } });
        let merged = merged(&lines, &check);
        let names: Vec<_> = merged.as_object().unwrap_or(&Map::new()).keys().cloned().collect();
        assert_eq!(names, ["check_input", "end", "end_line", "input", "moment", "role", "role_undo"]);
        assert_eq!(merged["end_line"]["properties"]["payload"]["$ref"], "#/components/schemas/end");
        assert_eq!((&merged["moment"]["$ref"], &merged["input"]["title"]), (&json!("#/components/schemas/check_input"), &json!("a line")));
        let role = json!([
            { "type": "string", "enum": ["do", "before_each"], "description": "- `do`: One.\n- `before_each`: Two." },
            { "$ref": "#/components/schemas/role_undo" },
        ]);
        assert_eq!(merged["role"]["oneOf"], role);
    }
}
