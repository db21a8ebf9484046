//! Any octets as what a speaker tells a station: nothing panics, every step goes forward, offsets
//! lie in the message, and a route that was read is written as it came.

use bmp::{Framing, HEADER_BYTES, Message, frame, write_route_monitoring};

pub fn run(octets: &[u8]) {
    let mut rest = octets;
    loop {
        let length = match frame(rest) {
            Framing::Message(message, length) => {
                match message {
                    Message::RouteMonitoring(peer, update) => {
                        let mut again = Vec::new();
                        write_route_monitoring(&peer, update, &mut again);
                        let same = Message::RouteMonitoring(peer, update);
                        assert_eq!(frame(&again), Framing::Message(same, length));
                    }
                    Message::StatisticsReport(_, statistics) => _ = statistics.count(),
                    Message::Initiation(tlvs)
                    | Message::Termination(tlvs)
                    | Message::RouteMirroring(_, tlvs) => _ = tlvs.count(),
                    Message::PeerUp(_, up) => _ = up.information.count(),
                    Message::PeerDown(..) | Message::Unknown(_) => {}
                }
                length
            }
            Framing::Malformed(malformed, length) => {
                assert!(malformed.at <= length);
                length
            }
            Framing::Partial | Framing::Broken(_) => break,
        };
        assert!(length >= HEADER_BYTES);
        rest = &rest[length..];
    }
}
