//! A handler whose requests are counted, by their methods and outcomes.

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
        DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use super::McpHandler;

/// The requests of one client, counted.
#[derive(Clone, Debug)]
pub(super) struct CountedHandler(pub(super) McpHandler);

impl CountedHandler {
    async fn counted<T>(&self, method: &'static str, done: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
        let done = done.await;
        self.0.metrics().count(method, if done.is_ok() { "ok" } else { "error" });
        done
    }
}

/// Methods that are handed on and counted. Each stands on the heap: a walk is too large for the stack of a worker.
macro_rules! counted {
    ($($name:ident($params:ty) -> $result:ty, $method:literal;)*) => {
        $(
            async fn $name(&self, params: $params, context: RequestContext<RoleServer>) -> Result<$result, ErrorData> {
                self.counted($method, Box::pin(self.0.$name(params, context))).await
            }
        )*
    };
}

#[expect(deprecated, reason = "clients of older revisions subscribe so")]
impl ServerHandler for CountedHandler {
    counted! {
        initialize(InitializeRequestParams) -> InitializeResult, "initialize";
        complete(CompleteRequestParams) -> CompleteResult, "completion/complete";
        get_prompt(GetPromptRequestParams) -> GetPromptResponse, "prompts/get";
        list_prompts(Option<PaginatedRequestParams>) -> ListPromptsResult, "prompts/list";
        list_resources(Option<PaginatedRequestParams>) -> ListResourcesResult, "resources/list";
        list_resource_templates(Option<PaginatedRequestParams>) -> ListResourceTemplatesResult, "resources/templates/list";
        read_resource(ReadResourceRequestParams) -> ReadResourceResponse, "resources/read";
        subscribe(SubscribeRequestParams) -> (), "resources/subscribe";
        unsubscribe(UnsubscribeRequestParams) -> (), "resources/unsubscribe";
        list_tools(Option<PaginatedRequestParams>) -> ListToolsResult, "tools/list";
        get_task(GetTaskParams) -> GetTaskResult, "tasks/get";
        update_task(UpdateTaskParams) -> (), "tasks/update";
        cancel_task(CancelTaskParams) -> (), "tasks/cancel";
        // A method name from a client is no label.
        on_custom_request(CustomRequest) -> CustomResult, "other";
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.counted("ping", self.0.ping(context)).await
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.counted("server/discover", self.0.discover(context)).await
    }

    /// A tool that refuses is no error of the protocol.
    async fn call_tool(&self, params: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let done = Box::pin(self.0.call_tool(params, context)).await;
        let outcome = match &done {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => "refused",
            Ok(_) => "ok",
            Err(_) => "error",
        };
        self.0.metrics().count("tools/call", outcome);
        done
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.on_initialized(context).await;
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.counted("subscriptions/listen", Box::pin(self.0.listen(context))).await
    }
}
