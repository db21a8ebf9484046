//! What another node of a pair is told of a set's numbers, as tagged fields; who its sets are, and
//! their keys, is the function's to tell.
//!
//! - **Numbers that leave** are promised by blocks ([`crate::BLOCK`]): the other node goes on
//!   behind the promise.
//! - **Numbers that came** are told each time that a higher one was accepted, before what came of
//!   it leaves. The other node takes all up to the last one that it was told as seen: it accepts
//!   none of them again, and refuses those that were overtaken and come late.
//! - **Where the peer is**, when its NAT has moved it.

use crate::endpoint::Endpoint;
use crate::metrics::Metric;
use crate::promises::{BLOCK, Promise};
use crate::set::Associations;
use esp::{Inbound, Outbound, Usage};
use machine::Time;
use machine::slots::{Key, SlotChange};
use replica::field::{self, Fields};
use replica::flow::{read_address, write_address};
use replica::record::{digest, read_key, write_key};
use runtime::Effects;
use std::net::SocketAddr;

mod tag {
    // 1 and 2 are the key.
    /// Of both lanes: the number promised.
    pub const PROMISED: u8 = 3;
    /// Of both lanes: the highest number that came.
    pub const EDGES: u8 = 4;
    pub const REMOTE: u8 = 5;
    /// Packets and octets: both inbound ones, both outbound ones.
    pub const USAGE: u8 = 6;
}

/// What another node has to know of a set to go on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Of each lane, the first first: behind all numbers that left or may have left.
    pub promised: [u64; 2],
    /// The highest number that came.
    pub edges: [u64; 2],
    /// Where the peer is, outside.
    pub remote: SocketAddr,
    /// What has come.
    pub came: [Usage; 2],
    /// What has left.
    pub left: [Usage; 2],
}

impl Numbers {
    pub(crate) fn of(set: &Associations) -> Self {
        let inbound = set.inbound.each_ref().map(Option::as_ref);
        let outbound = set.outbound.each_ref().map(Option::as_ref);
        Self {
            promised: outbound.map(|it| it.map_or(0, Outbound::promised)),
            edges: inbound.map(|it| it.map_or(0, Inbound::edge)),
            remote: set.path.remote,
            came: inbound.map(|it| it.map_or(Usage::default(), Inbound::usage)),
            left: outbound.map(|it| it.map_or(Usage::default(), Outbound::usage)),
        }
    }

    /// Appends what may not be missed; usage is told beside it.
    fn write(&self, out: &mut Vec<u8>) {
        let pair = |out: &mut Vec<u8>, tag, pair: [u64; 2]| {
            let octets = pair.map(u64::to_be_bytes);
            field::bytes(out, tag, octets.as_flattened());
        };
        pair(out, tag::PROMISED, self.promised);
        pair(out, tag::EDGES, self.edges);
        field::nested(out, tag::REMOTE, |out| write_address(out, self.remote));
    }

    fn write_usage(&self, out: &mut Vec<u8>) {
        let [a, b] = self.came;
        let [c, d] = self.left;
        let numbers = [a, b, c, d].map(|it| [it.packets, it.octets]);
        let octets: Vec<[u8; 8]> =
            numbers.as_flattened().iter().map(|it| it.to_be_bytes()).collect();
        field::bytes(out, tag::USAGE, octets.as_flattened());
    }

    /// Reads what was written; `None`: something is missing.
    #[must_use]
    pub fn read(fields: &[u8]) -> Option<Self> {
        let find = |wanted| Fields::new(fields).find(|(tag, _)| *tag == wanted).map(|it| it.1);
        let words = |tag| -> Option<Vec<u64>> {
            let (words, rest) = find(tag)?.as_chunks::<8>();
            rest.is_empty().then(|| words.iter().map(|it| u64::from_be_bytes(*it)).collect())
        };
        let pair = |tag| <[u64; 2]>::try_from(words(tag)?).ok();
        let usage = words(tag::USAGE).unwrap_or_default();
        let usage = |at: usize| {
            let of = |at: usize| usage.get(at).copied().unwrap_or_default();
            Usage { packets: of(2 * at), octets: of(2 * at + 1) }
        };
        Some(Self {
            promised: pair(tag::PROMISED)?,
            edges: pair(tag::EDGES)?,
            remote: read_address(find(tag::REMOTE)?)?,
            came: [usage(0), usage(1)],
            left: [usage(2), usage(3)],
        })
    }
}

impl Endpoint {
    /// What indices are made of: another node that has it knows this one's.
    #[must_use]
    pub const fn secret(&self) -> u64 {
        self.secret
    }

    /// Takes that of the other node. Sets of before are found no more.
    pub const fn set_secret(&mut self, secret: u64) {
        self.secret = secret;
    }

    /// Notes which sets change from now on, or no more.
    pub const fn watch(&mut self, is_watched: bool) {
        self.sets.watch(is_watched);
    }

    /// This node serves from now on, with what it was told.
    pub fn take_over(&mut self) {
        self.sets.settle();
        self.sets.watch(true);
        self.promises.anew();
    }

    /// The other node is told everything anew.
    pub fn tell_anew(&mut self) {
        self.promises.anew();
    }

    /// The other node follows, and has applied all up to a mark; or none does
    /// ([`runtime::Mirrored::Followed`]).
    pub fn followed(&mut self, mark: Option<u64>) {
        let granted = self.promises.followed(mark);
        self.grant(&granted);
    }

    /// To be called in each step, before [`Endpoint::tell`].
    pub fn tick(&mut self, now: Time) {
        let granted = self.promises.tick(now);
        self.grant(&granted);
    }

    fn grant(&mut self, granted: &[Promise]) {
        for Promise { set, lane, up_to } in granted {
            let slot = self.sets.at_mut(*set).and_then(|slot| slot.associations.as_mut());
            if let Some(outbound) = slot.and_then(|it| it.outbound[lane.place()].as_mut()) {
                outbound.grant(*up_to);
                self.metrics.add(Metric::BlocksGranted, 1);
            }
        }
    }

    /// Appends the numbers of a set as they are now.
    pub fn write_numbers(&self, set: Key, out: &mut Vec<u8>) {
        if let Some(numbers) = self.numbers(set) {
            numbers.write(out);
            numbers.write_usage(out);
        }
    }

    /// The numbers of a set as they are now.
    #[must_use]
    pub fn numbers(&self, set: Key) -> Option<Numbers> {
        Some(Numbers::of(self.sets.at(set)?.associations.as_deref()?))
    }

    /// Tells what changed, each under `head`, and asks when that is applied where something waits
    /// for it. To be called last of all that the function tells in a step.
    pub fn tell(&mut self, head: &[u8], out: &mut Effects, scratch: &mut Vec<u8>) {
        // A promise is told whatever the number for its record says: a peer chooses some of what
        // that is made of, and could seek one that hides it.
        let untold = self.promises.untold();
        self.sets.tell(|told| {
            let SlotChange::Stands(key, set, was) = told else { return 0 };
            let Some(set) = set.associations.as_deref() else { return 0 };
            let numbers = Numbers::of(set);
            scratch.clear();
            scratch.extend_from_slice(head);
            write_key(scratch, key);
            numbers.write(scratch);
            let digest = digest(scratch);
            if digest != was || untold.contains(&key) {
                numbers.write_usage(scratch);
                out.delta(|buffer| buffer.extend_from_slice(scratch));
            }
            digest
        });
        if let Some(mark) = self.promises.mark() {
            out.mark(mark);
        }
    }

    /// Takes what [`Endpoint::tell`] has told of a set elsewhere.
    pub fn apply(&mut self, fields: &[u8]) {
        if let Some((key, numbers)) = read_key(fields).zip(Numbers::read(fields)) {
            self.follow(key, &numbers);
        }
    }

    /// A set is so far elsewhere.
    pub fn follow(&mut self, set: Key, numbers: &Numbers) {
        let slot = self.sets.at_mut(set).and_then(|slot| slot.associations.as_mut());
        let Some(associations) = slot else { return };
        for (at, it) in associations.inbound.iter_mut().enumerate() {
            let Some(it) = it else { continue };
            it.follow(numbers.edges[at], numbers.came[at]);
        }
        for (at, it) in associations.outbound.iter_mut().enumerate() {
            let Some(it) = it else { continue };
            it.follow(numbers.promised[at], numbers.left[at]);
        }
        if associations.path.remote != numbers.remote {
            associations.set_remote(numbers.remote);
        }
    }

    /// Makes a set that stands elsewhere under that key; `false`: there is no room for it, or an
    /// inbound one has another index than it would have got here.
    pub fn put(&mut self, set: Key, associations: Associations) -> bool {
        let is_there = set.index < crate::SETS_MAX && self.sets.put(set).is_some();
        let is_installed = is_there && self.install(set, associations);
        if is_there && !is_installed {
            self.remove(set);
        }
        is_installed
    }

    /// Forgets all sets.
    pub fn clear(&mut self) {
        self.sets.clear();
        self.promises.forget();
        self.gauge();
    }

    /// How many numbers are promised at once, where another node has to know them: zero, where
    /// there is none.
    #[must_use]
    pub const fn block(in_pair: bool) -> u32 {
        if in_pair { BLOCK } else { 0 }
    }
}
