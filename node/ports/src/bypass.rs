//! Packets of one IP protocol past the kernel's IP, by `AF_XDP`, beside the raw socket that has
//! everything else.
//!
//! ```text
//!   wire ─→ XDP program ─┬─ to our address, our protocol, whole, no options ─→ Bypass ─→ datagrams
//!                        └─ the rest (fragments, options, ICMP, others) ─→ kernel ─→ raw socket
//!
//!   Bypass::send ─┬─ the kernel has a neighbour for it on this interface ─→ wire
//!                 └─ false: no neighbour, another interface, too long ─→ raw socket ─→ kernel
//! ```
//! The kernel keeps routes and neighbours ([`neighbour`]); what it filters, shapes or encrypts
//! (nftables, tc, IPsec policies) it does not see of these packets.

mod header;
mod neighbour;

use crate::xdp::Umem;
use crate::{Device, Port, VECTOR, XdpPort};
use driver::{QUEUES_MAX, Redirect, interfaces};
use graph::{Pool, STRIDE, Slot};
use header::{Ends, HEAD_BYTES_MAX, Leaving, may_pass};
use machine::narrow::{index, slot};
use neighbour::Neighbours;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Entries of each ring.
const ENTRIES: u32 = 1_024;
/// MetricCells beside those that the fill rings take: what is being read, and what is being sent.
const SPARE: usize = 2 * VECTOR + crate::xdp::RESERVE;
/// The longest MTU whose packets fit the cells.
const MTU_MAX: usize = 1_600;
/// Counters of packets that routers may fragment; destinations share them by a hash.
const COUNTERS: usize = 256;
/// How often the kernel is asked for link and losses.
const ATTEND_NS: u64 = 50_000_000;

/// An address of this machine on one interface, past the kernel's IP. Needs `CAP_NET_ADMIN`,
/// `CAP_NET_RAW` and `CAP_BPF`.
pub struct Bypass {
    /// One for each queue of the interface that no other has; packets leave by the first.
    ports: Vec<Port>,
    pool: Pool,
    ends: Ends,
    neighbours: Neighbours,
    received: Vec<Slot>,
    outgoing: Vec<Slot>,
    numbers: Numbers,
    attended: u64,
    lost: Lost,
}

/// Packets that were dropped since it was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// On the way in.
    pub received: u64,
    /// On the way out.
    pub sent: u64,
}

impl std::fmt::Debug for Bypass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bypass").field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl Bypass {
    /// Takes over the packets of `protocol` that come to `address`.
    ///
    /// # Errors
    /// In words: no interface has the address, it is no Ethernet, its MTU is too large, a program
    /// of somebody else stands there, other sockets have all queues, not permitted.
    pub fn open(address: IpAddr, protocol: u8) -> io::Result<Self> {
        let found = interfaces()?.into_iter().find(|it| it.addresses.contains(&address));
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let Some(interface) = found else {
            return Err(refused(format!("no interface that is up has the address {address}")));
        };
        let name = interface.name;
        let device = Device::open(&name)?;
        if interface.is_loopback || device.mac()? == [0; 6] {
            return Err(refused(format!("{name} is no Ethernet interface")));
        }
        let mtu = device.mtu()?;
        if mtu > MTU_MAX {
            return Err(refused(format!("{name} has an MTU of {mtu}, more than {MTU_MAX}")));
        }
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let redirect = Redirect::attach_for(&name, address, protocol, None).map_err(told)?;
        let queues = device.queues().clamp(1, QUEUES_MAX);
        let pool = Pool::new(queues as usize * ENTRIES as usize + SPARE, STRIDE);
        let ports = open_free(&redirect, queues, &mut Umem::new(&pool, false)?).map_err(told)?;
        let mut bypass = Self {
            ports,
            pool,
            ends: Ends { mac: device.mac()?, address, protocol },
            neighbours: Neighbours::open(device.index(), address)?,
            received: Vec::with_capacity(VECTOR),
            outgoing: Vec::with_capacity(VECTOR),
            numbers: Numbers::new(),
            attended: 0,
            lost: Lost::default(),
        };
        // Only now the kernel is given cells to write into.
        bypass.ports.iter_mut().for_each(|port| port.attend(&mut bypass.pool));
        Ok(bypass)
    }

    /// What becomes readable when something came.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(Port::descriptor)
    }

    /// Receives what is there, at most one vector, in place of what was received before; says how
    /// many packets.
    pub fn receive(&mut self) -> usize {
        self.pool.free_all(&self.received);
        self.received.clear();
        for port in &mut self.ports {
            if self.received.len() < VECTOR {
                port.receive(&mut self.pool, &mut self.received);
            }
        }
        self.received.len()
    }

    /// The packets of the last [`Bypass::receive`]: who sent each, and what stands behind its IP
    /// header. Those that an IP host does not take (not to our Ethernet address, a wrong sum or
    /// length, a source that nobody can have) are left out.
    pub fn datagrams(&self) -> impl Iterator<Item = (IpAddr, &[u8])> {
        self.received.iter().filter_map(|slot| self.ends.read(self.pool.bytes(*slot)))
    }

    /// Puts a packet into the next [`Bypass::flush`]; false when it must go the kernel's way.
    pub fn send(&mut self, now_ns: u64, remote: IpAddr, bytes: &[u8]) -> bool {
        self.put(now_ns, remote, bytes, false)
    }

    /// The same with a packet that IP may fragment: routers do in IPv4. In IPv6 it passes if every
    /// path takes it whole.
    pub fn send_in_parts(&mut self, now_ns: u64, remote: IpAddr, bytes: &[u8]) -> bool {
        may_pass(remote, bytes.len()) && self.put(now_ns, remote, bytes, true)
    }

    fn put(&mut self, now_ns: u64, remote: IpAddr, bytes: &[u8], in_parts: bool) -> bool {
        let Some(mac) = self.neighbours.mac(now_ns, remote) else { return false };
        let in_parts = in_parts.then(|| self.numbers.next(remote));
        let leaving = Leaving { mac, remote, octets: bytes.len(), in_parts };
        let mut head = [0; HEAD_BYTES_MAX];
        let before = self.ends.write(&mut head, &leaving);
        let octets = before + bytes.len();
        if octets > self.ports[0].mtu() + header::LINK_BYTES {
            return false;
        }
        let Some(slot) = self.pool.take() else { return false };
        self.pool.meta_mut(slot).length = index(octets);
        let (first, rest) = self.pool.bytes_mut(slot).split_at_mut(before);
        first.copy_from_slice(&head[..before]);
        rest.copy_from_slice(bytes);
        self.outgoing.push(slot);
        if self.outgoing.len() == VECTOR {
            self.ports[0].send(&mut self.pool, &mut self.outgoing);
        }
        true
    }

    /// Sends what was put.
    pub fn flush(&mut self) {
        if !self.outgoing.is_empty() {
            self.ports[0].send(&mut self.pool, &mut self.outgoing);
        }
    }

    /// What is to be done now and then: link and losses. Says what was lost since the last time.
    pub fn attend(&mut self, now_ns: u64) -> Lost {
        if now_ns.saturating_sub(self.attended) < ATTEND_NS {
            return Lost::default();
        }
        self.attended = now_ns;
        let mut sum = Lost::default();
        for port in &mut self.ports {
            port.attend(&mut self.pool);
            let counters = port.counters();
            sum.received += counters.receive_drops.iter().sum::<u64>();
            sum.sent += counters.send_drops.iter().sum::<u64>();
        }
        self.ends.mac = self.ports[0].mac();
        let before = std::mem::replace(&mut self.lost, sum);
        Lost { received: sum.received - before.received, sent: sum.sent - before.sent }
    }
}

/// Numbers of packets that routers may fragment: of one destination none comes twice within 65,536
/// (RFC 6864 §5.3), and what one hears says nothing of most others.
struct Numbers {
    secret: RandomState,
    counters: Box<[u16; COUNTERS]>,
}

impl Numbers {
    fn new() -> Self {
        let secret = RandomState::new();
        let counters = std::array::from_fn(|at| index(slot(secret.hash_one(at), 1 << 16)));
        Self { secret, counters: Box::new(counters) }
    }

    fn next(&mut self, remote: IpAddr) -> u16 {
        let counter = &mut self.counters[slot(self.secret.hash_one(remote), COUNTERS)];
        *counter = counter.wrapping_add(1);
        *counter
    }
}

/// Opens the queues that no socket has yet. The kernel gives a queue to one pool alone: what comes
/// in by another's goes on to the kernel.
fn open_free(redirect: &Arc<Redirect>, queues: u32, umem: &mut Umem) -> io::Result<Vec<Port>> {
    let mut ports = Vec::new();
    for queue in 0..queues {
        match XdpPort::open(redirect, queue, ENTRIES, umem) {
            Ok(port) => ports.push(Port::Xdp(port)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) => return Err(error),
        }
    }
    if ports.is_empty() {
        let words = "other AF_XDP sockets have all queues";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, words));
    }
    Ok(ports)
}
