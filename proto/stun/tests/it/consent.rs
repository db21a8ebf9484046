//! Consent: it is asked for every five seconds, and nothing is sent to one who gives none.

use crate::peer::{Check, agent, local, pair, remote, step};
use crate::random::Random;
use machine::{Duration, Machine, Time};
use stun::ice::{Agent, CONSENT_TIMEOUT, Datagram, Out, Pair};
use stun::{Algorithm, AttributeType, BINDING, Class, Integrity, Message, Writer};

const START: Time = Time::from_millis(1_000);

/// An agent whose pair was chosen.
fn chosen() -> Agent {
    let mut agent = agent(true);
    let check = Check { is_chosen: true, ..Check::default() }.octets(1);
    assert_eq!(step(&mut agent, START, pair(1), &check)[1..], [Out::Nominated(pair(1))]);
    agent
}

/// The answer of the other side.
fn answer(check: &Datagram, class: Class, password: &[u8]) -> Vec<u8> {
    let message = Message::read(&check.octets).unwrap();
    let mut octets = Vec::new();
    Writer::new(class, BINDING, message.transaction, &mut octets)
        .mapped_address(check.local)
        .integrity(Algorithm::Sha1, password)
        .fingerprint();
    octets
}

/// Ticks at each deadline until `until`; what came out, and when.
fn run(agent: &mut Agent, until: Time, mut on: impl FnMut(&mut Agent, Time, Out)) {
    while let Some(at) = agent.deadline().filter(|at| *at <= until) {
        let mut out = Vec::new();
        agent.tick(at, &mut out);
        assert!(agent.deadline().is_none_or(|next| next > at), "the deadline advances");
        out.into_iter().for_each(|it| on(agent, at, it));
    }
}

#[test]
fn a_check_of_consent_is_one_that_a_full_agent_takes() {
    let mut agent = chosen();
    let mut transactions = Vec::new();
    run(&mut agent, START + Duration::from_secs(29), |_, _, out| {
        let Out::Send(check) = out else { panic!("{out:?}") };
        assert_eq!((check.local, check.remote), (pair(1).local, pair(1).remote));
        let message = Message::read(&check.octets).unwrap();
        let name = message.value(AttributeType::Username);
        assert_eq!(name, Some(&b"thrs:ours"[..]));
        assert!(message.value(AttributeType::Priority).is_some());
        assert!(message.value(AttributeType::IceControlled).is_some());
        let key = remote();
        let integrity = message.integrity(key.password().as_bytes());
        assert_eq!(integrity, Integrity::Holds(Algorithm::Sha1));
        assert_eq!(message.fingerprint(), Some(true));
        transactions.push(message.transaction);
    });
    let count = transactions.len();
    transactions.sort();
    transactions.dedup();
    assert!(count == transactions.len() && (4..=7).contains(&count), "{count}");
}

#[test]
fn without_an_answer_it_is_over_after_thirty_seconds() {
    let mut agent = chosen();
    let mut lost = None;
    run(&mut agent, Time::from_millis(100_000), |_, at, out| {
        if out == Out::ConsentLost(pair(1)) {
            assert_eq!(lost.replace(at), None);
        }
    });
    assert_eq!(lost, Some(START + CONSENT_TIMEOUT));
    assert_eq!((agent.pair(1), agent.deadline()), (None, None));
}

#[test]
fn with_answers_it_goes_on() {
    let mut agent = chosen();
    let key = remote();
    let until = START + Duration::from_secs(600);
    let mut checks = 0;
    run(&mut agent, until, |agent, at, out| {
        let Out::Send(check) = out else { panic!("{out:?}") };
        checks += 1;
        let octets = answer(&check, Class::Success, key.password().as_bytes());
        assert_eq!(step(agent, at, pair(1), &octets), []);
    });
    assert_eq!(agent.pair(1), Some(pair(1)));
    assert!((100..=150).contains(&checks), "{checks}");
}

#[test]
fn an_answer_counts_only_if_it_is_of_who_was_asked() {
    type Change = fn(&Datagram) -> (Pair, Vec<u8>);
    let changes: [Change; 5] = [
        // Under another password.
        |check| (pair(1), answer(check, Class::Success, local().password().as_bytes())),
        // From elsewhere.
        |check| (pair(2), answer(check, Class::Success, remote().password().as_bytes())),
        // Of the other component.
        |check| {
            let octets = answer(check, Class::Success, remote().password().as_bytes());
            (Pair { component: 2, ..pair(1) }, octets)
        },
        // A refusal.
        |check| (pair(1), answer(check, Class::Error, remote().password().as_bytes())),
        // Of a transaction that was not sent.
        |check| {
            let mut other = check.clone();
            other.octets[8] ^= 1;
            (pair(1), answer(&other, Class::Success, remote().password().as_bytes()))
        },
    ];
    for change in changes {
        let mut agent = chosen();
        let mut is_lost = false;
        run(&mut agent, START + CONSENT_TIMEOUT, |agent, at, out| match out {
            Out::Send(check) => {
                let (pair, octets) = change(&check);
                step(agent, at, pair, &octets);
            }
            out => is_lost |= out == Out::ConsentLost(pair(1)),
        });
        assert!(is_lost);
    }
}

#[test]
fn by_seed_consent_is_lost_thirty_seconds_after_the_last_answer_that_came() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let loss = random.below(100);
        let key = remote();
        let (mut agent, mut last) = (chosen(), START);
        let mut is_lost = false;
        run(&mut agent, START + Duration::from_secs(3_600), |agent, at, out| match out {
            Out::Send(check) if random.below(100) >= loss => {
                let octets = answer(&check, Class::Success, key.password().as_bytes());
                step(agent, at, pair(1), &octets);
                // The same answer again is none.
                step(agent, at + Duration::from_secs(1), pair(1), &octets);
                last = at;
            }
            Out::Send(_) => {}
            Out::ConsentLost(_) => {
                assert_eq!(at, last + CONSENT_TIMEOUT, "seed {seed}");
                is_lost = true;
            }
            Out::Nominated(_) => panic!("seed {seed}"),
        });
        assert_eq!(is_lost, agent.pair(1).is_none());
    }
}
