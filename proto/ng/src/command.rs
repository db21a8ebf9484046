//! Commands: a cookie, a space, a dictionary.

use crate::bencode::Value;
use wire::Malformed;

/// Octets of a message at most: those of a datagram.
pub const MESSAGE_OCTETS_MAX: usize = 65_535;
/// Octets of a cookie at most.
pub const COOKIE_OCTETS_MAX: usize = 255;
const SPEC: &str = "NG";

wire::rows! {
    /// Commands.
    pub enum Verb {
        /// Whether somebody is there.
        Ping = "ping", "NG ping";
        /// An offer.
        Offer = "offer", "NG offer";
        /// An answer.
        Answer = "answer", "NG answer";
        /// The end of a call.
        Delete = "delete", "NG delete";
        /// What is known of a call.
        Query = "query", "NG query";
        /// The calls.
        List = "list", "NG list";
        /// Counts of everything.
        Statistics = "statistics", "NG statistics";
        /// A side's packets go nowhere.
        BlockMedia = "block media", "NG block media";
        /// They go on.
        UnblockMedia = "unblock media", "NG unblock media";
        /// A side's digits go nowhere.
        BlockDtmf = "block DTMF", "NG block DTMF";
        /// They go on.
        UnblockDtmf = "unblock DTMF", "NG unblock DTMF";
        /// Digits are sent.
        PlayDtmf = "play DTMF", "NG play DTMF";
    }
}

impl Verb {
    /// The row of a name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().find(|verb| verb.name().as_bytes() == name).copied()
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<'a> {
    /// What the reply begins with.
    pub cookie: &'a [u8],
    /// Everything else.
    pub what: Value<'a>,
}

impl<'a> Command<'a> {
    /// Reads a message that is whole.
    ///
    /// # Errors
    /// No cookie, no dictionary, or something behind it.
    pub fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let message = message.trim_ascii_start();
        let (cookie, rest) =
            split(message)?.ok_or(Malformed::new(0, "there is no cookie", SPEC))?;
        let at = cookie.len() + 1;
        let (what, length) = Value::read(rest)
            .map_err(|violation| violation.shifted(at))?
            .ok_or(Malformed::new(message.len(), "the message is cut off", SPEC))?;
        // Some end their messages with a new line.
        let is_whole = rest[length..].iter().all(u8::is_ascii_whitespace);
        if !is_whole || !matches!(what, Value::Dictionary(_)) {
            return Err(Malformed::new(at, "it is no dictionary alone", SPEC));
        }
        Ok(Self { cookie, what })
    }

    /// The text of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&'a [u8]> {
        self.what.at(key).and_then(Value::text)
    }

    /// The texts of a key that may be a list; a key may be written with spaces or hyphens.
    pub fn texts(&self, key: &'static str) -> impl Iterator<Item = &'a [u8]> + '_ {
        let Value::Dictionary(entries) = &self.what else { unreachable!("it was read as one") };
        entries
            .iter()
            .filter(move |(name, _)| is_word(name, key))
            .flat_map(|(_, value)| value.texts())
    }

    /// Whether a list has a word.
    #[must_use]
    pub fn has(&self, key: &'static str, word: &str) -> bool {
        self.texts(key).any(|it| is_word(it, word))
    }
}

/// Whether a text is that word, which may be written with spaces or underscores for its hyphens.
pub(crate) fn is_word(text: &[u8], word: &str) -> bool {
    let same = |(one, other): (&u8, u8)| {
        *one == other || (matches!(*one, b' ' | b'_') && matches!(other, b'-'))
    };
    text.len() == word.len() && text.iter().zip(word.bytes()).all(same)
}

/// A cookie and what follows it.
type Split<'a> = (&'a [u8], &'a [u8]);

/// The cookie and what follows it; `None`: it is not whole.
pub(crate) fn split(message: &[u8]) -> Result<Option<Split<'_>>, Malformed> {
    let window = &message[..message.len().min(COOKIE_OCTETS_MAX + 1)];
    match window.iter().position(|octet| *octet == b' ') {
        Some(0) => Err(Malformed::new(0, "a cookie is empty", SPEC)),
        Some(at) => Ok(Some((&message[..at], &message[at + 1..]))),
        None if window.len() > COOKIE_OCTETS_MAX => {
            Err(Malformed::new(0, "a cookie is too long", SPEC))
        }
        None => Ok(None),
    }
}

/// Octets of the first message in a stream; `None` if it is not whole.
///
/// # Errors
/// What stands there is no message: the connection is of no use any more.
pub fn frame(octets: &[u8]) -> Result<Option<usize>, Malformed> {
    let blank = octets.iter().take_while(|octet| octet.is_ascii_whitespace()).count();
    let too_long = || Malformed::new(0, "a message is too long", SPEC);
    if blank >= MESSAGE_OCTETS_MAX {
        return Err(too_long());
    }
    let Some((cookie, rest)) = split(&octets[blank..])? else { return Ok(None) };
    let before = blank + cookie.len() + 1;
    match Value::read(rest)? {
        Some((_, length)) if before + length <= MESSAGE_OCTETS_MAX => Ok(Some(before + length)),
        None if octets.len() <= MESSAGE_OCTETS_MAX => Ok(None),
        _ => Err(too_long()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_blanks_or_of_one_long_message_ends() {
        assert!(frame(&vec![b'\n'; MESSAGE_OCTETS_MAX]).is_err());
        let long = format!("7_1 {MESSAGE_OCTETS_MAX}:{}", "x".repeat(MESSAGE_OCTETS_MAX));
        assert!(frame(long.as_bytes()).is_err());
    }

    #[test]
    fn messages_of_a_stream_are_found_one_behind_the_other() {
        let text = b"7_1 d7:command4:pinge\n7_2 d7:command4:liste";
        for cut in 0..21 {
            assert_eq!(frame(&text[..cut]), Ok(None), "{cut}");
        }
        let first = frame(text).expect("sound").expect("whole");
        let command = Command::read(&text[..first]).expect("sound");
        assert_eq!((command.cookie, command.text("command")), (&b"7_1"[..], Some(&b"ping"[..])));
        assert_eq!(frame(&text[first..]), Ok(Some(text.len() - first)));
        assert!(Command::read(b"x l1:ae").is_err() && Command::read(b"x de1:a").is_err());
        let behind = Command::read(b"\n7_3 de\n").expect("new lines do not count");
        assert_eq!(behind.cookie, b"7_3");
        assert!(frame(&[b'x'; 300]).is_err() && Command::read(b" de").is_err());
    }

    #[test]
    fn words_are_the_same_with_hyphens_and_spaces() {
        let command =
            Command::read(b"1 d8:rtcp-muxl5:offere5:flagsl13:trust addressee").expect("sound");
        assert!(command.has("flags", "trust-address") && command.has("rtcp-mux", "offer"));
        assert!(!command.has("flags", "trust"));
    }
}
