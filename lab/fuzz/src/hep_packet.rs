//! Any bytes as a HEP3 packet: nothing panics, and what is understood survives a round trip.

pub fn run(bytes: &[u8]) {
    let _ = (hep::frame(bytes), hep::compressed_payload(bytes));
    if let Ok(walk) = hep::chunks(bytes) {
        assert!(walk.count() <= hep::CHUNKS_MAX + 1);
    }
    let Ok(packet) = hep::Packet::parse(bytes) else { return };
    let texts = [packet.correlation, packet.auth_key, packet.tags];
    let short = texts.iter().all(|text| text.len() < 256);
    let mut again = Vec::new();
    packet.write(&mut again);
    let back = hep::Packet::parse(&again).expect("what is written can be read");
    if short && packet.payload.len() < 60_000 {
        assert_eq!((back.payload, back.correlation), (packet.payload, packet.correlation));
        assert_eq!(hep::tags_of(&again).map_or(&b""[..], |at| &again[at]), packet.tags);
    }
}
