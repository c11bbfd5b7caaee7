//! Skills with real commands in real folders.

#![cfg(unix)]

mod backups;
mod cards;
mod cut_off;
mod runs;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use trellis_core::{Mapping, ToolError, Value, state::PendingCall, syntax::project::HostConfig};

use super::{
    execute::{SkillOperation, SkillRunner},
    *,
};
use crate::{
    binding::{CallContext, Caller, Cancel, Host, Job, config::testing::reader, job::Bounds, kind::Site},
    secrets::Mask,
};

/// A project folder with skills and a workspace.
pub(super) struct Shop {
    folder: tempfile::TempDir,
    config: String,
}

impl Shop {
    /// A shop with these cards, by id.
    pub(super) fn new(cards: &[(&str, &str)]) -> Self {
        let shop = Self { folder: tempfile::tempdir().unwrap(), config: r#"{"workspace": "work"}"#.to_owned() };
        fs::create_dir(shop.work()).unwrap();
        fs::create_dir(shop.path().join("_skills")).unwrap();
        for (id, card) in cards {
            fs::write(shop.path().join(format!("_skills/{id}.md")), card).unwrap();
        }
        shop
    }

    pub(super) fn with(self, config: &str) -> Self {
        Self { config: config.to_owned(), ..self }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn made<T>(&self, make: impl FnOnce(&BuiltinConfig, &mut ConfigReader<'_>, &Site<'_>) -> Option<T>) -> T {
        let (config, host) = (&HostConfig::default(), &Host::new());
        let site = Site { tool: "t", folder: self.path(), root: "", config, documents: &[], graph: None, host };
        reader(&self.config, |reader| {
            let config: BuiltinConfig = reader.read(|_, _| None);
            make(&config, reader, &site).unwrap_or_else(|| panic!("{:?}", reader.found))
        })
    }

    pub(super) fn runner(&self, operation: SkillOperation) -> SkillRunner {
        self.made(|config, reader, site| SkillRunner::new(operation, config, reader, site))
    }

    pub(super) fn ask(&self, question: SkillQuestion, args: &str) -> Result<Value, ToolError> {
        let tool = self.made(|config, reader, site| SkillTool::new(question, config, reader, site));
        let (key, stop) = (trellis_core::id::IdempotencyKey::new("k"), super::super::StopHandle::default());
        tool.call(Request { args: &mapping(args), key: &key, stop: &stop })
    }

    /// The answer of `skills.check`, as JSON.
    pub(super) fn check(&self, args: &str) -> String {
        self.call(SkillOperation::Check, "check", args, &Cancel::new()).unwrap().to_json()
    }

    pub(super) fn execute(&self, key: &str, args: &str) -> Value {
        self.attempt(key, args, &Cancel::new()).unwrap()
    }

    pub(super) fn attempt(&self, key: &str, args: &str, cancel: &Cancel) -> Result<Value, ToolError> {
        self.call(SkillOperation::Execute, key, args, cancel)
    }

    pub(super) fn restore(&self, backup: &Value) -> Result<Value, ToolError> {
        let args = Value::map([("backup", backup.clone())]).to_json();
        self.call(SkillOperation::Restore, "undo", &args, &Cancel::new())
    }

    fn call(&self, operation: SkillOperation, key: &str, args: &str, cancel: &Cancel) -> Result<Value, ToolError> {
        let runner = self.runner(operation);
        let call = pending(key);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(runner.carry_out(&job(&call, cancel), &mapping(args)))
    }

    /// Everything in the workspace: paths, modes, bytes and times of files.
    pub(super) fn picture(&self) -> BTreeMap<String, String> {
        picture(&self.work())
    }

    /// The states of all manifests.
    pub(super) fn states(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join(".trellis/skills")) else { return Vec::new() };
        let state = |path: PathBuf| {
            let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
            mapping(&manifest).get("state").unwrap().to_string()
        };
        let mut states: Vec<String> = entries.map(|entry| state(entry.unwrap().path())).collect();
        states.sort();
        states
    }
}

pub(super) fn mapping(json: &str) -> Mapping {
    let Ok(Value::Map(mapping)) = Value::from_json(json) else { panic!("{json}") };
    mapping
}

pub(super) fn pending(key: &str) -> PendingCall {
    let json = format!(r#"{{"id":"{key}-1","name":"t","role":"do","node":"n","args":{{}},"idempotency_key":"{key}","attempt":1}}"#);
    serde_json::from_str(&json).unwrap()
}

pub(super) fn job<'c>(call: &'c PendingCall, cancel: &Cancel) -> Job<'c> {
    let caller = Caller::new("s".into(), "g".into(), |_| {}).with_cancel(cancel.clone());
    let context = CallContext::new(&caller, call, Arc::new(|_| {}));
    Job {
        call,
        args: Mapping::default(),
        timeout: call.timeout.map(Duration::from_millis),
        context,
        offered: Vec::new(),
        returns: None,
        peers: None,
        bounds: Bounds::default(),
        mask: Mask::default(),
    }
}

/// A field of a result, as JSON; empty where there is none.
pub(super) fn field(value: &Value, name: &str) -> String {
    value.as_map().and_then(|map| map.get(name)).map(Value::to_json).unwrap_or_default()
}

pub(super) fn picture(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder_now) = open.pop() {
        for entry in fs::read_dir(&folder_now).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let what = if about.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if about.is_dir() {
                open.push(path.clone());
                format!("{:o} folder", about.permissions().mode() & 0o7777)
            } else {
                let time = about.modified().unwrap();
                format!("{:o} {:?} {time:?}", about.permissions().mode() & 0o7777, fs::read(&path).unwrap())
            };
            found.insert(path.strip_prefix(folder).unwrap().display().to_string(), what);
        }
    }
    found
}
