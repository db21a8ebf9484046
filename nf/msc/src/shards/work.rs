//! What shards hand to each other, as octets: a kind, then tagged fields. Both ends are of the same
//! process: what cannot be read is discarded.

use anchor::row::{read_end, write_end};
use anchor::{End, Local};
use core::net::{IpAddr, SocketAddr};
use handshake::{Change, Class, Known, Received, Sent, What};
use media::program::{Keys, Place};
use packet::datagram::Datagram;
use wire::field::value::{address, each, flag, number, put, put_address, put_socket, socket};
use wire::field::{bytes, nested};
use wire::{Cursor, Malformed};

const SPEC: &str = "work of a media controller's shards";

const ANEW: u8 = 1;
const STANDS: u8 = 2;
const PACKET: u8 = 3;
const FORGET: u8 = 4;
const FORGET_ALL: u8 = 5;
const BORN: u8 = 6;
const SEND: u8 = 7;
const AGREED: u8 = 8;

mod tag {
    pub const END: u8 = 1;
    /// A routing table, an address of it and a port.
    pub const VRF: u8 = 2;
    pub const ADDRESS: u8 = 3;
    pub const PORT: u8 = 4;
    pub const NOMINATED: u8 = 5;
    pub const HAS_KEYS: u8 = 6;
    /// 1: a record of DTLS.
    pub const CLASS: u8 = 7;
    pub const IS_RTCP: u8 = 8;
    pub const FROM: u8 = 9;
    pub const TO: u8 = 10;
    pub const PAYLOAD: u8 = 11;
    pub const RECEIVE: u8 = 12;
    pub const SEND: u8 = 13;
    /// That of an address, as leases have it.
    pub const NUMBER: u8 = 14;
}

/// How an end stands.
#[derive(Debug, PartialEq)]
pub(crate) struct Stands {
    pub end: End,
    /// The address and port that it is reached at here.
    pub place: Option<Place>,
    pub known: Known,
}

/// A packet that came to the port of an end.
#[derive(Debug, PartialEq)]
pub(crate) struct Packet {
    /// How the end stands; its place is the one that the packet came to.
    pub of: Stands,
    pub class: Class,
    pub is_rtcp: bool,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub payload: Vec<u8>,
}

/// A piece of work.
#[derive(Debug, PartialEq)]
pub(crate) enum Work {
    /// The first shard has begun: nothing of before counts.
    Anew,
    /// An end stands, or is another one.
    Stands(Box<Stands>),
    /// A packet came to the port of an end.
    Packet(Box<Packet>),
    /// A port has no end any more.
    Forget(Local),
    /// Another node has the ends.
    ForgetAll,
    /// A further shard has begun: it knows of no end.
    Born,
    /// A datagram leaves.
    Send(Sent),
    /// Something is agreed of an end.
    Agreed(Change),
}

impl Packet {
    /// What came, to be handed over.
    pub(crate) fn of(it: &Received<'_>) -> Self {
        let Datagram { from, to, payload } = *it.datagram;
        let of = Stands { end: it.end.clone(), place: Some(it.place), known: it.known };
        let (class, is_rtcp) = (it.class, it.is_rtcp);
        Self { of, class, is_rtcp, from, to, payload: payload.to_vec() }
    }
}

impl Work {
    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Anew => out.push(ANEW),
            Self::ForgetAll => out.push(FORGET_ALL),
            Self::Born => out.push(BORN),
            Self::Stands(it) => {
                out.push(STANDS);
                it.write(out);
            }
            Self::Packet(it) => {
                out.push(PACKET);
                it.of.write(out);
                put(out, tag::CLASS, u64::from(it.class == Class::Dtls));
                put(out, tag::IS_RTCP, it.is_rtcp.into());
                put_socket(out, tag::FROM, it.from);
                put_socket(out, tag::TO, it.to);
                bytes(out, tag::PAYLOAD, &it.payload);
            }
            Self::Forget(local) => {
                out.push(FORGET);
                put(out, tag::NUMBER, local.address.into());
                put(out, tag::PORT, local.port.into());
            }
            Self::Send(it) => {
                out.push(SEND);
                put(out, tag::VRF, it.vrf.into());
                put_socket(out, tag::FROM, it.from);
                put_socket(out, tag::TO, it.to);
                bytes(out, tag::PAYLOAD, &it.payload);
            }
            Self::Agreed(it) => {
                out.push(AGREED);
                nested(out, tag::END, |out| write_end(&it.end, out));
                match &it.what {
                    What::Nominated(place) => put_socket(out, tag::NOMINATED, *place),
                    What::Keys(keys) => {
                        let [receive, send] = &**keys;
                        nested(out, tag::RECEIVE, |out| receive.write(out));
                        nested(out, tag::SEND, |out| send.write(out));
                    }
                }
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is cut off, and what is no work.
    pub(crate) fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        let kind = cursor.octet("work is cut off")?;
        let mut draft = Draft::default();
        each(cursor.rest(), |tag, value| draft.take(tag, value))?;
        let made = match kind {
            ANEW => Some(Self::Anew),
            FORGET_ALL => Some(Self::ForgetAll),
            BORN => Some(Self::Born),
            STANDS => draft.stands().map(|it| Self::Stands(Box::new(it))),
            PACKET => draft.packet().map(|it| Self::Packet(Box::new(it))),
            FORGET => draft
                .number
                .zip(draft.port)
                .map(|(address, port)| Self::Forget(Local { address, port })),
            SEND => draft.sent().map(Self::Send),
            AGREED => draft.change().map(Self::Agreed),
            _ => None,
        };
        made.ok_or(cursor.violation("it is no work"))
    }
}

impl Stands {
    fn write(&self, out: &mut Vec<u8>) {
        nested(out, tag::END, |out| write_end(&self.end, out));
        if let Some(Place { vrf, address, port }) = self.place {
            put(out, tag::VRF, vrf.into());
            put_address(out, tag::ADDRESS, address);
            put(out, tag::PORT, port.into());
        }
        if let Some(place) = self.known.nominated {
            put_socket(out, tag::NOMINATED, place);
        }
        put(out, tag::HAS_KEYS, self.known.has_keys.into());
    }
}

/// A piece of work as its fields come.
#[derive(Default)]
struct Draft {
    end: Option<End>,
    vrf: Option<u32>,
    address: Option<IpAddr>,
    /// The number of an address.
    number: Option<u16>,
    port: Option<u16>,
    known: Known,
    is_dtls: bool,
    is_rtcp: bool,
    from: Option<SocketAddr>,
    to: Option<SocketAddr>,
    payload: Vec<u8>,
    receive: Option<Keys>,
    send: Option<Keys>,
}

impl Draft {
    fn take(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            tag::END => self.end = Some(read_end(value)?),
            tag::VRF => self.vrf = Some(number(value)?),
            tag::NUMBER => self.number = Some(number(value)?),
            tag::ADDRESS => self.address = Some(address(value)?),
            tag::PORT => self.port = Some(number(value)?),
            tag::NOMINATED => self.known.nominated = Some(socket(value)?),
            tag::HAS_KEYS => self.known.has_keys = flag(value)?,
            tag::CLASS => self.is_dtls = flag(value)?,
            tag::IS_RTCP => self.is_rtcp = flag(value)?,
            tag::FROM => self.from = Some(socket(value)?),
            tag::TO => self.to = Some(socket(value)?),
            tag::PAYLOAD => self.payload = value.to_vec(),
            tag::RECEIVE => self.receive = Some(Keys::read(value)?),
            tag::SEND => self.send = Some(Keys::read(value)?),
            _ => {}
        }
        Ok(())
    }

    fn stands(self) -> Option<Stands> {
        let place = self.vrf.zip(self.address).zip(self.port);
        let place = place.map(|((vrf, address), port)| Place { vrf, address, port });
        Some(Stands { end: self.end?, place, known: self.known })
    }

    fn packet(mut self) -> Option<Packet> {
        let class = if self.is_dtls { Class::Dtls } else { Class::Stun };
        let (is_rtcp, from, to) = (self.is_rtcp, self.from?, self.to?);
        let payload = std::mem::take(&mut self.payload);
        Some(Packet { of: self.stands()?, class, is_rtcp, from, to, payload })
    }

    fn sent(self) -> Option<Sent> {
        let (vrf, from, to) = (self.vrf?, self.from?, self.to?);
        Some(Sent { vrf, from, to, payload: self.payload })
    }

    fn change(self) -> Option<Change> {
        let keys = self.receive.zip(self.send);
        let keys = keys.map(|(receive, send)| What::Keys(Box::new([receive, send])));
        let what = keys.or(self.known.nominated.map(What::Nominated))?;
        Some(Change { end: Box::new(self.end?), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchor::{Checks, Dtmf, Guard, Rtcp};
    use sdp::Direction;
    use srtp::dtls::{Description, Fingerprint, Hash, Role, Setup};
    use srtp::{KeyEntry, MasterKey, Parameters, Suite};

    fn end() -> End {
        let peer = Description {
            fingerprints: vec![Fingerprint::of(Hash::Sha256, b"a certificate")],
            setup: Setup::ActPass,
            tls_id: Some((*b"abc").into()),
        };
        let checks = Checks {
            name: (*b"name").into(),
            password: (*b"a password of ours here").into(),
            remote_name: (*b"remote").into(),
            remote_password: (*b"a password of theirs now").into(),
        };
        End {
            local: Local { address: 3, port: 20_002 },
            remote: "198.51.100.9:4000".parse().ok(),
            rtcp: Rtcp::Mux,
            direction: Direction::SendRecv,
            latching: true,
            latching_anywhere: false,
            signaller: "198.51.100.9".parse().ok(),
            guard: Guard::Dtls { peer: Box::new(peer), role: Role::Server },
            checks: Some(Box::new(checks)),
            ssrcs: vec![7],
            police_bps: 0,
            dscp: None,
            packet_ms: 20,
            dtmf: Dtmf::default(),
            event: None,
            bundle: None,
            parameters: Box::default(),
        }
    }

    fn place(text: &str) -> SocketAddr {
        text.parse().expect("a place")
    }

    fn stands() -> Stands {
        let here = place("[2001:db8::1]:20002");
        Stands {
            end: end(),
            place: Some(Place { vrf: 2, address: here.ip(), port: here.port() }),
            known: Known { nominated: Some(place("198.51.100.9:4001")), has_keys: true },
        }
    }

    fn all() -> Vec<Work> {
        let suite = Suite::AesCm128HmacSha1_80;
        let key = |octet| {
            let octets = vec![octet; suite.key_octets() + suite.salt_octets()];
            let key = MasterKey::of(suite, &octets).expect("a key");
            Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
        };
        let (from, to) = (place("192.0.2.1:20002"), place("198.51.100.9:4000"));
        let payload = b"a datagram".to_vec();
        let packet = Packet {
            of: stands(),
            class: Class::Dtls,
            is_rtcp: true,
            from,
            to,
            payload: payload.clone(),
        };
        vec![
            Work::Anew,
            Work::Stands(Box::new(stands())),
            Work::Stands(Box::new(Stands { place: None, ..stands() })),
            Work::Packet(Box::new(packet)),
            Work::Forget(Local { address: 3, port: 20_002 }),
            Work::ForgetAll,
            Work::Born,
            Work::Send(Sent { vrf: 9, from, to, payload }),
            Work::Agreed(Change { end: Box::new(end()), what: What::Nominated(to) }),
            Work::Agreed(Change {
                end: Box::new(end()),
                what: What::Keys(Box::new([key(1), key(2)])),
            }),
        ]
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_not() {
        for work in all() {
            let mut octets = Vec::new();
            work.write(&mut octets);
            assert_eq!(Work::read(&octets).expect("it is work"), work);
            for length in 0..octets.len() {
                // Behind a whole field others may lack; what is there is still no other work.
                if let Ok(read) = Work::read(&octets[..length]) {
                    assert_eq!(core::mem::discriminant(&read), core::mem::discriminant(&work));
                }
            }
        }
        assert!(Work::read(&[99]).is_err() && Work::read(&[]).is_err());
    }
}
