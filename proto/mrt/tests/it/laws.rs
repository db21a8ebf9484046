//! No octets make it panic, offsets lie in the file, and what is unknown is passed over.

use crate::every;
use mrt::{Body, Records, RibEntries};
use proptest::prelude::*;

fn walk(file: &[u8]) {
    for record in Records::new(file) {
        match record.and_then(|record| record.read()) {
            Ok(Body::PeerIndexTable(table)) => assert_eq!(table.peers.count(), table.peers.len()),
            Ok(Body::Rib(rib)) => assert_eq!(rib.entries.count(), rib.entries.len()),
            Ok(_) => {}
            Err(malformed) => assert!(malformed.at <= file.len(), "{malformed}"),
        }
    }
    let mut entries = 0;
    for entry in RibEntries::new(file) {
        match entry {
            Ok(entry) => {
                let _ = (entry.key(), entry.next_hop().map(<[u8]>::len));
                entry.write_set(&mut Vec::new());
            }
            Err(malformed) => assert!(malformed.at <= file.len(), "{malformed}"),
        }
        entries += 1;
    }
    assert!(entries <= file.len(), "each entry takes octets of the file");
}

proptest! {
    #[test]
    fn any_octets_are_read_without_panic(file in proptest::collection::vec(any::<u8>(), 0..300)) {
        walk(&file);
    }

    #[test]
    fn a_record_of_any_octets_is_read_without_panic(
        kind in prop::sample::select(vec![12u16, 13, 16, 17]),
        subtype in 0u16..14,
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut file = every::table(false);
        file.extend_from_slice(&[0; 4]);
        file.extend_from_slice(&kind.to_be_bytes());
        file.extend_from_slice(&subtype.to_be_bytes());
        file.extend_from_slice(&(body.len() as u32).to_be_bytes());
        file.extend_from_slice(&body);
        walk(&file);
    }

    #[test]
    fn damage_to_a_file_is_told_and_never_panics(
        add_path: bool,
        is_table: bool,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut file = if is_table { every::table(add_path) } else { every::messages() };
        for (index, octet) in changes {
            let at = index.index(file.len());
            file[at] = octet;
        }
        walk(&file);
    }
}

#[test]
fn records_of_other_kinds_are_passed_over() {
    // OSPFv2, GEO_PEER_TABLE, a RIB_GENERIC of AFI 9999, and a BGP4MP_SNAPSHOT.
    let unknown = [
        "00000000 000b 0000 00000002 abcd",
        "00000000 000d 0007 00000001 00",
        "00000000 000d 0006 00000009 00000000 270f 01 0000",
        "00000000 0010 0003 00000002 0000",
    ];
    let mut file: Vec<u8> = unknown.iter().flat_map(|text| every::hex(text)).collect();
    let before = Records::new(&file).count();
    assert_eq!(before, 4);
    assert!(Records::new(&file).all(|it| it.unwrap().read() == Ok(Body::Unknown)));
    file.extend_from_slice(&every::table(false));
    assert_eq!(RibEntries::new(&file).filter(Result::is_ok).count(), 12);
}

#[test]
fn a_length_beyond_the_limit_ends_the_reading() {
    let mut file = every::table(false);
    let at = file.len();
    file.extend_from_slice(&every::hex("00000000 000d 0001 01000001"));
    file.extend_from_slice(&every::table(false));
    let results: Vec<_> = Records::new(&file).collect();
    assert_eq!(results.len(), 8);
    assert_eq!(results[7].unwrap_err().at, at + 8);
}

#[test]
fn a_malformed_record_is_told_and_the_next_one_is_read() {
    let mut file = every::table(false);
    // The second record: its count of paths says one more than there are.
    let second = Records::new(&file).nth(1).unwrap().unwrap();
    let at = second.at + mrt::HEADER_BYTES + 4 + 4;
    file[at + 1] = 3;
    let entries: Vec<_> = RibEntries::new(&file).collect();
    assert_eq!((entries.len(), entries.iter().filter(|it| it.is_err()).count()), (11, 1));
}
