//! Messages are read as they were written, and broken ones are refused with their place.

use ldp::codec::{
    Body, CommonHello, FaultTolerance, HelloBody, Initialization, LabelBody, MessageType,
    Notification, Pdu, PseudowireFec, StatusCode, pdu_octets, write_pdus,
};
use ldp::{Fec, LdpId, Prefix, PseudowireId};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const OWN: LdpId = LdpId::of(Ipv4Addr::new(10, 0, 0, 1));

fn bodies() -> Vec<Body> {
    let prefixes = ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "2001:db8::/33"].map(|text| {
        let (address, length) = text.split_once('/').unwrap();
        Fec::Prefix(Prefix::new(address.parse().unwrap(), length.parse().unwrap()))
    });
    let numbered = PseudowireFec {
        id: Some(PseudowireId::Number(77)),
        kind: 5,
        has_control_word: true,
        group: 9,
        mtu: Some(1_500),
    };
    let names = PseudowireId::Names {
        group: Box::new([1, 7, 7]),
        source: Box::new([1, 1, 2, 3, 4]),
        target: Box::new([1, 4, 3, 2, 1]),
    };
    let named = PseudowireFec { id: Some(names), group: 0, mtu: None, ..numbered.clone() };
    let group = PseudowireFec { id: None, mtu: None, ..numbered.clone() };
    let label = |kind, fecs: Vec<Fec>| {
        let body = LabelBody {
            fecs,
            label: Some(16_001),
            request: Some(4),
            pw_status: Some(1),
            mtu: Some(9_000),
        };
        Body::Label(kind, body)
    };
    let wires: Vec<Fec> = [numbered, named, group].map(Fec::Pseudowire).into();
    let hello = HelloBody {
        common: CommonHello { hold_s: 15, is_targeted: true, wants_targeted: true, has_gtsm: true },
        ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)),
        ipv6: Some("2001:db8::1".parse().unwrap()),
        dual_stack: Some(6),
        configuration: Some(9),
    };
    let open = Initialization {
        keepalive_s: 180,
        is_on_demand: false,
        detects_loops: false,
        pdu_octets: 4_096,
        receiver: OWN,
        fault_tolerance: Some(FaultTolerance { reconnect_ms: 1, recovery_ms: 2 }),
        is_dynamic: true,
    };
    let addresses = vec!["10.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    let status = Notification {
        fecs: wires[..1].to_vec(),
        pw_status: Some(2),
        ..Notification::of(StatusCode::PwStatus, (3, 4))
    };
    vec![
        Body::Hello(hello),
        Body::Initialization(open),
        Body::KeepAlive,
        Body::Capability,
        Body::Address(addresses.clone()),
        Body::AddressWithdraw(addresses),
        Body::MacWithdraw(wires[..1].to_vec(), vec![[2; 6], [4; 6]]),
        Body::MacWithdraw(wires[1..2].to_vec(), Vec::new()),
        label(MessageType::LabelMapping, prefixes.to_vec()),
        label(MessageType::LabelWithdraw, wires),
        label(MessageType::LabelRelease, vec![Fec::Wildcard]),
        label(MessageType::LabelRequest, prefixes[..1].to_vec()),
        label(MessageType::LabelAbort, prefixes[..1].to_vec()),
        Body::Notification(status),
        Body::Notification(Notification::of(StatusCode::KeepAliveExpired, (0, 0))),
    ]
}

#[test]
fn messages_are_read_as_they_were_written_in_pdus_that_are_not_too_long() {
    let all = bodies();
    let messages: Vec<Vec<u8>> = all.iter().zip(1..).map(|(it, id)| it.write(id)).collect();
    let octets = write_pdus(OWN, &messages, 300);
    let (mut rest, mut found, mut pdus) = (&octets[..], Vec::new(), 0);
    while let Some(length) = pdu_octets(rest, 300).unwrap() {
        let pdu = Pdu::read(&rest[..length]).unwrap();
        assert_eq!(pdu.sender, OWN);
        found.extend(pdu.messages.iter().map(|it| Body::read(it).unwrap().unwrap()));
        rest = &rest[length..];
        pdus += 1;
    }
    assert_eq!(found, all);
    assert!(rest.is_empty() && pdus > 2, "{pdus}");
}

#[test]
fn what_is_cut_is_refused_with_its_place() {
    for body in bodies() {
        let whole = write_pdus(OWN, &[body.write(1)], 4_096);
        for cut in 4..whole.len() {
            let mut octets = whole[..cut].to_vec();
            octets[2..4].copy_from_slice(&((cut - 4) as u16).to_be_bytes());
            assert!(Pdu::read(&octets).is_err() || cut == 10, "{body:?} {cut}");
            if cut < 18 {
                continue;
            }
            octets[12..14].copy_from_slice(&((cut - 14) as u16).to_be_bytes());
            let pdu = Pdu::read(&octets).unwrap();
            if let Err(why) = Body::read(&pdu.messages[0]) {
                assert!(why.at <= cut && !why.what.is_empty(), "{why}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(
        kind in prop::sample::select(MessageType::ALL),
        tlvs in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let message = ldp::codec::write_message(kind, 1, &tlvs);
        let octets = write_pdus(OWN, &[message], 4_096);
        let pdu = Pdu::read(&octets).unwrap();
        if let Ok(Some(body)) = Body::read(&pdu.messages[0]) {
            let again = write_pdus(OWN, &[body.write(1)], 65_000);
            let pdu = Pdu::read(&again).unwrap();
            let read = Body::read(&pdu.messages[0]).unwrap();
            prop_assert_eq!(read.map(|it| it.kind()), Some(body.kind()));
        }
    }
}
