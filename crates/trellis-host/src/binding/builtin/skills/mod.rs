//! `skills.*`: procedures of a folder that are found, shown, checked and carried out with a backup (language 9.24, 11.9–11.13).
//!
//! A skill is a Markdown file with commands (`card.rs`) in a folder (`library.rs`). It runs in a workspace, one at a time (`workspace.rs`), between a
//! backup and its restore (`backup.rs`), which a manifest on the disk remembers under the key of the call (`manifest.rs`).
//!
//! **Invariant:** a call that did not succeed leaves the declared paths as they were, also where its process died, once the next one begins.

mod backup;
mod card;
mod execute;
mod leftovers;
mod library;
mod manifest;
mod paths;
mod ranking;
#[cfg(test)]
mod tests;
mod workspace;

use trellis_core::{Mapping, ToolError, Value};

pub(super) use self::execute::{SkillOperation, SkillRunner};
pub(in crate::binding) use self::{card::card_mistakes, library::SKILLS_FOLDER};
use self::{library::SkillLibrary, ranking::TellingWords};
use super::{BuiltinConfig, Request, Tool, final_error, number, text};
use crate::binding::{Obstacle, config::ConfigReader, kind::Site};

/// Candidates where the call does not say.
const TOP_K: u64 = 5;

/// A question about skills, which changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkillQuestion {
    Search,
    Card,
}

impl SkillQuestion {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "skills.search" => Some(Self::Search),
            "skills.card" => Some(Self::Card),
            _ => None,
        }
    }
}

/// Answers questions about the skills of a folder.
#[derive(Debug)]
pub(super) struct SkillTool {
    question: SkillQuestion,
    library: SkillLibrary,
    /// The least score of a candidate; without one, it must be meant.
    least: Option<f64>,
}

impl SkillTool {
    pub(super) fn new(question: SkillQuestion, config: &BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Self> {
        let library = SkillLibrary::new(config, reader, site)?;
        let least = config.least;
        if let Some(least) = least.filter(|least| !(0.0..=1.0).contains(least)) {
            reader.report("least", format!("`least` is {least}, and a score is from 0 to 1"), Some("write one such as `0.3`".to_owned()));
            return None;
        }
        Some(Self { question, library, least })
    }

    /// Finds the skills that fit a query, best first. A card with mistakes, or one that is blocked, is no candidate: it could not be carried out.
    fn search(&self, args: &Mapping) -> Result<Value, ToolError> {
        let query = TellingWords::of(text(args, "query"));
        let mut found = Vec::new();
        for stamp in self.library.listing().stamps()? {
            let Some(card) =
                self.library.read(&stamp.path).ok().flatten().and_then(Result::ok).filter(|card| !self.library.is_blocked(&card.id))
            else {
                continue;
            };
            let fit = query.fit(&card);
            if self.least.map_or(fit.is_meant, |least| fit.score > 0.0 && fit.score >= least) {
                found.push((fit.score, card));
            }
        }
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let top_k = usize::try_from(number(args, "top_k").unwrap_or(TOP_K)).unwrap_or(usize::MAX);
        let candidates = found.into_iter().take(top_k).map(|(score, card)| {
            Value::map([
                ("reason", Value::text(query.reason(&card))),
                ("skill_id", Value::text(card.id)),
                ("title", Value::text(card.title)),
                ("score_hint", Value::Float(score)),
                ("tags", Value::list(card.tags.into_iter().map(Value::text))),
            ])
        });
        Ok(Value::map([("candidates", Value::list(candidates))]))
    }
}

impl Tool for SkillTool {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let (args, id) = (request.args, text(request.args, "skill_id"));
        match self.question {
            SkillQuestion::Search => self.search(args),
            SkillQuestion::Card => Ok(self.library.find(id)?.map_err(|why| final_error("not_found", why))?.to_value()),
        }
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        self.library.obstacles()
    }
}

/// The arguments of the skill; none are an empty mapping.
fn arguments(args: &Mapping) -> Mapping {
    args.get("args").and_then(Value::as_map).cloned().unwrap_or_default()
}
