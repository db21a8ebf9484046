//! What an association is, without its keys.

use crate::lifetime::Limit;
use crate::{Algorithm, Lifetime, Selector, Tunnel, Unfit, WINDOW_MIN};

/// Most selectors of an association.
pub const SELECTORS_MAX: usize = 32;

/// Octets that a key of a cipher with blocks of 64 bits encrypts at most: of 2^29 blocks no two are
/// expected to be the same (Bhargavan and Leurent, "Sweet32"; RFC 8221 §5).
pub const BLOCKS_OF_64_MAX: u64 = 1 << 32;

/// Associations that have one key where others may have it, too: the four of a phone's registration
/// (TS 33.203 §7.2).
const OF_ONE_KEY: u64 = 4;

/// A security parameters index. Those below 256 are reserved (RFC 4303 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Spi(pub u32);

/// Transport or tunnel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The packet's own header stays in front.
    Transport,
    /// The whole packet is inside.
    Tunnel(Tunnel),
}

/// ESP in UDP (RFC 3948): the ports as our side sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Ours.
    pub local: u16,
    /// The other end's: that of its NAT, if it stands behind one.
    pub remote: u16,
}

impl Udp {
    /// The port that is registered for it (RFC 3948 §2.1, TS 33.203 §M.7).
    pub const PORT: u16 = 4500;
}

/// What an association is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Its index, which the receiver chose.
    pub spi: Spi,
    /// What it encrypts and authenticates with.
    pub algorithm: Algorithm,
    /// Whether MD5 and 3DES may be.
    pub allows_legacy: bool,
    /// Transport or tunnel.
    pub mode: Mode,
    /// Whether numbers have 64 bits (RFC 4304).
    pub extended: bool,
    /// Whether no other association has its keys, ever: GCM and GMAC take extended numbers with no
    /// others. Their nonces have the SPI in the upper half, which such numbers reach.
    pub sole_key: bool,
    /// How wide the replay window of a receiver is, from [`WINDOW_MIN`] to
    /// [`WINDOW_MAX`](crate::WINDOW_MAX) numbers; zero: there is none.
    pub window: u16,
    /// Ports, if it is in UDP.
    pub udp: Option<Udp>,
    /// When it ends. 3DES ends at [`BLOCKS_OF_64_MAX`] octets in any case, without `sole_key` at a
    /// fourth of them.
    pub lifetime: Lifetime,
    /// What it carries; none: everything.
    pub selectors: Vec<Selector>,
    /// How many numbers are granted at once, and how often an edge is told; zero: nobody shall take
    /// over, and every number is granted.
    pub block: u32,
}

impl Parameters {
    /// An association in transport mode that carries everything, with a window of 64 and nobody who
    /// takes over.
    #[must_use]
    pub const fn new(spi: Spi, algorithm: Algorithm) -> Self {
        Self {
            spi,
            algorithm,
            allows_legacy: false,
            mode: Mode::Transport,
            extended: false,
            sole_key: false,
            window: WINDOW_MIN,
            udp: None,
            lifetime: Lifetime::NONE,
            selectors: Vec::new(),
            block: 0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Unfit> {
        if self.spi.0 < 256 {
            return Err(Unfit::Spi);
        }
        if self.selectors.len() > SELECTORS_MAX {
            return Err(Unfit::Selectors);
        }
        if self.extended && self.window == 0 {
            return Err(Unfit::NoWindow);
        }
        if self.extended && !self.sole_key && self.algorithm.is_counter() {
            return Err(Unfit::SharedKey);
        }
        match &self.mode {
            Mode::Tunnel(it) if it.local.is_ipv4() != it.remote.is_ipv4() => Err(Unfit::TunnelEnds),
            _ => Ok(()),
        }
    }

    /// Its lifetime, no longer than its algorithm lets it be.
    pub(crate) fn bounded(&self) -> Lifetime {
        let mut lifetime = self.lifetime;
        if self.algorithm.has_blocks_of_64() {
            let bound = |limit: &mut Limit, most: u64| limit.octets = limit.octets.min(most);
            let most = BLOCKS_OF_64_MAX / if self.sole_key { 1 } else { OF_ONE_KEY };
            bound(&mut lifetime.hard, most);
            bound(&mut lifetime.soft, most / 8 * 7);
        }
        lifetime
    }

    /// The last number.
    pub(crate) const fn last(&self) -> u64 {
        // The very last one stays free: what counts on behind it shall not overflow.
        if self.extended { u64::MAX - 1 } else { u32::MAX as u64 }
    }
}
