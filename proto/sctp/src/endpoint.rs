//! An endpoint: one port, its addresses, its associations (RFC 9260 §1.3). It finds the
//! association of a packet, answers what belongs to none, and keeps one deadline for all.

use crate::association::{Association, Incoming, PATHS_MAX, State, Status};
use crate::codec;
use crate::effects::{Context, In, Lost, Out, Packet, Pool};
use crate::id::AssociationId;
use crate::parameters::Parameters;
use crate::random::Random;
use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};
use machine::Time;
use std::collections::{BTreeMap, BinaryHeap};

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

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    association: Option<Box<Association>>,
    /// The earliest entry of the heap that is meant for it.
    armed: Option<Time>,
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
    /// Signs cookies.
    pub(crate) key: [u8; 32],
    pub(crate) counts: Counts,
}

impl Endpoint {
    /// An endpoint without associations; `seed` is secret and never used twice.
    #[must_use]
    pub fn new(settings: Settings, seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        let key = random.key();
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
        if addresses.iter().any(|address| self.peers.contains_key(&(address.ip(), peer_port))) {
            return Err(Refused::Exists);
        }
        let (tag, tsn) = (self.fresh_tag(), self.random.word());
        let mut association = Association::new(self.settings.parameters, peer_port, tag, tsn);
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
            In::RequestHeartbeat(id, address) => self.on(now, id, out, |association, cx| {
                if let Some(path) = association.path_of(address) {
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
            if slot.armed == Some(at) {
                slot.armed = None;
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
        self.association(self.index(id)?).map(Association::status)
    }

    /// The associations there are.
    pub fn associations(&self) -> impl Iterator<Item = AssociationId> + '_ {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| slot.association.is_some())
            .map(|(index, slot)| AssociationId { index: index as u32, generation: slot.generation })
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
        for path in &association.paths {
            self.peers.entry((path.address, association.peer_port)).or_insert(index);
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

    /// Calls the association, then keeps lists and timers in step with what it has become.
    pub(crate) fn with(
        &mut self,
        now: Time,
        index: u32,
        out: &mut Vec<Out>,
        call: impl FnOnce(&mut Association, &mut Context<'_>),
    ) {
        let Some(before) = self.association(index) else { return };
        let (tag, count) = (before.local_tag, before.paths.len());
        let may_change = matches!(before.state, State::CookieWait | State::CookieEchoed);
        self.run(now, index, out, call);
        let Some(after) = self.association(index) else { return };
        if after.state == State::Closed {
            self.strike(index);
            let slot = &mut self.slots[index as usize];
            slot.association = None;
            slot.armed = None;
            self.free.push(index);
            self.prune();
            return;
        }
        if may_change || after.local_tag != tag || after.paths.len() != count {
            if after.local_tag != tag {
                self.tags.remove(&tag);
            }
            self.note(index);
        }
        self.arm(index);
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
            out,
            pool: &mut self.pool,
            random: &mut self.random,
        };
        call(association, &mut context);
    }

    /// Arms the heap when the association's deadline is earlier than the entry it has. An entry
    /// that is too early fires in vain and is armed anew: one an association and time-out, not
    /// one a packet.
    fn arm(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let deadline = slot.association.as_deref().and_then(Association::deadline);
        let Some(at) = deadline else { return };
        if slot.armed.is_none_or(|armed| at < armed) {
            slot.armed = Some(at);
            self.timers.push(Reverse((at, index)));
        }
    }

    /// Entries at the head of the heap that are meant for nobody any more go.
    fn prune(&mut self) {
        while let Some(Reverse((at, index))) = self.timers.peek().copied() {
            if self.slots[index as usize].armed == Some(at) {
                return;
            }
            self.timers.pop();
        }
    }

    /// Takes a packet (RFC 9260 §8.4, §8.5).
    fn packet(&mut self, now: Time, incoming: &Packet, out: &mut Vec<Out>) {
        let Ok(packet) = codec::Packet::read(&incoming.bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let header = packet.header;
        let Some(Ok(first)) = packet.chunks().next() else {
            self.counts.malformed += 1;
            return;
        };
        if header.destination_port != self.settings.port {
            self.counts.out_of_the_blue += 1;
            return;
        }
        if !self.is_intact(&packet, first.kind) {
            self.counts.checksum += 1;
            return;
        }
        let index = self.peer(incoming.source.ip(), header.source_port);
        let (source, local, bytes) = (incoming.source, incoming.destination, &incoming.bytes);
        let incoming = Arrived { now, source, local, bytes, packet, first };
        if self.greet(&incoming, index, out) {
            return;
        }
        // An INIT ACK may come from an address that nobody has spoken of yet (RFC 9260 §5.1.2).
        let is_init_ack = first.kind == codec::ChunkType::InitAck as u8;
        let index = index.or_else(|| {
            self.tagged(header.verification_tag).filter(|index| {
                let known = self.association(*index);
                is_init_ack && known.is_some_and(|it| it.peer_port == header.source_port)
            })
        });
        let Some(index) = index else { return self.out_of_the_blue(&incoming, out) };
        self.pass(&incoming, index, 0, out);
    }

    /// Whether the checksum is right, or a zero that is acceptable (RFC 9653 §5.3).
    fn is_intact(&self, packet: &codec::Packet<'_>, first: u8) -> bool {
        let is_special = first == codec::ChunkType::Init as u8
            || first == codec::ChunkType::InitAck as u8
            || first == codec::ChunkType::CookieEcho as u8;
        let is_acceptable = self.settings.parameters.extensions.zero_checksum.is_some();
        (packet.is_checksum_zero() && is_acceptable && !is_special) || packet.checksum_holds()
    }

    /// Gives the packet to its association when the Verification Tag is right.
    pub(crate) fn pass(
        &mut self,
        arrived: &Arrived<'_>,
        index: u32,
        skip: usize,
        out: &mut Vec<Out>,
    ) {
        let Some(association) = self.association(index) else { return };
        let tag = arrived.packet.header.verification_tag;
        let (own, peers) = (association.local_tag, association.peer_tag);
        let is_early = matches!(association.state, State::CookieWait | State::CookieEchoed);
        let is_right = match codec::ChunkType::of(arrived.first.kind) {
            Some(codec::ChunkType::Abort | codec::ChunkType::ShutdownComplete)
                if arrived.first.flags & 1 != 0 =>
            {
                tag == peers && peers != 0
            }
            Some(codec::ChunkType::ShutdownAck) if is_early => {
                return self.out_of_the_blue(arrived, out);
            }
            _ => tag == own,
        };
        if !is_right {
            self.counts.tag += 1;
            return;
        }
        let Arrived { now, source, local, packet, bytes, .. } = arrived;
        let incoming = Incoming { source: *source, bytes, packet: *packet, skip };
        self.with(*now, index, out, |association, cx| {
            if let Some(path) = association.path_of(source.ip()) {
                association.paths[path].local = Some(*local);
            }
            association.packet(cx, &incoming);
        });
    }
}

/// A packet whose checksum was right.
pub(crate) struct Arrived<'a> {
    pub(crate) now: Time,
    pub(crate) source: SocketAddr,
    pub(crate) local: IpAddr,
    pub(crate) bytes: &'a bytes::Bytes,
    pub(crate) packet: codec::Packet<'a>,
    pub(crate) first: codec::RawChunk<'a>,
}
