//! What is written is read as it was; what differs between writers becomes the same.

use crate::every::{self, hex};
use bgp::codec::{MessageType, Update};
use bgp::family::{Family, Ipv4Prefix};
use mrt::{
    Body, FsmState, Full, Kind, Path, PeerIndexTable, RECORD_BYTES_MAX, Record, Records,
    RibEntries, RibRecord, TableSubtype, canonical, short_next_hop, write_peer_index_table,
};
use std::borrow::Cow;

fn bodies(file: &[u8]) -> Vec<Body<'_>> {
    Records::new(file).map(|record| record.unwrap().read().unwrap()).collect()
}

#[test]
fn a_table_is_read_as_it_was_written() {
    for add_path in [false, true] {
        let file = every::table(add_path);
        let all = bodies(&file);
        let Body::PeerIndexTable(PeerIndexTable { collector, view, peers }) = &all[0] else {
            panic!("{:?}", all[0]);
        };
        assert_eq!((*collector, *view), (0x0A00_0064, &b"all"[..]));
        assert_eq!(peers.collect::<Vec<_>>(), every::peers());
        for (index, (body, (family, nlri, next_hop))) in
            all[1..].iter().zip(every::routes()).enumerate()
        {
            let Body::Rib(rib) = body else { panic!("{body:?}") };
            assert_eq!((rib.sequence, rib.family, rib.nlri), (index as u32, family, &nlri[..]));
            assert_eq!(rib.entries.have_path_ids(), add_path);
            let ids: Vec<u32> = rib.entries.map(|entry| entry.path_id).collect();
            assert_eq!(ids, if add_path { [7, 8] } else { [0, 0] });
            assert_eq!(rib.entries.len(), 2);
            assert!(next_hop.is_none() || family != Family::Ipv4Unicast);
        }
        assert_eq!(all.len(), 7);
    }
}

#[test]
fn the_paths_of_a_table_come_with_peer_key_next_hop_and_attributes() {
    let file = every::table(true);
    let entries: Vec<_> = RibEntries::new(&file).map(Result::unwrap).collect();
    assert_eq!(entries.len(), 12);
    for (index, entry) in entries.iter().enumerate() {
        let (family, nlri, next_hop) = &every::routes()[index / 2];
        let peer = every::peers()[index % 2];
        assert_eq!((entry.family, &entry.nlri[..], entry.peer), (*family, &nlri[..], peer));
        assert_eq!(
            (entry.path_id, usize::from(entry.peer_index)),
            (7 + index as u32 % 2, index % 2)
        );
        let expected = next_hop.clone().unwrap_or_else(|| hex("c0000209"));
        assert_eq!(entry.next_hop(), Some(&expected[..]));
        assert!(matches!(entry.attributes, Cow::Borrowed(_)));
        let mut set = Vec::new();
        entry.write_set(&mut set);
        assert_eq!(set, every::attributes(next_hop.is_none()));
        assert_eq!(entry.originated_s, every::SECONDS - 100);
    }
    assert_eq!(entries[0].ipv4(), Ipv4Prefix::new([192, 0, 2, 0].into(), 24));
    assert_eq!(entries[4].ipv6().unwrap().to_string(), "2001:db8::/32");
    assert_eq!((entries[4].ipv4(), entries[0].ipv6()), (None, None));
    let keys: Vec<String> =
        entries.iter().step_by(2).map(|it| it.key().unwrap().to_string()).collect();
    assert_eq!(keys[5], "65000:42:192.0.2.0/24");
    assert_eq!(keys[3], "10.0.0.0/8");
}

#[test]
fn messages_and_changes_of_state_are_read_as_they_were_written() {
    let file = every::messages();
    let records: Vec<Record<'_>> = Records::new(&file).map(Result::unwrap).collect();
    let per_stamp = records.len() / 2;
    for (half, stamp) in records.chunks(per_stamp).zip(every::stamps()) {
        let mut forms = every::forms().into_iter().flat_map(|form| [(form, false), (form, true)]);
        for record in half {
            assert_eq!(
                (record.seconds, record.microseconds()),
                (stamp.seconds, stamp.microseconds)
            );
            match record.read().unwrap() {
                Body::Message(it) if it.kind == MessageType::Keepalive => {
                    let (form, is_ipv6) = forms.next().unwrap();
                    let mut ends = every::ends(is_ipv6);
                    if !form.four_octet_as {
                        ends.peer_as = bgp::codec::AS_TRANS;
                    }
                    assert_eq!((it.ends, it.direction), (ends, form.direction));
                    assert_eq!(
                        (it.four_octet_as, it.add_path),
                        (form.four_octet_as, form.add_path)
                    );
                    assert_eq!(&file[it.at..it.at + it.message.len()], it.message);
                }
                Body::Message(it) => {
                    let update = Update::read(it.message, &it.context()).unwrap();
                    assert_eq!(update.announced().next().unwrap().to_string(), "192.0.2.0/24");
                }
                Body::StateChange(it) => {
                    let states = (Some(FsmState::OpenConfirm), Some(FsmState::Established));
                    assert_eq!((it.ends, (it.from, it.to)), (every::ends(true), states));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(forms.next(), None);
    }
}

#[test]
fn a_file_in_pieces_gives_the_same_records() {
    let file = every::table(false);
    let whole: Vec<_> = Records::new(&file).map(Result::unwrap).collect();
    for size in [1, 7, 100] {
        let (mut found, mut from) = (Vec::new(), 0);
        for to in (0..=file.len() + size).step_by(size) {
            let mut records = Records::piece(&file[from..to.min(file.len())], from);
            found.extend(records.by_ref().map(Result::unwrap));
            from = records.at();
        }
        assert_eq!(found, whole);
    }
    let mut cut = Records::new(&file[..file.len() - 1]);
    let error = cut.by_ref().last().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the record is cut off at byte {} (RFC 6396 §2)", whole[6].at)
    );
    assert_eq!(cut.next(), None);
}

#[test]
fn two_octet_ases_of_the_old_form_become_four_octets_with_the_path_behind_them() {
    // AS_PATH 65001 23456, AGGREGATOR 23456, AS4_PATH and AS4_AGGREGATOR of 4200000000.
    let attributes =
        hex("40 01 01 00  40 02 06 0202 fde9 5ba0  40 03 04 c0000209  c0 07 06 5ba0 0a000001
         c0 11 06 0201 fa56ea00  c0 12 08 fa56ea00 0a000001");
    let mut body = hex("0000 0001 c6336400 18 01");
    body.extend_from_slice(&every::SECONDS.to_be_bytes());
    body.extend_from_slice(&hex("c0000201 fde9"));
    body.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
    body.extend_from_slice(&attributes);
    let mut file = hex("6553f100 000c 0001");
    file.extend_from_slice(&(body.len() as u32).to_be_bytes());
    file.extend_from_slice(&body);
    let entry = RibEntries::new(&file).next().unwrap().unwrap();
    assert_eq!(entry.ipv4().unwrap().to_string(), "198.51.100.0/24");
    assert_eq!((entry.peer.asn, entry.peer.identifier), (65_001, 0));
    let expected = hex("40 01 01 00  40 02 0c 0201 0000fde9 0201 fa56ea00  40 03 04 c0000209
         c0 07 08 fa56ea00 0a000001");
    assert_eq!(entry.attributes, expected);
}

#[test]
fn a_whole_mp_reach_in_a_rib_entry_is_shortened() {
    let family = Family::Ipv6Unicast;
    let whole = hex("0002 01 10 20010db8000000000000000000000009 00 20 20010db8");
    let short = hex("10 20010db8000000000000000000000009");
    assert_eq!(short_next_hop(&whole, family), Some(&short[1..]));
    assert_eq!(short_next_hop(&short, family), Some(&short[1..]));
    assert_eq!(short_next_hop(&[0], Family::Ipv4FlowSpec), Some(&[][..]));
    assert_eq!(short_next_hop(&whole, Family::Ipv4Unicast), None);
    let mut attributes = hex("40 01 01 00");
    bgp::codec::write_attribute(0x80, 14, &whole, &mut attributes);
    let mut expected = hex("40 01 01 00");
    bgp::codec::write_attribute(0x80, 14, &short, &mut expected);
    assert_eq!(canonical(&attributes, 0, family, false).unwrap(), expected);
    let error = canonical(&attributes, 100, Family::Vpnv6, false).unwrap_err();
    assert_eq!((error.at, error.spec), (104, "RFC 6396 §4.3.4"));
}

fn begin(file: &mut Vec<u8>) -> RibRecord<'_> {
    RibRecord::begin(0, 1, Family::Ipv4Unicast, false, &[0], file)
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing_behind() {
    let mut file = Vec::new();
    let peer = every::peers()[0];
    assert_eq!(write_peer_index_table(0, 1, "", &vec![peer; 65_536], &mut file), Err(Full));
    assert_eq!(write_peer_index_table(0, 1, &"x".repeat(65_536), &[], &mut file), Err(Full));
    assert!(file.is_empty());
    assert_eq!(write_peer_index_table(0, 1, "", &vec![peer; 65_535], &mut file), Ok(()));
    assert_eq!(bodies(&file).len(), 1);
    file.clear();
    let path = |attributes| Path { peer: 0, originated_s: 0, id: 0, next_hop: None, attributes };
    assert_eq!(begin(&mut file).finish(), 0);
    drop(begin(&mut file));
    let long = vec![0; 65_536];
    assert_eq!(begin(&mut file).path(&path(&long)), Err(Full));
    assert!(file.is_empty());
    let mut record = begin(&mut file);
    let mut count = 0;
    while record.path(&path(&long[..65_535])).is_ok() {
        count += 1;
    }
    assert_eq!(record.finish(), count);
    assert!(file.len() <= RECORD_BYTES_MAX && usize::from(count) >= RECORD_BYTES_MAX / 65_600);
    let Body::Rib(rib) = bodies(&file)[0] else { panic!() };
    assert_eq!(rib.entries.len(), usize::from(count));
}

#[test]
fn every_type_and_subtype_has_its_number() {
    assert_eq!(Kind::ALL.iter().map(|it| it.number()).collect::<Vec<_>>(), [12, 13, 16, 17]);
    for subtype in TableSubtype::ALL {
        assert_eq!(TableSubtype::of(subtype.number()), Some(*subtype));
    }
}
