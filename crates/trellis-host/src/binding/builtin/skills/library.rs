//! The skills of a folder: its Markdown files, by name (language 11.9, 11.13).

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use trellis_core::ToolError;

use super::{
    super::{
        BuiltinConfig,
        documents::{Document, Listing, no_folder},
    },
    card::{CardMistake, SkillCard},
    manifest,
};
use crate::binding::{Obstacle, config::ConfigReader, kind::Site};

/// The cards of a folder, not of those below it.
pub(super) const CARD_GLOB: &str = "*.md";

pub(in crate::binding) const SKILLS_FOLDER: &str = "_skills";

/// A folder of cards, and the skills of it that may be carried out.
#[derive(Clone, Debug)]
pub(super) struct SkillLibrary {
    listing: Listing,
    /// The folder of the project file.
    pub(super) home: PathBuf,
    /// The folder in which skills run.
    pub(super) workspace: PathBuf,
    /// Skills that may be carried out; `None` for all.
    allow: Option<GlobSet>,
    block: GlobSet,
}

impl SkillLibrary {
    pub(super) fn new(config: &BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Self> {
        let folder = site.folder.join(config.folder.as_deref().unwrap_or(Path::new(SKILLS_FOLDER)));
        let allow = config.allow.as_ref().map(|globs| compile("allow", globs, reader));
        let block = compile("block", &config.block, reader)?;
        Some(Self {
            listing: Listing::new(&folder, CARD_GLOB).ok()?,
            home: site.folder.to_owned(),
            workspace: site.folder.join(config.workspace.as_deref().unwrap_or(Path::new(""))),
            allow: match allow {
                Some(globs) => Some(globs?),
                None => None,
            },
            block,
        })
    }

    pub(super) fn listing(&self) -> &Listing {
        &self.listing
    }

    pub(super) fn folder(&self) -> &Path {
        self.listing.folder()
    }

    /// Returns whether a skill may not be carried out: blocked wins over allowed.
    pub(super) fn is_blocked(&self, id: &str) -> bool {
        self.block.is_match(id) || self.allow.as_ref().is_some_and(|allow| !allow.is_match(id))
    }

    /// Says that a skill may not be carried out.
    pub(super) fn refusal(id: &str) -> String {
        format!("the skill `{id}` is blocked here")
    }

    /// Finds a card by its id, among the files that are listed: an id is never made into a path.
    ///
    /// # Errors
    /// The folder cannot be listed. Inside: there is no such card, or it has mistakes.
    pub(super) fn find(&self, id: &str) -> Result<Result<SkillCard, String>, ToolError> {
        let stamps = self.listing.stamps()?;
        let paths = || stamps.iter().map(|stamp| stamp.path.as_str());
        let Some(path) = paths().find(|path| path.strip_suffix(".md") == Some(id)) else {
            let known = paths().filter_map(|path| path.strip_suffix(".md"));
            let near = trellis_core::diagnostic::did_you_mean(id, known).map(|near| format!("; {near}")).unwrap_or_default();
            return Ok(Err(format!("there is no skill `{id}`{near}")));
        };
        let missing = || format!("there is no skill `{id}`");
        let Some(card) = self.read(path)? else { return Ok(Err(missing())) };
        Ok(card.map_err(|mistakes| {
            let mistakes: Vec<String> = mistakes.into_iter().map(|mistake| mistake.message).collect();
            format!("the card of the skill `{id}` has mistakes: {}", mistakes.join("; "))
        }))
    }

    /// Reads the card at a listed path; `None` if it has vanished.
    pub(super) fn read(&self, path: &str) -> Result<Option<Result<SkillCard, Vec<CardMistake>>>, ToolError> {
        let Some(source) = Document::source(self.folder(), path)? else { return Ok(None) };
        let id = path.strip_suffix(".md").unwrap_or(path);
        Ok(Some(SkillCard::parse(id, &source, &self.workspace, &manifest::state_below(&self.home))))
    }

    /// All cards without mistakes, with their paths, and the obstacles that the others are.
    pub(super) fn cards(&self) -> (Vec<(String, SkillCard)>, Vec<Obstacle>) {
        if let Some(obstacle) = no_folder(self.folder()) {
            return (Vec::new(), vec![obstacle]);
        }
        let stamps = match self.listing.stamps() {
            Ok(stamps) => stamps,
            Err(error) => return (Vec::new(), vec![Obstacle::new("folder", error.message)]),
        };
        let (mut cards, mut obstacles) = (Vec::new(), Vec::new());
        for path in stamps.into_iter().map(|stamp| stamp.path) {
            match self.read(&path) {
                Ok(None) => {}
                Ok(Some(Ok(card))) => cards.push((path, card)),
                Ok(Some(Err(mistakes))) => obstacles.extend(mistakes.into_iter().map(|CardMistake { message, help, .. }| Obstacle {
                    help,
                    ..Obstacle::new("folder", format!("the card `{path}`: {message}")).of_file(&self.folder().join(&path))
                })),
                Err(error) => obstacles.push(Obstacle::new("folder", error.message)),
            }
        }
        (cards, obstacles)
    }

    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        self.cards().1
    }
}

fn compile(key: &str, globs: &[String], reader: &mut ConfigReader<'_>) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    let mut is_sound = true;
    for (index, glob) in globs.iter().enumerate() {
        match Glob::new(glob) {
            Ok(glob) => drop(set.add(glob)),
            Err(error) => {
                is_sound = false;
                reader.report(
                    &format!("{key}.{index}"),
                    format!("`{glob}` is no glob: {error}"),
                    Some("write one such as `tidy_*`".to_owned()),
                );
            }
        }
    }
    set.build().ok().filter(|_| is_sound)
}
