//! Graphs of any size, made up: for benchmarks, figures and worst cases.
//!
//! A seed and a size go in, files come out. A node weighs about 1 KB: an input with its type, `save_to`, two conditional transitions and a
//! fallback, and a Markdown body with one variable. Modules of a hundred nodes follow one another from `start` to `end`.
//!
//! **Invariant:** the same seed and size give the same bytes; every graph made here checks clean.

use std::{fmt::Write as _, fs, io, path::Path};

/// A file: its path below the root, and its text.
pub type File = (String, String);

/// Nodes of one module, its `start` included.
const MODULE: usize = 100;

/// A graph of `nodes` nodes (at least two) and a project file.
pub fn generate(nodes: usize) -> Vec<File> {
    generate_with(nodes, 1)
}

/// As [`generate`], with another seed: other words, types and shortcuts.
pub fn generate_with(nodes: usize, seed: u64) -> Vec<File> {
    let steps = nodes.saturating_sub(2);
    let mut dice = Dice(seed);
    let mut files = Vec::with_capacity(nodes + 1);
    files.push(("trellis.yaml".to_owned(), "name: generated\n".to_owned()));
    files.push(("start.md".to_owned(), start(&mut dice, &target(0, steps, usize::MAX))));
    files.extend((0..steps).map(|step| (path(step), node(&mut dice, step, steps))));
    files
        .push(("end.md".to_owned(), format!("---\noutput: {{ name: \"{{{{ name }}}}\" }}\n---\n# The end\n\n{}\n", prose(&mut dice, 600))));
    files
}

/// The same as one loop: the last node before the end leads back to `start`, so that every node can reach every other.
pub fn looped(nodes: usize) -> Vec<File> {
    let mut files = generate(nodes);
    let steps = nodes.saturating_sub(2);
    if let Some(last) = steps.checked_sub(1) {
        let (text, back) = (&mut files[last + 2].1, target(last - last % MODULE, steps, last));
        *text = text.replacen(&format!("to: {back} }}\n  - to: "), "to: /start }\n  - to: ", 1);
    }
    files
}

/// A chain of `nodes` nodes that pass through, in one file of `nodes:`.
pub fn chain(nodes: usize) -> File {
    let mut text = String::with_capacity(nodes * 26 + 64);
    text.push_str("nodes:\n");
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("n{at}") };
    for at in 1..nodes {
        let _ = writeln!(text, "  {}: {{ to: {} }}", name(at - 1), name(at));
    }
    let _ = writeln!(text, "  {}: {{ content: done }}", name(nodes.saturating_sub(1)));
    ("chain.yaml".to_owned(), text)
}

/// The same chain with a file for each node.
pub fn chain_of_files(nodes: usize) -> Vec<File> {
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("n{at}") };
    let text = |at: usize| if at + 1 < nodes { format!("---\nto: {}\n---\n", name(at + 1)) } else { "---\n---\ndone\n".to_owned() };
    (0..nodes).map(|at| (format!("{}.md", name(at)), text(at))).collect()
}

/// A loop of `nodes` nodes that pass through, left by a counter after `rounds` entries of `start`.
pub fn ring(nodes: usize, rounds: u32) -> Vec<File> {
    let mut files = chain_of_files(nodes);
    files[0].1 = format!("---\nmax_visits: {rounds}\non_max_visits: end\nto: n1\n---\n");
    if let Some(last) = files.last_mut() {
        last.1 = "---\nto: start\n---\n".to_owned();
    }
    files.push(("end.md".to_owned(), "---\n---\ndone\n".to_owned()));
    files
}

/// A graph in which every node has a way to every node: `nodes` × `nodes` edges.
pub fn dense(nodes: usize) -> Vec<File> {
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("n{at}") };
    let mut options = String::from("options:\n");
    for at in 0..nodes {
        let _ = writeln!(options, "  - {{ text: go to {at}, to: {} }}", name(at));
    }
    options.push_str("  - { text: stop, to: end }\n");
    let mut files: Vec<File> = (0..nodes).map(|at| (format!("{}.md", name(at)), format!("---\n{options}---\nNode {at}.\n"))).collect();
    files.push(("end.md".to_owned(), "---\n---\ndone\n".to_owned()));
    files
}

/// Graphs over many keys: for the analysis of data.
mod keyed;

pub use keyed::{lively, web};

/// Writes files below `folder` and makes the folders they need.
///
/// # Errors
/// The system refused.
pub fn write(folder: &Path, files: &[File]) -> io::Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        match fs::write(&path, text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(folder))?;
                fs::write(&path, text)?;
            }
            other => other?,
        }
    }
    Ok(())
}

/// Returns the path of a step's file.
fn path(step: usize) -> String {
    format!("{}.md", id(step))
}

fn id(step: usize) -> String {
    match step % MODULE {
        0 => format!("part_{:04}/start", step / MODULE),
        at => format!("part_{:04}/step_{at:02}", step / MODULE),
    }
}

/// Returns the text of a target that leads from the step `from` to the step `to`.
fn target(to: usize, steps: usize, from: usize) -> String {
    if to >= steps {
        "/end".to_owned()
    } else if to.is_multiple_of(MODULE) {
        format!("part_{:04}", to / MODULE)
    } else if to / MODULE == from / MODULE {
        format!("step_{:02}", to % MODULE)
    } else {
        format!("/{}", id(to))
    }
}

fn start(dice: &mut Dice, first: &str) -> String {
    format!("---\ninput_type: text\nsave_to: name\nto: {first}\n---\n# Welcome\n\n{}\n\nWhat is your name?\n", prose(dice, 700))
}

/// One node of about 1 KB.
fn node(dice: &mut Dice, step: usize, steps: usize) -> String {
    let next = target(step + 1, steps, step);
    let ahead = target(step + 2 + dice.below(6), steps, step);
    let back = target(step - step % MODULE, steps, step);
    let (input, key, one, other) = match dice.below(3) {
        0 => ("input_type: text\ntimeout: 10m\non_timeout: /end\n", "reply", "\"skip\"", "\"again\""),
        1 => (
            "options:\n  - Go on\n  - { value: skip, text: Skip the next ones }\n  - { value: back, text: Go back }\n",
            "choice",
            "\"skip\"",
            "\"back\"",
        ),
        _ => ("input_type: int\ninput_schema: { minimum: 0, maximum: 9 }\n", "amount", "0", "9"),
    };
    let heading = dice.word();
    let mut text = format!(
        "---\n{input}save_to: {key}\ntransitions:\n  - {{ condition: {key} == {one}, to: {ahead} }}\n  - {{ condition: {key} == {other}, to: {back} }}\n  - to: {next}\n---\n"
    );
    let _ = write!(text, "# Step {step}: {heading}\n\n{} {{{{ name }}}}, {}\n\n", prose(dice, 90), prose(dice, 200));
    for _ in 0..3 {
        let _ = writeln!(text, "- **{}**: {}", dice.word(), prose(dice, 60));
    }
    let _ = write!(text, "\n{}\n", prose(dice, 230));
    text
}

/// About `length` bytes of words.
fn prose(dice: &mut Dice, length: usize) -> String {
    let mut text = String::with_capacity(length + 12);
    while text.len() < length {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(dice.word());
    }
    text
}

const WORDS: [&str; 40] = [
    "garden", "lattice", "branch", "leaf", "root", "season", "water", "stone", "window", "letter", "morning", "river", "paper", "answer",
    "question", "carries", "opens", "follows", "waits", "returns", "begins", "under", "beside", "between", "after", "before", "slowly",
    "again", "every", "quiet", "green", "narrow", "the", "a", "and", "with", "of", "for", "in", "to",
];

/// A stream of numbers that a seed determines (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the bound is a usize")]
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }
}

#[cfg(test)]
mod tests {
    use trellis_project::{Memory, Project};

    use super::*;

    /// Returns the findings in a graph.
    fn findings(files: &[File]) -> Vec<String> {
        let loader = files.iter().map(|(path, text)| (path.as_str(), text)).collect::<Memory>().with_limit(1 << 30);
        let compiled = Project::with_loader(loader).unwrap().compile();
        assert_eq!(compiled.program.is_some(), compiled.diagnostics.is_empty());
        compiled.diagnostics.iter().map(|found| format!("{} {:?}", found.message, found.place)).collect()
    }

    #[test]
    fn generated_graphs_check_clean() {
        for nodes in [2, 3, 99, 102, 103, 1_000] {
            let files = generate_with(nodes, nodes as u64);
            assert_eq!(files.len(), nodes + 1);
            assert_eq!(findings(&files), [""; 0], "{nodes} nodes");
        }
    }

    #[test]
    fn worst_cases_check_clean() {
        assert_eq!(findings(&[chain(1_000)]), [""; 0], "chain");
        assert_eq!(findings(&chain_of_files(100)), [""; 0], "chain of files");
        assert_eq!(findings(&ring(100, 10)), [""; 0], "ring");
        assert_eq!(findings(&dense(30)), [""; 0], "dense");
        assert_eq!(findings(&web(60, 8, 24)), [""; 0], "web");
        assert_eq!(findings(&lively(250)), [""; 0], "lively");
    }

    #[test]
    fn a_node_weighs_about_a_kilobyte_and_a_seed_repeats() {
        let files = generate(1_000);
        let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
        assert!((900..1_100).contains(&(bytes / files.len())), "{} bytes a node", bytes / files.len());
        assert!(generate(1_000) == files && generate_with(1_000, 2) != files);
    }
}
