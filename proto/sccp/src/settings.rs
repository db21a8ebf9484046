//! What a node is told before it runs.

use crate::codec::HOPS_MAX;
use crate::connection::ConnectionParameters;
use m3ua::codec::{NetworkAppearance, PointCode};
use machine::Duration;

/// Timers and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// T(reass): segments of a message have to be there, 10 to 20 s (Q.714 annex C).
    pub reassembly: Duration,
    /// T(stat info) in the beginning, 5 to 10 s.
    pub status_first: Duration,
    /// T(stat info) in the end, 10 to 20 minutes.
    pub status_most: Duration,
    /// T(coord chg): those that are asked have to agree, 1 to 2 minutes.
    pub coordination: Duration,
    /// T(ignore SST): tests of a subsystem that goes out of service are not answered meanwhile.
    pub ignored_tests: Duration,
    /// Octets of a message given to MTP3, at most, without the routing label: 268 where links of
    /// 64 kbit/s are on the way (Q.703 §2.3.8), more where all is M3UA.
    pub message_octets_max: usize,
    /// Whether long data go as LUDT.
    pub has_long: bool,
    /// The hop counter of what is sent, 1 to 15.
    pub hops: u8,
    /// Whether a UDT that comes from elsewhere and goes on by its title leaves as XUDT: its hop
    /// counter ends a circle of translations.
    pub relays_extended: bool,
    /// The four leading bits of the numbers of messages that leave in segments, where several nodes
    /// have one point code.
    pub segments_part: Option<u8>,
    /// Octets of all messages that wait for segments, with what each costs.
    pub reassembly_octets_max: usize,
    /// Point codes whose status is kept, at most.
    pub remotes_max: usize,
    /// Whether a CR that goes on by this node is coupled: the node beyond knows this one alone.
    /// Otherwise both ends speak to each other without it.
    pub couples: bool,
    /// Timers and limits of connections.
    pub connections: ConnectionParameters,
}

impl Parameters {
    /// The values that Q.714 has in mind.
    #[must_use]
    pub const fn q714() -> Self {
        Self {
            reassembly: Duration::from_secs(15),
            status_first: Duration::from_secs(10),
            status_most: Duration::from_secs(600),
            coordination: Duration::from_secs(60),
            ignored_tests: Duration::from_secs(60),
            message_octets_max: 268,
            has_long: false,
            hops: HOPS_MAX,
            relays_extended: true,
            segments_part: None,
            reassembly_octets_max: 4 << 20,
            remotes_max: 4_096,
            couples: false,
            connections: ConnectionParameters::q714(),
        }
    }
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its SS7 network.
    pub network: Option<NetworkAppearance>,
    /// Its point code there.
    pub point_code: PointCode,
    /// Other point codes that it has there: what comes to one of them is answered from it.
    pub aliases: Vec<PointCode>,
    /// The Network Indicator of what it sends.
    pub network_indicator: u8,
    /// Who is told when a subsystem here changes its status (Q.714 §5.3.6).
    pub concerned: Vec<PointCode>,
    /// Timers and limits.
    pub parameters: Parameters,
}
