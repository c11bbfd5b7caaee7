//! Whatever is done to a folder, and however fast: what is watched ends as what stands there.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use trellis_project::{Live, Project, Waited, Watch};

use crate::desk::START;

/// A seed in, numbers out.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.roll(names.len())]
    }

    /// A folder that may be there.
    fn folder(&mut self) -> PathBuf {
        let depth = self.roll(3);
        (0..depth).map(|_| self.pick(&["a", "b", ".hidden", "c"])).collect()
    }

    fn file(&mut self) -> PathBuf {
        self.folder().join(self.pick(&["start.md", "x.md", "y.md", "lib.yaml", "notes.txt", ".gitignore", "trellis.yaml", "x.md~"]))
    }
}

/// Does one thing to the folder, if it can be done.
fn act(root: &Path, away: &Path, dice: &mut Dice, round: usize) -> io::Result<()> {
    let (one, other) = (root.join(dice.file()), root.join(dice.file()));
    let (folder, another) = (root.join(dice.folder()), root.join(dice.folder()));
    match dice.roll(12) {
        0..3 => {
            let text = if one.ends_with(".gitignore") { "y.md\n/b/\n".to_owned() } else { format!("A page of round {round}.\n") };
            fs::create_dir_all(one.parent().unwrap())?;
            fs::write(one, text)
        }
        3 => fs::rename(one, other),
        4 => fs::remove_file(one),
        5 => fs::create_dir_all(folder),
        6 if folder != root => fs::rename(folder, another),
        7 if folder != root => fs::remove_dir_all(folder),
        8 if folder != root => fs::rename(folder, away.join(round.to_string())),
        9 => {
            let from = fs::read_dir(away)?.next().ok_or(io::ErrorKind::NotFound)??;
            fs::rename(from.path(), folder.join("back"))
        }
        #[cfg(unix)]
        10 => std::os::unix::fs::symlink(dice.pick(&["../b", "a", ".hidden", "x.md", "nowhere"]), folder.join(dice.pick(&["l", "l.md"]))),
        11 => fs::remove_file(folder.join(dice.pick(&["l", "l.md"]))),
        _ => Ok(()),
    }
}

/// Every file as it is loaded, and what cannot be.
fn loaded<'d>(documents: impl IntoIterator<Item = &'d std::sync::Arc<trellis_core::Document>>, problems: &[String]) -> Vec<String> {
    let files = documents.into_iter().map(|document| format!("{}: {}", document.path, document.text));
    files.chain(problems.iter().cloned()).collect()
}

fn as_it_stands(root: &Path) -> Vec<String> {
    let project = Project::open(root).unwrap();
    let problems: Vec<_> = project.problems().iter().map(ToString::to_string).collect();
    loaded(project.documents(), &problems)
}

fn storm(seed: u64) {
    let (folder, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path().join("graph");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("start.md"), START).unwrap();
    let mut dice = Dice(seed);
    let mut watch = Watch::new([&root]);
    let mut live = Live::open(&root).unwrap();
    for round in 0..12 {
        for _ in 0..=dice.roll(12) {
            // An act that fails is as good as another one.
            let _ = act(&root, away.path(), &mut dice, round);
            if dice.roll(4) == 0 {
                std::thread::sleep(Duration::from_millis(15));
            }
        }
        settle(&mut live, &mut watch, &root, &format!("seed {seed}, round {round}"));
    }
}

/// Waits until what is watched is as it stands there, for as long as that takes.
fn settle(live: &mut Live, watch: &mut Watch, root: &Path, told: &str) {
    let began = Instant::now();
    loop {
        let (seen, stands) = (loaded(&live.version().documents, &live.version().problems), as_it_stands(root));
        if seen == stands {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{told}:\n{seen:#?}\n{stands:#?}");
        assert!(!matches!(live.next(watch, Some(Duration::from_secs(5))), Waited::Closed));
    }
}

/// Saves as editors do, one after the other without a pause; most in place, some renamed over, some by way of a missing file.
fn save_all_the_time(root: &Path, seed: u64, saves: usize) {
    let mut dice = Dice(seed);
    for save in 0..saves {
        let file = root.join(format!("_n{}.md", dice.roll(200)));
        let text = format!("Save {save}.\n");
        match dice.roll(8) {
            0..4 => fs::write(file, text).unwrap(),
            4 | 5 => {
                fs::write(root.join("saved.tmp"), text).unwrap();
                fs::rename(root.join("saved.tmp"), file).unwrap();
            }
            6 => drop(fs::remove_file(file)),
            _ => {
                drop(fs::rename(&file, file.with_extension("md~")));
                fs::write(file, text).unwrap();
            }
        }
    }
}

#[test]
fn of_thousands_of_saves_that_nobody_waits_for_the_last_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("graph");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("start.md"), START).unwrap();
    fs::write(root.join("bye.md"), "Bye.\n").unwrap();
    let mut watch = Watch::new([&root]);
    let mut live = Live::open(&root).unwrap();
    for seed in 0..3 {
        let saver = std::thread::spawn({
            let root = root.clone();
            move || save_all_the_time(&root, seed, 3_000)
        });
        while !saver.is_finished() {
            // The nodes are left alone, and what is saved is none: so whatever is seen on the way is sound.
            if let Waited::Edit(edit) = live.next(&mut watch, Some(Duration::from_millis(10))) {
                assert!(edit.version.program.is_some(), "{:#?} {:#?}", edit.version.diagnostics, edit.version.problems);
            }
        }
        saver.join().unwrap();
        settle(&mut live, &mut watch, &root, &format!("seed {seed}"));
    }
}

#[test]
fn what_is_watched_ends_as_what_stands_there() {
    let seeds = std::env::var("STORMS").map_or(6, |storms| storms.parse().unwrap());
    for seed in 0..seeds {
        storm(seed);
    }
}
