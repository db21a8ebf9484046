//! ROUTE-REFRESH: a family again, its beginning and its end (RFC 2918, RFC 7313).

use super::header::{begin, end};
use super::notification::{Notice, RefreshError};
use super::{Data, HEADER_BYTES, MessageType, Violation, be16, word};
use crate::family::Family;

wire::rows! {
    /// What a ROUTE-REFRESH says.
    pub enum RefreshKind: u8 {
        /// Send me everything again.
        Request = 0, "Route-Refresh", "RFC 2918 §3";
        /// Everything comes again from here.
        Begin = 1, "BoRR", "RFC 7313 §4";
        /// That was everything.
        End = 2, "EoRR", "RFC 7313 §4";
    }
}

/// A ROUTE-REFRESH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refresh<'a> {
    /// Which family; `None` if nobody here knows it: it is ignored then.
    pub family: Option<Family>,
    /// What it says; `None` for a subtype that is ignored (RFC 7313 §5).
    pub kind: Option<RefreshKind>,
    /// Outbound route filters, not understood (RFC 5291).
    pub filters: &'a [u8],
}

impl<'a> Refresh<'a> {
    /// Reads a message that [`super::frame`] found.
    ///
    /// # Errors
    /// A beginning or an end that is longer than its four octets (RFC 7313 §5).
    pub fn read(message: &'a [u8]) -> Result<Self, Violation> {
        let body = &message[HEADER_BYTES..];
        let kind = RefreshKind::of(body[2]);
        let filters = &body[4..];
        if matches!(kind, Some(RefreshKind::Begin | RefreshKind::End)) && !filters.is_empty() {
            let (what, spec) = ("the ROUTE-REFRESH is too long", "RFC 7313 §5");
            let notice = Notice::refresh(RefreshError::InvalidMessageLength);
            let data = Data::Message(0, word(message.len()));
            return Err(Violation::reset(notice, HEADER_BYTES + 4, what, spec).with(data));
        }
        Ok(Self { family: Family::of(be16(body, 0), body[3]), kind, filters })
    }
}

/// Appends a ROUTE-REFRESH.
pub fn write_refresh(family: Family, kind: RefreshKind, out: &mut Vec<u8>) {
    let start = begin(MessageType::RouteRefresh, out);
    out.extend_from_slice(&family.afi().to_be_bytes());
    out.extend_from_slice(&[kind.number(), family.safi()]);
    end(start, out);
}
