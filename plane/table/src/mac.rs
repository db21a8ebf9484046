//! MAC tables of bridges (IEEE 802.1Q §8.8): bridge and address find the port, by one cache line.
//!
//! ```text
//!   worker:  source known at this port → its age is refreshed by a plain store
//!            new, or seen at another port → told by a bounded ring (learner) ─┐
//!   writer:  learns, moves, freezes, ages, counts limits  ←───────────────────┘
//! ```
//! The data path never waits for the table: what the ring cannot take is dropped and counted, and
//! the next frame of that station tells it again.

mod learner;
mod lines;
mod moves;
mod writer;

pub use learner::{Learner, RING_LENGTH, Source, Tally};
pub use moves::{MOVERS_MAX, MoveRule, OnMoves};
pub use writer::{BridgeRule, Kind, MACS_MAX, MacEvent, MacRefused, MacWriter};

use crate::epoch::{Published, Reader};
use crate::lanes::{Lanes, prefetch};
use lines::Lines;
use std::sync::Arc;

/// Bridges are numbered below this.
pub const BRIDGES_MAX: u16 = u16::MAX;
/// Ports (interfaces, pseudowires) are numbered below this.
pub const PORTS_MAX: u32 = 1 << 24;

/// Addresses whose lines are fetched together.
const BATCH: usize = 64;

/// A MAC address of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct MacKey(u64);

impl MacKey {
    /// The address, as its six bytes stand in a frame, in a bridge below [`BRIDGES_MAX`].
    #[inline(always)]
    #[must_use]
    pub const fn new(bridge: u16, mac: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = mac;
        Self::from_bits(bridge, u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// As [`MacKey::new`], of the low 48 bits of `mac`.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bridge: u16, mac: u64) -> Self {
        // One more than the bridge, so that no key is 0: that is an empty slot.
        Self((bridge.saturating_add(1) as u64) << 48 | mac & 0xFFFF_FFFF_FFFF)
    }

    /// The bridge.
    #[must_use]
    pub const fn bridge(self) -> u16 {
        (self.0 >> 48) as u16 - 1
    }

    /// The address.
    #[must_use]
    pub const fn mac(self) -> [u8; 6] {
        let [_, _, a, b, c, d, e, f] = self.0.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// Whether it is a group address: never learnt, flooded when it is the destination.
    #[inline(always)]
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0 & 1 << 40 != 0
    }
}

/// What the table says of an address: where it is, and how it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Entry(u32);

impl Entry {
    /// The answer for an address that is not there: flood.
    pub const UNKNOWN: Self = Self(0);
    const KNOWN: u32 = 1 << 24;
    const STATIC: u32 = 1 << 25;
    const CONTROL: u32 = 1 << 26;
    const FROZEN: u32 = 1 << 27;
    const BLOCKED: u32 = 1 << 28;
    const FLAGS: u32 = 0x1F << 24;

    const fn new(port: u32, flags: u32) -> Self {
        Self(port & (PORTS_MAX - 1) | Self::KNOWN | flags)
    }

    /// Whether the address is there.
    #[inline(always)]
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.0 & Self::KNOWN != 0
    }

    /// The port; 0 if the address is unknown.
    #[inline(always)]
    #[must_use]
    pub const fn port(self) -> u32 {
        self.0 & (PORTS_MAX - 1)
    }

    /// Configured: neither moves nor ages.
    #[must_use]
    pub const fn is_static(self) -> bool {
        self.0 & Self::STATIC != 0
    }

    /// Told by the control plane (EVPN): does not age, may move to a local port.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.0 & Self::CONTROL != 0
    }

    /// Moved too often: stays where it is until it is thawed.
    #[must_use]
    pub const fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }

    /// Moved too often, and its frames are to be dropped, from it and to it.
    #[inline(always)]
    #[must_use]
    pub const fn is_blocked(self) -> bool {
        self.0 & Self::BLOCKED != 0
    }
}

/// Sources of frames, each with the port that it was seen at.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The addresses.
    pub keys: &'a [MacKey],
    /// A port for each.
    pub ports: &'a [u32],
    /// When that was, seconds of the plane's clock.
    pub now_s: u32,
}

/// The table as workers see it.
pub struct Macs {
    lines: Arc<Published<Lines>>,
    lanes: Lanes,
}

impl Macs {
    /// Looks destinations up: the entry of each address, [`Entry::UNKNOWN`] if it is not there.
    ///
    /// # Panics
    /// When the reader belongs to another domain, or the slices differ in length.
    pub fn lookup(&self, reader: &Reader, keys: &[MacKey], entries: &mut [Entry]) {
        assert_eq!(keys.len(), entries.len(), "an entry for each address");
        let lines = self.lines.read(reader);
        for (keys, entries) in keys.chunks(BATCH).zip(entries.chunks_mut(BATCH)) {
            self.batch(lines, keys, |at, _, _, entry| entries[at] = entry);
        }
    }

    /// Checks sources: `sources[i]` says how the `i`th that was seen stands; ages are refreshed,
    /// and what is new is told to the writer.
    ///
    /// # Panics
    /// When the reader belongs to another domain, or the slices differ in length.
    pub fn check(
        &self,
        reader: &Reader,
        learner: &mut Learner,
        seen: Seen<'_>,
        sources: &mut [Source],
    ) {
        let Seen { keys, ports, now_s } = seen;
        assert_eq!(keys.len(), ports.len(), "a port for each address");
        assert_eq!(keys.len(), sources.len(), "an answer for each address");
        let lines = self.lines.read(reader);
        let chunks = keys.chunks(BATCH).zip(ports.chunks(BATCH));
        for ((keys, ports), sources) in chunks.zip(sources.chunks_mut(BATCH)) {
            self.batch(lines, keys, |at, line, slot, entry| {
                let source = Source::of(keys[at], ports[at], entry);
                if source == Source::Known {
                    line.refresh(slot, now_s);
                } else if source.is_to_be_learnt() {
                    learner.tell(keys[at], ports[at], now_s);
                }
                sources[at] = source;
            });
        }
    }

    #[inline(always)]
    fn batch(
        &self,
        lines: &Lines,
        keys: &[MacKey],
        found: impl FnMut(usize, &lines::Line, usize, Entry),
    ) {
        match self.lanes {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: `Lanes` says that this processor has AVX2.
            Lanes::Avx2 | Lanes::Avx512 => unsafe { batch_avx2(lines, keys, found) },
            _ => batch(lines, keys, |line, key| line.with_key(key), found),
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn batch_avx2(
    lines: &Lines,
    keys: &[MacKey],
    found: impl FnMut(usize, &lines::Line, usize, Entry),
) {
    batch(lines, keys, |line, key| line.with_key_avx2(key), found);
}

/// Fetches the lines of all keys first, so that the misses of the cache overlap.
#[inline(always)]
fn batch(
    lines: &Lines,
    keys: &[MacKey],
    with_key: impl Fn(&lines::Line, MacKey) -> u32,
    mut found: impl FnMut(usize, &lines::Line, usize, Entry),
) {
    let mut homes = [0_u32; BATCH];
    for (key, home) in keys.iter().zip(&mut homes) {
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer lines than `MACS_MAX`")]
        let at = lines.home(*key) as u32;
        *home = at;
        prefetch(lines.line(*home as usize));
    }
    for (at, (key, home)) in keys.iter().zip(homes).enumerate() {
        let (line, slot, entry) = lines.find(home as usize, *key, &with_key);
        found(at, line, slot, entry);
    }
}
