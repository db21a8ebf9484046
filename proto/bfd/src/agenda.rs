//! When each session is due: one entry in force for each, in a heap. The timing wheel of the house
//! has ticks of a millisecond, which is a fifth of the shortest interval here.

use machine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// The entry in force of each session.
    armed: Vec<Time>,
}

impl Agenda {
    /// Sees to it that a session is looked at by `at`: earlier if it was armed for that.
    #[inline]
    pub(crate) fn arm(&mut self, index: u32, at: Time) {
        let place = index as usize;
        if self.armed.len() <= place {
            self.armed.resize(place + 1, Time::MAX);
        }
        if at < self.armed[place] {
            self.armed[place] = at;
            self.heap.push(Reverse((at, index)));
            if self.heap.len() > 4 * self.armed.len() + 64 {
                self.rebuild();
            }
        }
    }

    /// Entries that were overtaken go.
    fn rebuild(&mut self) {
        let armed = self.armed.iter().enumerate().filter(|(_, at)| **at != Time::MAX);
        let entries = armed.map(|(place, at)| Reverse((*at, machine::narrow::place(place))));
        self.heap = entries.collect();
    }

    /// The next session that is due at `now`; it is not armed any more.
    #[inline]
    pub(crate) fn due(&mut self, now: Time) -> Option<u32> {
        while let Some(&Reverse((at, index))) = self.heap.peek().filter(|it| it.0.0 <= now) {
            self.heap.pop();
            let armed = &mut self.armed[index as usize];
            if *armed == at {
                *armed = Time::MAX;
                return Some(index);
            }
        }
        None
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.heap.peek().map(|it| it.0.0)
    }
}
