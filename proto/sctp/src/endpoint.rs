//! An endpoint: one port, its addresses, its associations (RFC 9260 §2.3). It finds the
//! association of a packet, answers what belongs to none, and keeps one deadline for all.

use crate::association::{Association, PATHS_MAX, RANDOM_BYTES, Secrets, State, Status};
use crate::codec;
use crate::effects::{Context, In, Indication, Lost, Out, Pool, Transmit};
use crate::id::AssociationId;
use crate::parameters::Parameters;
use crate::random::Random;
use bytes::Bytes;
use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};
use machine::{Duration, Time};
use overload::{AnswerBudget, Answers};
use std::collections::{BTreeMap, BinaryHeap};

/// How long a key signs cookies; for as long again it is good for reading them (RFC 9260 §5.1.3).
const COOKIE_KEY_LIFE: Duration = Duration::from_secs(3600);
/// The heap of timers is rebuilt when it has more entries than this, and that many for each
/// association.
const STALE_TIMERS_MIN: usize = 64;
const STALE_TIMERS_FACTOR: usize = 8;

/// What an endpoint is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its port.
    pub port: u16,
    /// Its addresses; more than one are told to the peer.
    pub addresses: Vec<IpAddr>,
    /// Whether it takes associations that others begin.
    pub listens: bool,
    /// Associations at most.
    pub associations_max: usize,
    /// What an association begins with.
    pub parameters: Parameters,
}

/// What was counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets with a wrong checksum.
    pub checksum: u64,
    /// Packets whose header or first chunk is malformed.
    pub malformed: u64,
    /// Packets whose Verification Tag is wrong.
    pub tag: u64,
    /// Packets that belong to no association.
    pub out_of_the_blue: u64,
    /// Cookies that were not signed here, or belong to nothing.
    pub cookie: u64,
    /// Cookies that were too old.
    pub stale: u64,
    /// Cookies that found no room.
    pub full: u64,
    /// Packets without an association that were not answered: their source had been answered
    /// often enough, or strangers had.
    pub unanswered: u64,
}

/// Why an association cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No address, or more than [`PATHS_MAX`].
    Addresses,
    /// There are as many associations as there may be.
    Full,
    /// There is one with that peer already.
    Exists,
}

/// A slot's place as the number of its association; they are bounded far below.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    association: Option<Box<Association>>,
    /// Its entries of the heap, the earliest one last.
    armed: Vec<Time>,
    is_dirty: bool,
}

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) settings: Settings,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// By the peer's address and port.
    peers: BTreeMap<(IpAddr, u16), u32>,
    /// By our own tag.
    tags: BTreeMap<u32, u32>,
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// Associations with messages that wait for the next tick.
    dirty: Vec<u32>,
    pub(crate) pool: Pool,
    pub(crate) random: Random,
    /// What is secret for as long as the endpoint lives.
    pub(crate) key: [u8; 32],
    /// Sign cookies: the one in use, and the one before it.
    pub(crate) cookie_keys: [[u8; 32]; 2],
    cookie_keyed_at: Time,
    /// Endpoint pair shared keys of associations to come, and the one in use (RFC 4895 §6.1).
    shared_keys: Vec<(u16, Bytes)>,
    active_key: u16,
    pub(crate) budget: AnswerBudget,
    pub(crate) counts: Counts,
}

impl Endpoint {
    /// An endpoint without associations; `seed` is secret and never used twice.
    #[must_use]
    pub fn new(settings: Settings, seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        let (key, cookie_keys) = (random.key(), [random.key(), random.key()]);
        Self {
            settings,
            slots: Vec::new(),
            free: Vec::new(),
            peers: BTreeMap::new(),
            tags: BTreeMap::new(),
            timers: BinaryHeap::new(),
            dirty: Vec::new(),
            pool: Pool::default(),
            random,
            key,
            cookie_keys,
            cookie_keyed_at: Time::ZERO,
            shared_keys: Vec::new(),
            active_key: 0,
            budget: AnswerBudget::new(key),
            counts: Counts::default(),
        }
    }

    /// ASSOCIATE with the peer at one of `addresses` (RFC 9260 §11.1.2).
    ///
    /// # Errors
    /// [`Refused`] when nothing was begun.
    pub fn associate(
        &mut self,
        now: Time,
        addresses: &[SocketAddr],
        peer_port: u16,
        out: &mut Vec<Out>,
    ) -> Result<AssociationId, Refused> {
        if addresses.is_empty() || addresses.len() > PATHS_MAX {
            return Err(Refused::Addresses);
        }
        if addresses.iter().any(|address| self.owner(address.ip(), peer_port).is_some()) {
            return Err(Refused::Exists);
        }
        // Who has listed an address in an INIT, and has not answered from it, does not have it.
        for address in addresses {
            self.peers.remove(&(address.ip(), peer_port));
        }
        let (tag, tsn) = (self.fresh_tag(), self.random.word());
        let mut association = self.fresh_association(peer_port, tag, tsn);
        for address in addresses {
            association.add_path(now, address.ip(), address.port());
        }
        let index = self.insert(association).ok_or(Refused::Full)?;
        self.with(now, index, out, Association::initiate);
        Ok(AssociationId { index, generation: self.slots[index as usize].generation })
    }

    /// Takes one input.
    pub fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Packet(packet) => self.packet(now, &packet, out),
            In::Icmp(icmp) => self.icmp(now, &icmp, out),
            In::Send(id, message) => {
                let Some(index) = self.index(id) else { return };
                self.run(now, index, out, |association, cx| association.send(cx, message));
                let slot = &mut self.slots[index as usize];
                if !core::mem::replace(&mut slot.is_dirty, true) {
                    self.dirty.push(index);
                }
            }
            In::Shutdown(id) => self.on(now, id, out, Association::shut_down),
            In::Abort(id, reason) => self.on(now, id, out, |association, cx| {
                let mut causes = Vec::new();
                codec::Cause::UserAbort(&reason).write(&mut causes);
                association.abort(cx, &causes, Lost::UserAborted);
            }),
            In::SetPrimary(id, address) => {
                self.on(now, id, out, |association, _| association.set_primary(address));
            }
            In::SetParameters(id, parameters) => {
                self.on(now, id, out, |association, _| association.set_parameters(parameters));
            }
            In::SetPathParameters(id, address, parameters) => {
                self.on(now, id, out, |association, _| {
                    association.set_path_parameters(address, parameters);
                });
            }
            In::SetScheduler(id, scheduler) => {
                self.on(now, id, out, |association, _| association.set_scheduler(scheduler));
            }
            In::SetStreamValue(id, stream, value) => {
                self.on(now, id, out, |it, _| it.set_stream_value(stream, value));
            }
            In::Reconfigure(id, request) => {
                self.on(now, id, out, |association, cx| association.reconfigure(cx, request));
            }
            In::ChangeAddress(id, request) => {
                self.on(now, id, out, |association, cx| association.change_address(cx, request));
            }
            In::SetSharedKey(id, number, key) => {
                self.on_key(now, id, number, out, |it| {
                    it.secrets.set_shared(&mut it.auth, number, key)
                });
            }
            In::UseSharedKey(id, number) => {
                self.on_key(now, id, number, out, |it| it.secrets.use_shared(&mut it.auth, number));
            }
            In::RemoveSharedKey(id, number) => {
                self.on_key(now, id, number, out, |it| {
                    it.secrets.remove_shared(&mut it.auth, number)
                });
            }
            In::RequestHeartbeat(id, address) => self.on(now, id, out, |association, cx| {
                if let Some(path) = association.paths.of(address) {
                    association.heartbeat(cx, path);
                    association.flush(cx);
                }
            }),
            In::Consume(id, bytes) => {
                self.on(now, id, out, |association, cx| association.consume(cx, bytes));
            }
        }
    }

    /// Lets time pass: sends what [`In::Send`] brought, and every timer due fires.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        for index in core::mem::take(&mut self.dirty) {
            self.slots[index as usize].is_dirty = false;
            self.with(now, index, out, Association::flush);
        }
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            if at > now {
                return;
            }
            self.timers.pop();
            let slot = &mut self.slots[index as usize];
            if slot.armed.last() == Some(&at) {
                slot.armed.pop();
                self.with(now, index, out, Association::tick);
            }
        }
    }

    /// When [`Endpoint::tick`] wants to be called next; [`Time::ZERO`]: at once.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.dirty.is_empty() {
            return Some(Time::ZERO);
        }
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// Addresses for associations to come; those that stand change theirs by
    /// [`In::ChangeAddress`].
    pub fn set_addresses(&mut self, addresses: Vec<IpAddr>) {
        self.settings.addresses = addresses;
    }

    /// What associations to come begin with, whether peers may begin any, and how many there may
    /// be; those that stand stay and keep their parameters ([`In::SetParameters`]).
    pub const fn set_limits(&mut self, parameters: Parameters, listens: bool, most: usize) {
        self.settings.parameters = parameters;
        self.settings.listens = listens;
        self.settings.associations_max = most;
    }

    /// How often those are answered that have no association, and the addresses that the user
    /// knows: of peers that it has a name for.
    pub fn set_answers(&mut self, rates: Answers, known: impl IntoIterator<Item = IpAddr>) {
        self.budget.set_rates(rates);
        self.budget.set_known(known);
    }

    /// Keys of the endpoint pair by identifier for associations to come, and the one that AUTH
    /// chunks name (RFC 4895 §6.1). Key 0 is empty unless it is listed.
    pub fn set_shared_keys(&mut self, keys: Vec<(u16, Bytes)>, active: u16) {
        self.shared_keys = keys;
        self.active_key = active;
    }

    /// Takes back the buffer of a packet that was sent.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.pool.give(buffer);
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// STATUS of an association (RFC 9260 §11.1.8).
    #[must_use]
    pub fn status(&self, id: AssociationId) -> Option<Status> {
        self.association(self.index(id)?).map(Status::of)
    }

    /// The packet that aborts an association, on every path, for who sends it when this process
    /// cannot any more (RFC 9260 §3.3.7, with the peer's tag); none when it is over, or the peer
    /// has not answered yet.
    #[must_use]
    pub fn abort_packets(&self, id: AssociationId) -> Vec<Transmit> {
        let association = self.index(id).and_then(|index| self.association(index));
        association.map(|it| it.abort_packets(self.settings.port)).unwrap_or_default()
    }

    /// The associations there are.
    pub fn associations(&self) -> impl Iterator<Item = AssociationId> + '_ {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.association.is_some()).map(|(index, slot)| AssociationId {
            index: number(index),
            generation: slot.generation,
        })
    }

    fn index(&self, id: AssociationId) -> Option<u32> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation && slot.association.is_some()).then_some(id.index)
    }

    pub(crate) fn association(&self, index: u32) -> Option<&Association> {
        self.slots.get(index as usize)?.association.as_deref()
    }

    pub(crate) fn peer(&self, address: IpAddr, port: u16) -> Option<u32> {
        self.peers.get(&(address, port)).copied()
    }

    /// The association that an address is of: one that the far end has answered from, or that the
    /// user has named (RFC 9260 §5.4).
    pub(crate) fn owner(&self, address: IpAddr, port: u16) -> Option<u32> {
        self.peer(address, port).filter(|index| {
            self.association(*index).is_some_and(|owner| {
                let is_named = matches!(owner.state, State::CookieWait | State::CookieEchoed);
                is_named || owner.paths.has_confirmed(address)
            })
        })
    }

    /// Whether a source has more associations than there is room left: where room is short, who
    /// has most of it gets no more.
    pub(crate) fn is_crowding(&self, source: IpAddr) -> bool {
        let (taken, most) = (self.slots.len() - self.free.len(), self.settings.associations_max);
        if taken * 2 < most {
            return false;
        }
        let own = self.peers.range((source, 0)..=(source, u16::MAX));
        own.count() > most.saturating_sub(taken)
    }

    pub(crate) fn tagged(&self, tag: u32) -> Option<u32> {
        self.tags.get(&tag).copied()
    }

    /// A tag that no association here has.
    pub(crate) fn fresh_tag(&mut self) -> u32 {
        loop {
            let tag = self.random.tag();
            if !self.tags.contains_key(&tag) {
                return tag;
            }
        }
    }

    /// The key to sign a cookie with, a new one from time to time.
    pub(crate) fn cookie_key(&mut self, now: Time) -> [u8; 32] {
        if now.since(self.cookie_keyed_at) > COOKIE_KEY_LIFE {
            self.cookie_keys = [self.random.key(), self.cookie_keys[0]];
            self.cookie_keyed_at = now;
        }
        self.cookie_keys[0]
    }

    /// What an association of these numbers authenticates itself with. Its random number follows
    /// from the numbers, so that it need not be kept while a cookie is on its way.
    pub(crate) fn secrets(&self, tag: u32, tsn: u32) -> Secrets {
        Secrets::new(self.random_of(tag, tsn), &self.shared_keys, self.active_key)
    }

    /// The random number of such an association; zeros where nothing is authenticated.
    pub(crate) fn random_of(&self, tag: u32, tsn: u32) -> [u8; RANDOM_BYTES] {
        let has = self.settings.parameters.extensions;
        match has.authentication || has.address_reconfiguration {
            true => crate::cookie::random_of(&self.key, tag, tsn),
            false => [0; RANDOM_BYTES],
        }
    }

    /// An association that knows only its own side.
    pub(crate) fn fresh_association(&self, peer_port: u16, tag: u32, tsn: u32) -> Association {
        let secrets = self.secrets(tag, tsn);
        let (parameters, own) = (self.settings.parameters, &self.settings.addresses);
        Association::new(parameters, peer_port, tag, tsn, secrets, own)
    }

    /// Gives the association a place; `None` when there is none.
    pub(crate) fn insert(&mut self, association: Association) -> Option<u32> {
        if self.slots.len() - self.free.len() >= self.settings.associations_max {
            return None;
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot::default());
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.association = Some(Box::new(association));
        self.note(index);
        Some(index)
    }

    /// Lists tag and addresses of the association.
    fn note(&mut self, index: u32) {
        let Some(association) = self.slots[index as usize].association.as_deref() else { return };
        self.tags.insert(association.local_tag, index);
        let port = association.peer_port;
        let own = association.paths.iter().map(|path| (path.address, path.is_confirmed()));
        for (address, is_confirmed) in own.collect::<Vec<_>>() {
            // Who has answered from an address has it, whoever listed it before.
            if is_confirmed && self.owner(address, port).is_none() {
                self.peers.insert((address, port), index);
            }
            self.peers.entry((address, port)).or_insert(index);
        }
    }

    /// Strikes off everything that leads to the association.
    pub(crate) fn strike(&mut self, index: u32) {
        let Some(association) = self.association(index) else { return };
        let (tag, port) = (association.local_tag, association.peer_port);
        let addresses: Vec<IpAddr> = association.paths.iter().map(|path| path.address).collect();
        self.forget(tag, port, &addresses, index);
    }

    fn forget(&mut self, tag: u32, port: u16, addresses: &[IpAddr], index: u32) {
        if self.tags.get(&tag) == Some(&index) {
            self.tags.remove(&tag);
        }
        for address in addresses {
            if self.peers.get(&(*address, port)) == Some(&index) {
                self.peers.remove(&(*address, port));
            }
        }
    }

    fn on(
        &mut self,
        now: Time,
        id: AssociationId,
        out: &mut Vec<Out>,
        call: impl FnOnce(&mut Association, &mut Context<'_>),
    ) {
        if let Some(index) = self.index(id) {
            self.with(now, index, out, call);
        }
    }

    fn on_key(
        &mut self,
        now: Time,
        id: AssociationId,
        number: u16,
        out: &mut Vec<Out>,
        call: impl FnOnce(&mut Association) -> bool,
    ) {
        self.on(now, id, out, |association, cx| {
            if !call(association) {
                cx.indicate(Indication::SharedKeyRefused(number));
            }
        });
    }

    /// Calls the association, then keeps lists and timers in step with what it has become.
    pub(crate) fn with(
        &mut self,
        now: Time,
        index: u32,
        out: &mut Vec<Out>,
        call: impl FnOnce(&mut Association, &mut Context<'_>),
    ) {
        let Some(before) = self.association(index) else { return };
        let tag = before.local_tag;
        self.run(now, index, out, call);
        let slot = &mut self.slots[index as usize];
        let Some(after) = slot.association.as_deref_mut() else { return };
        let (has_other_tag, port) = (after.local_tag != tag, after.peer_port);
        let has_changed = core::mem::take(&mut after.paths.have_changed) || has_other_tag;
        let is_closed = after.state == State::Closed;
        if has_changed {
            let departed = core::mem::take(&mut after.paths.departed);
            let old_tag = if has_other_tag { tag } else { 0 };
            self.forget(old_tag, port, &departed, index);
        }
        if is_closed {
            return self.remove(index);
        }
        if has_changed {
            self.note(index);
        }
        self.arm(index);
    }

    /// The association is over.
    fn remove(&mut self, index: u32) {
        self.strike(index);
        let slot = &mut self.slots[index as usize];
        slot.association = None;
        slot.armed.clear();
        self.free.push(index);
        self.prune();
    }

    /// Calls the association, nothing else.
    fn run(
        &mut self,
        now: Time,
        index: u32,
        out: &mut Vec<Out>,
        call: impl FnOnce(&mut Association, &mut Context<'_>),
    ) {
        let slot = &mut self.slots[index as usize];
        let Some(association) = slot.association.as_deref_mut() else { return };
        let id = AssociationId { index, generation: slot.generation };
        let mut context = Context {
            now,
            id,
            port: self.settings.port,
            addresses: &self.settings.addresses,
            peers: &self.peers,
            out,
            pool: &mut self.pool,
            random: &mut self.random,
        };
        call(association, &mut context);
    }

    /// Arms the heap when the association's deadline is earlier than all entries it has. An entry
    /// that is too early fires in vain: one an association and time-out, not one a packet.
    fn arm(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let deadline = slot.association.as_deref().and_then(Association::deadline);
        let Some(at) = deadline else { return };
        if slot.armed.last().is_none_or(|armed| at < *armed) {
            slot.armed.push(at);
            self.timers.push(Reverse((at, index)));
        }
    }

    /// Entries that are meant for nobody any more go: those at the head of the heap at once, the
    /// others when they are the most of it.
    fn prune(&mut self) {
        let live: usize = self.slots.len() - self.free.len();
        if self.timers.len() > STALE_TIMERS_MIN + STALE_TIMERS_FACTOR * live {
            let slots = self.slots.iter().enumerate();
            let entries = slots.flat_map(|(index, slot)| {
                slot.armed.iter().map(move |at| Reverse((*at, number(index))))
            });
            self.timers = entries.collect();
        }
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            if self.slots[index as usize].armed.last() == Some(&at) {
                return;
            }
            self.timers.pop();
        }
    }
}
