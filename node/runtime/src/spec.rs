//! What a function is started with: its ports, its shards, its limits.

use crate::guard::Guard;
use crate::port::{PortId, Transport};
use crate::replication::ReplicationRef;
use machine::{Duration, Time};
use policing::kernel::FilterRef;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tls::TlsSpec;

/// Shards of one function.
pub const SHARDS_MAX: u16 = 64;

/// One port of a function.
///
/// Fill what you need and take the rest from [`PortSpec::default`]: fields may be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSpec {
    /// Its index in the function's list.
    pub id: PortId,
    /// Its name for people: `"access udp"`.
    pub name: String,
    /// Our address. Port 0 lets the kernel choose ([`crate::Running::local_addr`] tells).
    pub listen: SocketAddr,
    /// Network device to bind to.
    pub device: Option<String>,
    /// The address may be one that this machine does not have yet (`IP_FREEBIND`).
    pub ahead: bool,
    /// What carries the bytes, and what that alone can do.
    pub carrier: Carrier,
}

/// What carries the bytes of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carrier {
    /// Datagrams of UDP.
    Udp {
        /// The datagrams travel whole or not at all, but those of
        /// [`crate::Effects::send_in_parts`], and what the network says of them comes as
        /// [`crate::In::Returned`]. Fixed while the port stands.
        whole: bool,
        /// Whether runs of datagrams of equal size between the same two addresses travel the
        /// kernel as one (`UDP_SEGMENT`, `UDP_GRO`). Changes with the next configuration.
        runs: bool,
    },
    /// The packets of an IP protocol, whole as with [`Carrier::Udp`]; needs `CAP_NET_RAW`. Ports
    /// mean nothing there and are 0. The first shard has its socket alone. Fixed while the port
    /// stands.
    Raw {
        /// The number of the protocol: 132 for SCTP.
        protocol: u8,
        /// The packets pass by the kernel's IP where they can (`AF_XDP`): see
        /// [`ports::Bypass`]. Needs `CAP_NET_ADMIN` and `CAP_BPF` too.
        bypass: bool,
    },
    /// Connections of TCP, inside TLS where it has keys.
    Stream(StreamSpec),
}

/// A port of connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamSpec {
    /// Keys and trust of TLS; `None`: the octets travel in the clear. That there are some is fixed
    /// while the port stands, they themselves change with the next configuration.
    pub tls: Option<Arc<TlsSpec>>,
    /// It only opens connections and accepts none; [`PortSpec::listen`] is then the source address
    /// of those (its port is not used). Fixed while the port stands.
    pub connect_only: bool,
    /// It loses no message: its function is told what the kernel took ([`crate::In::Written`]) and
    /// sends no more than that allows. A connection whose queue passes its limit all the same ends.
    /// Fixed while the port stands.
    pub paced: bool,
    /// Bytes that wait for one slow reader; `None`: as [`StreamLimits::queue_bytes_max`] says.
    /// Changes with the next configuration.
    pub queue_bytes_max: Option<usize>,
    /// What the far ends must prove. Changes with the next configuration; connections that stand
    /// keep what they were opened with.
    pub guards: Arc<[Guard]>,
}

impl Default for PortSpec {
    fn default() -> Self {
        Self {
            id: PortId(0),
            name: String::new(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            device: None,
            ahead: false,
            carrier: Carrier::default(),
        }
    }
}

impl PortSpec {
    /// What the flows of this port are told to travel by.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        match &self.carrier {
            Carrier::Udp { .. } | Carrier::Raw { .. } => Transport::Udp,
            Carrier::Stream(StreamSpec { tls: None, .. }) => Transport::Tcp,
            Carrier::Stream(StreamSpec { tls: Some(_), .. }) => Transport::Tls,
        }
    }

    /// What it says of its connections; `None`: it has none.
    #[must_use]
    pub const fn stream(&self) -> Option<&StreamSpec> {
        match &self.carrier {
            Carrier::Stream(stream) => Some(stream),
            Carrier::Udp { .. } | Carrier::Raw { .. } => None,
        }
    }

    /// The same, to change it.
    #[must_use]
    pub const fn stream_mut(&mut self) -> Option<&mut StreamSpec> {
        match &mut self.carrier {
            Carrier::Stream(stream) => Some(stream),
            Carrier::Udp { .. } | Carrier::Raw { .. } => None,
        }
    }

    /// Whether others can speak first: it does not only open connections.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.stream().is_none_or(|stream| !stream.connect_only)
    }

    /// Whether it loses no message.
    pub(crate) fn is_paced(&self) -> bool {
        self.stream().is_some_and(|stream| stream.paced)
    }

    /// Whether its datagrams travel whole.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.carrier, Carrier::Udp { whole: true, .. } | Carrier::Raw { .. })
    }

    /// What the far ends of its connections must prove.
    pub(crate) fn guards(&self) -> Arc<[Guard]> {
        self.stream().map(|stream| Arc::clone(&stream.guards)).unwrap_or_default()
    }
}

impl Default for Carrier {
    fn default() -> Self {
        Self::Udp { whole: false, runs: true }
    }
}

impl Carrier {
    /// What carries a transport: datagrams that may leave in `runs`, or connections of which
    /// `stream` says the rest; TLS without keys there is that of [`TlsSpec::default`].
    #[must_use]
    pub fn of(transport: Transport, runs: bool, stream: StreamSpec) -> Self {
        match transport {
            Transport::Udp => Self::Udp { whole: false, runs },
            Transport::Tcp => Self::Stream(StreamSpec { tls: None, ..stream }),
            Transport::Tls => {
                Self::Stream(StreamSpec { tls: Some(stream.tls.unwrap_or_default()), ..stream })
            }
        }
    }

    /// Whether the sockets of a port that stands can serve for this one.
    pub(crate) fn serves(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Udp { whole: held, .. }, Self::Udp { whole, .. }) => held == whole,
            (Self::Raw { .. }, Self::Raw { .. }) => self == wanted,
            (Self::Stream(held), Self::Stream(wanted)) => {
                held.tls.is_some() == wanted.tls.is_some()
                    && held.connect_only == wanted.connect_only
                    && held.paced == wanted.paced
            }
            _ => false,
        }
    }
}

/// Limits of stream connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Connections of one shard; more are refused and counted.
    pub connections_max: usize,
    /// Bytes that wait for one slow reader. What comes on top is shed, newest first, whole
    /// messages only, and counted; the connection stands.
    pub queue_bytes_max: usize,
    /// The longest message; a longer one ends its connection.
    pub message_bytes_max: usize,
    /// A connection on which nothing was read or written for this long is closed;
    /// `Duration::MAX`: none is.
    pub idle_timeout: Duration,
    /// A connection whose reader takes nothing for this long, while something waits, is closed;
    /// `Duration::MAX`: none is.
    pub stall_timeout: Duration,
    /// TLS handshakes of the function at the same time, those that wait for their far end included.
    /// What comes on top is shed, the newest first: its connection is closed at once and counted,
    /// so that the ones under way come to their end.
    pub handshakes_max: usize,
    /// Time for an accepted connection to send its first whole message; `None`: it may stand
    /// without a word as long as `idle_timeout` lets it.
    pub first_message_timeout: Option<Duration>,
    /// Time to connect, and time for a TLS handshake.
    pub connect_timeout: Duration,
    /// After a failed connect nothing is tried for this long; doubles with each failure …
    pub backoff: Duration,
    /// … up to this.
    pub backoff_max: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            connections_max: 15_000,
            queue_bytes_max: 4 << 20,
            message_bytes_max: 128 << 10,
            idle_timeout: Duration::from_secs(1_200),
            stall_timeout: Duration::from_secs(30),
            handshakes_max: 4_096,
            first_message_timeout: None,
            connect_timeout: Duration::from_secs(5),
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(8),
        }
    }
}

impl StreamLimits {
    /// When an accepted connection is looked at first.
    pub(crate) fn patience(&self) -> Duration {
        self.first_message_timeout.map_or(self.idle_timeout, |time| time.min(self.idle_timeout))
    }
}

/// Where names are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsSpec {
    /// Servers to ask; empty: those of the system's `resolv.conf`.
    pub servers: Vec<SocketAddr>,
    /// Hosts that are known without asking, names in lower case.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Questions of all shards in flight; more are answered with nothing and counted.
    pub outstanding_max: usize,
    /// Time for one answer, all retries included.
    pub timeout: Duration,
}

impl Default for DnsSpec {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            hosts: BTreeMap::new(),
            outstanding_max: 1_024,
            timeout: Duration::from_secs(4),
        }
    }
}

/// One function and the shards that run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardSpec {
    /// The function's instance; its threads are named after it.
    pub name: String,
    /// Number of shards, 1 to [`SHARDS_MAX`].
    pub shards: u16,
    /// Cores to pin the shards to, in turn; empty: the kernel moves them.
    pub cores: Vec<usize>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// Receive buffer of each UDP socket in bytes.
    pub receive_buffer_bytes: usize,
    /// Limits of stream connections.
    pub streams: StreamLimits,
    /// Where names are looked up.
    pub dns: DnsSpec,
    /// How long a shard looks for more work before it sleeps. Longer is quicker to answer and
    /// burns its core; about as long as it takes to fall asleep and wake up is never more than
    /// twice what would have been right.
    pub spin: Duration,
    /// The other node of a pair, if there is one.
    pub mirror: Option<ReplicationRef>,
    /// The kernel's part of the policing, if there is one.
    pub kernel_filter: Option<FilterRef>,
}

impl Default for ShardSpec {
    fn default() -> Self {
        Self {
            name: String::from("function"),
            shards: 1,
            cores: Vec::new(),
            ports: Vec::new(),
            receive_buffer_bytes: 16 << 20,
            streams: StreamLimits::default(),
            dns: DnsSpec::default(),
            spin: Duration::from_micros(4),
            mirror: None,
            kernel_filter: None,
        }
    }
}

/// What a shard's function is made from, beside its configuration.
#[derive(Debug, Clone, Copy)]
pub struct Seed {
    /// Number of this shard, from 0.
    pub shard: u16,
    /// Number of shards.
    pub shards: u16,
    /// From the kernel's random source; another one for each shard.
    pub random: [u8; 32],
    /// The time at which the shard starts.
    pub now: Time,
}
