//! Random ways to write a mapping down as YAML: keys in any order, blocks and braces, comments, blank lines, all kinds of scalars.

use serde_json::{Map, Value as Json};

use super::rng::Rng;

/// Writes values; each comment names the key that it stands at.
pub(super) struct Writer<'r> {
    rng: &'r mut Rng,
    out: String,
    comments: usize,
}

/// A mapping as YAML text.
pub(super) fn yaml(mapping: &Map<String, Json>, rng: &mut Rng) -> String {
    let mut writer = Writer { rng, out: String::new(), comments: 0 };
    if writer.rng.chance(20) {
        writer.out += "# the file\n\n";
    }
    writer.mapping(mapping, 0, false);
    if writer.rng.chance(20) {
        writer.out += "# the end\n";
    }
    writer.out
}

impl Writer<'_> {
    /// The entries of a mapping, a line each or more; the first may stand behind a dash.
    fn mapping(&mut self, mapping: &Map<String, Json>, indent: usize, mut behind_dash: bool) {
        let mut entries: Vec<_> = mapping.iter().collect();
        for at in (1..entries.len()).rev() {
            entries.swap(at, self.rng.below(at + 1));
        }
        for (key, value) in entries {
            if !behind_dash {
                if self.rng.chance(10) {
                    self.out += "\n";
                }
                if self.rng.chance(15) {
                    self.comments += 1;
                    self.out += &format!("{}# {}: at {key}\n", " ".repeat(indent), self.comments);
                }
                self.out += &" ".repeat(indent);
            }
            behind_dash = false;
            let quoted = if self.rng.chance(10) { format!("{key:?}") } else { key.clone() };
            self.out += &format!("{quoted}:");
            self.value(key, value, indent);
        }
    }

    /// A value behind its key, to the end of its last line.
    fn value(&mut self, key: &str, value: &Json, indent: usize) {
        let deeper = indent + 1 + self.rng.below(4);
        match value {
            Json::Object(mapping) if !mapping.is_empty() && self.rng.chance(60) => {
                self.line_end();
                self.mapping(mapping, deeper, false);
            }
            Json::Array(items) if !items.is_empty() && self.rng.chance(60) => {
                self.line_end();
                let dash = if self.rng.chance(30) { indent } else { deeper };
                for item in items {
                    self.out += &format!("{}-", " ".repeat(dash));
                    match item {
                        Json::Object(mapping) if !mapping.is_empty() && self.rng.chance(70) => {
                            let gap = 1 + self.rng.below(2);
                            self.out += &" ".repeat(gap);
                            self.mapping(mapping, dash + 1 + gap, true);
                        }
                        item => self.inline(item),
                    }
                }
            }
            Json::String(text) if !text.trim().is_empty() && !text.contains('\n') && self.rng.chance(25) => {
                let indent = " ".repeat(deeper);
                if key == "content" {
                    let style = *self.rng.pick(&["|", "|-", "|+", ">", ">-", ">+"]);
                    let blank = "\n".repeat(self.rng.below(3));
                    self.out += &format!(" {style}\n{indent}{}\n{indent}# no comment\n{blank}", text.trim());
                } else {
                    let style = *self.rng.pick(&["|-", ">-"]);
                    self.out += &format!(" {style}\n{indent}{text}\n");
                }
            }
            value => self.inline(value),
        }
    }

    fn inline(&mut self, value: &Json) {
        let text = if self.rng.chance(50) { value.to_string() } else { spaced(value) };
        self.out += &format!(" {text}");
        self.line_end();
    }

    fn line_end(&mut self) {
        self.out += if self.rng.chance(10) { "  # here\n" } else { "\n" };
    }
}

/// JSON with the blanks that YAML authors write.
fn spaced(value: &Json) -> String {
    match value {
        Json::Object(mapping) => {
            format!("{{ {} }}", mapping.iter().map(|(key, value)| format!("{key}: {}", spaced(value))).collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => format!("[ {} ]", items.iter().map(spaced).collect::<Vec<_>>().join(" , ")),
        value => value.to_string(),
    }
}
