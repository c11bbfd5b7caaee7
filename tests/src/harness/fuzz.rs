//! What the fuzz target and the byte tests do with any bytes: read them as a graph, format it, and walk it if there is one.

use trellis_core::{
    Next, Source,
    syntax::format::{Formatted, format},
};

use super::{Loaded, transcript::Walk};

/// The files that the parts of an input become.
const PATHS: [&str; 6] = ["start.md", "trellis.yaml", "a.md", "m/start.yaml", "lib.yaml", "b.json"];

/// Between two parts.
const SEPARATOR: &[u8] = b"\n=====\n";

/// Reads `bytes` as the files of a graph, formats and compiles it, and walks it by its last part. Panics only where there is a bug.
///
/// # Panics
/// A promise is broken.
pub fn run(bytes: &[u8]) {
    let mut parts = split(bytes);
    let inputs = if parts.len() > PATHS.len() { parts.pop() } else { None };
    let files: Vec<Source> = PATHS.iter().zip(parts).map(|(path, part)| Source::new(*path, part)).collect();
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
    for line in String::from_utf8_lossy(inputs.unwrap_or_default()).lines().take(50) {
        walk.take(line);
    }
    for _ in 0..20 {
        match walk.next() {
            Some(Next::Ask(request)) => {
                let choice = request.options.first().map_or_else(|| "1".to_owned(), |option| option.value.to_string());
                walk.take(&format!("> {choice}"));
            }
            Some(Next::Call(_)) => walk.take("< {}"),
            Some(Next::Pass) => walk.take("."),
            Some(Next::End(_)) | None => break,
        }
    }
    let played = walk.finish();
    let problems: Vec<_> = played.problems.iter().filter(|problem| !problem.ends_with("no line of a transcript")).collect();
    assert!(problems.is_empty(), "{problems:?}\n{}", played.text);
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}
