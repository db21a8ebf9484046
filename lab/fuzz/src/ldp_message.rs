//! Any octets as a PDU, and as the TLVs of a message of each type: read or refused, and what is
//! read is written and read alike.

use ldp::LdpId;
use ldp::codec::{Body, MessageType, Pdu, pdu_octets, write_message, write_pdus};
use std::net::Ipv4Addr;

const OWN: LdpId = LdpId::of(Ipv4Addr::new(9, 9, 9, 9));

pub fn run(octets: &[u8]) {
    let _ = pdu_octets(octets, 4_096);
    look(octets);
    let tlvs = &octets[..octets.len().min(3_000)];
    for kind in MessageType::ALL {
        look(&write_pdus(OWN, &[write_message(*kind, 1, tlvs)], 4_096));
    }
}

fn look(octets: &[u8]) {
    let Ok(pdu) = Pdu::read(octets) else { return };
    for message in &pdu.messages {
        let Ok(Some(body)) = Body::read(message) else { continue };
        let octets = write_pdus(OWN, &[body.write(1)], 65_000);
        let again = Pdu::read(&octets).expect("what is written is read");
        let again = Body::read(&again.messages[0]).expect("what is said is read");
        assert_eq!(again.map(|it| it.kind()), Some(body.kind()));
    }
}
