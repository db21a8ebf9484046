//! Control packets on the wire.

use bfd::{AuthType, Diagnostic, Discard, MANDATORY_OCTETS, Packet, State};
use proptest::prelude::*;

pub fn packet() -> Packet {
    Packet {
        diagnostic: Diagnostic::NeighborDown,
        state: State::Init,
        poll: true,
        is_final: false,
        control_plane_independent: true,
        demand: false,
        detect_mult: 3,
        my_discriminator: 0x0102_0304,
        your_discriminator: 0x0506_0708,
        desired_min_tx_us: 1_000_000,
        required_min_rx_us: 50_000,
        required_min_echo_rx_us: 0,
    }
}

/// The packet of RFC 5880 §4.1, octet by octet.
const OCTETS: [u8; MANDATORY_OCTETS] =
    [0x23, 0xA8, 3, 24, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x0F, 0x42, 0x40, 0, 0, 0xC3, 0x50, 0, 0, 0, 0];

#[test]
fn a_packet_is_written_and_read_as_the_figure_has_it() {
    assert_eq!(packet().write().octets(), OCTETS);
    assert_eq!(Packet::read(&OCTETS), Ok((packet(), None)));
}

#[test]
fn what_must_be_discarded_is_told_by_its_reason() {
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = OCTETS.to_vec();
        change(&mut octets);
        Packet::read(&octets).map(drop)
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let cases: [(Discard, Change<'_>); 9] = [
        (Discard::Version, &|it| it[0] = 0x43),
        (Discard::Length, &|it| it.truncate(23)),
        (Discard::Length, &|it| it[3] = 23),
        (Discard::Length, &|it| it[3] = 25),
        (Discard::Length, &|it| it[1] |= 4),
        (Discard::DetectMult, &|it| it[2] = 0),
        (Discard::Multipoint, &|it| it[1] |= 1),
        (Discard::MyDiscriminator, &|it| it[4..8].fill(0)),
        (Discard::PollAndFinal, &|it| it[1] |= 0x10),
    ];
    for (why, change) in cases {
        assert_eq!(changed(change), Err(why), "{why:?}");
    }
    let longer = [&OCTETS[..], &[9; 8]].concat();
    assert_eq!(Packet::read(&longer), Ok((packet(), None)), "what follows is no part of it");
    let mut with_password = [&OCTETS[..], &[1, 5, 7, b'a', b'b']].concat();
    with_password[1] |= 4;
    with_password[3] = 29;
    let section = Packet::read(&with_password).unwrap().1.unwrap();
    assert_eq!((section.kind(), section.key), (Some(AuthType::SimplePassword), 7));
    with_password[25] = 6;
    assert_eq!(Packet::read(&with_password).unwrap_err(), Discard::AuthLength);
}

#[test]
fn a_reserved_diagnostic_is_read_as_none() {
    let mut octets = OCTETS;
    octets[0] = 0x20 | 31;
    assert_eq!(Packet::read(&octets).unwrap().0.diagnostic, Diagnostic::None);
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused_and_what_is_read_is_written_alike(
        octets in prop::collection::vec(any::<u8>(), 0..80),
        is_likely in any::<bool>(),
    ) {
        let mut octets = octets;
        if is_likely && octets.len() >= MANDATORY_OCTETS {
            octets[0] = 0x20 | (octets[0] % 9);
            octets[1] &= 0xFA;
            octets[3] = MANDATORY_OCTETS as u8;
        }
        if let Ok((packet, None)) = Packet::read(&octets) {
            let known = Diagnostic::of(octets[0] & 0x1F).is_some();
            let written = packet.write();
            let has_length = octets[3] == MANDATORY_OCTETS as u8;
            prop_assert!(!known || !has_length || written.octets() == &octets[..MANDATORY_OCTETS]);
        }
    }
}
