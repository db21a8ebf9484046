//! Many packets of many streams at once, in one buffer: what the cipher does to them fills the
//! lanes of a wide processor. Every verdict is what each packet alone would have got, in its order.

use crate::packet::Refused;
use crate::plan::{Plan, verdict};
use crate::receiver::{Receiver, Waiting};
use crate::sender::Sender;
use cipher::Job;

/// Directions by number, as whoever forwards keeps them.
pub trait Directions<T> {
    /// The direction of that number.
    fn direction(&self, number: usize) -> Option<&T>;
    /// The direction of that number, to change it.
    fn direction_mut(&mut self, number: usize) -> Option<&mut T>;
}

impl<T> Directions<T> for [T] {
    fn direction(&self, number: usize) -> Option<&T> {
        self.get(number)
    }

    fn direction_mut(&mut self, number: usize) -> Option<&mut T> {
        self.get_mut(number)
    }
}

/// A packet of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The number of its direction.
    pub direction: usize,
    /// Whether it is RTCP.
    pub is_rtcp: bool,
    /// Where it begins in the buffer.
    pub at: usize,
    /// What it is long: before, and if it passed, afterwards.
    pub length: usize,
    /// What it may grow to, octets.
    pub room: usize,
    /// Whether it passed.
    pub verdict: Result<(), Refused>,
}

impl Packet {
    /// A packet of RTP.
    #[must_use]
    pub const fn rtp(direction: usize, at: usize, length: usize, room: usize) -> Self {
        Self { direction, is_rtcp: false, at, length, room, verdict: Ok(()) }
    }

    /// A packet of RTCP.
    #[must_use]
    pub const fn rtcp(direction: usize, at: usize, length: usize, room: usize) -> Self {
        Self { is_rtcp: true, ..Self::rtp(direction, at, length, room) }
    }

    fn place<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Refused> {
        let end = self.at.checked_add(self.room).ok_or(Refused::NoRoom)?;
        buffer.get_mut(self.at..end).ok_or(Refused::NoRoom)
    }

    fn settle(&mut self, verdict: Result<usize, Refused>) {
        self.verdict = verdict.map(|length| self.length = length);
    }
}

/// Protects packets of RTP and RTCP.
pub fn protect<S>(senders: &mut S, buffer: &mut [u8], packets: &mut [Packet])
where
    S: Directions<Sender> + ?Sized,
{
    let mut plans: Vec<(usize, Plan)> = Vec::with_capacity(packets.len());
    for (number, packet) in packets.iter_mut().enumerate() {
        match plan_one(senders, buffer, packet) {
            Ok(Some(plan)) => plans.push((number, plan)),
            Ok(None) => {}
            Err(why) => packet.verdict = Err(why),
        }
    }
    let key = |number: usize, plan: &Plan| senders.direction(number)?.key(plan);
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(plans.len());
    plans.retain(|(number, plan)| {
        let packet = &mut packets[*number];
        match key(packet.direction, plan) {
            Some(key) => jobs.push(plan.job(key, packet.at)),
            None => packet.verdict = Err(Refused::NoStream),
        }
        packet.verdict.is_ok()
    });
    cipher::run(buffer, &mut jobs);
    for ((number, plan), job) in plans.iter().zip(&jobs) {
        packets[*number].settle(verdict(job.outcome).map(|()| plan.length));
    }
}

/// Spends the index of a packet. What cannot wait for the others is done at once.
fn plan_one<S>(
    senders: &mut S,
    buffer: &mut [u8],
    packet: &mut Packet,
) -> Result<Option<Plan>, Refused>
where
    S: Directions<Sender> + ?Sized,
{
    let sender = senders.direction_mut(packet.direction).ok_or(Refused::NoStream)?;
    let (place, length) = (packet.place(buffer)?, packet.length);
    if packet.is_rtcp {
        packet.settle(sender.protect_rtcp(place, length));
        return Ok(None);
    }
    let plan = sender.plan(place, length)?;
    if sender.is_steady() {
        packet.verdict = Ok(());
        return Ok(Some(plan));
    }
    packet.settle(sender.run(&plan, place));
    Ok(None)
}

/// Opens packets of SRTP and SRTCP.
pub fn unprotect<S>(receivers: &mut S, buffer: &mut [u8], packets: &mut [Packet])
where
    S: Directions<Receiver> + ?Sized,
{
    let mut waiting: Vec<(usize, Waiting)> = Vec::with_capacity(packets.len());
    for (number, packet) in packets.iter_mut().enumerate() {
        match look_at_one(receivers, buffer, packet) {
            Ok(Some(one)) => waiting.push((number, one)),
            Ok(None) => {}
            Err(why) => packet.verdict = Err(why),
        }
    }
    let key = |number: usize, plan: &Plan| receivers.direction(number)?.key(plan);
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(waiting.len());
    waiting.retain(|(number, one)| {
        let packet = &mut packets[*number];
        match key(packet.direction, &one.plan) {
            Some(key) => jobs.push(one.plan.job(key, packet.at)),
            None => packet.verdict = Err(Refused::NoStream),
        }
        packet.verdict.is_ok()
    });
    cipher::run(buffer, &mut jobs);
    let verdicts: Vec<_> = jobs.iter().map(|job| verdict(job.outcome)).collect();
    for ((number, one), outcome) in waiting.iter().zip(verdicts) {
        let packet = &mut packets[*number];
        let receiver = receivers.direction_mut(packet.direction).ok_or(Refused::NoStream);
        let opened = outcome.and_then(|()| receiver?.opened(one));
        packet.settle(opened.map(|()| one.plan.length));
    }
}

/// Looks at a packet. What wants more than one look is done at once.
fn look_at_one<S>(
    receivers: &mut S,
    buffer: &mut [u8],
    packet: &mut Packet,
) -> Result<Option<Waiting>, Refused>
where
    S: Directions<Receiver> + ?Sized,
{
    let receiver = receivers.direction_mut(packet.direction).ok_or(Refused::NoStream)?;
    let (place, length) = (packet.place(buffer)?, packet.length);
    let octets = place.get_mut(..length).ok_or(Refused::NoRoom)?;
    packet.verdict = Ok(());
    if packet.is_rtcp {
        packet.settle(receiver.unprotect_rtcp(octets));
        return Ok(None);
    }
    if let Some(waiting) = receiver.plan(octets)? {
        return Ok(Some(waiting));
    }
    packet.settle(receiver.unprotect(octets));
    Ok(None)
}
