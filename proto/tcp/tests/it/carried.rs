//! A connection that another process goes on with, and what waits until that one has it.

use machine::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr};
use tcp::{Connection, Flags, INCOMING_MAX, Segment, State, Why};

const ENDS: (IpAddr, IpAddr) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));

fn after(number: u32, octets: u32) -> u32 {
    number.wrapping_add(octets)
}

struct Pair {
    now: Time,
    here: Connection,
    there: Connection,
}

/// All segments of one reach the other; how many carried octets, and how many did not.
fn pass(now: Time, from: &mut Connection, to: &mut Connection) -> (usize, usize) {
    let (mut with, mut without) = (0, 0);
    let mut octets = Vec::new();
    while from.next(now, ENDS, &mut octets) {
        let segment = Segment::read(&octets).unwrap();
        match segment.payload.is_empty() {
            true => without += 1,
            false => with += 1,
        }
        to.receive(now, &segment);
        octets.clear();
    }
    (with, without)
}

impl Pair {
    fn new() -> Self {
        let now = Time::from_millis(1_000);
        let mut here = Connection::open(now, (1, 2), u32::MAX - 10, 1_000);
        let mut octets = Vec::new();
        assert!(here.next(now, ENDS, &mut octets));
        let syn = Segment::read(&octets).unwrap();
        let there = Connection::accept(now, &syn, u32::MAX - 20, 1_000).unwrap();
        let mut it = Self { now, here, there };
        it.settle();
        assert_eq!(it.here.state(), State::Established);
        it
    }

    fn settle(&mut self) -> [(usize, usize); 2] {
        let mut all = [(0, 0); 2];
        loop {
            let one = pass(self.now, &mut self.here, &mut self.there);
            let other = pass(self.now, &mut self.there, &mut self.here);
            if (one, other) == ((0, 0), (0, 0)) {
                return all;
            }
            all[0] = (all[0].0 + one.0, all[0].1 + one.1);
            all[1] = (all[1].0 + other.0, all[1].1 + other.1);
        }
    }

    fn waits(&mut self, time: Duration) {
        self.now += time;
        self.here.tick(self.now);
        self.there.tick(self.now);
    }
}

#[test]
fn what_the_other_process_has_not_does_not_leave_and_is_not_acknowledged() {
    let mut pair = Pair::new();
    pair.here.hold();
    pair.here.send(&[7; 2_500]);
    assert_eq!(pair.settle(), [(0, 0); 2]);
    let at = pair.here.position().unwrap();
    pair.here.release(at.nxt, after(at.una, 1_500));
    pair.settle();
    assert_eq!(pair.there.incoming().len(), 1_500);
    pair.here.release(at.nxt, after(at.una, 2_500));
    pair.settle();
    assert_eq!(pair.there.incoming().len(), 2_500);
    // The other way: octets are taken here, and not acknowledged.
    pair.there.send(&[9; 3_000]);
    let [ours, theirs] = pair.settle();
    assert_eq!((ours, pair.here.incoming().len()), ((0, 0), 3_000));
    assert!(theirs.0 >= 3 && pair.there.waiting() == 3_000, "{theirs:?}");
    pair.here.incoming().clear();
    // What comes again is no reason to say the old number again.
    pair.waits(Duration::from_secs(2));
    assert_eq!(pair.settle()[0], (0, 0));
    pair.here.release(after(at.nxt, 1_000), after(at.una, 2_500));
    pair.settle();
    assert_eq!(pair.there.waiting(), 2_000);
    pair.here.let_go();
    pair.settle();
    assert_eq!(pair.there.waiting(), 0);
    assert_eq!(pair.here.incoming().len(), 0, "nothing came twice");
}

#[test]
fn the_window_does_not_close_by_what_waits_for_the_other_process_alone() {
    let mut pair = Pair::new();
    pair.here.hold();
    let mut taken = 0;
    for _ in 0..100 {
        pair.there.send(&[1; 10_000]);
        pair.settle();
        taken += pair.here.incoming().len();
        pair.here.incoming().clear();
        pair.waits(Duration::from_secs(1));
    }
    assert!(taken <= INCOMING_MAX, "{taken} octets are held for the far end to send again");
    let nxt = pair.here.position().unwrap().nxt;
    pair.here.release(nxt, 0);
    pair.settle();
    assert!(pair.here.incoming().len() > 1_000, "it goes on");
}

#[test]
fn another_process_goes_on_with_all_that_was_told_of_it() {
    let mut pair = Pair::new();
    pair.here.send(&[1; 500]);
    pair.settle();
    pair.there.incoming().clear();
    // These were told, and have left or not.
    pair.here.send(&[2; 3_000]);
    let at = pair.here.position().unwrap();
    pair.there.send(&[3; 700]);
    let kept: Vec<u8> = pair.here.unacknowledged(0).copied().collect();
    let mut lost = Vec::new();
    assert!(pair.here.next(pair.now, ENDS, &mut lost));
    let first = Segment::read(&lost).unwrap();
    pair.there.receive(pair.now, &first);
    pair.here = Connection::resume(pair.now, (1, 2), 1_000, &at, kept.into_iter());
    pair.settle();
    assert_eq!(*pair.there.incoming(), [2; 3_000]);
    assert_eq!(*pair.here.incoming(), [3; 700]);
    pair.here.send(&[4; 10]);
    pair.settle();
    assert_eq!((pair.there.incoming().len(), pair.here.waiting()), (3_010, 0));
}

#[test]
fn who_goes_on_with_less_than_the_far_end_knows_ends_it() {
    let mut pair = Pair::new();
    let at = pair.here.position().unwrap();
    pair.here.send(&[5; 100]);
    pair.settle();
    pair.here = Connection::resume(pair.now, (1, 2), 1_000, &at, [].into_iter());
    pair.here.send(&[6; 200]);
    pair.settle();
    assert_eq!((pair.here.state(), pair.there.state()), (State::Closed, State::Closed));
    assert_eq!(*pair.there.incoming(), [5; 100], "nothing was put behind what it had");
}

#[test]
fn nothing_new_leaves_before_the_far_end_was_heard_which_is_asked_again_for_a_while() {
    let mut pair = Pair::new();
    let at = pair.here.position().unwrap();
    pair.here = Connection::resume(pair.now, (1, 2), 1_000, &at, [].into_iter());
    pair.here.send(b"new");
    let mut asked = 0;
    let mut deaf = Connection::open(pair.now, (2, 1), 1, 1_000);
    for _ in 0..100 {
        let (with, without) = pass(pair.now, &mut pair.here, &mut deaf);
        assert_eq!(with, 0);
        asked += without;
        pair.waits(Duration::from_secs(1));
    }
    assert!((4..12).contains(&asked), "{asked}");
    assert_eq!((pair.here.state(), pair.here.why()), (State::Closed, Some(Why::Silence)));
    // What it has says the first answer, and the rest follows.
    let mut pair = Pair::new();
    let at = pair.here.position().unwrap();
    pair.here = Connection::resume(pair.now, (1, 2), 1_000, &at, [].into_iter());
    pair.here.send(b"new");
    pair.settle();
    assert_eq!(*pair.there.incoming(), b"new");
    assert_eq!(pair.here.deadline(), None);
}

#[test]
fn a_number_that_fits_by_chance_ends_nothing() {
    let pair = Pair::new();
    let at = pair.here.position().unwrap();
    let mut it = Connection::resume(pair.now, (1, 2), 1_000, &at, [].into_iter());
    let far = Segment {
        source: 2,
        destination: 1,
        seq: after(at.nxt, 1),
        ack: after(at.una, 1_000),
        flags: Flags::ACK,
        window: 1_000,
        mss: None,
        payload: &[],
    };
    it.receive(pair.now, &far);
    assert_eq!(it.state(), State::Established);
}
