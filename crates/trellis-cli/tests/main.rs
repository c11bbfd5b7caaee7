//! The real program on real files: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "main/approve.rs"]
mod approve;
#[path = "main/apps.rs"]
mod apps;
#[path = "main/author.rs"]
mod author;
#[path = "main/builtins.rs"]
mod builtins;
#[path = "main/check.rs"]
mod check;
#[path = "main/clients.rs"]
mod clients;
#[path = "main/collector.rs"]
mod collector;
#[path = "main/day/mod.rs"]
mod day;
#[path = "main/dead.rs"]
mod dead;
#[path = "main/deep.rs"]
mod deep;
#[path = "main/documents.rs"]
mod documents;
#[path = "main/editors/mod.rs"]
mod editors;
#[path = "main/edits.rs"]
mod edits;
#[path = "main/ending.rs"]
mod ending;
#[path = "main/explain.rs"]
mod explain;
#[path = "main/flows/mod.rs"]
mod flows;
#[path = "main/fmt.rs"]
mod fmt;
#[path = "main/formats.rs"]
mod formats;
#[path = "main/graph.rs"]
mod graph;
#[path = "main/http.rs"]
mod http;
#[path = "main/kept.rs"]
mod kept;
#[path = "main/load/mod.rs"]
mod load;
#[path = "main/lsp.rs"]
mod lsp;
#[path = "main/mcp.rs"]
mod mcp;
#[path = "main/mcp_options.rs"]
mod mcp_options;
#[path = "main/mending.rs"]
mod mending;
#[path = "main/migrate.rs"]
mod migrate;
#[path = "main/new.rs"]
mod new;
#[path = "main/open.rs"]
mod open;
#[path = "main/policy.rs"]
mod policy;
#[path = "main/rename.rs"]
mod rename;
#[path = "main/routes.rs"]
mod routes;
#[path = "main/run.rs"]
mod run;
#[path = "main/sandbox.rs"]
mod sandbox;
#[path = "main/scenarios/mod.rs"]
mod scenarios;
#[path = "main/seal.rs"]
mod seal;
#[path = "main/secrets.rs"]
mod secrets;
#[path = "main/seeing.rs"]
mod seeing;
#[path = "main/serve.rs"]
mod serve;
#[path = "main/served.rs"]
mod served;
#[allow(unused_imports, reason = "only one of the servers is needed here")]
#[path = "../../trellis-host/tests/stores/servers/mod.rs"]
mod servers;
#[path = "main/session.rs"]
mod session;
#[path = "main/skills.rs"]
mod skills;
#[path = "main/steering.rs"]
mod steering;
#[path = "main/studio.rs"]
mod studio;
#[path = "main/terminal.rs"]
mod terminal;
#[path = "main/testing.rs"]
mod testing;
#[path = "main/timeline.rs"]
mod timeline;
#[path = "main/typing.rs"]
mod typing;
#[path = "main/up.rs"]
mod up;
#[path = "main/up_kills/mod.rs"]
mod up_kills;
#[path = "main/up_obstacles.rs"]
mod up_obstacles;
#[path = "main/up_remote.rs"]
mod up_remote;
#[path = "main/up_web.rs"]
mod up_web;
#[path = "main/usage.rs"]
mod usage;
#[path = "main/vault.rs"]
mod vault;
#[path = "main/vscode.rs"]
mod vscode;
#[path = "main/watch.rs"]
mod watch;
#[path = "main/wire.rs"]
mod wire;
