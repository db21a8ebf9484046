//! What an engine uses of its media controller.

use anchor::row::Statistics;
use anchor::{Local, Side, Source};
use core::net::IpAddr;
use srtp::dtls::Fingerprint;

/// Ports, addresses and interfaces.
pub trait World {
    /// A pair of ports on an interface, `None` for the usual one; `None` if none is free.
    fn take(&mut self, interface: Option<&[u8]>, is_v6: bool) -> Option<Local>;
    /// Gives a pair back.
    fn give_back(&mut self, local: Local);
    /// The address of that number.
    fn address(&self, number: u16) -> IpAddr;
    /// Whether there is an interface of that name.
    fn has_interface(&self, name: &[u8]) -> bool;
    /// The fingerprint of the certificate that DTLS shows.
    fn fingerprint(&self) -> Option<&Fingerprint>;
    /// What is coded anew: a bit for the number of each codec.
    fn codecs(&self) -> u32 {
        u32::MAX
    }
}

/// What was counted.
pub trait Counters {
    /// Of a stream: what came from A and from B.
    fn of(&self, call: u64, line: u8) -> [Statistics; 2];
}

/// What a command may use.
pub struct Around<'w> {
    /// Ports, addresses and interfaces.
    pub world: &'w mut dyn World,
    /// What was counted.
    pub counters: &'w dyn Counters,
    /// Fills octets with what nobody can guess.
    pub random: &'w mut dyn FnMut(&mut [u8]),
}

impl core::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

/// The ports of one command: those of two interfaces, with an address that may stand for them.
pub(crate) struct Ports<'w> {
    pub world: &'w mut dyn World,
    pub interfaces: [Option<Box<[u8]>>; 2],
    /// `media-address`.
    pub shown: Option<IpAddr>,
}

impl Source for Ports<'_> {
    fn take(&mut self, side: Side, is_v6: bool) -> Option<Local> {
        self.world.take(self.interfaces[side.index()].as_deref(), is_v6)
    }

    fn give_back(&mut self, local: Local) {
        self.world.give_back(local);
    }

    fn address(&self, number: u16) -> IpAddr {
        self.shown.unwrap_or_else(|| self.world.address(number))
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        self.world.fingerprint()
    }

    fn codecs(&self) -> u32 {
        self.world.codecs()
    }
}
