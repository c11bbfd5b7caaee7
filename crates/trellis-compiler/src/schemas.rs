//! Every JSON Schema of a graph is compiled once, however often it is written.

use rustc_hash::FxHashMap;

use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    schema::{Schema, SchemaError, without_keywords},
    span::Spanned,
    value::Value,
};
use trellis_syntax::node::ToolSyntax;

/// Compiled schemas by their JSON.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    known: FxHashMap<Box<[u8]>, Result<Schema, SchemaError>>,
    /// Number of schemas after the last full compilation.
    needed: usize,
    /// Room to write JSON in.
    room: Vec<u8>,
}

/// Schemas that edits may leave behind, at least.
const MIN_LEFTOVERS: usize = 256;

impl Schemas {
    /// Notes that everything was compiled.
    pub(super) fn are_all(&mut self) {
        self.needed = self.known.len();
    }

    /// The schemas for the next time, or none: those of texts that are gone must not pile up.
    pub(super) fn reusable(self) -> Self {
        let Self { known, needed, room } = self;
        if known.len() > needed * 2 + MIN_LEFTOVERS { Self { needed, ..Self::default() } } else { Self { known, needed, room } }
    }

    fn compile(&mut self, source: &Value) -> &Result<Schema, SchemaError> {
        self.room.clear();
        source.write_json(&mut self.room);
        // Looked up twice where it is new: an entry would need a key of its own each time.
        if !self.known.contains_key(self.room.as_slice()) {
            self.known.insert(self.room.as_slice().into(), Schema::new(source));
        }
        &self.known[self.room.as_slice()]
    }

    /// The compiled schema, if it is one; a mistake was reported elsewhere.
    pub(super) fn get(&mut self, source: &Value) -> Option<Schema> {
        self.compile(source).as_ref().ok().cloned()
    }

    /// Returns the compiled schema; a value that is no schema is reported under `code`.
    pub(super) fn checked(&mut self, code: Code, path: &FilePath, source: &Spanned<Value>, found: &mut Vec<Diagnostic>) -> Option<Schema> {
        match self.compile(&source.value) {
            Ok(schema) => {
                if let Some((at, key)) = without_keywords(schema.source()) {
                    let place = if at.is_empty() { String::new() } else { format!(" at `{at}`") };
                    let message = format!("this is no JSON Schema{place}: `{key}` is none of its words, so everything would fit");
                    let help = format!("what a mapping holds stands under `properties`: `properties: {{ {key}: {{ type: … }} }}`");
                    found.push(Diagnostic::new(code, path, source.span, message).help(help));
                }
                Some(schema.clone())
            }
            Err(error) => {
                let place = if error.path.is_empty() { String::new() } else { format!(" at `{}`", error.path) };
                found.push(
                    Diagnostic::new(code, path, source.span, format!("this is no JSON Schema{place}: {}", error.message))
                        .help("schemas are JSON Schema 2020-12, or of the draft that `$schema` names, written as YAML"),
                );
                None
            }
        }
    }

    /// Reports the schemas of a tool that are none.
    pub(super) fn check_tool(&mut self, path: &FilePath, tool: &ToolSyntax, found: &mut Vec<Diagnostic>) {
        for schema in tool.parameters.iter().chain(&tool.returns) {
            self.checked(Code::InvalidToolSchema, path, schema, found);
        }
    }
}
