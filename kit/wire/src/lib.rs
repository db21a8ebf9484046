//! What every codec shares: the one error, and the record that describes a word of a protocol.
//!
//! A *row* is the declarative description of one header, information element, AVP, TLV,
//! operation or cause: its number, its name, its shape and the section of the specification it
//! comes from. [`rows!`] turns a table of them into an enumeration with lookups, so that codec,
//! display name, JSON for traces, fuzz input and documentation follow from one place.
#![forbid(unsafe_code)]

mod cursor;

pub use cursor::Cursor;

use core::fmt;

/// Bytes that do not follow their specification.
///
/// `at` is the offset in bytes from the start of the message; `what` says the offence in words a
/// person can act on; `spec` names document and section (`"RFC 3261 §20.8"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// Offset in bytes from the start of the message.
    pub at: usize,
    /// The offence.
    pub what: &'static str,
    /// Document and section that is offended.
    pub spec: &'static str,
}

impl Malformed {
    /// The offence `what` against `spec`, found `at` bytes into the message.
    #[must_use]
    pub const fn new(at: usize, what: &'static str, spec: &'static str) -> Self {
        Self { at, what, spec }
    }

    /// The same offence seen from a message that begins `by` bytes earlier.
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

/// Declares the rows of one table of a protocol as an enumeration.
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
}

/// Gives the rows of a table their numbers on the wire.
///
/// ```
/// wire::rows! {
///     /// Methods of a toy protocol.
///     pub enum Verb {
///         /// Ask.
///         Get = "GET", "TOY §1";
///     }
/// }
/// wire::numbers!(Verb: u16 { Get = 7 });
/// assert_eq!(Verb::Get.number(), 7);
/// assert_eq!(Verb::of(8), None);
/// ```
#[macro_export]
macro_rules! numbers {
    ($table:ident: $number:ty { $($row:ident = $value:literal),+ $(,)? }) => {
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
}
