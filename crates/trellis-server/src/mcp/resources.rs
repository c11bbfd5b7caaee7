//! Resources: graphs, their nodes and findings, and sessions with their records.

use std::sync::Arc;

use rmcp::model::{
    ArgumentInfo, CacheScope, CompletionContext, CompletionInfo, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Value as Json, json};
use trellis_core::draw;

use super::{McpDoor, apps, turn_report::tell};
use crate::{
    act::{self, HeadQuery, RecordQuery, Target, Walked},
    http,
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// The beginning of every address, up to the second of its slashes.
pub(super) const ALL: &str = "trellis:/";
/// The prefix of every address.
const SCHEME: &str = "trellis://";
/// The newest records that a resource has.
const MAX_RECORDS: usize = 500;

/// The target of an address.
enum Place {
    Graph(String),
    Node(String, String),
    Diagnostics(String),
    Session(String),
    Records(String),
}

impl Place {
    /// Reads an address; `only` is the graph that `trellis://graph` means.
    fn read(uri: &str, only: Option<&str>) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        if path == "graph" {
            return only.map(|name| Self::Graph(name.to_owned()));
        }
        let (kind, rest) = path.split_once('/')?;
        let (name, rest) = rest.split_once('/').map_or((rest, None), |(name, rest)| (name, Some(rest)));
        let name = decoded(name).filter(|name| !name.is_empty())?;
        match (kind, rest) {
            ("graphs", None) => Some(Self::Graph(name)),
            ("graphs", Some("diagnostics")) => Some(Self::Diagnostics(name)),
            ("graphs", Some(rest)) => Some(Self::Node(name, decoded(rest.strip_prefix("nodes/")?)?)),
            ("sessions", None) => Some(Self::Session(name)),
            ("sessions", Some("records")) => Some(Self::Records(name)),
            _ => None,
        }
    }
}

/// The beginning of the addresses of everything of a graph.
pub(super) fn of_graph(graph: &str) -> String {
    format!("{SCHEME}graphs/{}", encoded(graph))
}

/// The beginning of the addresses of everything of a session.
pub(super) fn of_session(session: &str) -> String {
    format!("{SCHEME}sessions/{}", encoded(session))
}

/// The address of the only graph.
pub(super) const GRAPH: &str = "trellis://graph";

/// The resources that have names; others have templates.
pub(super) fn resources(door: &McpDoor) -> Vec<Resource> {
    let mut resources = Vec::new();
    if door.served.only().is_some() {
        resources
            .push(Resource::new(GRAPH, "graph").with_description("The graph: its nodes and edges.").with_mime_type("application/json"));
    }
    for graph in door.served.all() {
        let (name, uri) = (&graph.name, of_graph(&graph.name));
        let drawn = Resource::new(&*uri, format!("{name}")).with_description("The graph: its nodes and edges.");
        let found = Resource::new(format!("{uri}/diagnostics"), format!("{name}: findings")).with_description("The mistakes of the graph.");
        resources.extend([drawn, found].map(|resource| resource.with_mime_type("application/json")));
    }
    resources
}

/// The templates of addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let json = "application/json";
    let template = |uri: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(format!("{SCHEME}{uri}"), name).with_description(about).with_mime_type(kind)
    };
    vec![
        template("graphs/{graph}", "graph", "A graph: its nodes and edges.", json),
        template("graphs/{graph}/nodes/{+id}", "node", "The file of a node.", "text/markdown"),
        template("graphs/{graph}/diagnostics", "findings", "The mistakes of a graph.", json),
        template("sessions/{id}", "session", "Where a session stands, what it said and asks.", json),
        template("sessions/{id}/records", "records", "The newest records of a session.", json),
    ]
}

/// Reads a resource.
///
/// # Errors
/// There is none.
pub(super) async fn read(door: &McpDoor, uri: &str) -> Result<ReadResourceResult, Trouble> {
    if uri == apps::PAGE {
        return Ok(apps::read());
    }
    let only = door.served.only().map(|graph| &*graph.name);
    let place = Place::read(uri, only);
    let place = place.ok_or_else(|| Trouble::new(Code::UnknownRoute, format!("there is no resource `{uri}`")))?;
    let (text, kind) = match place {
        Place::Graph(name) => (drawn(door.served.graph(Some(&name))?)?.to_string(), "application/json"),
        Place::Node(graph, id) => (act::node(door.served.graph(Some(&graph))?, &id)?.source, "text/markdown"),
        Place::Diagnostics(name) => (http::report(door.served.graph(Some(&name))?).to_string(), "application/json"),
        Place::Session(id) => {
            let target = Target::find(&door.served, &id, None).await?;
            let turn = target.sessions.view(&target.id).await?;
            (tell(&Walked { target, turn, is_repeated: false }).await?.json().to_string(), "application/json")
        }
        Place::Records(id) => {
            let target = Target::find(&door.served, &id, None).await?;
            let query = RecordQuery { from: 0, limit: MAX_RECORDS, newest: true };
            let page = act::records(&target.graph, &target.id, query).await?;
            let items: Vec<Json> = page.rows.into_iter().map(|row| row.json).collect();
            (json!({ "items": items, "first": page.first }).to_string(), "application/json")
        }
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// A graph, as `trellis graph --format json` has it.
fn drawn(graph: &ServedGraph) -> Result<Json, Trouble> {
    let program = graph.program()?;
    let mut json: Json = serde_json::from_str(&draw::draw(&program, draw::Format::Json)).unwrap_or_default();
    json["name"] = (&*graph.name).into();
    json["program"] = (&**program.fingerprint()).into();
    Ok(json)
}

/// Returns the names that begin with the typed text.
///
/// # Errors
/// A store fails.
pub(super) async fn complete(
    door: &McpDoor,
    template: &str,
    argument: &ArgumentInfo,
    context: Option<&CompletionContext>,
) -> Result<CompletionInfo, Trouble> {
    let chosen = context.and_then(|context| context.arguments.as_ref()).and_then(|arguments| arguments.get("graph"));
    let graphs =
        || -> Vec<&Arc<ServedGraph>> { door.served.all().filter(|graph| chosen.is_none_or(|chosen| *chosen == *graph.name)).collect() };
    let mut is_page = false;
    let names: Vec<String> = match (&*argument.name, template.contains("/sessions/")) {
        ("graph", _) => door.served.names().map(str::to_owned).collect(),
        ("id", false) => {
            let programs = graphs().into_iter().filter_map(|graph| graph.now().program);
            programs.flat_map(|program| program.nodes().iter().map(|node| node.id.to_string()).collect::<Vec<_>>()).collect()
        }
        ("id", true) => {
            let query = HeadQuery { id: Some(argument.value.clone()), limit: CompletionInfo::MAX_VALUES, ..HeadQuery::default() };
            let (heads, next) = act::list(&door.served, query).await?;
            is_page = next.is_some();
            heads.iter().filter_map(|head| Some(json!(head)["session"].as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let mut fit: Vec<String> = names.into_iter().filter(|name| name.starts_with(&argument.value)).collect();
    let total = fit.len();
    fit.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    // Of sessions, a page is read; nobody counts the others.
    (info.has_more, info.total) = (Some(is_page || total > fit.len()), u32::try_from(total).ok().filter(|_| !is_page));
    info.values = fit;
    Ok(info)
}

/// A name as a part of an address.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:@+".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// A part of an address as a name.
fn decoded(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), part.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_has_an_address() {
        for name in ["tour", "a b", "ü/ö", "100%"] {
            assert!(matches!(Place::read(&of_graph(name), None), Some(Place::Graph(read)) if read == name), "{name}");
        }
        assert!(
            matches!(Place::read("trellis://graphs/a/nodes/b/c", None), Some(Place::Node(graph, id)) if (&*graph, &*id) == ("a", "b/c"))
        );
        for none in ["trellis://graph", "trellis://graphs/", "trellis://graphs/a/nodez/b", "http://graphs/a", "trellis://graphs/%f"] {
            assert!(Place::read(none, None).is_none(), "{none}");
        }
    }
}
