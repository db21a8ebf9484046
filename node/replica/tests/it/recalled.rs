//! Nodes whose state outlives their processes: who serves when they begin anew.

use machine::{Duration, Time};
use replica::{In, Name, Out, PROTOCOL, Pair, Params, Role};
use runtime::Term;

const BEGIN: Time = Time::from_millis(1_000);

fn node(node: Name, priority: u8, recalled: Option<Term>) -> Pair {
    let ms = Duration::from_millis;
    let params = Params {
        pair: 1,
        node,
        priority,
        incarnation: 7 + u64::from(priority),
        heartbeat: ms(10),
        detect: ms(50),
        lease: ms(40),
        has_arbiter: false,
        lanes: 1,
        version: PROTOCOL,
    };
    let mut pair = Pair::new(params, BEGIN);
    recalled.into_iter().for_each(|it| pair.recall(BEGIN, it));
    pair.begin(BEGIN);
    pair
}

/// Lets nodes hear each other for so long; when the first one served, and which.
fn first(nodes: &mut [Pair], time: Duration) -> Option<(usize, Duration)> {
    let mut flying: Vec<(usize, Vec<u8>)> = Vec::new();
    for ms in 0..u64::try_from(time.as_millis()).unwrap() {
        let now = BEGIN + Duration::from_millis(ms);
        let mut outs: Vec<(usize, Out)> = Vec::new();
        for (to, bytes) in std::mem::take(&mut flying) {
            let mut own = Vec::new();
            if let Some(it) = nodes.get_mut(to) {
                it.step(now, In::Heard(&bytes), &mut own);
            }
            outs.extend(own.into_iter().map(|it| (to, it)));
        }
        for (at, it) in nodes.iter_mut().enumerate() {
            let mut own = Vec::new();
            if it.deadline(now) <= now {
                it.tick(now, &mut own);
            }
            outs.extend(own.into_iter().map(|it| (at, it)));
        }
        for (at, out) in outs {
            match out {
                Out::ToPeer(bytes) => flying.push((1 - at, bytes)),
                Out::Activate { .. } => return Some((at, now.since(BEGIN))),
                _ => {}
            }
        }
    }
    None
}

const fn term(epoch: u64, served: bool) -> Option<Term> {
    Some(Term { epoch, served })
}

#[test]
fn of_two_that_begin_anew_the_one_with_the_later_state_serves_whatever_is_preferred() {
    let cases = [
        (term(5, false), term(5, true)),
        (term(5, true), term(6, true)),
        (term(5, true), term(6, false)),
        (None, term(1, false)),
    ];
    for (preferred, later) in cases {
        let mut nodes = [node(Name::A, 9, preferred), node(Name::B, 0, later)];
        let (served, took) = first(&mut nodes, Duration::from_secs(3)).expect("one serves");
        assert_eq!(served, 1, "{preferred:?} {later:?}");
        assert!(took < Duration::from_secs(1), "{took:?}");
        let now = BEGIN + took;
        let epochs = [preferred, later].into_iter().flatten().map(|it| it.epoch).max();
        assert!(nodes[1].standing(now).epoch > epochs.expect("there is one"));
        assert_eq!(nodes[0].standing(now).role, Role::Standby);
    }
}

#[test]
fn a_node_with_a_state_waits_for_the_other_one_and_serves_alone_when_that_does_not_come() {
    let took = |recalled| {
        let mut alone = [node(Name::A, 0, recalled)];
        first(&mut alone, Duration::from_secs(9)).expect("it serves").1
    };
    assert!(took(None) < Duration::from_secs(1));
    for it in [term(4, true), term(4, false)] {
        let took = took(it);
        assert!(took > Duration::from_secs(3) && took < Duration::from_secs(4), "{took:?}");
    }
}
