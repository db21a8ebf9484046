//! What names systems, nodes, LSPs, areas and levels.

use core::fmt;

/// A system, by the six octets of its ID (ISO 10589 §7.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SystemId(pub [u8; 6]);

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{g:02x}")
    }
}

/// A system, or the pseudonode of a LAN whose designated system it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId {
    /// The system.
    pub system: SystemId,
    /// 0: the system itself.
    pub pseudonode: u8,
}

impl NodeId {
    /// The system itself.
    #[must_use]
    pub const fn of(system: SystemId) -> Self {
        Self { system, pseudonode: 0 }
    }

    /// From its seven octets.
    #[must_use]
    pub const fn from_octets(octets: [u8; 7]) -> Self {
        let [a, b, c, d, e, f, pseudonode] = octets;
        Self { system: SystemId([a, b, c, d, e, f]), pseudonode }
    }

    /// Its seven octets.
    #[must_use]
    pub const fn octets(self) -> [u8; 7] {
        let [a, b, c, d, e, f] = self.system.0;
        [a, b, c, d, e, f, self.pseudonode]
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02x}", self.system, self.pseudonode)
    }
}

/// A fragment of a node's LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LspId {
    /// Whose.
    pub node: NodeId,
    /// Which; without number 0 the others do not count.
    pub fragment: u8,
}

impl LspId {
    /// Greater than every other.
    pub const LAST: Self = Self::from_octets([0xFF; 8]);

    /// From its eight octets.
    #[must_use]
    pub const fn from_octets(octets: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, fragment] = octets;
        Self { node: NodeId::from_octets([a, b, c, d, e, f, g]), fragment }
    }

    /// The one behind it; the last one has none but itself.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::from_octets(u64::from_be_bytes(self.octets()).saturating_add(1).to_be_bytes())
    }

    /// Its eight octets.
    #[must_use]
    pub const fn octets(self) -> [u8; 8] {
        let [a, b, c, d, e, f, g] = self.node.octets();
        [a, b, c, d, e, f, g, self.fragment]
    }
}

impl fmt::Display for LspId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02x}", self.node, self.fragment)
    }
}

/// The address of a system on a LAN: a MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Snpa(pub [u8; 6]);

/// A level of routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Inside of an area.
    One,
    /// Between areas.
    Two,
}

impl Level {
    /// Both, the lower one first.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    pub(crate) const fn at(self) -> usize {
        match self {
            Self::One => 0,
            Self::Two => 1,
        }
    }
}

/// One level or both; as the two bits of circuit types (ISO 10589 §9.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Levels(u8);

impl Levels {
    /// Neither.
    pub const NONE: Self = Self(0);
    /// Level 1 alone.
    pub const ONE: Self = Self(1);
    /// Level 2 alone.
    pub const TWO: Self = Self(2);
    /// Both.
    pub const BOTH: Self = Self(3);

    /// From the two bits of a PDU.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 3)
    }

    /// The two bits of a PDU.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether a level is among them.
    #[must_use]
    pub const fn has(self, level: Level) -> bool {
        self.0 >> level.at() & 1 != 0
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// As configurations write them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "none",
            1 => "level-1",
            2 => "level-2",
            _ => "level-1-2",
        }
    }

    /// Each.
    pub fn each(self) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| self.has(*level))
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Level> for Levels {
    fn from(level: Level) -> Self {
        match level {
            Level::One => Self::ONE,
            Level::Two => Self::TWO,
        }
    }
}

/// An area: 1 to 13 octets (ISO 10589 §7.1.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AreaAddress(Box<[u8]>);

impl AreaAddress {
    /// From its octets; `None` when there are none or more than 13.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        (1..=13).contains(&octets.len()).then(|| Self(octets.into()))
    }

    /// Its octets.
    #[must_use]
    pub const fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// As network entity titles begin: `49.0001`.
impl fmt::Display for AreaAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, octet)| match at {
            0 | 2 | 4 | 6 | 8 | 10 | 12 => write!(f, "{octet:02x}"),
            _ => write!(f, ".{octet:02x}"),
        })
    }
}

/// A fragment of a level.
pub(crate) type FragmentId = (Level, LspId);
