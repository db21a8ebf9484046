//! The `[[ipsmgw]]` section of a site file: its shape, its help (the doc comments) and its checks.

use crate::centre::Plan;
use crate::network::{NetworkKeys, SignallingKeys};
use crate::records::CdrKeys;
use crate::settings::{Home, Settings, Subsystems, Terminals};
use config::{Issue, meant};
use keyed::config::{BackendKey, StoreKeys};
use machine::Duration;
use machine::bucket::Rate;
use mapsms::deposit::Local;
use mapsms::identity::Msisdn;
use runtime::{Carrier, PortId, PortSpec, StreamSpec, Term, Transport};
use sccp::codec::{Address as SccpAddress, Digits, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sip_stack::config::{Target, Tls};
use sip_stack::realm::{self, Address, InDialogSource, PORTS_MAX, Side};
use sip_stack::{HopSettings, RealmSettings};
use smsdiameter::{ChargingKeys, DestinationKeys, HomeKeys};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// The port that captured messages leave by, beyond those of all listeners.
pub const CAPTURE_PORT: PortId = PortId(PORTS_MAX);
/// The channel of the store's journal.
pub const STORE_PORT: PortId = PortId(PORTS_MAX + 1);
/// The channel of records.
pub const RECORD_PORT: PortId = PortId(PORTS_MAX + 255);
/// The first port of links to signalling gateways.
pub const LINK_PORT: PortId = PortId(PORTS_MAX + 2);
/// The name of the one realm.
const CORE: &str = "core";
const DAY_S: u32 = 86_400;
/// Shards at most.
const SHARDS_MAX: u16 = 16;

const fn one() -> u16 {
    1
}

/// An IP short message gateway: short messages of SIP terminals, as an application server of an
/// IMS core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ipsmgw {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Where messages go. `local`: the gateway is the service centre itself; `gateway`: to service
    /// centres, HLRs and MSCs of an SS7 network.
    #[serde(default)]
    pub mode: Mode,
    /// Its own number, international, digits alone: the address of the service centre.
    pub number: String,
    /// The domain of its subscribers: `ims.example.org`.
    pub domain: String,
    /// Its own SIP URI, which its messages come from; absent: its number at the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Addresses to listen on: `udp:127.0.0.1:5090`, `tcp:[::1]:5090`, `tls:127.0.0.1:5091`.
    pub listen: Vec<String>,
    /// Host to write into Via in place of the listening address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// Certificates and keys for `tls:` addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// The core: S-CSCFs and I-CSCFs. They alone are heard, those with `tls:` targets over TLS
    /// alone, and what they assert is believed.
    #[serde(default)]
    pub next_hop: Vec<NextHop>,
    /// The next hop for messages to identities whose S-CSCF is not known; absent: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrogating: Option<String>,
    /// Whether a terminal takes short messages (`application/vnd.3gpp.sms`) whose own REGISTER the
    /// S-CSCF does not pass on (`message/sip`).
    #[serde(default = "yes")]
    pub sms_by_default: bool,
    /// Who the gateway is in Diameter (RFC 6733), its ports and limits; absent: it speaks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter: Option<diameter_stack::config::Node>,
    /// Its peers in Diameter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diameter_peer: Vec<diameter_stack::config::Peer>,
    /// Where its requests in Diameter go, beside what the applications of peers say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diameter_route: Vec<diameter_stack::config::Route>,
    /// Who is reached by Diameter in place of MAP, of `mode = "gateway"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diameter_destination: Vec<DestinationKeys>,
    /// What the home subscriber server is asked by Sh; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hss: Option<HomeKeys>,
    /// Who charges messages of terminals (Ro); absent: nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charging: Option<ChargingKeys>,
    /// The service centre, of `mode = "local"`.
    #[serde(default)]
    pub centre: CentreKeys,
    /// Ways into the SS7 network, of `mode = "gateway"`: applications of signalling gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<tcu_stack::config::Link>,
    /// Whose subscribers are served, of `mode = "gateway"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkKeys>,
    /// What is said to SS7 and heard there, of `mode = "gateway"`.
    #[serde(default)]
    pub signalling: SignallingKeys,
    /// What outlives a restart.
    #[serde(default)]
    pub store: StoreKeys,
    /// The other node of a pair that stands in for this one; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<replica::Replica>,
    /// Records of messages in files; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdr: Option<CdrKeys>,
    /// Timers.
    #[serde(default)]
    pub timers: Timers,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
    /// Number of shards, threads that share nothing, 1 to 16: of several the first has flows, the
    /// store, SS7 and Diameter, the others SIP.
    #[serde(default = "one")]
    pub shards: u16,
    /// Cores to pin the shards to, in order; empty leaves it to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Collector for captured messages and events (HEP3): `tcp:127.0.0.1:9060`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// Number of this agent in the captured packets (HEP3 chunk 12).
    #[serde(default = "capture_id")]
    pub capture_id: u32,
    /// File with the key that the collector wants (HEP3 chunk 14), in the site's directory and its
    /// owner's alone; the first line is sent, in clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_key_file: Option<String>,
    /// The key of that file.
    #[serde(skip)]
    pub capture_key: authentication::Password,
    /// Where rows of the store stand.
    #[serde(skip)]
    pub backend: keyed::Backend,
    /// The directory of records, whole.
    #[serde(skip)]
    pub cdr_folder: Option<PathBuf>,
}

/// Where messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// To a service centre of the gateway's own.
    #[default]
    Local,
    /// To service centres, HLRs and MSCs of an SS7 network.
    Gateway,
}

/// A next hop: one peer at one or more targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextHop {
    /// Name, unique in the function.
    pub name: String,
    /// Targets in order of preference: `udp:127.0.0.1:6060`, or a domain for RFC 3263:
    /// `sip:scscf.example.org`.
    pub targets: Vec<String>,
    /// Name that the certificates of its `tls:` targets must carry; absent: the domain looked up,
    /// or the target's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_name: Option<String>,
    /// Seconds between OPTIONS probes; 0 is off. A target is up until probes fail; one that went
    /// down is probed after 1, 2, 4 … seconds, up to these.
    #[serde(default = "probe_interval_s")]
    pub probe_interval_s: u32,
    /// Probes that must fail in a row before the target counts as down.
    #[serde(default = "probe_failures")]
    pub probe_failures: u32,
    /// Final answers after which the next target is tried.
    #[serde(default = "failover_status")]
    pub failover_status: Vec<u16>,
}

/// The service centre.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CentreKeys {
    /// Digits with one of which numbers of subscribers begin (`["447700"]`); empty: any number is
    /// a subscriber's. Messages to others are refused.
    pub numbers: Vec<String>,
    /// What stands in front of a national number, as `44`: one of `numbers` begins with it. Absent:
    /// national numbers are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country_code: Option<String>,
    /// Seconds after which a message that was not delivered is tried again, one after each failure
    /// in a row; the last one is repeated.
    pub retries_s: Vec<u32>,
    /// How long a message is good that says nothing of that, seconds.
    pub validity_s: u32,
    /// How long a message is good at most, seconds.
    pub validity_max_s: u32,
    /// Messages that one text may need.
    pub parts_max: u8,
    /// Minutes that time stamps are east of Greenwich; quarters of an hour.
    pub utc_offset_min: i16,
    /// RP-Causes of a terminal's delivery report after which a message is not tried again.
    pub final_causes: Vec<u8>,
    /// Messages that wait at most; a sender has no more of them than are left for all others.
    pub messages_max: u32,
    /// Messages that wait for one subscriber at most.
    pub messages_per_subscriber_max: u32,
}

impl Default for CentreKeys {
    fn default() -> Self {
        Self {
            numbers: Vec::new(),
            country_code: None,
            retries_s: vec![60, 300, 900, 3_600, 21_600],
            validity_s: 2 * DAY_S,
            validity_max_s: 7 * DAY_S,
            parts_max: 10,
            utc_offset_min: 0,
            final_causes: vec![111],
            messages_max: 1_000_000,
            messages_per_subscriber_max: 1_000,
        }
    }
}

/// Timers (RFC 3261 Table 4, TS 24.341).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timers {
    /// T1, round-trip estimate, milliseconds.
    pub t1_ms: u32,
    /// T2, longest retransmission interval, milliseconds.
    pub t2_ms: u32,
    /// T4, longest life of a message in the network, milliseconds.
    pub t4_ms: u32,
    /// How long a terminal has for its delivery report, seconds.
    pub report_s: u32,
    /// How long anything else may take, seconds.
    pub flow_s: u32,
    /// How long a message of a terminal is known when it comes again, seconds.
    pub duplicate_s: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self { t1_ms: 500, t2_ms: 4_000, t4_ms: 5_000, report_s: 40, flow_s: 90, duplicate_s: 120 }
    }
}

/// Limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Registrations, messages and deliveries under way at the same time. Registrations are refused
    /// when five eighths are in use, messages of terminals at three quarters.
    pub flows_max: u32,
    /// Transactions of SIP, those that only absorb retransmissions included.
    pub transactions_max: u32,
    /// Messages that one subscriber may send, a second; 0 is none at all.
    pub sender_per_s: u32,
    /// Messages that one subscriber may send at once after a pause.
    pub sender_burst: u32,
    /// Retry-After of a 503, seconds.
    pub retry_after_s: u32,
    /// Connections over TCP and TLS.
    pub connections_max: u32,
    /// Time without a whole message or a keep-alive after which a connection is closed, seconds.
    pub connection_idle_s: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flows_max: 100_000,
            transactions_max: 400_000,
            sender_per_s: 10,
            sender_burst: 100,
            retry_after_s: 5,
            connections_max: 4_096,
            connection_idle_s: 1_200,
        }
    }
}

const fn yes() -> bool {
    true
}
const fn capture_id() -> u32 {
    2007
}
const fn probe_interval_s() -> u32 {
    10
}
const fn probe_failures() -> u32 {
    2
}
fn failover_status() -> Vec<u16> {
    vec![503]
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}

impl Ipsmgw {
    /// What the border takes of the section.
    #[must_use]
    pub fn border(&self) -> sip_stack::Settings<'_> {
        let realm = RealmSettings {
            name: CORE,
            side: Side::Core,
            listen: Cow::Borrowed(&self.listen),
            advertise: self.advertise.as_deref(),
            trusted: false,
            trusted_peers: &[],
            passes: sip::HeaderSet::default(),
            hide_hosts: false,
            in_dialog_source: InDialogSource::Realm,
            register_required: false,
            is_mutual: self.tls.as_ref().is_some_and(|tls| tls.verify_clients),
        };
        let hops = self.next_hop.iter().map(|hop| HopSettings {
            name: &hop.name,
            realm: CORE,
            targets: &hop.targets,
            tls_name: hop.tls_name.as_deref(),
            probe_interval: seconds(hop.probe_interval_s),
            probe_failures: hop.probe_failures,
            failover_status: &hop.failover_status,
            overload_control: false,
        });
        sip_stack::Settings { realms: vec![realm], hops: hops.collect(), routes: &[] }
    }

    /// The gateway's own URI.
    #[must_use]
    pub fn own_uri(&self) -> String {
        let made = || format!("sip:+{}@{}", self.number, self.domain);
        self.uri.clone().unwrap_or_else(made)
    }

    /// What the gateway is told; none where the number is none.
    #[must_use]
    pub fn settings(&self) -> Option<Settings> {
        let number = Msisdn::of(&self.number)?;
        let title = Title::e164(Digits::parse(&self.number)?);
        let (timers, limits, own) = (&self.timers, &self.limits, &self.signalling);
        let is_local = self.mode == Mode::Local;
        let networks = self.network.iter().map(|it| it.network(own.hlr_subsystem));
        let final_causes = if is_local { &self.centre.final_causes } else { &own.final_causes };
        Some(Settings {
            address: SccpAddress::title(title, own.subsystem),
            number,
            subsystems: Subsystems {
                hlr: own.hlr_subsystem,
                centre: own.centre_subsystem,
                msc: own.msc_subsystem,
            },
            networks: networks.collect::<Option<_>>()?,
            shares: own.shares(),
            correlation_prefix: own.correlation_prefix.clone(),
            correlation_time: seconds(own.correlation_s),
            report_time: seconds(timers.report_s),
            flow_time: seconds(timers.flow_s),
            duplicate_time: seconds(timers.duplicate_s),
            waiting_time: seconds(own.waiting_s),
            final_causes: final_causes.clone(),
            begin_octets_max: own.begin_octets_max.into(),
            sender_rate: Rate::new(limits.sender_per_s.into(), Some(limits.sender_burst)),
            allowed: own.allowed.clone(),
            flows_max: limits.flows_max,
            has_standby: self.replica.is_some(),
            terminals: Terminals {
                domains: vec![self.domain.clone()],
                take_by_default: self.sms_by_default,
            },
            local: is_local.then(|| self.local()),
            home: self.home(),
        })
    }

    fn home(&self) -> Home {
        if self.diameter.is_none() {
            return Home::default();
        }
        let asks = |what: fn(&HomeKeys) -> bool| self.hss.as_ref().is_some_and(what);
        Home {
            numbers: asks(|it| it.numbers),
            reachability: asks(|it| it.reachability),
            charges: self.charging.is_some(),
            charges_deliveries: self.charging.as_ref().is_some_and(|it| it.deliveries),
            destinations: self.diameter_destination.clone(),
            answer_time: self.peers_answer_time(),
        }
    }

    /// What the links take of the section.
    #[must_use]
    pub fn links(&self) -> tcu_stack::config::Section<'_> {
        tcu_stack::config::Section {
            name: &self.name,
            link: &self.link,
            dialogues_max: usize::try_from(self.signalling.dialogues_max).unwrap_or(usize::MAX),
            first_port: LINK_PORT,
        }
    }

    fn local(&self) -> Local {
        let centre = &self.centre;
        let wide = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
        Local {
            numbers: centre.numbers.clone(),
            country_code: centre.country_code.clone(),
            plan: Plan {
                messages_max: wide(centre.messages_max),
                messages_per_receiver_max: wide(centre.messages_per_subscriber_max),
                retries: centre.retries_s.iter().map(|it| seconds(*it)).collect(),
            },
            validity: seconds(centre.validity_s),
            validity_max: seconds(centre.validity_max_s),
            parts_max: centre.parts_max.into(),
            quarters: i8::try_from(centre.utc_offset_min / 15).unwrap_or_default(),
        }
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        let (capture, key) = (self.capture.as_deref(), &self.capture_key);
        trail::settings(CAPTURE_PORT, capture, self.capture_id, key)
    }

    /// The ports that the runtime shall open: every listener, and the ways to the collector and to
    /// signalling gateways.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let listeners = realm::listeners(core::iter::once(&self.listen[..]));
        let listeners = listeners.into_iter().map(|(_, id, address)| {
            let tls = self.tls.as_ref().map(|tls| Arc::new(tls.spec()));
            let stream = StreamSpec { tls, ..StreamSpec::default() };
            PortSpec {
                id,
                name: address.transport.word().to_owned(),
                listen: address.socket,
                ahead: self.replica.as_ref().is_some_and(|it| it.holds(address.socket.ip())),
                carrier: Carrier::of(address.transport, true, stream),
                ..PortSpec::default()
            }
        });
        let capture = self.capture_settings().flow.map(|flow| trail::port_of(&flow));
        let further = self.links().ports().into_iter().chain(self.diameter_ports());
        listeners.chain(capture).chain(further).collect()
    }

    /// How recent the journal of a node of a pair is; none of one that begins, and without one.
    ///
    /// # Errors
    /// That cannot be read.
    pub fn recall(&self) -> std::io::Result<Option<Term>> {
        match &self.backend {
            keyed::Backend::Journal(journal) => journal.recall(),
            keyed::Backend::Memory | keyed::Backend::Ring(_) => Ok(None),
        }
    }

    /// Finds what is wrong; paths begin inside the section (`next_hop[0].targets[1]`).
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.name.is_empty() {
            issues.push(Issue::new("name", "the name is empty", "give it a name"));
        }
        if self.name.contains(['/', '\0']) {
            let what = "files and directories of the function are named after it";
            issues.push(Issue::new("name", what, "use a name without a slash"));
        }
        if Msisdn::of(&self.number).is_none() {
            let hint = "write digits with the country code and without a plus sign";
            issues.push(Issue::new("number", "it is no international number", hint));
        }
        let is_host = |it: &str| {
            !it.is_empty()
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || b".-[]:".contains(&it))
        };
        if !is_host(&self.domain) {
            let hint = "write the domain of the subscribers, as in ims.example.org";
            issues.push(Issue::new("domain", "it is no domain", hint));
        }
        if self.uri.as_ref().is_some_and(|it| sip::Uri::parse(it.as_bytes()).is_err()) {
            issues.push(Issue::new("uri", "it is no URI", "write sip:sms@ims.example.org"));
        }
        if let Some((why, hint)) = trail::objection(self.capture.as_deref()) {
            issues.push(Issue::new("capture", why, hint));
        }
        self.validate_shards(issues);
        self.validate_listen(issues);
        self.validate_next_hops(issues);
        match self.mode {
            Mode::Local => self.validate_local(issues),
            Mode::Gateway => self.validate_gateway(issues),
        }
        self.validate_centre(issues);
        self.validate_diameter(issues);
        self.validate_records(issues);
        let mut store = Vec::new();
        self.store.validate(&mut store);
        issues.extend(store.into_iter().map(|it| it.under("store")));
        self.validate_replica(issues);
        self.validate_numbers(issues);
    }

    fn validate_replica(&self, issues: &mut Vec<Issue>) {
        let Some(replica) = &self.replica else { return };
        let mut own = Vec::new();
        replica.validate(&mut own);
        issues.extend(own.into_iter().map(|issue| issue.under("replica")));
        if self.store.backend == BackendKey::Cassandra {
            let what = "the rows of a ring have no standby: every gateway of it takes any message";
            issues.push(Issue::new(
                "replica",
                what,
                "leave it out, or let the backend be embedded",
            ));
        }
    }

    fn validate_shards(&self, issues: &mut Vec<Issue>) {
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            let what = format!("{} is out of range", self.shards);
            issues.push(Issue::new("shards", what, format!("use 1 to {SHARDS_MAX}")));
        }
        if self.cores.len() > usize::from(self.shards.max(1)) {
            let what = format!("more cores than shards, of which there are {}", self.shards);
            issues.push(Issue::new("cores", what, "name one for each shard, or none"));
        }
    }

    /// What is said of a network that is not there.
    fn validate_local(&self, issues: &mut Vec<Issue>) {
        let hint = "set mode = \"gateway\", or leave it out";
        let what = "the gateway is the service centre itself: nothing goes to SS7";
        if !self.link.is_empty() {
            issues.push(Issue::new("link", what, hint));
        }
        if !self.network.is_empty() {
            issues.push(Issue::new("network", what, hint));
        }
    }

    fn validate_gateway(&self, issues: &mut Vec<Issue>) {
        if self.link.is_empty() && self.diameter_destination.is_empty() {
            let hint = "add [[ipsmgw.link]] with the address of an [[sgc.application]]";
            issues.push(Issue::new("link", "there is no way into the network", hint));
        }
        self.links().validate(issues);
        if self.network.is_empty() {
            let hint = "add [[ipsmgw.network]] with the numbers of its subscribers";
            issues.push(Issue::new("network", "nobody is served: there is no network", hint));
        }
        for (n, network) in self.network.iter().enumerate() {
            let at = format!("network[{n}]");
            network.validate(&at, issues);
            if self.network[..n].iter().any(|it| it.name == network.name) {
                let what = format!("the name `{}` is given twice", network.name);
                issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
            }
            for (m, digits) in network.numbers.iter().enumerate() {
                let has = |it: &&NetworkKeys| it.numbers.contains(digits);
                if let Some(first) = self.network[..n].iter().find(has) {
                    let what = format!("network `{}` has the same numbers", first.name);
                    let hint = "write each in one network: the first one has them";
                    issues.push(Issue::new(format!("{at}.numbers[{m}]"), what, hint));
                }
            }
        }
        self.signalling.validate(self.store.rows_max, issues);
    }

    fn validate_listen(&self, issues: &mut Vec<Issue>) {
        if self.listen.is_empty() {
            let hint = "add listen = [\"udp:127.0.0.1:5090\"]";
            issues.push(Issue::new("listen", "it listens nowhere", hint));
        }
        let mut seen: Vec<Address> = Vec::new();
        for (n, listen) in self.listen.iter().enumerate() {
            let at = format!("listen[{n}]");
            let address = match listen.parse::<Address>() {
                Ok(address) => address,
                Err(why) => {
                    issues.push(Issue::new(at, why, "write udp:127.0.0.1:5090"));
                    continue;
                }
            };
            if address.transport == Transport::Tls && self.tls.is_none() {
                let hint = "add [ipsmgw.tls] with certificate and key";
                issues.push(Issue::new(at.clone(), "tls needs a certificate and a key", hint));
            }
            if address.socket.ip().is_unspecified() && self.advertise.is_none() {
                let hint = "set advertise to the host that others shall see";
                let what = "others cannot reach an unspecified address";
                issues.push(Issue::new(at.clone(), what, hint));
            }
            let clash = |other: &Address| {
                other.socket == address.socket
                    && other.transport.is_stream() == address.transport.is_stream()
            };
            if seen.iter().any(clash) {
                let what = format!("{} is listened on twice", address.socket);
                issues.push(Issue::new(at, what, "use another port"));
            }
            seen.push(address);
        }
    }

    fn validate_next_hops(&self, issues: &mut Vec<Issue>) {
        if self.next_hop.is_empty() {
            let hint = "add [[ipsmgw.next_hop]] with the targets of the S-CSCF";
            issues.push(Issue::new("next_hop", "nobody is heard: there is no next hop", hint));
        }
        let names = || self.next_hop.iter().map(|it| it.name.as_str());
        if let Some(name) = self.interrogating.as_ref().filter(|it| !names().any(|own| own == **it))
        {
            let hint = meant(name, names(), "add [[ipsmgw.next_hop]] with that name");
            let what = format!("no next hop is called `{name}`");
            issues.push(Issue::new("interrogating", what, hint));
        }
        for (index, hop) in self.next_hop.iter().enumerate() {
            let at = format!("next_hop[{index}]");
            if hop.name.is_empty() {
                issues.push(Issue::new(
                    format!("{at}.name"),
                    "the name is empty",
                    "give it a name",
                ));
            } else if self.next_hop[..index].iter().any(|it| it.name == hop.name) {
                let what = format!("the name `{}` is given twice", hop.name);
                issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
            }
            if hop.targets.is_empty() {
                let hint = "add targets = [\"udp:127.0.0.1:6060\"]";
                issues.push(Issue::new(at.clone(), "the next hop has no target", hint));
            }
            for (n, target) in hop.targets.iter().enumerate() {
                self.validate_target(target, format!("{at}.targets[{n}]"), issues);
            }
        }
    }

    fn validate_target(&self, target: &str, at: String, issues: &mut Vec<Issue>) {
        let address = match Target::parse(target) {
            Ok(Target::Domain(_)) => return,
            Ok(Target::Address(address)) => address,
            Err(why) => {
                let hint = "write udp:127.0.0.1:6060 or sip:scscf.example.org";
                return issues.push(Issue::new(at, why, hint));
            }
        };
        let own = self.listen.iter().filter_map(|it| it.parse::<Address>().ok());
        let speaks = |it: Address| {
            it.transport == address.transport && it.socket.is_ipv4() == address.socket.is_ipv4()
        };
        if !own.into_iter().any(speaks) {
            let what = format!("no address of `listen` speaks to {target}");
            issues.push(Issue::new(at, what, "add one"));
        }
    }

    fn validate_centre(&self, issues: &mut Vec<Issue>) {
        let centre = &self.centre;
        let are_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        for (n, digits) in centre.numbers.iter().enumerate() {
            if !are_digits(digits) {
                let at = format!("centre.numbers[{n}]");
                issues.push(Issue::new(at, "they are no digits", "write what numbers begin with"));
            }
        }
        if let Some(code) = centre.country_code.as_deref() {
            let at = "centre.country_code";
            let begins = |it: &String| it.starts_with(code) || code.starts_with(it.as_str());
            if !are_digits(code) || code.len() > 3 {
                issues.push(Issue::new(at, "it is no country code", "write one to three digits"));
            } else if !centre.numbers.is_empty() && !centre.numbers.iter().any(begins) {
                let what = format!("none of `numbers` begins with {code}: nobody is found by it");
                let hint = "write the code that `numbers` begin with, or leave it out";
                issues.push(Issue::new(at, what, hint));
            }
        }
        if centre.retries_s.is_empty() || centre.retries_s.contains(&0) {
            let hint = "write seconds, as in [60, 300, 3600]";
            issues.push(Issue::new("centre.retries_s", "it says no time to try again", hint));
        }
        if centre.utc_offset_min % 15 != 0 || !(-720..=840).contains(&centre.utc_offset_min) {
            let hint = "write quarters of an hour in minutes, from -720 to 840";
            issues.push(Issue::new("centre.utc_offset_min", "there is no such zone", hint));
        }
        if centre.validity_s > centre.validity_max_s {
            let hint = "raise validity_max_s or lower validity_s";
            issues.push(Issue::new("centre.validity_s", "longer than validity_max_s", hint));
        }
    }

    fn validate_numbers(&self, issues: &mut Vec<Issue>) {
        let (t, l, c) = (&self.timers, &self.limits, &self.centre);
        let checks = [
            ("timers.t1_ms", t.t1_ms, 10, 10_000),
            ("timers.t2_ms", t.t2_ms, t.t1_ms, 60_000),
            ("timers.t4_ms", t.t4_ms, t.t1_ms, 60_000),
            ("timers.report_s", t.report_s, 1, 600),
            ("timers.flow_s", t.flow_s, 1, 600),
            ("timers.duplicate_s", t.duplicate_s, 1, 3_600),
            ("limits.flows_max", l.flows_max, 16, 1 << 24),
            ("limits.transactions_max", l.transactions_max, 16, 1 << 26),
            ("limits.sender_burst", l.sender_burst, 1, 1_000_000),
            ("limits.retry_after_s", l.retry_after_s, 0, DAY_S),
            ("limits.connections_max", l.connections_max, 1, 1_000_000),
            ("limits.connection_idle_s", l.connection_idle_s, 1, DAY_S),
            ("centre.validity_s", c.validity_s, 60, 366 * DAY_S),
            ("centre.validity_max_s", c.validity_max_s, 60, 366 * DAY_S),
            ("centre.parts_max", c.parts_max.into(), 1, 255),
            ("centre.messages_max", c.messages_max, 1, 1 << 30),
            ("centre.messages_per_subscriber_max", c.messages_per_subscriber_max, 1, 1 << 20),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }
}
