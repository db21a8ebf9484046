//! Any octets as a PDU of each type: read or refused, and what is read of a fragment is written
//! alike.

use isis::lsp::Content;
use isis::pdu::{Body, HelloTlvs, LspFlags, Pdu, PduKind, Summary, write_lsp};
use isis::{Authentication, Level, LspId, MetricStyle};

pub fn run(octets: &[u8]) {
    look(octets);
    for kind in PduKind::ALL {
        let mut pdu = vec![0x83, kind.octets(), 1, 0, kind.number(), 1, 0, 0];
        pdu.extend_from_slice(octets);
        pdu.resize(pdu.len().max(40), 0);
        let at = if kind.number() <= 17 { 17 } else { 8 };
        let length = u16::try_from(pdu.len()).unwrap_or(u16::MAX).to_be_bytes();
        pdu[at..at + 2].copy_from_slice(&length);
        look(&pdu);
    }
    // What follows a header may be any TLVs.
    let summary = Summary { lifetime_s: 9, id: LspId::default(), sequence: 1, checksum: 0 };
    let tlvs = &octets[..octets.len().min(1_400)];
    let flags = LspFlags::default();
    look(&write_lsp(Level::One, &summary, flags, tlvs, &Authentication::Null));
}

fn look(octets: &[u8]) {
    let Ok(pdu) = Pdu::read(octets) else { return };
    assert!(pdu.octets.len() <= octets.len());
    let _ = (HelloTlvs::read(&pdu), pdu.summaries());
    let (Ok(content), Body::Lsp(summary, flags)) = (Content::read(&pdu), pdu.body) else { return };
    for tlvs in content.fragments(MetricStyle::Transition, 1_400) {
        let octets = write_lsp(Level::Two, &summary, flags, &tlvs, &Authentication::Null);
        let again = Pdu::read(&octets).expect("what is written is read");
        assert!(again.has_right_checksum());
        Content::read(&again).expect("what is said is read");
    }
}
