//! Neovim, over its own protocol.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use trellis_tests::peers::peer;

use super::{NODES, block, expect_poured, search_path};
use crate::sandbox::Sandbox;

fn peers() -> PathBuf {
    peer("neovim/installed").parent().expect("a folder").to_owned()
}

/// An editor without a screen, driven as somebody who types.
pub(super) struct Neovim<'s> {
    sandbox: &'s Sandbox,
    process: Child,
}

impl<'s> Neovim<'s> {
    pub(super) fn open(sandbox: &'s Sandbox, file: &str) -> Self {
        sandbox.write(".config/init.lua", block("Neovim 0.10", "lua").as_bytes());
        let mut command = Self::program(sandbox);
        command.args(["--headless", "-n", "-u", ".config/init.lua", "--listen", "./editor.sock", file]);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { sandbox, process }
    }

    fn program(sandbox: &Sandbox) -> Command {
        let mut command = Command::new(peers().join("run"));
        command.arg("nvim").current_dir(sandbox.path()).env("PATH", search_path()).env("HOME", sandbox.path().join(".config"));
        for folder in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(folder, sandbox.path().join(".config"));
        }
        command.env("VIMRUNTIME", peers().join("tree/usr/share/nvim/runtime"));
        command
    }

    pub(super) fn remote(&self, verb: &str, text: &str) -> String {
        let ran = Self::program(self.sandbox).args(["--server", "./editor.sock", verb, text]).output().unwrap();
        [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    }

    pub(super) fn type_keys(&self, keys: &str) {
        self.remote("--remote-send", keys);
    }

    /// Waits until an expression says something.
    pub(super) fn wait(&self, expression: &str, wanted: &str) {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let said = self.remote("--remote-expr", expression);
            if said.contains(wanted) {
                return;
            }
            assert!(Instant::now() < until, "{expression} says {said:?}, not {wanted:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Neovim<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const FINDINGS: &str = "json_encode(map(luaeval('vim.diagnostic.get(0)'), {_, found -> found.message}))";

#[test]
fn neovim_shows_a_finding_completes_a_target_and_renames_a_node() {
    let sandbox = Sandbox::new(NODES);
    let editor = Neovim::open(&sandbox, "choose.md");
    editor.wait("luaeval('#vim.lsp.get_clients({ bufnr = 0 })')", "1");
    editor.type_keys("4G0Cto: srved<Esc>");
    editor.wait(FINDINGS, "there is no node `srved`");

    editor.type_keys("4G0Cto: serv<C-x><C-o>");
    editor.wait("getline(4)", "to: served");
    editor.type_keys("<Esc>");
    editor.wait(FINDINGS, "[]");
    editor.wait("mode()", "n");

    editor.type_keys("4G$:lua vim.lsp.buf.rename('poured')<CR>");
    editor.wait("getline(4)", "to: poured");
    editor.type_keys(":wa<CR>");
    let new = sandbox.path().join("poured.md");
    editor.wait(&format!("filereadable('{}')", new.display()), "1");
    editor.wait("len(filter(getbufinfo(), {_, buffer -> buffer.changed}))", "0");
    expect_poured(&sandbox);
}
