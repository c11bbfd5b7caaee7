//! Requests of the server to its client: settings, a progress, and a refresh of lenses and hints.

use lsp_server::{Notification, Request, Response};
use serde_json::{Value as Json, json};

use super::{Asked, Server};
use crate::client::Settings;

/// The token of the progress that the first link has.
const FIRST: &str = "trellis/first";

impl Server<'_> {
    fn ask(&mut self, id: &str, what: Asked, method: &str, params: Json) {
        self.asked.insert(id.to_owned(), what);
        self.send(Request::new(id.to_owned().into(), method.to_owned(), params));
    }

    /// Asks for the settings, where the client has any.
    pub(super) fn ask_settings(&mut self) {
        if self.state.client.configuration {
            let params = json!({ "items": [{ "section": "trellis" }] });
            self.ask("settings", Asked::Settings, "workspace/configuration", params);
        }
    }

    /// Takes the answer to a question.
    pub(super) fn answered(&mut self, response: Response) {
        let Some(asked) = self.asked.remove(response.id.to_string().trim_matches('"')) else { return };
        match (asked, response.response_result) {
            (Asked::Settings, Ok(answer)) => {
                if let Some(settings) = answer.get(0).filter(|settings| settings.is_object()) {
                    self.set(settings);
                }
            }
            (Asked::Progress, Ok(_)) => self.progress(&json!({ "kind": "begin", "title": "trellis: checking the graph" })),
            (_, Err(_)) => {}
        }
    }

    /// Takes settings.
    pub(super) fn set(&mut self, settings: &Json) {
        let mut settings = Settings::of(settings, self.state.workspace.folder());
        // Commands are the client's own, not something that a person sets.
        if settings.commands.is_empty() {
            settings.commands.clone_from(&self.state.settings.commands);
        }
        let before = std::mem::replace(&mut self.state.settings, settings.clone());
        if before == settings {
            return;
        }
        if before.roots != settings.roots {
            let gone = self.state.workspace.name(settings.roots);
            gone.into_iter().for_each(|graph| self.leave(graph));
        }
        if before.strict != settings.strict {
            self.state.workspace.graphs.iter_mut().for_each(crate::graph::Graph::judge_again);
        }
        self.refresh();
    }

    /// Lets the client ask again for what the last link may have changed.
    pub(super) fn refresh(&self) {
        for what in &self.state.client.refreshed {
            let is_shown = match *what {
                "codeLens" => !self.state.settings.commands.is_empty(),
                "inlayHint" => self.state.settings.hints.types || self.state.settings.hints.endings,
                _ => false,
            };
            if is_shown {
                self.send(Request::new(format!("refresh/{what}").into(), format!("workspace/{what}/refresh"), Json::Null));
            }
        }
    }

    /// Shows that the first link is on its way, where the client shows such things.
    pub(super) fn begin_progress(&mut self) {
        if self.state.client.progress && !self.state.workspace.graphs.is_empty() {
            self.ask("progress", Asked::Progress, "window/workDoneProgress/create", json!({ "token": FIRST }));
        }
    }

    /// Ends the progress when every graph is linked.
    pub(super) fn end_progress(&mut self) {
        let is_done = self.state.workspace.graphs.iter().all(crate::graph::Graph::has_link);
        if self.is_progressing && is_done {
            self.progress(&json!({ "kind": "end" }));
        }
        // A client that answers later is shown nothing.
        if is_done {
            self.asked.retain(|_, asked| *asked != Asked::Progress);
        }
    }

    fn progress(&mut self, value: &Json) {
        self.is_progressing = value["kind"] == "begin";
        self.send(Notification::new("$/progress".into(), json!({ "token": FIRST, "value": value })));
    }
}
