//! Writes a generated graph: `cargo run -p trellis-tests --example generate -- [--lively|--web] NODES FOLDER [SEED]`.
//!
//! `--web` is dense: twenty ways from each node, 500 keys with types. `--lively` asks, calls, remembers and reads. A seed is of the plain kind.
#![allow(clippy::print_stdout, reason = "it says what it wrote")]

use std::{env, error::Error, path::Path};

use trellis_tests::generator;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (kind, args) = match args.split_first() {
        Some((kind, rest)) if kind.starts_with("--") => (kind.as_str(), rest),
        _ => ("", args.as_slice()),
    };
    let [nodes, folder, seed @ ..] = args else { return Err("usage: generate [--lively|--web] NODES FOLDER [SEED]".into()) };
    let nodes = nodes.parse()?;
    let files = match kind {
        "" => generator::generate_with(nodes, seed.first().map_or(Ok(1), |seed| seed.parse())?),
        "--lively" => generator::lively(nodes),
        "--web" => generator::web(nodes, 20, 500),
        other => return Err(format!("there is no kind `{other}`").into()),
    };
    generator::write(Path::new(folder), &files)?;
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {} bytes, in {folder}", files.len(), bytes);
    Ok(())
}
