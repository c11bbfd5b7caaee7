//! A Markdown file as headings and fenced blocks, with the exact bytes of each block.

use std::ops::Range;

/// A heading, or a fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `## title`.
    Heading {
        /// Number of `#`.
        level: usize,
        /// The text.
        title: String,
        /// Its line, from 1.
        line: usize,
    },
    /// A fenced block.
    Block(Block),
    /// `<!-- the files of FOLDER -->`.
    Folder {
        /// Below the repository.
        path: String,
        /// Its line, from 1.
        line: usize,
    },
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The words after the opening fence.
    pub info: Vec<String>,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// The bytes between the fences.
    pub range: Range<usize>,
    /// One past the closing fence and its line break.
    pub end: usize,
}

/// Headings, top-level fenced blocks and named folders of a Markdown text, in order.
///
/// # Errors
/// Returns the headings and blocks of a text. The error is the line of a fence that is never closed, since its block would extend to the end.
pub fn items(text: &str) -> Result<Vec<Item>, usize> {
    let mut items = Vec::new();
    let mut open: Option<(String, Block)> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (start, bare) = (at, line.trim_end());
        at += line.len();
        if let Some((fence, mut block)) = open.take() {
            if closes(bare, &fence) {
                block.range.end = start;
                block.end = at;
                items.push(Item::Block(block));
            } else {
                open = Some((fence, block));
            }
        } else if let Some(fence) = fence(bare) {
            let info = bare[fence.len()..].split_whitespace().map(str::to_owned).collect();
            open = Some((fence.to_owned(), Block { info, line: number + 1, range: at..at, end: at }));
        } else if let Some((level, title)) = heading(bare) {
            items.push(Item::Heading { level, title: title.to_owned(), line: number + 1 });
        } else if let Some(path) = bare.strip_prefix("<!-- the files of ").and_then(|rest| rest.strip_suffix(" -->")) {
            items.push(Item::Folder { path: path.to_owned(), line: number + 1 });
        }
    }
    match open {
        Some((_, block)) => Err(block.line),
        None => Ok(items),
    }
}

/// The run of three or more fence characters that a line begins with.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|char| *char == mark).count();
    (length >= 3 && !line[length..].contains('`')).then(|| &line[..length])
}

/// Returns whether a line closes a block that `fence` opened.
fn closes(line: &str, fence: &str) -> bool {
    line.len() >= fence.len() && line.starts_with(fence) && line.chars().all(|char| fence.starts_with(char))
}

/// The level and text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|char| *char == '#').count();
    (1..=6).contains(&level).then(|| line[level..].strip_prefix(' ')).flatten().map(|title| (level, title.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_fence_holds_a_shorter_one_and_bytes_stay() {
        let text = "# A\n\n````markdown start.md\n```x\n# no heading\n```\r\n````\n## B\n";
        let items = items(text).unwrap();
        let Item::Block(block) = &items[1] else { panic!("{items:?}") };
        assert_eq!(&text[block.range.clone()], "```x\n# no heading\n```\r\n");
        assert_eq!((block.line, &*block.info[1]), (3, "start.md"));
        assert_eq!(items[2], Item::Heading { level: 2, title: "B".into(), line: 8 });
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn a_block_that_nothing_closes_is_named_by_its_line() {
        assert_eq!(items("# A\n```transcript\n> x\n"), Err(2));
        assert_eq!(items("# A\n````text\n```\n"), Err(2), "a shorter fence closes nothing");
    }
}
