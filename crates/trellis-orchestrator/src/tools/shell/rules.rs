//! The settings for lines of the shell, as patterns of calls that need no approval (orchestrator 6).

use trellis_core::{Value, schema::Schema};
use trellis_host::policy::CallPattern;

use crate::config::{ShellMode, ShellSettings};

/// Lines that seem to write something, or to pass a line to another program that runs it. That is a guess about words, and no sandbox.
const WRITES: &str = concat!(
    r#"[>`]|\$\(|(^|[\s;&|(!/\\'"])(rm|rmdir|unlink|mv|cp|mkdir|touch|tee|dd|chmod|chown|chgrp|ln|install|truncate|shred|mkfifo|mknod|rsync|tar|zip|unzip"#,
    r"|gzip|gunzip|patch|ed|ex|vi|vim|nano|git|hg|svn|make|cargo|npm|pip|apt|apt-get|dnf|apk|sudo|su|doas|kill|pkill|killall|mount|umount|crontab|at|eval|exec",
    r#"|source|sh|bash|zsh|dash|env|xargs|nohup|setsid|python|python3|perl|ruby|node|awk|curl|wget|ssh|scp|nc)(['"\s]|$)"#,
    r"|(^|[;&|(!])\s*\.\s|\bsed\s([^|;&]*\s)?-i|\s(--in-place|-delete|-exec|-ok)"
);

/// The calls that need no approval of a list.
pub(super) fn allowed_calls(shell: &ShellSettings) -> Vec<CallPattern> {
    let lines = Value::list(shell.allow.iter().map(|line| Value::text(&**line)));
    let listed = (!shell.allow.is_empty()).then(|| Value::map([("enum", lines)]));
    let reads = (shell.mode == ShellMode::Patterns).then(|| {
        let writes = Value::map([("pattern", Value::text(WRITES))]);
        Value::map([("not", writes)])
    });
    listed.into_iter().chain(reads).filter_map(pattern).collect()
}

/// The calls whose line fits a schema.
fn pattern(line: Value) -> Option<CallPattern> {
    let args = Value::map([("required", Value::list([Value::text("command")])), ("properties", Value::map([("command", line)]))]);
    // A list that cannot be a pattern allows nothing.
    Some(CallPattern::new("shell").ok()?.args(Schema::new(&args).ok()?))
}

#[cfg(test)]
mod tests {
    use trellis_core::Mapping;

    use super::*;
    use crate::config::Sandbox;

    fn runs(shell: &ShellSettings, line: &str) -> bool {
        let args = Mapping::from_iter([("command", Value::text(line))]);
        allowed_calls(shell).iter().any(|pattern| pattern.matches("shell", &args))
    }

    // orchestrator 6, source 003.9.1: `ask`: everything but exact lines in `allow`; `patterns`: only what writes is held
    #[test]
    fn lines_wait_as_the_settings_say() {
        let ask = ShellSettings { allow: vec!["date".into(), "ls -l".into()], ..ShellSettings::default() };
        assert_eq!(["date", "ls -l", "ls -l; rm x", "date ", "ls"].map(|line| runs(&ask, line)), [true, true, false, false, false]);
        assert!(!runs(&ShellSettings::default(), "date"));
        let patterns = ShellSettings { mode: ShellMode::Patterns, sandbox: Sandbox::Bwrap, ..ShellSettings::default() };
        for line in ["ls -l", "cat notes.txt", "grep -r tea .", "head -3 a | sort | uniq -c", "wc -l a", "find . -name '*.md'", "echo rms"]
        {
            assert!(runs(&patterns, line), "{line}");
        }
        for line in [
            "rm a",
            "echo x > a",
            "cat a >> b",
            "ls; rm a",
            "true && mv a b",
            "tee a",
            "sed -i s/a/b/ c",
            "find . -delete",
            "find . -exec rm {} +",
            "(touch a)",
            "bash -c ls",
            "echo `rm a`",
            "echo $(rm a)",
            "xargs rm",
            "/bin/rm a",
            "\\rm a",
            "\"rm\" a",
            "'rm' a",
            "cp a b",
            "git commit",
            "! rm a",
            "python3 -c 1",
        ] {
            assert!(!runs(&patterns, line), "{line}");
        }
    }
}
