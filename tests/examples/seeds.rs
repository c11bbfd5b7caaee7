//! Writes the graphs of the suite and the docs as seeds of the fuzz target:
//! `cargo run -p trellis-tests --example seeds -- fuzz/corpus/graph && cd fuzz && cargo +nightly fuzz run graph`.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use trellis_project::sheet::BlockKind;
use trellis_tests::harness::{case::read_sheet, fuzz, run::markdown_files};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).map(PathBuf::from).ok_or("name the folder of the seeds")?;
    fs::create_dir_all(&folder)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sheets = markdown_files(&root.join("tests/suite"));
    sheets.extend(markdown_files(&root.join("docs")));
    let mut count = 0;
    for path in sheets {
        for case in read_sheet(&path)?.cases.iter().filter(|case| !case.files.is_empty()) {
            let transcript = case.expected.iter().find(|block| block.kind == BlockKind::Transcript);
            fs::write(folder.join(format!("{count:04}")), fuzz::seed(&case.files, transcript.map_or("", |block| &block.text)))?;
            count += 1;
        }
    }
    Ok(())
}
