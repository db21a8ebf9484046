//! Packets on the wire.

use ospf::lsa::{Header, Key, LsaType};
use ospf::packet::{Body, Description, Head, Hello, PacketType, Writer};
use ospf::{Authentication, Prefix};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn finish(writer: Writer) -> Vec<u8> {
    writer.finish(&Authentication::Null, 0).unwrap()
}

#[test]
fn a_hello_is_written_and_read_octet_by_octet() {
    let hello = Hello {
        mask: 0xFFFF_FF00,
        interval_s: 10,
        options: 2,
        priority: 1,
        dead_s: 40,
        designated: Ipv4Addr::new(10, 0, 0, 1),
        backup: Ipv4Addr::new(10, 0, 0, 2),
        neighbours: vec![0x0102_0304],
    };
    let octets = finish(Writer::new(PacketType::Hello, 0x0909_0909, 1).hello(&hello));
    // The checksum was computed by hand: the words' sum in ones' complement.
    let words: [u8; 48] = [
        2, 1, 0, 48, 9, 9, 9, 9, 0, 0, 0, 1, octets[12], octets[13], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        255, 255, 255, 0, 0, 10, 2, 1, 0, 0, 0, 40, 10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4,
    ];
    assert_eq!(octets, words);
    let sum: u32 = words.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum();
    assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
    let (head, packet) = Head::read(&octets).unwrap();
    assert_eq!((head.kind, head.router, head.area), (PacketType::Hello, 0x0909_0909, 1));
    let Body::Hello(read) = Body::read(head.kind, packet).unwrap() else { panic!() };
    assert_eq!(read, hello);
}

#[test]
fn descriptions_requests_and_acknowledgments_are_read_as_they_were_written() {
    let key = Key { kind: LsaType::External, id: 7, router: 9 };
    let header = Header { age: 3, options: 2, key, sequence: -5, checksum: 0xABCD, length: 36 };
    let description =
        Description { mtu: 1_500, options: 0x42, flags: 3, sequence: 77, headers: vec![header; 3] };
    let octets = finish(Writer::new(PacketType::Description, 1, 0).description(&description));
    let (head, packet) = Head::read(&octets).unwrap();
    let Body::Description(read) = Body::read(head.kind, packet).unwrap() else { panic!() };
    assert_eq!(read, description);
    let octets = finish(Writer::new(PacketType::Request, 1, 0).request(&[key, key]));
    let (head, packet) = Head::read(&octets).unwrap();
    let Body::Request(read) = Body::read(head.kind, packet).unwrap() else { panic!() };
    assert_eq!(read, [key, key]);
    let octets = finish(Writer::new(PacketType::Acknowledgment, 1, 0).headers(&[header]));
    let (head, packet) = Head::read(&octets).unwrap();
    let Body::Acknowledgment(read) = Body::read(head.kind, packet).unwrap() else { panic!() };
    assert_eq!(read, [header]);
    for cut in 0..octets.len() {
        assert!(Head::read(&octets[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_prefix_has_what_is_in_it() {
    let prefix = Prefix::new(0x0A01_02FF, 24);
    assert_eq!((prefix.address, prefix.mask()), (0x0A01_0200, 0xFFFF_FF00));
    assert!(prefix.has(0x0A01_0201) && !prefix.has(0x0A01_0301));
    assert!(Prefix::new(5, 0).has(u32::MAX));
    assert_eq!(prefix.to_string(), "10.1.2.0/24");
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        for kind in PacketType::ALL {
            let _ = Body::read(*kind, &octets);
        }
        let _ = Head::read(&octets);
    }
}
