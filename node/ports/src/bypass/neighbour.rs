//! What the kernel knows of the next hop: route and neighbour of a destination (rtnetlink(7)).

use driver::call::{check, octets_of, short};
use driver::link::{attribute, octets};
use machine::narrow::place;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// How long an answer is believed while nothing is heard of a change …
const LIFE_NS: u64 = 1_000_000_000;
/// … and how long one that there is no neighbour: packets that go the kernel's way make it look
/// for him.
const ABSENCE_NS: u64 = 10_000_000;
/// How often it is looked whether something has changed.
const LISTEN_NS: u64 = 10_000_000;
/// Destinations that are known, phones among them; more are forgotten all at once.
const DESTINATIONS_MAX: usize = 65_536;
/// Changes that are read at once; who has missed some forgets everything all the same.
const CHANGES_MAX: usize = 64;
const ANSWER_BYTES: usize = 2_048;
/// Answers that are read for one request: those before its own are of others that failed.
const ANSWERS_MAX: usize = 4;
/// Octets of `struct nlmsghdr`.
const HEAD_BYTES: usize = 16;
/// Octets of `struct rtmsg` and of `struct ndmsg`.
const BODY_BYTES: usize = 12;
/// Where `struct rtmsg` has its type, `struct ndmsg` its state.
const ROUTE_TYPE_AT: usize = 7;
const STATE_AT: usize = 8;
/// Links, neighbours, addresses, routes and rules of both families.
const GROUPS: u32 = 1 << (libc::RTNLGRP_LINK - 1)
    | 1 << (libc::RTNLGRP_NEIGH - 1)
    | 1 << (libc::RTNLGRP_IPV4_IFADDR - 1)
    | 1 << (libc::RTNLGRP_IPV4_ROUTE - 1)
    | 1 << (libc::RTNLGRP_IPV4_RULE - 1)
    | 1 << (libc::RTNLGRP_IPV6_IFADDR - 1)
    | 1 << (libc::RTNLGRP_IPV6_ROUTE - 1)
    | 1 << (libc::RTNLGRP_IPV6_RULE - 1);
/// States in which the kernel itself sends without asking. A stale neighbour is none: the kernel
/// confirms him when it is given a packet for him.
const USABLE: u16 = libc::NUD_REACHABLE | libc::NUD_DELAY | libc::NUD_PROBE | libc::NUD_PERMANENT;

/// The Ethernet addresses of next hops on one interface.
#[derive(Debug)]
pub(super) struct Neighbours {
    asks: OwnedFd,
    changes: OwnedFd,
    interface: u32,
    source: IpAddr,
    /// Until when it is known.
    known: BTreeMap<IpAddr, (Option<[u8; 6]>, u64)>,
    last: Option<(IpAddr, [u8; 6], u64)>,
    listened: u64,
    requests: u32,
}

impl Neighbours {
    /// Of packets from `source` that leave by that interface.
    pub fn open(interface: u32, source: IpAddr) -> io::Result<Self> {
        Ok(Self {
            asks: netlink(0)?,
            changes: netlink(GROUPS)?,
            interface,
            source,
            known: BTreeMap::new(),
            last: None,
            listened: 0,
            requests: 0,
        })
    }

    /// Where a frame for `destination` goes; `None`: the kernel shall find out.
    #[inline]
    pub fn mac(&mut self, now_ns: u64, destination: IpAddr) -> Option<[u8; 6]> {
        if now_ns.saturating_sub(self.listened) >= LISTEN_NS {
            self.listen(now_ns);
        }
        if let Some((known, mac, until)) = self.last
            && known == destination
            && now_ns < until
        {
            return Some(mac);
        }
        let (mac, until) = self.look(now_ns, destination);
        self.last = mac.map(|mac| (destination, mac, until));
        mac
    }

    fn look(&mut self, now_ns: u64, destination: IpAddr) -> (Option<[u8; 6]>, u64) {
        match self.known.get(&destination) {
            Some(&(mac, until)) if now_ns < until => return (mac, until),
            _ => {}
        }
        // What cannot be asked is the kernel's to know.
        let mac = self.ask(destination).unwrap_or(None);
        let until = now_ns + if mac.is_some() { LIFE_NS } else { ABSENCE_NS };
        if self.known.len() >= DESTINATIONS_MAX {
            self.known.clear();
        }
        self.known.insert(destination, (mac, until));
        (mac, until)
    }

    /// Forgets everything when something has changed.
    fn listen(&mut self, now_ns: u64) {
        self.listened = now_ns;
        let mut has_changed = false;
        for _ in 0..CHANGES_MAX {
            match receive(&self.changes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                _ => has_changed = true,
            }
        }
        if has_changed {
            self.known.clear();
            self.last = None;
        }
    }

    fn ask(&mut self, destination: IpAddr) -> io::Result<Option<[u8; 6]>> {
        let family = if destination.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let [_, family] = short(family).to_be_bytes();
        let bits = if destination.is_ipv4() { 32 } else { 128 };
        let mut route = vec![family, bits, bits, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        attribute(&mut route, libc::RTA_DST, &octets(destination));
        attribute(&mut route, libc::RTA_SRC, &octets(self.source));
        let answer = self.request(libc::RTM_GETROUTE, &route)?;
        let Some(next) = next_hop(&answer, self.interface, destination) else { return Ok(None) };
        let mut neighbour = vec![family, 0, 0, 0];
        neighbour.extend_from_slice(&self.interface.to_ne_bytes());
        neighbour.extend_from_slice(&[0; 4]);
        attribute(&mut neighbour, libc::NDA_DST, &octets(next));
        let answer = self.request(libc::RTM_GETNEIGH, &neighbour)?;
        Ok(usable(&answer))
    }

    /// Sends one request and reads its answer, which the kernel has written when sending returns.
    fn request(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
        self.requests = self.requests.wrapping_add(1);
        let mut message = place(body.len() + HEAD_BYTES).to_ne_bytes().to_vec();
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&short(libc::NLM_F_REQUEST).to_ne_bytes());
        message.extend_from_slice(&self.requests.to_ne_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(body);
        let raw = self.asks.as_raw_fd();
        // SAFETY: the kernel reads the message, with its true length, during the call.
        let sent = unsafe { libc::send(raw, message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        for _ in 0..ANSWERS_MAX {
            let answer = receive(&self.asks)?;
            if answer.get(8..12) == Some(&self.requests.to_ne_bytes()) {
                return Ok(answer);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn netlink(groups: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain system calls; the descriptor is ours alone, and the kernel reads an address
    // that lives over the call, for which all-zero is a value.
    unsafe {
        let fd = check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
        let fd = OwnedFd::from_raw_fd(fd);
        let mut name: libc::sockaddr_nl = std::mem::zeroed();
        name.nl_family = short(libc::AF_NETLINK);
        name.nl_groups = groups;
        let length = octets_of::<libc::sockaddr_nl>();
        check(libc::bind(fd.as_raw_fd(), (&raw const name).cast(), length))?;
        Ok(fd)
    }
}

fn receive(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut answer = vec![0u8; ANSWER_BYTES];
    // SAFETY: the kernel writes at most as many octets as there are.
    let got = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), ANSWER_BYTES, 0) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    answer.truncate(got);
    Ok(answer)
}

/// The body of a message of that type, and what stands behind it.
fn parts(answer: &[u8], kind: u16) -> Option<(&[u8], Attributes<'_>)> {
    let octets = u32::from_ne_bytes(*answer.first_chunk()?) as usize;
    let message = answer.get(..octets)?;
    let found = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    let body = message.get(HEAD_BYTES..HEAD_BYTES + BODY_BYTES)?;
    (found == kind).then_some((body, Attributes(&message[HEAD_BYTES + BODY_BYTES..])))
}

/// The attributes of a message: type and value.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let octets = usize::from(u16::from_ne_bytes(*self.0.first_chunk()?));
        let kind = u16::from_ne_bytes(*self.0.get(2..)?.first_chunk()?);
        let value = self.0.get(4..octets)?;
        self.0 = self.0.get(octets.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

/// The next hop of a route, when it leads to hosts by that interface and packets travel it as they
/// are.
fn next_hop(answer: &[u8], interface: u32, destination: IpAddr) -> Option<IpAddr> {
    let (route, attributes) = parts(answer, libc::RTM_NEWROUTE)?;
    let (mut by, mut next) = (None, destination);
    for (kind, value) in attributes {
        match kind {
            libc::RTA_OIF => by = value.first_chunk().map(|word| u32::from_ne_bytes(*word)),
            libc::RTA_GATEWAY => next = address(value)?,
            libc::RTA_VIA | libc::RTA_ENCAP => return None,
            _ => {}
        }
    }
    (route[ROUTE_TYPE_AT] == libc::RTN_UNICAST && by == Some(interface)).then_some(next)
}

/// The Ethernet address of a neighbour that can be had at once.
fn usable(answer: &[u8]) -> Option<[u8; 6]> {
    let (neighbour, mut attributes) = parts(answer, libc::RTM_NEWNEIGH)?;
    let state = u16::from_ne_bytes([neighbour[STATE_AT], neighbour[STATE_AT + 1]]);
    let (_, mac) = attributes.find(|(kind, _)| *kind == libc::NDA_LLADDR)?;
    mac.try_into().ok().filter(|_| state & USABLE != 0)
}

fn address(value: &[u8]) -> Option<IpAddr> {
    let four = || <[u8; 4]>::try_from(value).ok().map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(value).ok().map(IpAddr::from);
    four().or_else(sixteen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));
    const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn message(kind: u16, body: [u8; BODY_BYTES], attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut rest = body.to_vec();
        attributes.iter().for_each(|(kind, value)| attribute(&mut rest, *kind, value));
        let mut message = ((rest.len() + HEAD_BYTES) as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&[0; 10]);
        message.extend_from_slice(&rest);
        message
    }

    fn route(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [0; BODY_BYTES];
        body[ROUTE_TYPE_AT] = kind;
        message(libc::RTM_NEWROUTE, body, attributes)
    }

    #[test]
    fn a_route_is_ours_when_it_leads_to_hosts_by_the_interface_and_changes_nothing() {
        let three = 3u32.to_ne_bytes();
        let by: (u16, &[u8]) = (libc::RTA_OIF, &three);
        let unicast = libc::RTN_UNICAST;
        assert_eq!(next_hop(&route(unicast, &[by]), 3, FAR), Some(FAR));
        let gateway = (libc::RTA_GATEWAY, &[10, 0, 0, 9][..]);
        assert_eq!(next_hop(&route(unicast, &[by, gateway]), 3, FAR), Some(NEXT));
        assert_eq!(next_hop(&route(unicast, &[by]), 4, FAR), None, "by another interface");
        assert_eq!(next_hop(&route(libc::RTN_LOCAL, &[by]), 3, FAR), None, "to ourselves");
        for other in [libc::RTA_VIA, libc::RTA_ENCAP] {
            assert_eq!(next_hop(&route(unicast, &[by, (other, &[0; 8])]), 3, FAR), None);
        }
        let whole = route(unicast, &[by, gateway]);
        for length in 0..whole.len() {
            assert_eq!(next_hop(&whole[..length], 3, FAR), None, "{length} octets of it");
        }
        assert_eq!(next_hop(&message(2, [0; BODY_BYTES], &[by]), 3, FAR), None, "an error");
    }

    #[test]
    fn a_neighbour_counts_while_the_kernel_would_send_to_him_without_asking() {
        let mac: (u16, &[u8]) = (libc::NDA_LLADDR, &[2, 0, 0, 0, 0, 9]);
        let neighbour = |state: u16, attributes: &[(u16, &[u8])]| {
            let mut body = [0; BODY_BYTES];
            body[STATE_AT..STATE_AT + 2].copy_from_slice(&state.to_ne_bytes());
            usable(&message(libc::RTM_NEWNEIGH, body, attributes))
        };
        for state in [libc::NUD_REACHABLE, libc::NUD_DELAY, libc::NUD_PROBE, libc::NUD_PERMANENT] {
            assert_eq!(neighbour(state, &[mac]), Some([2, 0, 0, 0, 0, 9]));
        }
        for state in [libc::NUD_STALE, libc::NUD_FAILED, libc::NUD_INCOMPLETE, libc::NUD_NOARP] {
            assert_eq!(neighbour(state, &[mac]), None, "state {state:#x}");
        }
        assert_eq!(neighbour(libc::NUD_REACHABLE, &[]), None, "without an address");
        assert_eq!(neighbour(libc::NUD_REACHABLE, &[(libc::NDA_LLADDR, &[0; 4])]), None);
    }

    #[test]
    fn nobody_is_found_behind_loopback() {
        let loopback = driver::link::interface("lo").unwrap();
        let mut neighbours = Neighbours::open(loopback, [127, 0, 0, 1].into()).unwrap();
        assert_eq!(neighbours.mac(0, [127, 0, 0, 2].into()), None);
        assert_eq!(neighbours.known.len(), 1);
        assert_eq!(neighbours.mac(ABSENCE_NS / 2, [127, 0, 0, 2].into()), None);
    }
}
