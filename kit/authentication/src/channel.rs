//! Datagrams between two ends that know the same key: encrypted (AES-256-GCM), each taken once.
//!
//! ```text
//! datagram = magic 4 · life 8 · number 8 · answer 8 · ciphertext · tag 16
//! plain    = kind 1 · message                                  numbers are big-endian
//! greeting = challenge 8 · life 8 · number 8
//! ```
//! A sender has a random number for its *life* and counts its datagrams. The key of a life comes
//! from the shared key, who sends to whom, and the life, so that a nonce never comes twice.
//!
//! **No clock.** What was recorded in an earlier life must not be taken again, and a machine whose
//! clock is wrong must still be heard. So a receiver follows one life of the other end and takes up
//! another one only when that proves that it is there now. A datagram of an unknown life, though
//! sealed rightly, is dropped and answered with a *greeting*: it names the datagram that it
//! answers and gives a challenge.
//!
//! - A greeting that names a datagram of this life, sent since the last new life of the other end
//!   was taken up, is proof; so is
//! - a datagram whose `answer` is the present challenge. A challenge changes with every new life.
//!
//! Neither can be had from the past. Two datagrams after a start both ends follow each other.

use crate::Keys;
use crate::window::{WINDOW, Window};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use machine::Time;
use machine::bucket::{Bucket, Rate};
use std::sync::Arc;

const MAGIC: [u8; 4] = *b"TDS1";
const HEAD: usize = 28;
const TAG: usize = 16;
/// Octets that a datagram is longer than its message.
pub const DATAGRAM_BYTES_ADDED: usize = HEAD + 1 + TAG;
const KIND_MESSAGE: u8 = 0;
const KIND_GREETING: u8 = 1;
/// Greetings a second: as many as a flood of recorded datagrams may cause, and enough that one of
/// the other end's finds its turn between them.
const GREETINGS_PER_S: f64 = 2_000.0;
const GREETINGS_AT_ONCE: u32 = 16;
/// Lives a second whose keys are derived: as many as a flood may cost. Who is heard once is known
/// from then on.
const STRANGERS_PER_S: f64 = 20_000.0;
const STRANGERS_AT_ONCE: u32 = 256;

/// Why a datagram is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It does not have this form: it is not sealed.
    Unsealed,
    /// None of the keys has sealed it, or it came in a flood of such.
    Forged,
    /// It came before.
    Replayed,
    /// The key is right, but its sender has not proved that it is there now: each life begins so.
    Unproved,
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("AES-256 takes 32 octets"))
}

fn nonce(number: u64) -> Nonce {
    let mut octets = [0; 12];
    octets[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(octets)
}

/// The sending half, for any number of threads at once.
pub struct Sealer {
    life: u64,
    key: LessSafeKey,
    next: AtomicU64,
    /// The challenge of the other end that we heard last.
    answer: AtomicU64,
}

/// The receiving half.
pub struct Opener {
    sealer: Arc<Sealer>,
    keys: Keys,
    label: Vec<u8>,
    session: Option<Session>,
    /// Lives taken up.
    changes: u64,
    /// Our first datagram since then.
    since: u64,
    behind: u64,
    plain: Vec<u8>,
    greetings: Bucket,
    rate: Rate,
    /// The last life that sealed rightly without being followed.
    heard: Option<(u64, LessSafeKey)>,
    strangers: Bucket,
    strangers_rate: Rate,
}

/// The life of the other end that is followed.
struct Session {
    life: u64,
    key: LessSafeKey,
    window: Window,
}

/// Both halves of one end. `ours` and `theirs` say who sends to whom and for what, and differ;
/// `life` is random and another one after each start.
#[must_use]
pub fn channel(keys: &Keys, ours: &[u8], theirs: &[u8], life: u64) -> (Arc<Sealer>, Opener) {
    let key = keys.derived(ours, life).next().expect("there is a key");
    let sealer = Arc::new(Sealer {
        life,
        key: cipher(&key),
        next: AtomicU64::new(1),
        answer: AtomicU64::new(0),
    });
    let opener = Opener {
        sealer: Arc::clone(&sealer),
        keys: keys.clone(),
        label: theirs.to_vec(),
        session: None,
        changes: 0,
        since: 1,
        behind: WINDOW,
        plain: Vec::new(),
        greetings: Bucket::default(),
        rate: Rate::new(GREETINGS_PER_S, Some(GREETINGS_AT_ONCE)),
        heard: None,
        strangers: Bucket::default(),
        strangers_rate: Rate::new(STRANGERS_PER_S, Some(STRANGERS_AT_ONCE)),
    };
    (sealer, opener)
}

impl Sealer {
    /// The message as a datagram. An empty message only lets the other end know this life.
    #[must_use]
    pub fn seal(&self, message: &[u8]) -> Vec<u8> {
        self.sealed(KIND_MESSAGE, message)
    }

    fn sealed(&self, kind: u8, message: &[u8]) -> Vec<u8> {
        let number = self.next.fetch_add(1, Relaxed);
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&MAGIC);
        head[4..12].copy_from_slice(&self.life.to_be_bytes());
        head[12..20].copy_from_slice(&number.to_be_bytes());
        head[20..].copy_from_slice(&self.answer.load(Relaxed).to_be_bytes());
        let mut out = Vec::with_capacity(message.len() + DATAGRAM_BYTES_ADDED);
        out.extend_from_slice(&head);
        out.push(kind);
        out.extend_from_slice(message);
        let aad = Aad::from(head);
        let tag = self.key.seal_in_place_separate_tag(nonce(number), aad, &mut out[HEAD..]);
        out.extend_from_slice(tag.expect("a datagram is shorter than 64 GiB").as_ref());
        out
    }
}

/// A datagram whose seal is not looked at yet.
struct Sealed<'a> {
    head: [u8; HEAD],
    life: u64,
    number: u64,
    answer: u64,
    cipher: &'a [u8],
    tag: &'a [u8],
}

fn number(octets: &[u8], at: usize) -> u64 {
    octets[at..].first_chunk().map_or(0, |chunk| u64::from_be_bytes(*chunk))
}

impl<'a> Sealed<'a> {
    fn read(datagram: &'a [u8]) -> Option<Self> {
        let (head, rest) = datagram.split_first_chunk::<HEAD>()?;
        let (cipher, tag) = rest.split_at_checked(rest.len().checked_sub(TAG)?)?;
        let is_ours = head.starts_with(&MAGIC) && !cipher.is_empty();
        let [life, count, answer] = [4, 12, 20].map(|at| number(head, at));
        is_ours.then_some(Self { head: *head, life, number: count, answer, cipher, tag })
    }

    fn open(&self, key: &LessSafeKey, plain: &mut Vec<u8>) -> bool {
        plain.resize(self.cipher.len(), 0);
        let aad = Aad::from(self.head);
        key.open_separate_gather(nonce(self.number), aad, self.cipher, self.tag, plain).is_ok()
    }
}

/// What a greeting says.
struct Greeting {
    challenge: u64,
    life: u64,
    number: u64,
}

impl Greeting {
    fn read(plain: &[u8]) -> Option<Self> {
        let (&KIND_GREETING, octets) = plain.split_first()? else { return None };
        let octets: &[u8; 24] = octets.first_chunk()?;
        let [challenge, life, count] = [0, 8, 16].map(|at| number(octets, at));
        Some(Self { challenge, life, number: count })
    }
}

impl Opener {
    /// Takes no datagram that another one has overtaken: for who sends from one thread only.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { behind: 0, ..self }
    }

    /// The message of a datagram, empty for what is said on the channel's own behalf. `answer`
    /// becomes the datagram that shall be sent back, or is left empty.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn open(
        &mut self,
        now: Time,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<&[u8], Refused> {
        answer.clear();
        let sealed = Sealed::read(datagram).ok_or(Refused::Unsealed)?;
        let greets = match &mut self.session {
            Some(session) if session.life == sealed.life => {
                if !session.window.is_new(sealed.number) {
                    return Err(Refused::Replayed);
                }
                if !sealed.open(&session.key, &mut self.plain) {
                    return Err(Refused::Forged);
                }
                session.window.take(sealed.number);
                self.challenged()
            }
            _ => self.stranger(now, &sealed, answer)?,
        };
        if greets && self.may_greet(now) {
            *answer = self.greeting(&sealed);
        }
        match self.plain.split_first() {
            Some((&KIND_MESSAGE, message)) => Ok(message),
            _ => Ok(&[]),
        }
    }

    /// A datagram of a life that is not followed. Whether it shall be greeted.
    fn stranger(
        &mut self,
        now: Time,
        sealed: &Sealed<'_>,
        answer: &mut Vec<u8>,
    ) -> Result<bool, Refused> {
        let key = self.key_of(now, sealed).ok_or(Refused::Forged)?;
        let greeting = Greeting::read(&self.plain);
        let names_ours = greeting.as_ref().is_some_and(|greeting| {
            greeting.life == self.sealer.life && greeting.number >= self.since
        });
        if !names_ours && sealed.answer != self.challenge() {
            if self.may_greet(now) {
                *answer = self.greeting(sealed);
            }
            self.heard = Some((sealed.life, key));
            return Err(Refused::Unproved);
        }
        let window = Window::after(sealed.number, self.behind);
        self.session = Some(Session { life: sealed.life, key, window });
        self.changes += 1;
        self.since = self.sealer.next.load(Relaxed);
        self.challenged();
        // Who greets does not follow us yet.
        Ok(greeting.is_some())
    }

    /// The key that sealed a datagram of a life that is not followed; its plain text is there then.
    fn key_of(&mut self, now: Time, sealed: &Sealed<'_>) -> Option<LessSafeKey> {
        if let Some((_, key)) = self.heard.take_if(|(life, _)| *life == sealed.life) {
            if sealed.open(&key, &mut self.plain) {
                return Some(key);
            }
            self.heard = Some((sealed.life, key));
            return None;
        }
        if !self.strangers.has_room(now, self.strangers_rate) {
            return None;
        }
        self.strangers.take(now, self.strangers_rate);
        let keys: Vec<_> = self.keys.derived(&self.label, sealed.life).collect();
        keys.iter().map(cipher).find(|key| sealed.open(key, &mut self.plain))
    }

    /// Takes the challenge of a greeting that was opened and names this life; whether it is new.
    fn challenged(&self) -> bool {
        let Some(greeting) = Greeting::read(&self.plain) else { return false };
        greeting.life == self.sealer.life
            && self.sealer.answer.swap(greeting.challenge, Relaxed) != greeting.challenge
    }

    /// What proves a new life. It never comes again; zero, the answer of who knows none, is none.
    fn challenge(&self) -> u64 {
        self.sealer.life.wrapping_add(self.changes).max(1)
    }

    fn may_greet(&mut self, now: Time) -> bool {
        let may = self.greetings.has_room(now, self.rate);
        if may {
            self.greetings.take(now, self.rate);
        }
        may
    }

    fn greeting(&self, heard: &Sealed<'_>) -> Vec<u8> {
        let numbers = [self.challenge(), heard.life, heard.number].map(u64::to_be_bytes);
        self.sealer.sealed(KIND_GREETING, numbers.as_flattened())
    }
}

#[cfg(test)]
mod tests;
