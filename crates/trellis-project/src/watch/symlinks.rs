//! The links that a path leads through, and where it ends: if one of them changes, the path means something else.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

/// Links that are followed; a path with more leads round in a circle.
const HOPS: usize = 40;

/// The links along an absolute path, and its end: that, or the first name that is missing. Each is in a folder without links.
pub(super) fn trail(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut here = PathBuf::new();
    let mut ahead: VecDeque<Step> = steps(path).collect();
    let mut hops = 0;
    while let Some(step) = ahead.pop_front() {
        match step {
            Step::Top(top) => here = top,
            Step::Up => drop(here.pop()),
            Step::Down(name) => {
                here.push(name);
                match fs::read_link(&here) {
                    Ok(target) if hops < HOPS => {
                        hops += 1;
                        found.push(here.clone());
                        here.pop();
                        steps(&target).rev().for_each(|step| ahead.push_front(step));
                    }
                    _ if ahead.is_empty() || fs::symlink_metadata(&here).is_err() => break,
                    _ => {}
                }
            }
        }
    }
    found.push(here);
    found
}

enum Step {
    Top(PathBuf),
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> {
    path.components().filter_map(|part| match part {
        Component::Prefix(_) | Component::RootDir => Some(Step::Top(PathBuf::from(part.as_os_str()))),
        Component::CurDir => None,
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_named_and_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let at = |path: &str| root.join(path);
        fs::create_dir_all(at("real/deep")).unwrap();
        fs::write(at("real/deep/x.md"), "").unwrap();
        symlink("real", at("one")).unwrap();
        symlink(at("one/deep"), at("two")).unwrap();
        symlink("../real/../two/x.md", at("real/three")).unwrap();
        symlink("round", at("round")).unwrap();
        assert_eq!(trail(&at("real/deep/x.md")), [at("real/deep/x.md")]);
        assert_eq!(trail(&at("two/x.md")), [at("two"), at("one"), at("real/deep/x.md")]);
        assert_eq!(trail(&at("real/three")), [at("real/three"), at("two"), at("one"), at("real/deep/x.md")]);
        assert_eq!(trail(&at("one/gone/for/good")), [at("one"), at("real/gone")]);
        assert_eq!(trail(&at("round")).last(), Some(&at("round")));
    }
}
