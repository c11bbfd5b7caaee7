//! The requests of the protocol, for both of its lives: with a session of its own, and with all that is needed in each request.

use std::sync::{Arc, PoisonError};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CompletionInfo,
        ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, Reference, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use super::{
    McpDoor, admit, apps, arguments,
    changes::{self, Followed},
    flows::flows,
    prompts, resources,
    round::check_state,
    tasks::TaskName,
    tools,
    turn_report::refusal,
    walk::Walk,
};
use crate::{
    act::Beginning,
    gate::{Caller, Right},
    http,
    mcp_metrics::McpMetrics,
    trouble::Trouble,
};

/// The instructions for a model about the server as a whole.
const INSTRUCTIONS: &str = "Each graph is a tool: calling it begins a session and walks it until it asks something or ends. Answer with `navigate`, which \
                            takes the `session` and the `seq` that every result names. Sessions are stored, and wait as long as they must.";

/// Resources that one client follows at once.
const MAX_FOLLOWED: usize = 256;
/// The lifetime of templates in caches, in milliseconds: they change with the program.
const TEMPLATES_TTL: u64 = 3_600_000;

/// The requests of one client.
#[derive(Clone, Debug)]
pub(crate) struct McpHandler {
    door: Arc<McpDoor>,
    followed: Followed,
}

impl McpHandler {
    pub(crate) fn new(door: Arc<McpDoor>) -> Self {
        Self { door, followed: Followed::default() }
    }

    /// The counts of the server.
    pub(super) fn metrics(&self) -> &McpMetrics {
        &self.door.served.mcp
    }

    /// Returns a handler for another client.
    pub(super) fn anew(&self) -> Self {
        Self::new(Arc::clone(&self.door))
    }

    fn caller(&self, context: &RequestContext<RoleServer>, right: Right) -> Result<Caller, ErrorData> {
        let caller = self.door.caller(context).map_err(|trouble| fault(&trouble))?;
        admit(&caller, right).map_err(|trouble| fault(&trouble))?;
        Ok(caller)
    }

    async fn call(&self, params: CallToolRequestParams, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let caller = self.door.caller(context).map_err(|trouble| fault(&trouble))?;
        check_state(params.request_state.as_deref()).map_err(|trouble| fault(&trouble))?;
        let walk = Walk::new(&self.door, context, caller);
        let is_fixed = tools::NAMES.contains(&&*params.name) && !self.door.settings.only_flows;
        let is_needed = self.door.settings.only_flows && tools::WALKING.contains(&&*params.name);
        let done = if is_fixed || is_needed {
            walk.tool(params).await
        } else {
            let flows = flows(&self.door.served);
            let Some(flow) = flows.iter().find(|flow| *flow.name == *params.name) else {
                return Err(ErrorData::invalid_params(format!("there is no tool `{}`", params.name), None));
            };
            self.flow(&walk, &flow.graph.name, params).await
        };
        Ok(done.unwrap_or_else(|trouble| refusal(&trouble).into()))
    }

    async fn flow(&self, walk: &Walk<'_>, graph: &str, params: CallToolRequestParams) -> Result<CallToolResponse, Trouble> {
        admit(&walk.caller, Right::Walk)?;
        if let Some(state) = params.request_state {
            return walk.answered(&state, params.input_responses).await;
        }
        let context = arguments::mapping(params.arguments)?;
        let walked = walk.start(Beginning { graph: Some(graph.to_owned()), context, ..Beginning::default() }).await?;
        walk.go_on(walked, 1, None).await
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        let mut server = Implementation::new("trellis", env!("CARGO_PKG_VERSION"));
        server.title = Some("Trellis".to_owned());
        ServerConfig::new(apps::declare(capabilities)).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.caller(&context, Right::Read)?;
        let fixed = tools::tools().into_iter().filter(|tool| {
            // Without these, the questions of a flow could not be answered.
            !self.door.settings.only_flows || tools::WALKING.contains(&&*tool.name)
        });
        let flows = flows(&self.door.served);
        let mut tools: Vec<_> = flows.iter().filter_map(super::flows::Flow::tool).chain(fixed).collect();
        if apps::shows_pages(&context) {
            // The other fixed tools lead to no session.
            let is_shown = |tool: &Tool| tools::WALKING.contains(&&*tool.name) || !tools::NAMES.contains(&&*tool.name);
            tools = tools.into_iter().map(|tool| if is_shown(&tool) { apps::shown(tool) } else { tool }).collect();
        }
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.caller(&context, Right::Read)?;
        let prompts = prompts::prompts(&self.door);
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.caller(&context, Right::Read)?;
        let prompt = prompts::prompt(&self.door, &params.name, params.arguments).map_err(|trouble| fault(&trouble))?;
        let unknown = || ErrorData::invalid_params(format!("there is no prompt `{}`", params.name), None);
        Ok(prompt.ok_or_else(unknown)?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.caller(&context, Right::Read)?;
        let mut resources = resources::resources(&self.door);
        resources.extend(apps::shows_pages(&context).then(apps::resource));
        Ok(ListResourcesResult::with_all_items(resources).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.caller(&context, Right::Read)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates())
            .with_ttl_ms(TEMPLATES_TTL)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.caller(&context, Right::Read)?;
        let read = resources::read(&self.door, &params.uri).await;
        let read = read.map_err(|trouble| fault(&trouble.with("uri", params.uri.as_str())))?;
        Ok(read.into())
    }

    async fn complete(&self, params: CompleteRequestParams, context: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        self.caller(&context, Right::Read)?;
        let info = match &params.r#ref {
            Reference::Resource(template) => {
                let completing = resources::complete(&self.door, &template.uri, &params.argument, params.context.as_ref());
                completing.await.map_err(|trouble| fault(&trouble))?
            }
            _ => CompletionInfo::default(),
        };
        Ok(CompleteResult::new(info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // From now on nothing is missed, whenever the task begins.
        let news = self.door.served.hub.feed(None).news;
        tokio::spawn(changes::tell(news, context.peer, Arc::clone(&self.followed)));
    }

    async fn subscribe(&self, params: SubscribeRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.caller(&context, Right::Read)?;
        resources::read(&self.door, &params.uri).await.map_err(|trouble| fault(&trouble))?;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() >= MAX_FOLLOWED {
            return Err(ErrorData::invalid_params(format!("at most {MAX_FOLLOWED} resources are followed at once"), None));
        }
        followed.insert(params.uri);
        Ok(())
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.caller(&context, Right::Read)?;
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.caller(context.request_context(), Right::Read)?;
        changes::listen(&self.door, &context).await;
        Ok(())
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            done = Box::pin(self.call(params, &context)) => done,
            // A client that cancels a request waits no longer; the session continues.
            () = context.ct.cancelled() => Err(ErrorData::invalid_request("the request was cancelled", None)),
        }
    }

    async fn get_task(&self, params: GetTaskParams, context: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        let walk = Walk::new(&self.door, &context, self.caller(&context, Right::Read)?);
        let task = async { walk.task_of(&TaskName::read(&params.task_id)?).await };
        Ok(GetTaskResult::new(task.await.map_err(|trouble| no_task(&trouble))?))
    }

    async fn update_task(&self, params: UpdateTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let walk = Walk::new(&self.door, &context, self.caller(&context, Right::Walk)?);
        let task = async { walk.update(&TaskName::read(&params.task_id)?, params.input_responses).await };
        task.await.map_err(|trouble| no_task(&trouble))
    }

    async fn cancel_task(&self, params: CancelTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let walk = Walk::new(&self.door, &context, self.caller(&context, Right::Walk)?);
        let task = async { walk.cancel(&TaskName::read(&params.task_id)?).await };
        task.await.map_err(|trouble| no_task(&trouble))
    }
}

/// Trouble about a task: one that is not there is a wrong parameter.
fn no_task(trouble: &Trouble) -> ErrorData {
    ErrorData { code: if trouble.code.status() < 500 { ErrorCode::INVALID_PARAMS } else { ErrorCode::INTERNAL_ERROR }, ..fault(trouble) }
}

/// Trouble that is no result of a tool.
pub(super) fn fault(trouble: &Trouble) -> ErrorData {
    let problem = http::Problem::json(trouble);
    match trouble.code.status() {
        404 => ErrorData::resource_not_found(trouble.detail.clone(), Some(problem)),
        500.. => ErrorData::internal_error(trouble.detail.clone(), Some(problem)),
        _ => ErrorData::invalid_params(trouble.detail.clone(), Some(problem)),
    }
}
