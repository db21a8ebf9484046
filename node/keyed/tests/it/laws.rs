//! What every backend does. `fresh` gives a store that is open and has no row.

use super::world::World;
use keyed::{Answer, Limits, Promise, Question};
use std::time::Duration;

/// Stores that begin empty, within limits.
pub type Fresh<'a> = dyn FnMut(Limits) -> World + 'a;

pub fn a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over(fresh: &mut Fresh<'_>) {
    let mut world = fresh(super::world::LIMITS);
    for promise in [Promise::Memory, Promise::Disk] {
        assert_eq!(world.row("a"), None);
        assert!(world.put("a", "one", 60, promise) && world.put("a", "two", 9, promise));
        assert_eq!(world.row("a").as_deref(), Some("two"));
        assert_eq!(world.take("a"), Answer::Row(Some(b"two".to_vec())));
        assert_eq!(world.take("a"), Answer::Row(None));
        assert!(world.put("a", "three", 9, promise));
        world.now += Duration::from_secs(9);
        assert_eq!((world.row("a"), world.take("a")), (None, Answer::Row(None)));
    }
}

pub fn questions_of_one_key_are_answered_in_their_order(fresh: &mut Fresh<'_>) {
    let mut world = fresh(super::world::LIMITS);
    let until = world.now + Duration::from_secs(60);
    let key = world.key("k");
    for (ticket, row) in [(1, b"1"), (2, b"2"), (3, b"3")] {
        let (key, row) = (key.clone(), row.to_vec());
        let put = Question::Put { key, row, until, promise: Promise::Disk };
        world.store.ask(world.now, ticket, put);
    }
    let mut tickets = Vec::new();
    world.until(|it| {
        tickets.extend(it.store.answer().map(|it| it.0));
        tickets.len() == 3
    });
    assert_eq!(tickets, [1, 2, 3]);
    assert_eq!(world.row("k").as_deref(), Some("3"));
}

/// Of rows that stand in this node's memory.
pub fn beyond_its_limits_nothing_is_taken_and_what_stands_stays(fresh: &mut Fresh<'_>) {
    let mut world = fresh(Limits { rows_max: 2, octets_max: 4_000 });
    assert!(world.put("a", "1", 60, Promise::Disk) && world.put("b", "1", 60, Promise::Disk));
    assert!(!world.put("c", "1", 60, Promise::Disk), "there are two");
    assert!(!world.put("a", &"x".repeat(4_000), 60, Promise::Disk), "it is too large");
    assert!(world.put("a", "2", 60, Promise::Memory), "another in its place");
    assert_eq!(world.row("a").as_deref(), Some("2"));
    world.take("b");
    assert!(world.put("c", "1", 60, Promise::Disk));
    let begin = world.key("");
    let keys: Vec<_> = world.store.beginning(world.now, &begin).map(|it| it.0.to_vec()).collect();
    assert_eq!(keys, [world.key("a"), world.key("c")]);
}

/// Of backends that outlive a process.
pub fn what_was_promised_to_the_disk_is_there_again_and_what_was_taken_is_not(
    fresh: &mut Fresh<'_>,
) {
    let mut world = fresh(super::world::LIMITS);
    for n in 0..100 {
        assert!(world.put(&format!("k{n}"), &n.to_string(), 600, Promise::Disk));
    }
    assert!(world.put("k7", "other", 600, Promise::Disk));
    assert_eq!(world.take("k9"), Answer::Row(Some(b"9".to_vec())));
    // What comes after it on its way has the disk, too.
    assert!(world.put("k0", "last", 600, Promise::Disk));
    let mut world = world.again();
    let rows = ["k0", "k1", "k7", "k9", "k99"].map(|it| world.row(it));
    let expected = [Some("last"), Some("1"), Some("other"), None, Some("99")];
    assert_eq!(rows.each_ref().map(Option::as_deref), expected);
}
