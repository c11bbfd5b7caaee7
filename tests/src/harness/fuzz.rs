//! The use of any bytes by the fuzz target and the byte tests: they are read as a graph, formatted, and walked if there is one.
//!
//! The bytes are the files of the graph one behind the other. Between two of them stands a line `=====`, which can name the next one: `===== end.md`.
//! A part named `transcript` holds the inputs of the walk.

use std::collections::BTreeMap;

use trellis_core::{
    Next, Source,
    syntax::{
        document::Bytes,
        format::{Formatted, format},
    },
};

use super::{Loaded, transcript::Walk};

/// The names of parts without one, in this order.
const PATHS: [&str; 7] = ["start.md", "trellis.yaml", "a.md", "m/start.yaml", "lib.yaml", "b.json", TRANSCRIPT];

/// The name of the part that is no file.
const TRANSCRIPT: &str = "transcript";

/// The beginning of the line between two parts.
const SEPARATOR: &[u8] = b"\n=====";

/// Reads `bytes` as the files of a graph, formats and compiles it, and walks it by its transcript. Panics only where there is a bug.
///
/// # Panics
/// A promise is broken.
pub fn run(bytes: &[u8]) {
    let mut parts = split(bytes);
    let inputs = parts.remove(TRANSCRIPT);
    let files: Vec<Source> = parts.into_iter().map(|(path, part)| Source::new(path, part)).collect();
    for file in &files {
        if let Formatted::Changed { to, .. } = format(file) {
            assert!(matches!(format(&Source::text(file.path.clone(), &to)), Formatted::Same), "formatting again changes {to:?}");
        }
    }
    let loaded = Loaded::new(&files);
    let flaws = super::diagnostics::flaws(&loaded.compiled.diagnostics, &loaded.texts);
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
    let Some(program) = &loaded.compiled.program else { return };
    let mut walk = Walk::new(program.clone());
    // A state that nobody stored may promise anything.
    for line in String::from_utf8_lossy(inputs.unwrap_or_default()).lines().filter(|line| !line.starts_with("$ state")).take(50) {
        walk.take(line);
    }
    for _ in 0..20 {
        match walk.next() {
            Some(Next::Ask(request)) => {
                let choice = request.options.first().map_or_else(|| "1".to_owned(), |option| option.value.to_string());
                walk.take(&format!("> {choice}"));
            }
            Some(Next::Call(_) | Next::Parts { .. }) => walk.take("< {}"),
            Some(Next::Pass) => walk.take("."),
            Some(Next::End(_)) | None => break,
        }
    }
    let played = walk.finish();
    assert!(played.problems.is_empty(), "{:?}\n{}", played.problems, played.text);
}

/// Writes a graph as [`run`] reads it. What its files hold must not look like the line between two of them.
pub fn seed(files: &[Source], transcript: &str) -> Vec<u8> {
    let mut seed = Vec::new();
    for Source { path, bytes } in files {
        if let Bytes::Read(bytes) = bytes {
            // The first part has a name of its own too.
            seed.extend([SEPARATOR, b" ", path.as_bytes(), b"\n", bytes].concat());
        }
    }
    seed.extend([SEPARATOR, b" ", TRANSCRIPT.as_bytes(), b"\n", transcript.as_bytes()].concat());
    seed
}

/// The parts by name; where two have one name, the last.
fn split(bytes: &[u8]) -> BTreeMap<&str, &[u8]> {
    let mut parts = BTreeMap::new();
    let mut names = PATHS.into_iter();
    let (mut name, mut rest) = (None, bytes);
    loop {
        let end = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let part = &rest[..end.unwrap_or(rest.len())];
        // Nothing stands before a separator that begins the bytes.
        if (name.is_some() || !part.is_empty())
            && let Some(name) = name.or_else(|| names.next())
        {
            parts.insert(name, part);
        }
        let Some(end) = end else { return parts };
        let line = &rest[end + SEPARATOR.len()..];
        let length = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
        name = str::from_utf8(&line[..length]).ok().map(str::trim).filter(|name| is_path(name));
        rest = line.get(length + 1..).unwrap_or_default();
    }
}

/// Returns whether a loader could give a file of this path.
fn is_path(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.chars().any(char::is_control);
    path == TRANSCRIPT || (path.contains('.') && path.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_as_it_was_written_and_parts_without_names_have_theirs() {
        let files = [Source::text("start.md", "---\nto: m/end\n---\n"), Source::text("m/end.md", "")];
        let seed = seed(&files, "> yes\n");
        let expected = [("m/end.md", ""), ("start.md", "---\nto: m/end\n---\n"), (TRANSCRIPT, "> yes\n")];
        assert_eq!(split(&seed), expected.map(|(path, text)| (path, text.as_bytes())).into());
        let bare = split(b"a\n=====\nb\n===== x.md\nc\n===== ../up.md\nd");
        let expected = [("start.md", "a"), ("trellis.yaml", "b"), ("x.md", "c"), ("a.md", "d")];
        assert_eq!(bare, expected.map(|(path, text)| (path, text.as_bytes())).into());
        run(&seed);
    }
}
