//! Notifications of the kernel's SCTP (RFC 6458 §6.1).

use driver::sctp::{STORAGE_BYTES, read_sockaddr};
use sctp::{AddressChange, Failure, Indication, Lost, PathState};

/// What a notification says, and of which association.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) association: i32,
    pub(crate) what: Indication,
}

/// Where the parts behind an address begin in `struct sctp_paddr_change`.
const BEHIND_ADDRESS: usize = 8 + STORAGE_BYTES;

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    word(bytes, at).map(|it| it as i32)
}

/// Reads a notification; `None` for what is of no interest.
pub(crate) fn read(bytes: &[u8]) -> Option<Event> {
    match half(bytes, 0)? {
        0x8001 => association(bytes),
        0x8002 => path(bytes),
        0x8004 => {
            let what = Indication::CommunicationError(u16::from_be(half(bytes, 8)?));
            Some(Event { association: number(bytes, 12)?, what })
        }
        0x800D => {
            let failure = if half(bytes, 2)? & 1 == 0 { Failure::Unsent } else { Failure::Lost };
            let what = Indication::SendFailure(u64::from(word(bytes, 20)?), failure);
            Some(Event { association: number(bytes, 28)?, what })
        }
        _ => None,
    }
}

/// `struct sctp_assoc_change`.
fn association(bytes: &[u8]) -> Option<Event> {
    let what = match half(bytes, 8)? {
        0 => Indication::CommunicationUp(half(bytes, 12)?, half(bytes, 14)?),
        // The cause code, as it stood in the ABORT; none after a time-out.
        1 => Indication::CommunicationLost(Lost::PeerAborted(u16::from_be(half(bytes, 10)?))),
        2 => Indication::Restart,
        3 => Indication::ShutdownComplete,
        4 => Indication::CommunicationLost(Lost::Unreachable),
        _ => return None,
    };
    Some(Event { association: number(bytes, 16)?, what })
}

/// `struct sctp_paddr_change`.
fn path(bytes: &[u8]) -> Option<Event> {
    let address = read_sockaddr(bytes.get(8..)?)?.0.ip();
    let state = |state| Indication::NetworkStatusChange(address, state);
    let changed = |change| Indication::PeerAddress(address, change);
    let what = match number(bytes, BEHIND_ADDRESS)? {
        0 | 5 => state(PathState::Active),
        1 => state(PathState::Inactive),
        2 => changed(AddressChange::Removed),
        3 => changed(AddressChange::Added),
        4 => changed(AddressChange::MadePrimary),
        6 => state(PathState::PotentiallyFailed),
        _ => return None,
    };
    Some(Event { association: number(bytes, BEHIND_ADDRESS + 8)?, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::storage;

    /// Type and flags, length, then the parts.
    fn notification(kind: u16, flags: u16, parts: &[&[u8]]) -> Vec<u8> {
        let mut bytes = [kind.to_ne_bytes(), flags.to_ne_bytes()].concat();
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(parts.concat());
        bytes
    }

    #[test]
    fn every_notification_is_what_the_machine_would_have_said() {
        let id = 7i32.to_ne_bytes();
        let change = |state: u16, error: u16| {
            let halves = [state, error.to_be(), 5, 6].map(u16::to_ne_bytes).concat();
            notification(0x8001, 0, &[&halves[..], &id])
        };
        let address = "192.0.2.9:5000".parse().expect("an address");
        let path = |state: u32| {
            let parts = [&storage(Some(address))[..], &state.to_ne_bytes(), &[0; 4], &id];
            notification(0x8002, 0, &parts)
        };
        let to = |state| Indication::NetworkStatusChange([192, 0, 2, 9].into(), state);
        let info = [&[0; 8][..], &77u32.to_ne_bytes(), &[0; 4]].concat();
        let cases = [
            (change(0, 0), Indication::CommunicationUp(5, 6)),
            (change(1, 12), Indication::CommunicationLost(Lost::PeerAborted(12))),
            (change(2, 0), Indication::Restart),
            (change(3, 0), Indication::ShutdownComplete),
            (change(4, 0), Indication::CommunicationLost(Lost::Unreachable)),
            (path(0), to(PathState::Active)),
            (path(1), to(PathState::Inactive)),
            (path(6), to(PathState::PotentiallyFailed)),
            (path(3), Indication::PeerAddress([192, 0, 2, 9].into(), AddressChange::Added)),
            (
                notification(0x8004, 0, &[&9u16.to_be_bytes()[..], &[0; 2], &id]),
                Indication::CommunicationError(9),
            ),
            (
                notification(0x800D, 1, &[&[0; 4][..], &info, &id]),
                Indication::SendFailure(77, Failure::Lost),
            ),
        ];
        for (bytes, what) in cases {
            assert_eq!(read(&bytes), Some(Event { association: 7, what }));
            for end in 0..bytes.len() {
                let _ = read(&bytes[..end]); // a short one is no reason to panic
            }
        }
        assert_eq!(read(&notification(0x8005, 0, &[&id[..]])), None);
    }
}
