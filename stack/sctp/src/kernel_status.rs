//! STATUS of an association of the kernel's (RFC 6458 §8.2.1, §8.2.2).

use crate::kernel::storage;
use core::net::SocketAddr;
use driver::sctp::{STORAGE_BYTES, SctpSocket, read_sockaddr};
use machine::Duration;
use sctp::{PATHS_MAX, PathState, PathStatus, State, Status};

const STATUS: i32 = 14;
const GET_PEER_ADDR_INFO: i32 = 15;
const GET_PEER_ADDRS: i32 = 108;
/// Octets of `struct sctp_paddrinfo`, and of `struct sctp_status`, which ends with one.
const PATH_BYTES: usize = 4 + STORAGE_BYTES + 20;
const STATUS_BYTES: usize = 24 + PATH_BYTES;
/// Octets of the list of addresses.
const LIST_BYTES: usize = 8 + PATHS_MAX * STORAGE_BYTES;

fn word(bytes: &[u8], at: usize) -> u32 {
    let octets = bytes.get(at..at + 4).and_then(|octets| octets.try_into().ok());
    octets.map_or(0, u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let octets = bytes.get(at..at + 2).and_then(|octets| octets.try_into().ok());
    octets.map_or(0, u16::from_ne_bytes)
}

/// Asks the kernel; `None` when the association is over. The kernel counts chunks, not octets:
/// `queued` and `unacknowledged` are chunks here.
pub(crate) fn read(socket: &SctpSocket, association: i32) -> Option<Status> {
    let mut status = [0; STATUS_BYTES];
    status[..4].copy_from_slice(&association.to_ne_bytes());
    socket.get(STATUS, &mut status).ok()?;
    let (primary, _) = read_sockaddr(&status[28..])?;
    let mut list = [0; LIST_BYTES];
    list[..4].copy_from_slice(&association.to_ne_bytes());
    let length = socket.get(GET_PEER_ADDRS, &mut list).ok()?;
    let mut paths = Vec::new();
    let mut at = 8;
    let count = usize::try_from(word(&list, 4)).unwrap_or(PATHS_MAX);
    for _ in 0..count.min(PATHS_MAX) {
        let Some((address, octets)) = list.get(at..length).and_then(read_sockaddr) else { break };
        at += octets;
        paths.extend(path(socket, association, address, primary));
    }
    Some(Status {
        state: state(word(&status, 4)),
        peer_port: primary.port(),
        paths,
        streams: (half(&status, 18), half(&status, 16)),
        peer_rwnd: word(&status, 8) as usize,
        queued: usize::from(half(&status, 14)),
        unacknowledged: usize::from(half(&status, 12)),
        held: 0,
        errors: 0,
        retransmitted: 0,
        is_interleaved: false,
        has_partial_reliability: false,
    })
}

fn path(
    socket: &SctpSocket,
    association: i32,
    address: SocketAddr,
    primary: SocketAddr,
) -> Option<PathStatus> {
    let asked = [&association.to_ne_bytes()[..], &storage(Some(address)), &[0; 20]].concat();
    let mut info: [u8; PATH_BYTES] = asked.try_into().ok()?;
    socket.get(GET_PEER_ADDR_INFO, &mut info).ok()?;
    let number = |index: usize| word(&info, 4 + STORAGE_BYTES + 4 * index);
    let time = |index| Duration::from_millis(u64::from(number(index)));
    Some(PathStatus {
        address: address.ip(),
        state: match number(0) {
            0 => PathState::Inactive,
            1 => PathState::PotentiallyFailed,
            2 => PathState::Active,
            _ => PathState::Unconfirmed,
        },
        is_primary: address == primary,
        srtt: Some(time(2)).filter(|srtt| !srtt.is_zero()),
        rto: time(3),
        cwnd: number(1) as usize,
        ssthresh: usize::MAX,
        flight: 0,
        errors: 0,
        pmtu: number(4) as usize,
    })
}

const fn state(number: u32) -> State {
    match number {
        2 => State::CookieWait,
        3 => State::CookieEchoed,
        4 => State::Established,
        5 => State::ShutdownPending,
        6 => State::ShutdownSent,
        7 => State::ShutdownReceived,
        8 => State::ShutdownAckSent,
        _ => State::Closed,
    }
}
