//! Own labels: which are given, and which come back. The one given back longest ago is given next.

use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Labels {
    next: u32,
    last: u32,
    free: VecDeque<u32>,
}

impl Labels {
    pub(crate) const fn new(range: (u32, u32)) -> Self {
        Self { next: range.0, last: range.1, free: VecDeque::new() }
    }

    /// A label; `None` when all are given.
    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.next <= self.last {
            self.next += 1;
            return Some(self.next - 1);
        }
        self.free.pop_front()
    }

    /// Whether there is one to give.
    pub(crate) fn is_there(&self) -> bool {
        self.next <= self.last || !self.free.is_empty()
    }

    pub(crate) fn give_back(&mut self, label: u32) {
        self.free.push_back(label);
    }
}
