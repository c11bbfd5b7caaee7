//! `trellis session seal`: creates and rotates keys, and lists the keys that are still needed.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use anyhow::Context as _;
use serde_json::json;
use trellis_core::SessionId;
use trellis_host::store::{Keys, Query, Sealed, SessionStore, Which};
use trellis_orchestrator::visible::visible_line;

use super::{
    HEADS_PER_PAGE,
    context::{OutputArgs, TargetArgs},
};
use crate::{Exit, report::counted, store_config::warn, terminal};

/// Seals stored sessions with the first key of the key file, and generates keys
///
/// Later records of the sessions are sealed with that key. Earlier records stay sealed with their old key, which is needed until
/// `session prune --keep-records 1` has cut them; `--needed` lists the keys that are still needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session seal --key-file shop.keys --new-key     create the file, seal all sessions
  export TRELLIS_KEY_FILE=shop.keys                       for the commands that follow
  trellis session seal --new-key                          replace the key by a new one
  trellis session seal --needed                           list the keys that are still needed
  trellis session prune --keep-records 1                  cut histories, so that old keys can go

Exit codes: 0 sealed; 1 sessions could not be sealed; 2 wrong usage, or the store or the key file failed.")]
pub(super) struct Seal {
    /// First add a new key at the top of the key file, which is created if it does not exist
    #[arg(long)]
    new_key: bool,
    /// Show how many sessions need each key, and change nothing
    #[arg(long, conflicts_with = "new_key")]
    needed: bool,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

/// The outcomes of the sessions.
#[derive(Default)]
struct Done {
    sealed: usize,
    already_sealed: usize,
    failed: Vec<(SessionId, String)>,
}

impl Seal {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let keep = self.place.keep()?;
        if let (true, Some(file)) = (self.new_key, keep.key_file()) {
            let name = Keys::generate(file)?;
            if !self.form.is_json() {
                terminal::print(&format!("{name} is the first key of {}\n", visible_line(&file.to_string_lossy())))?;
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let done = runtime.block_on(async {
            let Some((store, keys)) = keep.open_sealed().await? else { return self.tell(&Done::default()) };
            if self.needed {
                return self.needed(store, keys).await;
            }
            warn(&keep).await;
            self.seal(&Sealed::new(store, keys)).await
        });
        runtime.shutdown_background();
        done
    }

    async fn seal(&self, sealed: &Sealed<Arc<dyn SessionStore>>) -> anyhow::Result<Exit> {
        let (mut done, mut after) = (Done::default(), None);
        loop {
            let page = sealed.reseal(after, HEADS_PER_PAGE).await?;
            done.sealed += page.sealed;
            done.already_sealed += page.already_sealed;
            done.failed.extend(page.failed.into_iter().map(|(session, why)| (session, why.to_string())));
            after = page.next;
            if after.is_none() {
                return self.tell(&done);
            }
        }
    }

    fn tell(&self, done: &Done) -> anyhow::Result<Exit> {
        let Done { sealed, already_sealed, failed } = done;
        let exit = if failed.is_empty() { Exit::Fine } else { Exit::Failed };
        if self.form.is_json() {
            let failed: Vec<_> = failed.iter().map(|(session, why)| json!({ "id": session, "why": why })).collect();
            terminal::print(&format!("{}\n", json!({ "sealed": sealed, "kept": already_sealed, "failed": failed })))?;
            return Ok(exit);
        }
        let mut text = String::new();
        for (session, why) in failed {
            let _ = writeln!(text, "{session}  is not sealed: {}", visible_line(why));
        }
        let rest = if failed.is_empty() { String::new() } else { format!(", {} could not be", failed.len()) };
        let _ = writeln!(text, "{} sealed, {already_sealed} were already{rest}", counted(*sealed, "session"));
        terminal::print(&text)?;
        Ok(exit)
    }

    /// Counts the sessions that need each key.
    async fn needed(&self, store: Arc<dyn SessionStore>, keys: Keys) -> anyhow::Result<Exit> {
        let names: Vec<Arc<str>> = keys.names().map(Arc::from).collect();
        let sealed = Sealed::new(Arc::clone(&store), keys);
        let (mut counts, mut after) = (BTreeMap::<Option<Arc<str>>, usize>::new(), None);
        loop {
            let page = store.list(Query { graph: None, which: Which::Newest, after, limit: HEADS_PER_PAGE }).await?;
            for head in &page {
                for key in sealed.keys_of(&head.session).await? {
                    *counts.entry(key).or_default() += 1;
                }
            }
            after = page.last().filter(|_| page.len() == HEADS_PER_PAGE).map(|head| (head.at, head.session.clone()));
            if after.is_none() {
                break;
            }
        }
        let clear = counts.remove(&None).unwrap_or_default();
        let strange: Vec<_> = counts.keys().flatten().filter(|key| !names.contains(key)).cloned().collect();
        let count = |key: &Arc<str>| counts.get(&Some(Arc::clone(key))).copied().unwrap_or_default();
        if self.form.is_json() {
            let known = names.iter().map(|key| (key, true)).chain(strange.iter().map(|key| (key, false)));
            let keys: Vec<_> = known.map(|(key, is_here)| json!({ "key": key, "in_file": is_here, "sessions": count(key) })).collect();
            terminal::print(&format!("{}\n", json!({ "keys": keys, "seals": names[0], "clear": clear })))?;
            return Ok(Exit::Fine);
        }
        let needed = |sessions: usize| match sessions {
            1 => "1 session needs it".to_owned(),
            sessions => format!("{sessions} sessions need it"),
        };
        let mut text = String::new();
        for (at, key) in names.iter().enumerate() {
            let what = match (at, count(key)) {
                (0, count) => format!("seals; {}", needed(count)),
                (_, 0) => "no session here needs it: its line can go".to_owned(),
                (_, count) => needed(count),
            };
            let _ = writeln!(text, "{key}  {what}");
        }
        for key in &strange {
            let _ = writeln!(text, "{}  {}, and it is not in the file", visible_line(key), needed(count(key)));
        }
        if clear > 0 {
            let _ = writeln!(text, "records in the clear: {}", counted(clear, "session"));
        }
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }
}
