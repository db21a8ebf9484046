//! Source descriptions (RFC 3550 §6.5): who is behind a source.

use super::frame::{PacketType, Raw, begin, end};
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 3550 §6.5";
/// The item type that ends the items of a chunk.
const END: u8 = 0;
/// Chunks of a packet at most: the count has five bits.
pub const CHUNKS_MAX: usize = 31;
/// Octets of an item's text at most.
pub const TEXT_BYTES_MAX: usize = 255;

wire::rows! {
    /// The items.
    pub enum ItemType: u8 {
        /// The name that stays when a source changes its number.
        Cname = 1, "CNAME", "RFC 3550 §6.5.1";
        /// A name for people.
        Name = 2, "NAME", "RFC 3550 §6.5.2";
        /// An address of mail.
        Email = 3, "EMAIL", "RFC 3550 §6.5.3";
        /// A telephone number.
        Phone = 4, "PHONE", "RFC 3550 §6.5.4";
        /// Where it is.
        Location = 5, "LOC", "RFC 3550 §6.5.5";
        /// The program.
        Tool = 6, "TOOL", "RFC 3550 §6.5.6";
        /// What it does at the moment.
        Note = 7, "NOTE", "RFC 3550 §6.5.7";
        /// What only some understand.
        Private = 8, "PRIV", "RFC 3550 §6.5.8";
        /// The identification of the media section that it belongs to.
        Mid = 15, "MID", "RFC 9143 §15.1";
    }
}

/// An item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its type, of which [`ItemType`] has those that are known.
    pub number: u8,
    /// Its text.
    pub text: &'a [u8],
}

/// A source and its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The source.
    pub ssrc: u32,
    /// Its items.
    pub items: Items<'a>,
}

/// The items of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items<'a> {
    octets: &'a [u8],
}

/// An item; `None` where they end.
fn take_item<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Item<'a>>, Malformed> {
    let number = cursor.octet("the items of a chunk do not end")?;
    if number == END {
        return Ok(None);
    }
    let length = cursor.octet("an item is cut off")?;
    let text = cursor.take(usize::from(length), "an item is cut off")?;
    Ok(Some(Item { number, text }))
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let mut cursor = Cursor::new(self.octets, 0, SPEC);
        let item = take_item(&mut cursor).ok().flatten()?;
        self.octets = cursor.rest();
        Some(item)
    }
}

/// The chunks of a packet, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks<'a> {
    left: u8,
    octets: &'a [u8],
}

/// A chunk: its items end with a zero, and zeros follow up to a multiple of four octets.
fn take_chunk<'a>(cursor: &mut Cursor<'a>) -> Result<Chunk<'a>, Malformed> {
    let ssrc = cursor.be32("the source of a chunk is cut off")?;
    let octets = cursor.rest();
    while take_item(cursor)?.is_some() {}
    let length = octets.len() - cursor.rest().len();
    let padding = length.next_multiple_of(4) - length;
    cursor.take(padding, "a chunk is cut off")?;
    Ok(Chunk { ssrc, items: Items { octets: &octets[..length] } })
}

impl<'a> Chunks<'a> {
    pub(super) fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(SPEC);
        for _ in 0..raw.count {
            take_chunk(&mut cursor)?;
        }
        Ok(Self { left: raw.count, octets: raw.body })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor::new(self.octets, 0, SPEC);
        let chunk = take_chunk(&mut cursor).ok()?;
        self.octets = cursor.rest();
        Some(chunk)
    }
}

/// Appends a source description of sources and the items of each. Of more than [`CHUNKS_MAX`]
/// sources the first are written, of a text of more than [`TEXT_BYTES_MAX`] octets the beginning.
pub fn write_description(sources: &[(u32, &[Item<'_>])], out: &mut Vec<u8>) {
    let sources = &sources[..sources.len().min(CHUNKS_MAX)];
    let start = begin(PacketType::SourceDescription, sources.len(), out);
    for (ssrc, items) in sources {
        out.extend_from_slice(&ssrc.to_be_bytes());
        for item in items.iter().filter(|item| item.number != END) {
            let text = &item.text[..item.text.len().min(TEXT_BYTES_MAX)];
            out.extend_from_slice(&[item.number, u8::try_from(text.len()).unwrap_or(u8::MAX)]);
            out.extend_from_slice(text);
        }
        // At least one zero ends them.
        let length = out.len() - start + 1;
        out.resize(start + length.next_multiple_of(4), 0);
    }
    end(start, out);
}
