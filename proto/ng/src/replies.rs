//! Replies that were given: a command that comes again gets the same one.

use core::time::Duration;
use machine::Time;
use std::collections::VecDeque;

/// Replies that are kept.
const REPLIES_MAX: usize = 4_096;
/// Octets of them.
const OCTETS_MAX: usize = 16 << 20;
/// How long a reply is kept: Kamailio asks five times, a second apart.
const KEPT: Duration = Duration::from_secs(10);

/// The last replies.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    list: VecDeque<Reply>,
    octets: usize,
}

#[derive(Debug)]
struct Reply {
    cookie: Box<[u8]>,
    text: Box<[u8]>,
    at: Time,
}

impl Replies {
    /// What was replied to that cookie.
    pub fn to(&self, cookie: &[u8]) -> Option<&[u8]> {
        // Whoever asks again does so soon.
        self.list.iter().rev().find(|reply| *reply.cookie == *cookie).map(|reply| &*reply.text)
    }

    /// Keeps a reply.
    pub fn keep(&mut self, now: Time, cookie: &[u8], text: &[u8]) {
        while let Some(first) = self.list.front() {
            let is_full = self.list.len() >= REPLIES_MAX || self.octets > OCTETS_MAX;
            if !is_full && now.since(first.at) < KEPT {
                break;
            }
            self.octets -= first.text.len() + first.cookie.len();
            self.list.pop_front();
        }
        self.octets += cookie.len() + text.len();
        self.list.push_back(Reply { cookie: cookie.into(), text: text.into(), at: now });
    }
}
