//! A host with servers, and calls of their tools.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use trellis_core::{Dialect, Document, Program, Source, ToolError, ToolOutcome, Value, compile, state::PendingCall};
use trellis_host::{
    Bindings, Secrets,
    binding::{Caller, Host, check_bindings},
};

/// A program that binds tools, and the host that carries them out.
pub(crate) struct Stage {
    pub(crate) program: Arc<Program>,
    pub(crate) bindings: Bindings,
    pub(crate) host: Host,
    pub(crate) folder: tempfile::TempDir,
}

/// A call that is under way.
pub(crate) struct Asked {
    pub(crate) pending: PendingCall,
    pub(crate) caller: Caller,
    pub(crate) progress: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    /// A host for a `trellis.yaml`; `SCRIPTS` in it is the folder of the rude servers.
    pub(crate) fn new(project: &str) -> Self {
        Self::with(project, Secrets::new(|name| (name == "token").then(|| "hunter2hunter2".to_owned())))
    }

    pub(crate) fn with(project: &str, secrets: Secrets) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = program(project);
        let host = Host::new().secrets(secrets);
        let (bindings, found) = Bindings::new(&program, folder.path(), &host);
        assert!(found.is_empty(), "{found:?}");
        Self { program, bindings, host, folder }
    }

    /// Calls a tool with arguments as JSON.
    pub(crate) async fn call(&self, tool: &str, args: &str) -> Result<Value, ToolError> {
        self.carry_out(&asked(tool, args, None)).await
    }

    /// Calls a tool that has so many milliseconds.
    pub(crate) async fn call_within(&self, tool: &str, args: &str, timeout: u64) -> Result<Value, ToolError> {
        self.carry_out(&asked(tool, args, Some(timeout))).await
    }

    pub(crate) async fn carry_out(&self, asked: &Asked) -> Result<Value, ToolError> {
        match self.bindings.call(&self.program, &asked.pending, &asked.caller).await.outcome {
            ToolOutcome::Success(value) => Ok(value),
            ToolOutcome::Error(error) => Err(error),
            ToolOutcome::Denied(_) => unreachable!("nobody denies"),
        }
    }

    /// Reads the project anew, as a reload does.
    pub(crate) fn reload(&mut self, project: &str) {
        self.program = program(project);
        self.bindings = Bindings::new(&self.program, self.folder.path(), &self.host).0;
    }
}

/// A call of a tool.
pub(crate) fn asked(tool: &str, args: &str, timeout: Option<u64>) -> Asked {
    let timeout = timeout.map_or_else(String::new, |timeout| format!(r#","timeout":{timeout}"#));
    let pending = format!(
        r#"{{"id":"s-call-1","name":"{tool}","role":"do","node":"start","args":{args},"secrets":[],"idempotency_key":"s-key","attempt":1{timeout}}}"#
    );
    let progress = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&progress);
    let caller = Caller::new("s".into(), "graph".into(), move |line| lines.lock().unwrap().push(line.to_owned()));
    Asked { pending: serde_json::from_str(&pending).unwrap(), caller, progress }
}

fn program(project: &str) -> Arc<Program> {
    let documents = documents(project);
    let found = check_bindings(&documents);
    assert!(found.is_empty(), "{found:?}");
    let compiled = compile(&documents);
    compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

pub(crate) fn documents(project: &str) -> Vec<Arc<Document>> {
    let project = project.replace("SCRIPTS", &scripts().display().to_string());
    let project = project.replace("PEERS", &peers().display().to_string());
    [("start.yaml", "content: hello\n"), ("trellis.yaml", &project)]
        .map(|(path, text)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default())))
        .to_vec()
}

/// The folder of rude servers.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp")
}

/// The folder where `.ci/install` installs servers of others.
pub(crate) fn peers() -> PathBuf {
    trellis_tests::peers::peer("mcp")
}

/// Runs a test on one thread.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Waits until something holds; fails after two minutes.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2_400 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain until {what}");
}

/// The code of an error.
pub(crate) fn code(error: &ToolError) -> &str {
    error.code.as_ref().and_then(Value::as_str).unwrap_or_default()
}
