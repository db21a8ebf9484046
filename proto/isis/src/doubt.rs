//! Why a system on a circuit is no neighbour, or none of use: what its last PDU was not believed
//! for, with its value and that of this side. One of a circuit, whoever speaks there.

use crate::address::{AreaAddress, Level, Levels, Snpa, SystemId};
use crate::circuit::Circuit;
use crate::discard::Discard;
use crate::pdu::{Body, Hello, HelloTlvs, Means, Pdu};
use crate::settings::{LinkType, Settings};
use core::fmt;
use machine::{Time, narrow};

/// Octets of a hello that may be more than a circuit bears: some pad the frame, and not the PDU.
const LLC_OCTETS: usize = 3;

/// What came last by a circuit and cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubted {
    /// From where.
    pub source: Snpa,
    /// The system, as it says.
    pub system: SystemId,
    /// When.
    pub at: Time,
    /// Why.
    pub why: Doubt,
}

/// Why, with the value there and that here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The first of its areas, none of which is one of this side.
    Area(AreaAddress, AreaAddress),
    /// How it shows that it may speak.
    Authentication(Means, Means),
    /// The same of what it says of its database in a level: it is a neighbour all the same.
    Database(Level, Means, Means),
    /// The levels of its circuit.
    Level(Levels, Levels),
    /// What it takes the link for.
    Link(LinkType),
    /// Octets of its hello, and those that the circuit bears; it is a neighbour all the same.
    Mtu(u16, u16),
    /// Whom it takes for its neighbour on a link of two.
    Meant(SystemId),
    /// What has no values.
    Other(Discard),
}

/// A hello that came by a circuit.
pub(crate) struct HeardHello<'a> {
    pub(crate) source: Snpa,
    pub(crate) hello: &'a Hello,
    pub(crate) pdu: &'a Pdu<'a>,
}

impl Doubt {
    /// A word for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Area(..) => Discard::Area.name(),
            Self::Authentication(..) => Discard::Authentication.name(),
            Self::Database(..) => "database",
            Self::Level(..) => Discard::Level.name(),
            Self::Link(_) => Discard::CircuitType.name(),
            Self::Mtu(..) => "mtu",
            Self::Meant(_) => Discard::ThreeWay.name(),
            Self::Other(why) => why.name(),
        }
    }

    /// What a hello was not believed for.
    fn of_hello(circuit: &Circuit, own: &Settings, it: &HeardHello<'_>, why: Discard) -> Self {
        let tlvs = || HelloTlvs::read(it.pdu).ok();
        let levels = Self::Level(it.hello.levels, circuit.active);
        match why {
            Discard::Authentication => {
                let there = Means::of(it.pdu);
                Self::Authentication(there, circuit.settings.authentication.means(there))
            }
            Discard::Level => levels,
            Discard::Area if circuit.active.and(it.hello.levels) == Levels::NONE => levels,
            Discard::Area => {
                let there = tlvs().and_then(|it| it.areas.into_iter().next());
                match there.zip(own.areas.first().cloned()) {
                    Some((there, here)) => Self::Area(there, here),
                    None => Self::Other(why),
                }
            }
            Discard::CircuitType if circuit.is_lan() => Self::Link(LinkType::PointToPoint),
            Discard::CircuitType => Self::Link(LinkType::Broadcast),
            Discard::ThreeWay => {
                let meant = tlvs().and_then(|it| it.three_way?.neighbour);
                match meant.filter(|(system, _)| *system != own.system) {
                    Some((system, _)) => Self::Meant(system),
                    None => Self::Other(why),
                }
            }
            _ => Self::Other(why),
        }
    }
}

impl Circuit {
    /// Keeps of a hello what it was not believed for, or what is odd of one that was.
    pub(crate) fn note_hello(
        &mut self,
        now: Time,
        own: &Settings,
        it: &HeardHello<'_>,
        discarded: Option<Discard>,
    ) {
        let shared = self.active.and(it.hello.levels);
        let is_of_another_level = match discarded {
            Some(Discard::Level) => shared != Levels::NONE,
            Some(Discard::Area) => it.pdu.kind.level().is_some() && shared.has(Level::Two),
            _ => false,
        };
        // Of two levels one may be none of ours, or of another area: what holds is the other one.
        if is_of_another_level || discarded == Some(Discard::Circuit) {
            return;
        }
        let octets = it.pdu.octets.len();
        let is_long = octets > usize::from(self.settings.mtu) + LLC_OCTETS;
        let why = match discarded {
            Some(why) => Some(Doubt::of_hello(self, own, it, why)),
            None if is_long => Some(Doubt::Mtu(narrow::index(octets), self.settings.mtu)),
            None => None,
        };
        match why {
            Some(why) => {
                let (source, system) = (it.source, it.hello.system);
                self.doubted = Some(Doubted { source, system, at: now, why });
            }
            // What is said of a database, hellos do not take back.
            None => drop(self.doubted.take_if(|known| {
                known.source == it.source && !matches!(known.why, Doubt::Database(..))
            })),
        }
    }

    /// Keeps whether an adjacent system's own PDUs of a level were believed: it says what it has of
    /// others as well, whose proof is theirs.
    pub(crate) fn note_database(
        &mut self,
        now: Time,
        from: (Level, Snpa),
        pdu: &Pdu<'_>,
        refused: Option<(Means, Means)>,
    ) {
        let (level, source) = from;
        let said_by = match pdu.body {
            Body::Hello(_) => return,
            Body::Lsp(it, _) => it.id.node.system,
            Body::Csnp { source, .. } | Body::Psnp { source } => source.system,
        };
        let Some(system) = self.sender(level, source).map(|it| it.system) else { return };
        if said_by != system {
            return;
        }
        match refused {
            Some((there, here)) => {
                let why = Doubt::Database(level, there, here);
                self.doubted = Some(Doubted { source, system, at: now, why });
            }
            None => drop(self.doubted.take_if(|it| {
                it.source == source && matches!(it.why, Doubt::Database(of, ..) if of == level)
            })),
        }
    }
}

const fn link(it: LinkType) -> &'static str {
    match it {
        LinkType::Broadcast => "a broadcast one",
        LinkType::PointToPoint => "point-to-point",
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Area(there, here) => write!(f, "its area is {there}, here {here}"),
            Self::Authentication(there, here) if there == here => {
                write!(f, "it knows another secret: both say {there}")
            }
            Self::Authentication(there, here) => {
                write!(f, "its hellos have {there}, here {here}")
            }
            Self::Database(level, there, here) if there == here => {
                write!(f, "it knows another secret of {}: both say {there}", Levels::from(*level))
            }
            Self::Database(level, there, here) => {
                write!(f, "its LSPs of {} have {there}, here {here}", Levels::from(*level))
            }
            Self::Level(there, here) => write!(f, "its level is {there}, here {here}"),
            Self::Link(there) => {
                let here = match there {
                    LinkType::Broadcast => LinkType::PointToPoint,
                    LinkType::PointToPoint => LinkType::Broadcast,
                };
                write!(f, "it takes the link for {}, here it is {}", link(*there), link(here))
            }
            Self::Mtu(there, here) => {
                write!(f, "its hellos have {there} octets, and the MTU here bears {here}")
            }
            Self::Meant(system) => {
                write!(f, "it has {system} for its neighbour there, which is not this router")
            }
            Self::Other(why) => f.write_str(match why {
                Discard::OwnSystem => "it has the system ID of this router",
                Discard::ThreeWay => "it has the link for up, and here it begins anew",
                Discard::Adjacencies => "there are as many neighbours as may be",
                _ => "its hellos cannot be read",
            }),
        }
    }
}
