//! The streams of all lessees: each as its session controller said it last, at ports that nobody
//! else has.
//!
//! ```text
//!   put, remove, begin, end ─→ ours to lease? ─ taken? ─ budget → Standing → flows before, after
//! ```
//! A stream is kept as the octets that say it: that is what its budget counts, and little.

use crate::addresses::Addresses;
use crate::config::{Limits, Msc};
use crate::flows::{self, Flows};
use crate::lease::{Book, Lessee};
use anchor::row::{Done, Standing, StreamId, read_stream, read_trace, write_stream};
use anchor::{Local, Side, Stream, Trace};
use handshake::{Agreement, Kept};
use hashbrown::HashMap;
use machine::{Duration, Time};
use media::program::Snapshot;
use nodes::Program;
use std::collections::BTreeMap;

/// Octets of one stream at most: what is longer no delta of a pair carries.
const STREAM_OCTETS_MAX: usize = 48 << 10;

/// A stream as octets, keys of SRTP among them.
struct Octets(Box<[u8]>);

impl core::fmt::Debug for Octets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} octets", self.0.len())
    }
}

/// Whose port it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Who has the lease.
    pub lessee: Lessee,
    /// The stream; of those that share a port, the first one.
    pub stream: StreamId,
    /// Its end.
    pub side: Side,
}

/// Why a stream is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A port of it was not leased.
    NotLeased,
    /// A port of it has another stream.
    Taken,
    /// There are too many, or their descriptions are too long.
    TooMany,
}

/// Limits of one lessee.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub streams: usize,
    pub octets: usize,
}

/// What a change did.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changed {
    /// What the forwarder is told.
    pub programs: Vec<Program>,
    /// Streams that are new.
    pub added: Vec<StreamId>,
    /// Those that are others.
    pub changed: Vec<StreamId>,
    /// Those that are gone, as they were.
    pub removed: Vec<(StreamId, Stream)>,
}

impl Changed {
    /// Adds what came next.
    fn add(&mut self, next: Self) {
        self.programs.extend(next.programs);
        self.added.extend(next.added);
        self.changed.extend(next.changed);
        self.removed.extend(next.removed);
    }
}

/// The streams of one lessee.
#[derive(Debug, Default)]
struct Held {
    standing: Standing<Octets>,
    octets: usize,
}

/// All streams.
#[derive(Debug)]
pub(crate) struct Streams {
    held: BTreeMap<Lessee, Held>,
    places: HashMap<Local, Owner>,
    /// The addresses whose ports they are.
    pub addresses: Addresses,
    /// Who has leased which.
    pub book: Book,
    /// What is agreed of their ends beside signalling.
    pub agreement: Agreement,
    budget: Budget,
    /// Another node served in this life before.
    pub is_taken_over: bool,
}

impl Streams {
    /// None, and nothing is leased.
    pub fn new() -> Self {
        Self {
            held: BTreeMap::new(),
            places: HashMap::new(),
            addresses: Addresses::default(),
            book: Book::new(),
            agreement: Agreement::default(),
            budget: Budget { streams: 0, octets: 0 },
            is_taken_over: false,
        }
    }

    /// Takes the addresses, ports and limits of a section. What stands at ports that are no longer
    /// there goes.
    pub fn configure(&mut self, now: Time, section: &Msc) -> Vec<(Lessee, Changed)> {
        let Limits { streams_max, stream_octets_max, block_pairs, quarantine_s, .. } =
            section.limits;
        self.budget = Budget { streams: streams_max as usize, octets: stream_octets_max as usize };
        let mut addresses = self.addresses.clone();
        addresses.configure(section);
        let quarantine = Duration::from_secs(quarantine_s.into());
        self.book.configure(now, &addresses, block_pairs, quarantine);
        // The flows of what goes are those at the addresses as they were.
        let changed = self.evict(now);
        self.addresses = addresses;
        changed
    }

    /// A stream stands. Former ones that have its name at other ports, or its ports, are gone.
    ///
    /// # Errors
    /// Why it is not taken; what stood before stands.
    pub fn put(
        &mut self,
        lessee: Lessee,
        id: StreamId,
        generation: u32,
        stream: &Stream,
        now: Time,
    ) -> Result<Changed, Refusal> {
        let mut all = Changed::default();
        for former in self.in_the_way(lessee, id, stream) {
            all.add(self.remove(lessee, former, u32::MAX, now));
        }
        match self.put_there(lessee, id, generation, stream, now) {
            Ok(changed) => all.add(changed),
            Err(why) if all == Changed::default() => return Err(why),
            // It would have been refused with them there, too, and who said them is gone.
            Err(_) => {}
        }
        Ok(all)
    }

    fn in_the_way(&self, lessee: Lessee, id: StreamId, stream: &Stream) -> Vec<StreamId> {
        let Some(standing) = self.held.get(&lessee).map(|held| &held.standing) else {
            return Vec::new();
        };
        let ends = Side::BOTH.map(|side| (side, stream.end(side).local));
        let mut former: Vec<StreamId> = Vec::new();
        for (side, local) in ends {
            let owner = self.places.get(&local).filter(|owner| owner.lessee == lessee);
            let is_other = |owner: &&Owner| (owner.stream, owner.side) != (id, side);
            former.extend(owner.filter(is_other).map(|owner| owner.stream));
        }
        let moves = |was: Stream| ends.iter().any(|(side, local)| was.end(*side).local != *local);
        if standing.is_former(id) && self.at(lessee, id).is_some_and(moves) {
            former.push(id);
        }
        former.retain(|id| standing.is_former(*id));
        former.dedup();
        former
    }

    fn put_there(
        &mut self,
        lessee: Lessee,
        id: StreamId,
        generation: u32,
        stream: &Stream,
        now: Time,
    ) -> Result<Changed, Refusal> {
        self.judge(lessee, id, stream)?;
        let mut octets = Vec::new();
        write_stream(stream, &mut octets);
        if octets.len() > STREAM_OCTETS_MAX {
            return Err(Refusal::TooMany);
        }
        let held = self.held.entry(lessee).or_default();
        let (length, known) = (octets.len(), held.standing.at(id).map_or(0, |it| it.0.len()));
        let is_new = known == 0;
        let is_full = is_new && held.standing.len() >= self.budget.streams;
        // Before it is acknowledged it is known that the forwarder has room for it: each of its
        // ports and the next one may be a flow.
        let flows = 2 * (self.places.len() + 2);
        let has_flows = !is_new || u32::try_from(flows).is_ok_and(|it| it <= media::FLOWS_MAX);
        if held.octets - known + length > self.budget.octets || is_full || !has_flows {
            return Err(Refusal::TooMany);
        }
        let before = self.flows(lessee, id.call);
        let held = self.held.entry(lessee).or_default();
        if held.standing.is_former(id) {
            Side::BOTH.into_iter().for_each(|side| self.book.reclaim(stream.end(side).local));
        }
        let was = match held.standing.put(id, generation, Octets(octets.into())) {
            Done::Nothing | Done::Removed(_) => return Ok(Changed::default()),
            Done::Added => None,
            Done::Changed(was) => read_stream(&was.0).ok(),
        };
        held.octets = held.octets - known + length;
        if let Some(was) = &was {
            self.leave(lessee, id, was, Some(stream), now);
        }
        self.enter(lessee, id, stream);
        let after = self.flows(lessee, id.call);
        let programs = flows::difference(&before, &after);
        let is_same = was.as_ref() == Some(stream);
        Ok(Changed {
            programs,
            added: if was.is_none() { vec![id] } else { Vec::new() },
            changed: if was.is_some() && !is_same { vec![id] } else { Vec::new() },
            removed: Vec::new(),
        })
    }

    /// A stream is gone.
    pub fn remove(&mut self, lessee: Lessee, id: StreamId, generation: u32, now: Time) -> Changed {
        let before = self.flows(lessee, id.call);
        let Some(held) = self.held.get_mut(&lessee) else { return Changed::default() };
        let Done::Removed(was) = held.standing.remove(id, generation) else {
            return Changed::default();
        };
        self.gone(lessee, vec![(id, was)], before, now)
    }

    /// All streams of a lessee follow.
    pub fn begin(&mut self, lessee: Lessee) {
        self.held.entry(lessee).or_default().standing.begin();
    }

    /// Those were all.
    pub fn end(&mut self, lessee: Lessee, now: Time) -> Changed {
        let Some(held) = self.held.get_mut(&lessee) else { return Changed::default() };
        // What goes is known only when it is gone: its flows are those of what it was.
        let gone = held.standing.end();
        let before = self.with(lessee, &gone);
        self.gone(lessee, gone, before, now)
    }

    /// Another start of its session controller: generations count anew.
    pub fn renew(&mut self, lessee: Lessee) {
        if let Some(held) = self.held.get_mut(&lessee) {
            held.standing.renew();
        }
    }

    /// An earlier start of its session controller said a stream, and this one has not.
    pub fn renew_one(&mut self, lessee: Lessee, id: StreamId) {
        if let Some(held) = self.held.get_mut(&lessee) {
            held.standing.renew_one(id);
        }
    }

    /// Whether an earlier start of its session controller said a stream, and this one has not.
    pub fn is_former(&self, lessee: Lessee, id: StreamId) -> bool {
        self.held.get(&lessee).is_some_and(|held| held.standing.is_former(id))
    }

    /// Whether there are such streams.
    pub fn has_former(&self, lessee: Lessee) -> bool {
        self.held.get(&lessee).is_some_and(|held| held.standing.has_former())
    }

    /// Such streams have had their time.
    pub fn end_former(&mut self, lessee: Lessee, now: Time) -> Changed {
        let Some(held) = self.held.get_mut(&lessee) else { return Changed::default() };
        let gone = held.standing.end_former();
        let before = self.with(lessee, &gone);
        self.gone(lessee, gone, before, now)
    }

    /// A lessee is gone for good.
    pub fn forget(&mut self, lessee: Lessee, now: Time) -> Changed {
        self.begin(lessee);
        let mut changed = self.end(lessee, now);
        changed.add(self.end_former(lessee, now));
        self.held.remove(&lessee);
        changed
    }

    /// Takes away what stands at ports that are no longer leased: the section has changed.
    fn evict(&mut self, now: Time) -> Vec<(Lessee, Changed)> {
        let mut lost = Vec::new();
        for (local, owner) in &self.places {
            if self.book.lessee(*local) != Some(owner.lessee) {
                lost.push((owner.lessee, owner.stream));
            }
        }
        let gone = |(lessee, id)| (lessee, self.remove(lessee, id, u32::MAX, now));
        lost.into_iter().map(gone).collect()
    }

    /// Changes what is agreed of the end at a port beside signalling; what the forwarder is told.
    pub fn agree(&mut self, local: Local, change: impl FnOnce(&mut Kept)) -> Vec<Program> {
        let Some(owner) = self.owner(local) else { return Vec::new() };
        let before = self.flows(owner.lessee, owner.stream.call);
        self.agreement.change(local, change);
        flows::difference(&before, &self.flows(owner.lessee, owner.stream.call))
    }

    /// The flows of a call.
    pub fn flows(&self, lessee: Lessee, call: u64) -> Flows {
        let streams: Vec<(StreamId, Stream)> = self.of_call(lessee, call).collect();
        let streams = streams.iter().map(|(_, it)| it);
        let mut flows = flows::flows(streams, &self.addresses, &self.agreement);
        if self.is_taken_over {
            // The other node may have had its keys and not have told of it: a flow that is new
            // begins ahead. For one that stands this is no news.
            flows.values_mut().for_each(|flow| flow.resume = Some(Snapshot::default()));
        }
        flows
    }

    /// The flows of all calls.
    pub fn all_flows(&self) -> impl Iterator<Item = Flows> + '_ {
        let calls = self.held.iter().flat_map(|(lessee, held)| {
            let mut calls: Vec<u64> = held.standing.iter().map(|(id, ..)| id.call).collect();
            calls.dedup();
            calls.into_iter().map(|call| (*lessee, call))
        });
        calls.map(|(lessee, call)| self.flows(lessee, call))
    }

    /// The streams of a call.
    pub fn of_call(
        &self,
        lessee: Lessee,
        call: u64,
    ) -> impl Iterator<Item = (StreamId, Stream)> + '_ {
        let standing = self.held.get(&lessee).map(|held| &held.standing);
        let of_call = standing.into_iter().flat_map(move |standing| standing.of_call(call));
        of_call.filter_map(|(id, octets)| Some((id, read_stream(&octets.0).ok()?)))
    }

    /// A stream.
    pub fn at(&self, lessee: Lessee, id: StreamId) -> Option<Stream> {
        read_stream(&self.held.get(&lessee)?.standing.at(id)?.0).ok()
    }

    /// What the call of a stream is known by.
    pub fn trace(&self, lessee: Lessee, id: StreamId) -> Option<Trace> {
        Some(read_trace(&self.held.get(&lessee)?.standing.at(id)?.0))
    }

    /// Whose port that is; that of RTCP is its pair's.
    pub fn owner(&self, local: Local) -> Option<Owner> {
        let even = Local { port: local.port & !1, ..local };
        self.places.get(&even).copied()
    }

    /// Streams of a lessee.
    pub fn count(&self, lessee: Lessee) -> usize {
        self.held.get(&lessee).map_or(0, |held| held.standing.len())
    }

    /// Streams of all of them.
    pub fn total(&self) -> usize {
        self.held.values().map(|held| held.standing.len()).sum()
    }

    /// A stream as it is kept, and its generation.
    pub fn record(&self, lessee: Lessee, id: StreamId) -> Option<(u32, &[u8])> {
        let (generation, octets) = self.held.get(&lessee)?.standing.entry(id)?;
        Some((generation, &octets.0))
    }

    /// Whoever has streams.
    pub fn lessees(&self) -> impl Iterator<Item = Lessee> + '_ {
        self.held.keys().copied()
    }

    /// Octets of the streams of a lessee.
    pub fn octets(&self, lessee: Lessee) -> usize {
        self.held.get(&lessee).map_or(0, |held| held.octets)
    }

    /// Names of streams with whose they are, in order, from a place on.
    pub fn names(&self) -> impl Iterator<Item = (Lessee, StreamId)> + '_ {
        self.held
            .iter()
            .flat_map(|(lessee, held)| held.standing.iter().map(move |(id, ..)| (*lessee, id)))
    }

    fn judge(&self, lessee: Lessee, id: StreamId, stream: &Stream) -> Result<(), Refusal> {
        for side in Side::BOTH {
            let local = stream.end(side).local;
            if self.book.lessee(local) != Some(lessee) || self.addresses.at(local.address).is_none()
            {
                return Err(Refusal::NotLeased);
            }
            let is_ours = |owner: &Owner| {
                (owner.lessee, owner.stream.call, owner.side) == (lessee, id.call, side)
            };
            if self.places.get(&local).is_some_and(|owner| !is_ours(owner)) {
                return Err(Refusal::Taken);
            }
        }
        let [a, b] = Side::BOTH.map(|side| stream.end(side).local);
        if a == b { Err(Refusal::Taken) } else { Ok(()) }
    }

    fn enter(&mut self, lessee: Lessee, id: StreamId, stream: &Stream) {
        for side in Side::BOTH {
            let local = stream.end(side).local;
            if !self.places.contains_key(&local) {
                self.places.insert(local, Owner { lessee, stream: id, side });
                self.book.taken(local);
            }
        }
    }

    /// Gives up the ports of a stream that neither it, as it is next, nor another one of its call
    /// shares.
    fn leave(
        &mut self,
        lessee: Lessee,
        id: StreamId,
        stream: &Stream,
        next: Option<&Stream>,
        now: Time,
    ) {
        for side in Side::BOTH {
            let local = stream.end(side).local;
            if next.is_some_and(|next| next.end(side).local == local) {
                continue;
            }
            if self.places.get(&local).is_none_or(|owner| owner.stream != id) {
                continue;
            }
            let shares =
                |(other, it): &(StreamId, Stream)| *other != id && it.end(side).local == local;
            let heir = self.of_call(lessee, id.call).find(shares).map(|(other, _)| other);
            if let Some(stream) = heir {
                self.places.insert(local, Owner { lessee, stream, side });
            } else {
                self.places.remove(&local);
                self.agreement.forget(local);
                self.book.returned(now, local);
            }
        }
    }

    /// The flows of the calls of streams that are gone, as they were.
    fn with(&self, lessee: Lessee, gone: &[(StreamId, Octets)]) -> Flows {
        let was = gone.iter().filter_map(|(id, octets)| Some((*id, read_stream(&octets.0).ok()?)));
        let mut by_call: BTreeMap<u64, Vec<(StreamId, Stream)>> = BTreeMap::new();
        was.for_each(|(id, stream)| by_call.entry(id.call).or_default().push((id, stream)));
        let mut flows = Flows::new();
        for (call, mut streams) in by_call {
            streams.extend(self.of_call(lessee, call));
            streams.sort_by_key(|(id, _)| *id);
            let streams = streams.iter().map(|(_, it)| it);
            flows.extend(flows::flows(streams, &self.addresses, &self.agreement));
        }
        flows
    }

    /// What is gone is gone everywhere; `before` are the flows as they were.
    fn gone(
        &mut self,
        lessee: Lessee,
        gone: Vec<(StreamId, Octets)>,
        before: Flows,
        now: Time,
    ) -> Changed {
        let octets: usize = gone.iter().map(|(_, octets)| octets.0.len()).sum();
        if let Some(held) = self.held.get_mut(&lessee) {
            held.octets = held.octets.saturating_sub(octets);
        }
        let read = |(id, octets): (StreamId, Octets)| Some((id, read_stream(&octets.0).ok()?));
        let removed: Vec<(StreamId, Stream)> = gone.into_iter().filter_map(read).collect();
        let mut after = Flows::new();
        let mut calls: Vec<u64> = Vec::new();
        for (id, stream) in &removed {
            self.leave(lessee, *id, stream, None, now);
            if calls.last() != Some(&id.call) {
                calls.push(id.call);
            }
        }
        for call in calls {
            after.extend(self.flows(lessee, call));
        }
        let programs = flows::difference(&before, &after);
        Changed { programs, removed, ..Changed::default() }
    }
}
