//! The kernel's own SCTP, where it has it: a one-to-many socket (RFC 6458 §3) whose options and
//! notifications are octets, as linux/sctp.h lays them out.

use crate::call::{check, octets_of, short};
use crate::control::{CONTROL_BYTES, Control};
use crate::socket::{self, SocketOptions};
use machine::narrow::{at_most, place};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// Associations that wait to be taken.
const BACKLOG: libc::c_int = 1_024;
/// Adds an address to a socket (`SCTP_SOCKOPT_BINDX_ADD`).
pub const BINDX_ADD: i32 = 100;
/// Takes one away (`SCTP_SOCKOPT_BINDX_REM`).
pub const BINDX_REM: i32 = 101;
/// `SCTP_SOCKOPT_CONNECTX3`.
const CONNECTX3: i32 = 111;
/// `SCTP_SNDINFO` and `SCTP_RCVINFO`, types of control messages.
const SEND_INFO: i32 = 2;
const RECEIVE_INFO: i32 = 3;
/// `MSG_NOTIFICATION`.
const NOTIFICATION: i32 = 0x8000;
/// Octets of `struct sockaddr_storage`.
pub const STORAGE_BYTES: usize = 128;

/// A one-to-many socket of the kernel, non-blocking.
#[derive(Debug, Clone)]
pub struct SctpSocket {
    fd: Arc<OwnedFd>,
}

/// What one call received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Octets.
    pub length: usize,
    /// A notification of the kernel's, no message.
    pub is_notification: bool,
    /// The message ends with it.
    pub is_end: bool,
    /// Stream, flags, payload protocol identifier (in the order of the network), association.
    pub info: (u16, u16, u32, i32),
}

/// What a message is sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct SendInfo {
    /// Stream.
    pub stream: u16,
    /// `SCTP_UNORDERED` (1), `SCTP_ABORT` (4), `SCTP_SACK_IMMEDIATELY` (8), `SCTP_EOF` (512).
    pub flags: u16,
    /// Payload protocol identifier, in the order of the network.
    pub ppid: u32,
    /// Comes back with a failure.
    pub context: u32,
    /// Association.
    pub association: i32,
}

/// What `SCTP_SOCKOPT_CONNECTX3` reads.
#[repr(C)]
struct Addresses {
    association: i32,
    bytes: libc::c_int,
    addresses: *const u8,
}

/// Whether the kernel has SCTP.
#[must_use]
pub fn is_there() -> bool {
    open(true).is_ok()
}

fn open(is_v4: bool) -> io::Result<OwnedFd> {
    let domain = if is_v4 { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; a descriptor that it returns is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, libc::IPPROTO_SCTP))?)) }
}

impl SctpSocket {
    /// A socket on all these addresses, which have one port; it listens when told to.
    ///
    /// # Errors
    /// The kernel's: it has no SCTP (`EPROTONOSUPPORT`, `ESOCKTNOSUPPORT`), address not ours or in
    /// use.
    pub fn bind(
        addresses: &[SocketAddr],
        listens: bool,
        options: &SocketOptions,
    ) -> io::Result<Self> {
        let (first, others) = addresses.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let fd = open(addresses.iter().all(SocketAddr::is_ipv4))?;
        socket::apply(&fd, options)?;
        let made = Self { fd: Arc::new(fd) };
        made.set(BINDX_ADD, &sockaddr(first))?;
        for address in others {
            made.set(BINDX_ADD, &sockaddr(address))?;
        }
        if listens {
            // SAFETY: a plain system call on a descriptor of ours.
            check(unsafe { libc::listen(made.fd.as_raw_fd(), BACKLOG) })?;
        }
        Ok(made)
    }

    /// The descriptor, to be watched.
    #[must_use]
    pub fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    /// Sets an option of the protocol.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set(&self, option: i32, value: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads as many octets as the slice has.
        check(unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::IPPROTO_SCTP,
                option,
                value.as_ptr().cast(),
                place(value.len()),
            )
        })
        .map(drop)
    }

    /// Reads an option; what it asks about stands in `value`. Returns the octets of the answer.
    ///
    /// # Errors
    /// The kernel's.
    pub fn get(&self, option: i32, value: &mut [u8]) -> io::Result<usize> {
        let mut length = place(value.len());
        // SAFETY: the kernel reads and writes at most as many octets as the slice has.
        check(unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::IPPROTO_SCTP,
                option,
                value.as_mut_ptr().cast(),
                &raw mut length,
            )
        })?;
        Ok((length as usize).min(value.len()))
    }

    /// Begins an association with a peer at these addresses; returns its number.
    ///
    /// # Errors
    /// The kernel's: there is one already, no route.
    pub fn connect(&self, addresses: &[SocketAddr]) -> io::Result<i32> {
        let packed: Vec<u8> = addresses.iter().flat_map(sockaddr).collect();
        let bytes = at_most(packed.len() as u64, libc::c_int::MAX);
        let mut asked = Addresses { association: 0, bytes, addresses: packed.as_ptr() };
        let mut length = octets_of::<Addresses>();
        // SAFETY: the kernel reads the structure and `bytes` octets at its pointer, which live
        // over the call, and writes the association's number to the structure's beginning.
        let result = check(unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::IPPROTO_SCTP,
                CONNECTX3,
                (&raw mut asked).cast(),
                &raw mut length,
            )
        });
        match result {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(asked.association),
        }
    }

    /// Sends a message, or ends an association by its flags.
    ///
    /// # Errors
    /// The kernel's: `WouldBlock` when its buffer is full.
    pub fn send(&self, info: &SendInfo, bytes: &[u8]) -> io::Result<()> {
        let mut control = Control([0; CONTROL_BYTES]);
        let mut part =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let octets = octets_of::<SendInfo>();
        // SAFETY: `CMSG_SPACE(16)` is below CONTROL_BYTES, the buffer is aligned for the header
        // that is written to its beginning; all that the header of the message points to outlives
        // the call, which only reads it.
        check(unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = usize::from(!bytes.is_empty());
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(octets) as usize;
            let message = control.0.as_mut_ptr().cast::<libc::cmsghdr>();
            (*message).cmsg_len = libc::CMSG_LEN(octets) as usize;
            (*message).cmsg_level = libc::IPPROTO_SCTP;
            (*message).cmsg_type = SEND_INFO;
            libc::CMSG_DATA(message).cast::<SendInfo>().write_unaligned(*info);
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            let sent = libc::sendmsg(self.fd.as_raw_fd(), &raw const header, flags);
            libc::c_int::try_from(sent).unwrap_or(-1)
        })
        .map(drop)
    }

    /// Receives a message, a part of one, or a notification; `None`: there is nothing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<Received>> {
        let mut control = Control([0; CONTROL_BYTES]);
        let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        // SAFETY: every pointer of the header outlives the call, with its true length; afterwards
        // its control messages are those that the kernel wrote.
        let (length, flags, info) = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES;
            let length = libc::recvmsg(self.fd.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT);
            if length < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                    _ => Err(error),
                };
            }
            (length as usize, header.msg_flags, receive_info(&header))
        };
        Ok(Some(Received {
            length,
            is_notification: flags & NOTIFICATION != 0,
            is_end: flags & libc::MSG_EOR != 0,
            info,
        }))
    }
}

/// Stream, flags, payload protocol identifier and association of a `struct sctp_rcvinfo`.
///
/// # Safety
/// `header` was filled by a successful `recvmsg`, and its control buffer still lives.
unsafe fn receive_info(header: &libc::msghdr) -> (u16, u16, u32, i32) {
    // SAFETY: by the contract above the kernel wrote well-formed control messages; the structure
    // has 28 octets (RFC 6458 §5.3.5).
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while !at.is_null() {
            if ((*at).cmsg_level, (*at).cmsg_type) == (libc::IPPROTO_SCTP, RECEIVE_INFO) {
                let data = libc::CMSG_DATA(at);
                return (
                    data.cast::<u16>().read_unaligned(),
                    data.add(4).cast::<u16>().read_unaligned(),
                    data.add(8).cast::<u32>().read_unaligned(),
                    data.add(24).cast::<i32>().read_unaligned(),
                );
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    (0, 0, 0, 0)
}

/// An address as the kernel's structures have it: 16 octets, or 28 for IPv6.
#[must_use]
pub fn sockaddr(address: &SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut bytes = short(family).to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes.extend(ip.octets());
            bytes.resize(size_of::<libc::sockaddr_in>(), 0);
        }
        IpAddr::V6(ip) => {
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.resize(size_of::<libc::sockaddr_in6>(), 0);
        }
    }
    bytes
}

/// Reads such an address, and says how many octets it has; `None` for another family.
#[must_use]
pub fn read_sockaddr(bytes: &[u8]) -> Option<(SocketAddr, usize)> {
    let family = i32::from(u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]));
    let port = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]);
    match family {
        libc::AF_INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            let ip = Ipv4Addr::from(octets);
            Some((SocketAddr::new(ip.into(), port), size_of::<libc::sockaddr_in>()))
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let ip = Ipv6Addr::from(octets);
            Some((SocketAddr::new(ip.into(), port), size_of::<libc::sockaddr_in6>()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_come_back_as_they_went() {
        for (text, length) in [("192.0.2.7:5000", 16), ("[2001:db8::7]:5001", 28)] {
            let address: SocketAddr = text.parse().unwrap();
            let bytes = sockaddr(&address);
            assert_eq!(bytes.len(), length);
            assert_eq!(read_sockaddr(&bytes), Some((address, length)));
            assert_eq!(read_sockaddr(&bytes[..7]), None);
        }
        assert_eq!(read_sockaddr(&[1, 0, 0, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_kernel_without_sctp_says_so_at_once() {
        let address = "127.0.0.1:5000".parse().unwrap();
        let bound = SctpSocket::bind(&[address], true, &SocketOptions::default());
        match is_there() {
            true => assert!(bound.is_ok()),
            false => {
                let errno = bound.unwrap_err().raw_os_error();
                let none = [libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT];
                assert!(errno.is_some_and(|errno| none.contains(&errno)), "{errno:?}");
            }
        }
    }
}
