//! Kills processes that walk sessions, and judges what is left: the long run of what `tests/crash.rs` does for a minute.
//!
//! ```sh
//! cargo run --release -p trellis-tests --bin crash -- 10000            # 10,000 kills, shared by all stores
//! cargo run --release -p trellis-tests --bin crash -- 1000 sqlite files
//! ```
//!
//! With `worker STORE FOLDER SESSIONS` it is the process that is killed.

#![expect(clippy::print_stdout, reason = "it reports")]

use std::{env, io, path::Path, process::ExitCode};

use trellis_tests::crash::{
    killer::{self, Limit},
    worker,
};

/// Stores that need no server.
const STORES: [&str; 2] = ["files", "sqlite"];

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["worker", store, folder, sessions] => work(store, Path::new(folder), sessions).map(|()| ExitCode::SUCCESS),
        [kills, ref stores @ ..] => try_all(kills, if stores.is_empty() { &STORES } else { stores }),
        [] => Err(io::Error::other("crash KILLS [STORE…]: how often?")),
    }
}

fn work(store: &str, folder: &Path, sessions: &str) -> io::Result<()> {
    let sessions = sessions.parse().map_err(io::Error::other)?;
    runtime()?.block_on(async {
        let store = trellis_host::store::open(store).await.map_err(io::Error::other)?;
        worker::work(store, folder, sessions).await
    })
}

fn try_all(kills: &str, stores: &[&str]) -> io::Result<ExitCode> {
    let kills: usize = kills.parse().map_err(io::Error::other)?;
    let (program, runtime) = (env::current_exe()?, runtime()?);
    let mut exit = ExitCode::SUCCESS;
    for (at, store) in stores.iter().enumerate() {
        let share = kills / stores.len() + usize::from(at < kills % stores.len());
        let (killed, verdict) = killer::crash(&program, Limit::Kills(share), &runtime, |folder| match *store {
            "files" => format!("files:{}", folder.join("sessions").display()),
            "sqlite" => format!("sqlite:{}", folder.join("sessions.db").display()),
            address => address.to_owned(),
        })?;
        println!("{}", killed.report(store, &verdict));
        for flaw in &verdict.flaws {
            println!("  {flaw}");
            exit = ExitCode::FAILURE;
        }
    }
    Ok(exit)
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
