//! Many associations in one endpoint.

use machine::{Duration, Time};
use sctp::{AssociationId, Endpoint, In, Indication, Out, Outgoing, Packet, Parameters, Settings};
use std::collections::BTreeMap;
use std::net::IpAddr;

const MANY: u32 = 10_000;
const HUB: [u8; 4] = [10, 0, 0, 1];
const PORT: u16 = 2905;

/// One endpoint in the middle, and many around it, with nothing between them.
struct Star {
    now: Time,
    hub: Endpoint,
    rim: BTreeMap<IpAddr, Endpoint>,
    arrived: u32,
    up: u32,
}

fn settings(address: IpAddr, listens: bool, associations_max: usize) -> Settings {
    let parameters = Parameters::rfc9260();
    Settings { port: PORT, addresses: vec![address], listens, associations_max, parameters }
}

fn rim_address(number: u32) -> IpAddr {
    (u32::from_be_bytes([10, 1, 0, 0]) + number).to_be_bytes().into()
}

impl Star {
    fn new() -> Self {
        let hub = Endpoint::new(settings(HUB.into(), true, MANY as usize), [1; 32]);
        Self { now: Time::from_millis(1), hub, rim: BTreeMap::new(), arrived: 0, up: 0 }
    }

    /// Carries everything across at once until all is quiet.
    fn carry(&mut self, from: IpAddr, out: Vec<Out>) {
        let mut waiting = vec![(from, out)];
        while let Some((from, out)) = waiting.pop() {
            for effect in out {
                let sent = match effect {
                    Out::Transmit(sent) => sent,
                    Out::Indicate(_, Indication::Data(_)) => {
                        self.arrived += 1;
                        continue;
                    }
                    Out::Indicate(_, Indication::CommunicationUp(..)) => {
                        self.up += 1;
                        continue;
                    }
                    Out::Indicate(_, other) => panic!("{other:?}"),
                };
                let (source, to) = ((from, 0).into(), sent.destination.ip());
                let packet = Packet { source, destination: to, bytes: sent.bytes.into() };
                let mut answer = Vec::new();
                match to == IpAddr::from(HUB) {
                    true => self.hub.step(self.now, In::Packet(packet), &mut answer),
                    false => {
                        let end = self.rim.get_mut(&to).expect("it stands there");
                        end.step(self.now, In::Packet(packet), &mut answer);
                    }
                }
                waiting.push((to, answer));
            }
        }
    }

    /// Ticks of the hub until `end`; each may be in vain.
    fn run_hub(&mut self, end: Time) -> u32 {
        let mut ticks = 0;
        while let Some(next) = self.hub.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(next);
            ticks += 1;
            let mut out = Vec::new();
            self.hub.tick(self.now, &mut out);
            self.carry(HUB.into(), out);
        }
        self.now = end;
        ticks
    }
}

#[test]
fn ten_thousand_associations_stand_in_one_endpoint_and_are_cheap_when_idle() {
    let mut star = Star::new();
    for number in 0..MANY {
        let address = rim_address(number);
        let mut end = Endpoint::new(settings(address, false, 1), [2; 32]);
        let mut out = Vec::new();
        end.associate(star.now, &[(HUB, 0).into()], PORT, &mut out).unwrap();
        star.rim.insert(address, end);
        star.carry(address, out);
    }
    assert_eq!(star.up, 2 * MANY);
    let ids: Vec<AssociationId> = star.hub.associations().collect();
    assert_eq!(ids.len(), MANY as usize);
    for _ in 0..20 {
        for id in &ids {
            let message = Outgoing::new(0, 3, vec![1; 100].into());
            let mut out = Vec::new();
            star.hub.step(star.now, In::Send(*id, message), &mut out);
            star.carry(HUB.into(), out);
        }
        let next = star.now + Duration::from_millis(250);
        star.run_hub(next);
        for address in (0..MANY).map(rim_address) {
            let mut out = Vec::new();
            star.rim.get_mut(&address).unwrap().tick(star.now, &mut out);
            star.carry(address, out);
        }
    }
    assert_eq!(star.arrived, 20 * MANY);
    // A minute of silence: two heartbeats each, and no timer fires more often in vain than that.
    let minute = star.now + Duration::from_secs(60);
    let ticks = star.run_hub(minute);
    assert!(ticks <= 5 * MANY, "{ticks} ticks");
}

#[test]
fn an_endpoint_that_is_full_says_so_and_keeps_nothing() {
    let mut star = Star::new();
    star.hub = Endpoint::new(settings(HUB.into(), true, 1), [1; 32]);
    let mut lost = Vec::new();
    for number in 0..2 {
        let address = rim_address(number);
        let mut end = Endpoint::new(settings(address, false, 1), [number as u8; 32]);
        let mut out = Vec::new();
        end.associate(star.now, &[(HUB, 0).into()], PORT, &mut out).unwrap();
        for turn in 0..4 {
            let (from, to) =
                if turn % 2 == 0 { (address, HUB.into()) } else { (HUB.into(), address) };
            let peer = if turn % 2 == 0 { &mut star.hub } else { &mut end };
            let mut answer = Vec::new();
            for effect in out {
                let Out::Transmit(sent) = effect else { continue };
                let bytes = sent.bytes.into();
                let packet = Packet { source: (from, 0).into(), destination: to, bytes };
                peer.step(star.now, In::Packet(packet), &mut answer);
            }
            out = answer;
        }
        lost.extend(out.into_iter().filter(|it| matches!(it, Out::Indicate(..))));
    }
    assert!(matches!(&lost[0], Out::Indicate(_, Indication::CommunicationUp(..))));
    let refused = Indication::CommunicationLost(sctp::Lost::PeerAborted(4));
    assert!(matches!(&lost[1], Out::Indicate(_, it) if *it == refused), "{lost:?}");
    assert_eq!((star.hub.associations().count(), star.hub.counts().full), (1, 1));
}
