//! Control messages: what stands beside the bytes of a datagram.

use crate::call::octets_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Room for the control messages of one datagram: segment size, packet information of either
/// family, lost datagrams, time of arrival, an error with its offender.
pub(crate) const CONTROL_BYTES: usize = 160;

/// A control buffer, aligned as the kernel's header wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control(pub(crate) [u8; CONTROL_BYTES]);

/// What came beside a datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    /// Bytes of each segment when the kernel joined several (`UDP_GRO`).
    pub(crate) segment: Option<usize>,
    /// Our address that the datagram was sent to.
    pub(crate) local: Option<IpAddr>,
    /// Datagrams that this socket lost since it was made (`SO_RXQ_OVFL`).
    pub(crate) lost: Option<u32>,
    /// When the kernel took it, nanoseconds since the UNIX epoch (`SO_TIMESTAMPNS`).
    pub(crate) arrived_ns: Option<u64>,
    /// An error that came back (`IP_RECVERR`).
    pub(crate) error: Option<Error>,
    /// A VLAN tag that the kernel took out of a frame (`PACKET_AUXDATA`).
    pub(crate) tag: Option<[u8; 4]>,
}

/// An error that came back, of an ICMP message or of the kernel's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Error {
    pub(crate) errno: i32,
    /// Code of the ICMP message.
    pub(crate) code: u8,
    /// The MTU that would have done, for `EMSGSIZE`.
    pub(crate) info: u32,
}

/// Reads the control messages of a received header.
///
/// # Safety
/// `header` was filled by a successful `recvmsg` or `recvmmsg`, and its buffers still live.
pub(crate) unsafe fn read(header: &libc::msghdr) -> Beside {
    let mut beside = Beside::default();
    if header.msg_controllen == 0 {
        return beside;
    }
    // SAFETY: by the contract above the kernel wrote well-formed control messages, which the
    // CMSG functions walk within `msg_controllen`; data may be unaligned, hence `read_unaligned`.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while !at.is_null() {
            let data = libc::CMSG_DATA(at);
            match ((*at).cmsg_level, (*at).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let segment = data.cast::<libc::c_int>().read_unaligned();
                    beside.segment = usize::try_from(segment).ok().filter(|&n| n > 0);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    let ip = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
                    beside.local = Some(IpAddr::V4(ip));
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    beside.local = Some(IpAddr::V6(Ipv6Addr::from(info.ipi6_addr.s6_addr)));
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    beside.lost = Some(data.cast::<u32>().read_unaligned());
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp = data.cast::<libc::timespec>().read_unaligned();
                    beside.arrived_ns = nanoseconds(&stamp);
                }
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                    let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                    beside.error = i32::try_from(error.ee_errno).ok().map(|errno| Error {
                        errno,
                        code: error.ee_code,
                        info: error.ee_info,
                    });
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    beside.tag = tag(&data.cast::<libc::tpacket_auxdata>().read_unaligned());
                }
                _ => {}
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    beside
}

/// A time stamp in nanoseconds; zero is none.
fn nanoseconds(stamp: &libc::timespec) -> Option<u64> {
    let (seconds, nanos) = (u64::try_from(stamp.tv_sec).ok()?, u64::try_from(stamp.tv_nsec).ok()?);
    Some(seconds.saturating_mul(1_000_000_000) + nanos).filter(|&ns| ns > 0)
}

/// A VLAN tag as it stood in the frame (IEEE 802.1Q §9.5), if there was one.
fn tag(beside: &libc::tpacket_auxdata) -> Option<[u8; 4]> {
    let [first, second] = beside.tp_vlan_tpid.to_be_bytes();
    let [third, fourth] = beside.tp_vlan_tci.to_be_bytes();
    let valid = beside.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
    valid.then_some([first, second, third, fourth])
}

/// Writes the control messages for a datagram to send; returns their length in bytes.
pub(crate) fn write(control: &mut Control, segment: u16, source: Option<IpAddr>) -> usize {
    let mut at = 0;
    if segment > 0 {
        at = push(control, at, (libc::SOL_UDP, libc::UDP_SEGMENT), segment);
    }
    match source {
        None => at,
        Some(IpAddr::V4(ip)) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from(ip).to_be() },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            push(control, at, (libc::IPPROTO_IP, libc::IP_PKTINFO), info)
        }
        Some(IpAddr::V6(ip)) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: ip.octets() },
                ipi6_ifindex: 0,
            };
            push(control, at, (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO), info)
        }
    }
}

fn push<T: Copy>(control: &mut Control, at: usize, kind: (i32, i32), value: T) -> usize {
    let bytes = octets_of::<T>();
    // SAFETY: `CMSG_LEN` and `CMSG_SPACE` only calculate.
    let (length, space) = unsafe { (libc::CMSG_LEN(bytes), libc::CMSG_SPACE(bytes)) };
    let space = space as usize;
    let room = &mut control.0[at..at + space];
    // SAFETY: `room` holds `space` bytes, which covers header and value by the definition of
    // `CMSG_SPACE`; the buffer is aligned to 8 and every space is a multiple of 8.
    unsafe {
        let header = room.as_mut_ptr().cast::<libc::cmsghdr>();
        (*header).cmsg_len = length as usize;
        (*header).cmsg_level = kind.0;
        (*header).cmsg_type = kind.1;
        libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
    }
    at + space
}
