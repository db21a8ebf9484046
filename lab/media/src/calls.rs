//! Calls as a SIP proxy sets them up by NG, and the speech of their phones.
//!
//! ```text
//!   phone n: 198.18.… ── RTP or SRTP ──→ 10.199.1.1 ┐            ┌ 10.199.2.1 ── RTP ──→ 198.20.…
//!                                                   └ controller ┘
//! ```

use anyhow::Context;
use forwarder_bench::{IN_MAC, LEFT_MAC, NEXT_MAC, OUT_MAC, SUT_V4};
use packet_load::{
    Codec, Guard, Layer, PACKETS_PER_S, Part, Plan, Stream, Suppression, Values, Vary, Voice,
};
use peers::{Ng, Says};
use srtp::sdes::{Crypto, InlineKey, SessionParameters};
use srtp::{MasterKey, Suite};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The networks of the phones behind the core, whole.
pub(crate) const CORE_PHONES_V4: (u128, u8) = (0xc614_0000, 15);
pub(crate) const CORE_PHONES_V6: (u128, u8) = (0x2001_0002_0000_0001 << 64, 64);
/// Those of the access.
pub(crate) const ACCESS_PHONES_V6: (Ipv6Addr, u8) =
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 64);
/// The controller's address at the core.
pub(crate) const CORE_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 2, 1);
/// The controller's interfaces by the names that commands say.
pub(crate) const INTERFACES: [(&str, Ipv4Addr); 2] = [("access", SUT_V4), ("core", CORE_V4)];
/// Phones have an address each, and all the same port: of both sides by IPv4, and by IPv6.
const PHONES_V4: [u128; 2] = [0xc612_0001, 0xc614_0001];
const PHONES_V6: [u128; 2] = [0x2001_0002 << 96 | 1, 0x2001_0002_0000_0001 << 64 | 1];
pub(crate) const PORT: u16 = 4_000;
/// The first source of RTP of each side.
const ACCESS_SSRC: u32 = 0x1000_0000;
const CORE_SSRC: u32 = 0x2000_0000;
pub(crate) const SEED: u64 = 21;
/// Expedited forwarding (RFC 3246), as a traffic class.
const CLASS: u8 = 0xb8;

/// A side as its phones send.
struct Side {
    name: &'static str,
    number: usize,
    destination: [u8; 6],
    source: [u8; 6],
    /// Of the first phone.
    ssrc: u32,
}

const SIDES: [Side; 2] = [
    Side { name: "access", number: 0, destination: IN_MAC, source: LEFT_MAC, ssrc: ACCESS_SSRC },
    Side { name: "core", number: 1, destination: OUT_MAC, source: NEXT_MAC, ssrc: CORE_SSRC },
];

/// How media is protected at the access; the core has RTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Not at all.
    Plain,
    /// By SRTP with keys in SDP.
    Secure(Suite),
}

/// What calls.
#[derive(Debug, Clone, Copy)]
pub struct Phones {
    /// How many calls.
    pub calls: u32,
    /// What both ends speak.
    pub codec: Codec,
    /// Whether they are silent in pauses.
    pub suppression: Option<Suppression>,
    /// How the access is protected.
    pub access: Access,
    /// Whether both sides speak IPv6.
    pub is_v6: bool,
    /// What the core speaks instead, so that the controller has to transcode.
    pub becomes: Option<Becomes>,
}

/// What the core speaks where it is not what the access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// G.722, in both directions.
    G722,
    /// Opus, towards the core alone: it says nothing.
    Opus,
    /// AMR, towards the core alone.
    Amr,
}

impl Becomes {
    /// Its name in SDP (RFC 3551 §6, RFC 7587 §7, RFC 4867 §8.1).
    const fn name(self) -> &'static str {
        match self {
            Self::G722 => "G722",
            Self::Opus => "opus",
            Self::Amr => "AMR",
        }
    }
}

/// Calls that stand: what the controller said of each.
#[derive(Debug, Clone)]
pub struct Calls {
    pub(crate) phones: Phones,
    /// The phones' addresses, of both sides.
    pub(crate) sources: [Values; 2],
    /// How far their sources of RTP are from those of the first call.
    pub(crate) ssrc: u32,
    /// Its address of each call, at the access and at the core.
    pub(crate) addresses: [Values; 2],
    /// Its ports there.
    pub(crate) ports: [Arc<[u128]>; 2],
    /// The keys of phones and its own.
    pub(crate) guards: Option<[Guard; 2]>,
}

impl Phones {
    /// Packets a second of all calls at one every 20 ms each way.
    #[must_use]
    pub fn pps(&self) -> f64 {
        f64::from(self.calls)
            * 2.0
            * f64::from(PACKETS_PER_S)
            * self.suppression.as_ref().map_or(1.0, Suppression::activity)
    }

    /// Whether the core says nothing.
    #[must_use]
    pub const fn is_one_way(&self) -> bool {
        matches!(self.becomes, Some(Becomes::Opus | Becomes::Amr))
    }

    /// The address of a phone of a side.
    pub(crate) fn phone(&self, number: u32, side: usize) -> IpAddr {
        match self.is_v6 {
            true => Ipv6Addr::from_bits(PHONES_V6[side] + u128::from(number)).into(),
            false => {
                let first = u32::try_from(PHONES_V4[side]).unwrap_or(u32::MAX);
                Ipv4Addr::from_bits(first.saturating_add(number)).into()
            }
        }
    }

    /// The addresses of all phones, of both sides.
    pub(crate) fn sources(&self) -> [Values; 2] {
        let first = if self.is_v6 { PHONES_V6 } else { PHONES_V4 };
        first.map(|first| Values::count(first, self.calls.max(1)))
    }

    /// The description of a phone of one side.
    pub(crate) fn description(&self, number: u32, side: usize, key: Option<&MasterKey>) -> String {
        let address = self.phone(number, side);
        let family = if self.is_v6 { "IP6" } else { "IP4" };
        let kind = self.codec.payload_type();
        let (map, more) = match self.codec {
            Codec::G711 => ("PCMA", String::new()),
            Codec::G722 => ("G722", String::new()),
            Codec::G729 => ("G729", format!("a=fmtp:{kind} annexb=yes\r\n")),
        };
        let profile = if key.is_some() { "RTP/SAVP" } else { "RTP/AVP" };
        let crypto = key.map(crypto).unwrap_or_default();
        format!(
            "v=0\r\no=- {number} 1 IN {family} {address}\r\ns=-\r\nc=IN {family} {address}\r\n\
            t=0 0\r\n\
            m=audio {PORT} {profile} {kind}\r\na=rtpmap:{kind} {map}/8000\r\n{more}a=ptime:20\r\n\
            {crypto}"
        )
    }

    /// The answer of a core that speaks something else, under the number that it was offered with.
    fn transcoded(&self, number: u32, becomes: Becomes, offer: &str) -> anyhow::Result<String> {
        let address = self.phone(number, 1);
        let maps = offer.lines().filter_map(|line| line.strip_prefix("a=rtpmap:"));
        let mut maps = maps.filter_map(|map| map.split_once(' '));
        let is_it = |name: &str| name.split('/').next() == Some(becomes.name());
        let (kind, name) = maps.find(|(_, name)| is_it(name)).context("it was not offered")?;
        Ok(format!(
            "v=0\r\no=- {number} 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n\
            m=audio {PORT} RTP/AVP {kind}\r\na=rtpmap:{kind} {name}\r\na=ptime:20\r\n"
        ))
    }

    /// Sets the calls up one after the other.
    ///
    /// # Errors
    /// What the controller says against one.
    pub fn call(self, ng: &mut Ng) -> anyhow::Result<Calls> {
        let phones = match self.access {
            Access::Plain => None,
            Access::Secure(suite) => Some(Guard::by_seed(suite, self.calls, SEED)),
        };
        let [mut access, mut core] = [const { Vec::new() }; 2];
        let mut own = Vec::new();
        for number in 0..self.calls {
            let key = phones.as_ref().map(|guard| &guard.keys[number as usize]);
            let said = self.one(ng, number, key).with_context(|| format!("call {number}"))?;
            access.push(u128::from(said.access));
            core.push(u128::from(said.core));
            own.extend(said.key);
        }
        let guards = phones.map(|phones| {
            let own = Guard { suite: phones.suite, keys: own.into() };
            [phones, own]
        });
        let addresses = INTERFACES.map(|(_, address)| Values::count(address.to_bits(), 1));
        let ports = [access.into(), core.into()];
        Ok(Calls { phones: self, sources: self.sources(), ssrc: 0, addresses, ports, guards })
    }

    /// Ends them.
    ///
    /// # Errors
    /// When no command is taken.
    pub fn end(self, ng: &mut Ng) -> anyhow::Result<()> {
        for number in 0..self.calls {
            let call = name(number);
            let entries = [
                ("call-id", Says::Text(&call)),
                ("from-tag", Says::Text("a")),
                ("delete-delay", Says::Number(0)),
            ];
            ng.order("delete", &entries)?;
        }
        Ok(())
    }

    fn one(&self, ng: &mut Ng, number: u32, key: Option<&MasterKey>) -> anyhow::Result<Said> {
        let call = name(number);
        let offer = self.description(number, 0, key);
        let head = [("call-id", Says::Text(&call)), ("from-tag", Says::Text("a"))];
        let mut entries = head.to_vec();
        let [(inner, _), (outer, _)] = INTERFACES;
        let direction = [inner, outer];
        entries.extend([
            ("sdp", Says::Text(&offer)),
            ("direction", Says::List(&direction)),
            ("ICE", Says::Text("remove")),
            ("transport-protocol", Says::Text("RTP/AVP")),
        ]);
        let replace = ["origin"];
        entries.push(("replace", Says::List(&replace)));
        let transcode = self.becomes.map(|it| format!("codec-transcode-{}", it.name()));
        let flags: Vec<&str> = transcode.iter().flat_map(|it| ["codec-mask-all", it]).collect();
        entries.push(("flags", Says::List(&flags)));
        let towards_core = ng.order("offer", &entries)?.text("sdp").context("no description")?;
        let answer = match self.becomes {
            None => self.description(number, 1, None),
            Some(becomes) => self.transcoded(number, becomes, &towards_core)?,
        };
        let mut entries = head.to_vec();
        entries.extend([("to-tag", Says::Text("b")), ("sdp", Says::Text(&answer))]);
        entries.push(("replace", Says::List(&replace)));
        let towards_access = ng.order("answer", &entries)?.text("sdp").context("no description")?;
        let own = match key {
            Some(key) => Some(own_key(&towards_access, key.suite())?),
            None => None,
        };
        Ok(Said { access: port(&towards_access)?, core: port(&towards_core)?, key: own })
    }
}

fn name(number: u32) -> String {
    format!("lab-{number}@198.18.0.0")
}

/// What the controller said of a call.
struct Said {
    access: u16,
    core: u16,
    key: Option<MasterKey>,
}

fn crypto(key: &MasterKey) -> String {
    let keys = vec![InlineKey::alone(key.clone())];
    let session = SessionParameters::default();
    let mut line = b"a=crypto:".to_vec();
    Crypto { tag: 1, suite: key.suite(), keys, session }.write(&mut line);
    format!("{}\r\n", String::from_utf8_lossy(&line))
}

/// The port of the only medium of a description.
pub(crate) fn port(description: &str) -> anyhow::Result<u16> {
    let line = description.lines().find_map(|line| line.strip_prefix("m=audio "));
    let port = line.and_then(|rest| rest.split(' ').next()?.parse().ok()).filter(|it| *it > 0);
    port.with_context(|| format!("no port in {description}"))
}

/// The key of the only line of a suite in a description.
pub(crate) fn own_key(description: &str, suite: Suite) -> anyhow::Result<MasterKey> {
    let lines = description.lines().filter_map(|line| line.strip_prefix("a=crypto:"));
    let told = srtp::sdes::read_all(lines.map(str::as_bytes));
    let told = told.map_err(|violation| anyhow::anyhow!("{violation:?} in {description}"))?;
    let line = told.lines().iter().find(|line| line.suite == suite);
    let key = line.and_then(|line| line.keys.first());
    key.map(|key| key.key.clone()).with_context(|| format!("no key in {description}"))
}

impl Calls {
    /// How many there are.
    #[must_use]
    pub const fn phones(&self) -> &Phones {
        &self.phones
    }

    /// The speech of both sides: half of the packets come from each.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let guards = self.guards.as_ref();
        let phones = guards.map(|[phones, _]| phones.clone());
        let own = guards.map(|[_, own]| own.clone());
        let access = self.stream(&SIDES[0], phones, None);
        let core = self.stream(&SIDES[1], None, own);
        let streams = match self.phones.becomes {
            // What an encoder made is not made here.
            _ if self.phones.is_one_way() => vec![access],
            _ => vec![access, core],
        };
        Plan { streams, seed: SEED }
    }

    /// Those of these numbers, with sources of RTP from that one on. Of calls that are listed one
    /// by one.
    pub(crate) fn some(&self, numbers: &[u32], ssrc: u32) -> Self {
        let pick = |all: &[u128]| -> Arc<[u128]> {
            numbers.iter().filter_map(|number| all.get(*number as usize)).copied().collect()
        };
        let phones = Phones { calls: u32::try_from(numbers.len()).unwrap_or(0), ..self.phones };
        let sources = [0, 1].map(|side| {
            let source = |number: &u32| match self.phones.phone(*number, side) {
                IpAddr::V4(address) => u128::from(address.to_bits()),
                IpAddr::V6(address) => address.to_bits(),
            };
            Values::Table(numbers.iter().map(source).collect())
        });
        let addresses = [0, 1].map(|side| match &self.addresses[side] {
            Values::Table(all) => Values::Table(pick(all)),
            other => other.clone(),
        });
        let ports = [0, 1].map(|side| pick(&self.ports[side]));
        let guards = self.guards.as_ref().map(|guards| {
            [0, 1].map(|of| {
                let guard = &guards[of];
                let keys = numbers.iter().filter_map(|number| guard.keys.get(*number as usize));
                Guard { suite: guard.suite, keys: keys.cloned().collect() }
            })
        });
        Self { phones, sources, ssrc, addresses, ports, guards }
    }

    fn stream(&self, side: &Side, sent: Option<Guard>, received: Option<Guard>) -> Stream {
        let Side { name, number: side, destination, source, ssrc } = *side;
        let Phones { calls, codec, suppression, is_v6, becomes, .. } = self.phones;
        let codec = if side == 1 && becomes.is_some() { Codec::G722 } else { codec };
        let network = match is_v6 {
            true => {
                let any = Ipv6Addr::UNSPECIFIED;
                Layer::Ipv6 { source: any, destination: any, class: CLASS, hop_limit: 64 }
            }
            false => {
                let any = Ipv4Addr::UNSPECIFIED;
                Layer::Ipv4 { source: any, destination: any, class: CLASS, ttl: 64 }
            }
        };
        let layers = vec![
            Layer::Ethernet { destination, source },
            network,
            Layer::Udp { source: PORT, destination: PORT },
        ];
        let voice = Voice { codec, suppression, sent, received };
        let mut stream = Stream::speech(name, layers, ssrc + self.ssrc, voice);
        stream.flows = calls;
        let ports = Values::Table(Arc::clone(&self.ports[side]));
        stream.vary.extend([
            Vary { layer: 1, part: Part::Source, values: self.sources[side].clone() },
            Vary { layer: 1, part: Part::Destination, values: self.addresses[side].clone() },
            Vary { layer: 2, part: Part::Destination, values: ports },
        ]);
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_keys_are_read_from_a_description() {
        let phones = Phones {
            calls: 3,
            codec: Codec::G729,
            suppression: None,
            access: Access::Secure(Suite::AeadAes128Gcm),
            is_v6: false,
            becomes: None,
        };
        let key = &Guard::by_seed(Suite::AeadAes128Gcm, 3, 1).keys[2];
        let text = phones.description(2, 0, Some(key));
        assert_eq!(port(&text).unwrap(), PORT);
        assert!(own_key(&text, Suite::AeadAes128Gcm).unwrap() == *key);
        assert!(own_key(&text, Suite::AesCm128HmacSha1_80).is_err());
        assert!(text.contains("c=IN IP4 198.18.0.3\r\n") && text.contains("annexb=yes"));
        assert!(port("m=audio 0 RTP/AVP 8").is_err() && port("").is_err());
    }

    #[test]
    fn both_sides_speak_to_the_ports_that_the_controller_said() {
        let phones = Phones {
            calls: 2,
            codec: Codec::G711,
            suppression: None,
            access: Access::Secure(Suite::AesCm128HmacSha1_80),
            is_v6: false,
            becomes: None,
        };
        let guard = |seed| Guard::by_seed(Suite::AesCm128HmacSha1_80, 2, seed);
        let ports = [[30_000, 30_002], [40_000, 40_002]].map(Arc::from);
        let addresses = INTERFACES.map(|(_, address)| Values::count(address.to_bits(), 1));
        let (sources, guards) = (phones.sources(), Some([guard(1), guard(2)]));
        let calls = Calls { phones, sources, ssrc: 0, addresses, ports, guards };
        assert!((phones.pps() - 200.0).abs() < 1e-9);
        let mut generator = calls.plan().generator().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let mut room = vec![0; generator.longest()];
        for _ in 0..8 {
            let length = generator.write(Default::default(), &mut room);
            let port = u16::from_be_bytes([room[36], room[37]]);
            let is_access = room[..6] == IN_MAC;
            // Fourteen, twenty, eight, twelve; the access has a tag.
            assert_eq!(length, 54 + 160 + if is_access { 10 } else { 0 });
            seen.insert((is_access, room[29], port));
        }
        let wanted = [(false, 1, 40_000), (false, 2, 40_002), (true, 1, 30_000), (true, 2, 30_002)];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), wanted);
    }
}
