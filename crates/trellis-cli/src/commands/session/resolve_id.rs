//! Finds a session by a prefix of its name.

use anyhow::bail;
use trellis_core::{SessionId, diagnostic::did_you_mean};
use trellis_host::store::{Query, SessionStore, StoreError, Which, check_name};

use super::HEADS_PER_PAGE;

/// Names of candidates that are shown.
const MAX_NAMED_CANDIDATES: usize = 5;

/// The one session that `text` names, whole or by its beginning.
///
/// # Errors
/// There is none, or there are several; or the store fails.
pub(crate) async fn named(store: &dyn SessionStore, text: &str) -> anyhow::Result<SessionId> {
    check_name(text)?;
    let id = SessionId::from(text);
    match store.load(std::slice::from_ref(&id)).await {
        Ok(stored) if stored.iter().all(Option::is_none) => {}
        // It is there; who does something with it hears why it cannot be read.
        Ok(_) | Err(StoreError::Corrupt { .. }) => return Ok(id),
        Err(error) => return Err(error.into()),
    }
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(Query { graph: None, which: Which::Newest, after: after.take(), limit: HEADS_PER_PAGE }).await?;
        after = page.last().map(|head| (head.at, head.session.clone()));
        let is_last = page.len() < HEADS_PER_PAGE;
        all.extend(page.into_iter().map(|head| head.session));
        if is_last {
            break;
        }
    }
    let mut found: Vec<_> = all.iter().filter(|id| id.as_str().starts_with(text)).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let near = did_you_mean(text, all.iter().map(SessionId::as_str));
            bail!("there is no session `{text}`\n{}", near.unwrap_or_else(|| "`trellis session ls` lists them".to_owned()))
        }
        _ => {
            found.sort();
            let names: Vec<_> = found.iter().take(MAX_NAMED_CANDIDATES).map(|id| format!("`{id}`")).collect();
            let more = if found.len() > MAX_NAMED_CANDIDATES { ", …" } else { "" };
            bail!("{} sessions begin with `{text}`: {}{more}", found.len(), names.join(", "))
        }
    }
}
