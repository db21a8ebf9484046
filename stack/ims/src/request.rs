//! What phones send: who must agree first, what must be said again under protection, and what of
//! it goes on (RFC 3329 §2.3, TS 24.229 §5.2.2, §5.2.6).

use crate::access::Access;
use crate::metrics::Metric;
use crate::refusal::{Refusal, Verdict};
use crate::rewrite::{self, Integrity, Registrant};
use crate::set::{Identity, Registration, Set, Stage};
use crate::trails::Value;
use machine::identity::hash_combine;
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::Flow;
use secagree::rules::{self, Asked, Refused};
use secagree::{Choice, Kept, List, Mode, Preference};
use sip::view::Contact;
use sip::{Header, Message, Method};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use trail::Event;

/// How long an offer waits for the core's answer: a transaction, and something.
const OFFERED: Duration = Duration::from_secs(40);

/// A message of a phone.
struct At<'a> {
    now: Time,
    flow: &'a Flow,
    realm: usize,
    is_tls: bool,
    message: &'a Message<'a>,
}

impl Access {
    /// Looks at a message that came by a port of a realm with IPsec, in the clear or by
    /// [`Access::packet`]. `out` gets what goes on, or the answer.
    pub fn request(
        &mut self,
        now: Time,
        flow: &Flow,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        self.named.judged = None;
        let Some((realm, listener)) = self.row(flow.port) else { return Verdict::Passes };
        let at = At { now, flow, realm, is_tls: listener.is_tls, message };
        let judged = match listener.is_protected {
            true => self.protected(&at, out),
            false => self.clear(&at, out),
        };
        judged.unwrap_or_else(|refusal| self.refuse(&at, refusal, out))
    }

    fn refuse(&mut self, at: &At<'_>, refusal: Refusal, out: &mut Vec<u8>) -> Verdict {
        self.metrics.add(refusal.metric, 1);
        let impi = rewrite::seeming(at.message);
        // Of calls and queries in the clear the trail tells: they are no registrations.
        if at.message.method() == Method::Register {
            self.failures.note(at.now, &impi, at.flow.remote, refusal.why.as_str());
        }
        let fields =
            vec![("impi", Value::Text(impi.to_vec())), ("text", refusal.why.as_str().into())];
        self.trails.push(Event::AgreementFailed, *at.flow, at.message.call_id(), fields);
        if at.message.method() == Method::Ack || !at.message.is_request() {
            return Verdict::Dropped;
        }
        let tag = crate::keys::hash(self.secret, at.message.via().branch.unwrap_or_default());
        rewrite::refusal(at.message, at.flow.remote, tag, &refusal, out);
        Verdict::Refused
    }

    /// What came outside of any association.
    fn clear(&mut self, at: &At<'_>, out: &mut Vec<u8>) -> Result<Verdict, Refusal> {
        if at.message.method() != Method::Register || !at.message.is_request() {
            return self.unregistered(at);
        }
        let row = &self.rows[at.realm];
        let (required, preference) = (row.realm.section.required, row.preference.clone());
        let asked = asked(at.message);
        let asks = asked.require || asked.proxy_require;
        let registrant = Registrant::of(at.message, Integrity::No).map_err(malformed)?;
        if at.is_tls && (required || asks) {
            let why = "over TLS nothing is agreed: its integrity is not that of IPsec";
            return Err(Refusal::new(403, Metric::Unprotected, why));
        }
        if !required && !asks {
            rewrite::request(at.message, Some(&registrant), false, out);
            return Ok(Verdict::Changed);
        }
        self.disbelieved(at, &registrant);
        let register = self.register(at.message, at.flow.remote);
        let (inside, is_behind_nat) = inside(at.message, at.flow.remote);
        let own = of_mode(&preference, is_behind_nat);
        let client = client(at.message)?;
        let choice = rules::unprotected(asked, &client, &own)
            .map_err(|why| refusal(why, row_server(&own, &self.rows[at.realm])))?;
        let known = self.table.by_register(register).and_then(|key| self.table.at(key));
        let client = Kept::from(client);
        if let Some(known) = known {
            // A copy: another REGISTER with its number was looked at by nobody.
            if known.impi != registrant.impi || !known.client.is_same(&client) {
                return Err(malformed("another REGISTER has its Call-ID and number"));
            }
        } else {
            let local = at.flow.local.ip();
            let source = at.flow.remote.ip();
            let set = Set {
                realm: at.realm,
                impi: registrant.impi.clone(),
                source,
                register: Some(register),
                registration: self.registration(at.message),
                client,
                choice: Some(choice),
                local,
                inside,
                is_behind_nat,
                identity: Identity { remote: at.flow.remote, ..Set::default().identity },
                is_from_clear: true,
                ..Set::default()
            };
            self.offer(at.now, set)?;
        }
        rewrite::request(at.message, Some(&registrant), is_behind_nat, out);
        Ok(Verdict::Changed)
    }

    /// What comes in the clear and is no REGISTER.
    fn unregistered(&mut self, at: &At<'_>) -> Result<Verdict, Refusal> {
        let section = &self.rows[at.realm].realm.section;
        if !section.required {
            return Ok(Verdict::Passes);
        }
        let emergency = section.emergency;
        let (number, _) = self.register(at.message, at.flow.remote);
        let is_known = self.emergencies.knows(number);
        if !at.message.is_request() {
            if is_known && at.message.cseq().method == Method::Bye {
                self.in_emergency(at.now, number, at.message);
            }
            return Ok(if is_known { Verdict::Passes } else { Verdict::Dropped });
        }
        let is_call = at.message.method() == Method::Invite && at.message.to_tag().is_none();
        if is_known && is_of_call(at.message) {
            if is_call {
                self.emergencies.again(at.now, number);
            }
            return Ok(Verdict::Passes);
        }
        if !is_call || !at.message.request_uri().is_some_and(is_emergency) {
            let why = "a request came in the clear (TS 24.229 §5.2.6)";
            return Err(Refusal::new(403, Metric::Unprotected, why));
        }
        if !emergency {
            let why = "an emergency call came without an agreement (TS 24.229 §5.2.10)";
            return Err(Refusal::new(403, Metric::Unprotected, why));
        }
        if !self.emergencies.begin(at.now, number, at.flow.remote.ip()) {
            return Err(Refusal::of_source("there are as many emergency calls as may be"));
        }
        Ok(Verdict::Passes)
    }

    /// An answer of an emergency call in the clear: to the phone, or by which it says that the call
    /// has ended. What it says itself does not answer its call.
    pub(crate) fn in_emergency(&mut self, now: Time, number: u64, message: &Message<'_>) {
        match (message.cseq().method, message.status()) {
            (Method::Invite, Some(status @ 100..=299)) => {
                let is_new = self.emergencies.taken(now, number);
                self.metrics.add(Metric::Emergency, u64::from(is_new));
                if status >= 200 {
                    self.emergencies.answered(now, number);
                }
            }
            (Method::Invite, Some(300..)) if message.to_tag().is_some() => {
                self.emergencies.failed(now, number);
            }
            (Method::Bye, Some(200..)) => self.emergencies.over(now, number),
            _ => {}
        }
    }

    /// A phone that has found the code of a challenge wrong says so by an empty response. Where no
    /// challenge waits for an answer the nonce is one of before, as registrations repeat it.
    fn disbelieved(&mut self, at: &At<'_>, registrant: &Registrant) {
        if !registrant.disbelieves || !self.table.is_challenged(&registrant.impi) {
            return;
        }
        let why = "the phone did not believe the challenge: its MAC is wrong; K or OPc of card and \
                   home are perhaps not the same (TS 24.229 §5.1.1.5.3)";
        self.failures.note(at.now, &registrant.impi, at.flow.remote, why);
        let impi = Value::Text(registrant.impi.to_vec());
        let fields = vec![("impi", impi), ("text", why.into())];
        self.trails.push(Event::AgreementFailed, *at.flow, at.message.call_id(), fields);
    }

    fn registration(&self, message: &Message<'_>) -> Registration {
        let call_id = self.trails.call_id(message.call_id());
        Registration { deregisters: deregisters(message), call_id }
    }

    /// A registration begins to be under way. Those of a source that have proven no card make way
    /// for each other: it may be another that sends in its name.
    pub(crate) fn offer(&mut self, now: Time, set: Set) -> Result<Key, Refusal> {
        let section = &self.rows[set.realm].realm.section;
        let sources = &self.table.sources;
        // A phone that stands takes no other's place by another registration.
        let stands = !self.table.by_impi(&set.impi).is_empty();
        if !stands && sources.standing_of(set.source) >= section.sets_of_source_max {
            return Err(Refusal::of_source("its source has as many agreements as it may"));
        }
        let under_way_max = section.under_way_max as usize;
        let (unproven, own) = sources.unproven_of(set.source);
        let is_beyond = set.is_from_clear && unproven >= section.under_way_of_source_max;
        let first = if is_beyond { own } else { None };
        let is_full = sources.waiting() >= under_way_max;
        let first = first.or_else(|| is_full.then(|| sources.makes_way()).flatten());
        if let Some(first) = first {
            self.metrics.add(Metric::MadeWay, 1);
            self.end(first, "it made way for a newer registration: there are as many as may be");
        }
        let offered = self.table.offer(set, now + OFFERED);
        offered.ok_or_else(|| Refusal::of_source("there are as many agreements as may be"))
    }

    /// A phone offers another agreement by the associations that it has: without one its challenge
    /// leaves without Security-Server.
    pub(crate) fn offer_again(&mut self, now: Time, carrying: Key, next: Set) -> Option<Key> {
        let next = self.offer(now, next).ok()?;
        let before = self.table.at_mut(carrying).and_then(|set| set.offers(next));
        let Some(before) = before else { return Some(next) };
        match self.table.at(before).map(|set| set.stage) {
            Some(Stage::Offered) => self.table.remove(before, &mut self.esp),
            Some(Stage::Challenged) => {
                self.end(before, "its phone has offered others since, and not answered it");
            }
            _ => {}
        }
        Some(next)
    }

    /// What came by associations.
    fn protected(&mut self, at: &At<'_>, out: &mut Vec<u8>) -> Result<Verdict, Refusal> {
        if !at.message.is_request() {
            return Ok(Verdict::Passes);
        }
        let method = at.message.method();
        if matches!(method, Method::Ack | Method::Cancel) {
            // They name no option tags (RFC 3261 §20.29, §20.32), and belong to what was judged. Of
            // an agreement that ends, transactions end by them.
            return self.was_accepted(at).map(|()| Verdict::Passes);
        }
        // A phone repeats the same octets in each request.
        let said = said(at.message);
        let known = self.came.filter(|key| {
            said.is_some() && self.table.at(*key).is_some_and(|set| set.verified == said)
        });
        let (key, verify) = match known {
            Some(key) => (key, None),
            None => {
                let verify = List::read(at.message.values(Header::SecurityVerify))
                    .map_err(|_| malformed("Security-Verify cannot be read"))?;
                (self.agreed(at, &verify)?, Some(verify))
            }
        };
        self.named.judged = Some(key);
        let Some(set) = self.table.at(key) else { return Ok(Verdict::Dropped) };
        let is_register = method == Method::Register;
        if !is_register && (set.stage.is_under_way() || set.stage == Stage::Ending) {
            let why = "a request came before its registration was accepted, or after it ended";
            return Err(Refusal::new(403, Metric::Unprotected, why));
        }
        let client = if is_register { client(at.message)? } else { List::default() };
        let is_first = is_register && set.stage.is_under_way();
        rules::protected(
            asked(at.message),
            (&client, verify.as_ref()),
            (&set.client, &set.server),
            is_first,
        )
        .map_err(|why| refusal(why, Some(set.server.list())))?;
        // Its answer comes to the port by which the function knows it, whatever its Via says.
        let via = at.message.via();
        let asks_rport =
            set.is_behind_nat || via.port.unwrap_or(5_060) != set.identity.remote.port();
        if let (Some(_), Some(set)) = (verify, self.table.at_mut(key)) {
            set.verified = said;
        }
        let registrant = match is_register {
            true => Some(self.registers(at, key, client)?),
            false => None,
        };
        rewrite::request(at.message, registrant.as_ref(), asks_rport, out);
        Ok(Verdict::Changed)
    }

    /// Whether the core has accepted the registration of the phone that a message came from.
    fn was_accepted(&self, at: &At<'_>) -> Result<(), Refusal> {
        let is_it = |key: &Key| self.table.at(*key).is_some_and(|it| !it.stage.is_under_way());
        let is_accepted = match self.came {
            Some(key) => is_it(&key),
            None => self.table.by_identity(self.known_by(at.flow)).iter().any(is_it),
        };
        let why = "a request came before its registration was accepted (TS 24.229 §5.2.6)";
        is_accepted.then_some(()).ok_or_else(|| Refusal::new(403, Metric::Unprotected, why))
    }

    /// The set that a request came by. One that waited for its turn says so itself: the list that
    /// it repeats has our indices.
    fn agreed(&self, at: &At<'_>, verify: &List) -> Result<Key, Refusal> {
        if let Some(key) = self.came {
            return Ok(key);
        }
        let keys = self.table.by_identity(self.known_by(at.flow));
        let said = Kept::of(verify);
        let is_it = |key: &&Key| self.table.at(**key).is_some_and(|set| set.server.is_same(&said));
        let found = keys.iter().rev().find(is_it).copied();
        found.ok_or_else(|| {
            let why = if verify.is_empty() { Refused::NoVerify } else { Refused::OtherVerify };
            refusal(why, None)
        })
    }

    /// A REGISTER under protection: the first answers the challenge, later ones offer another
    /// agreement in case that the core challenges again.
    fn registers(&mut self, at: &At<'_>, key: Key, client: List) -> Result<Registrant, Refusal> {
        let register = self.register(at.message, at.flow.remote);
        let registrant = Registrant::of(at.message, Integrity::Yes).map_err(malformed)?;
        self.disbelieved(at, &registrant);
        let registration = self.registration(at.message);
        let set = self.table.at(key).filter(|set| set.impi == registrant.impi);
        let Some(set) = set else {
            let why = "the private identity is not that of the agreement (TS 33.203 §6.1)";
            return Err(Refusal::new(403, Metric::Unprotected, why));
        };
        let stands = matches!(set.stage, Stage::Current | Stage::Old);
        let kept = Kept::of(&client);
        // The node before may have had a challenge for it already, and told of that.
        let known = self.table.by_register(register).and_then(|key| self.table.at(key));
        let is_known = known.is_some_and(|it| {
            it.stage == Stage::Challenged && it.impi == set.impi && it.client.is_same(&kept)
        });
        let offers = stands && set.register != Some(register) && !is_known;
        let choice = offers
            .then(|| {
                let own = of_mode(&self.rows[set.realm].preference, set.is_behind_nat);
                secagree::choose(&client, &own)
            })
            .flatten();
        let next = choice.map(|choice| again(set, Some(choice), kept, register));
        let call_id = registration.call_id.clone();
        self.table.registers(key, register, registration);
        if let Some(mut next) = next {
            next.registration.call_id = call_id;
            // Beyond the limits of its source it goes on without: it may not be needed.
            self.offer_again(at.now, key, next);
        }
        Ok(registrant)
    }
}

/// The offer of a phone that has an agreement.
pub(crate) fn again(set: &Set, choice: Option<Choice>, client: Kept, register: (u64, u32)) -> Set {
    Set {
        realm: set.realm,
        impi: set.impi.clone(),
        source: set.source,
        register: Some(register),
        registration: Registration {
            call_id: set.registration.call_id.clone(),
            deregisters: false,
        },
        client,
        choice,
        local: set.local,
        inside: set.inside,
        is_behind_nat: set.is_behind_nat,
        identity: set.identity,
        ..Set::default()
    }
}

fn asked(message: &Message<'_>) -> Asked {
    let tag = rules::OPTION_TAG.as_bytes();
    Asked {
        require: message.lists(Header::Require, tag),
        proxy_require: message.lists(Header::ProxyRequire, tag),
        supported: message.lists(Header::Supported, tag),
        vias: message.values(Header::Via).count(),
    }
}

/// What stands in Security-Verify, by a hash of its octets. Nobody gains by two that are alike:
/// what it is compared with came by the same associations and was read.
fn said(message: &Message<'_>) -> Option<NonZeroU64> {
    let hash = message
        .lines_of(Header::SecurityVerify)
        .fold(0, |hash, line| hash_combine(hash ^ 1, line.value));
    NonZeroU64::new(hash)
}

fn client(message: &Message<'_>) -> Result<List, Refusal> {
    List::read(message.values(Header::SecurityClient))
        .map_err(|_| malformed("Security-Client cannot be read"))
}

fn malformed(why: &str) -> Refusal {
    Refusal::new(400, Metric::Disagreed, why)
}

fn refusal(why: Refused, server: Option<List>) -> Refusal {
    let metric = match why {
        Refused::NotAsked => Metric::NotAsked,
        Refused::OtherVerify | Refused::OtherClient | Refused::NoVerify => Metric::Downgraded,
        _ => Metric::Disagreed,
    };
    Refusal {
        requires: why.has_require(),
        server: server.filter(|_| why.has_server()),
        ..Refusal::new(why.status(), metric, &why.to_string())
    }
}

/// What a realm says in the 494 to a phone that has no agreement: its algorithms and ports; the
/// indices are those that come with a challenge.
pub(crate) fn row_server(own: &Preference, row: &crate::settings::Row) -> Option<List> {
    let section = &row.realm.section;
    let (alg, ealg) = *own.pairs.first()?;
    let (mode, protocol) = (*own.modes.first()?, secagree::Protocol::Esp);
    let [spi_c, spi_s] = [esp::Spi(256), esp::Spi(257)];
    let (port_c, port_s) = (section.client_ports[0], section.server_port);
    let ipsec = secagree::Ipsec { alg, ealg, protocol, mode, spi_c, spi_s, port_c, port_s };
    Some(own.list(&ipsec, mode))
}

/// Of a phone behind a NAT a tunnel in UDP, of any other transport mode (TS 33.203 §M.6).
pub(crate) fn of_mode(preference: &Preference, is_behind_nat: bool) -> Preference {
    let mode = if is_behind_nat { Mode::UdpTunnel } else { Mode::Transport };
    Preference { modes: vec![mode], ..preference.clone() }
}

/// The phone's address as it knows it, and whether a NAT has changed it on the way.
fn inside(message: &Message<'_>, remote: SocketAddr) -> (IpAddr, bool) {
    let host = message.via().host;
    let text = core::str::from_utf8(host).unwrap_or_default();
    let text = text.trim_start_matches('[').trim_end_matches(']');
    let seen = remote.ip().to_canonical();
    match text.parse::<IpAddr>() {
        Ok(said) if said.to_canonical() != seen => (said, true),
        _ => (seen, false),
    }
}

/// An emergency call (RFC 5031 §4.2), which no agreement stands before.
fn is_emergency(uri: &[u8]) -> bool {
    const SOS: &[u8] = b"urn:service:sos";
    uri.get(..SOS.len()).is_some_and(|head| head.eq_ignore_ascii_case(SOS))
        && matches!(uri.get(SOS.len()), None | Some(b'.'))
}

/// Whether a request is one of an emergency call that has begun: its INVITE again, what gives that
/// up, and what belongs to its dialog.
fn is_of_call(message: &Message<'_>) -> bool {
    let method = message.method();
    if message.to_tag().is_none() {
        return matches!(method, Method::Invite | Method::Cancel | Method::Ack)
            && message.request_uri().is_some_and(is_emergency);
    }
    let is_ending = matches!(method, Method::Ack | Method::Bye | Method::Cancel);
    is_ending || matches!(method, Method::Invite | Method::Prack | Method::Update | Method::Info)
}

/// Whether a REGISTER takes all of its contacts back.
fn deregisters(message: &Message<'_>) -> bool {
    let header = message
        .header(Header::Expires)
        .and_then(|value| core::str::from_utf8(value).ok()?.trim().parse::<u32>().ok());
    let mut contacts = message.values(Header::Contact).peekable();
    if contacts.peek().is_none() {
        return false;
    }
    contacts.all(|value| match Contact::parse(value) {
        Ok(Contact::All) => true,
        Ok(Contact::Address(contact)) => contact.expires_s().or(header) == Some(0),
        Err(_) => false,
    })
}
