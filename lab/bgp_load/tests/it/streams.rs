//! Comparing says the same as decoding, and a difference is found wherever it stands.

use bgp::codec::{Context, MESSAGE_BYTES_MAX, Messages, Peering, keepalive};
use bgp::family::{Family, FamilySet};
use bgp::pack::end_of_rib;
use bgp_load::{Contents, InternetShape, Keys, Origin, Random, Reader, Streams, Sum, Table};

const CONTEXT: Context = Context {
    peering: Peering::Internal,
    four_octet_as: true,
    families: FamilySet::only(Family::Ipv4Unicast),
    add_path: FamilySet::EMPTY,
    extended_next_hop: FamilySet::EMPTY,
    multiple_labels: FamilySet::EMPTY,
    aigp: false,
    first_as: None,
};
const ORIGIN: Origin = Origin { client: 900, cluster: 1 };

fn table() -> Table {
    InternetShape { prefixes: 4_000, sets: 600, seed: 3 }.table()
}

/// The octets of the table announced, and then of a third of it withdrawn.
fn stream(keys: &mut Keys) -> Vec<u8> {
    let table = table();
    let mut third = table.clone();
    third.prefixes.truncate(200);
    let mut octets = table.announce(&ORIGIN, 0, keys).octets.to_vec();
    octets.extend_from_slice(&third.withdraw().octets);
    octets
}

/// What is held after every message was decoded.
fn decoded(octets: &[u8]) -> (Sum, u64) {
    let (mut contents, mut keys) = (Contents::new(), Keys::new());
    for (_, message) in Messages::new(octets, MESSAGE_BYTES_MAX) {
        contents.update(&mut keys, message, &CONTEXT);
    }
    (contents.held_without(usize::MAX), contents.updates())
}

/// Readers that get their streams in pieces of random length, in turn.
fn read(streams: &mut Streams, octets: &[&[u8]], seed: u64) -> Vec<Reader> {
    let mut random = Random::new(seed);
    let mut readers: Vec<_> = octets.iter().map(|_| Reader::new(streams, CONTEXT)).collect();
    let mut states = vec![(0, Vec::new()); octets.len()];
    while states.iter().zip(octets).any(|((at, _), octets)| *at < octets.len()) {
        let which = random.below(octets.len() as u64) as usize;
        let (at, cut) = &mut states[which];
        let end = octets[which].len().min(*at + random.below(9_000) as usize);
        cut.extend_from_slice(&octets[which][*at..end]);
        *at = end;
        let taken = std::mem::take(cut);
        *cut = readers[which].take(streams, &taken, &mut Vec::new());
    }
    assert!(states.iter().all(|(_, cut)| cut.is_empty()), "streams end with whole messages");
    readers
}

/// What each reader holds at the end; all of these streams end where a reference does.
fn held(streams: &Streams, readers: &[Reader]) -> Vec<(Sum, u64)> {
    let contents = readers.iter().map(|reader| reader.contents(streams).unwrap());
    contents.map(|it| (it.held_without(usize::MAX), it.updates())).collect()
}

#[test]
fn equal_streams_are_decoded_once_and_hold_what_decoding_each_would_give() {
    for seed in 0..20 {
        let mut streams = Streams::new(Keys::new());
        let octets = stream(&mut streams.keys);
        let readers = read(&mut streams, &[octets.as_slice(); 5], seed);
        assert_eq!(held(&streams, &readers), vec![decoded(&octets); 5]);
        assert_eq!(streams.references(), 1);
        assert!(readers.iter().all(|reader| !reader.is_alone()));
    }
}

#[test]
fn what_is_no_route_may_stand_anywhere() {
    let mut streams = Streams::new(Keys::new());
    let octets = stream(&mut streams.keys);
    let mut random = Random::new(5);
    let mut other = Vec::new();
    for (_, message) in Messages::new(&octets, MESSAGE_BYTES_MAX) {
        match random.below(20) {
            0 => keepalive(&mut other),
            1 => end_of_rib(Family::Ipv4Unicast, &mut other),
            _ => {}
        }
        other.extend_from_slice(message);
    }
    let readers = read(&mut streams, &[octets.as_slice(), &other, &octets, &other], 6);
    assert_eq!(held(&streams, &readers), vec![decoded(&octets); 4]);
    assert_eq!(streams.references(), 1);
}

/// Every message in another order, a message left out, a message twice, one octet changed.
fn damaged(octets: &[u8], random: &mut Random) -> Vec<u8> {
    let messages: Vec<&[u8]> = Messages::new(octets, MESSAGE_BYTES_MAX).map(|it| it.1).collect();
    let at = random.below(messages.len() as u64 - 1) as usize;
    let mut changed: Vec<Vec<u8>> = messages.iter().map(|message| message.to_vec()).collect();
    match random.below(4) {
        0 => _ = changed.remove(at),
        1 => changed.swap(at, at + 1),
        2 => changed.insert(at, changed[at].clone()),
        _ => {
            // The last octet of a prefix, or of what is withdrawn: another route.
            let last = changed[at].len() - 1;
            changed[at][last] ^= 1;
        }
    }
    changed.concat()
}

#[test]
fn different_streams_hold_what_decoding_each_would_give_whoever_is_first() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut streams = Streams::new(Keys::new());
        let octets = stream(&mut streams.keys);
        let all: Vec<Vec<u8>> = (0..14).map(|_| damaged(&octets, &mut random)).collect();
        let mut all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        all.push(&octets);
        let expected: Vec<_> = all.iter().map(|octets| decoded(octets)).collect();
        let readers = read(&mut streams, &all, seed);
        assert_eq!(held(&streams, &readers), expected, "seed {seed}");
        assert!(streams.references() <= bgp_load::REFERENCES_MAX);
    }
}

#[test]
fn a_dropped_prefix_a_wrong_attribute_and_a_missing_withdrawal_are_found() {
    let mut keys = Keys::new();
    let table = table();
    let feed = table.announce(&ORIGIN, 0, &mut keys);
    let reflected = reflected(&table);
    assert_eq!(decoded(&reflected).0, feed.sum, "what a reflector sends is what is expected");

    let mut dropped = table.clone();
    dropped.prefixes[300].pop();
    assert_ne!(decoded(&self::reflected(&dropped)).0, feed.sum);

    let mut wrong = table.clone();
    let last = wrong.sets[300][0].len() - 1;
    wrong.sets[300][0][last] ^= 1;
    let wrong = decoded(&self::reflected(&wrong)).0;
    assert!(wrong != feed.sum && wrong.held == feed.sum.held);

    // Without ORIGINATOR_ID and CLUSTER_LIST.
    assert_ne!(decoded(&feed.octets).0, feed.sum);

    let withdrawal = table.withdraw().octets;
    let gone = decoded(&[&reflected[..], &withdrawal].concat());
    assert_eq!(gone, (Sum::default(), 2 * feed.routes));
    let mut kept = table.clone();
    kept.prefixes[17].pop();
    let kept = decoded(&[&reflected[..], &kept.withdraw().octets].concat()).0;
    assert_eq!(kept.held, 1);
}

/// What a right reflector makes of the table.
fn reflected(table: &Table) -> Vec<u8> {
    use bgp::codec::{Attributes, Update, reflect};
    use bgp::pack::{Announcement, Limits};
    let octets = table.announce(&ORIGIN, 0, &mut Keys::new()).octets;
    let mut out = Vec::new();
    let limits = Limits { message_max: MESSAGE_BYTES_MAX, add_path: false };
    for (_, message) in Messages::new(&octets, MESSAGE_BYTES_MAX) {
        let update = Update::read(message, &CONTEXT).unwrap();
        if update.announced().is_empty() {
            continue;
        }
        let mut scratch = Vec::new();
        let attributes = update.canonical(&mut scratch).to_vec();
        assert!(Attributes::new(&attributes).all(|it| it.is_ok()));
        let mut with = Vec::new();
        let identifier = bgp_load::Plan::identifier(ORIGIN.client);
        assert!(reflect(&attributes, identifier, ORIGIN.cluster, &mut with));
        let mut packing = Announcement::plain(limits, &with, &mut out).unwrap();
        update.announced().for_each(|route| packing.route(0, route.wire).unwrap());
        packing.finish();
    }
    out
}
