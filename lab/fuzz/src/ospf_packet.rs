//! Any octets as a packet, as an LSA and as the body of each: read or refused, and what is read of
//! bodies is written alike.

use ospf::lsa::{self, ExtendedLink, ExtendedPrefix, External, Grace, Network, Router};
use ospf::lsa::{RouterInformation, Summary};
use ospf::packet::{Body, Head, PacketType};
use wire::Cursor;

pub fn run(octets: &[u8]) {
    if let Ok((head, packet)) = Head::read(octets) {
        let _ = Body::read(head.kind, packet);
    }
    for kind in PacketType::ALL {
        let _ = Body::read(*kind, octets);
    }
    let _ = lsa::read(&mut Cursor::new(octets, 0, "RFC 2328 §A.4"));
    if let Ok(it) = Router::read(octets) {
        assert_eq!(Router::read(&it.write()), Ok(it));
    }
    if let Ok(it) = Network::read(octets) {
        assert_eq!(Network::read(&it.write()), Ok(it));
    }
    if let Ok(it) = Summary::read(octets) {
        assert_eq!(Summary::read(&it.write()), Ok(it));
    }
    if let Ok(it) = External::read(octets) {
        assert_eq!(External::read(&it.write()), Ok(it));
    }
    if let Ok(it) = Grace::read(octets) {
        assert_eq!(Grace::read(&it.write()), Ok(it));
    }
    let _ = RouterInformation::read(octets);
    let _ = (ExtendedPrefix::read(octets), ExtendedLink::read(octets));
}
