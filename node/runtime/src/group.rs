//! Sorting the sends of a flush by far end, so that what goes to one goes at once.
//!
//! The order between far ends may change, as on any network. Towards one far end that of a
//! conversation never does; datagrams of different conversations may change places, so that those
//! of one length stand together and travel as one run:
//!
//! ```text
//! a 300 · b 500 · a 500 · c 300 · b 300  ──→  b 500 · a 300 · c 300 | a 500 · b 300
//!                                              └─ the first of each ─┘ └─ the second ─┘
//! ```

use crate::function::Effects;
use crate::port::{Flow, PortId};
use core::ops::Range;
use machine::narrow::{at_most, half, halves, index, place};
use std::net::{IpAddr, SocketAddr};

/// Slots of the hash table; more than twice the messages of a flush.
const TABLE_SLOTS: usize = 8_192;
/// Messages of one flush.
pub(crate) const FLUSH_MESSAGES_MAX: usize = 2_048;
const EMPTY: u32 = u32::MAX;
/// Groups of fewer messages are left as they are.
const PACKED_MIN: usize = 4;
/// Slots in which conversations are counted; more than twice the messages of a flush.
const COUNT_SLOTS: usize = 8_192;
/// Factor of the hash of conversations (Knuth's, 32 bits).
const SPREAD: u32 = 0x9E37_79B1;

/// The messages for one far end: a slice of [`Groups::order`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// The flow of its first message.
    pub(crate) flow: Flow,
    hash: u32,
    first: u32,
    last: u32,
    /// Start in the order.
    pub(crate) start: u32,
    /// End in the order.
    pub(crate) end: u32,
}

/// Reused room for sorting.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    seed: u64,
    table: Vec<u32>,
    next: Vec<u32>,
    groups: Vec<Group>,
    order: Vec<u32>,
    ports: Vec<PortId>,
    /// How many messages of a conversation came before: conversation, number of the sort, count.
    counts: Vec<(u32, u32, u32)>,
    sorts: u32,
    keys: Vec<u64>,
}

impl Groups {
    /// `seed` keeps strangers from choosing addresses that collide.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed: seed | 1,
            table: vec![EMPTY; TABLE_SLOTS],
            next: Vec::new(),
            groups: Vec::new(),
            order: Vec::new(),
            ports: Vec::new(),
            counts: vec![(0, 0, 0); COUNT_SLOTS],
            sorts: 0,
            keys: Vec::new(),
        }
    }

    /// Sorts messages `from..to` of `effects`, at most [`FLUSH_MESSAGES_MAX`].
    pub(crate) fn sort(&mut self, effects: &Effects, from: usize, to: usize) {
        for group in &self.groups {
            self.table[group.hash as usize] = EMPTY;
        }
        self.groups.clear();
        self.next.clear();
        for at in from..to {
            let (flow, _) = effects.message(at);
            self.next.push(EMPTY);
            self.append(flow, place(at - from));
        }
        self.lay_out(place(from));
    }

    fn append(&mut self, flow: Flow, at: u32) {
        if let Some(last) = self.groups.last_mut()
            && same(&last.flow, &flow)
        {
            self.next[last.last as usize] = at;
            last.last = at;
            return;
        }
        let mut slot = self.hash(flow.port, &flow.remote);
        loop {
            let found = self.table[slot];
            if found == EMPTY {
                self.table[slot] = place(self.groups.len());
                let hash = place(slot);
                self.groups.push(Group { flow, hash, first: at, last: at, start: 0, end: 0 });
                return;
            }
            let group = &mut self.groups[found as usize];
            if same(&group.flow, &flow) {
                self.next[group.last as usize] = at;
                group.last = at;
                return;
            }
            slot = (slot + 1) % TABLE_SLOTS;
        }
    }

    fn lay_out(&mut self, from: u32) {
        self.order.clear();
        self.ports.clear();
        for group in &mut self.groups {
            group.start = place(self.order.len());
            let mut at = group.first;
            while at != EMPTY {
                self.order.push(from + at);
                at = self.next[at as usize];
            }
            group.end = place(self.order.len());
            if !self.ports.contains(&group.flow.port) {
                self.ports.push(group.flow.port);
            }
        }
    }

    /// Lets the datagrams of each group of a port stand together by length, the longest first.
    pub(crate) fn pack(&mut self, effects: &Effects, port: PortId) {
        for at in 0..self.groups.len() {
            let Group { flow, start, end, .. } = self.groups[at];
            if flow.port == port && (end - start) as usize >= PACKED_MIN {
                self.pack_group(effects, start as usize..end as usize);
            }
        }
    }

    fn pack_group(&mut self, effects: &Effects, group: Range<usize>) {
        self.sorts = self.sorts.wrapping_add(1);
        let mut keys = core::mem::take(&mut self.keys);
        keys.clear();
        for at in group.clone() {
            let number = self.order[at];
            let (conversation, octets) = effects.outline(number as usize);
            // Which one of its conversation it is, then its length, then its place.
            let nth = u64::from(self.count(conversation)) << 48;
            let shortness = u64::from(u16::MAX - index(octets)) << 32;
            keys.push(nth | shortness | u64::from(number));
        }
        keys.sort_unstable();
        for (number, key) in self.order[group].iter_mut().zip(&keys) {
            *number = half(*key);
        }
        self.keys = keys;
    }

    /// How many messages of this conversation this sort has seen before, 65,535 at most.
    fn count(&mut self, conversation: u32) -> u16 {
        // With the seed: strangers choose conversations, and must not make them collide.
        let seed = half(self.seed);
        let spread = (conversation ^ seed).wrapping_mul(seed);
        let mut slot = (spread.wrapping_mul(SPREAD) >> 19) as usize % COUNT_SLOTS;
        loop {
            let (name, sort, count) = &mut self.counts[slot];
            if *sort != self.sorts {
                (*name, *sort, *count) = (conversation, self.sorts, 1);
                return 0;
            }
            if *name == conversation {
                *count += 1;
                return at_most((*count - 1).into(), u16::MAX);
            }
            slot = (slot + 1) % COUNT_SLOTS;
        }
    }

    fn hash(&self, port: PortId, remote: &SocketAddr) -> usize {
        let ip = match remote.ip() {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => {
                let [low, high] = halves(ip.to_bits());
                low.wrapping_mul(self.seed).rotate_left(29) ^ high
            }
        };
        let all = ip ^ (u64::from(remote.port()) << 32) ^ (u64::from(port.0) << 48);
        (all.wrapping_mul(self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51) as usize
    }

    /// The groups of a port, in the order of their first messages.
    pub(crate) fn of(&self, port: PortId) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.flow.port == port)
    }

    /// The message numbers of a group.
    pub(crate) fn members(&self, group: &Group) -> &[u32] {
        &self.order[group.start as usize..group.end as usize]
    }

    /// The ports that have groups.
    pub(crate) fn ports(&self) -> &[PortId] {
        &self.ports
    }

    /// Message numbers, group by group.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }
}

fn same(a: &Flow, b: &Flow) -> bool {
    a.port == b.port && a.remote == b.remote
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Transport;

    #[test]
    fn messages_are_sorted_by_far_end_and_keep_their_order_towards_each() {
        let mut effects = Effects::default();
        let local = "127.0.0.1:1".parse().unwrap();
        for n in 0..600u32 {
            let remote = SocketAddr::from(([10, 0, 0, (n % 7) as u8], (n % 3) as u16));
            effects.send(Flow::to(PortId((n % 2) as u16), Transport::Udp, local, remote), |out| {
                out.extend_from_slice(&n.to_be_bytes());
            });
        }
        let mut groups = Groups::new(12345);
        for _ in 0..3 {
            groups.sort(&effects, 100, 600);
            assert_eq!(groups.groups.len(), 42);
            let mut seen = 0;
            for group in &groups.groups {
                let members = groups.members(group);
                seen += members.len();
                assert!(members.is_sorted());
                assert!(members.iter().all(|&n| same(&effects.message(n as usize).0, &group.flow)));
            }
            assert_eq!(seen, 500);
        }
    }

    #[test]
    fn datagrams_of_one_length_stand_together_and_a_conversation_keeps_its_order() {
        let mut effects = Effects::default();
        let flow = |port: u16| {
            let local = "127.0.0.1:1".parse().unwrap();
            Flow::to(PortId(0), Transport::Udp, local, SocketAddr::from(([10, 0, 0, 1], port)))
        };
        let mut lengths = Vec::new();
        for n in 0..400u32 {
            let (conversation, octets) = (n * 7 % 90, 1 + (n * n % 5) as usize * 100);
            effects.about(conversation);
            effects.send(flow((n % 2) as u16), |out| out.resize(out.len() + octets, 0));
            lengths.push((conversation, octets));
        }
        let mut groups = Groups::new(12345);
        for _ in 0..3 {
            groups.sort(&effects, 0, 400);
            groups.pack(&effects, PortId(0));
            for group in &groups.groups {
                let members = groups.members(group);
                let mut all = members.to_vec();
                all.sort_unstable();
                assert!(all.iter().all(|&n| same(&effects.message(n as usize).0, &group.flow)));
                assert_eq!((all.len(), all.windows(2).all(|two| two[0] < two[1])), (200, true));
                for conversation in 0..90 {
                    let own = members.iter().filter(|&&n| lengths[n as usize].0 == conversation);
                    assert!(own.is_sorted(), "conversation {conversation}");
                }
                let changes = members.windows(2);
                let octets = |n: u32| lengths[n as usize].1;
                let changes = changes.filter(|two| octets(two[0]) != octets(two[1])).count();
                assert!(changes < 30, "{changes} changes of length, of 199");
            }
        }
    }

    #[test]
    fn without_a_conversation_nothing_changes_places() {
        let mut effects = Effects::default();
        let far = SocketAddr::from(([10, 0, 0, 1], 5060));
        let flow = Flow::to(PortId(0), Transport::Udp, "127.0.0.1:1".parse().unwrap(), far);
        for n in 0..FLUSH_MESSAGES_MAX {
            effects.send(flow, |out| out.resize(out.len() + 1 + n * 31 % 700, 0));
        }
        let mut groups = Groups::new(12345);
        groups.sort(&effects, 0, FLUSH_MESSAGES_MAX);
        groups.pack(&effects, PortId(0));
        assert!(groups.order().is_sorted());
    }
}
