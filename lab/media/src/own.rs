//! Calls without a controller: the lab chooses ports and keys itself and tells the plane.

use crate::calls::{ACCESS_PHONES_V6, Access, CORE_PHONES_V4, CORE_PHONES_V6, Calls, PORT, Phones};
use forwarder_bench::{LEFT_MAC, router};
use media::program::{FEATURE, FlowSaid, Guard as Guarded, Keys, Name, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::{Hop, Item, Neighbour, Removed};
use packet_load::{Guard, Route, Values};
use rtp::{ClockRate, Rewrite};
use srtp::{KeyEntry, Parameters};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The plane's first address of media at each side, by IPv4 and by IPv6.
const MEDIA_V4: [u128; 2] = [0x0ac7_0110, 0x0ac7_0210];
const MEDIA_V6: [u128; 2] = [0x2001_0db8_0001 << 80 | 0x10, 0x2001_0db8_0002 << 80 | 0x10];
/// Calls that one address has ports for: RTP at an even one, RTCP behind it.
const CALLS_AN_ADDRESS: u32 = 24_000;
pub(crate) const PORT_FIRST: u32 = 10_000;
const PORTS: u16 = 48_000;
const SEED: u64 = 22;
/// What a stream may use, bits a second: what is searched for is not that bound.
const RATE: u64 = 10_000_000_000;
/// Whoever is next to the left by IPv6, the hop to there, and the left interface.
const LEFT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);
const LEFT_V6_HOP: u32 = 4;
const INNER: u32 = 1;

impl Calls {
    /// Calls whose ports and keys are chosen here; keys by seed, as calls that begin again need
    /// other ones.
    #[must_use]
    pub fn by_itself(phones: Phones, seed: u64) -> Self {
        let first = if phones.is_v6 { MEDIA_V6 } else { MEDIA_V4 };
        let addresses = first.map(|first| Values::Count {
            first,
            step: 1,
            count: phones.calls.div_ceil(CALLS_AN_ADDRESS).max(1),
            every: CALLS_AN_ADDRESS,
        });
        let port = |number: u32| u128::from(PORT_FIRST + 2 * (number % CALLS_AN_ADDRESS));
        let ports: Vec<u128> = (0..phones.calls).map(port).collect();
        let ports = [ports.clone().into(), ports.into()];
        let guards = match phones.access {
            Access::Plain => None,
            Access::Secure(suite) => {
                Some([0, 1].map(|side| Guard::by_seed(suite, phones.calls, SEED + 2 * seed + side)))
            }
        };
        Self { phones, sources: phones.sources(), ssrc: 0, addresses, ports, guards }
    }

    /// What the plane is told of these calls: a router between both sides, ranges, flows.
    #[must_use]
    pub fn programs(&self) -> Vec<Program> {
        let route = |(network, length)| Route { network, length };
        let mut all = router(&[route(CORE_PHONES_V4)], &[route(CORE_PHONES_V6)]);
        let (interface, address, mac) = (INNER, LEFT_V6.into(), LEFT_MAC);
        all.push(Program::Neighbour(Neighbour { interface, address, mac }));
        let gateway = Some(LEFT_V6.into());
        let hop = Hop::Via { interface: INNER, gateway, labels: Vec::new() };
        all.push(Program::Hop { id: LEFT_V6_HOP, hop });
        let (network, length) = ACCESS_PHONES_V6;
        all.push(Program::Routes6 { vrf: 0, routes: vec![(network, length, LEFT_V6_HOP)] });
        for side in 0..2 {
            for number in (0..self.phones.calls).step_by(CALLS_AN_ADDRESS as usize) {
                let Place { vrf, address, .. } = self.place(number, side);
                let range = Range { vrf, address, first: PORT_FIRST as u16, ports: PORTS };
                all.push(item(&Said::Range(range)));
            }
        }
        for number in 0..self.phones.calls {
            all.extend([0, 1].map(|side| item(&Said::Flow(Box::new(self.flow(number, side))))));
        }
        all
    }

    /// What ends these calls' flows.
    #[must_use]
    pub fn removals(&self) -> Vec<Program> {
        let numbers = (0..self.phones.calls).flat_map(|number| [(number, 0), (number, 1)]);
        let removed = |(number, side)| {
            let key = Name::Flow(self.place(number, side)).key();
            Program::Remove(Removed::Item(FEATURE.to_owned(), key))
        };
        numbers.map(removed).collect()
    }

    /// Where a call's packets of a side come to.
    fn place(&self, number: u32, side: usize) -> Place {
        let address = match &self.addresses[side] {
            Values::Count { first, step, every, .. } => first + step * u128::from(number / every),
            _ => 0,
        };
        let address: IpAddr = match self.phones.is_v6 {
            true => Ipv6Addr::from_bits(address).into(),
            false => Ipv4Addr::from_bits(u32::try_from(address).unwrap_or_default()).into(),
        };
        let port = self.ports[side][number as usize];
        Place { vrf: 0, address, port: u16::try_from(port).unwrap_or_default() }
    }

    fn flow(&self, number: u32, side: usize) -> FlowSaid {
        let phone = SocketAddr::new(self.phones.phone(number, side), PORT);
        FlowSaid {
            at: self.place(number, side),
            to: Some(self.place(number, 1 - side)),
            settings: Settings {
                of: Use::Muxed,
                is_active: true,
                payload_types: PayloadTypes::ALL,
                untimed: PayloadTypes::default(),
                ssrcs: Sources::ANY,
                clock: ClockRate::TELEPHONY,
                rate: Rate::bits(RATE),
                rewrite: Rewrite::default(),
            },
            expected: Expected::at(phone),
            guard: self.guarded(number, side),
            dscp: Some(46),
            timeout: None,
            becomes: Vec::new(),
            branches: Vec::new(),
            up: PayloadTypes::default(),
            up_per_s: 0,
            digits: PayloadTypes::default(),
            stun: false,
            dtls: false,
            association: None,
            resume: None,
        }
    }

    /// Phones of the access protect with their keys, the plane with its own.
    fn guarded(&self, number: u32, side: usize) -> Guarded {
        let Some(guards) = self.guards.as_ref().filter(|_| side == 0) else {
            return Guarded::None;
        };
        let [receive, send] = [0, 1].map(|of| {
            let guard: &Guard = &guards[of];
            let key = guard.keys[number as usize].clone();
            Keys { parameters: Parameters::of(guard.suite), entries: vec![KeyEntry::alone(key)] }
        });
        Guarded::Keys { receive, send }
    }
}

/// As a program.
fn item(said: &Said) -> Program {
    let name: Name = said.name();
    let (feature, key, value) = (FEATURE.to_owned(), name.key(), said.value());
    Program::Item(Item { feature, key, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forwarder_bench::Memory;
    use packet_load::Codec;
    use srtp::Suite;
    use std::time::Duration;

    /// Both directions through the plane in memory: nothing is lost, and SRTP is what the keys say.
    fn passes(access: Access, is_v6: bool) {
        let (codec, suppression, becomes) = (Codec::G711, None, None);
        let phones = Phones { calls: 30, codec, suppression, access, is_v6, becomes };
        let calls = Calls::by_itself(phones, 0);
        let mut memory = Memory::new(&calls.programs()).unwrap();
        let found = memory.run(&calls.plan(), Duration::ZERO).unwrap();
        assert!(found.sent > 0 && found.lost == 0, "{access:?}: {found:?}");
    }

    #[test]
    fn speech_passes_the_plane_both_ways() {
        for is_v6 in [false, true] {
            passes(Access::Plain, is_v6);
            passes(Access::Secure(Suite::AesCm128HmacSha1_80), is_v6);
            passes(Access::Secure(Suite::AeadAes128Gcm), is_v6);
        }
    }

    #[test]
    fn many_calls_have_a_port_each() {
        let calls = 2 * CALLS_AN_ADDRESS + 1;
        let access = Access::Plain;
        let (codec, suppression, becomes, is_v6) = (Codec::G729, None, None, false);
        let phones = Phones { calls, codec, suppression, access, is_v6, becomes };
        let calls = Calls::by_itself(phones, 0);
        let places: std::collections::BTreeSet<_> =
            (0..phones.calls).map(|number| calls.place(number, 0)).collect();
        assert_eq!(places.len(), phones.calls as usize);
    }
}
