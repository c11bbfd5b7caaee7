//! Writes a generated graph: `cargo run -p trellis-tests --example generate -- NODES FOLDER [SEED]`.
#![allow(clippy::print_stdout, reason = "it says what it wrote")]

use std::{env, error::Error, path::Path};

use trellis_tests::generator;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [nodes, folder, seed @ ..] = args.as_slice() else { return Err("usage: generate NODES FOLDER [SEED]".into()) };
    let files = generator::generate_with(nodes.parse()?, seed.first().map_or(Ok(1), |seed| seed.parse())?);
    generator::write(Path::new(folder), &files)?;
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {} bytes, in {folder}", files.len(), bytes);
    Ok(())
}
