//! What is described in calls that are set up by SIP: phones describe themselves, and what the
//! session controller makes of it says where their packets go.

use crate::calls::{Access, Calls, Phones, SEED, own_key, port};
use anyhow::Context;
use packet_load::{Guard, Values};
use sip_load::{Descriptions, Side};
use srtp::MasterKey;
use std::net::Ipv4Addr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A place of the controller.
type Place = (Ipv4Addr, u16);

/// What was heard of a call.
#[derive(Debug, Clone, Default, PartialEq)]
struct Heard {
    access: Option<Place>,
    core: Option<Place>,
    /// The controller's key at the access.
    key: Option<MasterKey>,
}

/// The descriptions of all calls of a run.
#[derive(Debug)]
pub struct Book {
    phones: Phones,
    keys: Option<Guard>,
    heard: Mutex<Described>,
    changed: Condvar,
}

/// What was heard of each, how often that changed, and the first thing that could not be read.
#[derive(Debug, Default)]
struct Described {
    calls: Vec<Heard>,
    changes: u64,
    wrong: Option<String>,
}

impl Book {
    /// For the calls of these phones, over IPv4.
    #[must_use]
    pub fn new(phones: Phones) -> Self {
        let keys = match phones.access {
            Access::Plain => None,
            Access::Secure(suite) => Some(Guard::by_seed(suite, phones.calls, SEED)),
        };
        let calls = vec![Heard::default(); phones.calls as usize];
        let heard = Mutex::new(Described { calls, ..Described::default() });
        Self { phones, keys, heard, changed: Condvar::new() }
    }

    /// How many calls there may be.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.phones.calls
    }

    /// The calls, all of which stand.
    ///
    /// # Errors
    /// When one was not described to both of its ends, or not as it was asked for.
    pub fn calls(&self) -> anyhow::Result<Calls> {
        self.first(self.phones.calls)
    }

    /// The first so many of them.
    fn first(&self, count: u32) -> anyhow::Result<Calls> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wrong) = &heard.wrong {
            anyhow::bail!("{wrong}");
        }
        let number = |(address, _): Place| u128::from(address.to_bits());
        let mut addresses = [const { Vec::new() }; 2];
        let mut ports = [const { Vec::new() }; 2];
        let mut own = Vec::new();
        for (call, heard) in heard.calls.iter().take(count as usize).enumerate() {
            for (side, place) in [heard.access, heard.core].into_iter().enumerate() {
                let place = place.with_context(|| format!("call {call} was not described"))?;
                addresses[side].push(number(place));
                ports[side].push(u128::from(place.1));
            }
            if self.keys.is_some() {
                own.push(heard.key.clone().with_context(|| format!("call {call} has no key"))?);
            }
        }
        let guards = self.keys.clone().map(|phones| {
            let own = Guard { suite: phones.suite, keys: own.into() };
            [phones, own]
        });
        let addresses = addresses.map(|all| Values::Table(all.into()));
        let ports = ports.map(Into::into);
        let phones = Phones { calls: count, ..self.phones };
        let sources = phones.sources();
        Ok(Calls { phones, sources, ssrc: 0, addresses, ports, guards })
    }

    /// Of the first so many calls the numbers of those at each of these addresses of the
    /// controllers at the access.
    pub(crate) fn parts(&self, count: u32, of: &[Vec<Ipv4Addr>]) -> Vec<Vec<u32>> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of = |call: &u32, part: &[Ipv4Addr]| {
            let place = heard.calls.get(*call as usize).and_then(|call| call.access);
            place.is_some_and(|(address, _)| part.contains(&address))
        };
        let numbers = |part: &Vec<_>| (0..count).filter(|call| is_of(call, part)).collect();
        let parts = of.iter().map(numbers);
        parts.filter(|numbers: &Vec<u32>| !numbers.is_empty()).collect()
    }

    /// These parts of the first so many calls, as they were described last.
    ///
    /// # Errors
    /// Those of [`Book::calls`].
    pub(crate) fn calls_of(&self, count: u32, parts: &[Vec<u32>]) -> anyhow::Result<Vec<Calls>> {
        let all = self.first(count)?;
        let mut first = 0;
        let parts = parts.iter().map(|numbers| {
            let calls = all.some(numbers, first);
            first += calls.phones.calls;
            calls
        });
        Ok(parts.collect())
    }

    /// How often ends heard something else than before. Waits so long for more than `known`.
    pub(crate) fn changes(&self, known: u64, limit: Duration) -> u64 {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(heard, limit, |it| it.changes <= known);
        waited.unwrap_or_else(PoisonError::into_inner).0.changes
    }

    /// What the caller was told, which is at the access, or the answerer, which is at the core.
    fn read(&self, side: Side, description: &str) -> anyhow::Result<(Place, Option<MasterKey>)> {
        let place = (address(description)?, port(description)?);
        let key = match (&self.keys, side) {
            (Some(guard), Side::Caller) => Some(own_key(description, guard.suite)?),
            _ => None,
        };
        Ok((place, key))
    }
}

impl Descriptions for Book {
    fn describe(&self, side: Side, call: u32, out: &mut Vec<u8>) {
        let number = usize::from(side == Side::Answerer);
        let key = self.keys.as_ref().filter(|_| number == 0);
        let key = key.and_then(|guard| guard.keys.get(call as usize));
        out.extend_from_slice(self.phones.description(call, number, key).as_bytes());
    }

    fn heard(&self, side: Side, call: u32, description: &[u8]) {
        let read = self.read(side, &String::from_utf8_lossy(description));
        let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Described { calls, changes, wrong } = &mut *all;
        let Some(heard) = calls.get_mut(call as usize) else { return };
        match read {
            Ok((place, key)) => {
                let before = heard.clone();
                let known = if side == Side::Caller { &mut heard.access } else { &mut heard.core };
                *known = Some(place);
                heard.key = key.or_else(|| heard.key.take());
                if *heard != before {
                    *changes += 1;
                    self.changed.notify_all();
                }
            }
            Err(error) => {
                wrong.get_or_insert_with(|| format!("call {call}: {error:#}"));
            }
        }
    }
}

/// The address of the connection of a description (RFC 4566 §5.7).
fn address(description: &str) -> anyhow::Result<Ipv4Addr> {
    let line = description.lines().find_map(|line| line.strip_prefix("c=IN IP4 "));
    let address = line.and_then(|rest| rest.trim().parse().ok());
    address.with_context(|| format!("no address in {description}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet_load::Codec;
    use srtp::Suite;

    fn said(address: &str, port: u16, more: &str) -> Vec<u8> {
        format!("v=0\r\nc=IN IP4 {address}\r\nt=0 0\r\nm=audio {port} RTP/SAVP 18\r\n{more}").into()
    }

    #[test]
    fn calls_are_what_both_of_their_ends_heard() {
        let suite = Suite::AesCm128HmacSha1_80;
        let phones = Phones {
            calls: 2,
            codec: Codec::G729,
            suppression: None,
            access: Access::Secure(suite),
            is_v6: false,
            becomes: None,
        };
        let book = Book::new(phones);
        let mut offer = Vec::new();
        book.describe(Side::Caller, 1, &mut offer);
        let offer = String::from_utf8(offer).unwrap();
        assert!(
            offer.contains("c=IN IP4 198.18.0.2\r\n") && offer.contains("a=crypto:1 AES_CM_128")
        );
        let mut answer = Vec::new();
        book.describe(Side::Answerer, 1, &mut answer);
        assert!(!String::from_utf8(answer).unwrap().contains("a=crypto"));
        let key = offer.lines().find(|line| line.starts_with("a=crypto")).unwrap();
        let key = format!("{key}\r\n");
        for call in [0, 1] {
            assert!(book.calls().is_err());
            let port = 10_000 + 2 * call as u16;
            book.heard(Side::Caller, call, &said("10.199.1.16", port, &key));
            book.heard(Side::Answerer, call, &said("10.199.2.17", port, ""));
        }
        let calls = book.calls().unwrap();
        assert_eq!(calls.ports[0][..], [10_000, 10_002]);
        assert!(matches!(&calls.addresses[1], Values::Table(all) if all[1] == 0x0ac7_0211));
        book.heard(Side::Caller, 0, &said("10.199.1.16", 10_000, ""));
        assert!(book.calls().unwrap_err().to_string().starts_with("call 0: no key"));
    }
}
