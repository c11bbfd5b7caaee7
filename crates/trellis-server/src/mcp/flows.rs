//! Flows: each graph with a program is a tool.

use std::sync::Arc;

use rmcp::model::Tool;
use trellis_core::{Program, program::Speech};

use super::{facts, schemas, tools};
use crate::served::{Served, ServedGraph};

/// The longest name of a tool.
const MAX_NAME: usize = 64;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 300;

/// A graph as a tool.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) graph: Arc<ServedGraph>,
}

/// The graphs by the names of their tools, whether or not they can be walked now.
pub(super) fn flows(served: &Served) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for graph in served.all() {
        let fit: String = graph.name.chars().map(|char| if is_fit(char) { char } else { '_' }).take(MAX_NAME).collect();
        let fit = if fit.is_empty() { "graph".to_owned() } else { fit };
        let is_taken = |name: &str| tools::NAMES.contains(&name) || flows.iter().any(|flow| flow.name == name);
        let numbered = (2_usize..).map(|number| {
            let number = format!("-{number}");
            fit.chars().take(MAX_NAME - number.len()).collect::<String>() + &number
        });
        let name = std::iter::once(fit.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(fit);
        flows.push(Flow { name, graph: Arc::clone(graph) });
    }
    flows
}

fn is_fit(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-')
}

impl Flow {
    /// The tool; none where the graph never had a program.
    pub(super) fn tool(&self) -> Option<Tool> {
        let program = self.graph.now().program?;
        let (heading, paragraph) = opening(&program);
        let description = paragraph.or_else(|| heading.clone()).unwrap_or_else(|| format!("Walks the graph `{}`.", self.graph.name));
        // A hidden value in an output may have another type.
        let output = if self.graph.redactions.is_needed() { serde_json::json!({}) } else { schemas::outputs(&program) };
        let tool = Tool::new(self.name.clone(), description, schemas::inputs(&program));
        let tool = tool.with_raw_output_schema(schemas::turns(&output)).with_annotations(facts::annotations(&program));
        Some(match heading {
            Some(heading) => tool.with_title(heading),
            None => tool,
        })
    }
}

/// Returns the heading and the first paragraph of the text of the entry, without interpolated values.
pub(super) fn opening(program: &Program) -> (Option<String>, Option<String>) {
    let text = match &program.entry().content {
        Some(Speech::Text(text)) => text.text().to_owned(),
        Some(Speech::Parts(parts)) => parts.iter().map(|part| part.text.text()).collect::<Vec<_>>().join("\n\n"),
        None => return (None, None),
    };
    let text = without_holes(&text);
    let mut heading = None;
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let line = block.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.strip_prefix('#') {
            Some(rest) if !block.contains('\n') => heading = heading.or_else(|| Some(rest.trim_start_matches('#').trim().to_owned())),
            _ => return (heading, Some(line.chars().take(MAX_DESCRIPTION).collect())),
        }
    }
    (heading, None)
}

/// A text without `{{ … }}`, `{% … %}` and `{# … #}`.
fn without_holes(text: &str) -> String {
    let (mut text_left, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        let end = match rest.as_bytes().get(at + 1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => {
                text_left += &rest[..=at];
                rest = &rest[at + 1..];
                continue;
            }
        };
        text_left += &rest[..at];
        rest = rest[at..].split_once(end).map_or("", |(_, rest)| rest);
    }
    text_left + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_left_out_of_a_text() {
        assert_eq!(without_holes("Hello {{ name }}, {% if a %}you{% endif %} {b} {# no #}!"), "Hello , you {b} !");
        assert_eq!(without_holes("open {{ name"), "open ");
    }
}
