//! Names in sheets that a rename changes: in lines of authors and of the program, in stand-ins, and in the paths of file blocks.
//!
//! **Invariant:** a name changes only where the line has a name there; what a body prints and what a file block holds stay as they are.

use std::{collections::BTreeSet, ops::Range, path::Path, sync::Arc};

use trellis_core::{Document, Value, diagnostic::FilePath, query::GraphChange};

use super::{
    Block, BlockKind, Item,
    contexts::renamed_contexts,
    files::{roots, sheets_of},
    items,
    renamed_keys::KeyNames,
    renamed_sheet::RenamedSheet,
};

/// A name before a rename and after it.
type Names = (String, String);

/// The names that a rename changes, as the sheets of one graph write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetNames {
    nodes: Vec<Names>,
    tool: Option<Names>,
    predicate: Option<Names>,
    signal: Option<Names>,
    option: Option<Names>,
    /// The option as it stands within quotes of JSON.
    quoted_option: Option<Names>,
    key: Option<KeyNames>,
    /// The keys and arguments that hold the value of the option.
    held_by: Vec<String>,
    files: Vec<Names>,
    /// The arguments of calls that hold the ids of nodes.
    id_args: BTreeSet<String>,
}

impl SheetNames {
    /// The names of a change for the sheets of the graph whose folder is `root`; `None` if they name nothing of it.
    pub fn of(change: &GraphChange, documents: &[Arc<Document>], root: &str) -> Option<Self> {
        let below = |name: &str| match root {
            "" => Some(name.to_owned()),
            root => name.strip_prefix(root)?.strip_prefix('/').map(str::to_owned),
        };
        let both = |old: &str, new: &str| Some((below(old)?, below(new)?));
        let owned = |names: &Option<(Arc<str>, Arc<str>)>| names.as_ref().map(|(old, new)| (old.to_string(), new.to_string()));
        let option = change.option.as_ref().filter(|option| below(option.node.as_str()).is_some());
        let names = Self {
            nodes: change.nodes.iter().filter_map(|(old, new)| both(old.as_str(), new.as_str())).collect(),
            tool: owned(&change.tool),
            predicate: owned(&change.predicate),
            signal: owned(&change.signal),
            key: KeyNames::of(change, &roots(documents), root),
            option: option.map(|option| (option.old.to_string(), option.new.to_string())),
            quoted_option: option.map(|option| (escaped(&option.old), escaped(&option.new))),
            held_by: option.map(|option| option.held_by.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            files: change.files.iter().filter_map(|file| both(&file.from, &file.to)).collect(),
            id_args: documents.iter().flat_map(|document| id_args(&document.text)).collect(),
        };
        let named = [&names.tool, &names.predicate, &names.signal, &names.option];
        let is_empty = names.key.is_none() && names.nodes.is_empty() && names.files.is_empty() && named.into_iter().all(Option::is_none);
        (!is_empty).then_some(names)
    }

    /// Returns the edits of the text of a sheet, in order; none if it cannot be read.
    pub fn edits(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut edits = Vec::new();
        for item in items(text).unwrap_or_default() {
            let Item::Block(block) = item else { continue };
            match block.info.first().and_then(|word| BlockKind::named(word)) {
                Some(BlockKind::Transcript) => {
                    lines(text, &block, |line| self.transcript_line(line), &mut edits);
                    self.answers(text, &block, &mut edits);
                }
                Some(BlockKind::Tools) => lines(text, &block, |line| self.double(line), &mut edits),
                Some(_) => {}
                None => self.path(text, &block, &mut edits),
            }
        }
        edits.sort_by_key(|(range, _)| range.start);
        edits.dedup();
        edits
    }

    /// The path behind the fence of a file block.
    fn path(&self, text: &str, block: &Block, edits: &mut Vec<(Range<usize>, String)>) {
        let fence = text[..block.range.start].trim_end_matches(['\n', '\r']);
        let start = fence.rfind('\n').map_or(0, |at| at + 1);
        for (old, new) in self.files.iter().filter(|(old, _)| block.info.get(1) == Some(old)) {
            if let Some(at) = fence[start..].rfind(&**old) {
                edits.push((start + at..start + at + old.len(), new.clone()));
            }
        }
    }

    fn transcript_line(&self, line: &str) -> Vec<(Range<usize>, String)> {
        let mut found = LineEdits { line, edits: Vec::new() };
        match line.chars().next() {
            Some('$') => {
                found.word_after("$ at ", &self.nodes);
                self.chosen(&mut found);
            }
            Some('@') => found.word_after("@ ", &self.predicate),
            Some('^') => found.word_after("^ ", &self.signal),
            Some('?') => found.between("\"", "\"", &self.quoted_option),
            Some('!') => {
                found.word(called(line), &self.tool);
                found.between("(graph ", ")", &self.nodes);
                found.offered(self.tool.as_ref());
                self.values(&mut found);
            }
            Some('*' | '-' | '~' | ':') => {
                found.between("`", "`", &self.nodes);
                found.between("`", "`", &self.tool);
                for end in [":", " ", ""] {
                    found.between(" at ", end, &self.nodes);
                }
                for lead in ["~ undone ", "~ could not undo ", "- not answered: "] {
                    found.word_after(lead, &self.tool);
                    found.word_after(lead, &self.predicate);
                }
                self.chosen(&mut found);
            }
            Some('<') => self.values(&mut found),
            _ => {}
        }
        found.edits.extend(self.key.iter().flat_map(|key| key.of_line(line)));
        found.edits
    }

    /// The answers that choose the option: where the question before them offers it, or is left to wildcards.
    fn answers(&self, text: &str, block: &Block, edits: &mut Vec<(Range<usize>, String)>) {
        let (Some((old, new)), Some((quoted_old, quoted_new))) = (&self.option, &self.quoted_option) else { return };
        let (mut start, mut offers) = (block.range.start, true);
        for line in text[block.range.clone()].split_inclusive('\n') {
            let bare = line.trim_end_matches(['\n', '\r']);
            let (mark, rest) = unnumbered(bare);
            match mark {
                Some('?') => offers = rest.contains(&format!("\"{quoted_old}\"")),
                Some('.') if bare == "..." => offers = true,
                Some('>') => {
                    let at = start + bare.len() - rest.len();
                    for written in [format!(" {old}"), format!("= \"{quoted_old}\"")] {
                        if offers && rest == written {
                            let new = if written.starts_with('=') { format!("= \"{quoted_new}\"") } else { format!(" {new}") };
                            edits.push((at..at + rest.len(), new));
                        }
                    }
                }
                _ => {}
            }
            start += line.len();
        }
    }

    /// The value of the option in JSON, where a key holds it.
    fn chosen(&self, found: &mut LineEdits<'_>) {
        for key in &self.held_by {
            for lead in [format!("\"{key}\":\""), format!("\"{key}\": \"")] {
                found.between(&lead, "\"", &self.quoted_option);
            }
        }
        if self.option.is_some() && found.line.starts_with(": \"") {
            found.between(": \"", "\"", &self.quoted_option);
        }
    }

    /// A line of a block `tools`.
    fn double(&self, line: &str) -> Vec<(Range<usize>, String)> {
        let mut found = LineEdits { line, edits: Vec::new() };
        found.word_after("graph:", &self.nodes);
        let start = line.len() - line.trim_start().len();
        found.word(start, &self.tool);
        found.word(start, &self.predicate);
        self.values(&mut found);
        found.edits.extend(self.key.iter().flat_map(|key| key.of_double(line)));
        found.edits
    }

    /// Names in JSON: of the calls that a model asks for, of nodes in arguments, and of chosen options.
    fn values(&self, found: &mut LineEdits<'_>) {
        for lead in ["\"name\":\"", "\"name\": \""] {
            found.between(lead, "\"", &self.tool);
        }
        for key in &self.id_args {
            for lead in [format!("\"{key}\":\""), format!("\"{key}\": \"")] {
                found.between(&lead, "\"", &self.nodes);
            }
        }
        self.chosen(found);
    }
}

/// A text as it stands between the quotes of JSON.
fn escaped(text: &str) -> String {
    let json = Value::from(text).to_json();
    json[1..json.len() - 1].to_owned()
}

/// The mark of a line and what is behind it, without the number of a child.
fn unnumbered(line: &str) -> (Option<char>, &str) {
    let Some(mark) = line.chars().next() else { return (None, line) };
    let rest = &line[mark.len_utf8()..];
    let behind =
        rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).filter(|(number, _)| number.chars().all(|char| char.is_ascii_digit()));
    (Some(mark), behind.map_or(rest, |(_, rest)| rest))
}

/// The arguments of a file that are the id of the node: `node: "{{ sys.node }}"`.
fn id_args(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("sys.node").filter_map(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '{', '"', '\'']).strip_suffix(':')?;
        let key = before.rsplit([' ', '\n', '{', ',']).next()?.trim_matches(['"', '\'']);
        (!key.is_empty()).then(|| key.to_owned())
    })
}

/// The files of sheets that a change renames something in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenamedSheets {
    /// The sheets, and the files that their sessions begin with. What the change itself edits in a sheet, such as a link, is among its edits.
    pub files: Vec<RenamedSheet>,
    /// Notes on the files that stay as they are, for a person.
    pub notes: Vec<String>,
}

/// Returns the sheets of the graph at `root`, and of those inside it, that name what a change renames, with the files beside them. `text` reads
/// a file.
pub fn renamed_sheets(
    root: &Path,
    documents: &[Arc<Document>],
    change: &GraphChange,
    text: impl Fn(&Path) -> Option<String>,
) -> RenamedSheets {
    let mut files = Vec::new();
    for folder in roots(documents) {
        let Some(names) = SheetNames::of(change, documents, folder) else { continue };
        for sheet in sheets_of(&root.join(folder)) {
            let (Some(text), Ok(below)) = (text(&sheet), sheet.strip_prefix(root)) else { continue };
            let mut edits = names.edits(&text);
            if !edits.is_empty() {
                let path = FilePath::from(below.display().to_string().replace('\\', "/"));
                let links = change.edits.iter().filter(|edit| edit.place.path == path);
                edits.extend(links.map(|edit| (edit.place.span.range(), edit.text.clone())));
                edits.sort_by_key(|(range, _)| range.start);
                files.push(RenamedSheet { path, text, edits });
            }
        }
    }
    let (contexts, notes) = renamed_contexts(root, documents, change, &text);
    files.extend(contexts);
    RenamedSheets { files, notes }
}

/// Returns the number of cases in which a text of the program shows a name that a change renames: they may fail afterwards, since what a body
/// prints is not touched.
pub fn cases_that_show(root: &Path, documents: &[Arc<Document>], change: &GraphChange, text: impl Fn(&Path) -> Option<String>) -> usize {
    let mut names: Vec<&str> = change.nodes.iter().map(|(old, _)| old.name()).collect();
    names.extend([&change.tool, &change.predicate, &change.signal].into_iter().flatten().map(|(old, _)| &**old));
    names.extend(change.option.iter().map(|option| &*option.old));
    let is_part = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    let shows = |line: &str, name: &str| {
        let behind = |at: usize| line[at + name.len()..].chars().next();
        line.match_indices(name).any(|(at, _)| !is_part(line[..at].chars().next_back()) && !is_part(behind(at)))
    };
    let is_said = |line: &str| {
        let (mark, said) = unnumbered(line);
        mark == Some('|') && names.iter().any(|name| shows(said, name))
    };
    let blocks = |text: String| {
        let items = items(&text).unwrap_or_default();
        let transcripts = items.into_iter().filter(|item| {
            matches!(item, Item::Block(block) if block.info.first().and_then(|word| BlockKind::named(word)) == Some(BlockKind::Transcript)
                && text[block.range.clone()].lines().any(is_said))
        });
        transcripts.count()
    };
    roots(documents).into_iter().flat_map(|folder| sheets_of(&root.join(folder))).filter_map(|sheet| text(&sheet)).map(blocks).sum()
}

/// The edits of the lines of a block.
fn lines(text: &str, block: &Block, of: impl Fn(&str) -> Vec<(Range<usize>, String)>, edits: &mut Vec<(Range<usize>, String)>) {
    let mut start = block.range.start;
    for line in text[block.range.clone()].split_inclusive('\n') {
        let found = of(line.trim_end_matches(['\n', '\r']));
        edits.extend(found.into_iter().map(|(range, new)| (start + range.start..start + range.end, new)));
        start += line.len();
    }
}

/// Returns where the name of a call stands in its line: behind `!`, the number of a child, and the name of a part.
pub fn called(line: &str) -> usize {
    let numbered = line.starts_with("![").then(|| line.find(']')).flatten().map_or(1, |at| at + 1);
    let start = numbered + line[numbered..].len() - line[numbered..].trim_start().len();
    let word = line[start..].split(' ').next().unwrap_or_default();
    if word.ends_with(':') { start + word.len() + 1 } else { start }
}

/// The edits of one line.
struct LineEdits<'l> {
    line: &'l str,
    edits: Vec<(Range<usize>, String)>,
}

impl LineEdits<'_> {
    /// The word at a place, if it is one of the names.
    fn word<'n>(&mut self, at: usize, names: impl IntoIterator<Item = &'n Names>) {
        let word = self.line.get(at..).and_then(|rest| rest.split(' ').next()).filter(|word| !word.is_empty());
        let names = names.into_iter().find(|(old, _)| word == Some(old));
        self.edits.extend(names.map(|(old, new)| (at..at + old.len(), new.clone())));
    }

    /// The word after what a line begins with.
    fn word_after<'n>(&mut self, lead: &str, names: impl IntoIterator<Item = &'n Names>) {
        if self.line.starts_with(lead) {
            self.word(lead.len(), names);
        }
    }

    /// The names wherever they stand between a lead and an end; an empty end is that of the line.
    fn between<'n>(&mut self, lead: &str, end: &str, names: impl IntoIterator<Item = &'n Names>) {
        for (old, new) in names {
            let (line, mut from) = (self.line, 0);
            while let Some(at) = line[from..].find(lead) {
                let start = from + at + lead.len();
                let behind = line[start..].strip_prefix(&**old);
                if behind.is_some_and(|behind| if end.is_empty() { behind.is_empty() } else { behind.starts_with(end) }) {
                    self.edits.push((start..start + old.len(), new.clone()));
                }
                from = start;
            }
        }
    }

    /// The name among the tools that a call offers.
    fn offered(&mut self, names: Option<&Names>) {
        let Some(start) = self.line.find(", offered ").map(|at| at + ", offered ".len()) else { return };
        let mut at = start;
        for word in self.line[start..].split(',').next().unwrap_or_default().split(' ') {
            let names = names.filter(|(old, _)| old == word);
            self.edits.extend(names.map(|(_, new)| (at..at + word.len(), new.clone())));
            at += word.len() + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str, names: &SheetNames) -> String {
        let mut out = text.to_owned();
        names.edits(text).into_iter().rev().for_each(|(range, new)| out.replace_range(range, &new));
        out
    }

    fn names(old: &str, new: &str) -> Names {
        (old.to_owned(), new.to_owned())
    }

    #[test]
    fn a_node_changes_where_a_line_has_its_name() {
        let node = SheetNames {
            nodes: vec![names("pay", "cash")],
            files: vec![names("pay.md", "cash.md")],
            id_args: id_args("args: { node: \"{{ sys.node }}\" }\n{{ sys.node }}").collect(),
            ..SheetNames::default()
        };
        let sheet = "# pay\n```markdown pay.md\nto: pay\n```\n```tools\ngraph:pay {\"node\": \"pay\", \"at\": \"pay\"} null\npay null\n```\n\
            ```transcript\n$ at pay\n> pay\n| pay `pay`\n! pay {\"node\":\"pay\"} (graph pay)\n*[2] end failed fail at pay: `pay` leads to `fail`\n\
            * end failed x at payment\n* end failed x at pay\n```\n";
        let expected = "# pay\n```markdown cash.md\nto: pay\n```\n```tools\ngraph:cash {\"node\": \"cash\", \"at\": \"pay\"} null\npay null\n```\n\
            ```transcript\n$ at cash\n> pay\n| pay `pay`\n! pay {\"node\":\"cash\"} (graph cash)\n*[2] end failed fail at cash: `cash` leads to `fail`\n\
            * end failed x at payment\n* end failed x at cash\n```\n";
        assert_eq!(renamed(sheet, &node), expected);
    }

    #[test]
    fn a_tool_changes_in_calls_stand_ins_and_what_models_ask_for() {
        let tool = SheetNames { tool: Some(names("look", "find")), ..SheetNames::default() };
        let sheet = "```tools\nlook {\"calls\": [{\"name\": \"look\", \"args\": {\"look\": \"look\"}}]}\nlooks null\n```\n\
            ```transcript\n> look\n| look\n! look {}\n![2] look {} (timeout 5s)\n! each {} (each, offered see look, items [{\"name\":\"look\"}])\n\
            !   0: look {} #2\n< {\"name\":\"look\"}\n- not answered: look {}\n~ undone look\n* end failed tool-error at look: `a`: `look` failed\n```\n";
        let expected = "```tools\nfind {\"calls\": [{\"name\": \"find\", \"args\": {\"look\": \"look\"}}]}\nlooks null\n```\n\
            ```transcript\n> look\n| look\n! find {}\n![2] find {} (timeout 5s)\n! each {} (each, offered see find, items [{\"name\":\"find\"}])\n\
            !   0: find {} #2\n< {\"name\":\"find\"}\n- not answered: find {}\n~ undone find\n* end failed tool-error at look: `a`: `find` failed\n```\n";
        assert_eq!(renamed(sheet, &tool), expected);
    }
}
