//! Authentication: who does not hold the key is not heard, digests are those of the standards.

use crate::net::{Net, SECOND};
use hmac::{Hmac, Mac};
use isis::pdu::{Algorithm, AuthenticationKey, LspFlags, Summary, TlvKind, write_lsp, write_psnp};
use isis::{Authentication, Discard, In, Level, LinkType, LspId, NodeId, SystemId};
use md5::Md5;
use sha2::Sha256;

fn keys(all: &[(u16, Algorithm, &[u8])]) -> Authentication {
    let key = |&(id, algorithm, secret): &(u16, Algorithm, &[u8])| {
        AuthenticationKey::new(id, algorithm, secret).unwrap()
    };
    Authentication::cryptographic(all.iter().map(key).collect()).unwrap()
}

const ALL: [Algorithm; 6] = [
    Algorithm::HmacMd5,
    Algorithm::HmacSha1,
    Algorithm::HmacSha224,
    Algorithm::HmacSha256,
    Algorithm::HmacSha384,
    Algorithm::HmacSha512,
];

#[test]
fn digests_are_those_of_the_standards() {
    let psnp = write_psnp(Level::One, SystemId([1; 6]), &[], &keys(&[(1, ALL[0], b"secret")]));
    let (front, digest) = psnp.split_at(psnp.len() - 16);
    assert_eq!(front[front.len() - 3..], [TlvKind::Authentication.number(), 17, 54]);
    let mut mac = <Hmac<Md5> as Mac>::new_from_slice(b"secret").unwrap();
    mac.update(front);
    mac.update(&[0; 16]);
    assert_eq!(mac.finalize().into_bytes()[..], *digest);
    // RFC 5310: the number of the key, and 878FE1F3 in place of the digest.
    let psnp = write_psnp(Level::One, SystemId([1; 6]), &[], &keys(&[(258, ALL[3], b"secret")]));
    let (front, digest) = psnp.split_at(psnp.len() - 32);
    assert_eq!(front[front.len() - 5..], [TlvKind::Authentication.number(), 35, 3, 1, 2]);
    let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(b"secret").unwrap();
    mac.update(front);
    mac.update(&[0x87, 0x8F, 0xE1, 0xF3].repeat(8));
    assert_eq!(mac.finalize().into_bytes()[..], *digest);
}

fn pair(authentication: Authentication) -> Net {
    let mut net = Net::new(8, 2);
    net.authentication = authentication;
    net.link(LinkType::Broadcast, &[(0, 1), (1, 1)]);
    net.link(LinkType::Broadcast, &[(1, 1)]);
    net
}

#[test]
fn who_holds_the_same_key_is_adjacent_by_every_algorithm() {
    let mut all = vec![Authentication::password(b"open").unwrap()];
    for algorithm in ALL {
        all.extend([&b"secret"[..], &[7; 100]].map(|secret| keys(&[(5, algorithm, secret)])));
    }
    for authentication in all {
        let what = format!("{authentication:?}");
        let mut net = pair(authentication);
        net.start_all();
        net.run(SECOND * 15);
        net.check(&what);
        assert_eq!(net.up(0), 2, "{what}");
    }
}

#[test]
fn who_holds_another_key_or_none_is_not_heard() {
    let own = keys(&[(5, Algorithm::HmacSha256, b"secret")]);
    let others = [
        keys(&[(5, Algorithm::HmacSha256, b"Secret")]),
        keys(&[(6, Algorithm::HmacSha256, b"secret")]),
        keys(&[(5, Algorithm::HmacSha1, b"secret")]),
        keys(&[(5, Algorithm::HmacMd5, b"secret")]),
        Authentication::password(b"secret").unwrap(),
        Authentication::Null,
    ];
    for other in others {
        let mut net = pair(own.clone());
        net.start(0);
        net.authentication = other.clone();
        net.start(1);
        net.run(SECOND * 15);
        assert_eq!(net.up(0), 0, "{other:?}");
        assert!(net.at(0).discarded(Discard::Authentication) > 5, "{other:?}");
    }
}

#[test]
fn a_key_is_changed_one_end_after_the_other() {
    let (old, new) = ((1, ALL[0], &b"old"[..]), (2, ALL[3], &b"new"[..]));
    let mut net = pair(keys(&[old]));
    net.start(0);
    net.authentication = keys(&[old, new]);
    net.start(1);
    net.run(SECOND * 15);
    net.check("one end knows both");
    net.authentication = keys(&[new, old]);
    net.start(0);
    net.run(SECOND * 15);
    assert_eq!(net.up(0), 2, "either is heard");
    net.start(1);
    net.run(SECOND * 15);
    net.check("both say the new one");
    assert_eq!(net.up(0), 2);
}

#[test]
fn a_purge_without_the_key_is_no_purge_and_with_more_in_it_neither() {
    let key = keys(&[(1, Algorithm::HmacMd5, b"secret")]);
    let mut net = pair(key.clone());
    net.start_all();
    net.run(SECOND * 15);
    let id = LspId { node: NodeId::of(Net::id(1)), fragment: 0 };
    let summary = Summary { lifetime_s: 0, id, sequence: 1_000, checksum: 0 };
    let write = |tlvs: &[u8], key: &Authentication| {
        write_lsp(Level::Two, &summary, LspFlags::default(), tlvs, key)
    };
    let area = [1, 4, 3, 0x49, 0, 1];
    for (octets, why) in [
        (write(&[], &Authentication::Null), Discard::Authentication),
        (write(&area, &key), Discard::Purge),
    ] {
        net.step(0, In::Pdu { circuit: 1, source: Net::snpa(0, 1), octets });
        assert_eq!(net.at(0).discarded(why), 1);
    }
    net.check("nothing was purged");
}

#[test]
fn another_system_with_the_key_is_no_neighbour_while_the_one_of_a_link_lives() {
    let mut net = Net::new(8, 3);
    net.authentication = keys(&[(5, Algorithm::HmacSha256, b"secret")]);
    net.link(LinkType::PointToPoint, &[(0, 1), (1, 1)]);
    net.link(LinkType::PointToPoint, &[(1, 1), (2, 1)]);
    net.keeps_pdus = true;
    net.start_all();
    net.run(SECOND * 20);
    let mut hellos = net.sent.iter().filter(|it| it.0 == Net::snpa(1, 1) && it.2[4] & 31 == 17);
    let (_, _, hello) = hellos.next().unwrap().clone();
    let before = net.at(0).discarded(Discard::Adjacencies);
    net.step(0, In::Pdu { circuit: 1, source: Net::snpa(0, 1), octets: hello });
    assert_eq!(net.at(0).discarded(Discard::Adjacencies), before + 1);
    assert_eq!(net.up(0), 2, "it stands");
}
