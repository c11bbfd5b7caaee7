//! Files below `files/`: every path is opened from that folder down, by the system, so that nothing leads out of it (orchestrator 6). Files from
//! people are read from their folder in the same way, and never written.

use std::sync::Arc;

use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, folder::Folder, function, run_blocking, text};
use crate::{
    channel::{INBOX, folder_of},
    message::ChatPlace,
};

/// Bytes of a text that a tool returns.
pub(super) const MAX_RESULT: usize = 64 << 10;
/// Bytes of a line that a search shows.
const MAX_FOUND_LINE: usize = 500;

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = operation(bindings, hands, "file.list", |call| list(&call.read_from()?));
    let bindings = operation(bindings, hands, "file.read", |call| {
        let (folder, path) = call.read_from()?;
        let whole = folder.read(path)?;
        // A file may hold secrets that were filled in when it was written.
        let shown = call.hands.mask.masked(&whole);
        let shown = beginning(&shown, MAX_RESULT);
        Ok(Value::map([("text", Value::text(shown)), ("is_cut", Value::Bool(shown.len() < whole.len()))]))
    });
    let bindings = operation(bindings, hands, "file.search", search);
    let bindings = operation(bindings, hands, "file.write", |call| {
        call.folder()?.write(call.text("path"), &call.hands.fill_references(call.place, "file", call.text("text"))?)
    });
    let bindings = operation(bindings, hands, "file.edit", edit);
    operation(bindings, hands, "file.delete", |call| call.folder()?.delete(call.text("path")))
}

/// A call of one of these tools.
struct FileCall<'c> {
    hands: &'c Hands,
    place: &'c ChatPlace,
    args: &'c Mapping,
}

fn operation(bindings: Bindings, hands: &Arc<Hands>, name: &str, run: fn(&FileCall<'_>) -> Returned) -> Bindings {
    function(bindings, hands, name, move |hands: Arc<Hands>, context: CallContext, args: Mapping| async move {
        let place = hands.place(&context.session).await?;
        run_blocking(move || run(&FileCall { hands: &hands, place: &place, args: &args })).await
    })
}

impl FileCall<'_> {
    fn text(&self, name: &str) -> &str {
        text(self.args, name)
    }

    fn folder(&self) -> Result<Folder, ToolError> {
        Folder::open(&self.hands.files_folder()?)
    }

    /// The folder that a path is read from, and the path in it: the folder of files, or that of the files which people sent in this chat.
    fn read_from(&self) -> Result<(Folder, &str), ToolError> {
        let path = self.text("path");
        match path.strip_prefix(INBOX).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            None => Ok((self.folder()?, path)),
            Some(rest) => {
                // Until somebody sends a file here, there is no such folder; files of other chats are not there either.
                let missing = || ToolError::coded("not_found", "nobody has sent such a file here").finally();
                let own = folder_of(self.place).to_string_lossy().into_owned();
                let inner = path.strip_prefix(&*own).filter(|inner| inner.is_empty() || inner.starts_with('/'));
                let inner = inner.or_else(|| rest.trim_matches('/').is_empty().then_some("")).ok_or_else(missing)?;
                let folder = Folder::open(&self.hands.workspace.path(&own)).map_err(|_| missing())?;
                Ok((folder, inner.trim_start_matches('/')))
            }
        }
    }
}

/// The names in a folder, as many as a result has room for.
fn list((folder, path): &(Folder, &str)) -> Returned {
    let names = folder.names(path)?;
    let (mut room, count) = (MAX_RESULT, names.len());
    let fits = |name: &String| {
        room = room.saturating_sub(name.len() + 4);
        room > 0
    };
    let shown: Vec<Value> = names.into_iter().take_while(fits).map(Value::text).collect();
    let more = i64::try_from(count - shown.len()).unwrap_or(i64::MAX);
    Ok(Value::map([("names", Value::list(shown)), ("more", Value::Int(more))]))
}

/// The lines below a folder that contain a text, ignoring case, as `PATH:LINE: TEXT`.
fn search(call: &FileCall<'_>) -> Returned {
    let (folder, path) = call.read_from()?;
    let words = call.text("text").to_lowercase();
    let (mut found, mut room, mut is_cut) = (Vec::new(), MAX_RESULT, false);
    for file in folder.files_below(path)? {
        // A file that is no text, or is gone meanwhile, has no lines.
        let Ok(whole) = folder.read(&file) else { continue };
        for (number, line) in (1..).zip(whole.lines()).filter(|(_, line)| line.to_lowercase().contains(&words)) {
            let line = format!("{file}:{number}: {}", beginning(&call.hands.mask.masked(line), MAX_FOUND_LINE));
            is_cut |= line.len() + 4 > room;
            if is_cut {
                break;
            }
            room -= line.len() + 4;
            found.push(Value::text(line));
        }
    }
    Ok(Value::map([("lines", Value::list(found)), ("is_cut", Value::Bool(is_cut))]))
}

/// Replaces a text that occurs in the file exactly once.
fn edit(call: &FileCall<'_>) -> Returned {
    let (folder, path) = (call.folder()?, call.text("path"));
    let [old, new] = ["old", "new"].map(|name| call.hands.fill_references(call.place, "file", call.text(name)));
    let (old, new) = (old?, new?);
    let whole = folder.read(path)?;
    let refused = |why: &str| ToolError::coded("no_match", format!("`{path}`: {why}")).finally();
    match whole.matches(&old).count() {
        1 => folder.write(path, &whole.replacen(&old, &new, 1)),
        0 => Err(refused("the text `old` does not stand in it: read the file again, and copy it exactly")),
        count => Err(refused(&format!("the text `old` stands in it {count} times: take more of what is around it"))),
    }
}

/// The beginning of a text of at most so many bytes, cut between characters.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
