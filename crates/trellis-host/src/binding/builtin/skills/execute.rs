//! `skills.check`, `skills.execute` and `skills.restore`: backup, check, run, verify, and restoration (language 11.10–11.12).
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

/// A use of a skill by its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::binding::builtin) enum SkillOperation {
    Check,
    Execute,
    Restore,
}

impl SkillOperation {
    pub(in crate::binding::builtin) fn named(name: &str) -> Option<Self> {
        match name {
            "skills.check" => Some(Self::Check),
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

/// The part of a skill that a call carries out. Only a whole run leaves anything behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Check,
    DryRun,
    Whole,
}

/// A call as it is carried out: the card, its arguments and its time.
struct SkillCall<'c> {
    card: &'c SkillCard,
    args: Mapping,
    extent: Extent,
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
            SkillOperation::Check => self.check(job, args).await,
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
        // `skills.execute` names the programs.
        for (path, card) in cards.into_iter().filter(|_| self.operation == SkillOperation::Execute) {
            found.extend(self.missing(&card).into_iter().map(|(_, why)| Obstacle {
                place: "folder".into(),
                message: format!("the card `{path}`: {}", why.message),
                ..why
            }));
        }
        found
    }

    /// Returns why programs of a skill would not start, each with the code of its stage.
    fn missing(&self, card: &SkillCard) -> Vec<(&'static str, Obstacle)> {
        let commands = [
            ("check_failed", card.check.as_ref()),
            ("execution_failed", Some(&card.run)),
            ("execution_failed", card.dry_run.as_ref()),
            ("verify_failed", card.verify.as_ref()),
        ];
        let obstacles = |command: &Vec<String>| self.process(&format!("{}.md", card.id), command).obstacles();
        commands.into_iter().flat_map(|(code, command)| command.map(obstacles).into_iter().flatten().map(move |why| (code, why))).collect()
    }

    /// `skills.check`: says whether a skill would be carried out with these arguments, and else why not. The `check` of its card runs last, and the
    /// declared paths are restored after it.
    async fn check(&self, job: &Job<'_>, args: &Mapping) -> Result<Value, ToolError> {
        let card = match self.card(args).await? {
            Ok(card) => card,
            Err(refusal) => return Ok(verdict(Some(refusal.code), vec![refusal.summary])),
        };
        let missing = self.missing(&card);
        if let Some(&(code, _)) = missing.first() {
            let problems = missing.iter().map(|(_, why)| format!("the skill `{}` cannot run: {}", card.id, why.message));
            return Ok(verdict(Some(code), problems.collect()));
        }
        let args = arguments(args);
        let problems = card.problems(&args);
        if !problems.is_empty() {
            return Ok(verdict(Some("inputs"), problems));
        }
        if card.check.is_none() {
            return Ok(verdict(None, Vec::new()));
        }
        let call = SkillCall { card: &card, args, extent: Extent::Check, time: card.timeout };
        let journal = RunJournal::new(&self.library.home, workspace::real(&self.library.workspace)?);
        let result = self.run_once(job, &call, journal, Instant::now()).await?;
        let said = |name| result.as_map().and_then(|fields| fields.get(name)).and_then(Value::as_str);
        Ok(verdict(said("code"), said("code").and_then(|_| said("summary")).map(str::to_owned).into_iter().collect()))
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
        let extent = if text(args, "mode") == "dry_run" { Extent::DryRun } else { Extent::Whole };
        if extent == Extent::DryRun && !card.dry_run_supported {
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
        let call = SkillCall { card: &card, args: arguments(args), extent, time: seconds.unwrap_or(card.timeout) };
        self.run_once(job, &call, journal, began).await
    }

    /// Carries a call out, alone in its workspace.
    async fn run_once(&self, job: &Job<'_>, call: &SkillCall<'_>, journal: RunJournal, began: Instant) -> Result<Value, ToolError> {
        let lock = Arc::new(job.within(WorkspaceLock::acquire(&self.library.workspace)).await?);
        // Another process may have had the same call meanwhile.
        if let Some(result) = journal.result_of(&job.call.idempotency_key)? {
            return Ok(result);
        }
        let run = self.begin(job, call, journal, &lock).await?;
        self.carry_through(job, call, run, lock, began).await
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
        let is_whole = call.extent == Extent::Whole;
        held(&lock, move || {
            let result = match outcome {
                Ok(summary) if is_whole && !was_stopped => {
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
        let (work, verify) = match call.extent {
            Extent::Check => (None, None),
            // It has nothing to show for itself.
            Extent::DryRun => (Some(dry_run.as_ref().unwrap_or(run)), None),
            Extent::Whole => (Some(run), verify.as_ref()),
        };
        let stages = [("check", check.as_ref(), "check_failed"), ("run", work, "execution_failed"), ("verify", verify, "verify_failed")];
        let dry = if call.extent == Extent::Whole { "" } else { "1" };
        let until = Instant::now().checked_add(call.time);
        let of_tool = format!("`{}` ", job.tool());
        let mut summary = format!("the skill `{id}` is done");
        for (stage, command, code) in stages {
            let Some(command) = command.filter(|_| !job.context.cancel().is_cancelled()) else { continue };
            let mut process = self.process(&format!("{id}.md"), command);
            process.env.insert("TRELLIS_DRY_RUN".to_owned(), dry.to_owned());
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

/// The answer of `skills.check`.
fn verdict(code: Option<&str>, problems: Vec<String>) -> Value {
    let fields = [("valid", Value::Bool(problems.is_empty())), ("problems", Value::list(problems.into_iter().map(Value::text)))];
    Value::map(fields.into_iter().chain(code.map(|code| ("code", Value::text(code)))))
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
