//! Any bytes as an SCTP packet: nothing panics, and every chunk that is understood is read again
//! as it was when it is written.

use sctp::codec::{Chunk, Packet};

pub fn run(bytes: &[u8]) {
    let Ok(packet) = Packet::read(bytes) else { return };
    let _ = packet.checksum_holds();
    for raw in packet.chunks().map_while(Result::ok) {
        let Ok(chunk) = Chunk::read(&raw) else { continue };
        let mut again = vec![0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        chunk.write(&mut again);
        if again.len() < 65_000 {
            let back = Packet::read(&again).expect("a header was written");
            let raw = back.chunks().next().expect("a chunk was written");
            let raw = raw.expect("it has a proper length");
            assert_eq!(Chunk::read(&raw).map(|it| it.kind().0), Ok(chunk.kind().0));
        }
    }
}
