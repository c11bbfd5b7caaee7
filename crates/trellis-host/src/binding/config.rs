//! Bindings as written become something that runs, or findings with their place.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, Visitor},
};
use serde_path_to_error::Segment;
use trellis_core::{
    Code, Diagnostic, Program,
    diagnostic::FilePath,
    program::Graph,
    span::Span,
    syntax::{document::Content, project::BindingSyntax},
};

use super::{absolute, process::Process};

/// What a binding comes to in this host.
#[derive(Debug, PartialEq)]
pub(super) enum Decoded {
    Process(Process),
    /// The name of a registered function: the tool's own, unless `function` is a text.
    Function(Arc<str>),
    /// A kind that this host does not carry out, or a bare contract.
    Foreign,
}

/// Kinds of binding that other hosts and builds carry out.
const FOREIGN: [&str; 3] = ["http", "mcp", "model"];
const GRACE: Duration = Duration::from_secs(5);

/// The project file that a graph's binding stands in.
pub(super) fn path_of(program: &Program, graph: &Graph, name: &Arc<str>, syntax: &BindingSyntax) -> FilePath {
    let here = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder) == &*graph.root;
    let named = |binding: &BindingSyntax| {
        binding.tool.span == syntax.tool.span && binding.tool.name.as_ref().is_some_and(|written| written.value == *name)
    };
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.bindings.iter().any(named),
        _ => false,
    };
    let found = program.documents().iter().find(|document| here(&document.path) && holds(&document.content));
    found.map_or_else(|| "trellis.yaml".into(), |document| Arc::clone(&document.path))
}

/// Decodes one binding; every finding is collected.
pub(super) fn decode(name: &str, syntax: &BindingSyntax, path: &FilePath, folder: &Path) -> Result<Decoded, Vec<Diagnostic>> {
    let config = &syntax.config;
    if FOREIGN.iter().any(|kind| config.contains(kind)) {
        return Ok(Decoded::Foreign);
    }
    let mut reader = Reader { syntax, path, found: Vec::new() };
    let function = config.get("function").map(|function| function.as_str().unwrap_or(name).into());
    let process = reader.read::<Vec<String>>("process");
    let env = reader.read::<BTreeMap<String, Plain>>("env").unwrap_or_default();
    let cwd = reader.read::<PathBuf>("cwd");
    let grace = reader.read::<Wait>("grace").map_or(GRACE, |wait| wait.0);
    let output = reader.read::<u64>("output_limit");
    if !reader.found.is_empty() {
        return Err(reader.found);
    }
    let Some(process) = process else { return Ok(function.map_or(Decoded::Foreign, Decoded::Function)) };
    let Some((command, args)) = process.split_first() else {
        reader.report("process", format!("the binding `{name}` names no command"), Some("write `process: [./bin/tool]`".into()));
        return Err(reader.found);
    };
    let folder = absolute(folder);
    #[cfg(feature = "processes")]
    let decoded = Decoded::Process(Process {
        file: Arc::clone(path),
        command: command.clone(),
        program: program(command, &folder),
        args: args.to_vec(),
        env: env.into_iter().map(|(name, value)| (name, value.0)).collect(),
        cwd: cwd.map_or_else(|| folder.clone(), |cwd| folder.join(cwd)),
        grace,
        output,
    });
    #[cfg(not(feature = "processes"))]
    let decoded = Decoded::Foreign;
    Ok(decoded)
}

/// A bare name goes through `PATH`; anything else is a path below the project's folder.
fn program(command: &str, folder: &Path) -> PathBuf {
    let is_path = command.contains('/') || (cfg!(windows) && command.contains('\\'));
    if is_path { folder.join(command) } else { PathBuf::from(command) }
}

struct Reader<'s> {
    syntax: &'s BindingSyntax,
    path: &'s FilePath,
    found: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// One key, decoded by itself so that a mistake in it hides no other.
    fn read<T: DeserializeOwned>(&mut self, key: &'static str) -> Option<T> {
        let value = serde_yaml::to_value(self.syntax.config.get(key)?).ok()?;
        match serde_path_to_error::deserialize(value) {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                let place = error.path().iter().fold(key.to_owned(), |path, segment| match segment {
                    Segment::Seq { index } => format!("{path}.{index}"),
                    Segment::Map { key } | Segment::Enum { variant: key } => format!("{path}.{key}"),
                    Segment::Unknown => path,
                });
                let why = error.into_inner().to_string();
                let why = why.strip_prefix("invalid type: ").or(why.strip_prefix("invalid value: ")).unwrap_or(&why);
                let help =
                    (key == "process").then(|| "write the command and its arguments as a list of texts: `[./bin/tool, --fast]`".into());
                self.report(&place, format!("`{place}` has the wrong type: {why}"), help);
                None
            }
        }
    }

    fn report(&mut self, place: &str, message: String, help: Option<String>) {
        let span = self.span(place);
        self.found.push(Diagnostic::new(Code::WrongType, self.path, span, message).help_maybe(help));
    }

    /// Where a path of the binding stands: the nearest place around it that is known.
    fn span(&self, place: &str) -> Span {
        let mut place = Some(place);
        while let Some(path) = place {
            if let Some(span) = self.syntax.spans.get(path) {
                return *span;
            }
            place = path.rsplit_once('.').map(|(around, _)| around);
        }
        self.syntax.tool.span
    }
}

/// A value of the environment: text, and what YAML makes of an unquoted number or truth.
struct Plain(String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, text: &str) -> Result<Plain, E> {
                Ok(Plain(text.to_owned()))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Plain, E> {
                Ok(Plain(truth.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// A duration such as `500ms`, `5s`, `2m`.
struct Wait(Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "ms" => Some(1),
            "s" => Some(1000),
            "m" => Some(60_000),
            _ => None,
        };
        let millis = unit.and_then(|unit| digits.parse::<u64>().ok()?.checked_mul(unit));
        let millis = millis.ok_or_else(|| D::Error::custom(format!("`{text}`, expected a duration such as `500ms`, `5s` or `2m`")))?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::{Value, span::Spanned, syntax::node::ToolSyntax};

    use super::*;

    fn binding(config: &str, spans: &[(&str, Span)]) -> BindingSyntax {
        let name = Some(Spanned::new("t".into(), Span::at(0)));
        let tool = ToolSyntax {
            span: Span::new(0, 99),
            name,
            description: None,
            parameters: None,
            returns: None,
            effect: None,
            timeout: None,
            retry: None,
        };
        let Value::Map(config) = Value::from_json(config).unwrap() else { panic!() };
        BindingSyntax { tool, config, spans: spans.iter().map(|(path, span)| ((*path).to_owned(), *span)).collect() }
    }

    fn read(config: &str, spans: &[(&str, Span)]) -> Result<Decoded, Vec<Diagnostic>> {
        decode("t", &binding(config, spans), &"trellis.yaml".into(), Path::new("/graph"))
    }

    #[test]
    fn relative_paths_start_at_the_project_and_bare_names_go_through_the_path() {
        let read = |config| match read(config, &[]).unwrap() {
            Decoded::Process(process) => process,
            other => panic!("{other:?}"),
        };
        let process = read(r#"{"process":["./bin/x","-v"],"cwd":"data","env":{"N":1},"grace":"2m"}"#);
        assert_eq!((process.program.as_path(), process.cwd.as_path()), (Path::new("/graph/./bin/x"), Path::new("/graph/data")));
        assert_eq!((process.env["N"].as_str(), process.grace), ("1", Duration::from_mins(2)));
        assert_eq!(read(r#"{"process":["python3"]}"#).program, Path::new("python3"));
        assert_eq!(read(r#"{"process":["python3","x.py"],"output_limit":9}"#).output, Some(9));
    }

    #[test]
    fn every_mistake_has_its_own_place() {
        let spans = [("process.1", Span::new(5, 6)), ("env", Span::new(7, 8)), ("grace", Span::new(9, 12))];
        let found = read(r#"{"process":["a",3],"env":{"A":[]},"grace":"soon"}"#, &spans).unwrap_err();
        let found: Vec<_> =
            found.iter().map(|finding| (finding.code, finding.place.as_ref().unwrap().span.start, finding.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (Code::WrongType, 5, "`process.1` has the wrong type: integer `3`, expected a string"),
                (Code::WrongType, 7, "`env.A` has the wrong type: sequence, expected a text"),
                (Code::WrongType, 9, "`grace` has the wrong type: `soon`, expected a duration such as `500ms`, `5s` or `2m`"),
            ]
        );
        let found = read(r#"{"process":"./bin/x --fast"}"#, &[]).unwrap_err();
        assert!(found[0].help.as_ref().unwrap().contains("as a list"), "{found:?}");
        assert!(read(r#"{"process":[]}"#, &[]).unwrap_err()[0].message.contains("names no command"));
    }

    #[test]
    fn other_kinds_are_left_to_others() {
        assert_eq!(read(r#"{"model":{"role":"worker"}}"#, &[]), Ok(Decoded::Foreign));
        assert_eq!(read("{}", &[]), Ok(Decoded::Foreign));
        assert_eq!(read(r#"{"function":"find"}"#, &[]), Ok(Decoded::Function("find".into())));
        assert_eq!(read(r#"{"function":{}}"#, &[]), Ok(Decoded::Function("t".into())));
    }
}
