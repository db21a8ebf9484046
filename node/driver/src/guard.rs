//! What TCP sockets demand of their far ends: a signature on every segment (TCP MD5, RFC 2385) and
//! a least TTL or hop limit (the Generalized TTL Security Mechanism, RFC 5082).

use crate::address::RawAddress;
use crate::call::{self, check, octets_of};
use crate::socket;
use machine::narrow::{index, place};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The longest key of TCP MD5 in octets (`TCP_MD5SIG_MAXKEYLEN`).
pub const MD5_KEY_BYTES_MAX: usize = 80;
/// `linux/tcp.h`; the C library's headers do not have them.
const TCP_AO_INFO: i32 = 40;
const TCP_MD5SIG_FLAG_PREFIX: u8 = 1;
/// Octets of the kernel's `struct sockaddr_storage`.
const STORAGE_BYTES: usize = 128;
/// The largest headers that a SYN can have: IPv4 60, IPv6 with extensions, TCP 60.
const SYN_BYTES_MAX: usize = 1_024;

/// Far ends: an address, and how many of its first bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The address; the bits behind those that count mean nothing.
    pub ip: IpAddr,
    /// 0 to 32 or 128.
    pub bits: u8,
}

impl Prefix {
    /// Whether an address lies within.
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.ip, ip) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(self.bits.min(32))
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(self.bits.min(128))
            }
            _ => false,
        }
    }
}

/// `struct tcp_md5sig`.
#[repr(C)]
struct Md5 {
    address: RawAddress,
    rest: [u8; STORAGE_BYTES - size_of::<RawAddress>()],
    flags: u8,
    bits: u8,
    key_octets: u16,
    device: libc::c_int,
    key: [u8; MD5_KEY_BYTES_MAX],
}

/// A TCP socket of a family that goes nowhere: what it refuses, a listening one refuses too.
///
/// # Errors
/// The kernel's (out of descriptors).
pub fn scratch(is_ipv4: bool) -> io::Result<OwnedFd> {
    let ip =
        if is_ipv4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    socket::open(&SocketAddr::new(ip, 0), libc::SOCK_STREAM, 0)
}

/// From now on every segment to and from these far ends is signed with `key`; without octets the
/// demand ends. A connection takes its key along when it is accepted.
///
/// # Errors
/// `ENOPROTOOPT` when the kernel has no TCP MD5, `ENOMEM` when the socket may keep no more keys,
/// `EINVAL` for keys and prefixes that are too long.
pub fn demand_md5(socket: &impl AsFd, whom: Prefix, key: &[u8]) -> io::Result<()> {
    if key.len() > MD5_KEY_BYTES_MAX {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut demand = Md5 {
        address: RawAddress::zeroed(),
        rest: [0; STORAGE_BYTES - size_of::<RawAddress>()],
        flags: TCP_MD5SIG_FLAG_PREFIX,
        bits: whom.bits,
        key_octets: index(key.len()),
        device: 0,
        key: [0; MD5_KEY_BYTES_MAX],
    };
    demand.address.set(&SocketAddr::new(whom.ip, 0));
    demand.key[..key.len()].copy_from_slice(key);
    // SAFETY: the kernel reads `size_of::<Md5>()` bytes of a struct that lives over the call and
    // whose layout is its own.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MD5SIG_EXT,
            (&raw const demand).cast(),
            octets_of::<Md5>(),
        )
    })
    .map(drop)
}

/// Segments that the kernel has dropped in the network namespace of this thread, for they were not
/// signed as was demanded (`TcpExtTCPMD5NotFound`, `…Unexpected`, `…Failure`).
///
/// # Errors
/// The kernel's, where it says nothing of it.
pub fn unproven_segments() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat")?;
    unproven_of(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The same of the text of that file: a line of names, and one of numbers.
fn unproven_of(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
    let wanted = names.zip(values).filter(|(name, _)| name.starts_with("TCPMD5"));
    let numbers: Vec<u64> = wanted.filter_map(|(_, value)| value.parse().ok()).collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum())
}

/// TTL or hop limit of what is sent; `None`: the system's.
///
/// # Errors
/// The kernel's.
pub fn set_ttl(socket: &impl AsFd, is_ipv4: bool, ttl: Option<u8>) -> io::Result<()> {
    let (level, name) = if is_ipv4 {
        (libc::IPPROTO_IP, libc::IP_TTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS)
    };
    call::set(socket.as_fd().as_raw_fd(), level, name, ttl.map_or(-1, i32::from))
}

/// Segments that arrive with a lesser TTL or hop limit are dropped.
///
/// # Errors
/// The kernel's.
pub fn set_ttl_min(socket: &impl AsFd, is_ipv4: bool, ttl: u8) -> io::Result<()> {
    let (level, name) = if is_ipv4 {
        (libc::IPPROTO_IP, libc::IP_MINTTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MINHOPCOUNT)
    };
    call::set(socket.as_fd().as_raw_fd(), level, name, ttl.into())
}

/// The connections that a listening socket accepts know the SYN that opened them ([`syn_ttl`]).
///
/// # Errors
/// The kernel's.
pub fn keep_syn(listener: &impl AsFd) -> io::Result<()> {
    call::set(listener.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, 1)
}

/// TTL or hop limit with which the SYN of an accepted connection arrived, if it was kept. It can
/// be asked for once.
///
/// # Errors
/// The kernel's.
pub fn syn_ttl(stream: &impl AsFd) -> io::Result<Option<u8>> {
    let mut syn = [0u8; SYN_BYTES_MAX];
    let octets = read(stream, libc::TCP_SAVED_SYN, &mut syn)?;
    Ok(match (&syn[..octets], syn[0] >> 4) {
        ([], _) => None,
        (syn, 4) => syn.get(8).copied(),
        (syn, _) => syn.get(7).copied(),
    })
}

/// Whether this kernel has TCP MD5 (RFC 2385).
///
/// # Errors
/// The kernel's (out of descriptors).
pub fn knows_md5() -> io::Result<bool> {
    let whom = Prefix { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), bits: 32 };
    known(demand_md5(&scratch(true)?, whom, b"key"))
}

/// Whether this kernel has the TCP Authentication Option (RFC 5925; Linux 6.7 with
/// `CONFIG_TCP_AO`).
///
/// # Errors
/// The kernel's (out of descriptors).
pub fn knows_authentication_option() -> io::Result<bool> {
    // A kernel that has it says that this socket has no keys.
    known(read(&scratch(true)?, TCP_AO_INFO, &mut [0; SYN_BYTES_MAX]).map(drop))
}

/// Only one error says that the kernel lacks an option.
fn known(outcome: io::Result<()>) -> io::Result<bool> {
    Ok(outcome.err().and_then(|error| error.raw_os_error()) != Some(libc::ENOPROTOOPT))
}

/// Reads an option of TCP; returns its octets.
fn read(socket: &impl AsFd, name: i32, into: &mut [u8; SYN_BYTES_MAX]) -> io::Result<usize> {
    let mut length = place(SYN_BYTES_MAX);
    // SAFETY: the kernel writes at most `length` bytes into the buffer, which has as many.
    check(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            into.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_counts_of_signatures_is_summed() {
        let text = "TcpExt: SyncookiesSent TCPMD5NotFound TCPMD5Unexpected TCPMD5Failure Other\n\
                    TcpExt: 9 3 0 4 77\nIpExt: InOctets\nIpExt: 5\n";
        assert_eq!(unproven_of(text), Some(7));
        assert_eq!(unproven_of("TcpExt: SyncookiesSent\nTcpExt: 9\n"), None);
        assert_eq!(unproven_of("IpExt: InOctets\nIpExt: 5\n"), None);
        assert!(unproven_segments().is_ok() || !knows_md5().expect("a socket"));
    }

    #[test]
    fn a_prefix_contains_its_family_only_and_counts_its_bits_only() {
        let prefix = |ip: &str, bits| Prefix { ip: ip.parse().unwrap(), bits };
        let within = |prefix: Prefix, ip: &str| prefix.contains(ip.parse().unwrap());
        assert!(within(prefix("192.0.2.99", 24), "192.0.2.1"));
        assert!(!within(prefix("192.0.2.99", 25), "192.0.2.200"));
        assert!(within(prefix("0.0.0.0", 0), "203.0.113.1"));
        assert!(!within(prefix("0.0.0.0", 0), "::1"));
        assert!(within(prefix("2001:db8::", 32), "2001:db8:ffff::1"));
        assert!(!within(prefix("2001:db8::1", 128), "2001:db8::2"));
    }

    #[test]
    fn demands_are_taken_by_sockets_of_their_family_and_end_when_they_are_told_to() {
        for (is_ipv4, ip) in [(true, "127.0.0.1"), (false, "::1")] {
            let socket = scratch(is_ipv4).unwrap();
            set_ttl(&socket, is_ipv4, Some(255)).unwrap();
            set_ttl(&socket, is_ipv4, None).unwrap();
            set_ttl_min(&socket, is_ipv4, 255).unwrap();
            keep_syn(&socket).unwrap();
            let whom = Prefix { ip: ip.parse().unwrap(), bits: 8 };
            let signed = demand_md5(&socket, whom, &[b'x'; MD5_KEY_BYTES_MAX]);
            assert_eq!(signed.is_ok(), knows_md5().unwrap());
            if signed.is_ok() {
                demand_md5(&socket, whom, b"").unwrap();
                let gone = demand_md5(&socket, whom, b"").unwrap_err();
                assert_eq!(gone.raw_os_error(), Some(libc::ENOENT));
            }
            assert!(demand_md5(&socket, whom, &[0; MD5_KEY_BYTES_MAX + 1]).is_err());
        }
    }

    #[test]
    fn an_option_that_no_kernel_has_is_told_apart_from_one_that_says_no() {
        let lacks = io::Error::from_raw_os_error(libc::ENOPROTOOPT);
        assert!(!known(Err(lacks)).unwrap());
        assert!(known(Err(io::Error::from_raw_os_error(libc::ENOENT))).unwrap());
        assert!(knows_authentication_option().is_ok());
    }
}
