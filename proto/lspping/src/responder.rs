//! What a router says of a request that came to it (RFC 8029 §4.4).

use crate::codec::{Code, Fec, Kind, Message, REPLY_NEVER};
use core::net::Ipv4Addr;

/// The depth of the label that is meant: there is one.
const DEPTH: u8 = 1;

/// What a class of packets is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// Its packets end here.
    Egress,
    /// They go on, and come with this label.
    Switched(u32),
    /// Nobody knows it.
    Unknown,
}

/// The reply to what a datagram carries, which came with that label outermost, or none, by a clock
/// (NTP); `None`: none is wanted, or nobody knows who would want it.
pub fn answer(
    octets: &[u8],
    label: Option<u32>,
    received: u64,
    here: impl FnOnce(Ipv4Addr, u8) -> Here,
) -> Option<Message> {
    let read = Message::read(octets);
    let request = read.clone().or_else(|_| Message::head(octets)).ok()?;
    if request.kind != Kind::Request || request.mode == REPLY_NEVER {
        return None;
    }
    let code = match &request.stack[..] {
        _ if read.is_err() => Code::Malformed,
        _ if request.is_strange => Code::NotUnderstood,
        [Fec::Ldp4(address, length)] => judged(here(*address, *length), label),
        [] => Code::Malformed,
        _ => Code::NotUnderstood,
    };
    let depth = if matches!(code, Code::Malformed | Code::NotUnderstood) { 0 } else { DEPTH };
    Some(request.reply(code, depth, received))
}

fn judged(here: Here, label: Option<u32>) -> Code {
    match (here, label) {
        (Here::Egress, _) => Code::Egress,
        (Here::Unknown, _) => Code::NoMapping,
        (Here::Switched(_), None) => Code::NoLabel,
        (Here::Switched(own), Some(label)) if own == label => Code::Switched,
        (Here::Switched(_), Some(_)) => Code::OtherLabel,
    }
}
