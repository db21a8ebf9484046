//! Replies that were given: a message that comes again gets the same one. A cookie alone does not
//! do: two proxies may count alike, and a reply may have keys.

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

struct Reply {
    message: Box<[u8]>,
    text: Box<[u8]>,
    at: Time,
}

// Messages and replies have keys.
impl core::fmt::Debug for Reply {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Reply({} octets at {:?})", self.text.len(), self.at)
    }
}

impl Replies {
    /// What was replied to that message, cookie and all.
    pub fn to(&self, now: Time, message: &[u8]) -> Option<&[u8]> {
        let young = |reply: &&Reply| now.since(reply.at) < KEPT;
        // Whoever asks again does so soon.
        let mut latest = self.list.iter().rev().take_while(young);
        latest.find(|reply| *reply.message == *message).map(|reply| &*reply.text)
    }

    /// Keeps a reply; one that is kept already counts no more.
    pub fn keep(&mut self, now: Time, message: &[u8], text: &[u8]) {
        while let Some(first) = self.list.front() {
            let is_full = self.list.len() >= REPLIES_MAX || self.octets > OCTETS_MAX;
            if !is_full && now.since(first.at) < KEPT {
                break;
            }
            self.octets -= first.text.len() + first.message.len();
            self.list.pop_front();
        }
        self.octets += message.len() + text.len();
        self.list.push_back(Reply { message: message.into(), text: text.into(), at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_given_again_to_the_same_message_and_for_ten_seconds() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut replies = Replies::default();
        replies.keep(at(1), b"7_1 ping", b"7_1 pong");
        assert_eq!(replies.to(at(10), b"7_1 ping"), Some(&b"7_1 pong"[..]));
        assert_eq!(replies.to(at(10), b"7_1 list"), None);
        assert_eq!(replies.to(at(11), b"7_1 ping"), None);
        replies.keep(at(12), b"7_2 offer", b"7_2 ok");
        replies.keep(at(12), b"7_2 offer", b"7_2 error");
        assert_eq!(replies.to(at(12), b"7_2 offer"), Some(&b"7_2 error"[..]));
    }
}
