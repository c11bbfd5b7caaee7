//! `trellis man [COMMAND]`: manual pages, generated from the texts of `--help`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Command;
use clap_mangen::Man as Page;
use trellis_core::diagnostic::did_you_mean;

use crate::{Exit, terminal};

/// Prints the manual page of the program or of a command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis man | man -l -                       read the page of the program
  trellis man run | man -l -                   read the page of a command
  trellis man --dir ~/.local/share/man/man1    write all pages; then: man trellis-run

Exit codes: 0 printed or written; 2 the command does not exist, or the folder is not writable.")]
pub(crate) struct Man {
    /// The command, such as `run` or `new node`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, program: Command) -> anyhow::Result<Exit> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        match &self.dir {
            Some(folder) => {
                fs::create_dir_all(folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
                write_all(&program, folder)?;
            }
            None => terminal::print(&page(named(&program, &self.command)?)?)?,
        }
        Ok(Exit::Fine)
    }
}

/// The command that these words name.
fn named<'c>(program: &'c Command, words: &[String]) -> anyhow::Result<&'c Command> {
    let mut command = program;
    for word in words {
        let Some(inner) = command.find_subcommand(word) else {
            let help = did_you_mean(word, command.get_subcommands().map(Command::get_name));
            bail!("there is no command `{word}`\n{}", help.unwrap_or_else(|| "`trellis --help` lists them".to_owned()));
        };
        command = inner;
    }
    Ok(command)
}

/// Writes the pages of a command and of those below it.
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
    fs::write(&path, page(command)?).with_context(|| format!("`{}` cannot be written", path.display()))?;
    command.get_subcommands().filter(|inner| !inner.is_hide_set()).try_for_each(|inner| write_all(inner, folder))
}

/// The page of one command, in roff.
fn page(command: &Command) -> anyhow::Result<String> {
    let man = Page::new(command.clone());
    let name = escaped(command.get_display_name().unwrap_or(command.get_name()));
    // Without a date, so that the same program has the same pages.
    let mut out = format!(".TH \"{name}\" \"1\" \"\" \"trellis {}\" \"Trellis\"\n", env!("CARGO_PKG_VERSION")).into_bytes();
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut out)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    Ok(named_characters(&(String::from_utf8(out)? + &below(&help))))
}

/// Characters beyond ASCII by their numbers: a reader takes bytes for another encoding.
fn named_characters(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for char in page.chars() {
        if char.is_ascii() {
            out.push(char);
        } else {
            let _ = write!(out, "\\[u{:04X}]", u32::from(char));
        }
    }
    out
}

/// Returns the text below a command's help, as sections; lines of examples stay lines.
fn below(help: &str) -> String {
    let mut out = String::new();
    for paragraph in help.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let (section, text) = match (first, first.split_once(": ")) {
            ("Examples:", _) => (Some("EXAMPLES"), None),
            (_, Some(("Exit codes", text))) => (Some("EXIT STATUS"), Some(text)),
            _ => (None, Some(first)),
        };
        let _ = match section {
            Some(section) => writeln!(out, ".SH \"{section}\""),
            None => writeln!(out, ".PP"),
        };
        let (lines, verbatim): (Vec<_>, Vec<_>) = text.into_iter().chain(rest.lines()).partition(|line| !line.starts_with("  "));
        for line in lines {
            let _ = writeln!(out, "{}", escaped(line));
        }
        if !verbatim.is_empty() {
            let verbatim = verbatim.iter().map(|line| escaped(line) + "\n").collect::<String>();
            let _ = write!(out, ".nf\n{verbatim}.fi\n");
        }
    }
    out
}

/// A line without anything that roff would obey.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}
