//! Why a router on a link is no neighbour, or none of use: what its last hello was not believed
//! for, with its value and that of this side. One of an interface, whoever speaks there.

use crate::discard::Discard;
use crate::lsa::{OPTION_EXTERNAL, OPTION_NSSA};
use crate::packet::{Hello, Means};
use crate::settings::{InterfaceSettings, Prefix};
use core::fmt;
use machine::Time;
use std::net::Ipv4Addr;

/// What came last by an interface and cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubted {
    /// From where.
    pub source: Ipv4Addr,
    /// The number of the router, as it says.
    pub router: u32,
    /// When.
    pub at: Time,
    /// Why.
    pub why: Doubt,
}

/// Why, with the value there and that here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Its area.
    Area(u32, u32),
    /// How it shows that it may speak.
    Authentication(Means, Means),
    /// The mask of the link.
    Mask(u32, u32),
    /// Seconds between hellos.
    Hello(u16, u16),
    /// Seconds of silence after which a neighbour is dead.
    Dead(u32, u32),
    /// The kind of its area, by the bits of its options.
    Kind(u8, u8),
    /// Octets of the longest packet.
    Mtu(u16, u16),
    /// It takes a link of two for one with a designated router; it is a neighbour all the same.
    Broadcast,
    /// It takes a link with a designated router for one of two; it is a neighbour all the same.
    PointToPoint,
    /// What has no values.
    Other(Discard),
}

impl Doubt {
    /// What a hello was not believed for.
    pub(crate) fn of_hello(hello: &Hello, here: &InterfaceSettings, why: Discard) -> Self {
        match why {
            Discard::Intervals if hello.interval_s != here.hello_s => {
                Self::Hello(hello.interval_s, here.hello_s)
            }
            Discard::Intervals => Self::Dead(hello.dead_s, here.dead_s),
            Discard::Mask => Self::Mask(hello.mask, here.prefix().mask()),
            _ => Self::Other(why),
        }
    }

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Area(..) => Discard::Area.name(),
            Self::Authentication(..) => Discard::Authentication.name(),
            Self::Mask(..) => Discard::Mask.name(),
            Self::Hello(..) | Self::Dead(..) => Discard::Intervals.name(),
            Self::Kind(..) => Discard::Options.name(),
            Self::Mtu(..) => Discard::Mtu.name(),
            Self::Broadcast | Self::PointToPoint => "network",
            Self::Other(why) => why.name(),
        }
    }
}

/// The kind of area that the bits of options say.
const fn kind(options: u8) -> &'static str {
    match options & (OPTION_EXTERNAL | OPTION_NSSA) {
        OPTION_EXTERNAL => "normal",
        OPTION_NSSA => "nssa",
        0 => "stub",
        _ => "none that there is",
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |mask: u32| Prefix::of_mask(0, mask).length;
        match *self {
            Self::Area(there, here) => {
                let [there, here] = [there, here].map(Ipv4Addr::from);
                write!(f, "its area is {there}, here {here}")
            }
            Self::Authentication(there, here) if there == here => {
                write!(f, "it knows another secret: both say {there}")
            }
            Self::Authentication(there, here) => {
                write!(f, "its packets have {there}, here {here}")
            }
            Self::Mask(there, here) => {
                write!(f, "its subnet has /{}, here /{}", length(there), length(here))
            }
            Self::Hello(there, here) => {
                write!(f, "its hello interval is {there} s, here {here} s")
            }
            Self::Dead(there, here) => write!(f, "its dead interval is {there} s, here {here} s"),
            Self::Kind(there, here) => {
                write!(f, "the kind of its area is {}, here {}", kind(there), kind(here))
            }
            Self::Mtu(there, here) => write!(f, "its MTU is {there}, here {here}"),
            Self::Broadcast => {
                f.write_str("it takes the link for a broadcast one, here it is point-to-point")
            }
            Self::PointToPoint => {
                f.write_str("it takes the link for point-to-point, here it is a broadcast one")
            }
            Self::Other(why) => f.write_str(match why {
                Discard::OwnRouterId => "it has the number of this router",
                Discard::Source => "its address is not of the subnet here",
                Discard::Destination => "its hellos come to one address and not to 224.0.0.5",
                Discard::Replay => "its packets are numbered lower than those before",
                Discard::Elsewhere => "its number or address is that of another one that lives",
                Discard::Neighbours => "there are as many neighbours as may be",
                _ => "its hellos cannot be read",
            }),
        }
    }
}
