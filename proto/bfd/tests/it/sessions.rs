//! The life of a session.

use crate::field::{Field, ms, neighbour};
use bfd::{Diagnostic, In, Limits, Path, Role, SessionSettings, Sessions, State, Timers};
use machine::{Machine, Time};

#[test]
fn two_machines_come_up_by_init_or_directly_and_stay_up() {
    let mut field = Field::plain(ms(10));
    field.run(ms(2_500));
    assert!(field.are_up());
    for side in &field.sides {
        let states: Vec<State> = side.states.iter().map(|it| it.1).collect();
        assert!(states == [State::Init, State::Up] || states == [State::Up], "{states:?}");
    }
    field.run(ms(600_000));
    assert!(field.sides.iter().all(|side| side.states.len() <= 2), "no false alarm in 10 minutes");
}

#[test]
fn silence_is_detected_within_three_intervals_and_never_before_two() {
    for seed in 0..20 {
        let timers = Timers::every(ms(5), 3);
        let settings = [0, 1].map(|side| SessionSettings::new(neighbour(side), timers));
        let mut field = Field::new(seed, settings);
        field.run(ms(3_000));
        assert!(field.are_up());
        let cut = field.now;
        field.loss = [100, 100];
        field.run(ms(100));
        for side in &field.sides {
            let (at, state) = *side.states.last().unwrap();
            assert_eq!(state, State::Down);
            let took = at.since(cut);
            assert!(took <= ms(16) && took >= ms(10), "{took:?}, with a millisecond on the way");
            let summary = side.machine.summary(side.id).unwrap();
            assert_eq!(summary.diagnostic, Diagnostic::DetectionTimeExpired);
            assert_eq!((summary.downs, summary.remote_discriminator), (1, 0));
        }
        field.loss = [0, 0];
        field.run(ms(3_000));
        assert!(field.are_up(), "and it comes up again");
    }
}

#[test]
fn one_way_that_is_cut_takes_both_sides_down() {
    let mut field = Field::plain(ms(10));
    field.run(ms(3_000));
    field.loss = [100, 0];
    field.run(ms(60));
    let of = |side: usize| field.sides[side].machine.summary(field.sides[side].id).unwrap();
    assert_eq!(of(0).diagnostic, Diagnostic::DetectionTimeExpired);
    // The first one's word has nothing that proves it: its silence is heard.
    assert_eq!(of(1).diagnostic, Diagnostic::DetectionTimeExpired);
    assert_eq!((field.state(0), field.state(1)), (State::Down, State::Down));
}

#[test]
fn what_an_operator_puts_down_stays_down_and_the_peer_knows() {
    let mut field = Field::plain(ms(10));
    field.run(ms(3_000));
    let id = field.sides[0].id;
    field.step(0, In::Disabled(id));
    field.run(ms(5));
    assert_eq!((field.state(0), field.state(1)), (State::AdminDown, State::Down));
    field.run(ms(10_000));
    assert_eq!((field.state(0), field.state(1)), (State::AdminDown, State::Down));
    field.step(0, In::Enabled(id));
    field.run(ms(3_000));
    assert!(field.are_up());
    let mut out = Vec::new();
    field.sides[0].machine.remove(id, &mut out);
    assert_eq!(out.len(), 2, "the change, and a last packet: {out:?}");
    assert!(field.sides[0].machine.is_empty() && field.sides[0].machine.summary(id).is_none());
    field.step(0, In::Enabled(id));
    field.step(0, In::PathDown(id, Diagnostic::PathDown));
}

#[test]
fn a_path_that_is_known_to_be_down_takes_its_session_down_at_once() {
    let mut field = Field::plain(ms(10));
    field.run(ms(3_000));
    let id = field.sides[1].id;
    field.step(1, In::PathDown(id, Diagnostic::PathDown));
    assert_eq!(field.state(1), State::Down);
    field.run(ms(2));
    assert_eq!(field.state(0), State::Down, "told, not detected");
    field.run(ms(3_000));
    assert!(field.are_up());
}

#[test]
fn of_two_passive_sides_neither_speaks_and_one_active_side_is_enough() {
    let make = |roles: [Role; 2]| {
        let timers = Timers::every(ms(10), 3);
        let settings = [0, 1].map(|side| SessionSettings {
            role: roles[side],
            ..SessionSettings::new(neighbour(side), timers)
        });
        let mut field = Field::new(3, settings);
        field.run(ms(5_000));
        field
    };
    let silent = make([Role::Passive, Role::Passive]);
    assert!(silent.sides.iter().all(|side| side.sent.is_empty()));
    assert!(make([Role::Passive, Role::Active]).are_up());
}

#[test]
fn in_demand_mode_packets_cease_and_a_poll_finds_out() {
    let timers = Timers::every(ms(10), 3);
    let settings = [0, 1].map(|side| SessionSettings {
        demand: side == 0,
        ..SessionSettings::new(neighbour(side), timers)
    });
    let mut field = Field::new(5, settings);
    field.run(ms(5_000));
    assert!(field.are_up());
    let before = field.sides[1].sent.len();
    field.run(ms(5_000));
    assert_eq!(field.sides[1].sent.len(), before, "the other side is silent");
    let id = field.sides[0].id;
    field.step(0, In::PollWanted(id));
    field.run(ms(100));
    assert!(field.are_up() && field.sides[1].sent.len() == before + 1, "it answered once");
    field.loss = [100, 100];
    field.run(ms(5_000));
    assert_eq!(field.state(0), State::Up, "nobody asked");
    field.step(0, In::PollWanted(id));
    field.run(ms(50));
    assert_eq!(field.state(0), State::Down);
}

#[test]
fn echoes_that_stay_away_take_a_session_down_whose_packets_arrive() {
    let timers = Timers { echo: ms(5), required_min_echo_rx: ms(5), ..Timers::every(ms(1_000), 3) };
    let settings = [0, 1].map(|side| SessionSettings::new(neighbour(side), timers));
    let mut field = Field::new(6, settings);
    field.run(ms(10_000));
    assert!(field.are_up() && field.sides.iter().all(|side| side.echoes > 500));
    field.echoes_return = false;
    let cut = field.now;
    field.run(ms(40));
    // Packets arrive, so that it comes up again and echoes are tried once more.
    let states = field.sides.iter().flat_map(|side| side.states.iter());
    let first = states.filter(|it| it.0 > cut).min_by_key(|it| it.0).unwrap();
    assert!(first.1 == State::Down && first.0.since(cut) <= ms(18), "{first:?}");
    let summary = field.sides[0].machine.summary(field.sides[0].id).unwrap();
    assert!(summary.downs > 0);
    field.echoes_return = true;
    field.run(ms(10_000));
    assert!(field.are_up());
}

#[test]
fn no_echoes_are_sent_to_who_does_not_want_them_or_over_several_hops() {
    let timers = Timers { echo: ms(5), ..Timers::every(ms(10), 3) };
    let settings = [0, 1].map(|side| SessionSettings::new(neighbour(side), timers));
    let mut field = Field::new(6, settings);
    field.run(ms(5_000));
    assert!(field.are_up() && field.sides.iter().all(|side| side.echoes == 0));
}

#[test]
fn there_are_no_more_sessions_than_may_be_and_one_a_path() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let mut machine = Sessions::new(limits, [1; 32]);
    let path = |fec| Path::Lsp { fec };
    let settings = |fec| SessionSettings::new(path(fec), Timers::every(ms(10), 3));
    let one = machine.add(Time::ZERO, settings(1)).unwrap();
    assert_eq!(machine.add(Time::ZERO, settings(1)), None, "the same path");
    assert!(machine.add(Time::ZERO, settings(2)).is_some());
    assert_eq!(machine.add(Time::ZERO, settings(3)), None, "the table is full");
    let named = machine.summary(one).unwrap().discriminator;
    assert_eq!(machine.named(named), Some(one));
    machine.remove(one, &mut Vec::new());
    let next = machine.add(Time::ZERO, settings(3)).unwrap();
    assert!(one != next && one.place() == next.place() && machine.summary(one).is_none());
    assert_eq!((machine.named(named), machine.len()), (None, 2));
    let unknown_keys = SessionSettings { authentication: Some(4), ..settings(9) };
    machine.remove(next, &mut Vec::new());
    assert_eq!(machine.add(Time::ZERO, unknown_keys), None);
    machine.tick(Time::from_millis(10_000), &mut Vec::new());
}
