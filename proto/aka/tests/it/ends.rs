//! Both ends: a home network and its card, whatever is lost, late or replayed on the way.

use crate::{Random, array, twins};
use aka::{
    Algorithm, Amf, Autn, Auts, Card, Exhausted, Freshness, GENERAL_DELTA, Generator,
    GeneratorState, Home, Milenage, Rand, Reject, Scheme, Sqn, Vector,
};

const SCHEMES: [Scheme; 3] = [Scheme::Counter, Scheme::PROFILE_2, Scheme::PROFILE_3];

fn ends(seed: u64, scheme: Scheme, state: GeneratorState) -> (Home, Card) {
    let [home, card] = twins(seed);
    let generator = Generator::new(scheme, 5, state);
    (Home::new(home, Amf([0x80, 0]), generator), Card::new(card, Freshness::usual()))
}

fn answers(card: &mut Card, vector: &Vector) -> bool {
    match card.answer(&vector.rand, &vector.autn) {
        Ok(answer) => {
            assert_eq!(answer.res, vector.xres);
            assert_eq!((&answer.ck, &answer.ik), (&vector.ck, &vector.ik));
            true
        }
        Err(Reject::Synchronisation(_)) => false,
        Err(Reject::Mac) => panic!("the network is the right one"),
    }
}

#[test]
fn a_vector_is_answered_once_and_fetched_ones_in_any_order() {
    for (seed, scheme) in (0..9).zip(SCHEMES.into_iter().cycle()) {
        let (mut home, mut card) = ends(seed, scheme, GeneratorState::default());
        let mut random = Random(seed);
        for round in 0..20 {
            let clock = 1_000_000 + 50 * round;
            let mut vectors: Vec<_> = (0..32)
                .map(|_| home.vector(Rand(random.octets()), clock).expect("a number is left"))
                .collect();
            while !vectors.is_empty() {
                let at = random.below(vectors.len() as u64) as usize;
                let vector = vectors.swap_remove(at);
                assert!(answers(&mut card, &vector), "{scheme:?}, round {round}");
                assert!(!answers(&mut card, &vector), "a second time");
            }
        }
    }
}

#[test]
fn a_home_network_that_has_forgotten_all_is_resynchronised_by_one_token() {
    for (seed, scheme) in (0..9).zip(SCHEMES.into_iter().cycle()) {
        let (mut home, mut card) =
            ends(seed, scheme, GeneratorState { seq: 1 << 20, ind: 3, ahead: 0 });
        let mut random = Random(seed);
        let clock = 3 << 20;
        for _ in 0..70 {
            let vector = home.vector(Rand(random.octets()), clock).expect("a number is left");
            assert!(answers(&mut card, &vector));
        }
        let (mut home, _) = ends(seed, scheme, GeneratorState::default());
        let vector = home.vector(Rand(random.octets()), 7).expect("a number is left");
        let auts = match card.answer(&vector.rand, &vector.autn) {
            Err(Reject::Synchronisation(auts)) => auts,
            other => panic!("{other:?}"),
        };
        let auts = Auts::new(&auts.octets()).expect("it is read back");
        let before = home.generator().state();
        let mut other = vector.rand;
        other.0[3] ^= 1;
        assert!(home.resynchronise(&other, &auts, 7).is_err(), "another challenge");
        let mut forged = auts.octets();
        forged[8] ^= 1;
        let forged = Auts::new(&forged).expect("of the same length");
        assert!(home.resynchronise(&vector.rand, &forged, 7).is_err());
        assert_eq!(home.generator().state(), before);
        home.resynchronise(&vector.rand, &auts, 7).expect("it is the card's");
        for clock in 7..50 {
            let vector = home.vector(Rand(random.octets()), clock).expect("a number is left");
            assert!(answers(&mut card, &vector), "{scheme:?}");
        }
        // The same token later: the card would take the next number anyway.
        let state = home.generator().state();
        home.resynchronise(&vector.rand, &auts, 50).expect("it is the card's");
        assert_eq!(home.generator().state(), state);
    }
}

#[test]
fn a_forged_challenge_changes_nothing() {
    let (mut home, mut card) = ends(1, Scheme::Counter, GeneratorState::default());
    let vector = home.vector(Rand([7; 16]), 0).expect("a number is left");
    let before = card.freshness().clone();
    let octets = vector.autn.octets();
    for at in 0..octets.len() {
        let mut forged = octets.clone();
        forged[at] ^= 0x10;
        let autn = Autn::new(&forged).expect("of the same length");
        assert_eq!(card.answer(&vector.rand, &autn), Err(Reject::Mac));
    }
    assert_eq!(*card.freshness(), before);
    assert!(answers(&mut card, &vector));
}

#[test]
fn numbers_that_are_far_ahead_or_far_behind_are_not_taken() {
    let at = |seq: u64| GeneratorState { seq, ind: 0, ahead: 0 };
    for (seq, is_taken) in
        [(1, true), (GENERAL_DELTA - 1, true), (GENERAL_DELTA, false), (GENERAL_DELTA * 5, false)]
    {
        let (mut home, mut card) = ends(1, Scheme::Counter, at(seq));
        let vector = home.vector(Rand([7; 16]), 0).expect("a number is left");
        assert_eq!(answers(&mut card, &vector), is_taken, "{seq}");
    }
    let [home, card] = twins(4);
    let mut card = Card::new(card, Freshness::new(5, GENERAL_DELTA, Some(100)));
    let mut home = Home::new(home, Amf::default(), Generator::new(Scheme::Counter, 5, at(1)));
    let old = home.vector(Rand([1; 16]), 0).expect("a number is left");
    let mut last = None;
    for _ in 0..102 {
        last = Some(home.vector(Rand([2; 16]), 0).expect("a number is left"));
    }
    assert!(answers(&mut card, &last.expect("there were some")));
    assert!(!answers(&mut card, &old), "it is more than L behind");
}

#[test]
fn numbers_end_and_never_begin_again() {
    let seq = (1 << 43) - 2;
    let (mut home, _) = ends(1, Scheme::Counter, GeneratorState { seq, ind: 0, ahead: 0 });
    assert!(home.vector(Rand([1; 16]), 0).is_ok());
    assert_eq!(home.vector(Rand([1; 16]), 0), Err(Exhausted));
    assert_eq!(home.vector(Rand([1; 16]), 0), Err(Exhausted));
}

#[test]
fn a_clock_that_stands_or_goes_back_gives_rising_numbers() {
    let mut random = Random(5);
    for scheme in [Scheme::PROFILE_2, Scheme::PROFILE_3] {
        let mut generator = Generator::new(scheme, 5, GeneratorState::default());
        let (mut clock, mut last) = (1u64 << 30, 0);
        for _ in 0..2_000 {
            let step = [0, 1, 0, 70, 1 << 12][random.below(5) as usize];
            clock = if random.below(50) == 0 { clock - (1 << 15) } else { clock + step };
            let seq = generator.next(clock).expect("a number is left").number() >> 5;
            assert!(seq > last, "{scheme:?}: {seq} after {last}");
            last = seq;
        }
        let state = generator.state();
        let mut again = Generator::new(scheme, 5, state);
        assert_eq!(again.next(clock), generator.next(clock));
    }
}

/// TS 35.208 §4.3, set 1, put together as §6.3.2 of TS 33.102 has it.
#[test]
fn the_tokens_of_a_printed_set_are_as_its_parts() {
    let (k, opc) =
        (array("465b5ce8b199b49faa5f0a2ee238a6bc"), array("cd63cb71954a9f4e48a5994e37a02baf"));
    let rand = Rand(array("23553cbe9637a89d218ae64dae47bf35"));
    let sqn = Sqn::from(array::<6>("ff9bb4d0b607"));
    let algorithm = Algorithm::Milenage(Milenage::new(&k, &opc));
    let state = GeneratorState { seq: (sqn.number() >> 5) - 1, ind: 6, ahead: 0 };
    let generator = Generator::new(Scheme::Counter, 5, state);
    let mut home = Home::new(algorithm, Amf([0xb9, 0xb9]), generator);
    let vector = home.vector(rand, 0).expect("a number is left");
    assert_eq!(vector.autn.octets(), crate::hex("55f328b43577 b9b9 4a9ffac354dfafb3"));
    // The card is in the same place: it wants the next one.
    let algorithm = Algorithm::Milenage(Milenage::new(&k, &opc));
    let mut card = Card::new(algorithm, Freshness::usual().after(sqn));
    let Err(Reject::Synchronisation(auts)) = card.answer(&rand, &vector.autn) else {
        panic!("the number is not fresh");
    };
    // FF9BB4D0B607 under 451E8BECA43B.
    assert_eq!(auts.octets()[..6], crate::hex("ba853f3c123c"));
}

#[test]
fn nothing_shows_a_key() {
    let [algorithm, _] = twins(2);
    let keys = algorithm.f2345(&Rand([1; 16]));
    let shown = format!("{algorithm:?} {keys:?}");
    assert!(shown.contains("res: 8 octets") && !shown.contains('['), "{shown}");
}
