//! Fields that are the messages' own.

use crate::row::StreamId;
use crate::side::Side;
use wire::field;
use wire::field::value::{end, flag, put};
use wire::{Cursor, Malformed};

/// The document of the messages: their page.
pub(super) const SPEC: &str = "row";

/// The violation `what` of a field.
pub(super) const fn violation(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

pub(super) fn put_side(out: &mut Vec<u8>, tag: u8, side: Side) {
    put(out, tag, u64::from(side == Side::B));
}

pub(super) fn side(value: &[u8]) -> Result<Side, Malformed> {
    Ok(if flag(value)? { Side::B } else { Side::A })
}

pub(super) fn put_id(out: &mut Vec<u8>, tag: u8, id: StreamId) {
    let mut octets = [0; 9];
    octets[..8].copy_from_slice(&id.call.to_be_bytes());
    octets[8] = id.line;
    field::bytes(out, tag, &octets);
}

pub(super) fn id(value: &[u8]) -> Result<StreamId, Malformed> {
    let mut cursor = Cursor::new(value, 0, SPEC);
    let call = cursor.be64("the name of a stream is not 9 octets")?;
    let line = cursor.octet("the name of a stream is not 9 octets")?;
    end(&cursor)?;
    Ok(StreamId { call, line })
}
