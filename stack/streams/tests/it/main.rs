//! Two ends whose packets pass a link that loses some: what they carry arrives whole, and who
//! proves nothing has no connection.

mod carrier;
mod floods;
mod world;

use machine::Duration;
use runtime::Secret;
use streams::{Event, Refused, Terms, Unmet};
use world::{ACCEPTED, HERE, HERE6, PORT, THERE, THERE6, World, open};

const SECOND: Duration = Duration::from_secs(1);

fn signed(key: &str) -> Terms {
    Terms { key: Some(Secret::new(key)), ..open() }
}

fn octets(events: &[Event<u32>]) -> Vec<u8> {
    let each = events.iter().filter_map(|it| match it {
        Event::Octets(_, octets) => Some(octets.clone()),
        _ => None,
    });
    each.flatten().collect()
}

#[test]
fn octets_arrive_whole_whatever_is_lost_of_either_family_with_a_key_or_without() {
    let payload: Vec<u8> = (0..1_000_000_u32).map(|n| (n / 7) as u8).collect();
    let cases = [(1, 0, HERE, THERE, open()), (2, 30, HERE, THERE, signed("key"))];
    let six = [(3, 30, HERE6, THERE6, open()), (4, 0, HERE6, THERE6, signed("key"))];
    for (seed, loss, here, there, terms) in cases.into_iter().chain(six) {
        let mut world = World::new(seed, loss);
        world.terms = terms.clone();
        world.open(1, here, there, terms);
        world.run(SECOND * 30);
        assert!(world.told[0].contains(&Event::Connected(1)), "seed {seed}");
        assert!(world.told[1].contains(&Event::Accepted(ACCEPTED + 1)), "seed {seed}");
        world.ends[0].write(1, &payload);
        world.run(SECOND * 600);
        assert_eq!(octets(&world.told[1]).len(), payload.len(), "seed {seed}");
        assert_eq!(octets(&world.told[1]), payload, "seed {seed}");
        let written = |it: &Event<u32>| match it {
            Event::Written(1, octets, _) => *octets,
            _ => 0,
        };
        assert_eq!(world.told[0].iter().map(written).sum::<usize>(), payload.len());
        let now = world.now;
        world.ends[0].close(now, 1);
        world.run(SECOND * 120);
        assert!(matches!(world.told[1].last(), Some(Event::Closed(_, Some(_)))));
        assert_eq!((world.ends[0].len(), world.ends[1].len()), (0, 0), "nothing is left");
        assert_eq!((world.ends[0].deadline(), world.ends[1].deadline()), (None, None));
    }
}

#[test]
fn who_has_another_key_or_comes_from_afar_has_no_connection_and_no_answer() {
    let near = Terms { hop_limit_min: 255, ..open() };
    let cases = [
        (open(), signed("key"), Unmet::NoSignature),
        (signed("another"), signed("key"), Unmet::WrongSignature),
        (signed("key"), open(), Unmet::UnknownSignature),
        (Terms { hop_limit: 254, ..open() }, near.clone(), Unmet::TooFar),
    ];
    for (ours, theirs, why) in cases {
        let mut world = World::new(5, 0);
        world.terms = theirs;
        world.open(1, HERE, THERE, ours);
        world.run(SECOND * 200);
        assert_eq!(world.told[1], []);
        assert!(matches!(world.told[0][..], [Event::Closed(1, Some(tcp::Why::Silence))]));
        assert_eq!(world.sent[1], 0, "nobody is answered");
        assert_eq!(world.refused[1].len(), world.sent[0]);
        assert!(world.refused[1].iter().all(|it| *it == Refused::Unmet(why)), "{why:?}");
    }
    let mut world = World::new(6, 0);
    world.terms = near.clone();
    world.open(1, HERE, THERE, near);
    world.run(SECOND * 5);
    assert!(world.told[0].contains(&Event::Connected(1)), "who is next door");
}

#[test]
fn one_far_end_has_few_connections_and_a_new_one_takes_the_place_of_a_half_open_one() {
    let mut world = World::new(7, 0);
    for id in 1..=4 {
        world.open(id, HERE, THERE, open());
    }
    world.run(SECOND * 5);
    assert_eq!(world.ends[1].len(), 4);
    world.open(5, HERE, THERE, open());
    world.run(SECOND * 5);
    assert!(world.told[0].contains(&Event::Closed(5, Some(tcp::Why::Reset))), "it is refused");
    // Who never answers has no place that somebody else needs.
    let mut world = World::new(8, 0);
    world.is_deaf = true;
    for id in 1..=20 {
        world.open(id, HERE, THERE, open());
    }
    world.run(SECOND);
    assert_eq!(world.ends[1].len(), 4);
    world.is_deaf = false;
    world.open(21, HERE, THERE, open());
    world.run(SECOND * 5);
    assert!(world.told[0].contains(&Event::Connected(21)));
}

#[test]
fn one_that_was_forgotten_on_the_other_side_ends_with_its_next_segment() {
    let mut world = World::new(9, 0);
    world.open(1, HERE, THERE, signed("key"));
    world.terms = signed("key");
    world.run(SECOND * 5);
    world.restart(1);
    world.ends[0].write(1, b"are you there");
    world.run(SECOND * 5);
    assert_eq!(world.told[0].last(), Some(&Event::Closed(1, Some(tcp::Why::Reset))));
    assert_eq!(PORT, 179);
}
