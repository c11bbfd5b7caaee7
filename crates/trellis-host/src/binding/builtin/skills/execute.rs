//! `skills.execute` and `skills.restore`: backup, check, run, verify, and restoration (language 11.11, 11.12).
//!
//! Commands run as those of `process` do. Files are copied and restored on a thread that holds the lock of the workspace itself, so that a call that
//! goes away cannot leave half of it behind.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{task::spawn_blocking, time::Instant};
use trellis_core::{Mapping, ToolError, Value, diagnostic::FilePath, engine::ToolErrorKind};

use super::{
    super::{BuiltinConfig, final_error, text},
    arguments,
    card::SkillCard,
    leftovers::MARK,
    library::SkillLibrary,
    manifest::{RecordedRun, RunJournal, RunState, state_below},
    paths,
    workspace::{self, WorkspaceLock},
};
use crate::binding::{
    Binding, Job, Obstacle,
    config::ConfigReader,
    job::stopped,
    kind::Site,
    process::{
        Process,
        config::{GRACE, program},
    },
};

/// A use of a skill that changes the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::binding::builtin) enum SkillOperation {
    Execute,
    Restore,
}

impl SkillOperation {
    pub(in crate::binding::builtin) fn named(name: &str) -> Option<Self> {
        match name {
            "skills.execute" => Some(Self::Execute),
            "skills.restore" => Some(Self::Restore),
            _ => None,
        }
    }
}

/// Carries skills out, and restores the files that they changed.
#[derive(Debug)]
pub(in crate::binding::builtin) struct SkillRunner {
    operation: SkillOperation,
    library: SkillLibrary,
}

/// A skill that failed: a success of the tool with `ok: false`.
struct SkillFailure {
    code: &'static str,
    stage: Option<&'static str>,
    summary: String,
}

impl SkillFailure {
    fn new(code: &'static str, summary: impl Into<String>) -> Self {
        Self { code, stage: None, summary: summary.into() }
    }
}

/// A call as it is carried out: the card, its arguments and its time.
struct SkillCall<'c> {
    card: &'c SkillCard,
    args: Mapping,
    is_dry: bool,
    /// Time that its commands have together.
    time: Duration,
}

impl SkillRunner {
    pub(in crate::binding::builtin) fn new(
        operation: SkillOperation,
        config: &BuiltinConfig,
        reader: &mut ConfigReader<'_>,
        site: &Site<'_>,
    ) -> Option<Self> {
        Some(Self { operation, library: SkillLibrary::new(config, reader, site)? })
    }

    /// Carries a call out; its arguments were checked against the contract.
    pub(in crate::binding::builtin) async fn carry_out(&self, job: &Job<'_>, args: &Mapping) -> Result<Value, ToolError> {
        match self.operation {
            SkillOperation::Execute => self.execute(job, args).await,
            SkillOperation::Restore => self.undo(job, args).await,
        }
    }

    /// Reasons why skills could not run: the folder, cards with mistakes, commands that cannot start, the workspace.
    pub(in crate::binding::builtin) fn obstacles(&self) -> Vec<Obstacle> {
        let workspace = workspace::real(&self.library.workspace).err();
        let missing = workspace.map(|error| Obstacle::new("workspace", error.message).help("make it, or correct `workspace`"));
        if self.operation == SkillOperation::Restore || missing.is_some() {
            return missing.into_iter().collect();
        }
        let (cards, mut found) = self.library.cards();
        for (path, card) in cards {
            for command in [&card.check, &card.dry_run, &card.verify].into_iter().flatten().chain([&card.run]) {
                let obstacles = self.process(&path, command).obstacles().into_iter();
                found.extend(obstacles.map(|why| Obstacle {
                    place: "folder".into(),
                    message: format!("the card `{path}`: {}", why.message),
                    ..why
                }));
            }
        }
        found
    }

    async fn execute(&self, job: &Job<'_>, args: &Mapping) -> Result<Value, ToolError> {
        let began = Instant::now();
        let journal = RunJournal::new(&self.library.home, workspace::real(&self.library.workspace)?);
        let key = &job.call.idempotency_key;
        if let Some(result) = journal.result_of(key)? {
            return Ok(result);
        }
        let refused = |refusal| Ok(failure(refusal, began, None));
        let card = match self.card(args).await? {
            Ok(card) => card,
            Err(refusal) => return refused(refusal),
        };
        let is_dry = text(args, "mode") == "dry_run";
        if is_dry && !card.dry_run_supported {
            let why = format!("the skill `{}` has no dry run; its card says `dry_run_supported: true` where it has one", card.id);
            return refused(SkillFailure::new("inputs", why));
        }
        let problems = card.problems(&arguments(args));
        if !problems.is_empty() {
            return refused(SkillFailure::new(
                "inputs",
                format!("the skill `{}` does not take these inputs: {}", card.id, problems.join("; ")),
            ));
        }
        let seconds = args.get("timeout").and_then(Value::as_f64).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let call = SkillCall { card: &card, args: arguments(args), is_dry, time: seconds.unwrap_or(card.timeout) };
        let lock = Arc::new(job.within(WorkspaceLock::acquire(&self.library.workspace)).await?);
        // Another process may have had the same call meanwhile.
        if let Some(result) = journal.result_of(key)? {
            return Ok(result);
        }
        let run = self.begin(job, &call, journal, &lock).await?;
        self.carry_through(job, &call, run, lock, began).await
    }

    /// The card that a call means.
    async fn card(&self, args: &Mapping) -> Result<Result<SkillCard, SkillFailure>, ToolError> {
        let Some(id) = args.get("skill_id").and_then(Value::as_str).map(str::to_owned) else {
            return Ok(Err(SkillFailure::new("not_found", "no skill is named")));
        };
        if self.library.is_blocked(&id) {
            return Ok(Err(SkillFailure::new("blocked", SkillLibrary::refusal(&id))));
        }
        let library = self.library.clone();
        let found = run_blocking(move || library.find(&id)).await?;
        Ok(found.map_err(|why| SkillFailure::new("not_found", why)))
    }

    /// Recovers the workspace from runs that were cut off, and makes the backup.
    async fn begin(
        &self,
        job: &Job<'_>,
        call: &SkillCall<'_>,
        journal: RunJournal,
        lock: &Arc<WorkspaceLock>,
    ) -> Result<RecordedRun, ToolError> {
        let (key, skill, declared) = (job.call.idempotency_key.clone(), call.card.id.clone(), call.card.backup.clone());
        let (workspace, state) = (self.library.workspace.clone(), state_below(&self.library.home));
        held(lock, move || {
            journal.recover()?;
            let mut paths = Vec::new();
            for path in declared {
                // Links that the skill before it left may lead elsewhere.
                let below = paths::resolve(&workspace, &state, &path);
                paths.extend(below.map_err(|why| final_error("store", format!("`backup` names `{path}`, which {why}")))?);
            }
            journal.begin(&key, &skill, &paths)
        })
        .await
    }

    /// Runs the commands, and records the result, or restores.
    async fn carry_through(
        &self,
        job: &Job<'_>,
        call: &SkillCall<'_>,
        mut run: RecordedRun,
        lock: Arc<WorkspaceLock>,
        began: Instant,
    ) -> Result<Value, ToolError> {
        let outcome = self.stages(job, call, &run.folder).await;
        let was_stopped = job.context.cancel().is_cancelled();
        let backup = run.name();
        let tool = job.tool().to_owned();
        let is_dry = call.is_dry;
        held(&lock, move || {
            let result = match outcome {
                Ok(summary) if !is_dry && !was_stopped => {
                    let result = success(summary, began, Some(&backup));
                    match run.finish(RunState::Done, Some(result.clone())) {
                        Ok(()) => return Ok(result),
                        // A later attempt could not know that it is done.
                        Err(error) => Err(error),
                    }
                }
                Ok(summary) => Ok(success(summary, began, None)),
                Err(refusal) => Ok(failure(refusal, began, None)),
            };
            if let Err(why) = run.restore() {
                return Ok(failure(SkillFailure { code: "restore_failed", stage: Some("restore"), summary: why }, began, Some(&backup)));
            }
            if was_stopped {
                run.finish(RunState::Restored, None)?;
                return Err(stopped(&tool));
            }
            let result = result?;
            run.finish(RunState::Restored, Some(result.clone()))?;
            Ok(result)
        })
        .await
    }

    /// Runs check, run and verify in their order, within their time.
    async fn stages(&self, job: &Job<'_>, call: &SkillCall<'_>, backup: &Path) -> Result<String, SkillFailure> {
        let SkillCard { id, check, run, dry_run, verify, .. } = call.card;
        let work = if call.is_dry { dry_run.as_ref().unwrap_or(run) } else { run };
        let stages = [
            ("check", check.as_ref(), "check_failed"),
            ("run", Some(work), "execution_failed"),
            // A dry run has nothing to show for itself.
            ("verify", verify.as_ref().filter(|_| !call.is_dry), "verify_failed"),
        ];
        let until = Instant::now().checked_add(call.time);
        let of_tool = format!("`{}` ", job.tool());
        let mut summary = format!("the skill `{id}` is done");
        for (stage, command, code) in stages {
            let Some(command) = command.filter(|_| !job.context.cancel().is_cancelled()) else { continue };
            let mut process = self.process(&format!("{id}.md"), command);
            process.env.insert("TRELLIS_DRY_RUN".to_owned(), if call.is_dry { "1".to_owned() } else { String::new() });
            process.env.insert(MARK.to_owned(), backup.to_string_lossy().into_owned());
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let timeout = job.timeout.into_iter().chain(left).min();
            let job = Job {
                call: job.call,
                args: call.args.clone(),
                timeout,
                context: job.context.clone(),
                offered: Vec::new(),
                returns: None,
                peers: None,
                bounds: job.bounds,
                mask: job.mask.clone(),
            };
            match process.run(job).await.result {
                Ok(said) if stage == "run" => summary = summary_of(&said).unwrap_or(summary),
                Ok(_) => {}
                Err(error) if error.kind == ToolErrorKind::Timeout => {
                    let summary = format!("the skill `{id}` took longer than its time, and was stopped");
                    return Err(SkillFailure { code: "timed_out", stage: Some(stage), summary });
                }
                Err(error) => {
                    // A command that says nothing has only its status, under the name of the tool.
                    let status = error.message.strip_prefix(&of_tool).map(|rest| format!("`{stage}` of the skill `{id}` {rest}"));
                    let summary = status.unwrap_or(error.message);
                    return Err(SkillFailure { code, stage: Some(stage), summary });
                }
            }
        }
        // It is stored on the disk, where no secret belongs.
        Ok(job.mask.text(&summary).into_owned())
    }

    /// A command of a card, in the workspace.
    fn process(&self, card: &str, command: &[String]) -> Process {
        let (name, args) = command.split_first().map_or((String::new(), &[][..]), |(name, args)| (name.clone(), args));
        Process {
            file: FilePath::from(self.library.folder().join(card).to_string_lossy()),
            program: program(&name, &self.library.home),
            command: name,
            args: args.to_vec(),
            env: std::collections::BTreeMap::new(),
            cwd: self.library.workspace.clone(),
            grace: GRACE,
            output: None,
        }
    }

    /// `skills.restore`: undoes a call, unless it is undone already.
    async fn undo(&self, job: &Job<'_>, args: &Mapping) -> Result<Value, ToolError> {
        let Some(backup) = args.get("backup").and_then(Value::as_str).map(str::to_owned) else {
            return Ok(Value::map([("restored", Value::Bool(false))]));
        };
        let journal = RunJournal::new(&self.library.home, workspace::real(&self.library.workspace)?);
        let lock = Arc::new(job.within(WorkspaceLock::acquire(&self.library.workspace)).await?);
        held(&lock, move || {
            let Some(mut run) = journal.of_backup(&backup)? else {
                return Err(final_error("not_found", format!("there is no backup `{backup}` of this workspace")));
            };
            let is_open = run.manifest.state != RunState::Restored;
            if is_open {
                run.take_back()?;
            }
            Ok(Value::map([("restored", Value::Bool(is_open)), ("skill_id", Value::text(run.manifest.skill))]))
        })
        .await
    }
}

/// Does work on a thread that may block and holds the lock until it is done, even if the caller is gone.
async fn held<T: Send + 'static>(
    lock: &Arc<WorkspaceLock>,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let lock = Arc::clone(lock);
    run_blocking(move || {
        let done = work();
        drop(lock);
        done
    })
    .await
}

/// Does work on a thread that may block.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    spawn_blocking(work).await.unwrap_or_else(|gone| Err(ToolError::new(gone.to_string())))
}

/// The summary of a command that succeeded: its `summary`, its text, or its result as JSON.
fn summary_of(said: &Value) -> Option<String> {
    let text = match said {
        Value::Null => return None,
        Value::Map(fields) => fields.get("summary").and_then(Value::as_str).map_or_else(|| said.to_json(), str::to_owned),
        other => other.as_str().map_or_else(|| other.to_json(), str::to_owned),
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn success(summary: String, began: Instant, backup: Option<&str>) -> Value {
    outcome([("ok", Value::Bool(true)), ("summary", Value::text(summary))], began, backup)
}

fn failure(SkillFailure { code, stage, summary }: SkillFailure, began: Instant, backup: Option<&str>) -> Value {
    let fields = [("ok", Value::Bool(false)), ("summary", Value::text(summary)), ("code", Value::text(code))];
    outcome(fields.into_iter().chain(stage.map(|stage| ("stage", Value::text(stage)))), began, backup)
}

fn outcome(fields: impl IntoIterator<Item = (&'static str, Value)>, began: Instant, backup: Option<&str>) -> Value {
    let seconds = (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    let last = [("execution_time", Some(Value::Float(seconds))), ("backup", backup.map(Value::text))];
    Value::map(fields.into_iter().chain(last.into_iter().filter_map(|(key, value)| Some((key, value?)))))
}
