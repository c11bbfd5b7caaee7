//! `--context`: the initial context of a session, from the command line and from files.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow, bail};
use trellis_core::{
    Context, Mapping, Program, Value,
    path::{KeyPath, is_name},
    schema::Schema,
    value::Key,
};

/// The initial context that a command line gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenContext {
    pub(crate) values: Mapping,
    /// The texts of `KEY=VALUE` whose value was read as JSON, by their keys.
    texts: Vec<(Key, String)>,
}

impl GivenContext {
    /// The context for a graph: a key that is declared as a text gets the text itself, `text=42`.
    pub(crate) fn for_graph(self, program: &Program) -> Mapping {
        let root = program.root();
        let inputs = root.inputs.as_ref().and_then(|inputs| inputs.source().as_map()?.get("properties")?.as_map());
        let declared = |key: &Key| {
            let of_inputs = inputs.and_then(|inputs| Schema::new(inputs.get(key)?).ok());
            of_inputs.or_else(|| root.types.iter().find(|(known, _)| known == key).map(|(_, schema)| schema.clone()))
        };
        let mut values = self.values;
        for (key, text) in self.texts {
            // A later argument may have given it otherwise.
            let is_read = |value: &&Value| Value::from_json(&text).is_ok_and(|read| read == **value);
            let Some((schema, value)) = declared(&key).zip(values.get(&key).filter(is_read)) else { continue };
            if !schema.fits(value) && schema.fits(&Value::text(&*text)) {
                values.insert(key, Value::text(text));
            }
        }
        values
    }
}

/// The initial context that these arguments make; later ones win.
///
/// # Errors
/// One of them is no JSON mapping, no `KEY=VALUE` and no file of one.
pub(crate) fn initial(arguments: &[String]) -> anyhow::Result<GivenContext> {
    let mut context = Context::new(Mapping::new());
    let mut texts = Vec::new();
    for argument in arguments {
        if let Some((key, text)) = argument.split_once('=').filter(|(key, _)| is_name(key)) {
            texts.push((Key::from(key), text.to_owned()));
        }
        if let Some((key, value)) = assignment(argument) {
            context.write(&key, value).map_err(|_| anyhow!("`--context {argument}`: something before the last dot is no mapping"))?;
        } else {
            for (key, value) in mapping(argument)?.iter() {
                context.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(GivenContext { values: context.to_mapping(), texts })
}

/// `KEY=VALUE`: the value is JSON if it parses as JSON, otherwise text.
pub(crate) fn assignment(argument: &str) -> Option<(KeyPath, Value)> {
    let (key, value) = argument.split_once('=')?;
    Some((KeyPath::parse(key)?, Value::from_json(value).unwrap_or_else(|_| Value::text(value))))
}

fn mapping(argument: &str) -> anyhow::Result<Mapping> {
    let is_json = argument.trim_start().starts_with('{');
    let text = if is_json { argument.to_owned() } else { read(argument)? };
    let what = if is_json { "`--context`".to_owned() } else { format!("`{argument}`") };
    match Value::from_json(&text).with_context(|| format!("{what} is no JSON"))? {
        Value::Map(mapping) => Ok(mapping),
        other => bail!("{what} is no mapping, but a {}", other.kind()),
    }
}

fn read(path: &str) -> anyhow::Result<String> {
    if !Path::new(path).exists() {
        bail!("`--context {path}` is no KEY=VALUE, no JSON mapping, and no such file");
    }
    fs::read_to_string(path).with_context(|| format!("`{path}` cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(arguments: &[&str]) -> String {
        let arguments = arguments.iter().map(ToString::to_string).collect::<Vec<_>>();
        Value::Map(initial(&arguments).unwrap().values).to_json()
    }

    #[test]
    fn values_are_json_where_they_can_be_and_text_elsewhere() {
        let arguments = ["n=5", "id=\"5\"", "name=Ana Paula", "a.b=true", "empty=", "url=http://x/?a=b"];
        let expected = r#"{"a":{"b":true},"empty":"","id":"5","n":5,"name":"Ana Paula","url":"http://x/?a=b"}"#;
        assert_eq!(json(&arguments), expected);
    }

    #[test]
    fn mappings_and_files_are_joined_and_later_ones_win() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), r#"{"a": 1, "b": 18446744073709551615}"#).unwrap();
        assert_eq!(json(&[file.path().to_str().unwrap(), r#"{"a": 2}"#, "c=3"]), r#"{"a":2,"b":18446744073709551615,"c":3}"#);
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        let refusal = |argument: &str| format!("{:#}", initial(&[argument.to_owned()]).unwrap_err());
        assert!(refusal("nowhere.json").contains("no such file"));
        assert!(refusal("{\"a\": 1").contains("is no JSON"));
        assert!(refusal("{\"a\": 99999999999999999999}").contains("64 bits"));
        assert!(initial(&["a=1".to_owned(), "a.b=2".to_owned()]).unwrap_err().to_string().contains("no mapping"));
    }
}
