//! Calls of graphs, carried out by the client: each is a run of the same graph at the called node (language 5.4). A host that starts children itself
//! needs none of this.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use super::{Flow, Played, Stdio};

impl Flow {
    /// Runs it, and each graph that it calls; the lines of children stand where they were called. `hears` gets each call of the outermost run, also one
    /// that waits for an approval, and says whether the run goes on or is killed there.
    pub(super) fn play_with_children(
        &self,
        options: &[&str],
        context: Option<&Value>,
        variables: &[(&str, &str)],
        hears: &mut dyn FnMut(&Value) -> bool,
    ) -> Played {
        let context = context.map(Value::to_string);
        let given: Vec<&str> = context.iter().flat_map(|context| ["--context", context]).collect();
        let args = [&["run", "--json", "."], options, &given].concat();
        let mut child = self.command(&args).envs(variables.iter().copied()).stdin(Stdio::piped()).spawn().unwrap();
        let mut answers = child.stdin.take().unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let call = &line["payload"];
            if (line["type"] == "CALL_TOOL" || line["type"] == "APPROVAL") && !hears(call) {
                child.kill().unwrap();
                lines.push(line);
                break;
            }
            if let (Some("CALL_TOOL"), Some(node)) = (line["type"].as_str(), call["kind"]["graph"].as_str()) {
                let begin = ["--store", "memory", "--at", node];
                let called = self.play_with_children(&begin, Some(&call["args"]), variables, &mut |_| true);
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
