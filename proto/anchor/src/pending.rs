//! An offer that may still be answered.

use crate::means::Heard;
use crate::side::{Fork, Side};
use core::net::IpAddr;
use zeroize::Zeroizing;

/// Forks whose answers are kept until one is chosen.
pub const FORKS_MAX: usize = 8;

/// An offer that may still be answered. It holds keys: it is wiped when it goes.
#[derive(Debug)]
pub(crate) struct Pending {
    pub from: Side,
    pub text: Zeroizing<Vec<u8>>,
    pub source: Option<IpAddr>,
    pub told: Zeroizing<Vec<u8>>,
    /// Streams that there were before.
    pub lines_before: usize,
    /// Ports that were taken for it.
    pub fresh: Vec<(usize, Side)>,
    pub answers: Vec<Answer>,
    /// Whose answer the streams follow.
    pub current: Option<Fork>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub fork: Fork,
    pub text: Zeroizing<Vec<u8>>,
    pub source: Option<IpAddr>,
}

impl Pending {
    /// Keeps an answer in case its fork is chosen.
    pub fn keep(&mut self, heard: &Heard<'_>) {
        self.answers.retain(|answer| answer.fork != heard.fork);
        if self.answers.len() == FORKS_MAX {
            self.answers.remove(0);
        }
        let text = Zeroizing::new(heard.text.to_vec());
        self.answers.push(Answer { fork: heard.fork, text, source: heard.source });
    }
}
