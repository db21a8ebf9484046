//! The table of last places.

use machine::{Duration, Time};
use sccp::codec::Digits;
use screening::{LastPlaces, Seen};

const DAY: Duration = Duration::from_secs(86_400);

fn imsi(number: u64) -> Digits {
    Digits::parse(&format!("26201{number:010}")).expect("digits")
}

fn seen(place: u16, at_s: u64) -> Seen {
    Seen { place, at: Time::ZERO + Duration::from_secs(at_s) }
}

#[test]
fn the_last_place_is_kept_for_its_time() {
    let mut places = LastPlaces::new(64, DAY, 1);
    places.learn(&imsi(1), seen(3, 10), 1);
    places.learn(&imsi(1), seen(4, 20), 1);
    let at = |s: u64| Time::ZERO + Duration::from_secs(s);
    assert_eq!(places.last(at(30), &imsi(1)), Some(seen(4, 20)));
    assert_eq!(places.last(at(20 + 86_400), &imsi(1)), None);
    assert_eq!(places.last(at(30), &imsi(2)), None);
    assert_eq!(places.len(), 1);
}

#[test]
fn the_table_is_bounded_and_who_makes_subscribers_up_drives_few_out() {
    const ROOM: u32 = 4_096;
    let mut places = LastPlaces::new(ROOM, DAY, 7);
    for number in 0..2_000 {
        places.learn(&imsi(number), seen(1, 10), 1);
    }
    let known = |places: &LastPlaces| {
        let now = Time::ZERO + Duration::from_secs(30);
        (0..2_000).filter(|it| places.last(now, &imsi(*it)).is_some()).count()
    };
    let before = known(&places);
    assert!(before > 1_900, "{before}");
    for number in 0..200_000 {
        places.learn(&imsi(1_000_000 + number), seen(2, 20), 2);
        assert!(places.len() <= ROOM as usize);
    }
    let after = known(&places);
    assert!(after * 2 > before, "{after} of {before} are left");
}

#[test]
fn without_room_nothing_is_known() {
    let mut places = LastPlaces::new(0, DAY, 1);
    places.learn(&imsi(1), seen(3, 10), 1);
    assert!(places.is_empty() && places.last(Time::ZERO, &imsi(1)).is_none());
}

#[test]
fn who_came_first_with_all_the_room_gives_the_others_theirs() {
    const ROOM: u32 = 4_096;
    let mut places = LastPlaces::new(ROOM, DAY, 7);
    for number in 0..200_000 {
        places.learn(&imsi(1_000_000 + number), seen(2, 10), 2);
    }
    let before = places.shed();
    for number in 0..2_000 {
        places.learn(&imsi(number), seen(1, 20), 1);
    }
    let now = Time::ZERO + Duration::from_secs(30);
    let known = (0..2_000).filter(|it| places.last(now, &imsi(*it)).is_some()).count();
    assert!(known > 1_800, "{known} of 2000 are known");
    assert!(places.shed() - before < 100, "{} were not kept", places.shed() - before);
}
