//! Times: what is agreed on, jitter, and changes while a session is up.

use crate::field::{Field, ms, neighbour};
use bfd::{In, Packet, SessionSettings, State, Timers};
use machine::{Duration, Time};

fn gaps(sent: &[(Time, Vec<u8>)], from: Time) -> Vec<Duration> {
    let times: Vec<Time> = sent.iter().map(|it| it.0).filter(|at| *at >= from).collect();
    times.windows(2).map(|pair| pair[1].since(pair[0])).collect()
}

#[test]
fn each_side_sends_at_the_slower_of_its_wish_and_the_others_ability_with_jitter() {
    let timers = [(20, 50), (30, 100)].map(|(transmit, receive)| Timers {
        desired_min_tx: ms(transmit),
        required_min_rx: ms(receive),
        ..Timers::every(ms(1), 4)
    });
    let settings = [0, 1].map(|side| SessionSettings::new(neighbour(side), timers[side]));
    let mut field = Field::new(2, settings);
    field.run(ms(5_000));
    let from = field.now;
    field.run(ms(20_000));
    for (side, interval) in [(0, 100), (1, 50)] {
        let gaps = gaps(&field.sides[side].sent, from);
        let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!(*least >= ms(interval) * 3 / 4 && *most <= ms(interval), "{least:?} {most:?}");
        assert!(*most - *least > ms(interval) / 8, "they differ");
        let summary = field.sides[1 - side].machine.summary(field.sides[1 - side].id).unwrap();
        assert_eq!(summary.detection_time, ms(interval) * 4);
    }
}

#[test]
fn with_a_multiplier_of_one_packets_leave_a_tenth_early() {
    let timers = Timers::every(ms(40), 1);
    let settings = [0, 1].map(|side| SessionSettings::new(neighbour(side), timers));
    let mut field = Field::new(2, settings);
    field.delay = ms(0);
    field.run(ms(5_000));
    let from = field.now;
    field.run(ms(20_000));
    assert!(field.are_up());
    assert!(gaps(&field.sides[0].sent, from).iter().all(|gap| *gap <= ms(36)));
}

#[test]
fn a_session_that_is_not_up_says_and_does_a_second() {
    let mut field = Field::plain(ms(5));
    field.loss = [100, 100];
    field.run(ms(60_000));
    let sent = &field.sides[0].sent;
    assert!((60..=82).contains(&sent.len()), "{}", sent.len());
    let packet = Packet::read(&sent[9].1).unwrap().0;
    assert_eq!((packet.desired_min_tx_us, packet.state), (1_000_000, State::Down));
}

#[test]
fn times_that_change_are_negotiated_by_poll_and_final_without_a_gap() {
    let mut field = Field::plain(ms(10));
    field.run(ms(5_000));
    for (interval, side) in [(300, 0), (20, 1), (5, 0), (50, 1), (1_000, 0), (10, 0), (10, 1)] {
        let id = field.sides[side].id;
        field.step(side, In::TimersChanged(id, Timers::every(ms(interval), 3)));
        let before = field.sides[side].sent.len();
        field.run(ms(4_000));
        assert!(field.are_up(), "{interval}");
        let first = Packet::read(&field.sides[side].sent[before].1).unwrap().0;
        assert!(first.poll || before > 0, "{first:?}");
        let last = Packet::read(&field.sides[side].sent.last().unwrap().1).unwrap().0;
        assert!(!last.poll, "the sequence has ended");
    }
    assert!(field.sides.iter().all(|side| side.states.len() <= 2), "no session went down");
    let id = field.sides[0].id;
    assert_eq!(field.sides[0].machine.summary(id).unwrap().interval, ms(10));
}

#[test]
fn a_longer_interval_is_used_only_when_the_peer_has_agreed() {
    let mut field = Field::plain(ms(10));
    field.run(ms(5_000));
    field.loss = [100, 0];
    let id = field.sides[0].id;
    field.step(0, In::TimersChanged(id, Timers::every(ms(2_000), 3)));
    let from = field.now;
    field.run(ms(25));
    let sent = field.sides[0].sent.iter().filter(|it| it.0 >= from);
    let polls = sent.filter(|it| Packet::read(&it.1).unwrap().0.poll).count();
    assert!(polls >= 3, "it goes on at 10 ms with Poll: {polls}");
}

#[test]
fn nobody_can_ask_for_less_than_is_allowed_or_hold_a_session_for_days() {
    let mut field = Field::plain(Duration::from_micros(3));
    field.run(ms(5_000));
    let of = |field: &Field| field.sides[0].machine.summary(field.sides[0].id).unwrap();
    assert_eq!(of(&field).interval, ms(5));
    let id = field.sides[1].id;
    let slow = Timers { detect_mult: 255, ..Timers::every(ms(60_000), 3) };
    field.step(1, In::TimersChanged(id, slow));
    field.run(ms(100));
    assert_eq!(of(&field).detection_time, ms(300_000), "255 minutes were asked for");
}
