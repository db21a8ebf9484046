//! Requests that were refused unread: 503 without a transaction (RFC 3261 §8.2.7, §21.5.4).
//!
//! The tag of the answer is made from the request's own words and proves itself: a
//! retransmission gets the same answer, and of the ACK nothing but its tag need be looked at,
//! without a record of the request. A small table remembers whom we refused: a retransmission that
//! comes when there is time again must not begin the call that its client has given up.

use machine::KeyedHash;
use machine::identity::{hash_combine, hex};
use machine::narrow::{half, slot};
use machine::{Duration, Time};
use sip::{RequestHead, to_value};

/// Sets of refused requests that are remembered; in each the youngest takes the place of the
/// oldest. One set is a cache line.
const SETS: usize = 1 << 12;
/// Requests in one set.
const WAYS: usize = 16;
/// How long an ACK to a refusal may come (timer H).
const ACK_MAX: Duration = Duration::from_secs(32);
/// Refusals under overload that are captured in full each second; the others are tallied.
const CAPTURED_PER_S_MAX: u32 = 100;
/// What our tags of refusals begin with.
const TAG: &[u8; 2] = b"ov";
/// Length of such a tag.
pub const TAG_BYTES: usize = TAG.len() + 16;

/// What is remembered of refusals.
#[derive(Debug)]
pub struct Refused {
    secret: u64,
    /// What proves the tags of refusals.
    proof: KeyedHash,
    /// Half of each name, the other half tells the set; made when the first request is refused.
    refused: Box<[[u32; WAYS]]>,
    /// Until when ACKs are looked for.
    acks_until: Time,
    second: u64,
    captured: u32,
}

impl Refused {
    /// Nothing refused yet.
    #[must_use]
    pub fn new(secret: u64, proof: u128) -> Self {
        let proof = KeyedHash::of_secret(proof);
        let (refused, acks_until) = (Box::default(), Time::ZERO);
        Self { secret, proof, refused, acks_until, second: 0, captured: 0 }
    }

    /// Names a transaction by what an INVITE, its retransmissions and its ACK share.
    #[must_use]
    pub fn name(&self, peek: &RequestHead<'_>) -> u64 {
        hash_combine(hash_combine(self.secret, peek.via), peek.call_id)
    }

    /// The tag of a refusal: half of the name, and what the secret makes of that.
    #[must_use]
    pub fn tag(&self, name: u64) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        tag[..TAG.len()].copy_from_slice(TAG);
        tag[TAG.len()..].copy_from_slice(&hex(self.proven(name >> 32)));
        tag
    }

    /// Whether ACKs are looked for: a request was refused not long ago.
    #[must_use]
    pub fn awaits_acks(&self, now: Time) -> bool {
        now < self.acks_until
    }

    fn proven(&self, half: u64) -> u64 {
        half << 32 | self.proof.hash(&half.to_le_bytes()) >> 32
    }

    /// Whether the To tag of a request is one that we gave a refusal.
    #[must_use]
    pub fn wrote_tag_of(&self, bytes: &[u8]) -> bool {
        let number = to_value(bytes).and_then(refusal_tag);
        number.is_some_and(|number| number == self.proven(number >> 32))
    }

    /// Whether a request was refused lately.
    #[must_use]
    pub fn remembers(&self, name: u64) -> bool {
        let set = self.refused.get(slot(name, SETS));
        set.is_some_and(|set| set.contains(&(half(name >> 32))))
    }

    /// A request is refused; whether it was not remembered yet.
    pub fn remember(&mut self, now: Time, name: u64) -> bool {
        if self.refused.is_empty() {
            self.refused = vec![[0; WAYS]; SETS].into_boxed_slice();
        }
        self.acks_until = now + ACK_MAX;
        let (set, half) = (&mut self.refused[slot(name, SETS)], half(name >> 32));
        let is_new = !set.contains(&half);
        if is_new {
            set.rotate_right(1);
            set[0] = half;
        }
        is_new
    }

    /// Whether another refusal is captured in this second.
    pub const fn may_capture(&mut self, now: Time) -> bool {
        let second = now.as_micros() / 1_000_000;
        if second != self.second {
            (self.second, self.captured) = (second, 0);
        }
        self.captured += 1;
        self.captured <= CAPTURED_PER_S_MAX
    }
}

/// The number in the tag of a To value, when the tag looks like one of a refusal.
fn refusal_tag(to: &[u8]) -> Option<u64> {
    // Last, where we wrote it; somebody may have written another parameter after it.
    let is_tag = |&at: &usize| to[..=at].ends_with(b";tag=");
    let at = memchr::memrchr_iter(b'=', to).find(is_tag)? + 1;
    let digits = to.get(at..at + TAG_BYTES)?.strip_prefix(TAG)?;
    let digit = |octet: u8| char::from(octet).to_digit(16).map(u64::from);
    digits.iter().try_fold(0, |number, &octet| Some(number << 4 | digit(octet)?))
}
