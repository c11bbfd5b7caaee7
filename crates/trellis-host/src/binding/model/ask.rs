//! One call: the request is made, and the providers are asked until one answers.

use std::time::Duration;

use trellis_core::{
    Mapping, ToolError, Value,
    engine::ToolErrorKind,
    template::{DEFAULT_FUEL, RenderLimits},
};

#[cfg(feature = "processes")]
use super::headless::HEADLESS_TIMEOUT;
use super::{
    Model, Streaming,
    chain::{Remaining, goes_on, tried},
    code,
    completion::{AnswerFormat, Completion, RequestedCall, Usage, answer, parsed},
    deltas::Deltas,
    lost, messages,
    names::WireNames,
    openai::{ReadyEndpoint, RequestOptions},
    prompt,
    provider::{ProviderKind, ReadyKind, ReadyLink},
    request::{ChatRequest, WireForm},
    scripted,
};
use crate::binding::{
    Job,
    job::{after, stopped, timed_out},
    kind::Answer,
};

/// The outcome of asking a provider.
struct ProviderReply {
    result: Result<Value, ToolError>,
    /// The model that answered, as it calls itself.
    model: Option<String>,
    usage: Usage,
}

impl Model {
    /// Carries a call out.
    pub(super) async fn answer(&self, job: &Job<'_>) -> Answer {
        let request = match self.request(job) {
            Ok(request) => request,
            Err(error) => return Err(error).into(),
        };
        let chain = self.chain();
        let mut attempts: Vec<Value> = chain.passed.iter().map(|(name, _)| tried(name, "unconfigured")).collect();
        if chain.ready.is_empty() {
            let message = format!("no provider of the role `{}` is set up: {}", self.role, chain.remedy());
            return Answer::from(Err(lost("unconfigured", message))).with_meta(meta(None, None, None, attempts));
        }
        let names = WireNames::new(job.offered.iter().map(|tool| &tool.name));
        let mut deltas = Deltas::new(&job.context, self.format == AnswerFormat::Text && self.stream != Streaming::Never);
        let remaining = Remaining::of(job.timeout);
        let (count, mut spent) = (chain.ready.len(), Usage::default());
        for (place, link) in chain.ready.into_iter().enumerate() {
            if place > 0 && remaining.is_over() {
                break;
            }
            let mask = link.mask.clone();
            deltas.begin(&job.mask.clone().and(&mask));
            let share = remaining.share(link.link, count - place);
            let name = link.name().to_owned();
            let ProviderReply { result, model, usage } = self.ask(job, &request, &names, link, share, &mut deltas).await;
            // An answer that is of no use was paid for (language 11.6).
            spent = spent.and(usage);
            let paid = (spent != Usage::default()).then_some(spent);
            match result {
                Err(error) if place + 1 < count && goes_on(&error) && !job.context.cancel().is_cancelled() => {
                    attempts.push(tried(&name, code(&error).unwrap_or("timeout")));
                }
                Err(error) => {
                    attempts.push(tried(&name, code(&error).unwrap_or(kind(&error))));
                    return Answer::from(Err(mask.error(error))).with_meta(meta(Some(&name), model, paid, attempts));
                }
                Ok(value) => {
                    deltas.end();
                    return Answer::from(job.bounded(mask.value(value))).with_meta(meta(Some(&name), model, Some(spent), attempts));
                }
            }
        }
        let timeout = job.timeout.unwrap_or_default();
        Answer::from(Err(timed_out(job.tool(), timeout))).with_meta(meta(
            None,
            None,
            (spent != Usage::default()).then_some(spent),
            attempts,
        ))
    }

    /// Returns the question of the role and the binding.
    fn request<'j>(&'j self, job: &'j Job<'_>) -> Result<ChatRequest<'j>, ToolError> {
        let system = self.system.as_deref().map(prompt::text).transpose()?;
        let messages = messages::conversation(system.as_deref(), &self.arguments(job)?)?;
        Ok(ChatRequest {
            role: &self.role,
            messages,
            tools: &job.offered,
            format: self.format,
            schema: job.returns.as_ref().filter(|_| self.format == AnswerFormat::Json),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            tool: &self.tool,
        })
    }

    /// The arguments that are handed on: those of `args:`, else the call's own (language 9.2).
    fn arguments(&self, job: &Job<'_>) -> Result<Mapping, ToolError> {
        let Some(shape) = &self.args else { return Ok(job.args.clone()) };
        match job.shaped(&shape.value)? {
            Value::Map(args) => Ok(args),
            _ => Err(lost("template", format!("`args` of `{}` is no mapping", self.tool))),
        }
    }

    async fn ask(
        &self,
        job: &Job<'_>,
        request: &ChatRequest<'_>,
        names: &WireNames,
        link: ReadyLink<'_>,
        share: Option<Duration>,
        deltas: &mut Deltas<'_>,
    ) -> ProviderReply {
        let ReadyLink { link, model, kind, .. } = link;
        let request = &ChatRequest {
            max_tokens: self.max_tokens.or(link.max_tokens),
            temperature: self.temperature.or(link.temperature),
            messages: request.messages.clone(),
            ..*request
        };
        let provider = &link.provider.name;
        match kind {
            ReadyKind::Scripted(file) => {
                let result = scripted::answer(&file, request, limits(job)).and_then(|answer| {
                    deltas.push(&answer.content);
                    let completion = Completion { content: answer.content, calls: answer.calls, ..Completion::default() };
                    completion.result(self.format, &WireNames::default())
                });
                ProviderReply { result, model: Some("scripted".to_owned()), usage: Usage::default() }
            }
            #[cfg(feature = "processes")]
            ReadyKind::Process(process) => {
                let args = process_input(request);
                let job = Job {
                    call: job.call,
                    args,
                    timeout: share,
                    context: job.context.clone(),
                    offered: Vec::new(),
                    returns: None,
                    bounds: job.bounds,
                    mask: job.mask.clone(),
                    peers: None,
                };
                let (result, usage) = match process.run_to_end(job).await {
                    Ok(printed) => from_process(printed, self.format),
                    Err(error) => (Err(error), Usage::default()),
                };
                ProviderReply { result, model, usage }
            }
            #[cfg(feature = "processes")]
            ReadyKind::Headless(headless, env) => {
                let share = share.map_or(HEADLESS_TIMEOUT, |share| share.min(HEADLESS_TIMEOUT));
                let done = self.within(job, Some(share), provider, headless.ask(request, &env)).await;
                match done {
                    Ok(completion) => {
                        deltas.push(&completion.content);
                        ProviderReply {
                            model: completion.model.clone().or(model),
                            usage: completion.usage,
                            result: completion.result(self.format, &WireNames::default()),
                        }
                    }
                    Err(error) => ProviderReply { result: Err(error), model, usage: Usage::default() },
                }
            }
            ReadyKind::Endpoint(endpoint) => {
                let ProviderKind::Endpoint(written) = &link.provider.kind else { unreachable!("an endpoint is made from one") };
                let form = WireForm {
                    model: model.as_deref().unwrap_or_default(),
                    schema: written.schema,
                    limit_key: written.limit_key,
                    extra: &written.extra,
                    streams: self.streams(job),
                };
                let body = request.body(&form, names);
                match self.within(job, share, provider, self.endpoint(job, &endpoint, &body, form.streams, deltas)).await {
                    Ok(completion) => ProviderReply {
                        model: completion.model.clone().or_else(|| model.clone()),
                        usage: completion.usage,
                        result: completion.result(self.format, names),
                    },
                    Err(error) => ProviderReply { result: Err(error), model: model.clone(), usage: Usage::default() },
                }
            }
        }
    }

    /// Returns whether the answer is asked for as a stream.
    fn streams(&self, job: &Job<'_>) -> bool {
        match self.stream {
            Streaming::Auto => job.context.is_watched() && self.format == AnswerFormat::Text,
            Streaming::Always => true,
            Streaming::Never => false,
        }
    }

    async fn endpoint(
        &self,
        job: &Job<'_>,
        endpoint: &ReadyEndpoint,
        body: &Value,
        streams: bool,
        deltas: &mut Deltas<'_>,
    ) -> Result<Completion, ToolError> {
        let key = job.call.idempotency_key.as_str();
        let asking = RequestOptions { streams, key, limit: job.output_limit() };
        endpoint.ask(&self.client, body, &asking, &mut |text| deltas.push(text)).await
    }

    /// Waits for a provider until its time is up or the call is to stop; then its connection is dropped.
    async fn within<T>(
        &self,
        job: &Job<'_>,
        share: Option<Duration>,
        provider: &str,
        work: impl Future<Output = Result<T, ToolError>> + Send,
    ) -> Result<T, ToolError> {
        tokio::select! {
            done = work => done,
            share = after(share) => {
                let whole = job.timeout.filter(|timeout| *timeout == share);
                let error = timed_out(job.tool(), share);
                let message = format!("the provider `{provider}` took longer than its share, {}", crate::binding::job::span(share));
                Err(if whole.is_some() { error } else { ToolError { message, ..error } })
            }
            () = job.context.cancel().cancelled() => Err(stopped(job.tool())),
        }
    }
}

fn limits(job: &Job<'_>) -> RenderLimits {
    RenderLimits { output: job.output_limit(), fuel: DEFAULT_FUEL }
}

/// Returns the standard input of a process.
#[cfg(feature = "processes")]
fn process_input(request: &ChatRequest<'_>) -> Mapping {
    let tools = request.tools.iter().map(|tool| {
        let description = tool.description.clone().map_or(Value::Null, Value::Text);
        Value::map([("name", Value::Text(tool.name.clone())), ("description", description), ("parameters", tool.parameters.clone().into())])
    });
    let format = match request.format {
        AnswerFormat::Text => "text",
        AnswerFormat::Json => "json",
    };
    let entries: [(&str, Value); 5] = [
        ("role", request.role.into()),
        ("messages", request.messages.clone().into()),
        ("tools", tools.collect::<Vec<_>>().into()),
        ("format", format.into()),
        ("max_tokens", request.max_tokens.into()),
    ];
    entries.into_iter().collect()
}

/// Reads the output of a process as a result, and what it cost: some of its keys may be missing.
#[cfg(feature = "processes")]
fn from_process(printed: Value, format: AnswerFormat) -> (Result<Value, ToolError>, Usage) {
    let tokens = |key: &str| printed.as_map()?.get("usage")?.get(key)?.as_u64();
    let usage = match format {
        AnswerFormat::Text => Usage { input: tokens("input").unwrap_or(0), output: tokens("output").unwrap_or(0) },
        AnswerFormat::Json => Usage::default(),
    };
    (result_of(printed, format, usage), usage)
}

#[cfg(feature = "processes")]
fn result_of(printed: Value, format: AnswerFormat, usage: Usage) -> Result<Value, ToolError> {
    match (format, &printed) {
        (AnswerFormat::Json, Value::Text(text)) => parsed(text),
        (AnswerFormat::Json, _) => Ok(printed),
        (AnswerFormat::Text, Value::Text(text)) => Ok(answer(text, Vec::new(), usage)),
        (AnswerFormat::Text, Value::Map(entries)) => {
            let calls = match entries.get("tool_calls") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::List(calls)) => calls.iter().map(RequestedCall::from).collect(),
                Some(_) => return Err(ToolError::coded("malformed_json", "the model printed `tool_calls` that are no list")),
            };
            let completion = Completion {
                content: entries.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
                calls,
                usage,
                ..Completion::default()
            };
            completion.result(format, &WireNames::default())
        }
        (AnswerFormat::Text, _) => Err(ToolError::coded("malformed_json", "the model printed neither a text nor an answer")),
    }
}

fn kind(error: &ToolError) -> &'static str {
    if error.kind == ToolErrorKind::Timeout { "timeout" } else { "error" }
}

/// Facts about a call, which never reach the context.
fn meta(provider: Option<&str>, model: Option<String>, usage: Option<Usage>, tried: Vec<Value>) -> Option<Value> {
    let mut meta = Mapping::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            meta.insert(key.into(), value);
        }
    };
    set("provider", provider.map(Value::from));
    set("model", model.map(Value::from));
    set("usage", usage.map(Usage::value));
    set("tried", Some(tried).filter(|tried| !tried.is_empty()).map(Value::from));
    Some(meta.into())
}
