//! Where checks and handshakes of ends are done, and the packet channel by which their packets come
//! and go.
//!
//! ```text
//!   forwarder ── channel ──→ Keying ─┬─ Here: Ends           of one shard
//!             ←── Came ──────────────┴─ There: Siblings ⇄ Further ─ Ends    of several
//! ```

use crate::shards::{Siblings, Work};
use anchor::{End, Guard, Local};
use dataplane::{PacketChannel, PacketChannelEvent};
use handshake::{Came, Change, Class, Ends, Known, Received};
use machine::Time;
use machine::bucket::Bucket;
use media::program::{CLASS_DTLS, CLASS_STUN, Place};
use packet::datagram::Datagram;
use rand_chacha::ChaCha12Rng;
use runtime::{Effects, PacketRecord, PacketTo};
use srtp::dtls::{Fingerprint, Hash};

/// Records of a ring for each class: checks come often, handshakes seldom.
const SHARES: [(&str, u16); 2] = [(CLASS_STUN, 96), (CLASS_DTLS, 64)];

/// The classes of the packet channel, with their shares of its rings.
pub(crate) fn classes() -> Vec<(String, u16)> {
    SHARES.map(|(name, share)| (name.to_owned(), share)).into()
}

/// Who has agents and handshakes.
enum Doer {
    /// The only shard.
    Here(Box<Ends>),
    /// The further ones.
    There(Siblings),
}

/// Checks and handshakes of all ends.
pub(crate) struct Keying {
    channel: PacketChannel,
    fingerprint: Option<Fingerprint>,
    /// Packets that came up by the packet channel.
    pub ups: Bucket,
    doer: Doer,
}

impl Keying {
    /// None; without a certificate there is no DTLS. With further shards they have them.
    pub fn new(
        now: Time,
        channel: PacketChannel,
        certificate: Option<dtls::Certificate>,
        random: ChaCha12Rng,
        shards: u16,
    ) -> Self {
        let fingerprint = certificate.as_ref().map(|it| Fingerprint::of(Hash::Sha256, it.der()));
        let doer = match shards {
            ..=1 => Doer::Here(Box::new(Ends::new(now, certificate, random))),
            _ => Doer::There(Siblings::new(now, shards)),
        };
        Self { channel, fingerprint, ups: Bucket::default(), doer }
    }

    /// The fingerprint of the certificate that DTLS shows.
    pub const fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// Agents and handshakes of this shard.
    pub fn len(&self) -> (usize, usize) {
        match &self.doer {
            Doer::Here(ends) => ends.len(),
            Doer::There(_) => (0, 0),
        }
    }

    /// Takes what happened at the packet channel; a packet, if one came.
    pub fn step<'a>(
        &mut self,
        now: Time,
        port: runtime::PortId,
        event: runtime::ChannelEvent<'a>,
    ) -> Option<(PacketRecord, Datagram<'a>)> {
        match self.channel.step(now, port, event) {
            Some(PacketChannelEvent::Packet(record, packet)) => {
                Some((record, Datagram::read(packet)?))
            }
            _ => None,
        }
    }

    /// When [`Keying::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        let doer = match &self.doer {
            Doer::Here(ends) => ends.deadline(),
            Doer::There(siblings) => siblings.deadline(),
        };
        [doer, self.channel.deadline()].into_iter().flatten().min()
    }

    /// Whether it matters to checks and handshakes how an end stands.
    pub fn concerns(&self, end: &End) -> bool {
        matches!(end.guard, Guard::Dtls { .. })
            || match &self.doer {
                Doer::Here(ends) => ends.has(end.local),
                Doer::There(siblings) => siblings.has(end.local),
            }
    }

    /// An end stands, or is another one.
    pub fn stands(
        &mut self,
        now: Time,
        end: &End,
        place: Option<Place>,
        known: Known,
        out: &mut Effects,
    ) -> Came {
        let came = match &mut self.doer {
            Doer::Here(ends) => ends.stands(now, end, place, known),
            Doer::There(siblings) => siblings.stands(now, end, place, known, out),
        };
        self.leaves(came, out)
    }

    /// A packet came to the port of an end.
    pub fn packet(&mut self, now: Time, received: &Received<'_>, out: &mut Effects) -> Came {
        let came = match &mut self.doer {
            Doer::Here(ends) => ends.packet(now, received),
            Doer::There(siblings) => siblings.packet(received, out),
        };
        self.leaves(came, out)
    }

    /// Lets time pass. The ports of ends are returned of which further shards have to be told again
    /// how they stand.
    pub fn tick(&mut self, now: Time, out: &mut Effects) -> (Came, Vec<Local>) {
        self.channel.tick(now, out);
        let (came, owed) = match &mut self.doer {
            Doer::Here(ends) => (ends.tick(now), Vec::new()),
            Doer::There(siblings) => (Came::default(), siblings.tick(now, out)),
        };
        (self.leaves(came, out), owed)
    }

    /// A further shard says what came of an end.
    pub fn worked(&mut self, now: Time, from: u16, work: &[u8], out: &mut Effects) -> Vec<Change> {
        let Doer::There(siblings) = &mut self.doer else { return Vec::new() };
        let mut came = Came::default();
        match Work::read(work) {
            Ok(Work::Born) => siblings.born(now, from),
            Ok(Work::Send(sent)) => came.sends.push(sent),
            Ok(Work::Agreed(change)) => came.changes.push(change),
            // Nothing else is said to the first one.
            Ok(_) | Err(_) => {}
        }
        self.leaves(came, out).changes
    }

    /// A further shard did not take this; whether a packet is lost.
    pub fn handed_back(&mut self, now: Time, to: u16, work: &[u8]) -> bool {
        match &mut self.doer {
            Doer::Here(_) => false,
            Doer::There(siblings) => siblings.handed_back(now, to, work),
        }
    }

    /// Sends what leaves; the rest is returned.
    fn leaves(&mut self, mut came: Came, out: &mut Effects) -> Came {
        for it in std::mem::take(&mut came.sends) {
            let datagram = Datagram { from: it.from, to: it.to, payload: &it.payload };
            self.channel.send(out, PacketTo::Vrf(it.vrf), |octets| datagram.write(octets));
        }
        came
    }

    /// Another node has the ends.
    pub fn forget_all(&mut self, out: &mut Effects) {
        match &mut self.doer {
            Doer::Here(ends) => ends.forget_all(),
            Doer::There(siblings) => siblings.forget_all(out),
        }
    }

    /// A port has no end any more.
    pub fn forget(&mut self, local: Local, out: &mut Effects) {
        match &mut self.doer {
            Doer::Here(ends) => ends.forget(local),
            Doer::There(siblings) => siblings.forget(local, out),
        }
    }

    /// A port that a further shard was to be told of has no end.
    pub fn is_gone(&mut self, local: Local, out: &mut Effects) {
        match &mut self.doer {
            Doer::Here(ends) => ends.forget(local),
            Doer::There(siblings) => siblings.is_gone(local, out),
        }
    }
}

/// The class of a packet, as the packet channel numbers them.
pub(crate) const fn class_of(record: &PacketRecord) -> Class {
    if record.class == 0 { Class::Stun } else { Class::Dtls }
}
