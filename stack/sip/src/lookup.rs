//! Domains of next hops, looked up as RFC 3263 says, in the background: a call never waits for
//! the DNS, it goes to the addresses found last.

use crate::border::Border;
use crate::next_hop::NextHops;
use crate::realm::{RealmId, Realms};
use crate::settings::HopSettings;
use machine::narrow::index;
use machine::{Duration, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;
use runtime::{Answer, Effects, Flow, Query, Transport};
use sip::Uri;
use sip::locate::{self, Carrier, Locator, Out};

/// A domain is looked up again after this long.
const AGAIN: Duration = Duration::from_secs(60);
/// A domain that leads nowhere is looked up again after this long.
const RETRY: Duration = Duration::from_secs(10);

/// One domain of one next hop.
#[derive(Debug)]
struct Lookup {
    hop: u16,
    target: u16,
    realm: RealmId,
    uri: String,
    /// What its certificates must name; `None`: the domain.
    name: Option<String>,
    /// The search under way and the number of its open question.
    open: Option<(u64, Locator)>,
    at: Time,
    why: Option<&'static str>,
}

/// All domains.
#[derive(Debug, Default)]
pub struct Lookups {
    rows: Vec<Lookup>,
    asked: u64,
}

impl Lookups {
    /// The domains of the next hops; all are due at once.
    pub fn new(hops: &NextHops, settings: &[HopSettings<'_>], now: Time) -> Self {
        let rows = hops.rows().iter().enumerate().flat_map(|(n, hop)| {
            let name = settings.get(n).and_then(|hop| hop.tls_name.map(str::to_owned));
            hop.domains.iter().map(move |(target, uri)| Lookup {
                hop: index(n),
                target: *target,
                realm: hop.realm,
                uri: uri.clone(),
                name: name.clone(),
                open: None,
                at: now,
                why: None,
            })
        });
        Self { rows: rows.collect(), asked: 0 }
    }

    /// When the next domain is due.
    pub fn deadline(&self) -> Option<Time> {
        self.rows.iter().filter(|row| row.open.is_none()).map(|row| row.at).min()
    }

    /// The domains that lead nowhere: next hop, URI, reason.
    pub fn lost(&self) -> impl Iterator<Item = (u16, &str, &'static str)> {
        self.rows.iter().filter_map(|row| Some((row.hop, row.uri.as_str(), row.why?)))
    }
}

impl Border {
    /// Begins the searches that are due.
    pub fn look_up(&mut self, now: Time, random: &mut ChaCha12Rng, out: &mut Effects) {
        for n in 0..self.lookups.rows.len() {
            let seed = random.next_u64();
            let row = &mut self.lookups.rows[n];
            if row.open.is_some() || row.at > now {
                continue;
            }
            let carriers = carriers(&self.realms, row.realm);
            match Uri::parse(row.uri.as_bytes()) {
                Ok(uri) => {
                    let (locator, step) = Locator::start(&uri, &carriers, seed);
                    self.located(now, n, locator, step, out);
                }
                Err(_) => row.at = Time::MAX, // the configuration was checked
            }
        }
    }

    /// The DNS answered.
    pub fn resolved(&mut self, now: Time, number: u64, answer: Answer, out: &mut Effects) {
        let is_open = |row: &Lookup| row.open.as_ref().is_some_and(|(asked, _)| *asked == number);
        let Some(n) = self.lookups.rows.iter().position(is_open) else { return };
        let Some((_, mut locator)) = self.lookups.rows[n].open.take() else { return };
        let step = locator.answer(match answer {
            Answer::Naptr(records) => locate::Answer::Naptr(records),
            Answer::Srv(records) => locate::Answer::Srv(records),
            Answer::Host(addresses) => locate::Answer::Host(addresses),
        });
        self.located(now, n, locator, step, out);
    }

    fn located(&mut self, now: Time, n: usize, locator: Locator, step: Out, out: &mut Effects) {
        let row = &mut self.lookups.rows[n];
        match step {
            Out::Query(query) => {
                self.lookups.asked += 1;
                let number = self.lookups.asked;
                row.open = Some((number, locator));
                out.resolve(
                    number,
                    match query {
                        locate::Query::Naptr(domain) => Query::Naptr(domain),
                        locate::Query::Srv(service) => Query::Srv(service),
                        locate::Query::Host(host) => Query::Host(host),
                    },
                );
            }
            Out::Found(targets) => {
                (row.at, row.why) = (now + AGAIN, None);
                let (hop, target, realm) = (row.hop, row.target, row.realm);
                let flow = |target: &locate::Target| {
                    let transport = transport(target.carrier);
                    let listener = self.realms.listener_for(realm, transport, target.address)?;
                    Some(listener.flow(target.address))
                };
                let flows: Vec<Flow> = targets.iter().filter_map(flow).collect();
                let domain = Uri::parse(self.lookups.rows[n].uri.as_bytes());
                let domain = domain
                    .map_or(String::new(), |uri| String::from_utf8_lossy(uri.host).into_owned());
                let name = self.lookups.rows[n].name.as_deref().unwrap_or(&domain);
                let secure = flows.iter().filter(|flow| flow.transport == Transport::Tls);
                let remotes = secure.map(|flow| flow.remote);
                remotes.clone().for_each(|remote| out.name(remote, name));
                self.proofs.found(n, realm, remotes, name);
                self.hops.resolved(hop, target, &flows, now);
            }
            // What was found before is kept: the DNS may be down, the next hop need not be.
            Out::Nowhere(why) => (row.at, row.why) = (now + RETRY, Some(why)),
        }
    }
}

const fn transport(carrier: Carrier) -> Transport {
    match carrier {
        Carrier::Udp => Transport::Udp,
        Carrier::Tcp => Transport::Tcp,
        Carrier::Tls => Transport::Tls,
    }
}

/// The transports of a realm in the order of its listeners.
fn carriers(realms: &Realms, realm: RealmId) -> Vec<Carrier> {
    let mut carriers = Vec::new();
    for listener in &realms.row(realm).listeners {
        let carrier = match listener.transport {
            Transport::Udp => Carrier::Udp,
            Transport::Tcp => Carrier::Tcp,
            Transport::Tls => Carrier::Tls,
        };
        if !carriers.contains(&carrier) {
            carriers.push(carrier);
        }
    }
    carriers
}
