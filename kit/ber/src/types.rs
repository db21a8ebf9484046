//! Types as data: what a component may hold, and the types of ASN.1 that need no declaration.

use crate::tag::Tag;
use core::marker::PhantomData;

/// How many: octets, characters, bits, or elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// At least.
    pub min: usize,
    /// At most.
    pub max: usize,
}

impl Size {
    /// Whether that many are allowed.
    #[must_use]
    pub const fn has(self, count: usize) -> bool {
        count >= self.min && count <= self.max
    }
}

/// Whether a component has to be there; one with DEFAULT is optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has.
    Required,
    /// It may lack.
    Optional,
}

/// One component of a sequence or a set, or one alternative of a choice.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name as the specification writes it.
    pub name: &'static str,
    /// The tag it has instead of that of its type.
    pub tag: Option<Tag>,
    /// The tag stands around that of the type; around a choice it always does (X.680 §31.2.7).
    pub is_explicit: bool,
    /// What it holds.
    pub kind: &'static Type,
    /// Whether it may lack; an alternative of a choice is required.
    pub presence: Presence,
}

/// A type: name, document and section, and shape.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    /// The name as the specification writes it.
    pub name: &'static str,
    /// Document and section.
    pub spec: &'static str,
    /// The tag its values have instead of that of their shape.
    pub tag: Option<Tag>,
    /// What its values look like.
    pub shape: Shape,
}

impl Type {
    /// The tag of values that have no other; none for a choice and for any.
    #[must_use]
    pub const fn tag(&self) -> Option<Tag> {
        match self.tag {
            Some(tag) => Some(tag),
            None => self.shape.tag(),
        }
    }

    /// Whether a value of this type may begin with that tag.
    #[inline]
    #[must_use]
    pub fn begins_with(&self, tag: Tag) -> bool {
        match self.tag {
            Some(own) => own == tag,
            None => self.shape.begins_with(tag),
        }
    }
}

/// What the values of a type look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// NULL.
    Null,
    /// BOOLEAN.
    Boolean,
    /// INTEGER from the first to the second.
    Integer(i64, i64),
    /// ENUMERATED: numbers and names; `is_extensible` lets others in.
    Enumerated {
        /// Numbers and names.
        names: &'static [(i64, &'static str)],
        /// Whether numbers may come that have no name yet.
        is_extensible: bool,
    },
    /// OCTET STRING.
    Octets(Size),
    /// A string of characters by its universal tag.
    Text(Tag, Size),
    /// BIT STRING.
    Bits(Size),
    /// OBJECT IDENTIFIER.
    Oid,
    /// SEQUENCE.
    Sequence {
        /// The components in their order.
        fields: &'static [Field],
        /// Whether others may come.
        is_extensible: bool,
    },
    /// SET.
    Set {
        /// The components; they may stand in any order.
        fields: &'static [Field],
        /// Whether others may come.
        is_extensible: bool,
    },
    /// SEQUENCE OF and SET OF, by their tag.
    List(Tag, &'static Type, Size),
    /// CHOICE.
    Choice {
        /// The alternatives.
        fields: &'static [Field],
        /// Whether others may come.
        is_extensible: bool,
    },
    /// Any element, whatever is in it.
    Any,
}

impl Shape {
    /// The tag of values that have no other; none for a choice and for any.
    #[must_use]
    pub const fn tag(&self) -> Option<Tag> {
        Some(match self {
            Self::Null => Tag::NULL,
            Self::Boolean => Tag::BOOLEAN,
            Self::Integer(..) => Tag::INTEGER,
            Self::Enumerated { .. } => Tag::ENUMERATED,
            Self::Octets(_) => Tag::OCTET_STRING,
            Self::Text(tag, _) | Self::List(tag, ..) => *tag,
            Self::Bits(_) => Tag::BIT_STRING,
            Self::Oid => Tag::OBJECT_IDENTIFIER,
            Self::Sequence { .. } => Tag::SEQUENCE,
            Self::Set { .. } => Tag::SET,
            Self::Choice { .. } | Self::Any => return None,
        })
    }

    /// Whether a value of this shape may begin with that tag.
    #[inline]
    #[must_use]
    pub fn begins_with(&self, tag: Tag) -> bool {
        match self {
            Self::Choice { fields, .. } => fields.iter().any(|field| field.begins_with(tag)),
            Self::Any => true,
            other => other.tag() == Some(tag),
        }
    }
}

impl Field {
    /// Whether this component begins with that tag.
    #[inline]
    #[must_use]
    pub fn begins_with(&self, tag: Tag) -> bool {
        match self.tag {
            Some(own) => own == tag,
            None => self.kind.begins_with(tag),
        }
    }

    /// Whether its tag stands around another one.
    #[inline]
    #[must_use]
    pub const fn is_wrapped(&self) -> bool {
        let has_none = matches!(self.kind.shape, Shape::Choice { .. } | Shape::Any);
        self.tag.is_some() && (self.is_explicit || has_none)
    }
}

/// A Rust type that stands for a type of ASN.1.
pub trait Described {
    /// The type.
    const TYPE: &'static Type;
}

macro_rules! builtin {
    ($($(#[$doc:meta])* $name:ident $(<$($limit:ident: $kind:ty),+>)? =
        $asn:literal, $shape:expr;)+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name $(<$(const $limit: $kind),+>)?;

        impl $(<$(const $limit: $kind),+>)? Described for $name $(<$($limit),+>)? {
            const TYPE: &'static Type =
                &Type { name: $asn, spec: "X.680", tag: None, shape: $shape };
        })+
    };
}

builtin! {
    /// NULL.
    Null = "NULL", Shape::Null;
    /// BOOLEAN.
    Boolean = "BOOLEAN", Shape::Boolean;
    /// INTEGER (MIN..MAX).
    Integer<MIN: i64, MAX: i64> = "INTEGER", Shape::Integer(MIN, MAX);
    /// OCTET STRING (SIZE (MIN..MAX)).
    OctetString<MIN: usize, MAX: usize> =
        "OCTET STRING", Shape::Octets(Size { min: MIN, max: MAX });
    /// BIT STRING (SIZE (MIN..MAX)).
    BitString<MIN: usize, MAX: usize> = "BIT STRING", Shape::Bits(Size { min: MIN, max: MAX });
    /// OBJECT IDENTIFIER.
    ObjectIdentifier = "OBJECT IDENTIFIER", Shape::Oid;
    /// UTF8String, its size in octets.
    Utf8String<MIN: usize, MAX: usize> =
        "UTF8String", Shape::Text(Tag::UTF8_STRING, Size { min: MIN, max: MAX });
    /// IA5String.
    Ia5String<MIN: usize, MAX: usize> =
        "IA5String", Shape::Text(Tag::IA5_STRING, Size { min: MIN, max: MAX });
    /// NumericString.
    NumericString<MIN: usize, MAX: usize> =
        "NumericString", Shape::Text(Tag::NUMERIC_STRING, Size { min: MIN, max: MAX });
    /// VisibleString.
    VisibleString<MIN: usize, MAX: usize> =
        "VisibleString", Shape::Text(Tag::VISIBLE_STRING, Size { min: MIN, max: MAX });
    /// Any element.
    Any = "ANY", Shape::Any;
}

/// SEQUENCE (SIZE (MIN..MAX)) OF.
#[derive(Debug, Clone, Copy)]
pub struct SequenceOf<T, const MIN: usize, const MAX: usize>(PhantomData<T>);

/// SET (SIZE (MIN..MAX)) OF.
#[derive(Debug, Clone, Copy)]
pub struct SetOf<T, const MIN: usize, const MAX: usize>(PhantomData<T>);

impl<T: Described, const MIN: usize, const MAX: usize> Described for SequenceOf<T, MIN, MAX> {
    const TYPE: &'static Type = &Type {
        name: "SEQUENCE OF",
        spec: "X.680",
        tag: None,
        shape: Shape::List(Tag::SEQUENCE, T::TYPE, Size { min: MIN, max: MAX }),
    };
}

impl<T: Described, const MIN: usize, const MAX: usize> Described for SetOf<T, MIN, MAX> {
    const TYPE: &'static Type = &Type {
        name: "SET OF",
        spec: "X.680",
        tag: None,
        shape: Shape::List(Tag::SET, T::TYPE, Size { min: MIN, max: MAX }),
    };
}
