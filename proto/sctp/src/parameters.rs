//! Every parameter of an association and of a path (RFC 9260 §16, RFC 7829, RFC 9653), with the
//! presets of the failover experiment. All of them can be set while an association lives, except
//! those that are agreed at its set-up (streams, extensions, receive buffer).

use crate::codec::ChunkTypes;
use machine::Duration;

/// What can be set for each path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParameters {
    /// RTO.Initial.
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// Path.Max.Retrans: the path is inactive after more time-outs in a row than this.
    pub path_max_retrans: u16,
    /// PotentiallyFailed.Max.Retrans (RFC 7829 §3): data leaves the path after more time-outs in
    /// a row than this; `None`: there is no such state.
    pub potentially_failed_max_retrans: Option<u16>,
    /// HB.interval; `None`: no heartbeats on a confirmed path that works.
    pub hb_interval: Option<Duration>,
    /// PMTU of the path at the start, octets of the IP packet.
    pub pmtu: u16,
    /// Largest PMTU to search for by probes (RFC 8899); `None`: it stays at `pmtu`.
    pub pmtu_max: Option<u16>,
}

/// What can be set for an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// What each of its paths begins with.
    pub path: PathParameters,
    /// Association.Max.Retrans.
    pub association_max_retrans: u16,
    /// Max.Init.Retransmits.
    pub max_init_retransmits: u16,
    /// Valid.Cookie.Life.
    pub valid_cookie_life: Duration,
    /// Max.Burst: packets at most that one event lets out; `None`: as many as cwnd allows.
    pub max_burst: Option<u16>,
    /// HB.Max.Burst: heartbeats at most at one time.
    pub hb_max_burst: u16,
    /// SACK.Delay.
    pub sack_delay: Duration,
    /// Packets with DATA after which a SACK is sent at once (RFC 9260 §6.2: 2).
    pub sack_frequency: u16,
    /// Primary.Switchover.Max.Retrans (RFC 7829 §5): after more time-outs in a row the path that
    /// took over becomes the primary; `None`: the primary gets its traffic back.
    pub primary_switchover_max_retrans: Option<u16>,
    /// Small messages wait for an acknowledgement or for a full packet (RFC 9260 §6.1).
    pub nagle: bool,
    /// Octets of a message from which on it may be split to fill a packet with its beginning: fewer
    /// packets, but a message that needs two of them; `None`: only what is too long for a packet
    /// is split (RFC 9260 §6.9).
    pub split_from_bytes: Option<u32>,
    /// Outbound streams to ask for.
    pub outbound_streams: u16,
    /// Inbound streams to accept at most.
    pub inbound_streams: u16,
    /// Octets of user data that may wait here for order or reassembly.
    pub receive_buffer: u32,
    /// Octets of user data that may wait here for sending or acknowledgement.
    pub send_buffer: u32,
    /// A message that has not come whole is given in parts of at least so many octets
    /// (SCTP_PARTIAL_DELIVERY_POINT of RFC 6458 §8.1.21; RFC 9260 §6.9), so that it may be longer
    /// than the receive buffer; `None`: only whole messages.
    pub partial_delivery_point: Option<u32>,
    /// Delivered octets count against the receive window until [`crate::In::Consume`] says that
    /// the user has taken them.
    pub counts_unread: bool,
    /// Extensions to offer.
    pub extensions: Extensions,
}

/// Extensions that an endpoint offers; each is used when the peer offers it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extensions {
    /// Partial reliability (RFC 3758).
    pub partial_reliability: bool,
    /// I-DATA (RFC 8260).
    pub interleaving: bool,
    /// Streams are reset and added (RFC 6525).
    pub reconfiguration: bool,
    /// Chunks are authenticated (RFC 4895).
    pub authentication: bool,
    /// The types of chunk that the peer shall authenticate, beside those that
    /// `address_reconfiguration` brings along.
    pub authenticated: ChunkTypes,
    /// Addresses are added and deleted while the association lives (RFC 5061); brings
    /// `authentication` along.
    pub address_reconfiguration: bool,
    /// Adaptation Layer Indication to send (RFC 5061 §4.2.6).
    pub adaptation: Option<u32>,
    /// The error detection method below SCTP that makes a checksum of zero acceptable (RFC 9653;
    /// 1: DTLS).
    pub zero_checksum: Option<u32>,
}

const DEFAULT_BUFFER: u32 = 1 << 20;

impl Parameters {
    /// The values that RFC 9260 §16 recommends.
    #[must_use]
    pub const fn rfc9260() -> Self {
        Self {
            path: PathParameters {
                rto_initial: Duration::from_secs(1),
                rto_min: Duration::from_secs(1),
                rto_max: Duration::from_secs(60),
                path_max_retrans: 5,
                potentially_failed_max_retrans: None,
                hb_interval: Some(Duration::from_secs(30)),
                pmtu: 1500,
                pmtu_max: None,
            },
            association_max_retrans: 10,
            max_init_retransmits: 8,
            valid_cookie_life: Duration::from_secs(60),
            max_burst: Some(4),
            hb_max_burst: 1,
            sack_delay: Duration::from_millis(200),
            sack_frequency: 2,
            primary_switchover_max_retrans: None,
            nagle: false,
            split_from_bytes: None,
            outbound_streams: 10,
            inbound_streams: 2048,
            receive_buffer: DEFAULT_BUFFER,
            send_buffer: DEFAULT_BUFFER,
            partial_delivery_point: None,
            counts_unread: false,
            extensions: Extensions {
                partial_reliability: true,
                interleaving: false,
                reconfiguration: true,
                authentication: false,
                authenticated: ChunkTypes::NONE,
                address_reconfiguration: false,
                adaptation: None,
                zero_checksum: None,
            },
        }
    }

    /// Telecom(p) of the failover experiment: RTO 80 to 150 ms, SACK after 40 ms, a path fails
    /// after more than `p` time-outs in a row.
    #[must_use]
    pub const fn telecom(p: u16) -> Self {
        let mut parameters = Self::rfc9260();
        parameters.path.rto_initial = Duration::from_millis(80);
        parameters.path.rto_min = Duration::from_millis(80);
        parameters.path.rto_max = Duration::from_millis(150);
        parameters.path.path_max_retrans = p;
        parameters.sack_delay = Duration::from_millis(40);
        parameters
    }

    /// For signalling between endpoints whose round trips stay below 50 ms: data leaves a path at
    /// its first time-out (RFC 7829), and a path has failed after seven of them in a row: 700 ms
    /// at most.
    #[must_use]
    pub const fn tandem() -> Self {
        let mut parameters = Self::rfc9260();
        parameters.path.rto_initial = Duration::from_millis(100);
        parameters.path.rto_min = Duration::from_millis(75);
        parameters.path.rto_max = Duration::from_millis(100);
        parameters.path.path_max_retrans = 6;
        parameters.path.potentially_failed_max_retrans = Some(0);
        parameters.path.hb_interval = Some(Duration::from_secs(5));
        parameters.association_max_retrans = 12;
        parameters.sack_delay = Duration::from_millis(10);
        parameters
    }
}
