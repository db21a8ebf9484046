//! Messages that wait for their first transmission, and which of them is next: the stream
//! schedulers of RFC 8260 §3.
//!
//! Without I-DATA a message that has begun goes on until it ends, whatever the scheduler says;
//! with I-DATA the scheduler chooses anew for every chunk.

use super::outbound::Outgoing;
use machine::Time;
use std::collections::{BTreeMap, VecDeque};

/// Which message is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduler {
    /// The one that came first (RFC 8260 §3.1).
    #[default]
    FirstComeFirstServed,
    /// Of the next stream (RFC 8260 §3.2).
    RoundRobin,
    /// Of the next stream, which is another one for each packet (RFC 8260 §3.3).
    RoundRobinPacket,
    /// Of the stream with the lowest priority value (RFC 8260 §3.4).
    Priority,
    /// Of the stream that has sent the fewest octets (RFC 8260 §3.5).
    FairCapacity,
    /// The same, by weight: twice the weight, twice the octets (RFC 8260 §3.6).
    WeightedFair,
}

/// The message of a stream that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partial {
    pub(crate) at: usize,
    pub(crate) fsn: u32,
    pub(crate) number: u32,
}

#[derive(Debug, Default)]
struct Lane {
    /// With the number that each was given when it came.
    messages: VecDeque<(u64, Outgoing)>,
    partial: Option<Partial>,
    /// Octets sent, scaled by weight.
    served: u64,
}

/// The queue of an association.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    scheduler: Scheduler,
    /// A scheduler was set: each stream has a lane. Before that there is one for all.
    has_lanes: bool,
    all: Lane,
    arrivals: u64,
    lanes: BTreeMap<u16, Lane>,
    messages: usize,
    /// Priority or weight of the streams that were given one.
    values: BTreeMap<u16, u16>,
    /// The stream that is being served: its message has begun, or its packet is not full.
    current: Option<u16>,
    last: u16,
    /// What the stream with the fewest octets has been served: a stream that was idle begins
    /// there.
    floor: u64,
    pub(crate) is_interleaved: bool,
}

/// Octets count this much at weight 1.
const SCALE: u64 = 1 << 16;

impl Queue {
    pub(crate) const fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// The lane of the stream, if anything was ever in it.
    #[inline]
    fn lane_of(&mut self, stream: u16) -> Option<&mut Lane> {
        if self.has_lanes { self.lanes.get_mut(&stream) } else { Some(&mut self.all) }
    }

    pub(crate) fn push(&mut self, message: Outgoing) {
        self.messages += 1;
        self.arrivals += 1;
        let (floor, arrival) = (self.floor, self.arrivals);
        let lane = match self.has_lanes {
            true => self.lanes.entry(message.stream).or_default(),
            false => &mut self.all,
        };
        if lane.messages.is_empty() {
            lane.served = lane.served.max(floor);
        }
        lane.messages.push_back((arrival, message));
    }

    /// The stream, or lane, whose message is next.
    fn select(&mut self) -> Option<u16> {
        if let Some(current) = self.current {
            return Some(current);
        }
        let chosen = match self.has_lanes {
            false => 0,
            true => {
                let waiting = self.lanes.iter().filter(|(_, lane)| !lane.messages.is_empty());
                let keyed = waiting.map(|(stream, lane)| {
                    // The distance from the stream served last makes the round.
                    let turn = stream.wrapping_sub(self.last).wrapping_sub(1);
                    (self.key(*stream, lane), turn, *stream)
                });
                keyed.min()?.2
            }
        };
        self.current = (self.messages > 0).then_some(chosen);
        self.current
    }

    fn key(&self, stream: u16, lane: &Lane) -> u64 {
        match self.scheduler {
            Scheduler::Priority => self.values.get(&stream).copied().unwrap_or(0).into(),
            Scheduler::FairCapacity | Scheduler::WeightedFair => lane.served,
            Scheduler::FirstComeFirstServed => lane.messages.front().map_or(0, |first| first.0),
            Scheduler::RoundRobin | Scheduler::RoundRobinPacket => 0,
        }
    }

    /// The next message, and how much of it has left.
    pub(crate) fn head(&mut self) -> Option<(&mut Outgoing, Option<Partial>)> {
        let stream = self.select()?;
        let lane = self.lane_of(stream)?;
        let partial = lane.partial;
        lane.messages.front_mut().map(|(_, message)| (message, partial))
    }

    /// `bytes` of the head have left; `rest` is where its next chunk begins.
    pub(crate) fn served(&mut self, bytes: usize, rest: Option<Partial>) {
        let Some(current) = self.current else { return };
        let weight = match self.scheduler {
            Scheduler::WeightedFair => self.values.get(&current).copied().unwrap_or(1).max(1),
            _ => 1,
        };
        let Some(lane) = self.lane_of(current) else { return };
        let floor = lane.served;
        lane.served += bytes as u64 * SCALE / u64::from(weight);
        lane.partial = rest;
        if rest.is_none() {
            lane.messages.pop_front();
        }
        let is_empty = lane.messages.is_empty();
        self.messages -= usize::from(rest.is_none());
        self.floor = floor;
        let stays = match self.scheduler {
            Scheduler::FirstComeFirstServed if !self.has_lanes => true,
            Scheduler::RoundRobinPacket => !is_empty,
            _ => rest.is_some() && !self.is_interleaved,
        };
        self.last = current;
        if !stays || is_empty {
            self.current = None;
        }
    }

    /// A new packet begins.
    pub(crate) fn packet_begins(&mut self) {
        if self.scheduler == Scheduler::RoundRobinPacket {
            let lane = self.current.and_then(|current| self.lane_of(current));
            let has_begun = lane.is_some_and(|lane| lane.partial.is_some());
            let is_bound = has_begun && !self.is_interleaved;
            if !is_bound {
                self.current = None;
            }
        }
    }

    /// The next message leaves unsent when its time is over.
    pub(crate) fn expire(&mut self, now: Time) -> Option<Outgoing> {
        if self.is_empty() {
            return None;
        }
        let (message, partial) = self.head()?;
        if partial.is_some() || !message.is_over(now) {
            return None;
        }
        self.pop()
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let current = self.current.take()?;
        let lane = self.lane_of(current)?;
        lane.partial = None;
        let (_, message) = lane.messages.pop_front()?;
        self.messages -= 1;
        Some(message)
    }

    /// Takes the message of `stream` that has begun out of the queue.
    pub(crate) fn cut(&mut self, stream: u16) -> Option<(Outgoing, Partial)> {
        let lane = self.lane_of(stream)?;
        let partial = lane.partial.take()?;
        let (_, message) = lane.messages.pop_front()?;
        self.messages -= 1;
        if self.current == Some(stream) || !self.has_lanes {
            self.current = None;
        }
        Some((message, partial))
    }

    /// Whether a message has begun and not ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.all.partial.is_some() || self.lanes.values().any(|lane| lane.partial.is_some())
    }

    /// Every message, with whether some of it has left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Outgoing, bool)> {
        self.messages = 0;
        self.current = None;
        let all = core::mem::take(&mut self.all);
        let lanes = core::mem::take(&mut self.lanes).into_values();
        core::iter::once(all).chain(lanes).flat_map(|lane| {
            let was_partial = lane.partial.is_some();
            let numbered = lane.messages.into_iter().enumerate();
            numbered.map(move |(index, (_, message))| (message, was_partial && index == 0))
        })
    }

    /// Another scheduler from now on. A message that has begun stays at the head of its stream.
    pub(crate) fn set_scheduler(&mut self, scheduler: Scheduler) {
        self.scheduler = scheduler;
        if core::mem::replace(&mut self.has_lanes, true) {
            return;
        }
        let all = core::mem::take(&mut self.all);
        let first = all.messages.front().map(|(_, message)| message.stream);
        for (arrival, message) in all.messages {
            self.lanes.entry(message.stream).or_default().messages.push_back((arrival, message));
        }
        let begun = first.filter(|_| all.partial.is_some());
        if let Some(lane) = begun.and_then(|stream| self.lanes.get_mut(&stream)) {
            lane.partial = all.partial;
        }
        self.current = begun;
    }

    /// Priority or weight of a stream.
    pub(crate) fn set_value(&mut self, stream: u16, value: u16) {
        self.values.insert(stream, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The streams of the chunks in the order in which they leave, each message of `chunks`
    /// chunks of 100 octets, three messages on each of the streams 1 to 3.
    fn order(scheduler: Scheduler, is_interleaved: bool, chunks: usize) -> Vec<u16> {
        let mut queue = Queue { is_interleaved, ..Queue::default() };
        queue.set_scheduler(scheduler);
        for (stream, value) in [(1, 1), (2, 2), (3, 4)] {
            queue.set_value(stream, value);
            for _ in 0..3 {
                queue.push(Outgoing::new(stream, 0, vec![0; 100 * chunks].into()));
            }
        }
        let mut streams = Vec::new();
        while !queue.is_empty() {
            let (message, partial) = queue.head().expect("it is not empty");
            streams.push(message.stream);
            let at = partial.map_or(0, |partial| partial.at) + 100;
            let rest = (at < message.payload.len()).then_some(Partial { at, fsn: 0, number: 0 });
            queue.served(100, rest);
            if streams.len() % 2 == 0 {
                queue.packet_begins(); // a packet holds two chunks
            }
        }
        streams
    }

    #[test]
    fn each_scheduler_has_its_order() {
        use Scheduler::*;
        assert_eq!(order(FirstComeFirstServed, false, 1), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(order(RoundRobin, false, 1), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        assert_eq!(order(RoundRobinPacket, false, 1), [1, 1, 2, 2, 3, 3, 1, 2, 3]);
        assert_eq!(order(Priority, false, 1), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(order(FairCapacity, false, 1), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        assert_eq!(order(WeightedFair, false, 1), [1, 2, 3, 3, 2, 3, 1, 2, 1]);
    }

    #[test]
    fn a_message_that_has_begun_goes_on_without_i_data_and_shares_with_it() {
        let streams = order(Scheduler::RoundRobin, false, 3);
        assert_eq!(streams[..9], [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        let streams = order(Scheduler::RoundRobin, true, 3);
        assert_eq!(streams[..9], [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    }
}
