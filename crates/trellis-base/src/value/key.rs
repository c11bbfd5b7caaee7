//! Keys of maps, which are text in a value for every Rust type.

use std::fmt::Display;

use serde::{
    Serialize, Serializer,
    de::{Deserializer, IntoDeserializer, Unexpected, Visitor},
    forward_to_deserialize_any,
    ser::Impossible,
};

use super::{ConvertError, Key, Value};

/// Makes the key of an entry: text as it is; numbers, booleans and variants by their names.
pub(super) struct KeySerializer;

fn printed(key: impl Display) -> Result<Key, ConvertError> {
    Ok(key.to_string().into())
}

fn refused<T>(kind: &str) -> Result<T, ConvertError> {
    Err(ConvertError::new(format!("a key of a mapping is text, not {kind}")))
}

macro_rules! print_keys {
    ($($serialize:ident($key:ty)),*) => {
        $(fn $serialize(self, key: $key) -> Result<Key, ConvertError> {
            printed(key)
        })*
    };
}

type Never = Impossible<Key, ConvertError>;

impl Serializer for KeySerializer {
    type Ok = Key;
    type Error = ConvertError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    print_keys!(
        serialize_bool(bool),
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_u128(u128),
        serialize_char(char),
        serialize_str(&str)
    );

    fn serialize_f32(self, number: f32) -> Result<Key, ConvertError> {
        if number.is_finite() { printed(serde_json::json!(number)) } else { Err(ConvertError::infinite(number.into())) }
    }

    fn serialize_f64(self, number: f64) -> Result<Key, ConvertError> {
        Value::try_from(number).and_then(printed)
    }

    fn serialize_bytes(self, _bytes: &[u8]) -> Result<Key, ConvertError> {
        refused("bytes")
    }

    fn serialize_none(self) -> Result<Key, ConvertError> {
        refused("nothing")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<Key, ConvertError> {
        key.serialize(self)
    }

    fn serialize_unit(self) -> Result<Key, ConvertError> {
        refused("nothing")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Key, ConvertError> {
        refused(&format!("the struct `{name}`"))
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<Key, ConvertError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, key: &T) -> Result<Key, ConvertError> {
        key.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _content: &T,
    ) -> Result<Key, ConvertError> {
        refused(&format!("the variant `{variant}` with its content"))
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Never, ConvertError> {
        refused("a list")
    }

    fn serialize_tuple(self, _len: usize) -> Result<Never, ConvertError> {
        refused("a list")
    }

    fn serialize_tuple_struct(self, name: &'static str, _len: usize) -> Result<Never, ConvertError> {
        refused(&format!("the struct `{name}`"))
    }

    fn serialize_tuple_variant(self, _name: &'static str, _index: u32, variant: &'static str, _len: usize) -> Result<Never, ConvertError> {
        refused(&format!("the variant `{variant}` with its content"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Never, ConvertError> {
        refused("a mapping")
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Never, ConvertError> {
        refused(&format!("the struct `{name}`"))
    }

    fn serialize_struct_variant(self, _name: &'static str, _index: u32, variant: &'static str, _len: usize) -> Result<Never, ConvertError> {
        refused(&format!("the variant `{variant}` with its content"))
    }
}

/// Reads a key as the key of a Rust type: a number or a boolean may be one.
pub(super) struct KeyDeserializer<'v>(pub(super) &'v str);

macro_rules! parse_keys {
    ($($deserialize:ident => $visit:ident),*) => {
        $(fn $deserialize<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
            match self.0.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => Err(serde::de::Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        })*
    };
}

impl<'v> Deserializer<'v> for KeyDeserializer<'v> {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_borrowed_str(self.0)
    }

    parse_keys!(
        deserialize_bool => visit_bool,
        deserialize_i8 => visit_i8,
        deserialize_i16 => visit_i16,
        deserialize_i32 => visit_i32,
        deserialize_i64 => visit_i64,
        deserialize_i128 => visit_i128,
        deserialize_u8 => visit_u8,
        deserialize_u16 => visit_u16,
        deserialize_u32 => visit_u32,
        deserialize_u64 => visit_u64,
        deserialize_u128 => visit_u128,
        deserialize_f32 => visit_f32,
        deserialize_f64 => visit_f64
    );

    fn deserialize_option<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'v>>(self, _name: &'static str, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'v>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        IntoDeserializer::<ConvertError>::into_deserializer(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'v>>
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
