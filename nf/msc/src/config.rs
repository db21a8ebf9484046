//! The `[[msc]]` section of a site file: its shape and its help (the doc comments).

mod change;
mod validate;

pub use dataplane::section::{Driver, ForwarderStart, OnExit, Port};

use dataplane::section::port_range;
use replica::Replica;
use runtime::{Carrier, PortId, PortSpec, StreamSpec, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tls::{ClientAuth, TlsSpec};

/// Session controllers connect to it.
pub const CONTROL_PORT: PortId = PortId(0);
/// NG over UDP.
pub const NG_PORT: PortId = PortId(1);
/// NG over TCP.
pub(crate) const NG_STREAM_PORT: PortId = PortId(2);
/// Captured events leave by it.
pub(crate) const CAPTURE_PORT: PortId = PortId(3);

/// A media controller: it leases ports to session controllers, and has their streams forwarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Msc {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Number of shards, threads that share nothing, 1 to 16: of several the first has leases,
    /// streams and the forwarder, the others checks of ICE and handshakes of DTLS, which calls of
    /// browsers have. Without such calls further ones have nothing to do.
    #[serde(default = "one")]
    pub shards: u16,
    /// Cores to pin the shards to, in order; empty leaves it to the kernel. Those of the forwarder
    /// are its own.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Where session controllers connect: `127.0.0.1:2970`; absent: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Keys and trust of TLS on `listen`; absent: connections are not protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// A file with a key a line, the newest first, relative to the site's directory: session
    /// controllers and this one prove to one another that they have one of them. Off the loopback
    /// without it, certificates of clients must do that (`tls.verify_clients`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Where rtpengine's NG protocol is spoken, over UDP and TCP: `127.0.0.1:2223`; absent:
    /// nowhere. It proves nobody: whoever reaches it ends and moves calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ng: Option<SocketAddr>,
    /// Where messages and events go.
    #[serde(flatten)]
    pub capture: trail::Section<2_002>,
    /// This node's place in a pair of media controllers that stand in for each other; absent: it
    /// stands alone. Addresses of groups are those of whichever of the two serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<Replica>,
    /// The process that forwards.
    #[serde(default)]
    pub forwarder: Forwarder,
    /// The process that transcodes.
    #[serde(default)]
    pub transcoder: Transcoder,
    /// Ports of the forwarder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port: Vec<Port>,
    /// Routing tables beside the global one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vrf: Vec<Vrf>,
    /// Interfaces of the ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<Interface>,
    /// Groups of addresses that ports are leased from. The first one serves NG commands that name
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<Group>,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
}

/// Keys and trust of TLS; files are PEM, relative to the site's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain of this side.
    pub certificate: String,
    /// Private key of this side.
    pub key: String,
    /// Certificates that sign those of session controllers; absent: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Session controllers must show a certificate signed by `roots`.
    #[serde(default)]
    pub verify_clients: bool,
}

impl Tls {
    /// What a port is opened with.
    #[must_use]
    pub fn spec(&self) -> TlsSpec {
        let file = |name: &String| Some(PathBuf::from(name));
        TlsSpec {
            certificate: file(&self.certificate),
            key: file(&self.key),
            roots: self.roots.as_ref().and_then(file),
            client_auth: if self.verify_clients { ClientAuth::Required } else { ClientAuth::Off },
            ..TlsSpec::default()
        }
    }
}

/// The process that forwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Forwarder {
    /// Threads that forward. Each needs a queue of every port; changes with a restart of the
    /// forwarder.
    pub workers: u16,
    /// Cores to pin them to, in turn; empty leaves them to the kernel.
    pub cores: Vec<usize>,
    /// Packets that one of them holds at most.
    pub packets: u32,
    /// Octets of the longest frame, up to 10,000; longer than 1,850 costs memory and AF_XDP.
    pub frame_octets: u16,
    /// A file with a key a line, as that of [[pe]]: who has one of them controls the forwarder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Who starts it: `own`, this site does, wherever none stands; `external`, somebody else does,
    /// as a unit of its own.
    pub start: ForwarderStart,
    /// What becomes of it when the site is ended in order: `stop` or `keep`.
    pub on_exit: OnExit,
}

impl Default for Forwarder {
    fn default() -> Self {
        Self {
            workers: 1,
            cores: Vec::new(),
            packets: 16_384,
            frame_octets: 1_850,
            key_file: None,
            start: ForwarderStart::Own,
            on_exit: OnExit::Stop,
        }
    }
}

/// The process that transcodes: codecs, and digits as tones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transcoder {
    /// Whether there is one: `own`, this site starts it beside the forwarder; `none`, nothing is
    /// transcoded, and no codec is offered that would have to be.
    pub start: TranscoderStart,
    /// The core to pin it to; absent leaves it to the kernel. It uses one at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// Streams that it takes at most.
    pub streams_max: u32,
}

/// Who starts the process that transcodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TranscoderStart {
    /// This site.
    Own,
    /// Nobody.
    None,
}

impl Default for Transcoder {
    fn default() -> Self {
        Self { start: TranscoderStart::Own, core: None, streams_max: 4_096 }
    }
}

/// A routing table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vrf {
    /// Name, unique in the function.
    pub name: String,
}

/// An interface: the untagged packets of a port, or those of a VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Name, unique in the function.
    pub name: String,
    /// Its port; absent: the port of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// VLAN; absent: packets without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Addresses with the lengths of their subnets: `192.0.2.1/24`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Routers by which everything else of its routing table is reached, one of a family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<IpAddr>,
    /// Its routing table; absent: the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
}

/// A group of addresses whose ports are leased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, unique in the function: realms name it, and NG calls it an interface.
    pub name: String,
    /// Its addresses, IPv4 and IPv6: those of an interface, or others of an interface's subnet.
    pub addresses: Vec<IpAddr>,
    /// Ports of each address for media: `20000-59999`.
    #[serde(default = "ports")]
    pub ports: String,
    /// The routing table of its addresses; absent: the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
}

const fn one() -> u16 {
    1
}

fn ports() -> String {
    "20000-59999".to_owned()
}

impl Group {
    /// The first even port and how many pairs follow; `None`: there is no pair.
    #[must_use]
    pub fn pairs(&self) -> Option<(u16, u16)> {
        let (low, high) = port_range(&self.ports)?;
        let first = low.max(2).checked_next_multiple_of(2)?;
        // The last pair has its odd port in the range.
        let ports = u32::from(high).checked_sub(first.into())? + 1;
        let pairs = u16::try_from(ports / 2).ok()?;
        (pairs > 0).then_some((first, pairs))
    }
}

/// Limits of a media controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Session controllers by name, those that are away included; each shard of one is one.
    pub session_controllers_max: u16,
    /// Streams of one session controller, and of NG.
    pub streams_max: u32,
    /// Octets of their descriptions, of one session controller.
    pub stream_octets_max: u32,
    /// Pairs of a block: what one lease gives at least.
    pub block_pairs: u16,
    /// Pairs of a group in one family that one session controller leases at most; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_max: Option<u32>,
    /// Seconds until a session controller that is away loses its leases and its streams.
    pub session_controller_away_s: u32,
    /// Seconds that a pair of ports rests before NG or another session controller gets it.
    pub quarantine_s: u32,
    /// Percent of the pairs of a group that are leased when an alarm says that they are scarce.
    pub leased_percent: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session_controllers_max: 64,
            streams_max: 250_000,
            stream_octets_max: 256 << 20,
            block_pairs: 512,
            pairs_max: None,
            session_controller_away_s: 120,
            quarantine_s: 30,
            leased_percent: 90,
        }
    }
}

impl Msc {
    /// The ports that the runtime opens.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let mut ports = Vec::new();
        let of = |id, name: &str, listen, carrier| PortSpec {
            id,
            name: name.to_owned(),
            listen,
            carrier,
            ..PortSpec::default()
        };
        if let Some(listen) = self.listen {
            let tls = self.tls.as_ref().map(|tls| Arc::new(tls.spec()));
            let stream = StreamSpec { tls, ..StreamSpec::default() };
            ports.push(of(CONTROL_PORT, "session controllers", listen, Carrier::Stream(stream)));
        }
        if let Some(listen) = self.ng {
            let udp = Carrier::of(Transport::Udp, false, StreamSpec::default());
            let tcp = Carrier::of(Transport::Tcp, false, StreamSpec::default());
            ports.push(of(NG_PORT, "ng udp", listen, udp));
            ports.push(of(NG_STREAM_PORT, "ng tcp", listen, tcp));
        }
        let flow = self.capture_settings().flow;
        ports.extend(flow.map(|flow| trail::port_of(&flow)));
        ports
    }

    /// What the section says of its capture.
    pub(crate) fn capture_settings(&self) -> trail::Settings {
        self.capture.settings(CAPTURE_PORT)
    }
}
