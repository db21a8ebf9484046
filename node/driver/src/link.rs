//! Addresses of interfaces (rtnetlink) and their announcement to the neighbours: a gratuitous ARP
//! (RFC 5227 §3) or an unsolicited neighbour advertisement (RFC 4861 §7.2.6) by AF_PACKET.

use crate::call::{check, octets_of, short};
use machine::narrow::{index, place};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Room for the kernel's answer to a request.
const ANSWER_BYTES: usize = 512;
const ETHERNET_ALL: [u8; 6] = [0xff; 6];
/// `ff02::1` on Ethernet (RFC 2464 §7).
const ETHERNET_ALL_NODES: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];

/// Number of the interface called `name`.
///
/// # Errors
/// When there is none.
pub fn interface(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads a string that lives over the call and ends in zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Whether the interface called `name` is there, was not taken down, and has a carrier.
///
/// # Errors
/// The kernel's, other than that there is no such interface.
pub fn is_up(name: &str) -> io::Result<bool> {
    // SAFETY: a plain system call; a descriptor that it returns is ours alone.
    let fd = unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, kind, 0))?)
    };
    if name.len() >= libc::IFNAMSIZ {
        return Ok(false);
    }
    // SAFETY: all-zero is a value of the request; the kernel reads its name, which ends in zero,
    // and writes its flags, which are read as such only when it has.
    let flags = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = octet.cast_signed();
        }
        match check(libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request)) {
            Ok(_) => i32::from(request.ifr_ifru.ifru_flags),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(false),
            Err(error) => return Err(error),
        }
    };
    Ok(flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0)
}

/// Gives an interface an address for `valid_s` seconds, or renews it. Afterwards the kernel takes
/// it away by itself, so that the address of a process that was killed does not stay.
///
/// # Errors
/// The kernel's: not permitted, no such interface.
pub fn add_address(interface: u32, ip: IpAddr, prefix: u8, valid_s: u32) -> io::Result<()> {
    let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    address(libc::RTM_NEWADDR, flags, interface, ip, prefix, valid_s)
}

/// Takes an address away from an interface. One that is not there is no error.
///
/// # Errors
/// The kernel's: not permitted, no such interface.
pub fn remove_address(interface: u32, ip: IpAddr, prefix: u8) -> io::Result<()> {
    match address(libc::RTM_DELADDR, 0, interface, ip, prefix, 0) {
        Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(()),
        other => other,
    }
}

/// An address as the kernel takes it.
#[must_use]
pub fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// Appends an attribute of a message to the kernel (rtnetlink(7)).
pub fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend_from_slice(&index(value.len() + 4).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn address(
    kind: u16,
    flags: i32,
    interface: u32,
    ip: IpAddr,
    prefix: u8,
    valid_s: u32,
) -> io::Result<()> {
    let family = if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let [_, family] = short(family).to_be_bytes();
    let mut body = vec![family, prefix, 0, 0];
    body.extend_from_slice(&interface.to_ne_bytes());
    attribute(&mut body, libc::IFA_LOCAL, &octets(ip));
    attribute(&mut body, libc::IFA_ADDRESS, &octets(ip));
    if kind == libc::RTM_NEWADDR {
        // struct ifa_cacheinfo: preferred, valid, created, updated.
        let times = [valid_s, valid_s, 0, 0].map(u32::to_ne_bytes).concat();
        attribute(&mut body, libc::IFA_CACHEINFO, &times);
        attribute(&mut body, libc::IFA_FLAGS, &libc::IFA_F_NODAD.to_ne_bytes());
    }
    let flags = short(flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK);
    let mut message = place(body.len() + 16).to_ne_bytes().to_vec();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&body);
    ask_kernel(&message)
}

/// Sends one request to the kernel and reads its answer.
fn ask_kernel(message: &[u8]) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: plain system calls; the descriptor is ours alone, and the kernel reads and writes
    // within the lengths that it is told.
    let answer = unsafe {
        let fd = check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
        let fd = OwnedFd::from_raw_fd(fd);
        if libc::send(fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut answer = [0u8; ANSWER_BYTES];
        let got = libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), ANSWER_BYTES, 0);
        if got < 20 {
            return Err(io::Error::last_os_error());
        }
        answer
    };
    // An acknowledgement is an error message whose number, after the header, is zero.
    let errno = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-errno)) }
}

/// Tells neighbours which addresses are here. It is kept: the kernel waits for a grace period
/// whenever such a socket is closed, which is ten milliseconds and more.
#[derive(Debug)]
pub struct Announcer(OwnedFd);

impl Announcer {
    /// A socket that receives nothing.
    ///
    /// # Errors
    /// The kernel's: not permitted.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        unsafe { Ok(Self(OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?))) }
    }

    /// Tells everybody on an interface's link that `ip` is here now.
    ///
    /// # Errors
    /// The kernel's: no such interface, the interface is down.
    pub fn announce(&self, name: &str, ip: IpAddr) -> io::Result<()> {
        let index = interface(name)?;
        let own = hardware_address(&self.0, name)?;
        let frame = match ip {
            IpAddr::V4(ip) => arp(own, ip.octets()),
            IpAddr::V6(ip) => advertisement(own, ip.octets()),
        };
        // SAFETY: address and frame live over the call with their true lengths, and all-zero is a
        // value of the address.
        let sent = unsafe {
            let mut to: libc::sockaddr_ll = std::mem::zeroed();
            to.sll_family = short(libc::AF_PACKET);
            to.sll_ifindex = index as i32;
            let length = octets_of::<libc::sockaddr_ll>();
            let (fd, bytes) = (self.0.as_raw_fd(), frame.as_ptr().cast());
            libc::sendto(fd, bytes, frame.len(), 0, (&raw const to).cast(), length)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The Ethernet address of an interface, as the network namespace of that socket has it: `/sys` may
/// show another one's.
fn hardware_address(socket: &OwnedFd, name: &str) -> io::Result<[u8; 6]> {
    // SAFETY: a structure of integers, for which all-zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = octet as libc::c_char;
    }
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads and writes a structure that lives over the call and ends its name in
    // zero.
    check(unsafe { libc::ioctl(fd, libc::SIOCGIFHWADDR as _, &raw mut request) })?;
    // SAFETY: the kernel has written this field of the union.
    let data = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|at| data[at] as u8))
}

/// An ARP announcement: a request in which sender and target are the address (RFC 5227 §3).
fn arp(own: [u8; 6], ip: [u8; 4]) -> Vec<u8> {
    let mut frame = [ETHERNET_ALL, own].concat();
    frame.extend_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend_from_slice(&own);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&[0; 6]);
    frame.extend_from_slice(&ip);
    frame
}

/// An unsolicited neighbour advertisement with the override flag.
fn advertisement(own: [u8; 6], ip: [u8; 16]) -> Vec<u8> {
    let all_nodes = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let mut body = vec![136, 0, 0, 0, 0x20, 0, 0, 0];
    body.extend_from_slice(&ip);
    body.extend_from_slice(&[2, 1]); // target link-layer address
    body.extend_from_slice(&own);
    let [high, low] = index(body.len()).to_be_bytes();
    let pseudo = [&ip[..], &all_nodes, &[0, 0, high, low, 0, 0, 0, 58], &body].concat();
    let sum = checksum(&pseudo).to_be_bytes();
    body[2..4].copy_from_slice(&sum);
    let mut frame = [ETHERNET_ALL_NODES, own].concat();
    frame.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, high, low, 58, 255]);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&all_nodes);
    frame.extend_from_slice(&body);
    frame
}

/// The Internet checksum (RFC 1071) of an even number of octets.
#[must_use]
pub fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !((sum & 0xffff) as u16)
}

/// Makes the calling thread run before others (`SCHED_RR`), where that is allowed.
///
/// # Errors
/// The kernel's: not permitted.
pub fn urgent() -> io::Result<()> {
    let how = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads a structure that lives over the call.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const how) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_up_and_an_interface_that_is_not_there_is_not() {
        assert!(is_up("lo").unwrap());
        assert!(!is_up("none-such0").unwrap());
        assert!(!is_up("a name that is longer than any").unwrap());
    }

    #[test]
    fn an_announcement_names_the_address_twice() {
        let frame = arp([2, 0, 0, 0, 0, 1], [10, 0, 0, 9]);
        assert_eq!(frame.len(), 42);
        assert_eq!((&frame[28..32], &frame[38..42]), (&[10, 0, 0, 9][..], &[10, 0, 0, 9][..]));
    }

    #[test]
    fn an_advertisement_has_a_sum_that_checks() {
        let frame = advertisement([2, 0, 0, 0, 0, 1], [0xfd; 16]);
        let (ip, body) = (&frame[14..54], &frame[54..]);
        let pseudo = [&ip[8..40], &[0, 0, 0, body.len() as u8, 0, 0, 0, 58], body].concat();
        assert_eq!(checksum(&pseudo), 0);
        assert_eq!(body.len(), 32);
    }

    #[test]
    fn an_interface_is_found_by_its_name() {
        assert!(interface("lo").is_ok_and(|index| index > 0));
        assert!(interface("no such one").is_err());
    }
}
