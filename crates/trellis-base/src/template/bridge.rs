//! Conversion of values for the template engine and back: lists and mappings are passed by sharing, never by copying.
//!
//! **Invariant:** a value that comes back is JSON: finite numbers of 64 bits, text keys, at most [`MAX_DEPTH`] levels.

use std::{fmt::Write, sync::Arc};

use minijinja::{
    Error, ErrorKind,
    value::{Enumerator, Object, ObjectExt, ObjectRepr, Value as Dyn, ValueKind},
};

use crate::{
    scope::Scope,
    value::{Key, List, Mapping, Value},
};

/// The hidden name under which filters find the scope and its limits.
pub(super) const VIEW: &str = "\u{1}";

/// A second name of the key `loop`, for Go's `$.loop` inside of `range`: the engine binds `loop` there.
pub(super) const LOOP_KEY: &str = "\u{1}loop";

/// The key of the context that a name of the tree reads.
pub(super) fn context_key(name: &str) -> &str {
    if name == LOOP_KEY { "loop" } else { name }
}

/// Maximum depth of a value that a template makes; JSON readers allow the same.
pub(super) const MAX_DEPTH: usize = 128;

/// A shared list.
#[derive(Debug)]
struct ListView(List);

/// A shared mapping.
#[derive(Debug)]
struct MapView(Mapping);

/// The values that a template can read.
#[derive(Debug)]
pub(super) struct ScopeView {
    /// The names.
    pub(super) names: TemplateInput,
    /// The bounds of this rendering.
    pub(super) limits: super::RenderLimits,
    /// True if pieces are wanted, not a text.
    pub(super) in_pieces: bool,
    /// Bytes of a list or mapping that a rendering creates, as JSON.
    pub(super) made: u64,
}

/// The names that a template can read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is made once for a rendering, and lies on the heap")]
pub(super) enum TemplateInput {
    /// Those of a session.
    Scope(Scope),
    /// Those of a call's arguments.
    Arguments(Mapping),
}

impl Object for ListView {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Dyn) -> Option<Dyn> {
        self.0.get(key.as_usize()?).map(to_dyn)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}

impl Object for MapView {
    fn get_value(self: &Arc<Self>, key: &Dyn) -> Option<Dyn> {
        self.0.get(key.as_str()?).map(to_dyn)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Dyn> {
        self.0.get(key).map(to_dyn)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|this| Box::new(this.0.keys().map(|key| Dyn::from(Arc::clone(key)))))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}

impl Object for ScopeView {
    fn get_value(self: &Arc<Self>, key: &Dyn) -> Option<Dyn> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Dyn> {
        if key == VIEW {
            return Some(Dyn::from_dyn_object(Arc::clone(self)));
        }
        match &self.names {
            TemplateInput::Scope(scope) => scope.get(context_key(key)).map(to_dyn),
            TemplateInput::Arguments(arguments) => arguments.get(key).map(to_dyn),
        }
    }
}

/// The engine's form of a value; costs the same for any size.
pub(super) fn to_dyn(value: &Value) -> Dyn {
    match value {
        Value::Null => Dyn::from(()),
        Value::Bool(truth) => Dyn::from(*truth),
        Value::Int(number) => Dyn::from(*number),
        Value::UInt(number) => Dyn::from(*number),
        Value::Float(number) => Dyn::from(*number),
        Value::Text(text) => Dyn::from(Arc::clone(text)),
        Value::List(items) => Dyn::from_object(ListView(items.clone())),
        Value::Map(entries) => Dyn::from_object(MapView(entries.clone())),
    }
}

/// The largest size of a value.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Values, keys not counted.
    pub(super) parts: u64,
    /// Bytes of its texts.
    pub(super) bytes: u64,
}

impl Size {
    /// So large that it can be printed in `bytes`.
    pub(super) fn printed(bytes: u64) -> Self {
        Self { parts: bytes.max(1), bytes }
    }

    /// A bound on parts, with texts of any size.
    pub(super) fn parts(parts: u64) -> Self {
        Self { parts, bytes: u64::MAX }
    }

    /// A bound on parts and on bytes of texts.
    pub(super) fn made(parts: u64, bytes: u64) -> Self {
        Self { parts, bytes }
    }

    fn pay(&mut self, bytes: usize) -> Result<(), Error> {
        self.parts = self.parts.checked_sub(1).ok_or_else(too_many)?;
        self.bytes = self.bytes.checked_sub(bytes as u64).ok_or_else(too_long)?;
        Ok(())
    }
}

/// The value that a template made; one that came from the scope is passed on at any size.
///
/// # Errors
/// A number that is not finite or does not fit 64 bits, a key that is no text, something that is not set inside a list or mapping, more than `size` or
/// [`MAX_DEPTH`] levels.
pub(super) fn from_dyn(value: &Dyn, mut size: Size) -> Result<Value, Error> {
    shared(value).map_or_else(|| convert(value, MAX_DEPTH, &mut size), Ok)
}

/// Returns the number of parts of a value, itself included.
///
/// # Errors
/// As [`from_dyn`].
pub(super) fn weigh(value: &Dyn, parts: u64) -> Result<u64, Error> {
    let mut size = Size::parts(parts);
    match shared(value) {
        Some(value) => measured(value, MAX_DEPTH * 2, &mut size)?,
        None => convert(value, MAX_DEPTH, &mut size)?,
    };
    Ok(parts - size.parts)
}

/// Returns whether a value is a list or mapping that came from the scope.
pub(super) fn is_shared(value: &Dyn) -> bool {
    value.downcast_object_ref::<ListView>().is_some() || value.downcast_object_ref::<MapView>().is_some()
}

/// The list or mapping behind a value that came from the scope.
fn shared(value: &Dyn) -> Option<Value> {
    if let Some(list) = value.downcast_object_ref::<ListView>() {
        return Some(Value::List(list.0.clone()));
    }
    value.downcast_object_ref::<MapView>().map(|map| Value::Map(map.0.clone()))
}

/// The value that a template made, and how many parts it has.
///
/// # Errors
/// As [`from_dyn`].
pub(super) fn counted(value: &Dyn, size: Size) -> Result<(Value, u64), Error> {
    let mut left = size;
    let value = convert(value, MAX_DEPTH, &mut left)?;
    Ok((value, size.parts - left.parts))
}

fn convert(value: &Dyn, depth: usize, left: &mut Size) -> Result<Value, Error> {
    let deeper = || depth.checked_sub(1).ok_or_else(too_deep);
    if let Some(shared) = shared(value) {
        return measured(shared, depth, left);
    }
    left.pay(value.as_str().map_or(0, str::len))?;
    match value.kind() {
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String | ValueKind::Bytes => Ok(Value::Text(value.to_str().unwrap_or_default())),
        ValueKind::Undefined => Err(invalid("a part of the value is not set")),
        ValueKind::Seq | ValueKind::Iterable => {
            let deeper = deeper()?;
            let mut items = Vec::new();
            for item in value.try_iter()?.checked() {
                items.push(convert(&item?, deeper, left)?);
            }
            Ok(items.into())
        }
        ValueKind::Map => {
            let deeper = deeper()?;
            let mut entries = Mapping::new();
            for key in value.try_iter()?.checked() {
                let key = key?;
                let name: Key = key.to_str().ok_or_else(|| invalid(format!("`{key}` cannot be a key: keys are text")))?;
                entries.insert(name, convert(&value.get_item(&key)?, deeper, left)?);
            }
            Ok(entries.into())
        }

        _ => Err(invalid("this is no value")),
    }
}

/// Counts the parts of a shared value, and refuses one that would make the whole too deep: a value could grow by a level with each step otherwise.
fn measured(value: Value, depth: usize, left: &mut Size) -> Result<Value, Error> {
    fn measure(value: &Value, depth: usize, left: &mut Size) -> Result<(), Error> {
        let deeper = || depth.checked_sub(1).ok_or_else(too_deep);
        left.pay(value.as_str().map_or(0, str::len))?;
        match value {
            Value::List(items) => deeper().and_then(|depth| items.iter().try_for_each(|item| measure(item, depth, left))),
            Value::Map(entries) => deeper().and_then(|depth| entries.iter().try_for_each(|(_, item)| measure(item, depth, left))),
            _ => Ok(()),
        }
    }
    measure(&value, depth, left).map(|()| value)
}

fn too_deep() -> Error {
    invalid(format!("the value is nested deeper than {MAX_DEPTH} levels"))
}

fn too_many() -> Error {
    invalid("the value has too many parts")
}

/// A number of 64 bits.
pub(super) fn number(value: &Dyn) -> Result<Value, Error> {
    if value.is_integer() {
        if let Ok(number) = i64::try_from(value.clone()) {
            return Ok(Value::Int(number));
        }
        return u64::try_from(value.clone()).map(Value::from).map_err(|_| invalid(format!("the number {value} does not fit 64 bits")));
    }
    let number = f64::try_from(value.clone())?;
    Value::float(number).ok_or_else(|| invalid("the result is no finite number"))
}

/// Returns the kind of a value for messages, as [`Value::kind`] has it.
pub(super) fn kind(value: &Dyn) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "nothing",
        ValueKind::None => "null",
        ValueKind::Bool => "boolean",
        ValueKind::Number if value.is_integer() => "integer",
        ValueKind::Number => "decimal",
        ValueKind::String | ValueKind::Bytes => "text",
        ValueKind::Seq | ValueKind::Iterable => "list",
        _ => "mapping",
    }
}

/// The text of a value as templates print it (language 3.2), bounded to `bytes`.
///
/// # Errors
/// As [`from_dyn`], or the text is longer.
pub(super) fn print(value: &Dyn, out: &mut dyn Write, bytes: u64) -> Result<u64, Error> {
    let mut out = Bounded { out, left: bytes };
    let written = match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::String => out.write_str(value.as_str().unwrap_or_default()),
        ValueKind::Bool => out.write_str(if value.is_true() { "true" } else { "false" }),
        _ => match from_dyn(value, Size::printed(bytes))? {
            Value::Int(number) => write!(out, "{number}"),
            Value::UInt(number) => write!(out, "{number}"),
            other => serde_json::to_writer(JsonWriter(&mut out), &other).map_err(|_| std::fmt::Error),
        },
    };
    written.map_err(|_| too_long())?;
    Ok(bytes - out.left)
}

/// A writer that stops at a bound.
struct Bounded<'w> {
    out: &'w mut dyn Write,
    left: u64,
}

impl Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.left = self.left.checked_sub(text.len() as u64).ok_or(std::fmt::Error)?;
        self.out.write_str(text)
    }
}

/// A bounded writer as a writer of bytes: JSON comes in whole characters.
struct JsonWriter<'b, 'w>(&'b mut Bounded<'w>);

impl std::io::Write for JsonWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(std::io::Error::other)?;
        self.0.write_str(text).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A failure with our own words.
pub(super) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The output bound was met.
pub(super) fn too_long() -> Error {
    Error::from(ErrorKind::WriteFailure)
}
