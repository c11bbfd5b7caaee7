//! Calls of graphs, carried out by the client: each is a run of the same graph at the called node (language 5.4). A host that starts children itself
//! needs none of this.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use super::{Flow, Played, Stdio};

impl Flow {
    /// Runs it, and each graph that it calls; the lines of children stand where they were called. `before` hears of each call of a graph.
    pub(super) fn play_with_children(
        &self,
        options: &[&str],
        context: &Value,
        variables: &[(&str, &str)],
        before: &mut dyn FnMut(&str),
    ) -> Played {
        let context = context.to_string();
        let args = [&["run", "--json", ".", "--context", &context], options].concat();
        let mut child = self.command(&args).envs(variables.iter().copied()).stdin(Stdio::piped()).spawn().unwrap();
        let mut answers = child.stdin.take().unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let call = &line["payload"];
            if let (Some("CALL_TOOL"), Some(node)) = (line["type"].as_str(), call["kind"]["graph"].as_str()) {
                before(node);
                let called = self.play_with_children(&["--store", "memory", "--at", node], &call["args"], variables, before);
                let end = called.end();
                let result = match end["reason"].as_str() {
                    Some("finished") => json!({ "id": call["id"], "result": end["output"] }),
                    _ => json!({ "id": call["id"], "error": { "message": end["message"], "code": end["code"] } }),
                };
                lines.extend(called.lines);
                writeln!(answers, "{}", json!({ "tool_result": result })).unwrap();
            }
            lines.push(line);
        }
        drop(answers);
        let ended = child.wait_with_output().unwrap();
        Played { lines, code: ended.status.code(), err: String::from_utf8(ended.stderr).unwrap() }
    }
}
