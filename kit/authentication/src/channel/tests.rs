use super::*;
use machine::Duration;

struct End {
    sealer: Arc<Sealer>,
    opener: Opener,
    now: Time,
}

const ONE: &str = "0123456789abcdef";
const TWO: &str = "fedcba9876543210";

fn end(text: &str, is_a: bool, life: u64) -> End {
    let (ours, theirs): (&[u8], &[u8]) = if is_a { (b"a>b", b"b>a") } else { (b"b>a", b"a>b") };
    let keys = Keys::parse(text).unwrap();
    // Lives are random, and so far apart that no challenge of one is that of another.
    let life = life.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (sealer, opener) = channel(&keys, ours, theirs, life);
    End { sealer, opener, now: Time::from_millis(1_000) }
}

impl End {
    /// The message, and the datagram that goes back; then some time passes.
    fn hear(&mut self, datagram: &[u8]) -> (Result<Vec<u8>, Refused>, Vec<u8>) {
        let mut answer = Vec::new();
        self.now += Duration::from_millis(10);
        let message = self.opener.open(self.now, datagram, &mut answer).map(<[u8]>::to_vec);
        (message, answer)
    }
}

/// One sends, and answers go to and fro until there is none.
fn say(from: &mut End, to: &mut End, text: &[u8]) -> Result<Vec<u8>, Refused> {
    let (said, mut answer) = to.hear(&from.sealer.seal(text));
    for turn in 0..8 {
        if answer.is_empty() {
            return said;
        }
        let hears = if turn % 2 == 0 { &mut *from } else { &mut *to };
        answer = hears.hear(&answer).1;
    }
    panic!("greetings have no end");
}

#[test]
fn two_ends_follow_each_other_after_one_datagram_that_is_not_taken() {
    let (mut a, mut b) = (end(ONE, true, 7), end(ONE, false, 8));
    assert_eq!(say(&mut a, &mut b, b"first"), Err(Refused::Unproved));
    assert_eq!(say(&mut a, &mut b, b"second"), Ok(b"second".to_vec()));
    assert_eq!(say(&mut b, &mut a, b"back"), Ok(b"back".to_vec()));
    let whole = a.sealer.seal(b"secret words");
    assert_eq!(whole.len(), b"secret words".len() + DATAGRAM_BYTES_ADDED);
    assert!(!whole.windows(6).any(|part| part == b"secret"), "what is sealed cannot be read");
}

#[test]
fn what_was_changed_cut_turned_back_or_sealed_by_another_key_is_forged() {
    let (mut a, mut b) = (end(ONE, true, 7), end(ONE, false, 8));
    let _ = say(&mut a, &mut b, b"hello");
    let whole = a.sealer.seal(b"a message");
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        let refused = b.hear(&changed).0.unwrap_err();
        assert!(matches!(refused, Refused::Forged | Refused::Unsealed), "{at}: {refused:?}");
        assert!(b.hear(&whole[..at]).0.is_err(), "{at}");
    }
    assert_eq!(a.hear(&whole).0, Err(Refused::Forged), "its own datagram");
    let stranger = end(TWO, true, 9);
    assert_eq!(b.hear(&stranger.sealer.seal(b"x")).0, Err(Refused::Forged));
    assert_eq!(b.hear(&whole).0, Ok(b"a message".to_vec()), "nothing of it did any harm");
    assert_eq!(b.hear(&whole).0, Err(Refused::Replayed));
}

#[test]
fn a_flood_of_unknown_lives_costs_so_many_derivations_and_who_was_heard_is_heard_in_it() {
    let (a, mut b) = (end(ONE, true, 7), end(ONE, false, 8));
    let mut answer = Vec::new();
    let mut hear =
        |now: Time, datagram: &[u8]| b.opener.open(now, datagram, &mut answer).map(<[u8]>::to_vec);
    let now = Time::from_millis(1_000);
    let mut forged = end(TWO, true, 9).sealer.seal(b"x");
    for life in 0..10_000u64 {
        forged[4..12].copy_from_slice(&life.to_be_bytes());
        assert_eq!(hear(now, &forged), Err(Refused::Forged));
    }
    let first = a.sealer.seal(b"first");
    assert_eq!(hear(now, &first), Err(Refused::Forged), "no key is derived for it");
    let later = now + Duration::from_millis(10);
    assert_eq!(hear(later, &first), Err(Refused::Unproved));
    for _ in 0..1_000 {
        assert_eq!(hear(later, &forged), Err(Refused::Forged));
    }
    assert_eq!(hear(later, &a.sealer.seal(b"next")), Err(Refused::Unproved), "its key is known");
}

#[test]
fn datagrams_overtake_each_other_and_none_is_taken_twice() {
    let (mut a, mut b) = (end(ONE, true, 7), end(ONE, false, 8));
    let _ = say(&mut a, &mut b, b"hello");
    let datagrams: Vec<_> = (0..100u8).map(|n| a.sealer.seal(&[n])).collect();
    for n in (0..100).rev() {
        assert_eq!(b.hear(&datagrams[n]).0, Ok(vec![n as u8]));
    }
    for datagram in &datagrams {
        assert_eq!(b.hear(datagram).0, Err(Refused::Replayed));
    }
}

#[test]
fn an_end_that_wants_order_takes_nothing_that_was_overtaken() {
    let (mut a, b) = (end(ONE, true, 7), end(ONE, false, 8));
    let mut b = End { opener: b.opener.in_order(), ..b };
    let _ = say(&mut a, &mut b, b"hello");
    let (held, next) = (a.sealer.seal(b"held"), a.sealer.seal(b"next"));
    assert_eq!(b.hear(&next).0, Ok(b"next".to_vec()));
    assert_eq!(b.hear(&held).0, Err(Refused::Replayed));
}

/// Everything that two ends said in their life, to be played again.
fn recorded(a: &mut End, b: &mut End) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..20 {
        let (mut bytes, mut at_b) = (a.sealer.seal(b"old words"), true);
        while !bytes.is_empty() {
            all.push(bytes.clone());
            bytes = if at_b { b.hear(&bytes).1 } else { a.hear(&bytes).1 };
            at_b = !at_b;
        }
        let (mut bytes, mut at_b) = (b.sealer.seal(b"old words"), false);
        while !bytes.is_empty() {
            all.push(bytes.clone());
            bytes = if at_b { b.hear(&bytes).1 } else { a.hear(&bytes).1 };
            at_b = !at_b;
        }
    }
    all
}

#[test]
fn a_life_that_has_ended_never_speaks_again_whoever_was_started_anew() {
    let mut a = end(ONE, true, 1);
    let mut b = end(ONE, false, 100);
    let mut past = Vec::new();
    for round in 0..12u64 {
        past.extend(recorded(&mut a, &mut b));
        // In turn the one, the other, and both are new.
        if round % 3 != 1 {
            a = end(ONE, true, 2 + round);
        }
        if round % 3 != 0 {
            b = end(ONE, false, 101 + round);
        }
        for meets in [true, false] {
            for (n, datagram) in past.iter().enumerate() {
                for one in [&mut a, &mut b] {
                    let heard = one.hear(datagram).0;
                    assert!(heard.is_err(), "round {round}, {n}: {heard:?}");
                }
            }
            if meets {
                let _ = say(&mut a, &mut b, b"hello");
                assert!(say(&mut a, &mut b, b"now").is_ok(), "round {round}");
                assert!(say(&mut b, &mut a, b"now").is_ok(), "round {round}");
            }
        }
    }
}

#[test]
fn a_new_life_is_heard_under_a_flood_of_recorded_datagrams() {
    let (mut a, mut b) = (end(ONE, true, 1), end(ONE, false, 2));
    let past = recorded(&mut a, &mut b);
    a = end(ONE, true, 3);
    let mut now = Time::from_millis(5_000);
    let mut answer = Vec::new();
    for beat in 0..200 {
        // 1,000 recorded datagrams in 10 ms, and one of the new life somewhere among them.
        for n in 0..1_000 {
            now += Duration::from_micros(10);
            if n == beat * 37 % 1_000 {
                if b.opener.open(now, &a.sealer.seal(b"here"), &mut answer).is_ok() {
                    return;
                }
            } else if b.opener.open(now, &past[n % past.len()], &mut answer).is_ok() {
                panic!("the past was taken");
            }
            if !answer.is_empty() {
                let greeting = answer.clone();
                let _ = a.opener.open(now, &greeting, &mut answer);
            }
        }
    }
    panic!("it was never heard");
}

#[test]
fn a_key_is_changed_one_end_after_the_other() {
    let both = format!("{ONE}\n{TWO}");
    let turned = format!("{TWO}\n{ONE}");
    let steps = [(ONE, &both[..]), (&both, &both), (&turned, &both), (&turned, &turned)];
    for (n, (one, other)) in steps.into_iter().chain([(TWO, &turned[..]), (TWO, TWO)]).enumerate() {
        let (mut a, mut b) = (end(one, true, 7), end(other, false, 8));
        let _ = say(&mut a, &mut b, b"hello");
        assert!(say(&mut a, &mut b, b"now").is_ok(), "step {n}");
        assert!(say(&mut b, &mut a, b"now").is_ok(), "step {n}");
    }
}
