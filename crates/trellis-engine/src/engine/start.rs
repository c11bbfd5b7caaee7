//! `start`: the session's inputs are checked, then the entry is entered (language 7.1).

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

use super::{
    Engine, Start, StartError, Step,
    input::breaches,
    step::{Move, first_point},
};
use crate::{
    program::{Graph, Node, Target},
    state::{Effects, PartStates, State, Status, System, VERSION},
};
use trellis_base::{
    context::Context,
    diagnostic::did_you_mean,
    id::SessionId,
    path::{KeyPath, walk},
    schema::{Breach, Schema},
    scope::RESERVED,
    value::{Mapping, Value},
};

/// The session of a host that names none. Keys of calls derive from it, so it differs from graph to graph; a host with several sessions names them.
fn unnamed(fingerprint: &str) -> SessionId {
    SessionId::new(format!("local-{fingerprint}"))
}

impl Engine {
    pub(super) fn begin_as(&self, start: Start, is_inner: bool) -> Result<Step, StartError> {
        let node = match start.at {
            Some(id) => self.program.find(&id).ok_or(StartError::UnknownNode(id))?,
            None => self.program.root().entry,
        };
        let node = self.program.node(node);
        let graph = self.program.graph_of(node);
        if let Err(excess) = self.program.limits().admit_keys(&Context::default(), &start.context, &start.context) {
            return Err(StartError::Inputs { problems: vec![excess.to_string()] });
        }
        let mut problems = if self.is_trial { Vec::new() } else { reserved(&start.context) };
        problems.extend(self.unmet(graph, node, &start.context));
        problems.extend(self.misgiven(node, &start.context));
        // At the entry the analysis has seen to it; a session that begins elsewhere skips the nodes that would have brought the keys.
        if node.index != graph.entry && !self.is_trial {
            let needs = self.program.needs(node);
            let missing = missing(&needs.certain, &node.entry.required, &start.context);
            let lacking = missing.into_iter().chain(self.unfit(&needs.kinds, &start.context)).chain(unwritten(&needs.sys, node));
            for problem in lacking {
                if !problems.iter().any(|reported| are_about_one(reported, &problem)) {
                    problems.push(problem);
                }
            }
        }
        if !problems.is_empty() {
            return Err(StartError::Inputs { problems });
        }
        let mut step = Move::new(
            self,
            State {
                version: VERSION,
                session_id: start.session.unwrap_or_else(|| unnamed(self.program.fingerprint())),
                graph: self.graph.clone(),
                seed: start.seed,
                is_inner,
                program: self.program.fingerprint().clone(),
                current_node_id: node.id.clone(),
                status: Status::Active,
                pending_tool_call: None,
                parts: PartStates::default(),
                attempt: 1,
                context: Context::new(start.context),
                system_context: System::default(),
                locale: start.locale,
                step: 0,
                entered: 0,
                after_error: false,
                visits: RedBlackTreeMapSync::new_sync(),
                effects: Effects::default(),
                abandoned: Arc::default(),
                settled: None,
                rolled_back: false,
                ended: None,
            },
        );
        step.fresh = true;
        let point = first_point(node);
        let done = step.follow(point, Target::Point(point));
        step.close(done).map_err(StartError::Unanswered)
    }
}

impl Engine {
    /// The keys with defaults that are numbers for which the beginning of a graph gives something else.
    fn misgiven(&self, node: &Node, context: &Mapping) -> Vec<String> {
        if context.is_empty() || node.index != self.program.root().entry {
            return Vec::new();
        }
        let root = self.program.root();
        // A key that is no input has that problem.
        if root.inputs.as_ref().is_some_and(Schema::is_closed) {
            return Vec::new();
        }
        let inputs = root.inputs.as_ref().and_then(|inputs| inputs.source().as_map()?.get("properties")?.as_map());
        let types = || root.types.iter().chain(&node.entry.types);
        let is_declared = |key: &str| inputs.is_some_and(|inputs| inputs.contains(key)) || types().any(|(declared, _)| **declared == *key);
        let Ok(number) = Schema::new(&Value::map([("type", Value::text("number"))])) else { return Vec::new() };
        let defaults = self.program.defaults().into_iter().filter(|(key, is_number)| *is_number && !is_declared(key));
        let given = defaults.filter_map(|(key, _)| Some((key, context.get(key).filter(|value| !number.fits(value))?)));
        given.map(|(key, value)| breaches(&number, value, key)).collect()
    }
}

/// The needs that a context does not meet and that [`unmet`] has not named.
fn missing(needs: &[KeyPath], required: &[KeyPath], context: &Mapping) -> Vec<String> {
    let is_absent = |path: &KeyPath| given(context, path).is_none();
    let absent: Vec<&KeyPath> = needs.iter().filter(|path| is_absent(path)).collect();
    // A part of a missing value need not be reported.
    let stands_in = |path: &KeyPath, other: &KeyPath| {
        let (path, other) = (path.segments(), other.segments());
        other.len() < path.len() && path.starts_with(other)
    };
    let above = || absent.iter().copied().chain(required.iter().filter(|path| is_absent(path)));
    absent.iter().filter(|path| !above().any(|other| stands_in(path, other))).map(|path| format!("`{path}` is missing")).collect()
}

/// Names of inputs that a message lists.
const MAX_INPUTS_LISTED: usize = 8;

/// Says that a key is none of a graph's inputs, and which one is meant, or which there are.
fn foreign(inputs: &Schema, context: &Mapping, key: &str) -> String {
    let named = inputs.source().as_map().and_then(|words| words.get("properties")?.as_map());
    let free: Vec<&str> = named.into_iter().flat_map(Mapping::keys).map(|name| &**name).filter(|name| !context.contains(name)).collect();
    let meant = did_you_mean(key, free.iter().copied());
    let names = || free.iter().take(MAX_INPUTS_LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = if free.len() > MAX_INPUTS_LISTED { " …" } else { "" };
    let remedy = meant.unwrap_or_else(|| if free.is_empty() { "leave it out".to_owned() } else { format!("there are {}{more}", names()) });
    format!("`{key}` is no input of this graph, {remedy}")
}

/// Names the keys of `sys` that the node reads and that only earlier nodes would have written.
fn unwritten(sys: &[KeyPath], node: &Node) -> Vec<String> {
    sys.iter().map(|path| format!("`{path}` is not set when a session begins at `{}`", node.id)).collect()
}

/// Returns whether two problems are about one path, or one about a part of the other's.
fn are_about_one(one: &str, other: &str) -> bool {
    let path = |problem: &str| problem.split('`').nth(1).and_then(KeyPath::parse);
    let (Some(one), Some(other)) = (path(one), path(other)) else { return false };
    one.segments().starts_with(other.segments()) || other.segments().starts_with(one.segments())
}

/// Returns the value of a context at a path.
fn given<'c>(context: &'c Mapping, path: &KeyPath) -> Option<&'c Value> {
    walk(context.get(path.root())?, path.rest())
}

/// Returns the reserved keys of the engine in a context; a trial may suppose one to be set.
fn reserved(context: &Mapping) -> Vec<String> {
    RESERVED.into_iter().filter(|key| context.contains(key)).map(|key| format!("`{key}` is a reserved name")).collect()
}

impl Engine {
    /// The values that something behind the beginning cannot take, each once.
    fn unfit(&self, kinds: &[(KeyPath, Schema)], context: &Mapping) -> Vec<String> {
        let unfit =
            kinds.iter().filter_map(|(path, kind)| Some((path, kind, given(context, path).filter(|value| !self.fits(kind, value))?)));
        unfit.map(|(path, kind, value)| breaches(kind, value, &path.to_string())).collect()
    }

    /// Returns the missing requirements of a start at `node`: its graph's `inputs` at the entry, and the needs of the node itself.
    fn unmet(&self, graph: &Graph, node: &Node, context: &Mapping) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(inputs) = graph.inputs.as_ref().filter(|_| node.index == graph.entry) {
            let given = Value::Map(context.clone());
            if !self.fits(inputs, &given) {
                let of = |breach: &Breach| breach.unknown_key().map_or_else(|| breach.about(""), |key| foreign(inputs, context, key));
                let breaches: Vec<_> = inputs.breaches(&given).iter().map(of).collect();
                problems.push(breaches.join("; "));
            }
        }
        // Steps before the requirements may set their keys.
        let brought = |key: &str| node.brings(graph, key);
        for path in &node.entry.required {
            if given(context, path).is_none() && !brought(path.root()) {
                problems.push(format!("`{path}` is missing"));
            }
        }
        let declared = graph.types.iter().filter(|(key, _)| !node.entry.types.iter().any(|(own, _)| own == key));
        for (key, schema) in declared {
            if let Some(value) = context.get(key).filter(|value| !self.fits(schema, value)) {
                problems.push(breaches(schema, value, key));
            }
        }
        for (key, schema) in &node.entry.types {
            match context.get(key) {
                Some(value) if !self.fits(schema, value) => {
                    problems.push(breaches(schema, value, key));
                }
                None if !brought(key) && !node.entry.required.iter().any(|path| path.root() == key) => {
                    problems.push(format!("`{key}` is missing"));
                }
                _ => {}
            }
        }
        problems
    }
}
