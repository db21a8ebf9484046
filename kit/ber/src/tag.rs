//! Identifiers of elements (X.690 §8.1.2, X.680 §8).

use core::fmt;

/// The class of a tag (X.680 §8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Given by X.680 itself.
    Universal,
    /// Given by the application's standard.
    Application,
    /// Means something in its place only.
    Context,
    /// Given by an enterprise.
    Private,
}

/// Bits of a tag's number, at most: four octets of seven.
pub(crate) const NUMBER_BITS: u32 = 28;

/// A tag: class and number. The number has 28 bits at most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u32);

impl Tag {
    /// BOOLEAN.
    pub const BOOLEAN: Self = Self::universal(1);
    /// INTEGER.
    pub const INTEGER: Self = Self::universal(2);
    /// BIT STRING.
    pub const BIT_STRING: Self = Self::universal(3);
    /// OCTET STRING.
    pub const OCTET_STRING: Self = Self::universal(4);
    /// NULL.
    pub const NULL: Self = Self::universal(5);
    /// OBJECT IDENTIFIER.
    pub const OBJECT_IDENTIFIER: Self = Self::universal(6);
    /// EXTERNAL.
    pub const EXTERNAL: Self = Self::universal(8);
    /// ENUMERATED.
    pub const ENUMERATED: Self = Self::universal(10);
    /// UTF8String.
    pub const UTF8_STRING: Self = Self::universal(12);
    /// SEQUENCE and SEQUENCE OF.
    pub const SEQUENCE: Self = Self::universal(16);
    /// SET and SET OF.
    pub const SET: Self = Self::universal(17);
    /// NumericString.
    pub const NUMERIC_STRING: Self = Self::universal(18);
    /// IA5String.
    pub const IA5_STRING: Self = Self::universal(22);
    /// VisibleString.
    pub const VISIBLE_STRING: Self = Self::universal(26);

    /// A tag of that class; of a number beyond 28 bits the low ones.
    #[must_use]
    pub const fn new(class: Class, number: u32) -> Self {
        Self((class as u32) << 30 | number & ((1 << NUMBER_BITS) - 1))
    }

    /// A tag that X.680 gives.
    #[must_use]
    pub const fn universal(number: u32) -> Self {
        Self::new(Class::Universal, number)
    }

    /// `[APPLICATION number]`.
    #[must_use]
    pub const fn application(number: u32) -> Self {
        Self::new(Class::Application, number)
    }

    /// `[number]`.
    #[must_use]
    pub const fn context(number: u32) -> Self {
        Self::new(Class::Context, number)
    }

    /// `[PRIVATE number]`.
    #[must_use]
    pub const fn private(number: u32) -> Self {
        Self::new(Class::Private, number)
    }

    /// The tag of an identifier that has one octet.
    #[inline]
    pub(crate) const fn of_octet(identifier: u8) -> Self {
        Self((identifier as u32 >> 6) << 30 | identifier as u32 & 0x1f)
    }

    /// The identifier of a primitive element, where it has one octet.
    #[inline]
    pub(crate) const fn octet(self) -> Option<u8> {
        let [class, _, _, number] = self.0.to_be_bytes();
        if self.number() < 0x1f { Some(class & 0xc0 | number) } else { None }
    }

    /// The class.
    #[must_use]
    pub const fn class(self) -> Class {
        match self.0 >> 30 {
            0 => Class::Universal,
            1 => Class::Application,
            2 => Class::Context,
            _ => Class::Private,
        }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class() {
            Class::Universal => write!(f, "[UNIVERSAL {}]", self.number()),
            Class::Application => write!(f, "[APPLICATION {}]", self.number()),
            Class::Context => write!(f, "[{}]", self.number()),
            Class::Private => write!(f, "[PRIVATE {}]", self.number()),
        }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
