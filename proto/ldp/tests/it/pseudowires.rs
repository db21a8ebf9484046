//! Pseudowires: both ends meet, or say why not; MAC addresses are forgotten.

use crate::net::{Net, SECOND};
use ldp::{In, Out, PseudowireId, PseudowireSettings, PseudowireState};

fn wire(peer: usize, id: PseudowireId) -> PseudowireSettings {
    PseudowireSettings {
        peer: Net::router(peer),
        id,
        kind: 5,
        has_control_word: true,
        group: 1,
        mtu: 1_500,
        status: 0,
    }
}

fn pair() -> Net {
    let mut net = Net::new(3, 2);
    net.link(0, 1);
    (0..2).for_each(|it| net.start(it));
    net.route_all();
    net.run(SECOND * 10);
    net
}

fn state(net: &Net, at: usize) -> Option<PseudowireState> {
    net.told[at].iter().rev().find_map(|it| match it {
        Out::Pseudowire(_, _, state) => Some(*state),
        _ => None,
    })
}

fn names(source: u8, target: u8) -> PseudowireId {
    PseudowireId::Names {
        group: Box::new([1, 9, 9]),
        source: Box::new([1, 0, source]),
        target: Box::new([1, 0, target]),
    }
}

#[test]
fn both_ends_meet_by_number_and_by_name_whoever_is_first() {
    for (one, two) in
        [(PseudowireId::Number(7), PseudowireId::Number(7)), (names(1, 2), names(2, 1))]
    {
        let mut net = pair();
        net.step(0, In::Pseudowire(wire(1, one.clone())));
        net.run(SECOND);
        assert_eq!(state(&net, 0), None);
        net.step(1, In::Pseudowire(wire(0, two.clone())));
        net.run(SECOND);
        let (Some(PseudowireState::Up { local, remote, has_control_word: true }), Some(other)) =
            (state(&net, 0), state(&net, 1))
        else {
            panic!("{:?}", [state(&net, 0), state(&net, 1)]);
        };
        let wanted = PseudowireState::Up { local: remote, remote: local, has_control_word: true };
        assert_eq!(other, wanted);
        net.step(0, In::ForgetMacs(Net::router(1), one.clone(), vec![[2; 6]]));
        net.step(0, In::ForgetMacs(Net::router(1), one.clone(), Vec::new()));
        net.run(SECOND);
        for macs in [vec![[2; 6]], Vec::new()] {
            let said = Out::ForgetMacs(Net::router(0), two.clone(), macs);
            assert!(net.told[1].contains(&said));
        }
        // A fault at one end is known at the other.
        net.step(1, In::Pseudowire(PseudowireSettings { status: 1, ..wire(0, two.clone()) }));
        net.run(SECOND);
        assert_eq!([0, 1].map(|it| state(&net, it)), [Some(PseudowireState::Fault); 2]);
        net.step(1, In::Pseudowire(wire(0, two.clone())));
        net.run(SECOND);
        assert!(matches!(state(&net, 0), Some(PseudowireState::Up { .. })));
        net.step(1, In::PseudowireGone(Net::router(0), two));
        net.run(SECOND);
        assert_eq!(state(&net, 0), Some(PseudowireState::Unsaid));
    }
}

#[test]
fn ends_that_differ_say_why_they_do_not_meet() {
    let number = || PseudowireId::Number(7);
    let rows = [
        (PseudowireSettings { kind: 4, ..wire(0, number()) }, PseudowireState::OtherType),
        (PseudowireSettings { mtu: 9_000, ..wire(0, number()) }, PseudowireState::OtherMtu),
    ];
    for (other, wanted) in rows {
        let mut net = pair();
        net.step(0, In::Pseudowire(wire(1, number())));
        net.step(1, In::Pseudowire(other));
        net.run(SECOND);
        assert_eq!(state(&net, 0), Some(wanted));
        net.step(1, In::Pseudowire(wire(0, number())));
        net.run(SECOND);
        assert!(matches!(state(&net, 0), Some(PseudowireState::Up { .. })), "{wanted:?} is mended");
    }
}

#[test]
fn where_one_end_wants_no_control_word_there_is_none() {
    for first in [0, 1] {
        let mut net = pair();
        let wants = |at: usize| {
            let has_control_word = at == 0;
            In::Pseudowire(PseudowireSettings {
                has_control_word,
                ..wire(1 - at, PseudowireId::Number(7))
            })
        };
        net.step(first, wants(first));
        net.run(SECOND);
        net.step(1 - first, wants(1 - first));
        net.run(SECOND);
        for at in [0, 1] {
            let is_up = matches!(
                state(&net, at),
                Some(PseudowireState::Up { has_control_word: false, .. })
            );
            assert!(is_up, "{first} {at}: {:?}", state(&net, at));
        }
    }
}

#[test]
fn a_session_that_ends_takes_the_pseudowire_down_and_up_again() {
    let mut net = pair();
    for at in [0, 1] {
        net.step(at, In::Pseudowire(wire(1 - at, PseudowireId::Number(7))));
    }
    net.run(SECOND);
    net.break_connections(0);
    net.run(SECOND / 100);
    assert_eq!(state(&net, 0), Some(PseudowireState::Unsaid));
    net.run(SECOND * 10);
    assert!(matches!(state(&net, 0), Some(PseudowireState::Up { .. })));
}
