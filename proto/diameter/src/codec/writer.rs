//! Writing messages in place: lengths are filled in when a group or the message ends.

use super::value::{address_octets, time_octets};
use super::{AVP_HEADER_OCTETS, AvpFlags, Flags, HEADER_OCTETS, Header, MESSAGE_OCTETS_MAX};
use super::{ResultCode, VERSION, padded};
use crate::row::{Command, Row};
use machine::narrow::place;
use std::net::IpAddr;

/// A message, or a part of it, that became longer than [`MESSAGE_OCTETS_MAX`]; nothing of it was
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Writes one message.
#[derive(Debug)]
#[must_use = "a message is whole when it was ended"]
pub struct Writer<'a> {
    avps: AvpWriter<'a>,
}

impl<'a> Writer<'a> {
    /// Begins a message behind what stands in `out`.
    pub fn begin(out: &'a mut Vec<u8>, header: &Header) -> Self {
        let start = out.len();
        let flags = u32::from(header.flags.0) << 24;
        out.extend_from_slice(&[VERSION, 0, 0, 0]);
        out.extend_from_slice(&(flags | header.command & 0x00ff_ffff).to_be_bytes());
        for word in [header.application, header.hop_by_hop, header.end_to_end] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        Self { avps: AvpWriter { out, start } }
    }

    /// Begins a request of a command; the node gives it its identifiers.
    pub fn request(out: &'a mut Vec<u8>, command: &Command, application: u32) -> Self {
        let proxiable = if command.proxiable { Flags::PROXIABLE } else { 0 };
        let flags = Flags(Flags::REQUEST | proxiable);
        let (command, hop_by_hop, end_to_end) = (command.code, 0, 0);
        Self::begin(out, &Header { flags, command, application, hop_by_hop, end_to_end })
    }

    /// Begins the answer to a request: P as there, its identifiers.
    pub fn answer(out: &'a mut Vec<u8>, request: &Header) -> Self {
        let flags = Flags(request.flags.0 & Flags::PROXIABLE);
        Self::begin(out, &Header { flags, ..*request })
    }

    /// Where AVPs are added.
    pub const fn avps(&mut self) -> &mut AvpWriter<'a> {
        &mut self.avps
    }

    /// Adds an AVP of octets or text.
    pub fn put(mut self, row: &Row, data: impl AsRef<[u8]>) -> Self {
        self.avps.put(row, data);
        self
    }

    /// Adds an Unsigned32.
    pub fn number(mut self, row: &Row, number: u32) -> Self {
        self.avps.number(row, number);
        self
    }

    /// Adds an Integer32 or Enumerated.
    pub fn integer(mut self, row: &Row, number: i32) -> Self {
        self.avps.integer(row, number);
        self
    }

    /// Adds a group whose AVPs `fill` adds.
    pub fn group(mut self, row: &Row, fill: impl FnOnce(&mut AvpWriter<'_>)) -> Self {
        self.avps.group(row, fill);
        self
    }

    /// Adds a Result-Code.
    pub fn result(self, code: ResultCode) -> Self {
        self.number(&crate::rows::base::RESULT_CODE, code.number())
    }

    /// Ends the message: fills its length in.
    ///
    /// # Errors
    /// It became too long; then `out` is as it was before.
    pub fn end(self) -> Result<(), TooLong> {
        let AvpWriter { out, start } = self.avps;
        let length = out.len() - start;
        if length > MESSAGE_OCTETS_MAX {
            out.truncate(start);
            return Err(TooLong);
        }
        out[start + 1..start + 4].copy_from_slice(&place(length).to_be_bytes()[1..]);
        Ok(())
    }
}

/// Writes AVPs: those of a message, or of a group.
#[derive(Debug)]
pub struct AvpWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl AvpWriter<'_> {
    /// AVPs without a message around them.
    pub const fn new(out: &mut Vec<u8>) -> AvpWriter<'_> {
        let start = out.len();
        AvpWriter { out, start }
    }

    /// Octets of the message so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins an AVP; [`AvpWriter::close`] ends it.
    pub(crate) fn open(&mut self, code: u32, vendor: u32, flags: u8) -> usize {
        let at = self.out.len();
        self.out.extend_from_slice(&code.to_be_bytes());
        let has_vendor = flags & AvpFlags::VENDOR != 0;
        self.out.extend_from_slice(&[flags, 0, 0, 0]);
        if has_vendor {
            self.out.extend_from_slice(&vendor.to_be_bytes());
        }
        at
    }

    /// Fills the length in and the zeros behind. One whose length has no room makes the message
    /// too long, which [`Writer::end`] refuses.
    pub(crate) fn close(&mut self, at: usize) {
        let length = self.out.len() - at;
        self.out[at + 5..at + AVP_HEADER_OCTETS].copy_from_slice(&place(length).to_be_bytes()[1..]);
        let zeros = padded(length) - length;
        self.out.extend_from_slice(&[0; 4][..zeros]);
    }

    /// Adds an AVP with that data and those flags, whatever row it has.
    pub fn raw(&mut self, code: u32, vendor: u32, flags: AvpFlags, data: &[u8]) {
        let at = self.open(code, vendor, flags.0);
        self.out.extend_from_slice(data);
        self.close(at);
    }

    /// Adds whole AVPs as they stand in another message.
    pub fn copy(&mut self, whole: &[u8]) {
        self.out.extend_from_slice(whole);
        let zeros = padded(whole.len()) - whole.len();
        self.out.extend_from_slice(&[0; 4][..zeros]);
    }

    /// Adds an AVP of octets or text.
    #[inline]
    pub fn put(&mut self, row: &Row, data: impl AsRef<[u8]>) {
        self.raw(row.code, row.vendor, AvpFlags(row.flags()), data.as_ref());
    }

    /// Adds an Unsigned32.
    pub fn number(&mut self, row: &Row, number: u32) {
        self.put(row, number.to_be_bytes());
    }

    /// Adds an Integer32 or Enumerated.
    pub fn integer(&mut self, row: &Row, number: i32) {
        self.put(row, number.to_be_bytes());
    }

    /// Adds an Unsigned64.
    pub fn number64(&mut self, row: &Row, number: u64) {
        self.put(row, number.to_be_bytes());
    }

    /// Adds a Time, for seconds since 1970; one that it has no number for is not added.
    pub fn time(&mut self, row: &Row, seconds: i64) {
        if let Some(octets) = time_octets(seconds) {
            self.put(row, octets);
        }
    }

    /// Adds an Address.
    pub fn address(&mut self, row: &Row, address: IpAddr) {
        let (octets, length) = address_octets(address);
        self.put(row, &octets[..length]);
    }

    /// Adds a group whose AVPs `fill` adds.
    pub fn group(&mut self, row: &Row, fill: impl FnOnce(&mut AvpWriter<'_>)) {
        let at = self.open(row.code, row.vendor, row.flags());
        fill(&mut AvpWriter { out: self.out, start: self.start });
        self.close(at);
    }
}

/// Sets flags and identifiers of a message that stands in `octets`.
pub(crate) fn stamp(octets: &mut [u8], set: u8, hop_by_hop: u32, end_to_end: u32) {
    if let Some(head) = octets.first_chunk_mut::<HEADER_OCTETS>() {
        head[4] |= set;
        head[12..16].copy_from_slice(&hop_by_hop.to_be_bytes());
        head[16..20].copy_from_slice(&end_to_end.to_be_bytes());
    }
}

/// Adds an AVP at the end of a whole message and corrects its length; `false`: there is no room.
pub(crate) fn append(octets: &mut Vec<u8>, row: &Row, data: &[u8]) -> bool {
    let before = octets.len();
    AvpWriter::new(octets).put(row, data);
    if octets.len() > MESSAGE_OCTETS_MAX {
        octets.truncate(before);
        return false;
    }
    let length = place(octets.len()).to_be_bytes();
    octets[1..4].copy_from_slice(&length[1..]);
    true
}
