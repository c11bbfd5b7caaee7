//! `compute:`: a template file over the arguments of a call that makes a value (language 9.27).
//!
//! The file is read when the bindings are made, and again before a call where it was edited since.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use serde::Deserialize;
use trellis_core::{
    Diagnostic, Mapping, ToolError, Value,
    span::LineIndex,
    template::{Compute, DEFAULT_FUEL, RenderLimits},
};

use super::{
    Answer, Binding, DEFAULT_TIMEOUT, Job, Obstacle, Pending,
    config::{ConfigReader, given},
    kind::{Carrier, Site},
};

/// Steps that a file may take: it works through lists, where a template of a node prints a text.
const FUEL: u64 = 16 * DEFAULT_FUEL;

#[derive(Default, Deserialize)]
#[serde(default)]
struct ComputeConfig {
    #[serde(deserialize_with = "given")]
    compute: Option<PathBuf>,
}

/// A file that computes; it is read again once it was edited.
#[derive(Debug)]
struct ComputeFile {
    folder: PathBuf,
    path: PathBuf,
    parameters: Option<Value>,
    read: Mutex<ReadFile>,
}

/// A file as it was read: what it computes, or the reasons why it cannot.
#[derive(Debug)]
struct ReadFile {
    /// Its modification time and its size; `None` if they are unknown.
    stamp: Option<(SystemTime, u64)>,
    parsed: Result<Arc<Compute>, Vec<String>>,
    /// Names that no argument has.
    unknown: Vec<String>,
}

/// Reads `compute:`.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let help = |_: &str, _: &str| Some("write the path of a template file: `./lib/total.jinja`".to_owned());
    let path = reader.read::<ComputeConfig>(help).compute?;
    let parameters = site.graph.and_then(|graph| graph.bindings.get(site.tool)?.tool.parameters.as_ref()).map(|schema| &schema.value);
    Some(Carrier::new(ComputeFile::open(site.folder, &path, parameters)))
}

impl ComputeFile {
    fn open(folder: &Path, path: &Path, parameters: Option<&Value>) -> Self {
        let read = Mutex::new(ReadFile::of(folder, path, parameters));
        Self { folder: folder.to_owned(), path: path.to_owned(), parameters: parameters.cloned(), read }
    }

    /// Returns the template as it is now. If its file is gone, the last one stays.
    fn parsed(&self) -> Result<Arc<Compute>, Vec<String>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.folder.join(&self.path));
        if now.is_some() && now != read.stamp {
            *read = ReadFile::of(&self.folder, &self.path, self.parameters.as_ref());
        }
        read.parsed.clone()
    }

    fn result(&self, args: &Mapping, output: u64) -> Result<Value, ToolError> {
        let file = self.parsed().map_err(|why| ToolError::coded("compute", why.join("; ")).finally())?;
        file.evaluate(args, RenderLimits { output, fuel: FUEL }, output).map_err(ToolError::from)
    }
}

fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

impl ReadFile {
    fn of(folder: &Path, path: &Path, parameters: Option<&Value>) -> Self {
        let (shown, file) = (path.to_string_lossy().into_owned(), folder.join(path));
        // Before it is read: what is written in between is seen next time.
        let stamp = stamp(&file);
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => return Self { stamp, parsed: Err(vec![format!("`{shown}` cannot be read: {error}")]), unknown: Vec::new() },
        };
        let lines = |found: Vec<Diagnostic>| found.iter().map(|found| line(found, &text)).collect();
        match Compute::parse(&*shown, &*text) {
            Ok(file) => {
                let unknown = parameters.map(|parameters| lines(file.check(parameters))).unwrap_or_default();
                Self { stamp, parsed: Ok(Arc::new(file)), unknown }
            }
            Err(found) => Self { stamp, parsed: Err(lines(found)), unknown: Vec::new() },
        }
    }
}

/// A finding as one line, with its place in the file.
fn line(found: &Diagnostic, text: &str) -> String {
    let help = found.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    match &found.place {
        Some(place) => {
            let at = LineIndex::new(text).locate(place.span.start);
            format!("{}:{}:{}: {}{help}", place.path, at.line, at.column, found.message)
        }
        None => format!("{}{help}", found.message),
    }
}

impl Binding for ComputeFile {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move {
            let output = job.output_limit();
            let work = async { self.result(&job.args, output) };
            job.within(work).await.and_then(|value| job.bounded(value)).into()
        })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(DEFAULT_TIMEOUT)
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = read.parsed.as_ref().err().into_iter().flatten();
        let file = self.folder.join(&self.path);
        broken.chain(&read.unknown).map(|why| Obstacle::new("compute", why.clone()).of_file(&file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, parameters: &str) -> ComputeFile {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f.jinja"), text).unwrap();
        ComputeFile::open(folder.path(), Path::new("f.jinja"), Value::from_json(parameters).ok().as_ref())
    }

    fn run(text: &str, args: &str) -> Result<String, ToolError> {
        let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args}") };
        file(text, "").result(&args, 1 << 16).map(|value| value.to_json())
    }

    // language 9.27: an edit counts for the next call
    #[test]
    fn an_edited_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.jinja");
        fs::write(&path, "{% set result = 1 %}").unwrap();
        let file = ComputeFile::open(folder.path(), Path::new("f.jinja"), None);
        let result = || file.result(&Mapping::new(), 1 << 16).map(|value| value.to_json()).map_err(|error| error.message);
        assert_eq!(result().unwrap(), "1");
        fs::write(&path, "{% set result = 'two' %}").unwrap();
        assert_eq!(result().unwrap(), "\"two\"");
        fs::write(&path, "{% set result = %} and more").unwrap();
        assert!(result().unwrap_err().starts_with("f.jinja:1:"));
        fs::remove_file(&path).unwrap();
        assert!(result().is_err());
    }

    #[test]
    fn a_file_makes_a_value_or_an_error() {
        assert_eq!(run("{% set result = {'n': a + 1} %}", r#"{"a":1}"#).unwrap(), r#"{"n":2}"#);
        let error = run("{% set error = {'code': 'late', 'message': 'too late'} %}", "{}").unwrap_err();
        assert_eq!((error.code, error.message.as_str(), error.is_final), (Some(Value::text("late")), "too late", true));
        let broken = run("{% set result = %}", "{}").unwrap_err();
        assert!(broken.message.starts_with("f.jinja:1:"), "{}", broken.message);
        assert!(broken.is_final);
    }

    #[test]
    fn what_it_reads_is_held_to_the_parameters() {
        let parameters = r#"{"type":"object","required":["total"],"properties":{"total":{"type":"number"}}}"#;
        let found = file("{% set result = totl %}", parameters).obstacles();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("f.jinja:1:17") && found[0].message.contains("total"), "{}", found[0].message);
        let gone = ComputeFile::open(Path::new("/nowhere"), Path::new("f.jinja"), None);
        assert!(gone.obstacles()[0].message.contains("cannot be read"));
    }
}
