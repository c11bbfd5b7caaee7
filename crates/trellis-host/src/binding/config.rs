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
    de::{Error as _, MapAccess, Visitor},
};
use serde_path_to_error::Segment;
use trellis_core::{
    Code, Diagnostic, Document, Mapping, Program,
    diagnostic::FilePath,
    program::Graph,
    span::Span,
    syntax::{document::Content, duration, project::BindingSyntax},
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

/// What [`super::Bindings::new`] would refuse of the bindings of a graph's files, at its place; also where the graph has other mistakes.
pub fn check_bindings(documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        for binding in &project.bindings {
            let name = binding.tool.name.as_ref().map_or("", |name| &*name.value);
            found.extend(decode(name, binding, &document.path, Path::new("")).err().into_iter().flatten());
        }
    }
    found
}

/// Decodes one binding; every finding is collected.
pub(super) fn decode(name: &str, syntax: &BindingSyntax, path: &FilePath, folder: &Path) -> Result<Decoded, Vec<Diagnostic>> {
    let config = &syntax.config.values;
    if FOREIGN.iter().any(|kind| config.contains(kind)) {
        return Ok(Decoded::Foreign);
    }
    let mut reader = ConfigReader { syntax, path, found: Vec::new() };
    let Config { function, process, env, cwd, grace, output_limit } = reader.read(config);
    if process.as_ref().is_some_and(Vec::is_empty) {
        reader.report("process", format!("the binding `{name}` names no command"), Some("write `process: [./bin/tool]`".into()));
    }
    if !reader.found.is_empty() {
        reader.found.sort_by(|one, other| one.order().cmp(&other.order()));
        return Err(reader.found);
    }
    let Some((command, args)) = process.as_deref().and_then(<[String]>::split_first) else {
        let named = |FunctionName(own): FunctionName| Decoded::Function(own.map_or_else(|| name.into(), Into::into));
        return Ok(function.map_or(Decoded::Foreign, named));
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
        grace: grace.map_or(GRACE, |wait| wait.0),
        output: output_limit,
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

/// What a host reads of a binding: every key that is not the contract's, and not another host's kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    #[serde(deserialize_with = "given")]
    function: Option<FunctionName>,
    #[serde(deserialize_with = "given")]
    process: Option<Vec<String>>,
    env: BTreeMap<String, Plain>,
    #[serde(deserialize_with = "given")]
    cwd: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    grace: Option<Wait>,
    #[serde(deserialize_with = "given")]
    output_limit: Option<u64>,
}

/// A key that is there has a value: null is none.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

struct ConfigReader<'s> {
    syntax: &'s BindingSyntax,
    path: &'s FilePath,
    found: Vec<Diagnostic>,
}

impl ConfigReader<'_> {
    /// All keys. Decoding ends at the first mistake, so a key with one is reported and left out, and the others are decoded again.
    fn read(&mut self, config: &Mapping) -> Config {
        let Ok(serde_yaml::Value::Mapping(mut keys)) = serde_yaml::to_value(config) else { return Config::default() };
        loop {
            let error = match serde_path_to_error::deserialize(serde_yaml::Value::from(keys.clone())) {
                Ok(decoded) => return decoded,
                Err(error) => error,
            };
            let segments = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } | Segment::Enum { variant: key } => Some(key.clone()),
                Segment::Unknown => None,
            });
            let segments: Vec<String> = segments.collect();
            let Some(key) = segments.first().filter(|key| keys.remove(key.as_str()).is_some()) else {
                self.report("", format!("the binding cannot be read: {}", error.into_inner()), None);
                return Config::default();
            };
            let (place, why) = (segments.join("."), error.inner().to_string());
            let unfit = why.strip_prefix("invalid type: ").or(why.strip_prefix("invalid value: "));
            let message = match unfit.and_then(|why| why.rsplit_once(", expected ")) {
                Some((met, wanted)) => format!("`{place}` takes {}, not {}", wanted_words(wanted), met_words(met)),
                None => unfit.unwrap_or(&why).to_owned(),
            };
            let help = match key.as_str() {
                "process" => Some("write the command and its arguments as a list of texts: `[./bin/tool, --fast]`".to_owned()),
                "function" => Some("write the name that the program registers, or `{}` for the tool's own".to_owned()),
                "grace" => Some(duration::help(&config.get("grace").map(ToString::to_string).unwrap_or_default())),
                _ => None,
            };
            self.report(&place, message, help);
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
            if let Some(span) = self.syntax.config.spans.get(path) {
                return *span;
            }
            place = path.rsplit_once('.').map(|(around, _)| around);
        }
        self.syntax.tool.span
    }
}

/// The name of a registered function; nothing for the tool's own, `{}`.
struct FunctionName(Option<String>);

impl<'de> Deserialize<'de> for FunctionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = FunctionName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E>(self, name: &str) -> Result<FunctionName, E> {
                Ok(FunctionName(Some(name.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<FunctionName, E> {
                Ok(FunctionName(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<FunctionName, A::Error> {
                match entries.next_key::<String>()? {
                    None => Ok(FunctionName(None)),
                    Some(key) => Err(A::Error::custom(format!("`function` takes a name or `{{}}`, not a mapping with `{key}`"))),
                }
            }
        }
        deserializer.deserialize_any(Name)
    }
}

/// What serde expects, in our words.
fn wanted_words(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list of texts",
        "a string" => "a text",
        "path string" => "a path",
        "u64" => "a whole number from 0 on",
        "a map" => "a mapping",
        wanted => wanted,
    }
}

/// What serde met instead.
fn met_words(met: &str) -> &str {
    match met.split(' ').next() {
        Some("string") => "a text",
        Some("integer") if met.contains("`-") => "a negative number",
        Some("integer") => "an integer",
        Some("floating") => "a decimal",
        Some("boolean") => "a boolean",
        Some("sequence") => "a list",
        Some("map") => "a mapping",
        Some("unit" | "null" | "Option") => "null",
        _ => met,
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

/// A duration as graphs have them.
struct Wait(Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(text) = Plain::deserialize(deserializer)?;
        duration::parse(&text).map(Self).ok_or_else(|| D::Error::custom(format!("`{text}` is no duration")))
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::{Value, span::Spanned, syntax::node::ToolSyntax, syntax::project::HostConfig};

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
        let spans = spans.iter().map(|(path, span)| ((*path).to_owned(), *span)).collect();
        BindingSyntax { tool, config: HostConfig { values: config, spans, ..HostConfig::default() } }
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
        let process = read(r#"{"process":["./bin/x","-v"],"cwd":"data","env":{"N":1},"grace":"1m30s"}"#);
        assert_eq!((process.program.as_path(), process.cwd.as_path()), (Path::new("/graph/./bin/x"), Path::new("/graph/data")));
        assert_eq!((process.env["N"].as_str(), process.grace), ("1", Duration::from_secs(90)));
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
                (Code::WrongType, 5, "`process.1` takes a text, not an integer"),
                (Code::WrongType, 7, "`env.A` takes a text, not a list"),
                (Code::WrongType, 9, "`soon` is no duration"),
            ]
        );
        let found = read(r#"{"process":[],"grace":5,"output_limit":-1}"#, &[]).unwrap_err();
        let found: Vec<_> = found.iter().map(|finding| finding.message.as_str()).collect();
        let no_command = "the binding `t` names no command";
        assert_eq!(found, ["`5` is no duration", "`output_limit` takes a whole number from 0 on, not a negative number", no_command]);
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

    #[test]
    fn a_function_is_a_name_or_the_tools_own() {
        for (config, why) in [
            (r#"{"function":3}"#, "a name, not an integer"),
            (r#"{"function":["find"]}"#, "a name, not a list"),
            (r#"{"function":{"name":"find"}}"#, "a name or `{}`, not a mapping with `name`"),
        ] {
            let found = read(config, &[("function", Span::new(3, 4))]).unwrap_err();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].message, format!("`function` takes {why}"));
            assert_eq!(found[0].place.as_ref().unwrap().span, Span::new(3, 4));
            assert!(found[0].help.is_some());
        }
    }
}
