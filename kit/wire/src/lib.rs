//! What every codec shares: the one error, and the record that describes a word of a protocol.
//!
//! A *row* is the declarative description of one header, information element, AVP, TLV,
//! operation or cause: its number, its name, its shape and the section of the specification it
//! comes from. [`rows!`] turns a table of them into an enumeration with lookups, so that codec,
//! display name, JSON for traces, fuzz input and documentation follow from one place.
#![forbid(unsafe_code)]

mod cursor;
pub mod field;

pub use cursor::Cursor;

use core::fmt;

/// Bytes that do not follow their specification.
///
/// `at` is the offset in bytes from the start of the message; `what` says the violation in words a
/// person can act on; `spec` names document and section (`"RFC 3261 §20.8"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// Offset in bytes from the start of the message.
    pub at: usize,
    /// The violation.
    pub what: &'static str,
    /// Document and section that is offended.
    pub spec: &'static str,
}

impl Malformed {
    /// The violation `what` against `spec`, found `at` bytes into the message.
    #[must_use]
    pub const fn new(at: usize, what: &'static str, spec: &'static str) -> Self {
        Self { at, what, spec }
    }

    /// The same violation seen from a message that begins `by` bytes earlier.
    #[must_use]
    pub const fn shifted(self, by: usize) -> Self {
        Self { at: self.at + by, ..self }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} ({})", self.what, self.at, self.spec)
    }
}

impl core::error::Error for Malformed {}

/// Declares the rows of one table of a protocol as an enumeration: number on the wire where it has
/// one, name, columns of its own where it has some, document and section.
///
/// ```
/// wire::rows! {
///     /// Methods of a toy protocol.
///     pub enum Verb {
///         /// Ask.
///         Get = "GET", "TOY §1";
///         /// Tell.
///         Put = "PUT", "TOY §2";
///     }
/// }
/// assert_eq!(Verb::Put.name(), "PUT");
/// assert_eq!(Verb::Put.spec(), "TOY §2");
/// assert_eq!(Verb::ALL.len(), 2);
///
/// wire::rows! {
///     /// Elements of a toy protocol, and the octets of each.
///     pub enum Element: u16, pub octets: usize {
///         /// How many balls.
///         Balls = 7, "Balls", 4, "TOY §3";
///     }
/// }
/// assert_eq!((Element::Balls.number(), Element::Balls.octets()), (7, 4));
/// assert_eq!(Element::of(8), None);
/// ```
#[macro_export]
macro_rules! rows {
    ($(#[$meta:meta])* $vis:vis enum $table:ident {
        $($(#[$doc:meta])* $row:ident = $name:literal, $spec:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        $vis enum $table { $($(#[$doc])* $row),+ }

        impl $table {
            /// Every row, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$row),+];

            /// The name as the specification writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$row => $name),+ }
            }

            /// Document and section that define the row.
            #[must_use]
            pub const fn spec(self) -> &'static str {
                match self { $(Self::$row => $spec),+ }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident: $number:ty {
        $($(#[$doc:meta])* $row:ident = $value:literal, $name:literal, $spec:literal;)+
    }) => {
        $crate::rows! {
            $(#[$meta])* $vis enum $table { $($(#[$doc])* $row = $name, $spec;)+ }
        }

        impl $table {
            /// The number on the wire.
            #[must_use]
            pub const fn number(self) -> $number {
                match self { $(Self::$row => $value),+ }
            }

            /// The row of that number.
            #[must_use]
            pub const fn of(number: $number) -> Option<Self> {
                match number { $($value => Some(Self::$row),)+ _ => None }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $table:ident: $number:ty, $open:vis $column:ident: $type:ty {
        $($(#[$doc:meta])* $row:ident = $value:literal, $name:literal, $cell:expr, $spec:literal;)+
    }) => {
        $crate::rows! {
            $(#[$meta])* $vis enum $table: $number {
                $($(#[$doc])* $row = $value, $name, $spec;)+
            }
        }

        impl $table {
            /// What the row has besides.
            #[inline]
            #[must_use]
            $open const fn $column(self) -> $type {
                match self { $(Self::$row => $cell),+ }
            }
        }
    };
}
