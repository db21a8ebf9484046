//! The `[[ssc]]` section of a site file: its shape, its help (the doc comments) and its checks.

mod ipsec;

use admission::{CallLimit, Overload, RealmLimits, Resources};
pub use admission::{Kernel, SourcePolicing};
use config::{Issue, meant};
pub use ims::Ipsec;
use machine::Duration;
use manipulation::{RuleConfig, Rules};
pub use media_stack::config::Media;
pub use media_stack::realm::RealmMedia;
use runtime::{Carrier, Flow, PortId, PortSpec, StreamSpec, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sip::{Header, trust};
use sip_stack::config::{Route, Target, Tls, headers};
use sip_stack::realm::{self, Address, InDialogSource, PORTS_MAX, REALMS_MAX, RealmId, Side};
use sip_stack::session::Interval;
use sip_stack::{HopSettings, RealmSettings, Settings};
use std::net::IpAddr;
use std::sync::Arc;

/// The port that captured messages leave by, beyond those of all listeners.
pub const CAPTURE_PORT: PortId = PortId(PORTS_MAX);
/// The port of the first media controller; those of the others follow.
pub const MEDIA_PORT: PortId = PortId(CAPTURE_PORT.0 + 1);
/// The first port of IPsec, and how many there are: numbers by a hash, as those of listeners.
pub const IPSEC_PORT: PortId = PortId(PORTS_MAX + PORTS_MAX / 2);
/// See [`IPSEC_PORT`].
pub const IPSEC_PORTS: u16 = 1 << 10;

/// A signalling session controller: a back-to-back user agent between realms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ssc {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Number of shards: threads that share nothing.
    #[serde(default = "one")]
    pub shards: u16,
    /// Cores to pin the shards to, in order; empty leaves it to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Whether datagrams of equal size between the same two addresses travel the kernel in one
    /// piece (`UDP_SEGMENT`, `UDP_GRO`).
    #[serde(default = "yes")]
    pub udp_runs: bool,
    /// Where messages and events go.
    #[serde(flatten)]
    pub capture: trail::Section<2_001>,
    /// The other node of a pair that stands in for this one; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<replica::Replica>,
    /// The sides of the controller.
    #[serde(default)]
    pub realm: Vec<Realm>,
    /// Where requests go.
    #[serde(default)]
    pub next_hop: Vec<NextHop>,
    /// Which request goes to which next hop; the first match wins.
    #[serde(default)]
    pub route: Vec<Route>,
    /// Rules that change headers where messages cross the border of a realm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<RuleConfig>,
    /// The registrar front.
    #[serde(default)]
    pub registrar: registrar::Config,
    /// Timers.
    #[serde(default)]
    pub timers: Timers,
    /// Limits, each per shard.
    #[serde(default)]
    pub limits: Limits,
    /// Overload control.
    #[serde(default)]
    pub overload: Overload,
    /// What calls cost.
    #[serde(default)]
    pub resources: Resources,
    /// Policing of sources.
    #[serde(default)]
    pub shield: SourcePolicing,
    /// Media controllers, which anchor the media of calls.
    #[serde(default)]
    pub media: Media,
}

/// A realm: a side of the controller with its own addresses and its own trust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Realm {
    /// Name, unique in the function.
    pub name: String,
    /// `access` (subscribers) or `core` (the operator's network).
    #[serde(default)]
    pub side: Side,
    /// Addresses to listen on: `udp:127.0.0.1:5060`, `tcp:[::1]:5060`, `tls:127.0.0.1:5061`.
    pub listen: Vec<String>,
    /// Host to write into Via and Contact in place of the listening address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// Whether the far ends belong to the trust domain of RFC 3325: identities asserted by them
    /// are believed, ours are shown to them.
    #[serde(default)]
    pub trusted: bool,
    /// Names in certificates of far ends (`verify_clients`) that are believed although the realm is
    /// not trusted: `core.example.org`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_peers: Vec<String>,
    /// Headers that cross although this realm is not trusted, both ways: `["History-Info"]`. The
    /// others of the trust domain's (docs/sbc.md has them all) are taken out of what comes from
    /// here, or of what goes here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_headers: Vec<String>,
    /// Octets that wait for one far end that reads slowly (TCP, TLS); what comes on top is shed.
    #[serde(default = "send_queue_octets_max")]
    pub send_queue_octets_max: u32,
    /// Hide this realm's IP addresses from the other realms: in From, To, P-Asserted-Identity and
    /// Referred-By an IP address becomes that of the realm it goes to; domain names stay.
    #[serde(default = "yes")]
    pub hide_hosts: bool,
    /// Accept requests other than REGISTER only from registered contacts.
    #[serde(default)]
    pub register_required: bool,
    /// Expiry told to the clients of this realm, seconds; absent: that of `[ssc.registrar]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_expires_s: Option<u32>,
    /// Where requests inside a call (and the CANCEL of one) may come from, beside their Call-ID
    /// and tags, which whoever sees a message can read: `flow`, address and port of the far end;
    /// `address`, its address (of IPv6: /64); `realm`, whoever is in the realm. Over TCP and TLS
    /// the address suffices for `flow`, and a call over TLS is spoken to over TLS alone, but with
    /// `realm`. The subscriber's registrations, other targets of the same next hop and, on the
    /// core side, the addresses in Contact and Record-Route count as well. Others are refused with
    /// 403, from another realm with 481. Absent: `realm` for a trusted core realm, where any
    /// member of a cluster may hang up, else `address`, for a NAT may change the port in the middle
    /// of a call (`flow` loses such a call's BYE until the phone has registered again).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_dialog_source: Option<InDialogSource>,
    /// Certificate and key for `tls:` addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Limits of the calls that come from this realm.
    #[serde(default)]
    pub limit: CallLimit,
    /// Limits of each subscriber of this realm: the address of record he is registered with, else
    /// the address that he sends from (of IPv6: its /64); where what he asserts is believed, the
    /// URI in From.
    #[serde(default)]
    pub subscriber_limit: CallLimit,
    /// How media pass; absent: as they are, unless the other realm of a call has them anchored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<RealmMedia>,
    /// IPsec between phones of IMS and this realm (TS 33.203); absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipsec: Option<Ipsec>,
}

/// A next hop: one peer at one or more targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextHop {
    /// Name, unique in the function.
    pub name: String,
    /// Realm it is reached through.
    pub realm: String,
    /// Targets in order of preference: `udp:127.0.0.1:5080`, or a domain for RFC 3263:
    /// `sip:core.example.org`.
    pub targets: Vec<String>,
    /// Name that the certificates of its `tls:` targets must carry; absent: the domain looked up,
    /// or the target's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_name: Option<String>,
    /// Seconds between OPTIONS probes; 0 is off. A target is up until probes fail; one that went
    /// down is probed after 1, 2, 4 … seconds, up to these.
    #[serde(default = "probe_interval_s")]
    pub probe_interval_s: u32,
    /// Probes that must fail in a row before the target counts as down: each has until the next
    /// one, 32 s at most.
    #[serde(default = "probe_failures")]
    pub probe_failures: u32,
    /// Final answers after which the next target is tried.
    #[serde(default = "failover_status")]
    pub failover_status: Vec<u16>,
    /// Whether it is told that its overload control feedback (RFC 7339, `loss`) is obeyed: new
    /// requests that it does not want go to the next target, or are answered 503.
    #[serde(default)]
    pub overload_control: bool,
    /// Limits of the calls that go to this next hop.
    #[serde(default)]
    pub limit: CallLimit,
}

/// Timers (RFC 3261 Table 4, RFC 4028).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timers {
    /// T1, round-trip estimate, milliseconds.
    pub t1_ms: u32,
    /// T2, longest retransmission interval, milliseconds.
    pub t2_ms: u32,
    /// T4, longest life of a message in the network, milliseconds.
    pub t4_ms: u32,
    /// Time without any answer after which the next target is tried, milliseconds. The last
    /// target has the whole of timer B or F.
    pub failover_ms: u32,
    /// Time from the INVITE to a final answer, seconds; then the call is cancelled; 0 is off.
    pub no_answer_s: u32,
    /// Session interval asked for when the caller asks for none, seconds; 0 leaves session
    /// timers to the far ends (their agreement is supervised all the same).
    pub session_expires_s: u32,
    /// Smallest session interval accepted, seconds (422 below; RFC 4028 says 90 at least).
    pub min_se_s: u32,
    /// Longest life of an answered call, seconds; then both legs get a BYE; 0 is off. Without
    /// it a call whose network died, and whose ends agreed on no session timer, stands forever.
    pub call_max_s: u32,
    /// Longest time captured messages wait before they are sent, milliseconds.
    pub capture_ms: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            t1_ms: 500,
            t2_ms: 4_000,
            t4_ms: 5_000,
            failover_ms: 4_000,
            no_answer_s: 180,
            session_expires_s: 0,
            min_se_s: 90,
            call_max_s: CALL_MAX_S,
            capture_ms: 5,
        }
    }
}

/// Limits of one shard. What exceeds them is answered 503 with Retry-After and counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls and subscriptions at the same time.
    pub calls_max: u32,
    /// Requests under way at the same time.
    pub relays_max: u32,
    /// Octets of memory for them: of each 1,024 and three times its length. One source (of IPv6: a
    /// /56) has at most as much as is left.
    pub requests_octets_max: u32,
    /// Transactions, those that only absorb retransmissions included.
    pub transactions_max: u32,
    /// Registered contacts.
    pub bindings_max: u32,
    /// Captured octets that wait for the collector.
    pub capture_octets_max: u32,
    /// Retry-After of a 503, seconds.
    pub retry_after_s: u32,
    /// Whether new calls, other than for help, are refused while the other node of the pair is
    /// heard and lacks half of what the log takes (32 MB of changes). Otherwise they are served,
    /// and when the log is full that node is told everything anew: a failure meanwhile would lose
    /// calls.
    pub refuse_while_behind: bool,
    /// Connections of one shard over TCP and TLS. When there are as many, those make room whose
    /// address (of IPv6: /56) has more than its share, the silent ones first.
    pub connections_max: u32,
    /// TLS handshakes at the same time; when there are as many, the same.
    pub handshakes_max: u32,
    /// Time for an accepted connection to send its first whole message, seconds.
    pub first_message_s: u32,
    /// Time without a whole message or a keep-alive after which a connection is closed, seconds.
    pub connection_idle_s: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_max: 500_000,
            relays_max: 500_000,
            requests_octets_max: 2 << 30,
            transactions_max: 4_000_000,
            bindings_max: 1_000_000,
            capture_octets_max: 4 << 20,
            retry_after_s: 5,
            refuse_while_behind: false,
            connections_max: 15_000,
            handshakes_max: 4_096,
            first_message_s: 30,
            connection_idle_s: 1_200,
        }
    }
}

/// Twelve hours: longer than any call that people hold.
pub(crate) const CALL_MAX_S: u32 = 43_200;

const fn one() -> u16 {
    1
}
const fn yes() -> bool {
    true
}
const fn send_queue_octets_max() -> u32 {
    4 << 20
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

impl Timers {
    /// What they say of session timers.
    pub(crate) const fn interval(&self) -> Interval {
        let (session_expires_s, min_se_s) = (self.session_expires_s, self.min_se_s);
        let subscription_max_s = if self.call_max_s == 0 { CALL_MAX_S } else { self.call_max_s };
        Interval { session_expires_s, min_se_s, subscription_max_s }
    }
}

impl Ssc {
    /// What the registrar is told.
    pub(crate) fn registrar(&self) -> registrar::Config {
        let of_realms = self.realm.iter().map(|realm| realm.client_expires_s).collect();
        registrar::Config { of_realms, ..self.registrar.clone() }
    }

    /// Every listener: its realm, its port, its address.
    #[must_use]
    pub fn listeners(&self) -> Vec<(RealmId, PortId, Address)> {
        let listens: Vec<_> = self.realm.iter().map(Realm::listens).collect();
        realm::listeners(listens.iter().map(|listens| &listens[..]))
    }

    /// What the border takes of the section.
    #[must_use]
    pub fn border(&self) -> Settings<'_> {
        Settings {
            realms: self.realm.iter().map(Realm::settings).collect(),
            hops: self.next_hop.iter().map(NextHop::settings).collect(),
            routes: &self.route,
        }
    }

    /// What admission takes of the section.
    #[must_use]
    pub fn admission(&self) -> admission::Settings<'_> {
        let realms = self.realm.iter().map(|realm| RealmLimits {
            name: &realm.name,
            calls: &realm.limit,
            subscriber: &realm.subscriber_limit,
        });
        admission::Settings {
            resources: &self.resources,
            realms: realms.collect(),
            hops: self.next_hop.iter().map(|hop| (&*hop.name, &hop.limit)).collect(),
            delay_target: Duration::from_millis(self.overload.delay_target_ms.into()),
        }
    }

    /// Whether `ip` is an address that the active node of the pair holds.
    #[must_use]
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.replica.as_ref().is_some_and(|replica| replica.holds(ip))
    }

    /// The ports that the runtime shall open: every listener and the way to the collector.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let realm = |id: RealmId| &self.realm[usize::from(id.0)];
        let listeners = self.listeners().into_iter();
        let listeners = listeners.filter(|(id, _, address)| !realm(*id).is_inside(address));
        let listeners = listeners.map(|(id_of_realm, id, address)| {
            let realm = realm(id_of_realm);
            let stream = StreamSpec {
                queue_bytes_max: Some(realm.send_queue_octets_max as usize),
                tls: realm.tls.as_ref().map(|tls| Arc::new(tls.spec())),
                ..StreamSpec::default()
            };
            PortSpec {
                id,
                name: format!("{} {}", realm.name, address.transport.word()),
                listen: address.socket,
                ahead: self.holds(address.socket.ip()),
                carrier: Carrier::of(address.transport, self.udp_runs, stream),
                ..PortSpec::default()
            }
        });
        let capture = self.capture_flow().map(|flow| trail::port_of(&flow));
        let media = self.media.ports(MEDIA_PORT);
        listeners.chain(capture).chain(media).chain(self.ipsec_ports()).collect()
    }

    /// The collector's address.
    #[must_use]
    pub fn capture_address(&self) -> Option<Address> {
        self.capture.collector.as_deref()?.parse().ok()
    }

    /// From us to the collector.
    #[must_use]
    pub fn capture_flow(&self) -> Option<Flow> {
        self.capture_address().map(|address| trail::flow_to(CAPTURE_PORT, address))
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        trail::Settings {
            flow: self.capture_flow(),
            capture_id: self.capture.agent,
            key: self.capture.key.clone(),
            wait: Duration::from_millis(self.timers.capture_ms.into()),
            octets_max: self.limits.capture_octets_max as usize,
        }
    }

    /// Finds what is wrong; paths begin inside the section (`realm[1].listen[0]`).
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.name.is_empty() {
            issues.push(Issue::new("name", "the name is empty", "give it a name"));
        }
        if self.shards == 0 || self.shards > 256 {
            issues.push(Issue::new("shards", "a function has 1 to 256 shards", "set 1"));
        }
        if let Some((why, hint)) = self.capture.objection() {
            issues.push(Issue::new("capture", why, hint));
        }
        if let Some(replica) = &self.replica {
            let mut own = Vec::new();
            replica.validate(&mut own);
            issues.extend(own.into_iter().map(|issue| issue.under("replica")));
        }
        self.validate_realms(issues);
        self.validate_next_hops(issues);
        self.validate_routes(issues);
        self.validate_numbers(issues);
        self.validate_limits(issues);
        self.shield.validate(issues);
        self.validate_media(issues);
        self.validate_ipsec(issues);
        let realms: Vec<&str> = self.realm.iter().map(|realm| realm.name.as_str()).collect();
        if let Err(found) = Rules::compile(&self.rule, &realms) {
            issues.extend(found.into_iter().map(|fault| {
                let near = fault.unknown_realm.as_deref().map(|name| self.realm_meant(name));
                Issue::new(fault.path, fault.what, near.unwrap_or(fault.hint))
            }));
        }
    }

    fn validate_media(&self, issues: &mut Vec<Issue>) {
        let mut own = Vec::new();
        self.media.validate(&mut own);
        issues.extend(own.into_iter().map(|issue| issue.under("media")));
        for (index, realm) in self.realm.iter().enumerate() {
            let Some(media) = &realm.media else { continue };
            let at = format!("realm[{index}].media");
            media.validate(&at, issues);
            if media.anchor && self.media.controller.is_empty() {
                let hint = "add [[ssc.media.controller]] with name and address";
                issues.push(Issue::new(at, "no media controller anchors its media", hint));
            }
        }
    }

    fn validate_realms(&self, issues: &mut Vec<Issue>) {
        if self.realm.is_empty() {
            issues.push(Issue::new("realm", "no realm", "add [[ssc.realm]] twice or more"));
        }
        if self.realm.len() > REALMS_MAX {
            issues.push(Issue::new("realm", "more than 256 realms", "use several functions"));
        }
        let mut seen: Vec<Address> = Vec::new();
        for (index, realm) in self.realm.iter().enumerate() {
            let at = format!("realm[{index}]");
            let twice = self.realm[..index].iter().any(|other| other.name == realm.name);
            named(&realm.name, twice, &at, issues);
            if realm.listen.is_empty() {
                let hint = "add listen = [\"udp:127.0.0.1:5060\"]";
                issues.push(Issue::new(at.clone(), "the realm listens nowhere", hint));
            }
            let checks_clients = realm.tls.as_ref().is_some_and(|tls| tls.verify_clients);
            if !realm.trusted_peers.is_empty() && !checks_clients {
                let hint = "set verify_clients = true in [ssc.realm.tls]";
                let at = format!("{at}.trusted_peers");
                issues.push(Issue::new(at, "nobody proves a name here", hint));
            }
            if !(1 << 16..=1 << 30).contains(&realm.send_queue_octets_max) {
                let what = format!("{} is out of range", realm.send_queue_octets_max);
                let at = format!("{at}.send_queue_octets_max");
                issues.push(Issue::new(at, what, "use 65536 to 1073741824"));
            }
            if realm.client_expires_s.is_some_and(|it| it < self.registrar.client_expires_min_s) {
                let hint = "write `client_expires_min_s` of [ssc.registrar] or more";
                let at = format!("{at}.client_expires_s");
                issues.push(Issue::new(at, "it is less than clients may ask for", hint));
            }
            // A longer one than the core's is never answered here: each REGISTER goes to the core.
            if realm.client_expires_s.is_some_and(|it| it > self.registrar.core_expires_s) {
                let hint = "write `core_expires_s` of [ssc.registrar] or less";
                let at = format!("{at}.client_expires_s");
                issues.push(Issue::new(at, "it is more than is asked of the core", hint));
            }
            realm.validate_passes(&at, issues);
            for (n, listen) in realm.listen.iter().enumerate() {
                let at = format!("{at}.listen[{n}]");
                match listen.parse::<Address>() {
                    Err(why) => issues.push(Issue::new(at, why, "write udp:127.0.0.1:5060")),
                    Ok(address) => check_listen(realm, address, &mut seen, at, issues),
                }
            }
        }
    }

    fn validate_next_hops(&self, issues: &mut Vec<Issue>) {
        counted("next_hop", self.next_hop.len(), issues);
        for (index, hop) in self.next_hop.iter().enumerate() {
            let at = format!("next_hop[{index}]");
            counted(&format!("{at}.targets"), hop.targets.len(), issues);
            let twice = self.next_hop[..index].iter().any(|other| other.name == hop.name);
            named(&hop.name, twice, &at, issues);
            let realm = self.realm.iter().find(|realm| realm.name == hop.realm);
            if realm.is_none() {
                let what = format!("no realm is called `{}`", hop.realm);
                issues.push(Issue::new(format!("{at}.realm"), what, self.realm_meant(&hop.realm)));
            }
            if hop.targets.is_empty() {
                let hint = "add targets = [\"udp:127.0.0.1:5080\"]";
                issues.push(Issue::new(at.clone(), "the next hop has no target", hint));
            }
            for (n, target) in hop.targets.iter().enumerate() {
                let at = format!("{at}.targets[{n}]");
                check_target(target, realm, at, issues);
            }
            for (n, status) in hop.failover_status.iter().enumerate() {
                if !(300..700).contains(status) {
                    let at = format!("{at}.failover_status[{n}]");
                    issues.push(Issue::new(at, "not a final failure", "use 300 to 699"));
                }
            }
        }
    }

    fn validate_routes(&self, issues: &mut Vec<Issue>) {
        counted("route", self.route.len(), issues);
        for (index, route) in self.route.iter().enumerate() {
            let at = format!("route[{index}]");
            if !self.realm.iter().any(|realm| realm.name == route.from) {
                let what = format!("no realm is called `{}`", route.from);
                issues.push(Issue::new(format!("{at}.from"), what, self.realm_meant(&route.from)));
            }
            for (n, to) in route.to.iter().enumerate() {
                if !self.next_hop.iter().any(|hop| hop.name == *to) {
                    let what = format!("no next hop is called `{to}`");
                    let known = self.next_hop.iter().map(|hop| &*hop.name);
                    let hint = meant(to, known, "add [[ssc.next_hop]] with that name");
                    issues.push(Issue::new(format!("{at}.to[{n}]"), what, hint));
                }
            }
            if let Some(Err(error)) = route.user.as_deref().map(regex::bytes::Regex::new) {
                let what = manipulation::pattern_fault(&error.to_string());
                let hint = "write a regular expression, as in `^0900`";
                issues.push(Issue::new(format!("{at}.user"), what, hint));
            }
            let Some(status) = route.reject else { continue };
            let at = format!("{at}.reject");
            if !(300..700).contains(&status) {
                issues.push(Issue::new(&at, "not a final failure", "use 300 to 699"));
            }
            if !route.to.is_empty() {
                let what = "nothing is refused here: `to` takes every request of this route";
                let hint = "remove `to` to refuse them, or `reject` to let them through";
                issues.push(Issue::new(at, what, hint));
            }
        }
    }

    fn validate_numbers(&self, issues: &mut Vec<Issue>) {
        let (t, l) = (&self.timers, &self.limits);
        let checks = [
            ("timers.t1_ms", t.t1_ms, 10, 10_000),
            ("timers.t2_ms", t.t2_ms, t.t1_ms, 60_000),
            ("timers.t4_ms", t.t4_ms, t.t1_ms, 60_000),
            ("timers.failover_ms", t.failover_ms, 100, 64_000),
            ("timers.no_answer_s", t.no_answer_s, 0, 3_600),
            ("timers.session_expires_s", t.session_expires_s, 0, 86_400),
            ("timers.min_se_s", t.min_se_s, 90, 86_400),
            ("timers.call_max_s", t.call_max_s, 0, 31_536_000),
            ("timers.capture_ms", t.capture_ms, 0, 1_000),
            ("limits.calls_max", l.calls_max, 1, 1 << 24),
            ("limits.relays_max", l.relays_max, 1, 1 << 24),
            ("limits.requests_octets_max", l.requests_octets_max, 1 << 20, u32::MAX),
            ("limits.transactions_max", l.transactions_max, 8, 1 << 26),
            ("limits.bindings_max", l.bindings_max, 0, 1 << 26),
            ("limits.capture_octets_max", l.capture_octets_max, 1 << 16, 1 << 30),
            ("limits.retry_after_s", l.retry_after_s, 0, 86_400),
            ("limits.connections_max", l.connections_max, 1, 1_000_000),
            ("limits.handshakes_max", l.handshakes_max, 1, 1 << 16),
            ("limits.first_message_s", l.first_message_s, 1, 86_400),
            ("limits.connection_idle_s", l.connection_idle_s, 1, 86_400),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
        if t.session_expires_s != 0 && t.session_expires_s < t.min_se_s {
            let hint = "raise session_expires_s or lower min_se_s";
            issues.push(Issue::new("timers.session_expires_s", "shorter than min_se_s", hint));
        }
    }

    fn validate_limits(&self, issues: &mut Vec<Issue>) {
        self.overload.validate(issues);
        self.resources.validate(issues);
        for (index, realm) in self.realm.iter().enumerate() {
            realm.limit.validate(&format!("realm[{index}].limit"), issues);
            realm.subscriber_limit.validate(&format!("realm[{index}].subscriber_limit"), issues);
        }
        for (index, hop) in self.next_hop.iter().enumerate() {
            hop.limit.validate(&format!("next_hop[{index}].limit"), issues);
        }
    }

    fn realm_meant(&self, name: &str) -> String {
        meant(name, self.realm.iter().map(|realm| &*realm.name), "add [[ssc.realm]]")
    }
}

impl NextHop {
    fn settings(&self) -> HopSettings<'_> {
        HopSettings {
            name: &self.name,
            realm: &self.realm,
            targets: &self.targets,
            tls_name: self.tls_name.as_deref(),
            probe_interval: Duration::from_secs(self.probe_interval_s.into()),
            probe_failures: self.probe_failures,
            failover_status: &self.failover_status,
            overload_control: self.overload_control,
        }
    }
}

impl Realm {
    fn settings(&self) -> RealmSettings<'_> {
        RealmSettings {
            name: &self.name,
            side: self.side,
            listen: self.listens(),
            advertise: self.advertise.as_deref(),
            trusted: self.trusted,
            trusted_peers: &self.trusted_peers,
            passes: headers(&self.pass_headers),
            hide_hosts: self.hide_hosts,
            in_dialog_source: self.in_dialog_source(),
            register_required: self.register_required,
            is_mutual: self.tls.as_ref().is_some_and(|tls| tls.verify_clients),
        }
    }

    fn validate_passes(&self, at: &str, issues: &mut Vec<Issue>) {
        for (n, name) in self.pass_headers.iter().enumerate() {
            let header = Header::parse(name.as_bytes());
            if !trust::ROWS.iter().any(|row| row.header == header) {
                let names: Vec<_> = trust::ROWS.iter().map(|row| row.header.name()).collect();
                let at = format!("{at}.pass_headers[{n}]");
                let hint = format!("those that do not are {}", names.join(", "));
                issues.push(Issue::new(at, format!("`{name}` crosses anyhow"), hint));
            }
        }
    }

    /// Where requests inside its calls may come from.
    #[must_use]
    pub const fn in_dialog_source(&self) -> InDialogSource {
        match (self.in_dialog_source, self.side, self.trusted) {
            (Some(source), _, _) => source,
            (None, Side::Core, true) => InDialogSource::Realm,
            (None, _, _) => InDialogSource::Address,
        }
    }
}

/// They are numbered in two octets.
fn counted(at: &str, count: usize, issues: &mut Vec<Issue>) {
    if count >= usize::from(u16::MAX) {
        issues.push(Issue::new(at, "more than 65,534", "use several functions"));
    }
}

fn named(name: &str, twice: bool, at: &str, issues: &mut Vec<Issue>) {
    if name.is_empty() {
        issues.push(Issue::new(format!("{at}.name"), "the name is empty", "give it a name"));
    } else if twice {
        let what = format!("the name `{name}` is given twice");
        issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
    }
}

fn check_listen(
    realm: &Realm,
    address: Address,
    seen: &mut Vec<Address>,
    at: String,
    issues: &mut Vec<Issue>,
) {
    let clash = |other: &Address| {
        other.socket == address.socket
            && other.transport.is_stream() == address.transport.is_stream()
    };
    if address.transport == Transport::Tls && realm.tls.is_none() {
        let hint = format!("add [ssc.realm.tls] to realm `{}`", realm.name);
        issues.push(Issue::new(at.clone(), "tls needs a certificate and a key", hint));
    }
    if address.socket.ip().is_unspecified() && realm.advertise.is_none() {
        let hint = "set advertise to the host that others shall see";
        issues.push(Issue::new(at.clone(), "others cannot reach an unspecified address", hint));
    }
    if seen.iter().any(clash) {
        let what = format!("{} is listened on twice", address.socket);
        issues.push(Issue::new(at, what, "use another port"));
    }
    seen.push(address);
}

fn check_target(target: &str, realm: Option<&Realm>, at: String, issues: &mut Vec<Issue>) {
    let address = match Target::parse(target) {
        Err(why) => {
            let hint = "write udp:127.0.0.1:5080 or sip:core.example.org";
            return issues.push(Issue::new(at, why, hint));
        }
        Ok(Target::Domain(_)) => return,
        Ok(Target::Address(address)) => address,
    };
    let Some(realm) = realm else { return };
    let speaks = realm.listen.iter().filter_map(|listen| listen.parse::<Address>().ok()).any(|l| {
        l.transport == address.transport && l.socket.is_ipv4() == address.socket.is_ipv4()
    });
    if !speaks {
        let what = format!("realm `{}` has no address that speaks to {target}", realm.name);
        issues.push(Issue::new(at, what, "add one to its listen"));
    }
}
