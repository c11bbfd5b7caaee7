//! A graph with a model, and calls of it.

use std::sync::{Arc, Mutex};

use trellis_core::{
    Diagnostic, Dialect, Document, Program, Source, ToolError, ToolOutcome, ToolResult, Value, compile, state::PendingCall,
};
use trellis_host::{
    Bindings, Secrets,
    binding::{Caller, Delta, Host, check_bindings},
};

/// A node with two tools of its own, which calls a model.
const START: &str = "---\ntools: [lib/tools.yaml]\ndo: { name: ask, args: { prompt: hi } }\nsave_to: reply\non_error: end\nto: end\n---\n";
const TOOLS: &str = concat!(
    "tools:\n",
    "  - name: stock.find\n",
    "    description: Finds articles.\n",
    "    parameters: { type: object, required: [q], properties: { q: { type: string } } }\n",
    "  - { name: clock.now, effect: none }\n",
);

/// A program that binds `ask` to a model, and the host that carries it out.
pub(crate) struct Stage {
    pub(crate) program: Arc<Program>,
    pub(crate) bindings: Bindings,
    pub(crate) folder: tempfile::TempDir,
}

impl Stage {
    /// A graph with this project file; it must be sound.
    pub(crate) fn new(project: &str) -> Self {
        Self::with(project, &[])
    }

    /// The same with files beside it.
    pub(crate) fn with(project: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let documents = documents(project);
        let found = check_bindings(&documents);
        assert!(found.is_empty(), "{found:?}");
        let compiled = compile(&documents);
        let program = compiled.program.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        let secrets = Secrets::new(|name| (name == "key").then(|| "sk-hunter2hunter2".to_owned()));
        let (bindings, found) = Bindings::new(&program, folder.path(), &Host::new().secrets(secrets));
        assert!(found.is_empty(), "{found:?}");
        Self { program, bindings, folder }
    }

    /// Asks with these arguments as JSON.
    pub(crate) async fn ask(&self, args: &str) -> Result<Value, ToolError> {
        outcome(self.result(args, None).await.0)
    }

    /// Asks with a prompt, and hears what is told meanwhile; a text that is taken back begins with `!`.
    pub(crate) async fn watch(&self) -> (Result<Value, ToolError>, Vec<String>) {
        let (result, told) = self.result(r#"{"prompt":"hi"}"#, None).await;
        (outcome(result), told)
    }

    /// The whole result, with its facts, of a call that has so many milliseconds.
    pub(crate) async fn result(&self, args: &str, timeout: Option<u64>) -> (ToolResult, Vec<String>) {
        let (told, pending) = (Arc::new(Mutex::new(Vec::new())), pending(args, timeout));
        let heard = Arc::clone(&told);
        let caller = Caller::new("s".into(), "graph".into(), |_| {}).watched(move |Delta { text, is_reset }| {
            heard.lock().unwrap().push(if is_reset { format!("!{text}") } else { text.to_string() })
        });
        let result = self.bindings.call(&self.program, &pending, &caller).await;
        (result, std::mem::take(&mut *told.lock().unwrap()))
    }
}

/// The findings about the bindings of a project file.
pub(crate) fn findings(project: &str) -> Vec<Diagnostic> {
    check_bindings(&documents(project))
}

pub(crate) fn documents(project: &str) -> Vec<Arc<Document>> {
    let files = [("trellis.yaml", project), ("start.md", START), ("end.md", "---\n---\nBye.\n"), ("lib/tools.yaml", TOOLS)];
    files.map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default()))).into()
}

/// A call of the model at the node with tools.
pub(crate) fn pending(args: &str, timeout: Option<u64>) -> PendingCall {
    let timeout = timeout.map_or_else(String::new, |timeout| format!(r#","timeout":{timeout}"#));
    let pending = format!(
        concat!(
            r#"{{"id":"s-call-1","name":"ask","role":"do","node":"start","args":{},"idempotency_key":"s-key","attempt":1,"#,
            r#""offered":["stock.find","clock.now"]{}}}"#
        ),
        args, timeout
    );
    serde_json::from_str(&pending).unwrap()
}

pub(crate) fn outcome(result: ToolResult) -> Result<Value, ToolError> {
    match result.outcome {
        ToolOutcome::Success(value) => Ok(value),
        ToolOutcome::Error(error) => Err(error),
        ToolOutcome::Denied(_) => unreachable!("nobody denies"),
    }
}

/// The code of an error, and whether it is final.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, ToolError>) -> (String, bool) {
    let error = result.unwrap_err();
    let code = error.code.as_ref().and_then(|code| code.as_str()).map_or_else(|| format!("{:?}", error.kind), str::to_owned);
    (code, error.is_final)
}
