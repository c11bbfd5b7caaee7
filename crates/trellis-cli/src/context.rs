//! `--context`: the initial context of a session, from the command line and from files.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow, bail};
use trellis_core::{Context, Mapping, Value, path::KeyPath};

/// The initial context that these arguments make; later ones win.
///
/// # Errors
/// One of them is no JSON mapping, no `KEY=VALUE` and no file of one.
pub(crate) fn initial(arguments: &[String]) -> anyhow::Result<Mapping> {
    let mut context = Context::new(Mapping::new());
    for argument in arguments {
        if let Some((key, value)) = assignment(argument) {
            context.write(&key, value).map_err(|_| anyhow!("`--context {argument}`: something before the last dot is no mapping"))?;
        } else {
            for (key, value) in mapping(argument)?.iter() {
                context.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(context.to_mapping())
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
        Value::Map(initial(&arguments).unwrap()).to_json()
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
