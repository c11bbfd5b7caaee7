//! Moves of files that the server's own edits make. A client may announce them as it does those of a person; by then the edit has already changed the
//! texts, and nothing is left to do.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value as Json;

use super::Answer;
use crate::{
    state::{OwnMoves, ServerState},
    wire::{RenameFilesParams, Uri},
};

/// Number of edits that are remembered: an offer of code actions holds a few, of which a person takes one.
const REMEMBERED: usize = 16;

/// Remembers the moves in an answer: an edit, or actions with an edit each.
pub(super) fn remembered(state: &mut ServerState, answer: Answer) -> Answer {
    let made = answer?;
    let actions = made.as_array().into_iter().flatten().map(|action| &action["edit"]);
    let found: Vec<OwnMoves> = actions.chain([&made]).filter_map(|edit| own_moves(state, edit)).collect();
    state.own_moves.extend(found);
    let old = state.own_moves.len().saturating_sub(REMEMBERED);
    state.own_moves.drain(..old);
    Ok(made)
}

fn own_moves(state: &mut ServerState, edit: &Json) -> Option<OwnMoves> {
    let changes = edit["documentChanges"].as_array()?;
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let moves: Vec<_> = changes.iter().filter_map(|change| Some((text(&change["oldUri"])?, text(&change["newUri"])?))).collect();
    let uris = changes.iter().filter_map(|change| Some(Uri(text(&change["textDocument"]["uri"])?)));
    let edited = uris.filter_map(|uri| Some((uri.clone(), hash(state, &uri)?))).collect();
    Some(OwnMoves { moves, edited }).filter(|own| !own.moves.is_empty())
}

/// Returns whether moves are those of an edit of the server that is being made. Those of a person end what is remembered.
pub(super) fn are_own(state: &mut ServerState, params: &RenameFilesParams) -> bool {
    let remembered = std::mem::take(&mut state.own_moves);
    let is_own = remembered.iter().any(|own| {
        let is_among = |from: &Uri, to: &Uri| own.moves.iter().any(|(own_from, own_to)| *own_from == from.0 && *own_to == to.0);
        let is_begun = own.edited.iter().any(|(uri, before)| hash(state, uri).is_some_and(|now| now != *before));
        is_begun && params.files.iter().all(|file| is_among(&file.old_uri, &file.new_uri))
    });
    if is_own {
        state.own_moves = remembered;
    }
    is_own
}

/// Returns a hash of the newest text of a file.
fn hash(state: &mut ServerState, uri: &Uri) -> Option<u64> {
    let (graph, path) = state.graph(uri)?;
    let mut hasher = DefaultHasher::new();
    graph.text(&path)?.as_str().hash(&mut hasher);
    Some(hasher.finish())
}
