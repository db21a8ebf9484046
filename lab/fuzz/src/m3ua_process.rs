//! What a peer may send to an SGP and to an IPSP, message by message, with time passing: nothing
//! panics, and the deadline stays ahead.

use m3ua::codec::{PointCode, RoutingContext};
use m3ua::{In, Key, Parameters, PeerSettings, Process, Registration, Role, ServerSettings};
use m3ua::{Settings, Side};
use machine::{Duration, Machine, Time};

pub fn run(bytes: &[u8]) {
    for role in [Role::Sgp, Role::Asp, Role::IpspDouble] {
        let mut parameters = Parameters::rfc4666();
        parameters.registration = Registration::Open;
        let settings = Settings { peers_max: 1, servers_max: 16, parameters };
        let mut process = Process::new(settings).expect("they are valid");
        let (mut now, mut out) = (Time::from_millis(1), Vec::new());
        let peer = process.add_peer(PeerSettings::new(role)).expect("there is room");
        for (number, side) in [(1, Side::Here), (2, Side::There)] {
            let key = Key::of(PointCode::truncated(number));
            let settings = ServerSettings::new(side, Some(RoutingContext(number)), key);
            let server = process.add_server(settings).expect("there is room");
            let _ = process.assign(now, server, peer, &mut out);
        }
        process.step(now, In::CommunicationUp(peer, Some(4)), &mut out);
        // The first octet of each piece is its length and whether time passes before it.
        let mut rest = bytes;
        while let Some((first, more)) = rest.split_first() {
            let length = usize::from(first & 0x7F).min(more.len());
            if first & 0x80 != 0 {
                now += Duration::from_millis(700);
                process.tick(now, &mut out);
            }
            let message = more[..length].to_vec().into();
            process.step(now, In::Message(peer, u16::from(first & 1), message), &mut out);
            assert!(process.deadline().is_none_or(|at| at >= now));
            out.clear();
            rest = &more[length..];
        }
    }
}
