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
#[cfg(test)]
mod tests;
mod workspace;

use trellis_core::{Mapping, ToolError, Value};

pub(super) use self::execute::{SkillOperation, SkillRunner};
use self::library::SkillLibrary;
use super::{
    BuiltinConfig, Request, Tool,
    documents::{Document, IndexSlot, Indexes},
    final_error, number, text,
};
use crate::binding::{Obstacle, config::ConfigReader, host::Resource, kind::Site};

/// Candidates where the call does not say.
const TOP_K: u64 = 5;

/// The indexes of skills, beside those of documents.
#[derive(Default)]
struct SkillIndexes(Indexes);

impl Resource for SkillIndexes {}

/// A question about skills, which changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkillQuestion {
    Search,
    Card,
    Check,
}

impl SkillQuestion {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "skills.search" => Some(Self::Search),
            "skills.card" => Some(Self::Card),
            "skills.check" => Some(Self::Check),
            _ => None,
        }
    }
}

/// Answers questions about the skills of a folder.
#[derive(Debug)]
pub(super) struct SkillTool {
    question: SkillQuestion,
    library: SkillLibrary,
    slot: IndexSlot,
}

impl SkillTool {
    pub(super) fn new(question: SkillQuestion, config: &BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Self> {
        let library = SkillLibrary::new(config, reader, site)?;
        let slot = site.host.shared::<SkillIndexes>().0.slot(library.folder(), library::CARD_GLOB);
        Some(Self { question, library, slot })
    }

    fn search(&self, args: &Mapping) -> Result<Value, ToolError> {
        // A card with mistakes is no candidate: it could not be carried out.
        let read = |path: &str| {
            let card = self.library.read(path).ok()??.ok()?;
            Some(Document { text: format!("{}\n\n{}", card.tags.join(" "), card.text), title: card.title })
        };
        let hits = self.slot.search(self.library.listing(), read, text(args, "query"), number(args, "top_k").unwrap_or(TOP_K))?;
        let candidates = hits.into_iter().filter_map(|hit| {
            let card = self.library.read(&hit.path).ok()??.ok()?;
            Some(Value::map([
                ("skill_id", Value::text(card.id)),
                ("title", Value::text(card.title)),
                ("score_hint", Value::Float(hit.score)),
                ("tags", Value::list(card.tags.into_iter().map(Value::text))),
                ("reason", Value::text(hit.snippet.trim())),
            ]))
        });
        Ok(Value::map([("candidates", Value::list(candidates))]))
    }
}

impl Tool for SkillTool {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        let args = request.args;
        if self.question == SkillQuestion::Search {
            return self.search(args);
        }
        let card = self.library.find(text(args, "skill_id"))?.map_err(|why| final_error("not_found", why))?;
        if self.question == SkillQuestion::Card {
            return Ok(card.to_value());
        }
        let problems = card.problems(&arguments(args));
        Ok(Value::map([("valid", Value::Bool(problems.is_empty())), ("problems", Value::list(problems.into_iter().map(Value::text)))]))
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        self.library.obstacles()
    }
}

/// The arguments of the skill; none are an empty mapping.
fn arguments(args: &Mapping) -> Mapping {
    args.get("args").and_then(Value::as_map).cloned().unwrap_or_default()
}
