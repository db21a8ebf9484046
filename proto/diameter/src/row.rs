//! What a row says: an AVP, a command, an application, once for reading, checking, JSON, made-up
//! values and documentation.

use crate::codec::AvpFlags;

/// Whether an AVP has the M bit (RFC 6733 §4.5). It is written as its row says; a receiver that
/// knows an AVP takes it with or without, as TS 29.229 §6.3 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mandatory {
    /// It must have it.
    Must,
    /// It may have it; here it is written without.
    May,
    /// It must not have it.
    MustNot,
}

/// What the data of an AVP is (RFC 6733 §4.2 to §4.4).
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Octets.
    OctetString,
    /// A number of 32 bits with a sign.
    Integer32,
    /// A number of 64 bits with a sign.
    Integer64,
    /// A number of 32 bits.
    Unsigned32,
    /// A number of 64 bits.
    Unsigned64,
    /// A floating point number of 32 bits.
    Float32,
    /// A floating point number of 64 bits.
    Float64,
    /// An address with its family.
    Address,
    /// Seconds since 1900, 32 bits.
    Time,
    /// Text.
    Utf8String,
    /// A host or a realm.
    DiameterIdentity,
    /// `aaa://host…`
    DiameterUri,
    /// A filter rule.
    IpFilterRule,
    /// One of these numbers.
    Enumerated(&'static [(i32, &'static str)]),
    /// AVPs: those listed, and any other one.
    Grouped(&'static [Member]),
}

/// An AVP of the dictionary.
#[derive(Debug)]
pub struct Row {
    /// Its code.
    pub code: u32,
    /// Its Vendor-Id; 0: it has none.
    pub vendor: u32,
    /// Its name.
    pub name: &'static str,
    /// The rule of its M bit.
    pub mandatory: Mandatory,
    /// What its data is.
    pub kind: Kind,
    /// Document and section.
    pub spec: &'static str,
}

/// An AVP within a command or a group, and how often it stands there.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Which one.
    pub row: &'static Row,
    /// So often at least.
    pub min: u8,
    /// So often at most; 255: any number of times.
    pub max: u8,
    /// It stands first (`< >` in the grammar of RFC 6733 §3.2).
    pub is_fixed: bool,
}

/// `<AVP>`: once, in front.
#[must_use]
pub const fn fixed(row: &'static Row) -> Member {
    Member { row, min: 1, max: 1, is_fixed: true }
}

/// `{AVP}`: once.
#[must_use]
pub const fn one(row: &'static Row) -> Member {
    Member { row, min: 1, max: 1, is_fixed: false }
}

/// `[AVP]`: once or not at all.
#[must_use]
pub const fn maybe(row: &'static Row) -> Member {
    Member { row, min: 0, max: 1, is_fixed: false }
}

/// `*[AVP]`: any number of times.
#[must_use]
pub const fn many(row: &'static Row) -> Member {
    Member { row, min: 0, max: u8::MAX, is_fixed: false }
}

/// `1*{AVP}`: once or more.
#[must_use]
pub const fn some(row: &'static Row) -> Member {
    Member { row, min: 1, max: u8::MAX, is_fixed: false }
}

/// A command: a request and its answer.
#[derive(Debug)]
pub struct Command {
    /// Its code.
    pub code: u32,
    /// Its name.
    pub name: &'static str,
    /// What its request is called for short.
    pub request: &'static str,
    /// What its answer is called for short.
    pub answer: &'static str,
    /// Whether it has the P bit.
    pub proxiable: bool,
    /// The AVPs of its request; any other one may stand there too.
    pub asks: &'static [Member],
    /// The AVPs of its answer.
    pub answers: &'static [Member],
    /// Document and section.
    pub spec: &'static str,
}

/// An application.
#[derive(Debug)]
pub struct Application {
    /// Its Application-ID.
    pub id: u32,
    /// The vendor that it is told with in Vendor-Specific-Application-Id; 0: it stands alone.
    pub vendor: u32,
    /// Its name.
    pub name: &'static str,
    /// It is told as Acct-Application-Id; else as Auth-Application-Id.
    pub is_accounting: bool,
    /// Its commands.
    pub commands: &'static [&'static Command],
    /// Values of Experimental-Result-Code that it has: number, name, section.
    pub results: &'static [(u32, &'static str, &'static str)],
    /// Document.
    pub spec: &'static str,
}

impl Row {
    /// The flags that it is written with.
    #[inline]
    #[must_use]
    pub const fn flags(&self) -> u8 {
        let vendor = if self.vendor == 0 { 0 } else { AvpFlags::VENDOR };
        let mandatory = match self.mandatory {
            Mandatory::Must => AvpFlags::MANDATORY,
            Mandatory::May | Mandatory::MustNot => 0,
        };
        vendor | mandatory
    }
}

impl Kind {
    /// As RFC 6733 writes it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OctetString => "OctetString",
            Self::Integer32 => "Integer32",
            Self::Integer64 => "Integer64",
            Self::Unsigned32 => "Unsigned32",
            Self::Unsigned64 => "Unsigned64",
            Self::Float32 => "Float32",
            Self::Float64 => "Float64",
            Self::Address => "Address",
            Self::Time => "Time",
            Self::Utf8String => "UTF8String",
            Self::DiameterIdentity => "DiameterIdentity",
            Self::DiameterUri => "DiameterURI",
            Self::IpFilterRule => "IPFilterRule",
            Self::Enumerated(_) => "Enumerated",
            Self::Grouped(_) => "Grouped",
        }
    }

    /// Octets of the smallest value, for the example of one that lacks (RFC 6733 §7.1.5).
    pub(crate) const fn least(&self) -> usize {
        match self {
            Self::Integer32
            | Self::Unsigned32
            | Self::Float32
            | Self::Time
            | Self::Enumerated(_) => 4,
            Self::Integer64 | Self::Unsigned64 | Self::Float64 => 8,
            Self::Address => 6,
            Self::OctetString
            | Self::Utf8String
            | Self::DiameterIdentity
            | Self::DiameterUri
            | Self::IpFilterRule
            | Self::Grouped(_) => 0,
        }
    }
}

impl Command {
    /// The AVPs of its request or of its answer.
    #[must_use]
    pub const fn members(&self, is_request: bool) -> &'static [Member] {
        if is_request { self.asks } else { self.answers }
    }
}

/// Declares AVPs: a row each.
///
/// ```
/// use diameter::row::{Kind::*, Mandatory::*, one};
///
/// diameter::avps! {
///     /// Balls of a game.
///     pub BALLS, 10_415, {
///         COLOUR = 1, "Colour", Must, Utf8String, "TOY §1";
///         BALL = 2, "Ball", MustNot, Grouped(&[one(&COLOUR)]), "TOY §2";
///     }
/// }
/// assert_eq!((BALLS.len(), BALL.name, COLOUR.flags()), (2, "Ball", 0xc0));
/// ```
#[macro_export]
macro_rules! avps {
    ($(#[$meta:meta])* pub $all:ident, $vendor:expr, {
        $($row:ident = $code:literal, $name:literal, $must:expr, $kind:expr, $spec:literal;)+
    }) => {
        $(
            #[doc = concat!($name, " (", $spec, ").")]
            pub static $row: $crate::row::Row = $crate::row::Row {
                code: $code,
                vendor: $vendor,
                name: $name,
                mandatory: $must,
                kind: $kind,
                spec: $spec,
            };
        )+
        $(#[$meta])*
        pub static $all: &[&$crate::row::Row] = &[$(&$row),+];
    };
}

/// Declares commands: code, name, abbreviations, AVPs of request and answer, whether they have the
/// P bit, section.
#[macro_export]
macro_rules! commands {
    ($($row:ident = $code:literal, $name:literal, $request:literal, $answer:literal,
       $asks:expr, $answers:expr, $proxiable:expr, $spec:literal;)+) => {
        $(
            #[doc = concat!($name, ": ", $request, " and ", $answer, " (", $spec, ").")]
            pub static $row: $crate::row::Command = $crate::row::Command {
                code: $code,
                name: $name,
                request: $request,
                answer: $answer,
                proxiable: $proxiable,
                asks: $asks,
                answers: $answers,
                spec: $spec,
            };
        )+
    };
}
