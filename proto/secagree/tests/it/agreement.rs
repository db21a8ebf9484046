//! What is chosen, and that packets pass by the four associations.

use crate::{PHONE, list, network, written};
use aka::Secret;
use aka::digest::SessionKeys;
use esp::{HEADROOM, Inbound, Outbound, Packet, Report, TAILROOM, protect, unprotect};
use secagree::{
    Agreement, Alg, Choice, Ealg, End, Ipsec, List, Mode, Pair, Peer, Preference, Transport,
    choose, choose_server,
};
use std::net::IpAddr;

const OLD: (Alg, Ealg) = (Alg::HmacMd5_96, Ealg::DesEde3Cbc);

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_network_chooses_its_own_first_and_a_phone_what_the_network_prefers() {
    let usual = Preference::usual();
    let chosen = choose(&list(PHONE), &usual).expect("there is something");
    assert_eq!(chosen.pair, (Alg::Null, Ealg::AesGcm));
    let cbc = Preference { pairs: vec![OLD, (Alg::HmacSha1_96, Ealg::AesCbc)], ..usual.clone() };
    assert_eq!(choose(&list(PHONE), &cbc).map(|it| it.pair), Some(OLD), "where it is allowed");
    let none = Preference { pairs: vec![(Alg::AesGmac, Ealg::Null)], ..usual.clone() };
    assert_eq!(choose(&list(PHONE), &none), None);
    let other = Preference { modes: vec![Mode::UdpTunnel], ..usual.clone() };
    assert_eq!(choose(&list(PHONE), &other), None);
    // What cannot be is not chosen: GCM authenticates by itself.
    let twice = Preference { pairs: vec![(Alg::HmacSha1_96, Ealg::AesGcm)], ..usual.clone() };
    assert_eq!(choose(&list(&PHONE.replace("alg=null", "alg=hmac-sha-1-96")), &twice), None);
    for (from, to) in [("2857", "255"), ("2858", "2857"), ("32001", "0"), ("32002", "32001")] {
        assert_eq!(choose(&list(&PHONE.replace(from, to)), &usual), None, "{from}: {to}");
    }
    let server = usual.list(&network(), Mode::Transport);
    let phone = Preference {
        pairs: vec![(Alg::HmacSha1_96, Ealg::Null), (Alg::HmacSha1_96, Ealg::AesCbc)],
        modes: vec![Mode::Transport],
    };
    let chosen = choose_server(&server, &phone).expect("there is something");
    assert_eq!(chosen.pair, (Alg::HmacSha1_96, Ealg::AesCbc));
    assert_eq!(crate::list(&written(&server)), server);
}

/// Both ends by what they said over the wire.
fn agreement(pair: (Alg, Ealg), mode: Mode) -> (Agreement, Choice) {
    let own = Preference { pairs: vec![pair], modes: vec![mode] };
    let phone = Ipsec {
        spi_c: esp::Spi(2857),
        spi_s: esp::Spi(2858),
        port_c: 32_001,
        port_s: 32_002,
        ..network()
    };
    let client = list(&written(&own.list(&phone, mode)));
    let chosen = choose(&client, &own).expect("there is something");
    let server: List = list(&written(&own.list(&network(), mode)));
    let by_phone = choose_server(&server, &own).expect("there is something");
    assert_eq!(chosen.pair, by_phone.pair);
    let outside = match mode {
        Mode::UdpTunnel => Some((address("203.0.113.9"), 61_000)),
        _ => None,
    };
    let ue = Peer { address: address("10.0.0.7"), outside, ipsec: chosen.of };
    let pcscf = Peer { address: address("198.51.100.1"), outside: None, ipsec: by_phone.of };
    (Agreement { ue, pcscf, transport: Transport::Any }, chosen)
}

fn datagram(from: (&str, u16), to: (&str, u16)) -> Vec<u8> {
    let [source, destination] = [from.0, to.0].map(|it| match address(it) {
        IpAddr::V4(it) => it.octets(),
        IpAddr::V6(_) => panic!("of IPv4"),
    });
    let mut packet = vec![0x45, 0, 0, 33, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source);
    packet.extend(destination);
    packet.extend(from.1.to_be_bytes());
    packet.extend(to.1.to_be_bytes());
    packet.extend([0, 13, 0, 0, 1, 2, 3, 4, 5]);
    packet
}

#[test]
fn packets_pass_by_each_of_the_four_between_its_ports_alone() {
    let [ck, ik] = [1, 2].map(|octet| Secret::new(&[octet; 16]).expect("short"));
    let session = SessionKeys { ck, ik };
    for pair in [
        (Alg::Null, Ealg::AesGcm),
        (Alg::HmacSha1_96, Ealg::AesCbc),
        (Alg::AesGmac, Ealg::Null),
        (Alg::HmacSha1_96, Ealg::Null),
        OLD,
    ] {
        for mode in [Mode::Transport, Mode::Tunnel, Mode::UdpTunnel] {
            let (agreement, chosen) = agreement(pair, mode);
            let keys = chosen.of.keys(&session).expect("of 128 bits");
            let four = agreement.associations().expect("they differ");
            for (at, one) in four.iter().enumerate() {
                let to = if one.from == End::Ue { End::Pcscf } else { End::Ue };
                let sender = agreement.parameters(one, one.from).expect("it is sound");
                let receiver = agreement.parameters(one, to).expect("it is sound");
                let mut out = [Outbound::new(sender, keys.material(), [7; 16]).expect("sound")];
                let mut into = [Inbound::new(receiver, keys.material()).expect("sound")];
                let ue = ("10.0.0.7", one.ue_port);
                let pcscf = ("198.51.100.1", one.pcscf_port);
                let (source, destination) =
                    if one.from == End::Ue { (ue, pcscf) } else { (pcscf, ue) };
                let plain = datagram(source, destination);
                for (packet, passes) in [
                    (plain.clone(), true),
                    (datagram((source.0, 9), destination), false),
                    (datagram(source, (destination.0, 9)), false),
                    (datagram(destination, source), false),
                ] {
                    let mut buffer = [&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat();
                    let whole = 0..buffer.len();
                    let mut packets = [Packet::new(0, whole, HEADROOM, packet.len())];
                    let mut report = Report::default();
                    protect(&mut out[..], &mut buffer, &mut packets, &mut report);
                    assert_eq!(packets[0].verdict.is_ok(), passes, "{pair:?} {mode:?} {at}");
                    if passes {
                        unprotect(&mut into[..], &mut buffer, &mut packets, &mut report);
                        assert!(packets[0].verdict.is_ok());
                        let opened = packets[0].at..packets[0].at + packets[0].length;
                        assert_eq!(buffer[opened][20..], plain[20..]);
                    }
                }
            }
            let ports: Vec<_> = four.iter().map(|it| (it.pair, it.from, it.spi.0)).collect();
            assert_eq!(
                ports,
                [
                    (Pair::UeClient, End::Ue, 70_001),
                    (Pair::UeClient, End::Pcscf, 2857),
                    (Pair::UeServer, End::Pcscf, 2858),
                    (Pair::UeServer, End::Ue, 70_000),
                ]
            );
        }
    }
}

#[test]
fn indices_that_are_alike_make_no_agreement() {
    let (mut agreement, _) = agreement((Alg::Null, Ealg::AesGcm), Mode::Transport);
    agreement.pcscf.ipsec.spi_s = agreement.ue.ipsec.spi_c;
    assert_eq!(agreement.associations(), None);
}

#[test]
fn keys_are_those_of_annex_i() {
    let [ck, ik] = [0x11, 0x22].map(|octet| Secret::new(&[octet; 16]).expect("short"));
    let session = SessionKeys { ck, ik };
    let keys =
        |alg, ealg| Ipsec { alg, ealg, ..network() }.keys(&session).expect("they go together");
    let sha1 = keys(Alg::HmacSha1_96, Ealg::AesCbc);
    assert_eq!(sha1.material().encryption, [0x11; 16]);
    assert_eq!(sha1.material().integrity[..16], [0x22; 16]);
    assert_eq!(sha1.material().integrity[16..], [0; 4]);
    assert_eq!(keys(Alg::Null, Ealg::AesGcm).material().encryption.len(), 20);
    assert_eq!(keys(Alg::AesGmac, Ealg::Null).material().integrity.len(), 20);
    assert_eq!(keys(Alg::HmacMd5_96, Ealg::DesEde3Cbc).material().encryption.len(), 24);
    assert_eq!(Ipsec { alg: Alg::AesGmac, ealg: Ealg::AesCbc, ..network() }.keys(&session), None);
    let long = Secret::new(&[1; 32]).expect("short");
    let long = SessionKeys { ck: long.clone(), ik: long };
    assert_eq!(Ipsec { alg: Alg::HmacSha1_96, ..network() }.keys(&long), None);
    assert!(!format!("{sha1:?}").contains("17"), "no key is shown");
}
