//! The spelling of a target or a link after a move: in its author's manner where that still leads there.
//!
//! A bare target is looked up in a folder and those around it. Its manner is the folder below which it names its node, and whether it names a
//! module by its `start`. A link's manner is the number of folders that it goes up, and its `./`.

use trellis_base::id::NodeId;

/// Returns the spellings of a target without `./` and `/` that are in its manner: below the folder that it was looked up in, below what that
/// folder is called now, and with as many names as it had. Whether they lead to the node is for the caller to find out.
pub(super) fn in_manner(name: &str, before: &NodeId, after: &NodeId) -> Vec<String> {
    let module = before.as_str().strip_suffix("/start");
    let above = |id: &'_ str| id.strip_suffix(name).map(str::to_owned);
    let found = module.and_then(above).map(|above| (above, true)).or_else(|| above(before.as_str()).map(|above| (above, false)));
    let Some((folder, is_module)) = found.filter(|(above, _)| above.is_empty() || above.ends_with('/')) else { return Vec::new() };
    let folder = folder.trim_end_matches('/');
    let now = after.as_str();
    let now = if is_module { now.strip_suffix("/start").unwrap_or(now) } else { now };
    let names: Vec<&str> = now.split('/').collect();
    let last = names.len().checked_sub(name.split('/').count()).map(|first| names[first..].join("/"));
    let renamed = renamed_folder(folder, before.as_str(), after.as_str());
    let spelled = [below(now, folder), renamed.and_then(|folder| below(now, &folder)), last];
    spelled.into_iter().flatten().collect()
}

/// Returns what a folder around a node is called after the node moved, by the part of the node's id that is another one now.
fn renamed_folder(folder: &str, before: &str, after: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('/').collect(), after.split('/').collect());
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    let (old, new) = (old[..old.len() - same].join("/"), new[..new.len() - same].join("/"));
    if folder == old {
        return Some(new);
    }
    let rest = below(folder, &old)?;
    Some(if new.is_empty() { rest } else { format!("{new}/{rest}") })
}

/// Returns the rest of a path below a folder; `None` if it is not there.
pub(super) fn below(path: &str, folder: &str) -> Option<String> {
    let rest = if folder.is_empty() { path } else { path.strip_prefix(folder)?.strip_prefix('/')? };
    Some(rest.to_owned())
}

/// Returns the link from a folder to a file: as many folders up as the link went before, if the file lies there, else as few as there must be.
pub(super) fn relative(old: &str, folder: &str, file: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = file.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(one, other)| one == other).count();
    let (lead, bare) = old.strip_prefix("./").map_or(("", old), |bare| ("./", bare));
    let wanted = bare.split('/').take_while(|part| *part == "..").count();
    let kept = from.len().saturating_sub(wanted).min(shared);
    let up = vec![".."; from.len() - kept];
    let lead = if up.is_empty() || wanted > 0 { lead } else { "" };
    format!("{lead}{}", up.into_iter().chain(to[kept..].iter().copied()).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_keeps_the_folder_that_it_was_looked_up_in() {
        for (name, before, after, expected) in [
            // A long one stays long, a short one short.
            ("specialist/structured", "specialist/structured/start", "specialist/other/start", "specialist/other"),
            ("structured", "specialist/structured/start", "specialist/other/start", "other"),
            ("structured/start", "specialist/structured/start", "specialist/other/start", "other/start"),
            ("specialist/structured/done", "specialist/structured/done", "specialist/other/done", "specialist/other/done"),
            // The folder itself has another name.
            ("ask/who", "a/ask/who", "b/ask/who", "ask/who"),
            ("who", "a/ask/who", "b/c/ask/who", "who"),
            ("who", "a/who", "who", "who"),
            // A name that only ends like the node.
            ("restart", "restart/start", "again/start", "again"),
            ("start", "restart", "again", ""),
        ] {
            let spelled = in_manner(name, &before.into(), &after.into());
            assert_eq!(spelled.first().map_or("", String::as_str), expected, "{name}: {before} → {after}");
        }
    }

    #[test]
    fn a_link_goes_up_as_far_as_it_went() {
        for (old, folder, file, expected) in [
            ("pay.md", "shop", "shop/cash.md", "cash.md"),
            ("./pay.md", "shop", "shop/cash.md", "./cash.md"),
            ("../orders/pay.md", "shop", "shop/pay.md", "../shop/pay.md"),
            ("../../a/b/pay.md", "a/c", "a/c/pay.md", "../../a/c/pay.md"),
            ("./pay.md", "shop", "pay.md", "../pay.md"),
            ("../../pay.md", "shop", "pay.md", "../pay.md"),
            ("shop/pay.md", "", "pay.md", "pay.md"),
        ] {
            assert_eq!(relative(old, folder, file), expected, "{old}");
        }
    }
}
