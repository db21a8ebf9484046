//! The cookie exchange of a server to which many come: it asks for a cookie and keeps nothing of
//! who asked (RFC 6347 §4.2.1).
//!
//! ```text
//! hello ─→ an engine of its own seed ─→ HelloVerifyRequest      the engine is dropped
//! hello with that cookie ─→ an engine of the same seed, which hears the hello without the cookie
//!                           first and so is where that one was ─→ an attempt
//! ```
//! The engine makes its cookies of a secret of its own, which it draws from the seed. Nothing else
//! that is secret comes of it: keys and signatures are of the system's random source. A client that
//! speaks DTLS 1.3 as well is asked to speak 1.2 here: the cookie of 1.3 needs the first hello to
//! be kept (RFC 9147 §5.1). One that speaks 1.3 alone has no answer while it is so crowded.

use crate::settings::Settings;
use dimpl::Config;
use std::sync::Arc;

/// Octets of a record's head, and where the parts of a ClientHello begin (RFC 6347 §4.2.2).
const RECORD_OCTETS: usize = 13;
const BODY: usize = RECORD_OCTETS + 12;
const SESSION: usize = BODY + 2 + 32;
/// Octets of the engine's cookies.
const COOKIE_OCTETS: usize = 32;
/// The longest session identifier.
const SESSION_OCTETS_MAX: usize = 32;

/// A ClientHello that is whole in one datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hello<'d> {
    datagram: &'d [u8],
    /// Where the length of its cookie stands.
    cookie: usize,
}

fn number(octets: &[u8]) -> usize {
    octets.iter().fold(0, |number, octet| number << 8 | usize::from(*octet))
}

impl<'d> Hello<'d> {
    /// `None`: something else, or one in pieces.
    pub fn read(datagram: &'d [u8]) -> Option<Self> {
        let head = datagram.get(..SESSION)?;
        let whole = number(&head[14..17]);
        let begins = head[0] == 22 && head[3..5] == [0, 0] && head[13] == 1;
        let is_whole = head[19..22] == [0, 0, 0]
            && number(&head[22..25]) == whole
            && number(&head[11..13]) == whole + (BODY - RECORD_OCTETS)
            && datagram.len() == whole + BODY;
        let session = usize::from(*datagram.get(SESSION)?);
        let cookie = SESSION + 1 + session;
        let fits = session <= SESSION_OCTETS_MAX
            && cookie + 1 + usize::from(*datagram.get(cookie)?) <= datagram.len();
        (begins && is_whole && fits).then_some(Self { datagram, cookie })
    }

    /// Its cookie; empty in a first one.
    pub fn cookie(&self) -> &'d [u8] {
        let length = usize::from(self.datagram[self.cookie]);
        &self.datagram[self.cookie + 1..self.cookie + 1 + length]
    }

    /// As it was said first, one record before: without its cookie, and as the first message.
    fn before(&self) -> Option<Vec<u8>> {
        let sequence = number(self.datagram.get(5..11)?).checked_sub(1)?;
        let behind = self.cookie + 1 + self.cookie().len();
        let mut said = Vec::with_capacity(self.datagram.len());
        said.extend_from_slice(&self.datagram[..self.cookie]);
        said.push(0);
        said.extend_from_slice(&self.datagram[behind..]);
        let whole = said.len() - BODY;
        let put = |said: &mut Vec<u8>, at: usize, octets: usize, number: usize| {
            let number = (number as u64).to_be_bytes();
            said[at..at + octets].copy_from_slice(&number[8 - octets..]);
        };
        put(&mut said, 5, 6, sequence);
        put(&mut said, 11, 2, whole + (BODY - RECORD_OCTETS));
        put(&mut said, 14, 3, whole);
        put(&mut said, 17, 2, 0);
        put(&mut said, 22, 3, whole);
        Some(said)
    }
}

/// The cookie exchange of one server.
#[derive(Debug)]
pub(crate) struct CookieExchange {
    config: Arc<Config>,
}

impl CookieExchange {
    /// `None`: the system has no randomness.
    pub fn new() -> Option<Self> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).ok()?;
        let config = Settings::config(Some(u64::from_ne_bytes(seed)))?;
        Some(Self { config: Arc::new(config) })
    }

    /// What its engines are made of.
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// What the engine of a hello with a cookie has to hear before it. `None`: it is none, or its
    /// cookie is not of a length that this one gives.
    pub fn before(hello: &Hello<'_>) -> Option<Vec<u8>> {
        if hello.cookie().len() == COOKIE_OCTETS { hello.before() } else { None }
    }
}

/// The cookie of a HelloVerifyRequest.
pub(crate) fn asked_cookie(datagram: &[u8]) -> Option<&[u8]> {
    let is_one = datagram.first() == Some(&22) && datagram.get(13) == Some(&3);
    let length = usize::from(*datagram.get(BODY + 2)?);
    if is_one { datagram.get(BODY + 3..BODY + 3 + length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(session: usize, cookie: &[u8]) -> Vec<u8> {
        let mut body = vec![0xfe, 0xfd];
        body.extend([7; 32]);
        body.push(u8::try_from(session).unwrap());
        body.extend(vec![8; session]);
        body.push(u8::try_from(cookie.len()).unwrap());
        body.extend(cookie);
        body.extend([0, 2, 0xc0, 0x2b, 1, 0]);
        let length = u8::try_from(body.len()).unwrap();
        let mut datagram = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, length + 12];
        datagram.extend([1, 0, 0, length, 0, 1, 0, 0, 0, 0, 0, length]);
        datagram.extend(body);
        datagram
    }

    #[test]
    fn a_hello_is_told_as_it_was_said_before_its_cookie() {
        for session in [0, 32] {
            let second = hello(session, &[9; COOKIE_OCTETS]);
            let read = Hello::read(&second).unwrap();
            assert_eq!(read.cookie(), [9; COOKIE_OCTETS]);
            let mut first = hello(session, &[]);
            (first[10], first[18]) = (0, 0);
            assert_eq!(CookieExchange::before(&read).unwrap(), first);
            assert!(CookieExchange::before(&Hello::read(&first).unwrap()).is_none());
        }
    }

    #[test]
    fn what_is_no_whole_hello_is_none() {
        let whole = hello(4, &[9; COOKIE_OCTETS]);
        for cut in 0..whole.len() {
            assert!(Hello::read(&whole[..cut]).is_none(), "{cut}");
        }
        for (at, octet) in [(0, 23), (4, 1), (13, 2), (21, 1), (24, 1), (59, 33), (59, 32)] {
            let mut other = whole.clone();
            other[at] = octet;
            assert!(Hello::read(&other).is_none_or(|it| it.cookie() != [9; 32]), "{at}");
        }
    }
}
