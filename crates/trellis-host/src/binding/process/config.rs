//! `process:` as it is written.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use trellis_core::syntax::duration;

use super::{Process, SealedProcess};
use crate::binding::{
    config::{ConfigReader, Plain, Wait, given},
    kind::{Carrier, Site},
    sealed::SealedTexts,
};

pub(in crate::binding) const GRACE: Duration = Duration::from_secs(5);

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProcessConfig {
    #[serde(deserialize_with = "given")]
    process: Option<Vec<String>>,
    env: BTreeMap<String, Plain>,
    #[serde(deserialize_with = "given")]
    cwd: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    grace: Option<Wait>,
    #[serde(deserialize_with = "given")]
    output_limit: Option<u64>,
}

/// Reads `process:` and the keys beside it.
pub(in crate::binding) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let process = process(reader, site)?;
    let env = SealedTexts::read(site.config, "env", reader.config.get("env"));
    Some(if env.names().is_empty() {
        Carrier::new(process)
    } else {
        Carrier::new(SealedProcess { process, env, secrets: site.host.secrets.clone() })
    })
}

fn process(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Process> {
    let ProcessConfig { process, env, cwd, grace, output_limit } = reader.read(|key, value| match key {
        "process" => Some("write the command and its arguments as a list of texts: `[./bin/tool, --fast]`".to_owned()),
        "grace" => Some(duration::help(value)),
        _ => None,
    });
    let process = process?;
    let Some((command, args)) = process.split_first() else {
        let help = Some("write `process: [./bin/tool]`".into());
        reader.report("process", format!("the binding `{}` names no command", site.tool), help);
        return None;
    };
    Some(Process {
        file: Arc::clone(reader.path),
        command: command.clone(),
        program: program(command, site.folder),
        args: args.to_vec(),
        env: env.into_iter().map(|(name, value)| (name, value.0)).collect(),
        cwd: cwd.map_or_else(|| site.folder.to_owned(), |cwd| site.folder.join(cwd)),
        grace: grace.map_or(GRACE, |wait| wait.0),
        output: output_limit,
    })
}

/// A bare name goes through `PATH`; anything else is a path below the project's folder.
pub(in crate::binding) fn program(command: &str, folder: &Path) -> PathBuf {
    let is_path = command.contains('/') || (cfg!(windows) && command.contains('\\'));
    if is_path { folder.join(command) } else { PathBuf::from(command) }
}

#[cfg(test)]
mod tests {
    use trellis_core::syntax::project::HostConfig;

    use super::*;
    use crate::binding::{Host, config::testing::reader};

    #[test]
    fn relative_paths_start_at_the_project_and_bare_names_go_through_the_path() {
        let (config, host) = (&HostConfig::default(), &Host::new());
        let site = Site { tool: "t", folder: Path::new("/graph"), root: "", config, documents: &[], graph: None, host };
        let read = |config: &str| reader(config, |reader| process(reader, &site).unwrap());
        let process = read(r#"{"process":["./bin/x","-v"],"cwd":"data","env":{"N":1},"grace":"1m30s"}"#);
        assert_eq!((process.program.as_path(), process.cwd.as_path()), (Path::new("/graph/./bin/x"), Path::new("/graph/data")));
        assert_eq!((process.env["N"].as_str(), process.grace), ("1", Duration::from_secs(90)));
        assert_eq!(read(r#"{"process":["python3"]}"#).program, Path::new("python3"));
        assert_eq!(read(r#"{"process":["python3","x.py"],"output_limit":9}"#).output, Some(9));
    }
}
