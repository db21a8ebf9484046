//! Values of any type that can be deserialized, drawn from octets: numbers are mostly small, lists
//! mostly short, and when the octets are at their end all is zero.

use serde::de::value::{Error, U32Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    SeqAccess, VariantAccess, Visitor,
};

/// Elements of a list at most, where its first octet says that there are many.
const MANY: usize = 300;

/// Octets that values are drawn from.
pub struct Drawn<'a> {
    octets: &'a [u8],
    /// What strings are.
    words: &'a [&'a str],
}

impl<'a> Drawn<'a> {
    pub fn new(octets: &'a [u8], words: &'a [&'a str]) -> Self {
        Self { octets, words }
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.octets.is_empty()
    }

    pub fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.octets.split_first() else { return 0 };
        self.octets = rest;
        *first
    }

    /// A value.
    pub fn value<T: for<'de> Deserialize<'de>>(&mut self) -> Option<T> {
        T::deserialize(self).ok()
    }

    /// Three of four numbers are below 32.
    fn number(&mut self, octets: usize) -> u64 {
        let first = self.octet();
        match first >> 6 {
            0..=1 => u64::from(first & 31),
            2 => u64::from(self.octet()),
            _ if first & 1 == 0 => {
                (0..octets).fold(0, |so_far, _| so_far << 8 | u64::from(self.octet()))
            }
            _ => (u64::MAX >> (64 - 8 * octets)).wrapping_sub(u64::from(first >> 1 & 31)),
        }
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:ty;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.number(size_of::<$kind>()) as $kind)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Drawn<'_> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        false
    }

    numbers! {
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only types that say what they are"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.octet() & 1 == 1)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let at = usize::from(self.octet());
        visitor.visit_str(self.words.get(at % self.words.len().max(1)).copied().unwrap_or_default())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.octet() & 1 == 0 { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let length = match self.octet() {
            255 => MANY,
            few => usize::from(few & 7),
        };
        visitor.visit_seq(List(self, length))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, n: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(List(self, n))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(List(self, fields.len()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let at = usize::from(self.octet()) % variants.len();
        visitor.visit_enum(Variant(self, at as u32))
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char bytes byte_buf unit unit_struct tuple_struct map identifier ignored_any
    }
}

struct List<'a, 'b>(&'a mut Drawn<'b>, usize);

impl<'de> SeqAccess<'de> for List<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.1.checked_sub(1) else { return Ok(None) };
        self.1 = left;
        seed.deserialize(&mut *self.0).map(Some)
    }
}

struct Variant<'a, 'b>(&'a mut Drawn<'b>, u32);

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let number: U32Deserializer<Error> = self.1.into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(List(self.0, length))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(List(self.0, fields.len()))
    }
}
