//! The laws of every backend, of rows in memory alone, with a journal and with another node
//! besides; `lab/peers` holds them before a real Cassandra.

use crate::laws;
use crate::world::World;

fn in_memory(law: fn(&mut laws::Fresh<'_>)) {
    law(&mut |limits| World::opened(limits, None));
}

fn in_a_journal(law: fn(&mut laws::Fresh<'_>)) {
    let folder = tempfile::tempdir().expect("there is room");
    law(&mut |limits| World::opened(limits, Some(&folder.path().join("rows"))));
}

fn in_a_pair(law: fn(&mut laws::Fresh<'_>)) {
    let folder = tempfile::tempdir().expect("there is room");
    let [one, other] = ["one", "other"].map(|it| folder.path().join(it));
    law(&mut |limits| World::paired(limits, [&one, &other]));
}

#[test]
fn a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over() {
    for each in [in_memory, in_a_journal, in_a_pair] {
        each(laws::a_row_is_what_was_put_last_until_it_is_taken_or_its_time_is_over);
    }
}

#[test]
fn questions_of_one_key_are_answered_in_their_order() {
    for each in [in_memory, in_a_journal, in_a_pair] {
        each(laws::questions_of_one_key_are_answered_in_their_order);
    }
}

#[test]
fn beyond_its_limits_nothing_is_taken_and_what_stands_stays() {
    for each in [in_memory, in_a_journal, in_a_pair] {
        each(laws::beyond_its_limits_nothing_is_taken_and_what_stands_stays);
    }
}

#[test]
fn what_was_promised_to_the_disk_is_there_again_and_what_was_taken_is_not() {
    for each in [in_a_journal, in_a_pair] {
        each(laws::what_was_promised_to_the_disk_is_there_again_and_what_was_taken_is_not);
    }
}
