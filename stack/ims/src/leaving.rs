//! What leaves towards phones: the 401 becomes an agreement, the 200 makes it stand or ends it, and
//! everything is protected (TS 24.229 §5.2.2, TS 33.203 §7.4).

use crate::access::{Access, LINGERING};
use crate::inside;
use crate::keys;
use crate::metrics::Metric;
use crate::request::{again, of_mode, row_server};
use crate::rewrite;
use crate::set::{BEYOND_S, GRANTED_MAX_S, Set, Stage};
use aka::digest::SessionKeys;
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{Flow, Transport};
use sip::view::Contact;
use sip::{Header, Message, Method};
use trail::Event;

/// What becomes of a message that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// It leaves as it is.
    Stays,
    /// What was written leaves by this flow in its place.
    Instead(Flow),
    /// It leaves by a connection of TCP inside of ESP, with [`Access::leave_inside`].
    Inside,
    /// Nothing leaves: there is no association to its phone.
    Dropped,
}

/// An answer to a REGISTER.
struct Answer<'a> {
    now: Time,
    flow: &'a Flow,
    register: (u64, u32),
    message: &'a Message<'a>,
}

impl Access {
    /// Takes a message that is about to leave. `out` gets what leaves in its place.
    pub fn leaving(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Vec<u8>) -> Leaving {
        self.named.left = None;
        let Some((realm, listener)) = self.row(flow.port) else { return Leaving::Stays };
        let text = rewrite::after_blank_lines(bytes);
        if text.is_empty() || !text.starts_with(b"SIP/") {
            return match listener.is_protected {
                true => self.protect(now, flow, self.reaching(flow), bytes, out),
                false => self.clear_request(realm, flow, text),
            };
        }
        let Ok(message) = Message::parse(text) else {
            // What the function says to who cannot write is not always readable itself.
            if text.starts_with(b"SIP/2.0 400 ") && !rewrite::may_challenge(text) {
                return match listener.is_protected {
                    true => self.protect(now, flow, self.reaching(flow), bytes, out),
                    false => Leaving::Stays,
                };
            }
            self.metrics.add(Metric::Unreadable, 1);
            return Leaving::Dropped;
        };
        let mut unkeyed = Vec::new();
        rewrite::without_keys(&message, &mut unkeyed);
        if unkeyed.is_empty() {
            return self.answer(now, flow, bytes, &message, out);
        }
        // Keys that came all this way go no farther. Nobody looks for keys again in what was
        // written: whatever it holds, this ends.
        let Ok(message) = Message::parse(&unkeyed) else {
            self.metrics.add(Metric::Unreadable, 1);
            return Leaving::Dropped;
        };
        match self.answer(now, flow, &unkeyed, &message, out) {
            Leaving::Stays => {
                out.extend_from_slice(&unkeyed);
                Leaving::Instead(*flow)
            }
            other => other,
        }
    }

    /// An answer that leaves, without keys.
    fn answer(
        &mut self,
        now: Time,
        flow: &Flow,
        bytes: &[u8],
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Leaving {
        let is_protected = self.row(flow.port).is_some_and(|(_, listener)| listener.is_protected);
        let register = self.register(message, flow.remote);
        if message.cseq().method != Method::Register {
            self.in_emergency(now, register.0, message);
            return match is_protected {
                true => self.protect(now, flow, self.reaching(flow), bytes, out),
                false => Leaving::Stays,
            };
        }
        let answer = Answer { now, flow, register, message };
        let carrying = self.carrying(flow, register);
        let mut draft = Vec::new();
        let status = message.status().unwrap_or_default();
        match status {
            401 => self.challenge(&answer, carrying, &mut draft),
            200..=299 if self.must_agree(flow.port) => self.accepted_in_clear(&answer, &mut draft),
            _ => {}
        }
        let bytes = if draft.is_empty() { bytes } else { &draft };
        let left = match (is_protected, draft.is_empty()) {
            (true, _) => self.protect(now, flow, carrying.or(self.reaching(flow)), bytes, out),
            (false, false) => {
                out.extend_from_slice(bytes);
                Leaving::Instead(*flow)
            }
            (false, true) => Leaving::Stays,
        };
        match status {
            200..=299 => self.accepted(&answer, carrying),
            300..=400 | 402..=699 => self.failed(&answer, carrying, status),
            _ => {}
        }
        self.gauges();
        left
    }

    /// A request to a phone in the clear: where phones must agree one of an emergency call alone.
    fn clear_request(&self, realm: usize, flow: &Flow, text: &[u8]) -> Leaving {
        if text.is_empty() || !self.rows[realm].realm.section.required {
            return Leaving::Stays;
        }
        let number = Message::parse(text).ok().map(|it| self.register(&it, flow.remote).0);
        if number.is_some_and(|number| self.emergencies.knows(number)) {
            return Leaving::Stays;
        }
        self.metrics.add(Metric::NoAssociations, 1);
        Leaving::Dropped
    }

    /// The core has accepted a registration without a challenge, and without an agreement it is
    /// none (RFC 3329 §2.3.1).
    fn accepted_in_clear(&mut self, at: &Answer<'_>, draft: &mut Vec<u8>) {
        self.metrics.add(Metric::Disagreed, 1);
        let impi = self.table.by_register(at.register).and_then(|key| self.table.at(key));
        let impi = impi.map(|set| set.impi.clone()).unwrap_or_default();
        let why = "the core has accepted a registration in the clear without a challenge";
        self.failures.note(at.now, &impi, at.flow.remote, why);
        let row = self.row(at.flow.port).map(|(realm, _)| &self.rows[realm]);
        let server = row.and_then(|row| row_server(&of_mode(&row.preference, false), row));
        rewrite::unagreed(at.message, server.as_ref(), draft);
    }

    fn protect(
        &mut self,
        now: Time,
        flow: &Flow,
        set: Option<Key>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Leaving {
        if flow.transport == Transport::Tcp {
            return match inside::send(self, now, flow, set, bytes) {
                true => Leaving::Inside,
                false => Leaving::Dropped,
            };
        }
        self.named.left = set;
        let way = set.and_then(|key| {
            let set = self.table.at(key)?;
            Some((set.associations()?, set.ends()?))
        });
        let flow = way.and_then(|(associations, (lane, ends))| {
            self.esp.protect(associations, lane, ends, bytes, out)
        });
        flow.map_or_else(
            || {
                self.metrics.add(Metric::NoAssociations, 1);
                Leaving::Dropped
            },
            Leaving::Instead,
        )
    }

    /// A challenge leaves: the agreement that its REGISTER has offered gets its associations.
    fn challenge(&mut self, at: &Answer<'_>, carrying: Option<Key>, draft: &mut Vec<u8>) {
        if let Some(carrying) = carrying {
            self.refused_again(at, carrying);
        }
        let Some(key) = self.table.by_register(at.register) else { return };
        let taken = self.keys_of(at, key);
        let Some(key) = self.challenged_again(at, key, carrying, taken.as_ref()) else { return };
        let Some(set) = self.table.at(key) else { return };
        if set.stage == Stage::Offered {
            let Some(session) = taken else {
                self.metrics.add(Metric::KeysLost, 1);
                self.keyless = Some(at.now);
                let why = "the challenge came without ck and ik (TS 24.229 §5.4.1.2)";
                self.failures.note(at.now, &set.impi, at.flow.remote, why);
                self.trails.of(set, Event::AgreementFailed, vec![("text", why.into())]);
                return;
            };
            if let Err(why) = self.associate(at.now, key, &session) {
                let Some(set) = self.table.at(key) else { return };
                self.failures.note(at.now, &set.impi, at.flow.remote, why);
                self.trails.of(set, Event::AgreementFailed, vec![("text", why.into())]);
                self.table.remove(key, &mut self.esp);
                return;
            }
            self.metrics.add(Metric::Challenged, 1);
            if let Some(set) = self.table.at(key) {
                self.trails.chosen(set);
            }
        }
        if let Some(set) = self.table.at(key).filter(|set| set.stage == Stage::Challenged) {
            rewrite::with_server(at.message, &set.server.list(), draft);
        }
    }

    /// The keys of a challenge for an agreement that needs some, or may have others.
    fn keys_of(&mut self, at: &Answer<'_>, key: Key) -> Option<SessionKeys> {
        let stage = self.table.at(key)?.stage;
        let is_for = match stage {
            Stage::Offered => true,
            Stage::Challenged => self.pair.is_on(),
            _ => false,
        };
        let nonce = is_for.then(|| rewrite::nonce(at.message)).flatten()?;
        self.keys.take(&nonce)
    }

    /// The agreement that a challenge is for. The core was asked again for a REGISTER that it has
    /// challenged: by the node that has taken over, of which the phone may have heard nothing. Of
    /// both challenges the phone answers one. One that comes again is for the same agreement
    /// as before.
    fn challenged_again(
        &mut self,
        at: &Answer<'_>,
        key: Key,
        carrying: Option<Key>,
        keys: Option<&SessionKeys>,
    ) -> Option<Key> {
        let set = self.table.at(key)?;
        let Some(keys) = keys else { return Some(key) };
        let same = self.table.by_keys(keys).filter(|same| {
            let same = self.table.at(*same);
            same.is_some_and(|it| {
                let is_of_phone = it.impi == set.impi && it.client.is_same(&set.client);
                it.stage == Stage::Challenged && is_of_phone
            })
        });
        if same.is_some() || set.stage != Stage::Challenged {
            return same.or(Some(key));
        }
        let is_from_clear = set.is_from_clear;
        let next = again(set, set.choice, set.client.clone(), at.register);
        let next = Set { is_from_clear, ..next };
        match carrying {
            Some(carrying) => self.offer_again(at.now, carrying, next),
            None => self.offer(at.now, next).ok(),
        }
    }

    /// The core does not take an answer to its challenge and asks anew: the same offer serves for
    /// another agreement.
    fn refused_again(&mut self, at: &Answer<'_>, carrying: Key) {
        let Some(set) = self.table.at(carrying) else { return };
        if set.stage != Stage::Proven || self.table.by_register(at.register).is_some() {
            return;
        }
        self.metrics.add(Metric::Failed, 1);
        let why = "the core did not take the response, and challenges again";
        self.trails.over(set, Event::AgreementEnded, why);
        let next = again(set, set.choice, set.client.clone(), at.register);
        self.table.advance(carrying, Stage::Ending, at.now + LINGERING);
        self.offer_again(at.now, carrying, next);
    }

    /// The core has accepted a REGISTER, and the phone knows.
    fn accepted(&mut self, at: &Answer<'_>, carrying: Option<Key>) {
        let offered = self.table.by_register(at.register).filter(|key| Some(*key) != carrying);
        if let Some(offered) = offered
            && self.table.at(offered).is_some_and(|set| set.stage == Stage::Offered)
        {
            self.table.remove(offered, &mut self.esp); // it was not asked for
        }
        let Some(key) = carrying else { return };
        let Some(set) = self.table.at(key) else { return };
        let (stage, impi) = (set.stage, set.impi.clone());
        let public = keys::hash(self.secret, at.message.to().uri);
        let stands = !set.registration.deregisters;
        if !stands && !self.table.registered(&impi, public, false) {
            return self.deregistered(at.now, key, &impi);
        }
        let granted_s = if stands { u64::from(granted_s(at.message)) + BEYOND_S } else { 0 };
        let granted = Duration::from_secs(granted_s);
        let older = self.table.by_impi(&impi).iter().filter_map(|other| self.table.at(*other));
        let expires = older
            .filter(|other| other.stage == Stage::Current)
            .map(|other| other.expires)
            .fold(at.now + granted, Time::max);
        let (metric, event) = match stage {
            Stage::Challenged | Stage::Proven => (Metric::Established, Event::AgreementEstablished),
            // The phone goes on by the one before: it has not heard of the new one.
            Stage::Old if self.has_used_another(key, &impi) => return,
            Stage::Old | Stage::Current => (Metric::Refreshed, Event::AgreementRefreshed),
            Stage::Offered | Stage::Ending => return,
        };
        self.metrics.add(metric, 1);
        if let Some(set) = self.table.at(key) {
            self.trails.accepted(set, event, granted_s);
        }
        self.supersede(at.now, key, &impi);
        self.table.advance(key, Stage::Current, expires);
        if let Some(set) = self.table.at_mut(key) {
            set.usage.registered_until = expires;
        }
        if stands {
            self.table.registered(&impi, public, true);
        }
    }

    /// Whether the phone has sent something by a newer set than that one.
    fn has_used_another(&self, key: Key, impi: &[u8]) -> bool {
        let others = self.table.by_impi(impi).iter().filter(|other| **other != key);
        let mut sets = others.filter_map(|other| self.table.at(*other));
        sets.any(|set| set.stage == Stage::Current && set.usage.is_used)
    }

    /// The set of now becomes an old one (TS 33.203 §7.4): it serves until the phone uses the new
    /// one. A phone that has registered in the clear has lost it.
    fn supersede(&mut self, now: Time, key: Key, impi: &[u8]) {
        let is_lost = self.table.at(key).is_some_and(|set| {
            set.is_from_clear && matches!(set.stage, Stage::Challenged | Stage::Proven)
        });
        let others: Vec<Key> = self.table.by_impi(impi).to_vec();
        for other in others.into_iter().filter(|other| *other != key) {
            let Some(set) = self.table.at_mut(other) else { continue };
            let (stage, mut expires) = (set.stage, set.expires);
            if !matches!(stage, Stage::Current | Stage::Old) {
                continue;
            }
            if is_lost {
                set.usage.is_used = false;
                expires = expires.min(now + LINGERING);
            }
            if stage == Stage::Current {
                self.metrics.add(Metric::Replaced, 1);
                let why = "a newer agreement of its phone was accepted";
                self.trails.over(set, Event::AgreementReplaced, why);
            }
            self.table.advance(other, Stage::Old, expires);
        }
    }

    /// The 200 of a de-registration has left: the associations answer copies of it for a while.
    fn deregistered(&mut self, now: Time, key: Key, impi: &[u8]) {
        self.metrics.add(Metric::Deregistered, 1);
        let keys: Vec<Key> = self.table.by_impi(impi).to_vec();
        for other in keys {
            let Some(set) = self.table.at_mut(other) else { continue };
            if other != key && set.stage.is_under_way() {
                continue;
            }
            if set.stage != Stage::Ending {
                self.trails.over(set, Event::AgreementEnded, "its phone has de-registered");
            }
            set.usage.registered_until = Time::ZERO;
            let expires = set.expires.min(now + LINGERING);
            self.table.advance(other, Stage::Ending, expires);
        }
    }

    /// The core refuses a REGISTER for good.
    fn failed(&mut self, at: &Answer<'_>, carrying: Option<Key>, status: u16) {
        if let Some(offered) = self.table.by_register(at.register)
            && self.table.at(offered).is_some_and(|set| set.stage == Stage::Offered)
        {
            let impi = self.table.at(offered).map(|set| set.impi.clone()).unwrap_or_default();
            let why = format!("{} instead of a challenge", answered(status));
            self.failures.note(at.now, &impi, at.flow.remote, why.as_str());
            if let Some(set) = self.table.at(offered) {
                self.trails.of(set, Event::AgreementFailed, vec![("text", why.into())]);
            }
            self.table.remove(offered, &mut self.esp);
        }
        let Some(key) = carrying else { return };
        let Some(set) = self.table.at(key).filter(|set| set.stage.is_under_way()) else { return };
        self.metrics.add(Metric::Failed, 1);
        let why = format!("{} to the response to its challenge", answered(status));
        self.failures.note(at.now, &set.impi, set.identity.remote, why.as_str());
        self.trails.over(set, Event::AgreementEnded, &why);
        self.table.advance(key, Stage::Ending, at.now + LINGERING);
    }
}

/// Who answered a REGISTER so. What this node says itself when nobody takes it, the core may say as
/// well.
fn answered(status: u16) -> String {
    match status {
        408 | 500 | 502..=504 => format!(
            "{status} was answered, by the core or by this node because no next hop took the \
             REGISTER (`tandem ctl next-hops`),"
        ),
        _ => format!("the core answered {status}"),
    }
}

/// The longest time that the phone's contacts were given, seconds.
pub(crate) fn granted_s(message: &Message<'_>) -> u32 {
    let header = message
        .header(Header::Expires)
        .and_then(|value| core::str::from_utf8(value).ok()?.trim().parse::<u32>().ok());
    let contacts =
        message.values(Header::Contact).filter_map(|value| match Contact::parse(value).ok()? {
            Contact::Address(contact) => contact.expires_s().or(header),
            Contact::All => None,
        });
    contacts.max().or(header).unwrap_or(0).min(GRANTED_MAX_S)
}
