//! The messages of memif 2.0 on its control socket: 128 octets each, some with a descriptor
//! beside them. Numbers have the machine's order of octets.

use driver::unix_socket;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Octets of a message.
pub(super) const MESSAGE: usize = 128;
/// Major 2, minor 0.
pub(super) const VERSION: u16 = 0x0200;
/// Octets of a secret.
pub const SECRET: usize = 24;
/// Octets of a name.
const NAME: usize = 32;
/// Octets of the reason of a disconnection.
const REASON: usize = 96;
/// What this program calls itself.
const OWN_NAME: &str = "tandem";
const S2M: u16 = 1;

/// What master and slave say to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Ack,
    Hello(Hello),
    Init { version: u16, id: u32, mode: u8, secret: [u8; SECRET] },
    AddRegion { index: u16, octets: u64 },
    AddRing(AddRing),
    Connect,
    Connected,
    Disconnect { reason: String },
}

/// What the master takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub versions: (u16, u16),
    pub region_max: u16,
    pub to_slave_max: u16,
    pub to_master_max: u16,
    pub log2_size_max: u8,
}

/// Where a ring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddRing {
    /// Whether its packets go from the slave to the master.
    pub is_to_master: bool,
    pub index: u16,
    pub region: u16,
    pub offset: u32,
    pub log2_size: u8,
    pub private_octets: u16,
}

impl Message {
    const fn kind(&self) -> u16 {
        match self {
            Self::Ack => 1,
            Self::Hello(_) => 2,
            Self::Init { .. } => 3,
            Self::AddRegion { .. } => 4,
            Self::AddRing(_) => 5,
            Self::Connect => 6,
            Self::Connected => 7,
            Self::Disconnect { .. } => 8,
        }
    }

    pub fn write(&self) -> [u8; MESSAGE] {
        let mut out = Vec::with_capacity(MESSAGE);
        out.extend_from_slice(&self.kind().to_ne_bytes());
        match self {
            Self::Ack => {}
            Self::Hello(hello) => {
                text(&mut out, OWN_NAME, NAME);
                let Hello { versions, region_max, to_slave_max, to_master_max, .. } = hello;
                for word in [versions.0, versions.1, *region_max, *to_slave_max, *to_master_max] {
                    out.extend_from_slice(&word.to_ne_bytes());
                }
                out.push(hello.log2_size_max);
            }
            Self::Init { version, id, mode, secret } => {
                out.extend_from_slice(&version.to_ne_bytes());
                out.extend_from_slice(&id.to_ne_bytes());
                out.push(*mode);
                out.extend_from_slice(secret);
                text(&mut out, OWN_NAME, NAME);
            }
            Self::AddRegion { index, octets } => {
                out.extend_from_slice(&index.to_ne_bytes());
                out.extend_from_slice(&octets.to_ne_bytes());
            }
            Self::AddRing(ring) => {
                let flags = if ring.is_to_master { S2M } else { 0 };
                for word in [flags, ring.index, ring.region] {
                    out.extend_from_slice(&word.to_ne_bytes());
                }
                out.extend_from_slice(&ring.offset.to_ne_bytes());
                out.push(ring.log2_size);
                out.extend_from_slice(&ring.private_octets.to_ne_bytes());
            }
            Self::Connect | Self::Connected => text(&mut out, OWN_NAME, NAME),
            Self::Disconnect { reason } => {
                out.extend_from_slice(&[0; 4]);
                text(&mut out, reason, REASON);
            }
        }
        out.resize(MESSAGE, 0);
        std::array::from_fn(|at| out[at])
    }

    /// Reads one; `None` for what is none.
    pub fn read(bytes: &[u8; MESSAGE]) -> Option<Self> {
        let body = &bytes[2..];
        let half = |at: usize| u16::from_ne_bytes([body[at], body[at + 1]]);
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|n| body[at + n]));
        Some(match u16::from_ne_bytes([bytes[0], bytes[1]]) {
            1 => Self::Ack,
            2 => Self::Hello(Hello {
                versions: (half(NAME), half(NAME + 2)),
                region_max: half(NAME + 4),
                to_slave_max: half(NAME + 6),
                to_master_max: half(NAME + 8),
                log2_size_max: body[NAME + 10],
            }),
            3 => Self::Init {
                version: half(0),
                id: word(2),
                mode: body[6],
                secret: std::array::from_fn(|at| body[7 + at]),
            },
            4 => Self::AddRegion {
                index: half(0),
                octets: u64::from_ne_bytes(std::array::from_fn(|n| body[2 + n])),
            },
            5 => Self::AddRing(AddRing {
                is_to_master: half(0) & S2M != 0,
                index: half(2),
                region: half(4),
                offset: word(6),
                log2_size: body[10],
                private_octets: half(11),
            }),
            6 => Self::Connect,
            7 => Self::Connected,
            8 => {
                let text = body[4..4 + REASON].split(|octet| *octet == 0).next()?;
                Self::Disconnect { reason: String::from_utf8_lossy(text).into_owned() }
            }
            _ => return None,
        })
    }
}

/// A text and zeros behind it, at least one.
fn text(out: &mut Vec<u8>, text: &str, octets: usize) {
    let end = out.len() + octets;
    out.extend(text.bytes().take(octets - 1));
    out.resize(end, 0);
}

/// Sends a message, with a descriptor beside it.
pub(super) fn send(to: &impl AsRawFd, message: &Message, beside: Option<RawFd>) -> io::Result<()> {
    unix_socket::send_raw(to, &message.write(), beside.as_slice()).map(drop)
}

/// Receives a message and the descriptor beside it. `None`: nothing there yet.
///
/// # Errors
/// The kernel's; the other end is gone (`UnexpectedEof`); what came is no message
/// (`InvalidData`).
pub(super) fn receive(from: &impl AsRawFd) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    let (mut bytes, mut beside) = ([0u8; MESSAGE], Vec::new());
    let got = match unix_socket::receive_beside(from, &mut bytes, &mut beside) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
        got => got?,
    };
    let is_one = got == MESSAGE && beside.len() <= 1;
    let message = if is_one { Message::read(&bytes) } else { None };
    let message = message.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some((message, beside.pop())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    fn all() -> Vec<Message> {
        let hello = Hello {
            versions: (1, VERSION),
            region_max: 3,
            to_slave_max: 4,
            to_master_max: 5,
            log2_size_max: 14,
        };
        let ring = AddRing {
            is_to_master: true,
            index: 7,
            region: 1,
            offset: 0x1234_5678,
            log2_size: 10,
            private_octets: 0,
        };
        vec![
            Message::Ack,
            Message::Hello(hello),
            Message::Init {
                version: VERSION,
                id: 9,
                mode: 0,
                secret: *b"a secret of 24 octets...",
            },
            Message::AddRegion { index: 2, octets: 1 << 40 },
            Message::AddRing(ring),
            Message::AddRing(AddRing { is_to_master: false, ..ring }),
            Message::Connect,
            Message::Connected,
            Message::Disconnect { reason: "closed".to_owned() },
        ]
    }

    #[test]
    fn each_message_is_read_as_it_was_written() {
        for message in all() {
            assert_eq!(Message::read(&message.write()), Some(message));
        }
        assert_eq!(Message::read(&[0; MESSAGE]), None);
        assert_eq!(Message::read(&[0xff; MESSAGE]), None);
    }

    #[test]
    fn fields_stand_where_the_peers_have_them() {
        let bytes = all()[4].write();
        assert_eq!(bytes[..6], [5, 0, 1, 0, 7, 0]);
        assert_eq!(bytes[6..16], [1, 0, 0x78, 0x56, 0x34, 0x12, 10, 0, 0, 0]);
        let bytes = all()[1].write();
        assert_eq!((&bytes[2..8], bytes[44]), (&b"tandem"[..], 14));
    }

    #[test]
    fn whatever_is_read_can_be_written_and_read_again() {
        let mut state = 1u64;
        for round in 0..20_000u16 {
            let mut bytes = [0u8; MESSAGE];
            for octet in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Mostly text, so that reasons stay what they are.
                *octet = (state >> 58) as u8 + 32;
            }
            bytes[..2].copy_from_slice(&(round % 12).to_ne_bytes());
            let Some(message) = Message::read(&bytes) else { continue };
            let again = Message::read(&message.write());
            match message {
                // The last octet of a reason is a zero.
                Message::Disconnect { reason } => {
                    let reason = reason[..REASON - 1].to_owned();
                    assert_eq!(again, Some(Message::Disconnect { reason }));
                }
                other => assert_eq!(again, Some(other)),
            }
        }
    }

    #[test]
    fn a_descriptor_goes_beside_a_message() {
        let (left, right) = UnixDatagram::pair().unwrap();
        assert!(receive(&right).unwrap().is_none());
        let (reader, writer) = std::io::pipe().unwrap();
        send(&left, &all()[3], Some(writer.as_raw_fd())).unwrap();
        drop(writer);
        let (message, beside) = receive(&right).unwrap().unwrap();
        assert_eq!(message, all()[3]);
        use std::io::{Read, Write};
        std::fs::File::from(beside.unwrap()).write_all(b"through").unwrap();
        let mut got = String::new();
        let mut reader = reader;
        reader.read_to_string(&mut got).unwrap();
        assert_eq!(got, "through");
        left.send(&[1, 0]).unwrap();
        assert_eq!(receive(&right).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn descriptors_that_nobody_asked_for_do_not_stay() {
        let (left, right) = UnixDatagram::pair().unwrap();
        for octets in [MESSAGE, 2, 0] {
            for count in 2..=5_u32 {
                let (reader, writer) = std::io::pipe().unwrap();
                send_many(&left, octets, &vec![writer.as_raw_fd(); count as usize]);
                drop(writer);
                assert!(receive(&right).is_err(), "{octets} octets, {count} descriptors");
                // All writers are closed: the end is there at once.
                let mut got = [0; 1];
                assert_eq!(std::io::Read::read(&mut &reader, &mut got).unwrap(), 0);
            }
        }
    }

    fn send_many(to: &UnixDatagram, octets: usize, all: &[RawFd]) {
        let mut bytes = Message::Connect.write();
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: octets };
        let mut room = [0u64; 16];
        // SAFETY: `room` has space for so few descriptors; all lives over the call.
        unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
            header.msg_control = room.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(size_of_val(all) as u32) as usize;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(size_of_val(all) as u32) as usize;
            let data = libc::CMSG_DATA(first).cast::<RawFd>();
            all.iter().enumerate().for_each(|(at, fd)| data.add(at).write_unaligned(*fd));
            assert_eq!(libc::sendmsg(to.as_raw_fd(), &raw const header, 0), octets as isize);
        }
    }
}
