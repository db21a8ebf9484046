//! A lite agent answers checks, takes the pair that is chosen, and is of no use to anyone else.

use crate::peer::{Check, address, agent, local, pair, remote, sent, step};
use crate::random::Random;
use machine::{Duration, Machine, Time};
use stun::ice::{Agent, Credentials, In, Out, Pair, Role, STALE_AFTER, Settings};
use stun::{
    Algorithm, AttributeType, BINDING, Class, ErrorCode, Integrity, Message, TransactionId, Writer,
};

const NOW: Time = Time::from_millis(1_000);

/// The code that refuses.
fn refusal(out: &[Out]) -> u16 {
    let message = Message::read(&sent(out).octets).unwrap();
    assert_eq!((message.class, message.fingerprint()), (Class::Error, Some(true)));
    message.refusal().unwrap().unwrap().code
}

#[test]
fn a_check_is_answered_with_where_it_came_from_under_our_password() {
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256] {
        let mut agent = agent(false);
        let check = Check { algorithm, ..Check::default() }.octets(9);
        let out = step(&mut agent, NOW, pair(1), &check);
        assert_eq!(out.len(), 1);
        let datagram = sent(&out);
        assert_eq!((datagram.local, datagram.remote), (pair(1).local, pair(1).remote));
        let message = Message::read(&datagram.octets).unwrap();
        assert_eq!((message.class, message.transaction), (Class::Success, TransactionId([9; 12])));
        assert_eq!(message.mapped_address(), Ok(Some(pair(1).remote)));
        let password = local();
        let integrity = message.integrity(password.password().as_bytes());
        assert_eq!(integrity, Integrity::Holds(algorithm));
        assert_eq!(message.fingerprint(), Some(true));
        assert_eq!(agent.pair(1), None, "nobody chose it");
        assert_eq!(agent.counters().answered, 1);
    }
}

#[test]
fn the_pair_that_is_chosen_is_told_once() {
    let mut agent = agent(false);
    let check = Check { is_chosen: true, ..Check::default() };
    let out = step(&mut agent, NOW, pair(1), &check.octets(1));
    assert_eq!(out[1..], [Out::Nominated(pair(1))]);
    assert_eq!(agent.pair(1), Some(pair(1)));
    let out = step(&mut agent, NOW, pair(1), &check.octets(2));
    assert_eq!(out.len(), 1);
    // The other component has a pair of its own.
    let other = Pair { component: 2, local: address("192.0.2.1:4001"), ..pair(2) };
    let out = step(&mut agent, NOW, other, &check.octets(3));
    assert_eq!(out[1..], [Out::Nominated(other)]);
    assert_eq!((agent.pair(1), agent.pair(2)), (Some(pair(1)), Some(other)));
    assert_eq!((agent.pair(0), agent.pair(3)), (None, None));
}

#[test]
fn of_several_that_are_chosen_the_best_is_taken_until_it_is_stale() {
    let mut agent = agent(false);
    let with =
        |priority, number| Check { is_chosen: true, priority, ..Check::default() }.octets(number);
    step(&mut agent, NOW, pair(1), &with(1_000, 1));
    assert_eq!(step(&mut agent, NOW, pair(2), &with(500, 2)).len(), 1, "a worse one");
    assert_eq!(agent.pair(1), Some(pair(1)));
    let out = step(&mut agent, NOW, pair(3), &with(2_000, 3));
    assert_eq!(out[1..], [Out::Nominated(pair(3))]);
    // The other side moved: what it chose is not checked any more.
    let plain = Check::default().octets(4);
    step(&mut agent, NOW + STALE_AFTER, pair(3), &plain);
    let later = NOW + STALE_AFTER + Duration::from_secs(1);
    assert_eq!(step(&mut agent, later, pair(4), &with(500, 5)).len(), 1);
    let later = later + STALE_AFTER;
    assert_eq!(step(&mut agent, later, pair(4), &with(500, 6))[1..], [Out::Nominated(pair(4))]);
}

#[test]
fn what_is_wrong_is_refused_with_its_code_and_changes_nothing() {
    let wrong: [(Check, ErrorCode); 5] = [
        (Check { name: "other:thrs", ..Check::default() }, ErrorCode::Unauthenticated),
        (Check { name: "ours:other", ..Check::default() }, ErrorCode::Unauthenticated),
        (Check { password: b"wrong".to_vec(), ..Check::default() }, ErrorCode::Unauthenticated),
        (Check { extra: Some(0x0077), ..Check::default() }, ErrorCode::UnknownAttribute),
        (Check { role: AttributeType::IceControlled, ..Check::default() }, ErrorCode::RoleConflict),
    ];
    for (check, code) in wrong {
        let mut agent = agent(false);
        let out = step(&mut agent, NOW, pair(1), &Check { is_chosen: true, ..check }.octets(1));
        assert_eq!(refusal(&out), code.number());
        assert_eq!((out.len(), agent.pair(1), agent.counters().refused), (1, None, 1));
        // Who knows the password can believe the refusal.
        let password = local();
        let message = Message::read(&sent(&out).octets).unwrap();
        let integrity = message.integrity(password.password().as_bytes());
        let is_known = code != ErrorCode::Unauthenticated;
        assert_eq!(matches!(integrity, Integrity::Holds(_)), is_known, "{code:?}");
        let unknown = message.value(AttributeType::UnknownAttributes);
        let is_told = code == ErrorCode::UnknownAttribute;
        assert_eq!(unknown, is_told.then_some(&[0, 0x77][..]));
    }
}

#[test]
fn what_says_not_who_asks_is_a_bad_request() {
    let mut octets = Vec::new();
    Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut octets)
        .attribute(AttributeType::Software, b"a long name")
        .fingerprint();
    let mut agent = agent(false);
    assert_eq!(refusal(&step(&mut agent, NOW, pair(1), &octets)), 400);
    let mut octets = Vec::new();
    Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut octets)
        .attribute(AttributeType::Username, b"ours:thrs")
        .fingerprint();
    assert_eq!(refusal(&step(&mut agent, NOW, pair(1), &octets)), 400);
    let mut octets = Vec::new();
    Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut octets)
        .attribute(AttributeType::Username, b"ours:thrs")
        .integrity(Algorithm::Sha1, local().password().as_bytes())
        .fingerprint();
    assert_eq!(refusal(&step(&mut agent, NOW, pair(1), &octets)), 400, "no PRIORITY");
}

#[test]
fn before_the_other_side_is_known_its_fragment_may_be_any() {
    let role = Role::Controlled;
    let settings = Settings { local: local(), remote: None, role, asks_consent: false };
    let mut agent = Agent::new(settings, [1; 32]);
    let out = step(&mut agent, NOW, pair(1), &Check::default().octets(1));
    assert_eq!(Message::read(&sent(&out).octets).unwrap().class, Class::Success);
    agent.step(NOW, In::Remote(remote()), &mut Vec::new());
    let other = Check { name: "ours:othr", ..Check::default() };
    assert_eq!(refusal(&step(&mut agent, NOW, pair(1), &other.octets(1))), 401);
}

#[test]
fn after_a_restart_only_the_new_password_counts() {
    let mut agent = agent(false);
    let check = Check { is_chosen: true, ..Check::default() };
    step(&mut agent, NOW, pair(1), &check.octets(1));
    let new = Credentials::generate([3; 32]);
    agent.step(NOW, In::Restart(new.clone()), &mut Vec::new());
    assert_eq!(refusal(&step(&mut agent, NOW, pair(1), &check.octets(2))), 401);
    let mut octets = Vec::new();
    let name = format!("{}:new", new.fragment());
    Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut octets)
        .attribute(AttributeType::Username, name.as_bytes())
        .attribute(AttributeType::Priority, &[0; 4])
        .attribute(AttributeType::UseCandidate, &[])
        .integrity(Algorithm::Sha1, new.password().as_bytes())
        .fingerprint();
    assert_eq!(step(&mut agent, NOW, pair(5), &octets)[1..], [Out::Nominated(pair(5))]);
}

#[test]
fn datagrams_that_are_no_checks_have_no_answer() {
    let mut agent = agent(false);
    let whole = Check::default().octets(1);
    let mut silent = vec![Vec::new(), b"RTP".to_vec(), whole[..40].to_vec()];
    // Without a checksum, with a wrong one, of another method, an indication, an answer.
    let mut plain = Vec::new();
    Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut plain)
        .attribute(AttributeType::Username, b"ours:thrs");
    silent.push(plain);
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    silent.push(wrong);
    for (class, method) in
        [(Class::Request, 3), (Class::Indication, BINDING), (Class::Success, BINDING)]
    {
        let mut octets = Vec::new();
        Writer::new(class, method, TransactionId([1; 12]), &mut octets).fingerprint();
        silent.push(octets);
    }
    for octets in &silent {
        assert_eq!(step(&mut agent, NOW, pair(1), octets), [], "{octets:?}");
    }
    let wrong_component = Pair { component: 3, ..pair(1) };
    assert_eq!(step(&mut agent, NOW, wrong_component, &whole), []);
    assert_eq!(agent.counters().ignored, silent.len() as u64);
    assert_eq!(agent.deadline(), None);
}

#[test]
fn floods_are_answered_a_few_times_a_second_and_do_not_keep_a_good_check_from_its_answer() {
    let mut agent = agent(false);
    let stranger = Check { password: b"wrong".to_vec(), ..Check::default() }.octets(1);
    let good = Check { is_chosen: true, ..Check::default() }.octets(2);
    let (mut refused, mut answered) = (0, 0);
    for ms in 0..10_000u64 {
        let now = Time::from_millis(1_000 + ms);
        for source in 0..5 {
            refused += step(&mut agent, now, pair(source), &stranger).len();
        }
        if ms % 50 == 0 {
            answered += usize::from(!step(&mut agent, now, pair(9), &good).is_empty());
        }
    }
    assert!((20..=26).contains(&refused), "{refused}");
    assert_eq!(answered, 200);
    assert_eq!(agent.pair(1), Some(pair(9)));
    // One who knows the password is bounded too.
    let mut all = 0;
    for ms in 0..1_000u64 {
        let now = Time::from_millis(20_000 + ms);
        (0..5).for_each(|_| all += step(&mut agent, now, pair(9), &good).len());
    }
    assert!((150..=250).contains(&all), "{all}");
    assert!(agent.counters().shed > 4_000);
}

#[test]
fn no_answer_is_longer_than_what_it_answers() {
    let ipv6 = Pair {
        remote: address("[2001:db8::7]:9"),
        local: address("[2001:db8::1]:8"),
        component: 1,
    };
    for seed in 0..2_000 {
        let mut agent = agent(false);
        let mut random = Random(seed);
        let mut octets = Vec::new();
        let mut writer = Writer::new(Class::Request, BINDING, TransactionId([1; 12]), &mut octets);
        if random.below(3) > 0 {
            let name = ["ours:thrs", "ours:x", "a", ""][random.below(4) as usize];
            writer.attribute(AttributeType::Username, name.as_bytes());
        }
        if random.below(2) > 0 {
            writer.attribute(AttributeType::Priority, &[0; 4]);
        }
        for _ in 0..random.below(12) {
            writer.raw_attribute(0x7000 + random.below(0x2000) as u16, &[]);
        }
        if random.below(3) > 0 {
            let password = local();
            let key = [password.password().as_bytes(), b"wrong"][random.below(2) as usize];
            writer.integrity([Algorithm::Sha1, Algorithm::Sha256][random.below(2) as usize], key);
        }
        writer.fingerprint();
        for out in step(&mut agent, NOW, ipv6, &octets) {
            if let Out::Send(answer) = out {
                assert!(answer.octets.len() <= octets.len(), "seed {seed}");
                assert_eq!(answer.remote, ipv6.remote);
            }
        }
    }
}

/// What the other side answers to a check of ours.
fn answered(check: &[u8], password: &[u8]) -> Vec<u8> {
    let transaction = Message::read(check).unwrap().transaction;
    let mut octets = Vec::new();
    Writer::new(Class::Success, BINDING, transaction, &mut octets)
        .integrity(Algorithm::Sha1, password)
        .fingerprint();
    octets
}

#[test]
fn a_check_that_comes_again_from_elsewhere_moves_nothing() {
    let mut agent = agent(false);
    let check = Check { is_chosen: true, ..Check::default() };
    let recorded = check.octets(1);
    step(&mut agent, NOW, pair(1), &recorded);
    assert_eq!(step(&mut agent, NOW, pair(2), &recorded), [], "a copy has no answer");
    assert_eq!((agent.pair(1), agent.counters().replayed), (Some(pair(1)), 1));
    // Its answer was lost: it is sent again from where it came.
    assert_eq!(step(&mut agent, NOW, pair(1), &recorded).len(), 1);
    // Long after the pair is not checked any more either.
    let later = NOW + STALE_AFTER + STALE_AFTER;
    assert_eq!(step(&mut agent, later, pair(2), &recorded), []);
    assert_eq!(step(&mut agent, later, pair(2), &check.octets(2))[1..], [Out::Nominated(pair(2))]);
}

#[test]
fn once_checks_are_forgotten_another_pair_has_to_answer_first() {
    let mut agent = agent(false);
    let check = Check { is_chosen: true, ..Check::default() };
    let recorded = check.octets(0);
    step(&mut agent, NOW, pair(1), &recorded);
    let mut now = NOW;
    for number in 1..100 {
        now += Duration::from_secs(5);
        assert_eq!(step(&mut agent, now, pair(1), &check.octets(number)).len(), 1);
    }
    // The copy is answered, and its sender is asked; it does not know the password.
    let out = step(&mut agent, now, pair(2), &recorded);
    let [Out::Send(_), Out::Send(asked)] = &out[..] else { panic!("{out:?}") };
    assert_eq!(asked.remote, pair(2).remote);
    assert_eq!(step(&mut agent, now, pair(2), &answered(&asked.octets, b"wrong")), []);
    assert_eq!(step(&mut agent, now, pair(2), &recorded).len(), 1, "nor is it asked at once again");
    assert_eq!(agent.pair(1), Some(pair(1)));
    // The other side moved: it answers.
    let out = step(&mut agent, now, pair(3), &check.octets(200));
    let [Out::Send(_), Out::Send(asked)] = &out[..] else { panic!("{out:?}") };
    let password = remote();
    let answer = answered(&asked.octets, password.password().as_bytes());
    assert_eq!(step(&mut agent, now, pair(2), &answer), [], "another one does so for it in vain");
    assert_eq!(step(&mut agent, now, pair(3), &answer), [Out::Nominated(pair(3))]);
    assert_eq!(step(&mut agent, now, pair(3), &answer), []);
    assert_eq!(agent.pair(1), Some(pair(3)));
}
