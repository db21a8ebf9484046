//! One set of tests for every backend: rows in memory alone, and with a journal.

use crate::world::{LIMITS, World};
use keyed::{Answer, Limits, Promise, Question};
use std::path::Path;
use std::time::Duration;

fn each(test: fn(Option<&Path>)) {
    test(None);
    let folder = tempfile::tempdir().expect("there is room");
    test(Some(&folder.path().join("rows")));
}

#[test]
fn a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over() {
    each(|at| {
        let mut world = World::opened(LIMITS, at);
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
    });
}

#[test]
fn questions_of_one_key_are_answered_in_their_order() {
    each(|at| {
        let mut world = World::opened(LIMITS, at);
        let key = b"k".to_vec();
        let until = world.now + Duration::from_secs(60);
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
    });
}

#[test]
fn beyond_its_limits_nothing_is_taken_and_what_stands_stays() {
    each(|at| {
        let mut world = World::opened(Limits { rows_max: 2, octets_max: 2_000 }, at);
        assert!(world.put("a", "1", 60, Promise::Disk) && world.put("b", "1", 60, Promise::Disk));
        assert!(!world.put("c", "1", 60, Promise::Disk), "there are two");
        assert!(!world.put("a", &"x".repeat(2_000), 60, Promise::Disk), "it is too large");
        assert!(world.put("a", "2", 60, Promise::Memory), "another in its place");
        assert_eq!(world.row("a").as_deref(), Some("2"));
        world.take("b");
        assert!(world.put("c", "1", 60, Promise::Disk));
        let keys: Vec<_> = world.store.beginning(world.now, b"").map(|it| it.0.to_vec()).collect();
        assert_eq!(keys, [b"a", b"c"]);
    });
}
