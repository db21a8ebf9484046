//! Where the parts of a packet stand, and what the cipher shall do to it.
//!
//! ```text
//! base        esp         8        iv            end    icv
//!  │ IP, UDP   │ SPI · seq │ IV      │ payload · pad │ ICV  │
//!  GCM          aad                    data            tag      RFC 4106 §5: aad = SPI · seq
//!  CBC, HMAC    aad ───────────────── data            tag      leaving, the IV is data too
//!  GMAC         aad ──────────────────────────────────  tag     RFC 4543 §3.3
//! ```
//! Of an extended number the upper half is authenticated and not sent: behind all in an HMAC, and
//! between SPI and lower half in GCM and GMAC.

use crate::transform::{Engine, Transform};
use crate::{Dropped, legacy};
use cipher::{Extra, Job, Key, Op, Outcome};
use core::ops::Range;

/// Room before a packet that is always enough to protect it: a header of IPv6, UDP, SPI, number
/// and IV.
pub const HEADROOM: usize = 40 + 8 + 8 + 16;
/// Room behind a packet that is always enough to protect it: padding, trailer, ICV.
pub const TAILROOM: usize = 15 + 2 + 32;

/// Octets of SPI and number.
pub(crate) const ESP_HEADER: usize = 8;

/// Where ESP stands in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Where the packet begins in the buffer.
    pub base: usize,
    /// Where ESP begins, from there on.
    pub esp: usize,
    /// Where the ICV begins.
    pub end: usize,
}

/// What is done to one packet; ranges count from the packet's beginning.
#[derive(Debug)]
pub(crate) struct Plan {
    frame: Frame,
    op: Op,
    iv: [u8; 16],
    aad: Range<usize>,
    data: Range<usize>,
    extra: Extra,
    /// What stood before ESP, where SPI is put for a while.
    displaced: Option<[u8; 4]>,
}

impl Plan {
    /// The plan of a packet. `iv` is what the cipher takes.
    pub fn new(
        transform: &Transform,
        op: Op,
        frame: Frame,
        iv: [u8; 16],
        number: (u64, bool),
    ) -> Self {
        let algorithm = transform.algorithm;
        let (number, extended) = number;
        let Frame { esp, end, .. } = frame;
        let text = esp + ESP_HEADER + algorithm.iv();
        let (aad, data) = match op {
            _ if algorithm.is_gmac() => (esp - usize::from(extended) * 4..end, end..end),
            _ if algorithm.is_gcm() && extended => (esp..esp + 4, text..end),
            _ if algorithm.is_gcm() => (esp..esp + ESP_HEADER, text..end),
            // The IV is encrypted as the first block: see `Outbound::iv`.
            Op::Protect => (esp..esp + ESP_HEADER, esp + ESP_HEADER..end),
            Op::Unprotect => (esp..text, text..end),
        };
        let octets = number.to_be_bytes();
        let extra = match extended {
            false => Extra::NONE,
            true if algorithm.is_gmac() => Extra::NONE,
            true if algorithm.is_gcm() => Extra::new(&octets).unwrap_or(Extra::NONE),
            true => Extra::new(&octets[..4]).unwrap_or(Extra::NONE),
        };
        let displaced = (algorithm.is_gmac() && extended).then_some([0; 4]);
        Self { frame, op, iv, aad, data, extra, displaced }
    }

    /// Puts the upper half between SPI and lower half where the text needs it in one piece.
    pub fn displace(&mut self, buffer: &mut [u8], number: u64) {
        let at = self.frame.base + self.frame.esp;
        if let Some(displaced) = &mut self.displaced {
            displaced.copy_from_slice(&buffer[at - 4..at]);
            buffer.copy_within(at..at + 4, at - 4);
            buffer[at..at + 4].copy_from_slice(&number.to_be_bytes()[..4]);
        }
    }

    /// Puts back what was displaced.
    pub fn replace(&self, buffer: &mut [u8]) {
        let at = self.frame.base + self.frame.esp;
        if let Some(displaced) = &self.displaced {
            buffer.copy_within(at - 4..at, at);
            buffer[at - 4..at].copy_from_slice(displaced);
        }
    }

    /// The job for a batch.
    pub fn job<'k>(&self, key: &'k Key) -> Job<'k> {
        let mut job = Job::new(key, self.op, self.iv);
        job.base = self.frame.base;
        job.aad = self.aad.clone();
        job.data = self.data.clone();
        job.tag = self.frame.end;
        job.extra = self.extra;
        job
    }

    /// Runs it alone, of an algorithm that no batch has.
    pub fn run_alone(&self, transform: &Transform, buffer: &mut [u8]) -> Option<Outcome> {
        let Engine::Legacy(engine) = &transform.engine else { return None };
        let parts = legacy::Parts {
            op: self.op,
            iv: self.iv,
            aad: self.aad.clone(),
            data: self.data.clone(),
            tag: self.frame.end,
            extra: self.extra,
        };
        Some(engine.run(&mut buffer[self.frame.base..], &parts, transform.algorithm.icv()))
    }
}

/// What an outcome means for a packet.
pub(crate) fn verdict(outcome: Outcome) -> Result<(), Dropped> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Forged => Err(Dropped::Forged),
        Outcome::Malformed | Outcome::Waiting => Err(Dropped::Short),
    }
}
