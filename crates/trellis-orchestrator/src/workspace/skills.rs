//! `skills/`: cards of skills that people write for the agent, a file each: `skills/ID.md` (orchestrator 5.3).

use std::{fs, io};

use serde::Deserialize;

use super::Workspace;

/// Skills that the model is shown at most.
const MAX_SKILLS: usize = 100;
/// Bytes of a card.
const MAX_CARD: u64 = 64 << 10;

/// The frontmatter of a card, as far as a list shows it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CardHead {
    title: String,
    tags: Vec<String>,
}

impl Workspace {
    /// The skills, a line each: id, title and tags. A card that cannot be understood has its id only.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn skills(&self) -> io::Result<Vec<String>> {
        let folder = match fs::read_dir(self.path("skills")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let mut ids: Vec<String> =
            folder.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".md").map(str::to_owned)).collect();
        ids.retain(|id| is_skill_id(id));
        ids.sort_unstable();
        ids.truncate(MAX_SKILLS);
        Ok(ids.into_iter().map(|id| self.skill_line(&id)).collect())
    }

    /// The card of a skill; `None` if there is none.
    ///
    /// # Errors
    /// It is too large, or cannot be read.
    pub fn skill(&self, id: &str) -> io::Result<Option<String>> {
        let path = self.path(&format!("skills/{id}.md"));
        if !is_skill_id(id) {
            return Ok(None);
        }
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A link may lead anywhere.
            Ok(metadata) if !metadata.is_file() => return Ok(None),
            Ok(metadata) if metadata.len() > MAX_CARD => return Err(io::Error::other(format!("it has more than {MAX_CARD} bytes"))),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        fs::read(path).map(|bytes| Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn skill_line(&self, id: &str) -> String {
        let text = self.skill(id).ok().flatten().unwrap_or_default();
        let yaml = text.strip_prefix("---\n").and_then(|text| text.split("\n---").next()).unwrap_or_default();
        let CardHead { title, tags } = serde_yaml::from_str(yaml).unwrap_or_default();
        let title: Vec<&str> = title.split_whitespace().collect();
        let mut line = format!("- {id}");
        if !title.is_empty() {
            line += &format!(": {}", title.join(" "));
        }
        if !tags.is_empty() {
            line += &format!(" ({})", tags.join(", "));
        }
        line
    }
}

fn is_skill_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    // orchestrator 5.3: skills by id, title and tags; a file that is no card hides no other
    #[test]
    fn skills_are_listed_by_their_cards() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(&folder.path().join("ws"), Path::new("/nowhere")).expect("a workspace");
        assert_eq!(workspace.skills().expect("none"), Vec::<String>::new());
        fs::create_dir(workspace.path("skills")).expect("made");
        let card = |name: &str, text: &[u8]| fs::write(workspace.path(&format!("skills/{name}")), text).expect("written");
        card("tea.md", b"---\ntitle: Make  tea\ntags: [kitchen, hot]\nrun: [tea]\n---\nBoil water.\n");
        card("plain.md", b"No frontmatter.\n");
        card("broken.md", b"---\ntitle: [\n---\n\xff");
        card("../escape.md", b"x");
        card("notes.txt", b"x");
        std::os::unix::fs::symlink("/etc/passwd", workspace.path("skills/link.md")).expect("linked");
        let lines = ["- broken", "- link", "- plain", "- tea: Make tea (kitchen, hot)"];
        assert_eq!(workspace.skills().expect("listed"), lines);
        assert!(workspace.skill("tea").expect("read").is_some_and(|text| text.contains("Boil water.")));
        for id in ["link", "none", "../escape", ""] {
            assert_eq!(workspace.skill(id).expect("asked"), None, "{id}");
        }
        card("large.md", &vec![b'x'; 65 << 10]);
        assert!(workspace.skill("large").is_err());
    }
}
