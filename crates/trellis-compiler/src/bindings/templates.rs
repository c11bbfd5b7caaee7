//! Names in the templates of a binding: they are arguments of its tool, or `call` (language 9.2).

use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, near},
    path::{KeyPath, Segment},
    schema::Schema,
    span::Span,
    template::{GuardedTest, Shape, Used},
    value::{Mapping, Value},
};
use trellis_syntax::project::BindingSyntax;

/// The keys of `call`.
const OF_CALL: [&str; 3] = ["id", "key", "attempt"];

/// Keywords of a schema beside `properties` that may allow other names.
const COMBINING: [&str; 8] = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];

/// Reports names that are no arguments, optional arguments that are read unguarded, and `args:` that a builtin cannot take.
pub(crate) fn check_templates(path: &FilePath, binding: &BindingSyntax, found: &mut Vec<Diagnostic>) {
    let tool = binding.tool.name.as_ref().map_or("", |name| &*name.value);
    let parameters = binding.tool.parameters.as_ref().map(|schema| &schema.value);
    let mut names = ArgumentNames { path, tool, parameters, found };
    for key in ["http", "args"] {
        if let Some(shape) = binding.config.shape(key) {
            names.shape(&shape.value, shape.span);
        }
    }
    if let Some(args) = binding.config.shape("args")
        && let Some(parameters) = super::contract_of(binding).and_then(|known| known.parameters())
    {
        check_args(path, (&args.value, args.span), &parameters, found);
    }
}

struct ArgumentNames<'c> {
    path: &'c FilePath,
    tool: &'c str,
    parameters: Option<&'c Value>,
    found: &'c mut Vec<Diagnostic>,
}

impl ArgumentNames<'_> {
    fn shape(&mut self, shape: &Shape, span: Span) {
        match shape {
            Shape::Literal(_) => {}
            Shape::List(items) => items.iter().for_each(|item| self.shape(&item.value, item.span)),
            Shape::Map(entries) => entries.iter().for_each(|(_, value)| self.shape(&value.value, value.span)),
            Shape::Expression(expression) => {
                if let Some((path, true)) = expression.path() {
                    self.known(path, span);
                }
                shape.each_use(&mut |used| self.used(&used));
            }
            Shape::Text(_) => shape.each_use(&mut |used| self.used(&used)),
        }
    }

    fn used(&mut self, used: &Used<'_>) {
        if used.blind || used.calculation.is_some() {
            return;
        }
        let guarded: Vec<&KeyPath> = used.when.iter().filter_map(GuardedTest::path).collect();
        if let Some(unknown) = guarded.iter().find(|path| !self.has(path)) {
            return self.unknown(unknown, used.span());
        }
        if self.known(used.path, used.span()) {
            self.is_there(used);
        }
    }

    /// Reports a path that begins with no argument.
    fn known(&mut self, path: &KeyPath, span: Span) -> bool {
        let is_known = self.has(path);
        if !is_known {
            self.unknown(path, span);
        }
        is_known
    }

    fn has(&self, path: &KeyPath) -> bool {
        match (&**path.root(), path.rest().first()) {
            ("call", None) => true,
            ("call", Some(Segment::Key(key))) => OF_CALL.contains(&&**key),
            ("call", Some(Segment::Index(_))) => false,
            (root, _) => self.parameters.and_then(properties).is_none_or(|properties| properties.contains(root)),
        }
    }

    fn unknown(&mut self, path: &KeyPath, span: Span) {
        let names: Vec<&str> =
            self.parameters.and_then(properties).into_iter().flat_map(|names| names.keys()).map(|name| &**name).collect();
        let found = if &**path.root() == "call" {
            let message = format!("`{path}` is not known of a call");
            Diagnostic::new(Code::UndefinedVariable, self.path, span, message).help("there are `call.id`, `call.key` and `call.attempt`")
        } else {
            let message = format!("`{}` is no argument of `{}`", path.root(), self.tool);
            let found = Diagnostic::new(Code::UndefinedVariable, self.path, span, message);
            let listed = || match names.is_empty() {
                true => "it takes none: declare it under `parameters`".to_owned(),
                false => format!("its `parameters` are `{}`; the context is not read here", names.join("`, `")),
            };
            match near(path.root(), names.iter().copied()) {
                Some(near) if !path.is_key() => found.help(near.question()),
                near => found.meant(span, near, listed),
            }
        };
        self.found.push(found);
    }

    /// Follows a path through the declared types, and reports the first step that may be missing.
    fn is_there(&mut self, used: &Used<'_>) {
        let (mut schema, mut depth) = (self.parameters, 0);
        if &**used.path.root() == "call" {
            return;
        }
        while let (Some(here), Some(Segment::Key(key))) = (schema, used.path.segments().get(depth)) {
            let Some(next) = properties(here).and_then(|properties| properties.get(key)) else { return };
            depth += 1;
            let prefix = &used.path.segments()[..depth];
            let required = here.get("required").and_then(Value::as_list);
            let is_required = required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
            if !is_required && !used.when.iter().any(|test| guards(test, prefix)) {
                let shown = if depth == used.path.segments().len() { used.path.to_string() } else { key.to_string() };
                let message = format!("`{shown}` is optional, and may be missing from a call of `{}`", self.tool);
                let help = format!("guard it, `{{{{ {shown} | optional }}}}` or `{{{{ {shown} | default(\"…\") }}}}`, or require it");
                self.found.push(Diagnostic::new(Code::MaybeUndefined, self.path, used.span(), message).help(help));
                return;
            }
            schema = Some(next);
        }
    }
}

/// Returns whether a test that holds shows that a value is present.
fn guards(test: &GuardedTest, prefix: &[Segment]) -> bool {
    match test {
        GuardedTest::Truthy(path, true) | GuardedTest::Set(path, true) | GuardedTest::Is(path, true, _) => {
            path.segments().starts_with(prefix)
        }
        // A test that the analysis does not follow may be a guard.
        GuardedTest::Opaque => true,
        GuardedTest::Truthy(..) | GuardedTest::Set(..) | GuardedTest::Is(..) => false,
    }
}

/// Returns the names that a schema declares, if it declares them all in one place.
fn properties(schema: &Value) -> Option<&Mapping> {
    let properties = schema.get("properties")?.as_map()?;
    COMBINING.iter().all(|word| schema.get(word).is_none()).then_some(properties)
}

/// Reports entries of the `args:` beside a builtin that it does not accept.
fn check_args(path: &FilePath, (args, span): (&Shape, Span), parameters: &Value, found: &mut Vec<Diagnostic>) {
    let Some(properties) = properties(parameters) else { return };
    let Shape::Map(entries) = args else {
        if !matches!(args, Shape::Expression(_)) {
            found.push(Diagnostic::new(Code::WrongType, path, span, "`args` takes a mapping from arguments to values"));
        }
        return;
    };
    let mut report = |span, message: String, help: Option<String>| {
        found.push(Diagnostic::new(Code::BadToolArgs, path, span, message).help_maybe(help));
    };
    for (key, value) in entries {
        let Some(schema) = properties.get(&key.value) else {
            let near = near(&key.value, properties.keys().map(|name| &**name));
            report(key.span, format!("the builtin takes no argument `{}`", key.value), near.map(|near| near.question()));
            continue;
        };
        if let Shape::Literal(literal) = &value.value
            && Schema::new(schema).is_ok_and(|schema| !schema.fits(literal))
        {
            report(value.span, format!("the builtin takes another `{}`: {}", key.value, schema.to_json()), None);
        }
    }
    let required = parameters.get("required").and_then(Value::as_list);
    for name in required.into_iter().flat_map(|names| names.iter()).filter_map(Value::as_str) {
        if !entries.iter().any(|(key, _)| *key.value == *name) {
            report(span, format!("the builtin needs the argument `{name}`"), Some(format!("add `{name}:`")));
        }
    }
}
