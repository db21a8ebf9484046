//! Many packets of many associations at once, in one buffer: what the cipher does to them fills the
//! lanes of a wide processor. Every verdict is what each packet alone would have got, in its order.

use crate::inbound::Waiting;
use crate::plan::{Plan, verdict};
use crate::transform::Transform;
use crate::{Counters, Dropped, Inbound, Outbound};
use cipher::{Job, Key, Outcome};
use core::net::IpAddr;
use core::ops::Range;

/// Associations by number, as whoever has them keeps them.
pub trait Associations<T> {
    /// The association of that number.
    fn association(&self, number: usize) -> Option<&T>;
    /// The association of that number, to change it.
    fn association_mut(&mut self, number: usize) -> Option<&mut T>;
}

impl<T> Associations<T> for [T] {
    fn association(&self, number: usize) -> Option<&T> {
        self.get(number)
    }

    fn association_mut(&mut self, number: usize) -> Option<&mut T> {
        self.get_mut(number)
    }
}

/// What passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// A packet of IP.
    Data,
    /// A dummy: there is nothing in it (RFC 4303 §2.6).
    Dummy,
}

/// A packet of a batch. No two may stand in the same room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The number of its association.
    pub association: usize,
    /// Where in the buffer it may grow to; see [`HEADROOM`](crate::HEADROOM) and
    /// [`TAILROOM`](crate::TAILROOM).
    pub room: Range<usize>,
    /// Where it begins: before, and if it passed, afterwards.
    pub at: usize,
    /// What it is long: before, and if it passed, afterwards.
    pub length: usize,
    /// Whether what leaves is a dummy, which no receiver delivers.
    pub is_dummy: bool,
    /// What became of it. Of one that was dropped, the octets mean nothing any more.
    pub verdict: Result<Passed, Dropped>,
}

impl Packet {
    /// A packet of IP.
    #[must_use]
    pub const fn new(association: usize, room: Range<usize>, at: usize, length: usize) -> Self {
        Self { association, room, at, length, is_dummy: false, verdict: Ok(Passed::Data) }
    }

    pub(crate) fn octets<'b>(&self, buffer: &'b [u8]) -> Result<&'b [u8], Dropped> {
        let end = self.at.checked_add(self.length).ok_or(Dropped::NoRoom)?;
        let is_inside =
            self.at >= self.room.start && end <= self.room.end && self.room.end <= buffer.len();
        buffer.get(self.at..end).filter(|_| is_inside).ok_or(Dropped::NoRoom)
    }

    /// Counts what became of it.
    fn settle(&mut self, counters: &mut Counters, verdict: Result<Passed, Dropped>) {
        match verdict {
            Ok(passed) => {
                counters.packets += 1;
                counters.octets += self.length as u64;
                counters.dummies += u64::from(passed == Passed::Dummy);
            }
            Err(why) => counters.drop(why),
        }
        self.verdict = verdict;
    }
}

/// What whoever has the associations shall know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The numbers that were granted come to their end: [`Outbound::grant`] up to this one, when
    /// who may take over knows it.
    Wanted {
        /// The number of the association.
        association: usize,
        /// The last number of the next block.
        up_to: u64,
    },
    /// The highest number seen is a block behind what was told last.
    Edge {
        /// The number of the association.
        association: usize,
        /// What [`Inbound::resume`] takes.
        edge: u64,
    },
    /// A soft lifetime has passed: other keys shall be made.
    Soft {
        /// The number of the association.
        association: usize,
    },
    /// A hard lifetime has passed: this was the last packet.
    Hard {
        /// The number of the association.
        association: usize,
    },
    /// The other end's NAT has given it another address or port: [`Outbound::set_peer`].
    Moved {
        /// The number of the association.
        association: usize,
        /// Its address.
        address: IpAddr,
        /// Its port.
        port: u16,
    },
}

/// What a batch has to tell; it may be used for the next one too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Counted up.
    pub counters: Counters,
    /// Put behind those that are there.
    pub notices: Vec<Notice>,
}

/// Packets at once: what they need stays in the cache meanwhile.
const TOGETHER: usize = 64;

/// Protects packets.
pub fn protect<S>(
    associations: &mut S,
    buffer: &mut [u8],
    packets: &mut [Packet],
    report: &mut Report,
) where
    S: Associations<Outbound> + ?Sized,
{
    for packets in packets.chunks_mut(TOGETHER) {
        protect_some(associations, buffer, packets, report);
    }
}

fn protect_some<S>(
    associations: &mut S,
    buffer: &mut [u8],
    packets: &mut [Packet],
    report: &mut Report,
) where
    S: Associations<Outbound> + ?Sized,
{
    fetch_all(associations, packets, Outbound::transform);
    let mut plans: Vec<(usize, Plan)> = Vec::with_capacity(packets.len());
    for (number, packet) in packets.iter_mut().enumerate() {
        let planned = match associations.association_mut(packet.association) {
            Some(it) => it.plan(buffer, packet, &mut report.notices),
            None => Err(Dropped::NoAssociation),
        };
        match planned {
            Ok(plan) => plans.push((number, plan)),
            Err(why) => packet.settle(&mut report.counters, Err(why)),
        }
    }
    let transform = |number| associations.association(number).map(Outbound::transform);
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(plans.len());
    for (number, plan) in &plans {
        let transform = transform(packets[*number].association);
        jobs.extend(transform.and_then(|it| it.key()).map(|key| plan.job(key)));
    }
    cipher::run(buffer, &mut jobs);
    let mut outcomes = jobs.iter().map(|job| job.outcome);
    for (number, plan) in &plans {
        let packet = &mut packets[*number];
        let outcome = match transform(packet.association) {
            Some(it) if it.key().is_none() => plan.run_alone(it, buffer),
            _ => outcomes.next(),
        };
        plan.replace(buffer);
        if let Some(it) = associations.association(packet.association) {
            it.finish(&mut buffer[packet.at..packet.at + packet.length]);
        }
        let passed = if packet.is_dummy { Passed::Dummy } else { Passed::Data };
        let outcome = verdict(outcome.unwrap_or(Outcome::Waiting)).map(|()| passed);
        packet.settle(&mut report.counters, outcome);
    }
}

/// Fetches associations and then their keys into the cache: of many each is waited for otherwise.
fn fetch_all<T, S>(associations: &S, packets: &[Packet], transform: impl Fn(&T) -> &Transform)
where
    S: Associations<T> + ?Sized,
{
    let all = || packets.iter().filter_map(|it| associations.association(it.association));
    all().for_each(cipher::fetch);
    all().map(&transform).for_each(cipher::fetch);
    all().filter_map(|it| transform(it).key()).for_each(Key::prefetch);
}

/// Opens packets.
pub fn unprotect<S>(
    associations: &mut S,
    buffer: &mut [u8],
    packets: &mut [Packet],
    report: &mut Report,
) where
    S: Associations<Inbound> + ?Sized,
{
    for packets in packets.chunks_mut(TOGETHER) {
        unprotect_some(associations, buffer, packets, report);
    }
}

fn unprotect_some<S>(
    associations: &mut S,
    buffer: &mut [u8],
    packets: &mut [Packet],
    report: &mut Report,
) where
    S: Associations<Inbound> + ?Sized,
{
    fetch_all(associations, packets, Inbound::transform);
    let mut waiting: Vec<(usize, Waiting)> = Vec::with_capacity(packets.len());
    for (number, packet) in packets.iter_mut().enumerate() {
        let Some(association) = associations.association_mut(packet.association) else {
            packet.settle(&mut report.counters, Err(Dropped::NoAssociation));
            continue;
        };
        match association.plan(buffer, packet) {
            Ok(one) => waiting.push((number, one)),
            Err(why) => {
                association.failed(why);
                packet.settle(&mut report.counters, Err(why));
            }
        }
    }
    let outcomes = opened(associations, buffer, packets, &waiting);
    for ((number, one), outcome) in waiting.iter().zip(outcomes) {
        one.plan.replace(buffer);
        let packet = &mut packets[*number];
        let Some(association) = associations.association_mut(packet.association) else {
            packet.settle(&mut report.counters, Err(Dropped::NoAssociation));
            continue;
        };
        let passed = association.admits(one).and_then(|()| verdict(outcome)).and_then(|()| {
            association.proven(one, packet.association, &mut report.notices);
            association.open(buffer, packet, one)
        });
        if let Err(why) = passed {
            association.failed(why);
        }
        packet.settle(&mut report.counters, passed);
    }
}

/// What the cipher says of packets.
fn opened<S>(
    associations: &S,
    buffer: &mut [u8],
    packets: &[Packet],
    waiting: &[(usize, Waiting)],
) -> Vec<Outcome>
where
    S: Associations<Inbound> + ?Sized,
{
    let transform = |number: usize| {
        associations.association(packets[number].association).map(Inbound::transform)
    };
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(waiting.len());
    for (number, one) in waiting {
        jobs.extend(transform(*number).and_then(|it| it.key()).map(|key| one.plan.job(key)));
    }
    cipher::run(buffer, &mut jobs);
    let mut outcomes = jobs.iter().map(|job| job.outcome);
    let outcome = |(number, one): &(usize, Waiting)| match transform(*number) {
        Some(it) if it.key().is_none() => one.plan.run_alone(it, buffer),
        _ => outcomes.next(),
    };
    waiting.iter().map(outcome).map(|it| it.unwrap_or(Outcome::Waiting)).collect()
}
