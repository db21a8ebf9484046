//! Where to send a request (RFC 3263 §4): from a URI to an ordered list of transports, addresses
//! and ports, through NAPTR, SRV (RFC 2782) and address records.
//!
//! ```text
//! numeric host ─────────────────────────────────────────────→ Found
//! explicit port ────────────────────────────→ A/AAAA ───────→ Found | Nowhere
//! transport known ────────────→ SRV ──(none)─→ A/AAAA ──────→ …
//! otherwise ──→ NAPTR ──(none)─→ SRV of each transport ─(none)─→ A/AAAA ─→ …
//! ```
//! One question is open at a time; the caller asks the DNS and hands the answer back. The list
//! is the failover order of §4.3: try the next when the one before times out or says 503.

use crate::{Scheme, Uri};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::VecDeque;

/// Targets of one request.
pub const TARGETS_MAX: usize = 16;
/// Questions asked for one request.
pub const QUERIES_MAX: usize = 32;
/// Records of one answer that are looked at.
pub const RECORDS_MAX: usize = 32;
/// Port of SIP over UDP and TCP (RFC 3261 §19.1.2).
pub const PORT_SIP: u16 = 5060;
/// Port of SIP over TLS.
pub const PORT_SIPS: u16 = 5061;

/// What carries SIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Datagrams.
    Udp,
    /// A stream.
    Tcp,
    /// A stream inside TLS.
    Tls,
}

impl Carrier {
    const fn port(self) -> u16 {
        match self {
            Self::Tls => PORT_SIPS,
            Self::Udp | Self::Tcp => PORT_SIP,
        }
    }

    /// Service and protocol of the SRV record (RFC 3263 §4.1).
    const fn service(self) -> &'static str {
        match self {
            Self::Udp => "_sip._udp.",
            Self::Tcp => "_sip._tcp.",
            Self::Tls => "_sips._tcp.",
        }
    }

    /// From the services field of a NAPTR record.
    fn of_naptr(services: &str) -> Option<Self> {
        [("SIP+D2U", Self::Udp), ("SIP+D2T", Self::Tcp), ("SIPS+D2T", Self::Tls)]
            .into_iter()
            .find(|(name, _)| services.eq_ignore_ascii_case(name))
            .map(|(_, carrier)| carrier)
    }
}

/// One place to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// What carries the request.
    pub carrier: Carrier,
    /// Address and port.
    pub address: SocketAddr,
}

/// A question to the DNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// NAPTR of a domain.
    Naptr(String),
    /// SRV of a service.
    Srv(String),
    /// A and AAAA of a host.
    Host(String),
}

/// What the DNS said; empty when there is no such record or nobody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// `(order, preference, flags, services, replacement)`.
    Naptr(Vec<(u16, u16, String, String, String)>),
    /// `(priority, weight, port, target)`.
    Srv(Vec<(u16, u16, u16, String)>),
    /// Addresses in the order to try.
    Host(Vec<IpAddr>),
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Ask this, then call [`Locator::answer`].
    Query(Query),
    /// Try these in order; never empty.
    Found(Vec<Target>),
    /// There is nowhere to go, and why; counts as a 503 (§4.3), or a 416 for a foreign scheme.
    Nowhere(&'static str),
}

#[derive(Debug, Clone)]
enum Step {
    Naptr(String),
    Srv(String, Carrier),
    Host(String, u16, Carrier),
    /// The steps behind are the alternative to those before: they are not taken when those
    /// brought any SRV record.
    OrElse,
}

/// The search for one request.
#[derive(Debug, Clone)]
pub struct Locator {
    steps: VecDeque<Step>,
    targets: Vec<Target>,
    /// Which transports we speak, most wanted first.
    carriers: Vec<Carrier>,
    domain: String,
    is_secure: bool,
    found_records: bool,
    queries: usize,
    random: u64,
}

impl Locator {
    /// Begins the search for `uri`; `carriers` are the transports we speak, most wanted first,
    /// and `seed` decides between SRV records of equal priority.
    #[must_use]
    pub fn start(uri: &Uri<'_>, carriers: &[Carrier], seed: u64) -> (Self, Out) {
        let is_secure = uri.scheme == Scheme::Sips;
        let usable = |carrier: &Carrier| !is_secure || *carrier == Carrier::Tls;
        let host = uri.param(b"maddr").filter(|host| !host.is_empty()).unwrap_or(uri.host);
        let mut locator = Self {
            steps: VecDeque::new(),
            targets: Vec::new(),
            carriers: carriers.iter().copied().filter(usable).collect(),
            domain: String::from_utf8_lossy(host).trim_end_matches('.').to_owned(),
            is_secure,
            found_records: false,
            queries: 0,
            random: seed,
        };
        let out = locator.plan(uri);
        (locator, out)
    }

    fn plan(&mut self, uri: &Uri<'_>) -> Out {
        if !matches!(uri.scheme, Scheme::Sip | Scheme::Sips) {
            return Out::Nowhere("the scheme names no host");
        }
        let carrier = match self.carrier_of(uri) {
            Ok(carrier) => carrier,
            Err(why) => return Out::Nowhere(why),
        };
        let default = if self.is_secure { Carrier::Tls } else { Carrier::Udp };
        let chosen = carrier.unwrap_or(default);
        let numeric = address(self.domain.as_bytes());
        if (carrier.is_some() || numeric.is_some() || uri.port.is_some())
            && !self.carriers.contains(&chosen)
        {
            return Out::Nowhere("its transport is not spoken here");
        }
        if let Some(ip) = numeric {
            let port = uri.port.unwrap_or(chosen.port());
            let target = Target { carrier: chosen, address: SocketAddr::new(ip, port) };
            return Out::Found(vec![target]);
        }
        let domain = self.domain.clone();
        match (uri.port, carrier) {
            (Some(port), _) => self.steps.push_back(Step::Host(domain, port, chosen)),
            (None, Some(carrier)) => {
                let service = format!("{}{domain}", carrier.service());
                self.steps.push_back(Step::Srv(service, carrier));
                self.steps.push_back(Step::OrElse);
                self.steps.push_back(Step::Host(domain, carrier.port(), carrier));
            }
            (None, None) => self.steps.push_back(Step::Naptr(domain)),
        }
        self.next()
    }

    /// The transport that the URI asks for; a SIPS URI turns TCP into TLS (RFC 3261 §19.1.4).
    fn carrier_of(&self, uri: &Uri<'_>) -> Result<Option<Carrier>, &'static str> {
        let Some(transport) = uri.param(b"transport") else { return Ok(None) };
        let is = |name: &[u8]| transport.eq_ignore_ascii_case(name);
        match () {
            () if is(b"udp") && self.is_secure => Err("a SIPS URI cannot be reached over UDP"),
            () if is(b"udp") => Ok(Some(Carrier::Udp)),
            () if is(b"tcp") && self.is_secure => Ok(Some(Carrier::Tls)),
            () if is(b"tcp") => Ok(Some(Carrier::Tcp)),
            () if is(b"tls") => Ok(Some(Carrier::Tls)),
            () => Err("its transport is not spoken here"),
        }
    }

    /// Takes the answer to the open question.
    pub fn answer(&mut self, answer: Answer) -> Out {
        match (self.steps.pop_front(), answer) {
            (Some(Step::Naptr(_)), Answer::Naptr(records)) => self.take_naptr(records),
            (Some(Step::Srv(_, carrier)), Answer::Srv(records)) => self.take_srv(records, carrier),
            (Some(Step::Host(_, port, carrier)), Answer::Host(addresses)) => {
                let room = TARGETS_MAX.saturating_sub(self.targets.len());
                let address = |ip| Target { carrier, address: SocketAddr::new(ip, port) };
                self.targets.extend(addresses.into_iter().take(room).map(address));
            }
            // An answer of another kind than the question answers nothing.
            _ => {}
        }
        self.next()
    }

    /// The next question, or the end.
    fn next(&mut self) -> Out {
        while let Some(step) = self.steps.front() {
            if self.targets.len() >= TARGETS_MAX {
                break;
            }
            let query = match step {
                Step::OrElse if self.found_records => {
                    self.steps.clear();
                    break;
                }
                Step::OrElse => {
                    self.steps.pop_front();
                    continue;
                }
                Step::Naptr(name) => Query::Naptr(name.clone()),
                Step::Srv(name, _) => Query::Srv(name.clone()),
                Step::Host(name, port, carrier) => match address(name.as_bytes()) {
                    Some(ip) => {
                        let address = SocketAddr::new(ip, *port);
                        self.targets.push(Target { carrier: *carrier, address });
                        self.steps.pop_front();
                        continue;
                    }
                    None => Query::Host(name.clone()),
                },
            };
            if self.queries == QUERIES_MAX {
                break;
            }
            self.queries += 1;
            return Out::Query(query);
        }
        let targets = core::mem::take(&mut self.targets);
        if targets.is_empty() {
            Out::Nowhere("its name leads to no address")
        } else {
            Out::Found(targets)
        }
    }

    /// Orders the services that we speak (§4.1); without any, every transport's own SRV name.
    fn take_naptr(&mut self, mut records: Vec<(u16, u16, String, String, String)>) {
        records.truncate(RECORDS_MAX);
        records.sort_by_key(|&(order, preference, ..)| (order, preference));
        for (.., flags, services, replacement) in records {
            let carrier = Carrier::of_naptr(&services).filter(|c| self.carriers.contains(c));
            let name = replacement.trim_end_matches('.').to_owned();
            if let (Some(carrier), true) = (carrier, flags.eq_ignore_ascii_case("s")) {
                self.steps.push_back(Step::Srv(name, carrier));
                self.steps.push_back(Step::OrElse);
            }
        }
        if !self.steps.is_empty() {
            return;
        }
        for &carrier in &self.carriers {
            let service = format!("{}{}", carrier.service(), self.domain);
            self.steps.push_back(Step::Srv(service, carrier));
            self.steps.push_back(Step::OrElse);
        }
        let last = if self.is_secure { Carrier::Tls } else { Carrier::Udp };
        if self.carriers.contains(&last) {
            self.steps.push_back(Step::Host(self.domain.clone(), last.port(), last));
        }
    }

    /// Puts the hosts of the SRV records before what is left to do, in the order of RFC 2782.
    fn take_srv(&mut self, mut records: Vec<(u16, u16, u16, String)>, carrier: Carrier) {
        records.truncate(RECORDS_MAX);
        self.found_records |= !records.is_empty();
        // A single record with the target "." says: not offered here.
        records.retain(|(.., target)| !target.trim_end_matches('.').is_empty());
        records.sort_by_key(|&(priority, weight, ..)| (priority, weight));
        let mut ordered = Vec::with_capacity(records.len());
        while let Some(&(priority, ..)) = records.first() {
            let same = records.iter().take_while(|record| record.0 == priority).count();
            let weights = records[..same].iter().map(|record| record.1);
            let at = pick(weights, self.draw());
            ordered.push(records.remove(at));
        }
        for (_, _, port, target) in ordered.into_iter().rev() {
            let name = target.trim_end_matches('.').to_owned();
            self.steps.push_front(Step::Host(name, port, carrier));
        }
    }

    /// The next number of a small generator (SplitMix64): fair, not secret.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
    }
}

/// The record that the running sum of weights reaches (RFC 2782, "Weight"); those of weight zero
/// stand first and have a small chance.
fn pick(weights: impl Iterator<Item = u16> + Clone, random: u64) -> usize {
    let total: u64 = weights.clone().map(u64::from).sum();
    let mut left = random % (total + 1);
    for (at, weight) in weights.enumerate() {
        if left <= u64::from(weight) {
            return at;
        }
        left -= u64::from(weight);
    }
    0
}

/// A numeric host: dotted, or IPv6 with or without its brackets.
fn address(host: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(host).ok()?;
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) => inner.parse().ok().map(IpAddr::V6),
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}
