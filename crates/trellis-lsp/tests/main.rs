//! The server as a client sees it, over channels in memory.

#[path = "main/authored.rs"]
mod authored;
#[path = "main/client.rs"]
mod client;
#[path = "main/completed.rs"]
mod completed;
#[path = "main/findings.rs"]
mod findings;
#[path = "main/mended.rs"]
mod mended;
#[path = "main/moving.rs"]
mod moving;
#[path = "main/offers.rs"]
mod offers;
#[path = "main/own_moves.rs"]
mod own_moves;
#[path = "main/requests.rs"]
mod requests;
#[path = "main/rough.rs"]
mod rough;
#[path = "main/settings.rs"]
mod settings;
#[path = "main/sheets.rs"]
mod sheets;
#[path = "main/shown.rs"]
mod shown;
#[path = "main/trouble.rs"]
mod trouble;
#[path = "main/typing.rs"]
mod typing;
#[path = "main/unhoused.rs"]
mod unhoused;
#[path = "main/writing.rs"]
mod writing;
