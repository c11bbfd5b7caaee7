//! Conversations with the graph of the repository, over a chat in memory, with replies of a script in place of a model.

mod by_itself;
mod commands;
mod files;
mod hands;
mod held;
mod kinds;
mod locales;
mod many;
mod outages;
mod reactions;
mod records;
mod recovery;
mod remote;
mod restarts;
mod schedules;
mod secrets;
mod shell;
mod skills;
mod talk;
mod tasks;
mod unruly;
mod vault;
mod world;
