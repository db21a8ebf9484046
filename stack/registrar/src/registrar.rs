//! Every binding of a shard: who is let in, who is found, what ends.

use crate::aor::Aor;
use crate::binding::{Binding, same_contact};
use crate::config::Config;
use crate::index::Index;
use crate::pending::{PENDING_MAX, Pending, WAIT};
use crate::source::Sources;
use machine::KeyedHash;
use machine::identity::{Side, TOKEN_BYTES, Token};
use machine::narrow::half;
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use runtime::{Flow, Transport};
use sip::view::Contact;
use sip::{Header, Message, NameAddr};
use sip_stack::RealmId;
use std::collections::VecDeque;

/// Aliases of one binding that can be found; further ones are only told to the client.
pub const ALIASES_MAX: usize = 16;
/// Bindings that end in one tick: when very many end at once, the messages that came meanwhile
/// are dealt with in between.
pub const ENDED_PER_TICK_MAX: usize = 256;

/// What shall become of a REGISTER.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// Send it to the core with what [`Registrar::write_core`] writes in place of
    /// [`crate::DROPPED`]; tell [`Registrar::on_core_answer`] what comes back, or
    /// [`Registrar::abandon`] that nothing did.
    Forward(Key),
    /// Refuse it.
    Reject(Reject),
}

/// Why a REGISTER is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// Status of the response.
    pub status: u16,
    /// Words for the service assurance.
    pub why: &'static str,
    /// Min-Expires of a 423, seconds.
    pub min_expires_s: Option<u32>,
}

impl Reject {
    /// A limit is reached.
    pub const NO_ROOM: Self = Self::new(503, "no room for another registration");

    const fn new(status: u16, why: &'static str) -> Self {
        Self { status, why, min_expires_s: None }
    }
}

/// A binding that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Its address of record.
    pub aor: Box<[u8]>,
    /// Its contact.
    pub contact: Box<[u8]>,
    /// Its source.
    pub flow: Flow,
    /// In words: it was not refreshed, or its connection ended.
    pub why: &'static str,
}

/// Every binding of one shard.
#[derive(Debug)]
pub struct Registrar {
    pub(crate) config: Config,
    pub(crate) shard: u16,
    pub(crate) hash: KeyedHash,
    /// The key of `hash`.
    pub(crate) secret: [u8; 16],
    pub(crate) bindings: Slots<Binding>,
    pub(crate) pending: Slots<Pending>,
    /// By hash of the address of record and of each alias.
    pub(crate) identities: Index,
    pub(crate) sources: Sources,
    /// The core asked for at least this many seconds (423).
    pub(crate) core_floor_s: u32,
    pub(crate) scratch: Vec<u8>,
    pub(crate) due: Vec<Key>,
    /// Bindings whose time is over, in order; at most as many as there are bindings.
    pub(crate) over: VecDeque<Key>,
    /// Connections that ended, whose bindings end with them; at most as many as had bindings.
    pub(crate) closed: VecDeque<Flow>,
}

impl Registrar {
    /// An empty registrar for at most `bindings_max` bindings; `seed` is secret.
    #[must_use]
    pub fn new(config: Config, bindings_max: u32, shard: u16, seed: &[u8; 16], now: Time) -> Self {
        Self {
            config,
            shard,
            hash: KeyedHash::new(seed),
            secret: *seed,
            bindings: Slots::new(bindings_max, now),
            pending: Slots::new(PENDING_MAX, now),
            identities: Index::default(),
            sources: Sources::default(),
            core_floor_s: 0,
            scratch: Vec::new(),
            due: Vec::new(),
            over: VecDeque::new(),
            closed: VecDeque::new(),
        }
    }

    /// Takes a new configuration; bindings stay as they are until their next refresh.
    pub fn configure(&mut self, config: Config, bindings_max: u32) {
        self.config = config;
        self.bindings.set_max(bindings_max);
    }

    /// Judges a REGISTER that [`Registrar::refresh`] did not answer; it came from `flow` in
    /// `realm`.
    pub fn on_register(
        &mut self,
        now: Time,
        flow: &Flow,
        realm: RealmId,
        message: &Message<'_>,
    ) -> Verdict {
        let Some(aor) = Aor::parse(message.to().uri) else {
            return Verdict::Reject(Reject::new(404, "the To names no address of record"));
        };
        if let Err(reject) = self.judge(&aor, realm, message) {
            return Verdict::Reject(reject);
        }
        match self.suspend(now, flow, realm, &aor, message) {
            Some(pending) => Verdict::Forward(pending),
            None => Verdict::Reject(Reject::NO_ROOM),
        }
    }

    /// Whether the core shall be asked.
    fn judge(&self, aor: &Aor, realm: RealmId, message: &Message<'_>) -> Result<(), Reject> {
        let mut contacts = message.values(Header::Contact);
        let (first, second) = (contacts.next(), contacts.next());
        let Some(first) = first else { return Ok(()) };
        let contact = match Contact::parse(first) {
            Ok(Contact::Address(contact)) => contact,
            Ok(Contact::All) if second.is_none() && header_expires(message) == Some(0) => {
                return Ok(());
            }
            Ok(Contact::All) => return Err(Reject::new(400, "Contact: * without Expires: 0")),
            Err(_) => return Err(Reject::new(400, "a Contact cannot be read")),
        };
        if second.is_some() {
            return self.judge_many(realm, message);
        }
        let asked_s = self.asked(&contact, realm, message)?;
        let Some(key) = self.find(aor, &contact) else { return self.judge_new(aor, asked_s) };
        let Some(binding) = self.bindings.at(key) else { return Ok(()) };
        let same_call = binding.call_id == self.hash.hash(message.call_id());
        if same_call && message.cseq().number <= binding.cseq {
            return Err(Reject::new(500, "a newer REGISTER was seen before"));
        }
        Ok(())
    }

    fn judge_new(&self, aor: &Aor, asked_s: u32) -> Result<(), Reject> {
        let contacts = self.bindings_of(aor).count();
        if asked_s > 0 && contacts >= usize::from(self.config.contacts_max) {
            return Err(Reject::new(403, "the address of record has too many contacts"));
        }
        Ok(())
    }

    /// Several contacts at once always go to the core.
    fn judge_many(&self, realm: RealmId, message: &Message<'_>) -> Result<(), Reject> {
        let mut count = 0;
        for value in message.values(Header::Contact) {
            match Contact::parse(value) {
                Ok(Contact::Address(contact)) => self.asked(&contact, realm, message)?,
                Ok(Contact::All) => return Err(Reject::new(400, "Contact: * beside others")),
                Err(_) => return Err(Reject::new(400, "a Contact cannot be read")),
            };
            count += 1;
        }
        if count > usize::from(self.config.contacts_max) {
            return Err(Reject::new(403, "the address of record has too many contacts"));
        }
        Ok(())
    }

    /// Seconds asked for: by the contact, by the message, or as many as we give (§10.2.1.1).
    fn asked(
        &self,
        contact: &NameAddr<'_>,
        realm: RealmId,
        message: &Message<'_>,
    ) -> Result<u32, Reject> {
        let asked = contact.expires_s().or_else(|| header_expires(message));
        let asked_s = asked.unwrap_or(self.config.client_expires_s(realm));
        let least = self.config.client_expires_min_s;
        if asked_s > 0 && asked_s < least {
            let mut reject = Reject::new(423, "the interval is too brief");
            reject.min_expires_s = Some(least);
            return Err(reject);
        }
        Ok(asked_s)
    }

    /// The active binding of that contact.
    pub(crate) fn find(&self, aor: &Aor, contact: &NameAddr<'_>) -> Option<Key> {
        self.bindings_of(aor).find_map(|(key, binding)| {
            let known = NameAddr::parse(binding.contact()).ok()?;
            same_contact(&known, contact).then_some(key)
        })
    }

    /// The active bindings of an address of record.
    pub fn bindings_of<'a>(
        &'a self,
        aor: &'a [u8],
    ) -> impl Iterator<Item = (Key, &'a Binding)> + 'a {
        self.identified(aor).filter(move |(_, binding)| binding.aor() == aor)
    }

    fn identified(&self, identity: &[u8]) -> impl Iterator<Item = (Key, &Binding)> {
        let hash = half(self.hash.hash(identity));
        self.identities.find(hash).filter_map(|slot| {
            let key = self.bindings.user_of(slot)?;
            Some((key, self.bindings.at(key)?))
        })
    }

    /// The bindings to which a request for `identity` may go: those of that address of record,
    /// or those that have it as an alias.
    pub fn reached_by<'a>(
        &'a self,
        identity: &'a Aor,
    ) -> impl Iterator<Item = (Key, &'a Binding)> + 'a {
        self.identified(identity).filter(move |(_, binding)| {
            binding.aor() == &**identity
                || aliases(binding.associated()).any(|alias| alias == *identity)
        })
    }

    /// The binding whose token is the user of a Request-URI (or of a Path) that the core sent.
    #[must_use]
    pub fn by_token(&self, user: &[u8]) -> Option<(Key, &Binding)> {
        if user.len() != TOKEN_BYTES {
            return None;
        }
        let token = Token::read(user)?;
        let key = self.bindings.user_of(token.index)?;
        let binding = self.bindings.at(key).filter(|binding| binding.is_active())?;
        (self.token(key) == token.write()).then_some((key, binding))
    }

    /// The bindings registered from `flow`: whether a request from there comes from a registered
    /// client, and from which.
    pub fn by_source<'a>(
        &'a self,
        flow: &'a Flow,
    ) -> impl Iterator<Item = (Key, &'a Binding)> + 'a {
        self.chain(flow).filter_map(|key| {
            Some((key, self.bindings.at(key).filter(|binding| binding.is_from(flow))?))
        })
    }

    /// A binding that was registered from `flow`, whosever it is.
    #[must_use]
    pub fn subscriber(&self, flow: &Flow) -> Option<Key> {
        if self.is_empty() {
            return None;
        }
        self.by_source(flow).next().map(|(key, _)| key)
    }

    /// The binding that a request with this URI in its From was sent by: of those of its source,
    /// which many subscribers may share, the one that bears that name.
    #[must_use]
    pub fn sender(&self, flow: &Flow, from: &[u8]) -> Option<Key> {
        let any = self.subscriber(flow)?;
        let named = Aor::parse(from).and_then(|aor| {
            let mut reached = self.reached_by(&aor);
            reached.find(|(_, binding)| binding.is_from(flow)).map(|(key, _)| key)
        });
        Some(named.unwrap_or(any))
    }

    /// The binding that a request of the core is for: by the token in its Request-URI or in the
    /// Path that the core got from us, or by the name it knows the subscriber by.
    #[must_use]
    pub fn addressed(&self, message: &Message<'_>) -> Option<(Key, &Binding)> {
        if self.is_empty() {
            return None;
        }
        let uri = message.uri()?;
        let by_uri = uri.user.and_then(|user| self.by_token(user));
        by_uri.or_else(|| self.by_path(message)).or_else(|| {
            let aor = Aor::of(uri)?;
            let found = self.reached_by(&aor).max_by_key(|(_, binding)| binding.expires);
            found.map(|(key, _)| key).and_then(|key| Some((key, self.binding(key)?)))
        })
    }

    fn by_path(&self, message: &Message<'_>) -> Option<(Key, &Binding)> {
        let route = message.values(Header::Route).next()?;
        let uri = NameAddr::parse(route).ok()?.parse_uri().ok()?;
        self.by_token(uri.user?)
    }

    /// The binding, while it lives.
    #[must_use]
    pub fn binding(&self, key: Key) -> Option<&Binding> {
        self.bindings.at(key)
    }

    /// Realms moved to other indices; bindings of one that is gone end: nobody can be reached
    /// through it.
    pub fn remap(&mut self, to: impl Fn(RealmId) -> Option<RealmId>, gone: &mut Vec<Gone>) {
        let keys: Vec<Key> = self.bindings.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(binding) = self.bindings.at_mut(key).filter(|own| own.is_active()) else {
                continue;
            };
            match to(binding.realm) {
                Some(realm) => binding.realm = realm,
                None => self.end(key, "its realm was removed", gone),
            }
        }
        let waiting: Vec<Key> = self.pending.iter().map(|(key, _)| key).collect();
        for key in waiting {
            let realm = self.pending.at(key).and_then(|record| to(record.realm));
            match (realm, self.pending.at_mut(key)) {
                (Some(realm), Some(record)) => record.realm = realm,
                _ => self.abandon(key),
            }
        }
    }

    /// Ends the active bindings that `is_over` says, and says why.
    pub fn end_where(
        &mut self,
        why: &'static str,
        gone: &mut Vec<Gone>,
        is_over: impl Fn(&Binding) -> bool,
    ) {
        let over: Vec<Key> =
            self.iter().filter(|(_, it)| is_over(it)).map(|(key, _)| key).collect();
        for key in over {
            self.end(key, why, gone);
        }
    }

    /// Ends an active binding, and says why.
    pub fn end_one(&mut self, key: Key, why: &'static str, gone: &mut Vec<Gone>) {
        if self.bindings.at(key).is_some_and(Binding::is_active) {
            self.end(key, why, gone);
        }
    }

    /// The core lets a binding end after so many seconds, earlier than it has said before
    /// (RFC 3680 §4.7.1, shortened): its next REGISTER goes there, and it ends by then. `false`: it
    /// ends that early already.
    pub fn shorten(&mut self, now: Time, key: Key, left_s: u32) -> bool {
        let Some(binding) = self.bindings.at_mut(key).filter(|it| it.is_active()) else {
            return false;
        };
        let until = now + seconds(left_s);
        if until >= binding.core_expires {
            return false;
        }
        (binding.core_expires, binding.core_refresh) = (until, now);
        binding.expires = binding.expires.min(until);
        let expires = binding.expires;
        self.bindings.arm(key, expires);
        true
    }

    /// Every active binding.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &Binding)> {
        self.bindings.iter().filter(|(_, binding)| binding.is_active())
    }

    /// Number of bindings, those that wait for the core's answer included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bindings.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of REGISTERs that wait for the core's answer.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// A connection ended: what was registered over it cannot be reached any more
    /// (RFC 5626 §4.4) and ends in the ticks to come.
    pub fn connection_ended(&mut self, flow: &Flow) {
        if flow.transport != Transport::Udp && self.by_source(flow).next().is_some() {
            self.closed.push_back(*flow);
        }
    }

    /// Lets time pass: bindings that were not refreshed end, at most [`ENDED_PER_TICK_MAX`] of
    /// them; the rest is due at once.
    pub fn tick(&mut self, now: Time, gone: &mut Vec<Gone>) {
        let mut due = core::mem::take(&mut self.due);
        self.bindings.expire(now, &mut due);
        self.over.extend(due.drain(..));
        self.pending.expire(now, &mut due);
        for key in due.drain(..) {
            self.abandon(key);
        }
        self.due = due;
        for _ in 0..ENDED_PER_TICK_MAX {
            if let Some(key) = self.over.pop_front() {
                self.expired(now, key, gone);
            } else if let Some(&flow) = self.closed.front() {
                self.disconnected(&flow, gone);
            } else {
                self.over.shrink_to(ENDED_PER_TICK_MAX);
                return;
            }
        }
    }

    /// The binding may have been refreshed while it waited for its turn. Where the core is being
    /// asked, its answer decides: it names the binding, which would be another one after its end.
    fn expired(&mut self, now: Time, key: Key, gone: &mut Vec<Gone>) {
        let over = self.bindings.at(key).filter(|binding| binding.expires <= now);
        let Some(Binding { asked, expires, .. }) = over else { return };
        let until = (*asked + WAIT).min(*expires + WAIT);
        if *asked != Time::ZERO && now < until {
            self.bindings.arm(key, until);
        } else {
            self.end(key, "it was not refreshed", gone);
        }
    }

    /// Ends one binding of a connection that is gone.
    fn disconnected(&mut self, flow: &Flow, gone: &mut Vec<Gone>) {
        let last = self.by_source(flow).next().map(|(key, _)| key);
        match last {
            Some(key) => self.end(key, "its connection ended", gone),
            None => drop(self.closed.pop_front()),
        }
    }

    /// When [`Registrar::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.over.is_empty() || !self.closed.is_empty() {
            return Some(Time::ZERO);
        }
        self.bindings.deadline().into_iter().chain(self.pending.deadline()).min()
    }

    fn end(&mut self, key: Key, why: &'static str, gone: &mut Vec<Gone>) {
        if let Some(binding) = self.bindings.at(key).filter(|binding| binding.is_active()) {
            let (aor, contact) = (binding.aor().into(), binding.contact().into());
            gone.push(Gone { aor, contact, flow: binding.flow, why });
        }
        self.remove(key);
    }

    /// Takes a binding out of the table and of every index.
    pub(crate) fn remove(&mut self, key: Key) {
        self.unlist(key);
        self.bindings.give_back(key);
    }

    /// Puts an active binding into the indices.
    pub(crate) fn list(&mut self, key: Key) {
        let Some(binding) = self.bindings.at(key) else { return };
        self.identities.insert(half(self.hash.hash(binding.aor())), key.index);
        for alias in aliases(binding.associated()) {
            self.identities.insert(half(self.hash.hash(&alias)), key.index);
        }
        self.link(key);
    }

    /// Takes an active binding out of the indices; no other stands there.
    pub(crate) fn unlist(&mut self, key: Key) {
        let Some(binding) = self.bindings.at(key).filter(|binding| binding.is_active()) else {
            return;
        };
        self.identities.remove(half(self.hash.hash(binding.aor())), key.index);
        for alias in aliases(binding.associated()) {
            self.identities.remove(half(self.hash.hash(&alias)), key.index);
        }
        self.unlink(key);
    }

    /// The user part of the contact that the core gets for a binding, and of its Path.
    #[must_use]
    pub fn token(&self, key: Key) -> [u8; TOKEN_BYTES] {
        let mut bytes = [0; 10];
        bytes[..4].copy_from_slice(&key.index.to_le_bytes());
        bytes[4..8].copy_from_slice(&key.generation.to_le_bytes());
        bytes[8..].copy_from_slice(&self.shard.to_le_bytes());
        Token::new(self.hash.hash(&bytes), self.shard, key, Side::B).write()
    }
}

/// The aliases in a P-Associated-URI list that can be found.
pub(crate) fn aliases(associated: &[u8]) -> impl Iterator<Item = Aor> + '_ {
    sip::Items::new(associated)
        .take(ALIASES_MAX)
        .filter_map(|item| Aor::parse(NameAddr::parse(item).ok()?.uri))
}

/// The Expires header; what is no number counts as absent (§10.2.1.1).
pub(crate) fn header_expires(message: &Message<'_>) -> Option<u32> {
    let value = message.header(Header::Expires)?;
    core::str::from_utf8(value).ok()?.trim().parse().ok()
}

pub(crate) const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}
