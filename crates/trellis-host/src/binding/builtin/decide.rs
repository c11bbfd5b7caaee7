//! `policy.decide`: a chain of providers decides about the subject of a call (language 9.24, 11.3).

use std::time::Duration;

use trellis_core::{Mapping, ToolError, Value, syntax::project::HostConfig, template::Shape};

use crate::binding::DEFAULT_TIMEOUT;
use crate::{
    binding::{
        Answer, Binding, Job, Pending,
        config::ConfigReader,
        kind::{Carrier, Site},
        settings::ChainReader,
    },
    journal::Clock,
    policy::{Decided, Decision, DecisionSource, PolicyChain, PolicySubject},
};

/// The builtin with its chain.
#[derive(Debug)]
struct Decide {
    chain: PolicyChain,
    args: Option<Shape>,
    clock: Clock,
}

/// Reads `chain:` beside `builtin: policy.decide`.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let Some(Value::List(providers)) = site.config.get("chain") else {
        let help = "write a list of providers: `chain: [{score: {files: \"logs/*.json\", field: score, risk: risk}}]`";
        reader.report("chain", "`policy.decide` takes a list of providers as `chain`".to_owned(), Some(help.to_owned()));
        return None;
    };
    let config = HostConfig { path: reader.path.clone(), ..site.config.clone() };
    let mut chain = ChainReader { config: &config, around: reader.around, found: &mut reader.found };
    let chain = chain.read("chain", providers.iter(), site.folder, site.host);
    if chain.tools().any(|tool| **tool == *site.tool) {
        reader.report("chain", format!("`{}` would ask itself", site.tool), None);
    }
    let args = site.config.shape("args").map(|shape| shape.value.clone());
    Some(Carrier::new(Decide { chain, args, clock: site.host.clock.clone() }))
}

impl Binding for Decide {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move { job.within(self.decide(&job)).await.into() })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(DEFAULT_TIMEOUT)
    }
}

impl Decide {
    async fn decide(&self, job: &Job<'_>) -> Result<Value, ToolError> {
        let args = match &self.args {
            Some(shape) => match job.shaped(shape)? {
                Value::Map(args) => args,
                other => {
                    let why = format!("`policy.decide` takes a mapping, not {}", other.kind());
                    return Err(super::final_error("template", why));
                }
            },
            None => job.args.clone(),
        };
        let subject = PolicySubject {
            tool: args.get("tool").and_then(Value::as_str).unwrap_or_else(|| job.tool()),
            module: None,
            args: args.get("args").and_then(Value::as_map).unwrap_or(&args),
        };
        let answer = self.chain.decide(subject, self.clock.now(), |tool| job.ask(tool, args.clone())).await?;
        let undecided = || Decided { notes: answer.notes.clone(), ..Decided::new(Decision::Ask, DecisionSource::Ask) };
        let decided = answer.decided.clone().unwrap_or_else(|| undecided().note("no provider decides"));
        Ok(result(&decided))
    }
}

/// `{decision, source, notes, score?, risk?, age_minutes?}`.
fn result(decided: &Decided) -> Value {
    let notes = decided.notes.iter().map(|note| Value::Text(note.clone())).collect::<Vec<_>>();
    let mut result = Mapping::from_iter([
        ("decision", Value::text(decided.decision.as_str())),
        ("source", Value::text(decided.source.as_str())),
        ("notes", Value::List(notes.into_iter().collect())),
    ]);
    for key in ["score", "risk", "age_minutes"] {
        if let Some(number) = decided.evidence.as_ref().and_then(|evidence| evidence.get(key)) {
            result.insert(key.into(), number.clone());
        }
    }
    Value::Map(result)
}
