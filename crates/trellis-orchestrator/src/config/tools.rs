//! The settings of tools (orchestrator 6).

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use trellis_core::{Mapping, Value};

use super::{
    Settings,
    reader::{Reader, with_article},
};

/// The choice of shell lines that wait for an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShellMode {
    /// All but those that `allow` lists.
    #[default]
    Ask,
    /// Those that seem to write something.
    Patterns,
}

/// The reach of shell lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// All that this program can reach.
    #[default]
    None,
    /// They write among the files only, see neither `runtime/` nor `.env`, and have no network: `bwrap` is required.
    Bwrap,
}

/// The settings of the shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellSettings {
    /// The choice of lines that wait for an approval.
    pub mode: ShellMode,
    /// Lines that run without one, compared literally.
    pub allow: Vec<String>,
    /// The reach of lines.
    pub sandbox: Sandbox,
}

/// Tools that may open secrets named in the settings.
const OPENING: [&str; 2] = ["file", "shell"];

/// Folders of a workspace that do not hold files.
const RESERVED: [&str; 4] = ["agents", "memory", "runtime", "templates"];

/// Reads the section into the settings.
pub(super) fn read(reader: &mut Reader<'_>, settings: &mut Settings) {
    reader.mapping("tools", &["file", "shell", "web"]);
    if let Some(web) = reader.mapping("tools.web", &["allow_private"]) {
        settings.web_private = web.get("allow_private").map(|hosts| hosts_of(reader, hosts)).unwrap_or_default();
    }
    if let Some(shell) = reader.mapping("tools.shell", &["allow", "mode", "sandbox", "secrets"]) {
        settings.shell = shell_of(reader, shell);
    }
    if reader.mapping("tools.file", &["folder", "secrets"]).is_some()
        && let Some(folder) = reader.text("tools.file.folder", &["tools", "file", "folder"])
    {
        let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_');
        if folder.is_empty() || !folder.chars().all(is_plain) || RESERVED.contains(&folder) {
            let message = format!("`{folder}` is no folder of files");
            reader.report("tools.file.folder", message, "write one name for a folder of the workspace, such as `files`");
        } else {
            settings.files = folder.to_owned();
        }
    }
    for tool in OPENING {
        let place = format!("tools.{tool}.secrets");
        let named = reader.config.at(&["tools", tool, "secrets"]);
        let names: BTreeSet<String> = reader.texts(&place, named).into_iter().collect();
        if !names.is_empty() {
            settings.secrets.insert(tool.to_owned(), names);
        }
    }
}

fn shell_of(reader: &mut Reader<'_>, shell: &Mapping) -> ShellSettings {
    let mode = match reader.text("tools.shell.mode", &["tools", "shell", "mode"]) {
        None | Some("ask") => ShellMode::Ask,
        Some("patterns") => ShellMode::Patterns,
        Some(other) => {
            let help = "write `ask`, so that every line waits, or `patterns`, so that those wait which write something";
            reader.report("tools.shell.mode", format!("there is no mode `{other}`"), help);
            ShellMode::Ask
        }
    };
    let sandbox = match reader.text("tools.shell.sandbox", &["tools", "shell", "sandbox"]) {
        Some("bwrap") => Sandbox::Bwrap,
        Some("none") => Sandbox::None,
        // Lines that nobody reviews run in a sandbox, unless the settings say otherwise.
        None if mode == ShellMode::Patterns => Sandbox::Bwrap,
        None => Sandbox::None,
        Some(other) => {
            reader.report("tools.shell.sandbox", format!("there is no sandbox `{other}`"), "write `bwrap` or `none`");
            Sandbox::Bwrap
        }
    };
    ShellSettings { mode, allow: reader.texts("tools.shell.allow", shell.get("allow")), sandbox }
}

/// The hosts of a list, each a name or an address, perhaps with a port.
fn hosts_of(reader: &mut Reader<'_>, value: &Value) -> Vec<String> {
    const PLACE: &str = "tools.web.allow_private";
    let Value::List(hosts) = value else {
        reader.report(PLACE, format!("`{PLACE}` takes a list of hosts, not {}", with_article(value.kind())), "write `[wiki.internal]`");
        return Vec::new();
    };
    let mut read = Vec::new();
    for (at, host) in hosts.iter().enumerate() {
        match host.as_str().and_then(host_of) {
            Some(host) => read.push(host),
            None => {
                let message = format!("`{}` is no host", host.to_json());
                reader.report(
                    &format!("{PLACE}.{at}"),
                    message,
                    "write a name or an address, such as `wiki.internal` or `\"10.0.0.7:8080\"`",
                );
            }
        }
    }
    read
}

/// A host in the form in which URLs have it; `None` if the text is no host.
fn host_of(text: &str) -> Option<String> {
    let url = url::Url::parse(&format!("https://{text}")).ok()?;
    let host = url.host_str()?;
    let is_host_alone = url.path() == "/" && !text.ends_with('/') && url.query().is_none() && url.fragment().is_none();
    let is_plain = url.username().is_empty() && url.password().is_none() && !text.contains(['@', '*', '\\']);
    (is_host_alone && is_plain).then(|| match text.rsplit_once(':') {
        // 443 is the port that a URL leaves out.
        Some((_, port)) if !text.ends_with(']') => format!("{host}:{port}"),
        _ => host.to_owned(),
    })
}

/// The schema of the section.
pub(super) fn tools_schema() -> Json {
    let texts = |description: &str| {
        let item = json!({ "type": "string", "minLength": 1 });
        json!({ "description": description, "type": "array", "items": item, "default": [] })
    };
    let section = |properties: Json| json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties });
    section(json!({
        "file": section(json!({
            "folder": { "description": "The folder of files, below the workspace", "type": "string", "pattern": "^[\\p{L}\\p{N}_-]+$", "default": "files" },
            "secrets": texts("Secrets that may be filled in, besides those that were sealed in the chat")
        })),
        "shell": section(json!({
            "allow": texts("Lines that run without an approval, to the letter"),
            "mode": { "description": "Which lines wait for an approval: all others, or those that look as if they wrote something", "enum": ["ask", "patterns"], "default": "ask" },
            "sandbox": { "description": "What lines can reach; patterns are none, so their mode has bwrap unless this says otherwise", "enum": ["bwrap", "none"] },
            "secrets": texts("Secrets that may be filled in, besides those that were sealed in the chat")
        })),
        "web": section(json!({
            "allow_private": texts("Hosts, perhaps with a port, that are read also where their address is not public")
        }))
    }))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CONFIG_FILE, read},
        *,
    };

    fn messages(text: &str) -> Vec<String> {
        read(CONFIG_FILE, text).1.into_iter().map(|finding| finding.message.to_string()).collect()
    }

    // orchestrator 6: `patterns` needs bwrap, or `sandbox: none` by hand
    #[test]
    fn a_shell_has_a_mode_and_a_sandbox() {
        let shell = |text: &str| read(CONFIG_FILE, &format!("tools: {{ shell: {text} }}\n")).0.shell;
        assert_eq!(shell("{}"), ShellSettings::default());
        assert_eq!(shell("{ mode: patterns }").sandbox, Sandbox::Bwrap);
        assert_eq!(shell("{ mode: patterns, sandbox: none }").sandbox, Sandbox::None);
        let (mode, sandbox) = (ShellMode::Ask, Sandbox::Bwrap);
        assert_eq!(
            shell("{ sandbox: bwrap, allow: [date, \"ls -l\"] }"),
            ShellSettings { mode, allow: vec!["date".into(), "ls -l".into()], sandbox }
        );
        let found = messages("tools: { shell: { mode: yolo, sandbox: docker, allow: date } }\n");
        assert_eq!(found, ["there is no mode `yolo`", "there is no sandbox `docker`", "`tools.shell.allow` takes a list, not a text"]);
    }

    // orchestrator 6, 6.1
    #[test]
    fn files_have_a_folder_and_secrets_their_tools() {
        let (settings, found) = read(CONFIG_FILE, "tools: { file: { folder: docs, secrets: [mail] }, shell: { secrets: [mail, ssh] } }\n");
        assert!(found.is_empty(), "{found:?}");
        let opens =
            [("file", "mail"), ("file", "ssh"), ("shell", "ssh"), ("web", "mail")].map(|(tool, name)| settings.may_open(tool, name));
        assert_eq!((&*settings.files, opens), ("docs", [true, false, true, false]));
        for folder in ["../x", "a/b", "runtime", ".", "\"\""] {
            assert_eq!(messages(&format!("tools: {{ file: {{ folder: {folder} }} }}\n")).len(), 1, "{folder}");
        }
        assert_eq!(messages("tools: { web: { secrets: [mail] } }\n"), ["there is no key `tools.web.secrets`"]);
    }

    // orchestrator 1.4, 6
    #[test]
    fn hosts_are_read_as_urls_have_them() {
        let (settings, found) =
            read(CONFIG_FILE, "tools: { web: { allow_private: [Wiki.Internal, \"10.0.0.7:8080\", \"[::1]:443\", \"127.1\"] } }\n");
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(settings.web_private, ["wiki.internal", "10.0.0.7:8080", "[::1]:443", "127.0.0.1"]);
        let text = "tools: { web: { allow_private: [a/b, \"*\", \"ana@wiki\", 7, \"http://wiki\", \"\"] }, shell: { mod: ask } }\n";
        let (_, found) = read(CONFIG_FILE, text);
        let messages: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        let hosts = ["`\"a/b\"`", "`\"*\"`", "`\"ana@wiki\"`", "`7`", "`\"http://wiki\"`", "`\"\"`"];
        let mut expected: Vec<String> = hosts.iter().map(|host| format!("{host} is no host")).collect();
        expected.push("there is no key `tools.shell.mod`".to_owned());
        assert_eq!(messages, expected);
        let (_, found) = read(CONFIG_FILE, "tools: { web: { allow_private: wiki, private: [] } }\n");
        let messages: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        assert_eq!(messages, ["`tools.web.allow_private` takes a list of hosts, not a text", "there is no key `tools.web.private`"]);
    }
}
