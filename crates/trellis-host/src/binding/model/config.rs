//! `model:` of a binding (language 9.17).

use std::path::PathBuf;

use serde::Deserialize;
use trellis_core::diagnostic::did_you_mean;

use super::{Model, Streaming, completion::AnswerFormat, models::Models, provider_keys::check_numbers};
use crate::binding::{
    config::{ConfigReader, given},
    kind::{Carrier, Site},
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct BindingKeys {
    #[serde(deserialize_with = "given")]
    model: Option<ModelKeys>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ModelKeys {
    #[serde(deserialize_with = "given")]
    role: Option<String>,
    #[serde(deserialize_with = "given")]
    system: Option<PathBuf>,
    format: AnswerFormat,
    stream: Streaming,
    #[serde(deserialize_with = "given")]
    max_tokens: Option<u64>,
    #[serde(deserialize_with = "given")]
    temperature: Option<f64>,
}

/// Reads `model:` and the keys beside it, with the role that it names.
pub(in crate::binding) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let help = |_: &str, _: &str| Some("write `model: { role: planner, system: ./prompts/planner.md, format: text }`".to_owned());
    let BindingKeys { model } = reader.read(help);
    let ModelKeys { role, system, format, stream, max_tokens, temperature } = model?;
    check_numbers(reader, "model.", max_tokens, temperature);
    let Some(role) = role else {
        let help = "roles stand in `trellis.yaml`: `models: { roles: { … } }`".to_owned();
        reader.report("model", format!("the binding `{}` names no role", site.tool), Some(help));
        return None;
    };
    let models = Models { documents: site.documents, root: site.root, folder: site.folder, host: site.host.models.as_deref() };
    let Some(file) = models.find("roles", &role) else {
        let names = models.names("roles");
        let help = did_you_mean(&role, names.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| format!("define it in `trellis.yaml`: `models: {{ roles: {{ {role}: [{{ provider: … }}] }} }}`"));
        reader.report("model.role", format!("there is no role `{role}`"), Some(help));
        return None;
    };
    // Mistakes in there have findings of their own.
    let chain = models.chain(file.config, &role).ok()?;
    Some(Carrier::new(Model {
        tool: site.tool.to_owned(),
        role,
        is_system_a_node: system.as_ref().is_some_and(|system| models.is_file_of_graph(site.root, system)),
        system: system.map(|system| site.folder.join(system)),
        format,
        stream,
        max_tokens,
        temperature,
        args: reader.shape("args").cloned(),
        chain,
        secrets: site.host.secrets.clone(),
        client: site.host.http.clone(),
    }))
}
