//! An offer that may still be answered.

use crate::means::Heard;
use crate::packed::Packed;
use crate::side::{Fork, Side};
use core::net::IpAddr;
use memchr::memmem::Finder;
use std::sync::LazyLock;
use zeroize::Zeroize;

/// Forks whose answers are kept until one is chosen.
pub const FORKS_MAX: usize = 8;

/// An offer that may still be answered. It holds keys: it is wiped when it goes.
#[derive(Debug)]
pub(crate) struct Pending {
    pub from: Side,
    pub text: Kept,
    pub source: Option<IpAddr>,
    pub signaller: Option<IpAddr>,
    pub told: Kept,
    /// What was understood of both, so that neither is read again; `None`: they are.
    pub packed: Option<Box<[Packed; 2]>>,
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
    pub text: Kept,
    pub source: Option<IpAddr>,
    pub signaller: Option<IpAddr>,
}

impl Pending {
    /// Keeps an answer in case its fork is chosen.
    pub fn keep(&mut self, heard: &Heard<'_>) {
        self.answers.retain(|answer| answer.fork != heard.fork);
        if self.answers.len() == FORKS_MAX {
            self.answers.remove(0);
        }
        let Heard { fork, source, signaller, .. } = *heard;
        let text = Kept::new(heard.text.to_vec());
        self.answers.push(Answer { fork, text, source, signaller });
    }
}

/// What a line with a key begins with; made once, for it is looked for in each description.
static KEY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"a=crypto"));

/// A description that is kept. One with keys is wiped when it goes; others are not, which costs as
/// much as reading them.
#[derive(Default)]
pub(crate) struct Kept(Vec<u8>);

impl Kept {
    pub const fn new(text: Vec<u8>) -> Self {
        Self(text)
    }

    fn has_keys(&self) -> bool {
        KEY_LINE.find(&self.0).is_some()
    }
}

impl core::fmt::Debug for Kept {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Kept({} octets)", self.0.len())
    }
}

impl core::ops::Deref for Kept {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.has_keys() {
            self.0.zeroize();
        }
    }
}
