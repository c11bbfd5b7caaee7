//! Any Rust value that serde serialises, as a [`Value`].
//!
//! Shapes are those of `serde_json`: structs are mappings, an enum's variant is its name or a mapping from its name, bytes are a list.
//! Values that `serde_json` changes silently are refused here: a number that is not finite, a repeated key.
//!
//! **Invariant:** each result can be written as JSON and read again.

use std::collections::BTreeMap;

use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
        Serializer as SerdeSerializer,
    },
};

use super::{ConvertError, DEPTH, Key, Segment, Value, key::KeySerializer};

/// Makes a value of anything that serde serialises, in the shapes of `serde_json`: structs and maps become mappings, sequences and tuples lists,
/// `None` and `()` null, and an enum's variant its name, or a mapping from its name to its content. Keys of maps become text.
///
/// # Errors
/// An integer does not fit 64 bits, a number is not finite, a key of a map is no text, number or boolean or is repeated, or the value is
/// more than [`DEPTH`] levels deep. The error names the place.
///
/// ```
/// use trellis_base::value::to_value;
///
/// #[derive(serde::Serialize)]
/// struct Order {
///     id: u64,
///     items: Vec<&'static str>,
/// }
///
/// let value = to_value(&Order { id: 7, items: vec!["tea"] })?;
/// assert_eq!(value.to_json(), r#"{"id":7,"items":["tea"]}"#);
/// assert_eq!(to_value(&[1.5, f64::NAN]).unwrap_err().to_string(), "at `1`: a number must be finite, not NaN");
/// # Ok::<(), trellis_base::value::ConvertError>(())
/// ```
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ConvertError> {
    value.serialize(Serializer { left: DEPTH })
}

/// Makes one value.
#[derive(Clone, Copy)]
struct Serializer {
    /// The number of levels that may still follow.
    left: u32,
}

impl Serializer {
    /// Returns the serializer for the parts of a list or a mapping.
    fn inside(self) -> Result<Self, ConvertError> {
        let left = self.left.checked_sub(1);
        left.map(|left| Self { left }).ok_or_else(|| ConvertError::new(format!("a value may be {DEPTH} levels deep")))
    }

    fn list(self, len: usize, variant: Option<&'static str>) -> Result<ListSerializer, ConvertError> {
        let outside = if variant.is_some() { self.inside()? } else { self };
        // A length is only a hint, and may be wrong.
        Ok(ListSerializer { items: Vec::with_capacity(len.min(1024)), inside: outside.inside()?, variant })
    }

    fn mapping(self, variant: Option<&'static str>) -> Result<MapSerializer, ConvertError> {
        let outside = if variant.is_some() { self.inside()? } else { self };
        Ok(MapSerializer { entries: BTreeMap::new(), key: None, inside: outside.inside()?, variant })
    }
}

impl SerdeSerializer for Serializer {
    type Ok = Value;
    type Error = ConvertError;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = ListSerializer;
    type SerializeMap = MapSerializer;
    type SerializeStruct = MapSerializer;
    type SerializeStructVariant = MapSerializer;

    fn serialize_bool(self, truth: bool) -> Result<Value, ConvertError> {
        Ok(truth.into())
    }

    fn serialize_i8(self, number: i8) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_i16(self, number: i16) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_i32(self, number: i32) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_i64(self, number: i64) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_i128(self, number: i128) -> Result<Value, ConvertError> {
        number.try_into()
    }

    fn serialize_u8(self, number: u8) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_u16(self, number: u16) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_u32(self, number: u32) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_u64(self, number: u64) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_u128(self, number: u128) -> Result<Value, ConvertError> {
        number.try_into()
    }

    fn serialize_f32(self, number: f32) -> Result<Value, ConvertError> {
        number.try_into()
    }

    fn serialize_f64(self, number: f64) -> Result<Value, ConvertError> {
        number.try_into()
    }

    fn serialize_char(self, char: char) -> Result<Value, ConvertError> {
        Ok(char.into())
    }

    fn serialize_str(self, text: &str) -> Result<Value, ConvertError> {
        Ok(text.into())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ConvertError> {
        self.inside()?;
        Ok(bytes.iter().copied().collect())
    }

    fn serialize_none(self) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<Value, ConvertError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<Value, ConvertError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ConvertError> {
        let value = value.serialize(self.inside()?).map_err(|error| error.within(Segment::Key(variant.into())))?;
        Ok(Value::map([(variant, value)]))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<ListSerializer, ConvertError> {
        self.list(len.unwrap_or_default(), None)
    }

    fn serialize_tuple(self, len: usize) -> Result<ListSerializer, ConvertError> {
        self.list(len, None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<ListSerializer, ConvertError> {
        self.list(len, None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ListSerializer, ConvertError> {
        self.list(len, Some(variant))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<MapSerializer, ConvertError> {
        self.mapping(None)
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<MapSerializer, ConvertError> {
        self.mapping(None)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<MapSerializer, ConvertError> {
        self.mapping(Some(variant))
    }
}

/// The content of a variant, under its name; other content as it is.
fn named(variant: Option<&'static str>, content: Value) -> Value {
    match variant {
        Some(variant) => Value::map([(variant, content)]),
        None => content,
    }
}

fn outwards(error: ConvertError, variant: Option<&'static str>) -> ConvertError {
    match variant {
        Some(variant) => error.within(Segment::Key(variant.into())),
        None => error,
    }
}

/// Collects a list.
struct ListSerializer {
    items: Vec<Value>,
    inside: Serializer,
    variant: Option<&'static str>,
}

impl ListSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), ConvertError> {
        let at = Segment::Index(self.items.len());
        let item = item.serialize(self.inside).map_err(|error| outwards(error.within(at), self.variant))?;
        self.items.push(item);
        Ok(())
    }

    fn finish(self) -> Value {
        named(self.variant, Value::list(self.items))
    }
}

macro_rules! collect_items {
    ($($collector:ident :: $push:ident),*) => {
        $(impl $collector for ListSerializer {
            type Ok = Value;
            type Error = ConvertError;

            fn $push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), ConvertError> {
                self.push(item)
            }

            fn end(self) -> Result<Value, ConvertError> {
                Ok(self.finish())
            }
        })*
    };
}

collect_items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// Collects a mapping.
struct MapSerializer {
    entries: BTreeMap<Key, Value>,
    key: Option<Key>,
    inside: Serializer,
    variant: Option<&'static str>,
}

impl MapSerializer {
    fn put<T: Serialize + ?Sized>(&mut self, key: Key, value: &T) -> Result<(), ConvertError> {
        let value = value.serialize(self.inside).map_err(|error| outwards(error.within(Segment::Key(key.clone())), self.variant))?;
        if self.entries.contains_key(&key) {
            return Err(outwards(ConvertError::new(format!("the key `{key}` stands twice")), self.variant));
        }
        self.entries.insert(key, value);
        Ok(())
    }

    fn finish(self) -> Value {
        named(self.variant, Value::map(self.entries))
    }
}

impl SerializeMap for MapSerializer {
    type Ok = Value;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.key = Some(key.serialize(KeySerializer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let key = self.key.take().ok_or_else(|| ConvertError::new("a value without a key"))?;
        self.put(key, value)
    }

    fn end(self) -> Result<Value, ConvertError> {
        Ok(self.finish())
    }
}

macro_rules! collect_fields {
    ($($collector:ident),*) => {
        $(impl $collector for MapSerializer {
            type Ok = Value;
            type Error = ConvertError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), ConvertError> {
                self.put(key.into(), value)
            }

            fn end(self) -> Result<Value, ConvertError> {
                Ok(self.finish())
            }
        })*
    };
}

collect_fields!(SerializeStruct, SerializeStructVariant);
