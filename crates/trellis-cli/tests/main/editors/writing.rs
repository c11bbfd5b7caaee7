//! A graph that is written in an editor: from an empty folder to one that is sound, and mistakes that the editor marks and mends.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::neovim::Neovim;
use crate::sandbox::Sandbox;

impl Neovim<'_> {
    /// Opens a file and types its text in place of the one that it has.
    fn write(&self, file: &str, text: &str) {
        self.type_keys(&format!(":e {file}<CR>"));
        self.wait("expand('%')", file);
        // As it is: the indentation of an editor adds to what is typed.
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.type_keys(&format!(":set paste<CR>ggVGc{}<Esc>:set nopaste<CR>", text.replace('<', "<lt>").replace('\n', "<CR>")));
        self.wait("join(getline(1, '$'), '~')", &text.replace('\n', "~"));
        self.wait("mode()", "n");
    }

    /// Waits for a finding at a place, from 1.
    fn finds(&self, code: &str, line: u32, column: u32) {
        let found = "join(map(luaeval('vim.diagnostic.get(0)'), {_, found -> found.code .. ' ' .. (found.lnum + 1) .. ':' .. (found.col + 1)}), ', ')";
        self.wait(found, &format!("{code} {line}:{column}"));
    }

    /// Does what a code action of this title does, at a place.
    fn acts(&self, title: &str, line: u32, column: u32) {
        self.type_keys(&format!(":call cursor({line}, {column})<CR>"));
        self.wait("line('.') .. ':' .. col('.')", &format!("{line}:{column}"));
        let lua = format!("vim.lsp.buf.code_action({{ apply = true, filter = function(action) return action.title == [[{title}]] end }})");
        self.type_keys(&format!(":lua {lua}<CR>"));
    }

    /// Waits until nothing is wrong in any file.
    fn is_sound(&self) {
        self.wait("len(luaeval('vim.diagnostic.get()')) .. ' findings'", "0 findings");
    }

    fn save_all(&self) {
        self.type_keys(":wa<CR>");
        self.wait("len(filter(getbufinfo(), {_, buffer -> buffer.changed})) .. ' changed'", "0 changed");
    }
}

#[test]
fn a_graph_is_written_from_an_empty_folder_on() {
    let sandbox = Sandbox::new(&[]);
    let editor = Neovim::open(&sandbox, "start.md");
    editor.wait("luaeval('#vim.lsp.get_clients({ bufnr = 0 })')", "1");
    // A choice that leads to a module: the target is there before its folder is.
    editor.write("start.md", "---\noptions: [Table, Nothing]\nsave_to: wish\ntransitions:\n  - { condition: wish == \"Table\", to: booking }\n  - to: bye\n---\nWhat do you want?\n");
    editor.finds("unknown-target", 5, 39);
    editor.acts("add `booking/start.md`, a module", 5, 39);
    editor.wait("join(map(getbufinfo(), {_, buffer -> buffer.name}))", "booking/start.md");
    editor.finds("unknown-target", 6, 9);
    editor.acts("add node `bye`", 6, 9);
    editor.wait("join(map(getbufinfo(), {_, buffer -> buffer.name}))", "bye.md");
    editor.save_all();
    // A tool with its undo: what a rollback would leave done is said, and the tool that takes it back is offered.
    editor.write(
        "trellis.yaml",
        "name: table\nbindings:\n  reserve: { process: [reserve], effect: undoable }\n  release: { process: [release], effect: none }\n  charge: { process: [charge], effect: irreversible }\n",
    );
    editor.write("booking/start.md", "---\ndo: { name: reserve, args: { name: \"{{ wish }}\" } }\nsave_to: booked\nto: pay\n---\n");
    editor.finds("unknown-target", 4, 5);
    editor.write("booking/pay.md", "---\ndo: charge\non_error: rollback\nto: /bye\n---\n");
    editor.save_all();
    editor.type_keys(":e booking/start.md<CR>");
    editor.finds("rollback-gap", 2, 13);
    editor.acts("add `undo: release`", 2, 13);
    editor.wait("join(getline(1, '$'), '|')", "undo: release");
    editor.is_sound();
    editor.save_all();
    let ran = sandbox.trellis(&["check", "."]);
    assert!(ran.code == Some(0) && ran.err.is_empty(), "{ran:?}");
    let text = |path: &str| fs::read_to_string(sandbox.path().join(path)).unwrap();
    // The empty line of a new buffer stays behind what is put into it.
    assert_eq!(text("bye.md").trim_end(), "---\n---\nBye.");
    assert!(text("booking/start.md").contains("\nundo: release\n"));
}

const TEA: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: tea\npredicates: [vip]\nbindings:\n  brew: { process: [brew], parameters: { type: object, properties: { of: { type: string } }, required: [of] } }\n  spill: { process: [spill] }\n",
    ),
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: choose\n---\nWho are you?\n"),
    ("choose.md", "---\noptions: [Tea, Coffee]\nsave_to: drink\nto: brew\n---\nHello, {{ name }}.\n"),
    ("brew.md", "---\ndo: { name: brew, args: { of: \"{{ drink }}\" } }\nundo: spill\non_error: rollback\nto: served\n---\n"),
    (
        "served.md",
        "---\ntransitions:\n  - { condition: drink == \"Tea\", to: bye }\n  - to: bye\n---\nOne {{ drink | lower }}, see [the end](bye.md).\n",
    ),
    ("bye.md", "Bye.\n"),
];

/// A mistake: the file, what is written in place of what, the code and the place of its finding, and the action that mends it.
type Mistake = (&'static str, &'static str, &'static str, &'static str, (u32, u32), &'static str);

const MISTAKES: [Mistake; 15] = [
    ("choose.md", "to: brew", "to: brwe", "unknown-target", (4, 5), "rename to `brew`"),
    ("choose.md", "to: brew", "to: Brew", "wrong-case", (4, 5), "rename to `brew`"),
    ("choose.md", "save_to", "saev_to", "unknown-key", (3, 1), "rename to `save_to`"),
    ("choose.md", "{{ name", "{{ nmae", "undefined-variable", (6, 11), "rename to `name`"),
    ("choose.md", "[Tea, Coffee]", "[Tea, Coffee", "yaml-syntax", (2, 10), "close it with `]`"),
    ("choose.md", "to: brew", "to:brew", "yaml-syntax", (4, 3), "add the space"),
    ("choose.md", "---\nHello", "Hello", "unclosed-frontmatter", (1, 1), "close the frontmatter with `---`"),
    ("choose.md", "name }}", "name }", "template-syntax", (6, 16), "write `}}`"),
    ("start.md", "type: text", "type: txt", "wrong-type", (2, 13), "write `text`"),
    ("served.md", "| lower", "| lowr", "unknown-filter", (6, 16), "rename to `lower`"),
    ("served.md", "drink == ", "drink = ", "condition-syntax", (3, 24), "write `==`"),
    ("served.md", "\"Tea\"", "\"Te\"", "never-true", (3, 18), "rename to `Tea`"),
    ("served.md", "bye.md", "by.md", "broken-link", (6, 40), "did you mean `bye.md`?"),
    ("brew.md", "name: brew", "name: brwe", "unknown-tool", (2, 13), "rename to `brew`"),
    ("brew.md", "{ of:", "{ off:", "bad-tool-args", (2, 27), "rename to `of`"),
];

#[test]
fn mistakes_are_marked_where_they_stand_and_mended_by_what_is_offered() {
    let sandbox = Sandbox::new(TEA);
    let editor = Neovim::open(&sandbox, "start.md");
    editor.wait("luaeval('#vim.lsp.get_clients({ bufnr = 0 })')", "1");
    for (file, right, wrong, code, (line, column), title) in MISTAKES {
        let text = TEA.iter().find(|(path, _)| *path == file).unwrap().1;
        let mistaken = text.replacen(right, wrong, 1);
        assert_ne!(text, mistaken, "{file} has {right:?}");
        editor.write(file, &mistaken);
        editor.finds(code, line, column);
        editor.acts(title, line, column);
        editor.is_sound();
        editor.save_all();
        let until = Instant::now() + Duration::from_secs(120);
        let saved = || fs::read_to_string(sandbox.path().join(file)).unwrap();
        while saved() != text {
            assert!(Instant::now() < until, "{title} of {wrong:?} in {file} made\n{}", saved());
            thread::sleep(Duration::from_millis(20));
        }
    }
    let ran = sandbox.trellis(&["check", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
