//! Functions of an embedder as tools whose arguments and results are Rust types.
//!
//! The schemas of a tool come from its types: a graph names the [library](Bindings::library) of them, and the compiler checks its arguments and its
//! reads of the results against them.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use trellis_core::{
    Mapping, ToolError, Value,
    engine::ToolErrorKind,
    value::{from_value, to_value},
};

use super::{Bindings, CallContext};

/// The declaration of a typed function for a graph.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    parameters: Value,
    returns: Value,
}

impl Declaration {
    fn of<Args: JsonSchema, Out: JsonSchema>() -> Self {
        let settings = || SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
        Self { parameters: schema::<Args>(settings().for_deserialize()), returns: schema::<Out>(settings().for_serialize()) }
    }
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let schema = settings.into_generator().into_root_schema_for::<T>();
    // A schema holds nothing that a value cannot be.
    to_value(&schema).unwrap_or(Value::Bool(true))
}

impl Bindings {
    /// Carries calls of `name` out with a function over Rust types, as [`Bindings::function`] does. Arguments that `Args` cannot be read from, and
    /// results that no value can hold, are error results that name the place.
    ///
    /// ```
    /// use trellis_core::ToolError;
    /// use trellis_host::{Bindings, CallContext};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Order {
    ///     count: u32,
    /// }
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Price {
    ///     total: u32,
    /// }
    ///
    /// fn price(_: &CallContext, order: Order) -> Result<Price, ToolError> {
    ///     Ok(Price { total: order.count * 2 })
    /// }
    ///
    /// let bindings = Bindings::none().function_typed("price", price);
    /// assert!(bindings.library().contains(r#""name":"price""#));
    /// ```
    #[must_use]
    pub fn function_typed<Args, Out, F>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(&CallContext, Args) -> Result<Out, ToolError> + Send + Sync + 'static,
        Args: DeserializeOwned + JsonSchema,
        Out: Serialize + JsonSchema,
    {
        self.typed.insert(name.into(), Declaration::of::<Args, Out>());
        self.function(name, move |context, args| result(&run(context, taken(args)?)?))
    }

    /// Carries calls of `name` out with an asynchronous function over Rust types, as [`Bindings::function_async`] does. Otherwise as
    /// [`Bindings::function_typed`].
    #[must_use]
    pub fn function_async_typed<Args, Out, F, Fut>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(CallContext, Args) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, ToolError>> + Send + 'static,
        Args: DeserializeOwned + JsonSchema,
        Out: Serialize + JsonSchema,
    {
        self.typed.insert(name.into(), Declaration::of::<Args, Out>());
        self.function_async(name, move |context, args| {
            let begun = taken(args).map(|args| run(context, args));
            async move { result(&begun?.await?) }
        })
    }

    /// The typed functions as a library of tools, for a graph to name in `tools`: JSON, with `parameters` and `returns`, sorted by name. A host that
    /// loads its graph from memory adds it as a file; otherwise write it beside the graph, such as to `lib/host.json`.
    pub fn library(&self) -> String {
        let tools = self.typed.iter().map(|(name, typed)| {
            let fields =
                [("name", Value::Text(name.clone())), ("parameters", typed.parameters.clone()), ("returns", typed.returns.clone())];
            Value::map(fields)
        });
        Value::map([("tools", Value::list(tools))]).to_json()
    }
}

fn taken<Args: DeserializeOwned>(args: Mapping) -> Result<Args, ToolError> {
    from_value(&args.into()).map_err(|error| ToolError::new(format!("the arguments do not fit: {error}")))
}

fn result<Out: Serialize>(out: &Out) -> Result<Value, ToolError> {
    to_value(out)
        .map_err(|error| ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(format!("the result cannot be taken: {error}")) })
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use trellis_core::{Code, Dialect, Document, Source, compile, schema::Schema};

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Order {
        items: Vec<Item>,
        note: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Item {
        Tea,
        Cake { pieces: u8 },
    }

    #[derive(Serialize, JsonSchema)]
    struct Price {
        total: f64,
    }

    fn price(_: &CallContext, order: Order) -> Result<Price, ToolError> {
        Ok(sum(&order))
    }

    fn sum(order: &Order) -> Price {
        let worth = |item: &Item| match item {
            Item::Tea => 1.5,
            Item::Cake { pieces } => f64::from(*pieces) * 2.0,
        };
        if order.note.is_some() {
            return Price { total: f64::NAN };
        }
        Price { total: order.items.iter().map(worth).sum() }
    }

    fn called(args: &str) -> Result<String, String> {
        let Ok(Value::Map(args)) = Value::from_json(args) else { panic!("{args} is no mapping") };
        taken(args).and_then(|order| result(&sum(&order))).map(|value| value.to_json()).map_err(|error| error.message)
    }

    #[test]
    fn arguments_and_results_are_rust_types() {
        assert_eq!(called(r#"{"items": ["tea", {"cake": {"pieces": 2}}]}"#).unwrap(), r#"{"total":5.5}"#);
        let refused = called(r#"{"items": ["tea", {"cake": {"pieces": 300}}]}"#).unwrap_err();
        assert_eq!(refused, "the arguments do not fit: at `items.1.cake.pieces`: invalid value: integer `300`, expected u8");
        let refused = called(r#"{"items": [], "note": "no number"}"#).unwrap_err();
        assert_eq!(refused, "the result cannot be taken: at `total`: a number must be finite, not NaN");
    }

    #[test]
    fn a_graph_is_held_to_the_types() {
        let library = Bindings::none().function_typed("price", price).library();
        let of_future = Bindings::none().function_async_typed("price", |_, order: Order| async move { Ok(sum(&order)) }).library();
        assert_eq!(of_future, library);
        let declared = Declaration::of::<Order, Price>();
        let parameters = Schema::new(&declared.parameters).unwrap();
        assert!(parameters.fits(&Value::from_json(r#"{"items": ["tea", {"cake": {"pieces": 2}}], "note": null}"#).unwrap()));
        assert!(!parameters.fits(&Value::from_json(r#"{"items": ["coffee"]}"#).unwrap()));

        let found = |args: &str, read: &str| {
            let start = format!("---\ntools: [lib/host.json]\ndo: {{ name: price, args: {args} }}\nsave_to: price\nto: told\n---\n");
            let told = format!("---\n---\nThat is {{{{ price.{read} }}}}.\n");
            let files = [("lib/host.json", &library), ("start.md", &start), ("told.md", &told)];
            let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
            compile(&documents).diagnostics.iter().map(|found| found.code).collect::<Vec<_>>()
        };
        assert_eq!(found("{ items: [tea] }", "total"), []);
        assert_eq!(found("{ itmes: [tea] }", "total"), [Code::BadToolArgs]);
        assert_eq!(found("{ items: [tea] }", "totl"), [Code::MaybeUndefined]);
    }
}
