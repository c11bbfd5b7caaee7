//! Conversations with the graph of the repository, over a chat in memory, with replies of a script in place of a model.

mod by_itself;
mod commands;
mod hands;
mod held;
mod recovery;
mod schedules;
mod secrets;
mod talk;
mod tasks;
mod world;
