//! RP messages (TS 24.011 §7.3), and the body of SIP messages that they are
//! (`application/vnd.3gpp.sms`, TS 24.341 §7.1.3).

mod json;
mod read;

pub use json::from_json;
pub use read::reference_of;

use crate::address::RpAddress;
use crate::names::Cause;
use crate::tpdu::{Direction, Kind as TpduKind};
use core::fmt;

/// The type of a SIP body that is an RP message.
pub const CONTENT_TYPE: &str = "application/vnd.3gpp.sms";
/// Octets of RP-User-Data, at most (TS 24.011 §8.2.5.3).
pub const USER_DATA_MAX: usize = 233;

/// Whether a Content-Type names an RP message, whatever its parameters.
#[must_use]
pub fn is_content_type(value: &str) -> bool {
    let name = value.split(';').next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case(CONTENT_TYPE)
}

wire::rows! {
    /// An element of an RP message (TS 24.011 §8.2).
    pub enum Element {
        /// Which transfer.
        Reference = "RP-Message-Reference", "TS 24.011 §8.2.3";
        /// Of the service centre, towards a terminal.
        Originator = "RP-Originator-Address", "TS 24.011 §8.2.5.1";
        /// Of the service centre, from a terminal.
        Destination = "RP-Destination-Address", "TS 24.011 §8.2.5.2";
        /// Why it failed.
        Cause = "RP-Cause", "TS 24.011 §8.2.5.4";
        /// A TPDU.
        UserData = "RP-User-Data", "TS 24.011 §8.2.5.3";
    }
}

/// How an element stands in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Behind its length.
    Length,
    /// Behind its identifier and its length, if it is there.
    Optional(u8),
}

use Form::{Length, Optional};

/// RP-User-Data where it is optional (TS 24.011 §7.3.3).
const USER_DATA: (Element, Form) = (Element::UserData, Optional(0x41));
const DATA: &[(Element, Form)] =
    &[(Element::Originator, Length), (Element::Destination, Length), (Element::UserData, Length)];
const ERROR: &[(Element, Form)] = &[(Element::Cause, Length), USER_DATA];

wire::rows! {
    /// An RP message by its type indicator, which says its way too; the elements behind the
    /// reference.
    pub enum Kind: u8, pub elements: &'static [(Element, Form)] {
        /// A message from a terminal.
        DataFromTerminal = 0, "RP-DATA (MS to network)", DATA, "TS 24.011 §7.3.1.2";
        /// A message to a terminal.
        DataToTerminal = 1, "RP-DATA (network to MS)", DATA, "TS 24.011 §7.3.1.1";
        /// The terminal took it.
        AckFromTerminal = 2, "RP-ACK (MS to network)", &[USER_DATA], "TS 24.011 §7.3.3";
        /// The network took it.
        AckToTerminal = 3, "RP-ACK (network to MS)", &[USER_DATA], "TS 24.011 §7.3.3";
        /// The terminal did not take it.
        ErrorFromTerminal = 4, "RP-ERROR (MS to network)", ERROR, "TS 24.011 §7.3.4";
        /// The network did not take it.
        ErrorToTerminal = 5, "RP-ERROR (network to MS)", ERROR, "TS 24.011 §7.3.4";
        /// The terminal has memory again.
        MemoryAvailable = 6, "RP-SMMA", &[], "TS 24.011 §7.3.2";
    }
}

impl Kind {
    /// Which way it goes.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::DataToTerminal | Self::AckToTerminal | Self::ErrorToTerminal => {
                Direction::ToTerminal
            }
            _ => Direction::FromTerminal,
        }
    }
}

/// RP-Cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// The octet of the cause; its high bit says nothing.
    pub octet: u8,
    /// What the cause says besides.
    pub diagnostic: &'a [u8],
}

impl Failure<'_> {
    /// A cause alone.
    #[must_use]
    pub const fn of(cause: Cause) -> Self {
        Self { octet: cause.number(), diagnostic: &[] }
    }

    /// The cause. Whoever does not know one takes it for 41 (TS 24.011 §8.2.5.4) or 111; it is
    /// for the receiver to say.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        Cause::of(self.octet & 0x7f)
    }
}

/// An RP message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Which one.
    pub kind: Kind,
    /// RP-Message-Reference.
    pub reference: u8,
    /// RP-Originator-Address, of RP-DATA alone.
    pub originator: RpAddress,
    /// RP-Destination-Address, of RP-DATA alone.
    pub destination: RpAddress,
    /// RP-Cause, of RP-ERROR alone.
    pub failure: Option<Failure<'a>>,
    /// RP-User-Data: a TPDU.
    pub user_data: Option<&'a [u8]>,
    /// Elements that are not known, behind all others.
    pub rest: &'a [u8],
}

/// Without its TPDU, as a log may have it.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.kind.name());
        out.field("reference", &self.reference).field("originator", &self.originator);
        out.field("destination", &self.destination).field("failure", &self.failure);
        out.field("user_data_octets", &self.user_data.map(<[u8]>::len)).finish_non_exhaustive()
    }
}

impl<'a> Message<'a> {
    /// A message without elements.
    #[must_use]
    pub const fn new(kind: Kind, reference: u8) -> Self {
        Self {
            kind,
            reference,
            originator: RpAddress::NONE,
            destination: RpAddress::NONE,
            failure: None,
            user_data: None,
            rest: &[],
        }
    }

    /// RP-DATA from a service centre to a terminal.
    #[must_use]
    pub const fn to_terminal(reference: u8, centre: RpAddress, tpdu: &'a [u8]) -> Self {
        let message = Self::new(Kind::DataToTerminal, reference);
        Self { originator: centre, user_data: Some(tpdu), ..message }
    }

    /// RP-DATA from a terminal to a service centre.
    #[must_use]
    pub const fn from_terminal(reference: u8, centre: RpAddress, tpdu: &'a [u8]) -> Self {
        let message = Self::new(Kind::DataFromTerminal, reference);
        Self { destination: centre, user_data: Some(tpdu), ..message }
    }

    /// The answer to a message that came: RP-ACK, or RP-ERROR with a failure, back to where the
    /// message came from.
    #[must_use]
    pub const fn answer(&self, failure: Option<Failure<'a>>, tpdu: Option<&'a [u8]>) -> Self {
        let kind = match (self.kind.direction(), failure.is_some()) {
            (Direction::FromTerminal, false) => Kind::AckToTerminal,
            (Direction::FromTerminal, true) => Kind::ErrorToTerminal,
            (Direction::ToTerminal, false) => Kind::AckFromTerminal,
            (Direction::ToTerminal, true) => Kind::ErrorFromTerminal,
        };
        Self { failure, user_data: tpdu, ..Self::new(kind, self.reference) }
    }

    /// Which TPDU its user data are, if there are any that may be.
    #[must_use]
    pub fn tpdu_kind(&self) -> Option<TpduKind> {
        let octets = self.user_data?;
        let direction = self.kind.direction();
        match self.kind {
            Kind::DataFromTerminal | Kind::DataToTerminal => TpduKind::in_data(direction, octets),
            Kind::MemoryAvailable => None,
            kind => {
                let is_error = matches!(kind, Kind::ErrorFromTerminal | Kind::ErrorToTerminal);
                Some(TpduKind::in_report(direction, is_error))
            }
        }
    }
}
