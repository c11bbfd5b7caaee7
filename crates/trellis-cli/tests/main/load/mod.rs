//! Servers that are killed while many use them, and servers that run on.
//!
//! Each runs for a few seconds; `KILLS=1000`, `SOAK=3600` (seconds) and `CONNECTIONS=10000` make them long.

mod client;
mod connections;
mod kills;
mod soak;
