//! The `[[sgc]]` section of a site file: its shape and its help (the doc comments).

pub(crate) mod application;
mod doubts;
pub mod sccp;
mod sccp_settings;
mod sccp_validate;
mod screening;
mod settings;
mod validate;

pub use m3ua_stack::config::{Carriage, Peer, PeerRole, Screening, Tcp};
pub use m3ua_stack::config::{PointCodeFormat, show_network};
pub(crate) use screening::{Origins, Screen};

use m3ua_stack::config::{Section, TCP_PORTS};
use machine::Duration;
use runtime::{Carrier, PortId, PortSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use translation::{Filed, Translation};

/// Captured messages leave by it.
pub(crate) const CAPTURE_PORT: PortId = PortId(TCP_PORTS);

/// A signalling gateway: M3UA (RFC 4666) towards ASPs, SGPs and IPSPs, and a relay between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sgc {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Number of shards, threads that share nothing, 1 to 7: of several the first has links, MTP
    /// and SCCP, the others TCAP dialogues and their applications.
    #[serde(default = "one")]
    pub shards: u16,
    /// Cores to pin the shards to, in order; empty leaves it to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Where messages and events go.
    #[serde(flatten)]
    pub capture: trail::Section<2_001>,
    /// How point codes are written and shown: `itu` 3-8-3, `ansi` 8-8-8, `japan` 7-4-5, `decimal`.
    #[serde(default)]
    pub point_code_format: PointCodeFormat,
    /// Point codes of this node itself. What comes for them goes to a user here, not to a peer.
    #[serde(default)]
    pub point_codes: Vec<String>,
    /// Network Appearance of the point codes above and of Application Servers that name none;
    /// absent: there is one network, which messages do not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_appearance: Option<u32>,
    /// Service Indicators whose MSUs to a point code of this node come back to their origin, as
    /// they are: a test of the way there and back (11 and 15 are nobody's).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub echo_service_indicators: Vec<u8>,
    /// The SCTP endpoint; absent: there are no peers over SCTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sctp: Option<sctp_stack::Config>,
    /// M3UA over TCP; absent: peers over TCP are only connected to.
    #[serde(default)]
    pub tcp: Tcp,
    /// The peers, one association each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer: Vec<Peer>,
    /// Application Servers: which traffic goes to which peers, or comes from them to this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application_server: Vec<ApplicationServer>,
    /// SCCP of this node.
    #[serde(default)]
    pub sccp: sccp::Sccp,
    /// TCAP of this node.
    #[serde(default)]
    pub tcap: sccp::Tcap,
    /// Subsystems of this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subsystem: Vec<sccp::Subsystem>,
    /// Applications: programs that take the dialogues of subsystems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<tcu_stack::serving::Application>,
    /// The cluster that this node belongs to; absent: it is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<cluster::config::Cluster>,
    /// Translation of global titles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub translation: Vec<Translation>,
    /// Files with more rules for global titles, in the site's directory: comma-separated values, a
    /// line a rule. The first line names the columns: `digits`, `targets`, and other keys of a
    /// translation; `targets` are `2-100-3/6`, `here/8`, `2-100-4:title`, each with `*2` as its
    /// weight, apart by spaces. They are read again with every commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub translation_files: Vec<String>,
    /// The rules of these files.
    #[serde(skip)]
    pub filed: Filed,
    /// Rules for what peers send: operations, titles, subscribers (GSMA FS.11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screening: Vec<screening_stack::RuleSet>,
    /// Timers.
    #[serde(default)]
    pub timers: Timers,
    /// What is granted to peers.
    #[serde(default)]
    pub policy: Policy,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
}

/// Who the ASPs of an Application Server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServedBy {
    /// The peers: traffic for the key is sent to them.
    #[default]
    Peers,
    /// This node: it asks its SGPs for the traffic of the key, and passes it on.
    Here,
}

/// How traffic is dealt to the ASPs of an Application Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// All to the one that became active last.
    Override,
    /// Each SLS to one of them.
    Loadshare,
    /// All to every one of them.
    Broadcast,
}

/// An Application Server: a Routing Key and its ASPs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplicationServer {
    /// Name, unique in the function.
    pub name: String,
    /// `peers`: traffic for the key goes to them; `here`: this node asks them for it.
    #[serde(default)]
    pub served_by: ServedBy,
    /// Its peers.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Routing Context; absent: messages carry none, and its peers have no other Application
    /// Server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_context: Option<u32>,
    /// Network Appearance of the key; absent: that of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_appearance: Option<u32>,
    /// The Routing Key.
    pub destination: Vec<Destination>,
    /// `override`, `loadshare`, `broadcast`; absent: as the first ASP Active says, else override.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_mode: Option<Mode>,
    /// Active ASPs that the load needs, with loadshare and broadcast.
    #[serde(default = "one")]
    pub asps_min: u16,
    /// This node becomes active by itself where it is the one that asks.
    #[serde(default = "yes")]
    pub starts: bool,
    /// This node is active only while a destination of the key can be served: by a peer here, or by
    /// a user of this node (`served_by = "here"`).
    #[serde(default = "yes")]
    pub follows: bool,
    /// This node becomes active when it hears that ASPs are wanting: the spare of a 1+1 or n+k.
    #[serde(default)]
    pub takes_over: bool,
    /// This node obtains the Routing Context by registration (`served_by = "here"`).
    #[serde(default)]
    pub registers: bool,
}

/// Traffic to one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// Destination Point Code.
    pub point_code: String,
    /// Only these Service Indicators (3 SCCP, 5 ISUP); empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_indicators: Vec<u8>,
    /// Only from these Originating Point Codes; empty: from all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub originating: Vec<String>,
}

/// Timers (RFC 4666 §4.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timers {
    /// T(ack): how long an answer may take before the request is sent again, milliseconds.
    pub t_ack_ms: u32,
    /// How often a request is sent again; 0: for ever.
    pub ack_retries_max: u16,
    /// How long to wait after a refusal before asking again, milliseconds.
    pub t_refused_ms: u32,
    /// T(r): how long traffic waits for an ASP when the last one has gone, milliseconds.
    pub t_r_ms: u32,
    /// T(beat): interval of heartbeats, milliseconds; a peer silent for two of them is lost; 0: no
    /// heartbeats. SCTP has its own; over TCP it is what finds a peer that vanished.
    pub t_beat_ms: u32,
    /// How often gateways are asked again for destinations that they told are not available or
    /// congested, milliseconds; 0: only when a gateway is reached again.
    pub t_audit_ms: u32,
    /// Pause between two attempts to open an association, milliseconds.
    pub reconnect_ms: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            t_ack_ms: 2_000,
            ack_retries_max: 0,
            t_refused_ms: 30_000,
            t_r_ms: 2_000,
            t_beat_ms: 0,
            t_audit_ms: 0,
            reconnect_ms: 2_000,
        }
    }
}

/// What is done with requests to register Routing Keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// They are not understood.
    Unsupported,
    /// Only keys of configured Application Servers can be registered.
    #[default]
    Provisioned,
    /// A key that is not configured makes a new Application Server.
    Open,
}

/// What is granted to peers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Requests to register: `unsupported`, `provisioned` (configured keys only), `open` (any key
    /// makes an Application Server).
    pub registration: Registration,
    /// An ASP Up must name its ASP.
    pub requires_asp_identifier: bool,
    /// Audits are answered for destinations that nothing is known of as if they were available.
    pub unknown_is_available: bool,
    /// Audits are refused.
    pub refuses_audits: bool,
    /// Restricted destinations are told as available, for peers that do not know DRST.
    pub hides_restricted: bool,
}

/// Limits. What exceeds them is discarded or refused, and counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Application Servers, registered ones included.
    pub application_servers_max: u32,
    /// MSUs that wait for one Application Server that is AS-PENDING; the newest is shed.
    pub pending_messages_max: u32,
    /// Octets of user data in them; the newest is shed.
    pub pending_octets_max: u32,
    /// Octets that wait for all of them together, 96 for each MSU included. One Application Server,
    /// or all that a peer has registered, has at most as much as is left; the newest is shed.
    pub pending_total_octets_max: u32,
    /// How long an MSU of priority 0 may have waited before it is looked at, milliseconds; one of
    /// priority p may wait p + 1 times as long; above, it is shed. Management is never. 0 is off.
    pub delay_max_ms: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            application_servers_max: 4_096,
            pending_messages_max: 10_000,
            pending_octets_max: 4 << 20,
            pending_total_octets_max: 64 << 20,
            delay_max_ms: 500,
        }
    }
}

const fn one() -> u16 {
    1
}
const fn yes() -> bool {
    true
}

impl Sgc {
    /// What this section says of the links of M3UA.
    #[must_use]
    pub fn links(&self) -> Section<'_> {
        Section {
            key: "sgc",
            name: &self.name,
            sctp: self.sctp.as_ref(),
            tcp: &self.tcp,
            peer: &self.peer,
            reconnect: Duration::from_millis(self.timers.reconnect_ms.into()),
            first_port: PortId(0),
        }
    }

    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let mut ports = self.links().ports();
        if self.shards > 1 {
            // The kernel gives a connection to any shard, and only of a paced one is the first,
            // which has the links, told that it stands.
            for port in &mut ports {
                if let Carrier::Stream(stream) = &mut port.carrier {
                    stream.paced = true;
                }
            }
        }
        ports.extend(self.serving().ports());
        ports.extend(self.capture_settings().flow.iter().map(trail::port_of));
        ports
    }

    /// What of it concerns a shard without links.
    pub(crate) fn without_links(&self) -> Self {
        Self {
            sctp: None,
            tcp: Tcp::default(),
            peer: Vec::new(),
            application_server: Vec::new(),
            translation: Vec::new(),
            translation_files: Vec::new(),
            filed: Filed::default(),
            screening: Vec::new(),
            sccp: sccp::Sccp { concerned: Vec::new(), ..self.sccp.clone() },
            ..self.clone()
        }
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        self.capture.settings(CAPTURE_PORT)
    }

    /// Addresses that are bound, each with its path in the section and whether it takes datagrams.
    #[must_use]
    pub fn listening(&self) -> Vec<(String, bool, SocketAddr)> {
        let mut addresses = self.links().listen_addresses();
        for (n, application) in self.application.iter().enumerate() {
            for (m, text) in application.listen.iter().enumerate() {
                if let Ok(address) = text.parse::<runtime::Address>() {
                    let at = format!("application[{n}].listen[{m}]");
                    addresses.push((at, false, address.socket));
                }
            }
        }
        let cluster = self.cluster.as_ref().and_then(cluster::config::Cluster::listen);
        addresses.extend(cluster.map(|it| ("cluster.node".to_owned(), true, it)));
        addresses
    }
}
