//! Where the parts of a protected packet stand (RFC 3711 §3.1, §3.4; RFC 7714 §8, §9), and what the
//! cipher shall do to one packet.

use crate::index::Index;
use crate::packet::{Refused, SRTCP_WORD};
use crate::parameters::Parameters;
use crate::suite::Transform;
use cipher::{Extra, Job, Op, Outcome};
use core::ops::Range;

/// Places of what stands behind the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub tag: usize,
    /// Of RTCP alone.
    pub word: usize,
    pub mki: Range<usize>,
    pub length: usize,
}

impl Parameters {
    /// A packet of RTP whose plain one has that length: `payload · MKI · tag`, or in
    /// Galois/counter mode `payload · tag · MKI`.
    pub(crate) const fn rtp_layout(&self, plain: usize, mki: usize) -> Layout {
        let tag = self.tag_octets();
        let length = plain + mki + tag;
        match self.suite.transform() {
            Transform::AesGcm => Layout { tag: plain, word: 0, mki: plain + tag..length, length },
            _ => Layout { tag: plain + mki, word: 0, mki: plain..plain + mki, length },
        }
    }

    /// A packet of RTCP whose plain one has that length: `payload · word · MKI · tag`, or in
    /// Galois/counter mode `payload · tag · word · MKI`.
    pub(crate) const fn rtcp_layout(&self, plain: usize, mki: usize) -> Layout {
        let tag = self.suite.rtcp_tag_octets();
        let length = plain + SRTCP_WORD + mki + tag;
        let (tag, word) = match self.suite.transform() {
            Transform::AesGcm => (plain, plain + tag),
            _ => (plain + SRTCP_WORD + mki, plain),
        };
        let mki_at = word + SRTCP_WORD;
        Layout { tag, word, mki: mki_at..mki_at + mki, length }
    }

    /// What of RTP is authenticated without being sent: the rollover counter, but not in
    /// Galois/counter mode, whose IV has it.
    pub(crate) fn rtp_extra(&self, index: u64) -> Extra {
        match self.suite.transform() {
            Transform::AesGcm => Extra::NONE,
            _ => Index::of(index).map_or(Extra::NONE, |index| Extra::from(index.roc())),
        }
    }
}

/// What the cipher shall do to one packet.
#[derive(Debug)]
pub(crate) struct Plan {
    pub op: Op,
    /// Which master key.
    pub key: usize,
    pub index: u64,
    pub iv: [u8; 16],
    /// Where what is encrypted begins; what stands before is authenticated alone.
    pub clear: usize,
    /// Where it ends.
    pub data: usize,
    pub tag: usize,
    pub extra: Extra,
    /// What the packet is long afterwards.
    pub length: usize,
}

impl Plan {
    /// The job, for a packet that begins at `base` of a buffer.
    pub fn job<'k>(&self, key: &'k cipher::Key, base: usize) -> Job<'k> {
        let mut job = Job::new(key, self.op, self.iv);
        job.base = base;
        job.aad = 0..self.clear;
        job.data = self.clear..self.data;
        job.tag = self.tag;
        job.extra = self.extra;
        job
    }

    pub fn run(&self, key: &cipher::Key, buffer: &mut [u8]) -> Result<(), Refused> {
        verdict(cipher::run_one(buffer, &mut self.job(key, 0)))
    }
}

/// What an outcome means for a packet.
pub(crate) fn verdict(outcome: Outcome) -> Result<(), Refused> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Forged => Err(Refused::Forged),
        Outcome::Malformed | Outcome::Waiting => Err(Refused::Malformed),
    }
}
