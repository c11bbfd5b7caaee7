//! The carrier of a call, in words: for a person who decides about it.

use trellis_core::{
    Program, Value,
    state::{CallKind, PendingCall},
    syntax::project::HostConfig,
};

use super::{Bindings, root_of};

/// Methods of `http`, as its keys.
const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

impl Bindings {
    /// Returns what would carry a call of a tool out, as its author wrote it: a command, an address, a tool of a server. `None` if nothing here does.
    pub fn carrier(&self, program: &Program, call: &PendingCall) -> Option<String> {
        let root = root_of(program, call);
        if !matches!(call.kind, CallKind::Tool) || !self.binds(root, &call.name) {
            return None;
        }
        let graph = program.graphs().iter().find(|graph| *graph.root == *root)?;
        let written = graph.bindings.get(&call.name).filter(|_| !self.registered.contains_key(&call.name));
        Some(written.and_then(|syntax| described(&syntax.config)).unwrap_or_else(|| "a function of this program".to_owned()))
    }
}

fn described(config: &HostConfig) -> Option<String> {
    let text = |path: &[&str]| config.at(path).and_then(Value::as_str);
    if let Some(words) = config.get("process").and_then(Value::as_list) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Some(format!("`{}`", words.join(" ")));
    }
    if let Some(http) = config.get("http") {
        let (method, url) = METHODS.iter().find_map(|method| Some((method, http.get(method)?.as_str()?)))?;
        return Some(format!("{} {}{url}", method.to_uppercase(), http.get("base").map(base).unwrap_or_default()));
    }
    if let Some(mcp) = config.get("mcp") {
        let (server, tool) =
            mcp.as_str().map_or_else(|| Some((text(&["mcp", "server"])?, text(&["mcp", "tool"])?)), |name| name.split_once('/'))?;
        return Some(format!("the tool `{tool}` of the server `{server}`"));
    }
    let named = |words: &str, name: Option<&str>| name.map(|name| format!("{words} `{name}`"));
    named("the model", text(&["model", "role"]))
        .or_else(|| named("the builtin", text(&["builtin"])))
        .or_else(|| named("the file", text(&["compute"])))
        .or_else(|| named("the function", text(&["function"])))
}

/// The beginning of a URL: a text, or a variable.
fn base(base: &Value) -> String {
    let variable = || Some(format!("${}", base.get("env")?.as_str()?));
    base.as_str().map(str::to_owned).or_else(variable).unwrap_or_default()
}
