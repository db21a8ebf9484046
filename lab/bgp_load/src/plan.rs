//! Who stands where: the reflector, and the clients with their addresses and identifiers.

use bgp::codec::{Asn, Identifier, Offer};
use bgp::family::FamilySet;
use bgp::{PeerAs, Settings};
use machine::Duration;
use std::net::{Ipv4Addr, SocketAddr};

/// Clients of one run at most.
pub const CLIENTS_MAX: usize = 10_000;
/// The address before that of the first client: they stand in 127.16.0.0/12.
const ADDRESSES: u32 = u32::from_be_bytes([127, 16, 0, 0]);
/// The identifier before that of the first client.
const IDENTIFIERS: u32 = u32::from_be_bytes([10, 16, 0, 0]);
/// Time until a connection is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// The field.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where the reflector listens.
    pub reflector: SocketAddr,
    /// The AS of all.
    pub asn: Asn,
    /// The reflector's cluster.
    pub cluster: Identifier,
    /// What all speak.
    pub families: FamilySet,
    /// Seconds of hold time that clients offer: 0, or so many that no run lasts as long.
    pub hold_time_s: u16,
    /// How many clients there are, at most [`CLIENTS_MAX`].
    pub clients: usize,
}

/// Octets that the kernel may hold for all clients that have not read them: more together, and it
/// runs short of memory for TCP and drops what came.
const HELD_BYTES: usize = 256 << 20;
/// For one client at least, and at most.
const HELD_BYTES_MIN: usize = 64 << 10;
const HELD_BYTES_MAX: usize = 1 << 20;

impl Plan {
    /// Octets of a client's receive buffer.
    pub(crate) fn receive_buffer_bytes(&self) -> usize {
        (HELD_BYTES / self.clients.max(1)).clamp(HELD_BYTES_MIN, HELD_BYTES_MAX)
    }

    /// Where a client stands.
    #[must_use]
    pub fn address(client: usize) -> Ipv4Addr {
        Ipv4Addr::from(ADDRESSES + 1 + client as u32)
    }

    /// A client's BGP Identifier.
    #[must_use]
    pub const fn identifier(client: usize) -> Identifier {
        IDENTIFIERS + 1 + client as u32
    }

    /// The next hop of what a client announces: its identifier, as an address.
    #[must_use]
    pub const fn next_hop(client: usize) -> [u8; 4] {
        Self::identifier(client).to_be_bytes()
    }

    /// The session of a client.
    pub(crate) fn settings(&self, client: usize) -> Settings {
        let offer =
            Offer::modern(self.asn, Self::identifier(client), self.hold_time_s, self.families);
        let mut settings = Settings::new(offer, PeerAs::Internal);
        settings.connect_retry = RETRY;
        settings.idle_hold = RETRY;
        settings.idle_hold_max = RETRY;
        settings
    }
}
