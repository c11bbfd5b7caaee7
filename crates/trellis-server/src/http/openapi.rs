//! OpenAPI 3.1 of all routes, generated from their table and from the schemas of JSON Lines and `check`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::{route::Route, routes::routes, schemas::merged};
use crate::trouble::Code;

/// Codes that every route has.
const ANY: [Code; 7] =
    [Code::BadHost, Code::BadOrigin, Code::HeadersTooLarge, Code::TooMany, Code::BadRequest, Code::Internal, Code::Unauthenticated];
/// Codes of routes that take a body.
const BODY: [Code; 4] = [Code::BadJson, Code::MediaType, Code::TooLarge, Code::TooSlow];

/// The OpenAPI document of all routes, as `trellis schema openapi` prints it, and a server of one graph.
pub fn openapi() -> Json {
    document(true)
}

/// Returns the document of a server, which serves one graph alone, or several.
pub(super) fn document(is_alone: bool) -> Json {
    let mut paths = BTreeMap::<String, Map<String, Json>>::new();
    for route in routes(is_alone) {
        let path = route.path.replace("{*", "{");
        paths.entry(path).or_default().insert(route.method.to_lowercase(), operation(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trellis",
            "description": "Markdown graphs over HTTP. What a session says and takes are the objects of JSON Lines.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7317", "description": "The address that `trellis serve` prints." }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": { "schemas": schemas(), "securitySchemes": { "token": { "type": "http", "scheme": "bearer", "description": "The token that is printed where the server starts, or one of its tokens file." } } },
    })
}

fn operation(route: &Route) -> Json {
    let mut operation = Map::new();
    operation.insert("operationId".into(), route.id.into());
    operation.insert("summary".into(), route.summary.into());
    match route.right {
        Some(right) => drop(operation.insert("description".into(), format!("The token needs the right `{right}`.").into())),
        None => drop(operation.insert("security".into(), json!([]))),
    }
    let mut parameters: Vec<Json> = names(route.path).map(path_parameter).collect();
    parameters.extend(route.query.iter().map(|known| {
        json!({ "name": known.name, "in": "query", "required": false, "description": known.about, "schema": { "type": known.kind } })
    }));
    if route.right.is_some() && !route.query.iter().any(|known| known.name == "integers") {
        parameters.push(json!({
            "name": "integers", "in": "query", "required": false, "description": "`text` sends integers above 2^53 as texts.", "schema": { "type": "string" },
        }));
    }
    parameters.extend(route.headers.iter().map(
        |name| json!({ "name": name, "in": "header", "required": is_needed(name, route), "description": header(name), "schema": { "type": "string" } }),
    ));
    if !parameters.is_empty() {
        operation.insert("parameters".into(), parameters.into());
    }
    if let Some(schema) = route.takes {
        let example: Json = serde_json::from_str(route.example).unwrap_or_default();
        let content = json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") }, "example": example } });
        operation.insert("requestBody".into(), json!({ "required": schema != "nothing", "content": content }));
    }
    operation.insert("responses".into(), responses(route).into());
    Json::Object(operation)
}

/// The names in a path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).map(|name| name.trim_start_matches('*'))
}

fn path_parameter(name: &str) -> Json {
    let (about, schema) = match name {
        "id" => ("The name of the session.", json!({ "type": "string", "maxLength": 128 })),
        "graph" => ("The name of the graph.", json!({ "type": "string" })),
        "seq" => ("The number of the record.", json!({ "type": "integer", "minimum": 0 })),
        "call" => ("The id or the key of the call.", json!({ "type": "string" })),
        "node" => ("The id of the node; it may have a `/`.", json!({ "type": "string" })),
        _ => ("The code.", json!({ "type": "string" })),
    };
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
}

/// Returns whether a route refuses requests without this header.
fn is_needed(header: &str, route: &Route) -> bool {
    header == "If-Match" && route.codes.iter().any(|codes| codes.contains(&Code::IfMatchRequired))
}

fn header(name: &str) -> &'static str {
    match name {
        "If-Match" => "The `ETag` of the turn that is meant.",
        "If-None-Match" => "The `ETag` that the client has.",
        "Idempotency-Key" => "A name of this request: sent again, it is taken once.",
        "Prefer" => "`wait=S`: how many seconds to wait for the next stop, at most 60.",
        "Last-Event-ID" => "The `id` of the last event that the client has.",
        _ => "",
    }
}

fn responses(route: &Route) -> Map<String, Json> {
    let mut responses = Map::new();
    for (status, schema) in route.answers {
        let response = responses.entry(status.to_string()).or_insert_with(|| json!({ "description": status_text(*status) }));
        let (kind, form) = match *schema {
            "" => continue,
            kind if kind.contains('/') => (kind, json!({ "type": "string" })),
            "object" => ("application/json", json!({ "type": "object" })),
            name => ("application/json", json!({ "$ref": format!("#/components/schemas/{name}") })),
        };
        response["content"][kind] = json!({ "schema": form });
        if *schema == "turn" {
            response["headers"] = json!({ "ETag": { "description": "The number of the turn.", "schema": { "type": "string" } } });
        }
    }
    for (status, codes) in problems(route) {
        let codes = codes.iter().map(|code| format!("`{}`", code.as_str())).collect::<Vec<_>>().join(", ");
        let schema = json!({ "schema": { "$ref": "#/components/schemas/problem" } });
        responses.insert(status.to_string(), json!({ "description": codes, "content": { "application/problem+json": schema } }));
    }
    responses
}

/// The codes of a route by status.
fn problems(route: &Route) -> BTreeMap<u16, BTreeSet<Code>> {
    let mut by_status = BTreeMap::<u16, BTreeSet<Code>>::new();
    let own = route.codes.iter().flat_map(|codes| codes.iter().copied());
    let body = BODY.into_iter().filter(|_| route.takes.is_some());
    let any = ANY.into_iter().filter(|code| route.right.is_some() || *code != Code::Unauthenticated);
    let right = [Code::Forbidden].into_iter().filter(|_| route.right.is_some());
    for code in own.chain(body).chain(any).chain(right) {
        by_status.entry(code.status()).or_default().insert(code);
    }
    by_status
}

fn status_text(status: u16) -> &'static str {
    match status {
        200 => "It was done.",
        201 => "It was begun.",
        202 => "It continues by itself.",
        204 => "It is gone.",
        304 => "Nothing is new.",
        _ => "It was done.",
    }
}

/// Returns the schemas of JSON Lines and `check`, and those of HTTP alone.
fn schemas() -> Json {
    let lines = trellis_host::wire::schema(&trellis_project::wire::definitions());
    let check = trellis_project::wire::schema();
    let mut schemas = merged(&lines["$defs"], &check["$defs"]);
    let request = |required: &[&str], properties: Json| json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties });
    let (text, number, object) = (json!({ "type": "string" }), json!({ "type": "integer", "minimum": 0 }), json!({ "type": "object" }));
    let list = |item: Json| {
        json!({
            "type": "object", "required": ["items", "next"],
            "properties": { "items": { "type": "array", "items": item }, "next": { "type": ["string", "null"] } },
        })
    };
    let answers = json!({ "type": "object", "additionalProperties": { "type": "boolean" } });
    let own = [
        ("nothing", request(&[], json!({}))),
        ("start_request", request(&[], json!({ "graph": text, "id": text, "context": object, "locale": text, "at": text }))),
        ("back_request", request(&["to"], json!({ "to": number }))),
        ("goto_request", request(&["node"], json!({ "node": text }))),
        ("fork_request", request(&[], json!({ "at": number, "id": text }))),
        ("set_request", request(&["set"], json!({ "set": object }))),
        ("decision_request", request(&["decision"], json!({ "decision": { "enum": ["approve", "deny"] }, "because": text }))),
        (
            "settle_request",
            request(&["tool_result"], json!({ "tool_result": { "$ref": "#/components/schemas/given_result" }, "because": text })),
        ),
        (
            "engine_start_request",
            request(&[], json!({ "session": text, "context": object, "locale": text, "at": text, "answers": answers })),
        ),
        ("engine_render_request", request(&["state"], json!({ "state": object }))),
        (
            "engine_navigate_request",
            request(
                &["state"],
                json!({ "state": object, "input": {}, "tool_result": { "$ref": "#/components/schemas/given_result" }, "answers": answers }),
            ),
        ),
        ("engine_signal_request", request(&["state", "signal"], json!({ "state": object, "signal": text }))),
        ("head", head()),
        ("head_list", list(json!({ "$ref": "#/components/schemas/head" }))),
        ("approval_list", list(object.clone())),
        ("retried_letter", object.clone()),
        ("dead_letter_list", list(json!({ "$ref": "#/components/schemas/dead_letter" }))),
        ("secret_list", list(secret())),
        ("graph_list", list(object.clone())),
        (
            "record_list",
            json!({
                "type": "object", "required": ["items", "next", "first"],
                "properties": { "items": { "type": "array", "items": object }, "next": { "type": ["string", "null"] }, "first": number },
            }),
        ),
        ("problem", problem()),
    ];
    own.into_iter().for_each(|(name, schema)| schemas[name] = schema);
    schemas
}

fn head() -> Json {
    json!({
        "type": "object",
        "required": ["session", "graph", "program", "seq", "began", "at", "node", "standing", "due", "fits"],
        "properties": {
            "session": { "type": "string" }, "graph": { "type": "string" }, "program": { "type": "string" },
            "seq": { "type": "integer", "description": "The number of the record that comes next." },
            "began": { "type": "integer" }, "at": { "type": "integer", "description": "The moment when it moved last." },
            "node": { "type": "string" }, "standing": { "type": "string" }, "due": { "type": ["integer", "null"] },
            "fits": { "type": "boolean", "description": "Whether the program was not edited since." },
        },
    })
}

fn secret() -> Json {
    json!({
        "type": "object",
        "required": ["graph", "name", "set", "is_named", "is_missing"],
        "properties": {
            "graph": { "type": "string" }, "name": { "type": "string" },
            "set": { "type": ["integer", "null"], "description": "The moment at which its value was stored." },
            "is_named": { "type": "boolean", "description": "Whether a file of the graph names it." },
            "is_missing": { "type": "boolean", "description": "Whether it is named and not known here." },
        },
    })
}

fn problem() -> Json {
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" }, "title": { "type": "string" }, "status": { "type": "integer" },
            "code": { "enum": codes }, "detail": { "type": "string" },
            "errors": { "type": "array", "items": {
                "type": "object", "required": ["pointer", "message"],
                "properties": { "pointer": { "type": "string" }, "message": { "type": "string" } },
            } },
            "expected": { "$ref": "#/components/schemas/request_input_line" },
            "current": { "$ref": "#/components/schemas/turn" },
        },
    })
}
