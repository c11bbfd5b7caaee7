//! `trellis test [PATH] [FILTER…]`: runs the tests of a graph.

mod keys;
mod review;
mod run;
mod show;
mod suites;
mod watch;

use std::{num::NonZero, path::PathBuf, str::FromStr, time::Duration};

use anyhow::bail;
use clap::ValueEnum;
use trellis_project::sheet::{Case as SheetCase, Sheet};
use trellis_trial::{Update, Verdict};

use crate::{Exit, open::DEFAULT_PATH};

/// Plays the tests of graphs, from the sheets in `_tests`
///
/// A sheet is Markdown: a heading is a case, and a block `transcript` is what author and program say. No tool is run: the test says what a
/// call returns. See docs/testing.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis test                              every case of the graphs here
  trellis test graphs/tour                  the cases of one graph
  trellis test graphs/tour undo             those whose sheet, heading or title holds `undo`
  trellis test --update=new                 fill the blocks that say nothing yet
  trellis test --update                     write what comes out into every block that differs
  trellis test --review                     ask for each block that differs whether to write it
  trellis test --watch                      play again after each save what it affects, until q
  trellis test --coverage                   also show what the cases do not pass
  trellis test --coverage=lcov:lcov.info --junit junit.xml
  trellis test --fail-under edge=90         fail if fewer edges are passed

Exit codes: 0 all cases passed, or were updated; 1 a case failed, or a graph has errors;
2 wrong usage, no sheet, no case for a FILTER, or a sheet that cannot be read; 130 interrupted.
With `--watch`: 0 at the end, whatever the last cases did.")]
pub(crate) struct Test {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// A part of `sheet › heading › title`; one of several must fit
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Play only cases whose whole `sheet › heading › title`, as `--list` prints it, is a FILTER
    #[arg(long, requires = "filters")]
    exact: bool,
    /// Write what comes out: into blocks that say nothing yet (`new`), or into all that differ
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    update: Option<Updated>,
    /// Show each block that differs, and ask whether to write it
    #[arg(long, conflicts_with_all = ["update", "watch", "list"])]
    review: bool,
    /// Stay open, and play again after each save the cases that it affects
    #[arg(long, short, conflicts_with_all = ["update", "list"])]
    watch: bool,
    /// With `--watch`, look for changes every half second: for network and virtual machine folders
    #[arg(long, requires = "watch")]
    poll: bool,
    /// Stop at the first case that fails
    #[arg(long)]
    fail_fast: bool,
    /// Show what the cases pass: `summary`, `lines`, `lcov:FILE`, `json:FILE`
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "summary")]
    coverage: Vec<CoverageReport>,
    /// Fail if less than this percentage is passed: `node=90`, `edge=80`, `option`, `guard`, `part`, `retry`, `undo`, `locale`, `implied`
    #[arg(long, value_name = "KIND=N")]
    fail_under: Vec<Floor>,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The format of the results
    #[arg(long, value_enum, default_value_t = ResultFormat::Human)]
    format: ResultFormat,
    /// List the cases, and play none
    #[arg(long)]
    list: bool,
    /// Cases at a time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// The longest time for a case: `500ms`, `10s`, `1m`
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    timeout: Duration,
}

/// A case that was played, with the time that it took.
type PlayedCase<'s> = (&'s Sheet, &'s SheetCase, Verdict, Duration);

/// The formats of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResultFormat {
    /// For people
    Human,
    /// A JSON object on each line
    Json,
}

/// The blocks that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Updated {
    /// Blocks that hold no program line
    New,
    /// Every block that differs
    All,
}

impl From<Updated> for Update {
    fn from(updated: Updated) -> Self {
        match updated {
            Updated::New => Self::New,
            Updated::All => Self::All,
        }
    }
}

/// A report of coverage.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CoverageReport {
    Summary,
    Lines,
    Lcov(PathBuf),
    Json(PathBuf),
}

impl FromStr for CoverageReport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "summary" => Ok(Self::Summary),
            None if text == "lines" => Ok(Self::Lines),
            Some(("lcov", file)) if !file.is_empty() => Ok(Self::Lcov(file.into())),
            Some(("json", file)) if !file.is_empty() => Ok(Self::Json(file.into())),
            _ => Err("write `summary`, `lines`, `lcov:FILE` or `json:FILE`".to_owned()),
        }
    }
}

/// The least percentage of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Floor {
    kind: String,
    percent: usize,
}

/// Kinds of items, as floors name them.
const KINDS: [&str; 9] = ["node", "edge", "option", "guard", "part", "retry", "undo", "locale", "implied"];

impl FromStr for Floor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, percent) = text.split_once('=').ok_or("write a kind and a percentage: `edge=90`")?;
        let percent: usize = percent.parse().map_err(|_| format!("`{percent}` is no percentage: write a number from 0 to 100"))?;
        match (KINDS.contains(&kind), percent <= 100) {
            (true, true) => Ok(Self { kind: kind.to_owned(), percent }),
            (false, _) => Err(format!("`{kind}` is no kind of item: {}", KINDS.join(", "))),
            (_, false) => Err(format!("`{percent}` is more than 100")),
        }
    }
}

/// Reads `500ms`, `10s`, `1m`.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return Err("write a number and `ms`, `s` or `m`: `10s`".to_owned()),
    };
    let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).filter(|millis| *millis > 0);
    millis.map(Duration::from_millis).ok_or_else(|| "write a number above 0: `10s`".to_owned())
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let writes = if self.review { Some("--review") } else { self.update.map(|_| "--update") };
        if let Some(option) = writes.filter(|_| is_ci()) {
            bail!("`{option}` writes sheets, and `CI` is set\nupdate them where somebody looks at the difference");
        }
        if self.review && self.format == ResultFormat::Json {
            bail!("`--review` asks a person, and `--format json` is for programs\nleave one of them out");
        }
        if self.review {
            review::expect_terminal()?;
        }
        if self.watch { watch::stay(&self) } else { run::run(&self) }
    }
}

/// Returns whether the program runs in continuous integration, by the variable that every service sets.
fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_floors_and_reports_are_read_or_refused() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert!(time("0s").is_err() && time("10").is_err() && time("s").is_err());
        assert_eq!("edge=90".parse(), Ok(Floor { kind: "edge".to_owned(), percent: 90 }));
        assert!("locale=90".parse::<Floor>().is_ok() && "egde=90".parse::<Floor>().is_err() && "edge=101".parse::<Floor>().is_err());
        assert_eq!("lcov:a.info".parse(), Ok(CoverageReport::Lcov("a.info".into())));
        assert!("lcov".parse::<CoverageReport>().is_err());
    }
}
