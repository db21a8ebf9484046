//! Writing messages: each function appends a whole one.

use crate::header::{MessageType, begin, end};
use crate::information::{Information, InformationType, put};
use crate::message::{DownReason, TerminationReason};
use crate::peer::{PeerHeader, put_address};
use crate::statistics::Statistic;
use core::net::IpAddr;

/// Statistics of one report at most: what all of them by family come to, and more.
const STATISTICS_MAX: usize = 256;
/// TLVs of one message at most.
const INFORMATION_MAX: usize = 16;

fn put_all(information: &[Information<'_>], out: &mut Vec<u8>) {
    information.iter().take(INFORMATION_MAX).for_each(|it| put(it.kind, it.value, out));
}

/// Appends an Initiation: description, name, and free text if there is any (RFC 7854 §4.3).
pub fn write_initiation(description: &str, name: &str, text: &str, out: &mut Vec<u8>) {
    let start = begin(MessageType::Initiation, out);
    put(InformationType::SysDescr.number(), description.as_bytes(), out);
    put(InformationType::SysName.number(), name.as_bytes(), out);
    if !text.is_empty() {
        put(InformationType::String.number(), text.as_bytes(), out);
    }
    end(start, out);
}

/// Appends a Termination: the reason, and free text if there is any (RFC 7854 §4.5).
pub fn write_termination(reason: TerminationReason, text: &str, out: &mut Vec<u8>) {
    let start = begin(MessageType::Termination, out);
    put(1, &reason.number().to_be_bytes(), out);
    if !text.is_empty() {
        put(0, text.as_bytes(), out);
    }
    end(start, out);
}

/// Appends an UPDATE with its header, as the peer sent it or was sent it, or with the header's
/// table in mind made for the station (RFC 7854 §4.6).
pub fn write_route_monitoring(peer: &PeerHeader, update: &[u8], out: &mut Vec<u8>) {
    let start = begin(MessageType::RouteMonitoring, out);
    peer.write(out);
    out.extend_from_slice(update);
    end(start, out);
}

/// Appends a Peer Up: our address and both ports, both OPENs with their headers, and more
/// information (RFC 7854 §4.10). Of a Loc-RIB the address and the ports are zeros, and the OPENs
/// are made up: they say its capabilities (RFC 9069 §5.1).
pub fn write_peer_up(
    peer: &PeerHeader,
    local: IpAddr,
    ports: (u16, u16),
    opens: (&[u8], &[u8]),
    information: &[Information<'_>],
    out: &mut Vec<u8>,
) {
    let start = begin(MessageType::PeerUp, out);
    peer.write(out);
    put_address(local, out);
    out.extend_from_slice(&ports.0.to_be_bytes());
    out.extend_from_slice(&ports.1.to_be_bytes());
    out.extend_from_slice(opens.0);
    out.extend_from_slice(opens.1);
    put_all(information, out);
    end(start, out);
}

/// Appends a Peer Down: the reason and its data, which is a NOTIFICATION with its header, the two
/// octets of an event, TLVs, or nothing (RFC 7854 §4.9).
pub fn write_peer_down(peer: &PeerHeader, reason: DownReason, data: &[u8], out: &mut Vec<u8>) {
    let start = begin(MessageType::PeerDown, out);
    peer.write(out);
    out.push(reason.number());
    out.extend_from_slice(data);
    end(start, out);
}

/// Appends a Statistics Report (RFC 7854 §4.8). Statistics by family without a family are left
/// out, and what exceeds 256.
pub fn write_statistics(peer: &PeerHeader, statistics: &[Statistic], out: &mut Vec<u8>) {
    let start = begin(MessageType::StatisticsReport, out);
    peer.write(out);
    let count_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0u32;
    for statistic in statistics.iter().take(STATISTICS_MAX) {
        count += u32::from(statistic.write(out));
    }
    out[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
    end(start, out);
}

/// Appends a Route Mirroring, of TLVs of [`crate::MirroringType`] (RFC 7854 §4.7).
pub fn write_route_mirroring(peer: &PeerHeader, tlvs: &[Information<'_>], out: &mut Vec<u8>) {
    let start = begin(MessageType::RouteMirroring, out);
    peer.write(out);
    put_all(tlvs, out);
    end(start, out);
}
