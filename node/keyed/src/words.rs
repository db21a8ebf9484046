//! What a shard and the thread of its journal or its ring say to each other.
//!
//! ```text
//! word = letter · octets of what follows, 4 · that
//! ```

/// To the thread: a record for the log.
pub(crate) const LOG: u8 = b'l';
/// To the thread: everything before this is wanted on disk, at once or soon; 8 octets name it.
pub(crate) const SYNC_NOW: u8 = b'n';
/// See [`SYNC_NOW`].
pub(crate) const SYNC_SOON: u8 = b's';
/// To the thread: a snapshot begins; changes from here on stand behind it.
pub(crate) const SNAPSHOT: u8 = b'b';
/// To the thread: a record of the snapshot.
pub(crate) const ROW: u8 = b'r';
/// To the thread: the snapshot is whole.
pub(crate) const WHOLE: u8 = b'w';
/// To the thread: how recent all is that stands before this, 8 octets, and whether this node
/// served.
pub(crate) const TERM: u8 = b'v';
/// To the thread of a ring: a question about a row that its nodes share ([`crate::asked::Asked`]).
pub(crate) const ASKED: u8 = b'q';

/// To the shard: a record that stood.
pub(crate) const STOOD: u8 = b'o';
/// To the shard: those were all; 8 octets say how many octets could not be read.
pub(crate) const OPENED: u8 = b'p';
/// To the shard: what was named is on disk.
pub(crate) const SYNCED: u8 = b'd';
/// To the shard: a snapshot is wanted.
pub(crate) const WANTED: u8 = b'a';
/// To the shard: the snapshot stands; 8 octets say how many octets the journal has.
pub(crate) const TAKEN: u8 = b't';

/// To the shard: a record that the ring does not take, of a key ([`refused`]); what was promised of
/// it is not kept.
pub(crate) const REFUSED: u8 = b'f';
/// To the shard: the answer of a ring to such a question ([`crate::asked::Reply`]).
pub(crate) const REPLIED: u8 = b'e';

const HEAD: usize = 5;

/// Appends a word whose content `write` appends.
pub(crate) fn word(out: &mut Vec<u8>, letter: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(letter);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a word with a number.
pub(crate) fn number(out: &mut Vec<u8>, letter: u8, number: u64) {
    word(out, letter, |out| out.extend_from_slice(&number.to_be_bytes()));
}

/// Appends what a refusal has: octets of the key, 2 · key · why, as text.
pub(crate) fn refused(key: &[u8], why: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&u16::try_from(key.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(why.as_bytes());
}

/// The key of a refusal, and why.
pub(crate) fn refusal_of(content: &[u8]) -> Option<(&[u8], &str)> {
    let (length, rest) = content.split_first_chunk::<2>()?;
    let (key, why) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    Some((key, core::str::from_utf8(why).unwrap_or_default()))
}

/// The words of a text; ends at the first that is cut off.
pub(crate) struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_at_checked(HEAD)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some((head[0], content))
    }
}

/// The number of a word.
pub(crate) fn number_of(content: &[u8]) -> u64 {
    content.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}
