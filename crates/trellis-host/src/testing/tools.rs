//! Tools with scripted answers, which record their arguments.
//!
//! **Invariant:** a call that the script does not foresee is an error result that names it, never a silent success.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use trellis_core::{Mapping, ToolError, Value};

use crate::{
    Bindings,
    binding::{Answer, Binding, Job, Pending},
};

/// A call that a scripted tool got.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScriptedCall {
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments, with secrets filled in.
    pub args: Mapping,
}

/// Scripted tools: each gives the answer for exactly these arguments, else the next of its answers in order.
///
/// Clones share one script and one list of calls.
#[derive(Clone, Debug, Default)]
pub struct ScriptedTools(Arc<Mutex<ToolScript>>);

#[derive(Debug, Default)]
struct ToolScript {
    tools: BTreeMap<Arc<str>, Answers>,
    calls: Vec<ScriptedCall>,
}

/// The answers of one tool.
#[derive(Debug, Default)]
struct Answers {
    in_order: VecDeque<Result<Value, ToolError>>,
    by_arguments: Vec<(Mapping, Result<Value, ToolError>)>,
}

impl ScriptedTools {
    /// A script without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the next call of `tool` succeed with `value`.
    #[must_use]
    pub fn answer(self, tool: &str, value: impl Into<Value>) -> Self {
        self.script().tool(tool).in_order.push_back(Ok(value.into()));
        self
    }

    /// Lets the next call of `tool` fail.
    #[must_use]
    pub fn fail(self, tool: &str, error: ToolError) -> Self {
        self.script().tool(tool).in_order.push_back(Err(error));
        self
    }

    /// Sets the result of every call of `tool` with exactly these arguments, before all other answers.
    #[must_use]
    pub fn answer_to(self, tool: &str, args: Mapping, result: Result<Value, ToolError>) -> Self {
        self.script().tool(tool).by_arguments.push((args, result));
        self
    }

    /// The bindings with every tool of the script. A tool that neither the script nor another binding has fails too: no test passes because a call
    /// was left to a client that it does not have.
    pub fn bind(&self, bindings: Bindings) -> Bindings {
        let tools: Vec<Arc<str>> = self.script().tools.keys().cloned().collect();
        let bindings = tools.into_iter().fold(bindings, |bindings, tool| {
            let (script, name) = (self.clone(), Arc::clone(&tool));
            bindings.function(&tool, move |_, args| script.script().call(&name, args))
        });
        bindings.otherwise(self.clone())
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<ScriptedCall> {
        self.script().calls.clone()
    }

    /// The arguments of every call of `tool` so far, in order.
    pub fn calls_of(&self, tool: &str) -> Vec<Mapping> {
        let script = self.script();
        script.calls.iter().filter(|call| *call.tool == *tool).map(|call| call.args.clone()).collect()
    }

    /// Returns whether every answer in order was given.
    pub fn is_used_up(&self) -> bool {
        self.script().tools.values().all(|answers| answers.in_order.is_empty())
    }

    fn script(&self) -> MutexGuard<'_, ToolScript> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The binding of the tools that nobody scripted.
impl Binding for ScriptedTools {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        let unscripted = self.script().call_unscripted(&job.call.name, job.args);
        Box::pin(std::future::ready(Err(unscripted).into()))
    }
}

impl ToolScript {
    fn call_unscripted(&mut self, tool: &Arc<str>, args: Mapping) -> ToolError {
        self.calls.push(ScriptedCall { tool: Arc::clone(tool), args });
        ToolError::new(format!("nobody scripted `{tool}`"))
    }

    fn tool(&mut self, name: &str) -> &mut Answers {
        self.tools.entry(name.into()).or_default()
    }

    fn call(&mut self, tool: &Arc<str>, args: Mapping) -> Result<Value, ToolError> {
        let count = 1 + self.calls.iter().filter(|call| call.tool == *tool).count();
        self.calls.push(ScriptedCall { tool: Arc::clone(tool), args: args.clone() });
        let answers = self.tool(tool);
        if let Some((_, result)) = answers.by_arguments.iter().find(|(foreseen, _)| *foreseen == args) {
            return result.clone();
        }
        answers.in_order.pop_front().unwrap_or_else(|| {
            Err(ToolError::new(format!("the script has no answer to call {count} of `{tool}`, with {}", Value::Map(args).to_json())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_by_arguments_then_in_order_and_then_no_more() {
        let town = |name: &str| -> Mapping { [("town", name)].into_iter().collect() };
        let tools = ScriptedTools::new().answer("weather", "blue").fail("weather", ToolError::new("no connection")).answer_to(
            "weather",
            town("Oslo"),
            Ok("white".into()),
        );
        let call = |args: Mapping| tools.script().call(&"weather".into(), args).map_err(|error| error.message);
        assert_eq!(call(town("Oslo")), Ok("white".into()));
        assert_eq!(call(town("Aachen")), Ok("blue".into()));
        assert!(!tools.is_used_up());
        assert_eq!(call(town("Aachen")), Err("no connection".into()));
        assert!(tools.is_used_up());
        assert_eq!(call(town("Aachen")), Err(r#"the script has no answer to call 4 of `weather`, with {"town":"Aachen"}"#.into()));
        assert_eq!(call(town("Oslo")), Ok("white".into()));
        assert_eq!(tools.calls_of("weather").len(), 5);
        assert!(tools.bind(Bindings::none()).binds("", "tide"), "what nobody scripted fails here, and is left to no client");
    }
}
