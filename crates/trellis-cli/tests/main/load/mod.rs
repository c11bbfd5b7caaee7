//! Servers that are killed while many use them, and servers that run on (doors 10.6, 10.7).
//!
//! Each runs for a few seconds; `KILLS=1000` and `SOAK=3600` (seconds) make them long.

mod client;
mod kills;
mod soak;
