//! Mistakes in single lines of a case that are known before a step is taken: players of sheets and editors report the same ones, at the same
//! lines.

use trellis_core::transcript::{AuthorLine, Beginning, DoubleLine, RecordedResult, is_program_line, read::read, unmarked};

use super::{
    BlockKind, Case, Expected, Sheet, SheetError,
    order::{after, lines},
};

/// The graph that a case plays, as far as its lines name parts of it, and the files beside the sheet.
pub trait PlayedGraph {
    /// Returns whether it has a node.
    fn has_node(&self, id: &str) -> bool;
    /// Returns whether it asks a predicate.
    fn has_predicate(&self, name: &str) -> bool;
    /// A file beside the sheet, inside the graph.
    ///
    /// # Errors
    /// It cannot be read, or lies elsewhere.
    fn read_beside(&self, path: &str) -> Result<String, String>;
}

/// Reads the results of a recording. A last line without its line break was not finished, and is left out.
///
/// # Errors
/// A line is no result of a tool.
pub fn recorded(text: &str) -> Result<Vec<RecordedResult>, String> {
    let whole = text.split_inclusive('\n').enumerate().filter(|(_, line)| line.ends_with('\n') && !line.trim().is_empty());
    whole.map(|(at, line)| RecordedResult::read(line).map_err(|why| format!("line {} is no result of a tool: {why}", at + 1))).collect()
}

impl Sheet {
    /// Returns the mistakes in the lines of a case, in order, those of its inherited doubles included.
    pub fn slips(&self, case: &Case, graph: &dyn PlayedGraph) -> Vec<SheetError> {
        let mut found: Vec<SheetError> = case.doubles.iter().flatten().flat_map(|block| of_doubles(block, graph)).collect();
        for block in &case.expected {
            match block.kind {
                BlockKind::Transcript => found.extend(self.of_transcript(case, block, graph)),
                BlockKind::Diagnostics | BlockKind::Finds => {}
                _ => {
                    let message = "such a block is none of `trellis test`: transcript, diagnostics, finds, tools".to_owned();
                    found.push(SheetError { line: block.line, message });
                }
            }
        }
        found.sort_by_key(|error| error.line);
        found
    }

    fn of_transcript(&self, case: &Case, block: &Expected, graph: &dyn PlayedGraph) -> Vec<SheetError> {
        let mut found = Vec::new();
        // A case may show how the session is refused.
        let is_refused = block.text.lines().any(|line| line.starts_with("- not started"));
        let (mut has_begun, comes_after) = (false, after(block).is_some());
        found.extend(self.before(case, block).err());
        for (line, text) in lines(block).filter(|(_, text)| !is_program_line(text) && text.trim_end() != "...") {
            let slip = match read(&unmarked(text).0) {
                Err(error) => Some(error),
                Ok(AuthorLine::Begin(what, value)) => match Beginning::read(&what, &value, &|path| graph.read_beside(path)) {
                    Err(error) => Some(error),
                    Ok(_) if has_begun => Some("`$` lines come first".to_owned()),
                    Ok(Beginning::After(_)) => None,
                    Ok(_) if comes_after => Some(format!("`$ {what}` and `$ after` do not go together: the other case says how it begins")),
                    Ok(Beginning::At(node)) if !is_refused && !graph.has_node(node.as_str()) => {
                        Some(format!("there is no node `{node}` to begin at"))
                    }
                    Ok(_) => None,
                },
                Ok(AuthorLine::Predicate(name, _)) if !graph.has_predicate(&name) => Some(format!("no predicate is named `{name}`")),
                Ok(AuthorLine::Remark | AuthorLine::Predicate(..)) => None,
                Ok(_) => {
                    has_begun = true;
                    None
                }
            };
            found.extend(slip.map(|message| SheetError { line, message }));
        }
        found
    }
}

/// The mistakes of a block of doubles.
fn of_doubles(block: &Expected, graph: &dyn PlayedGraph) -> Vec<SheetError> {
    let slip = |text: &str| match DoubleLine::read(text)? {
        Some(DoubleLine::Recording { file, .. }) => {
            graph.read_beside(file).and_then(|text| recorded(&text)).map(drop).map_err(|error| format!("`{file}`: {error}"))
        }
        _ => Ok(()),
    };
    lines(block).filter_map(|(line, text)| slip(text).err().map(|message| SheetError { line, message })).collect()
}

#[cfg(test)]
mod tests {
    use trellis_core::Source;

    use super::*;
    use crate::sheet::SheetFiles;

    /// A graph with a node `start` and a predicate `vip`, and no file.
    struct Small;

    impl PlayedGraph for Small {
        fn has_node(&self, id: &str) -> bool {
            id == "start"
        }

        fn has_predicate(&self, name: &str) -> bool {
            name == "vip"
        }

        fn read_beside(&self, _: &str) -> Result<String, String> {
            Err("it is not there".to_owned())
        }
    }

    impl SheetFiles for Small {
        fn beside(&self) -> &[Source] {
            &[]
        }

        fn folder(&self, path: &str) -> Result<Vec<Source>, String> {
            Err(path.to_owned())
        }
    }

    /// The mistakes of all cases of a sheet.
    fn slips(text: &str) -> Vec<(usize, String)> {
        let sheet = Sheet::parse("a.md".into(), text.to_owned(), &Small).unwrap();
        let found = sheet.cases.iter().flat_map(|case| sheet.slips(case, &Small));
        found.map(|error| (error.line, error.message)).collect()
    }

    /// The mistake of one line of a transcript.
    fn slip(line: &str) -> Option<String> {
        let mut found = slips(&format!("# A\n```transcript\n{line}\n> x\n```\n"));
        assert!(found.len() < 2 && found.iter().all(|(at, _)| *at == 3), "{line}: {found:?}");
        found.pop().map(|(_, message)| message)
    }

    // `docs/testing.md`: what nobody can play is a mistake of its own line
    #[test]
    fn lines_that_mean_nothing_are_found_where_they_stand() {
        let said = [
            ("$ foo", "`$ foo` is no way to begin"),
            ("$ at nowhere", "there is no node `nowhere`"),
            ("$ context {", "`{`: "),
            ("$ context a.json", "`a.json`: it is not there"),
            ("$ after nosuch", "no case of this sheet is named `nosuch`"),
            ("< {", "`{` is no JSON"),
            (">=[2]", ""),
            (">=[2", "`[2` is no JSON"),
            ("@ nosuch = true", "no predicate is named `nosuch`"),
            ("@ vip", "`@ vip` is no line of a transcript"),
            ("say it", "`say it` is no line of a transcript"),
        ];
        for (line, begin) in said {
            let found = slip(line);
            assert!(found.as_ref().map_or(begin.is_empty(), |found| !begin.is_empty() && found.starts_with(begin)), "{line}: {found:?}");
        }
        for line in ["$ at start", "@ vip = false", "<[2]! no", ".", "# at all", "...", "= state id", "$ context {\"a\": 1}", "$ by hand"] {
            assert_eq!(slip(line), None, "{line}");
        }
    }

    #[test]
    fn what_comes_too_late_and_what_a_case_shows_as_refused_is_told_apart() {
        let late = slips("# A\n```transcript\n> x\n$ locale pt\n```\n# B\n```transcript\n$ after A\n$ at start\n```\n");
        assert_eq!(late[0], (4, "`$` lines come first".to_owned()));
        assert!(late.len() == 2 && late[1].0 == 9 && late[1].1.contains("do not go together"), "{late:?}");
        assert_eq!(slips("# A\n```transcript\n$ at nowhere\n- not started: [..]\n```\n"), []);
    }

    #[test]
    fn doubles_and_blocks_of_others_are_read_too() {
        let found = slips("# A\n```tools\na null\nb {\n\nc\nrun.jsonl ?\n```\n## B\n```transcript\n```\n```edges\n```\n");
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 6, 7, 12], "{found:?}");
        assert!(recorded("{}\n").unwrap_err().starts_with("line 1 is no result"));
    }
}
