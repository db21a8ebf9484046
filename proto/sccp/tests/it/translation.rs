//! Global title translation.

use crate::every::point_code;
use crate::world::*;
use m3ua::codec::Affected;
use proptest::prelude::*;
use sccp::codec::{Address, Digits, Indicator, Routing, Title};
use sccp::{
    Change, Choice, In, Indication, Metric, Parameters, Pattern, Rule, Rules, Selector, Target,
    Unitdata,
};

fn point_code_of(rules: &Rules, digits: &str, sls: u8) -> Option<u32> {
    let found = rules.translate(&title(digits), sls, |_, _| true).ok()?;
    found.point_code.map(|it| it.number())
}

#[test]
fn the_longest_prefix_wins_then_the_rule_that_says_more() {
    let any = rule("", &[(Some(1), Routing::Title)], Choice::Backup);
    let country = rule("44", &[(Some(2), Routing::Title)], Choice::Backup);
    let network = rule("4467", &[(Some(3), Routing::Title)], Choice::Backup);
    let selector = Selector { nature: Some(4), ..Selector::default() };
    let of_nature = Rule { selector, ..rule("44", &[(Some(4), Routing::Title)], Choice::Backup) };
    let other = Selector { translation_type: Some(9), ..Selector::default() };
    let of_type =
        Rule { selector: other, ..rule("4467", &[(Some(5), Routing::Title)], Choice::Backup) };
    let rules = Rules::new(vec![any, country, network, of_nature, of_type]).unwrap();
    assert_eq!(point_code_of(&rules, "4467123", 0), Some(3));
    assert_eq!(point_code_of(&rules, "4468", 0), Some(4));
    assert_eq!(point_code_of(&rules, "49", 0), Some(1));
    let typed = Title { translation_type: 9, ..Title::e164(Digits::parse("4467").unwrap()) };
    assert_eq!(rules.find(&typed).unwrap().targets[0].point_code, Some(point_code(5)));
    assert!(Rules::new(vec![rule("1", &[], Choice::Backup)]).is_err());
}

#[test]
fn of_patterns_as_long_the_one_that_leaves_less_open_holds() {
    let to = |number| [(Some(number), Routing::Title)];
    let of = |pattern: &str, number| Rule {
        prefix: Pattern::parse(pattern).unwrap(),
        ..rule("", &to(number), Choice::Backup)
    };
    let all = [
        of("44", 1),
        of("44??", 2),
        of("44?7", 3),
        of("4427", 4),
        of("44[12]7", 5),
        of("4410..4433", 6),
        of("44?7?9", 7),
    ];
    let cases = [
        ("441", Some(1)),
        ("4499", Some(2)),
        ("4497", Some(3)),
        ("4427", Some(4)),
        ("4417", Some(5)),
        ("4418", Some(6)),
        ("4433", Some(6)),
        ("4434", Some(2)),
        ("442719", Some(7)),
        ("442718", Some(4)),
        ("45", None),
    ];
    // Whatever the order in which they stand.
    for turn in 0..all.len() {
        let mut rules = all.to_vec();
        rules.rotate_left(turn);
        let rules = Rules::new(rules).unwrap();
        for (digits, wanted) in cases {
            assert_eq!(point_code_of(&rules, digits, 0), wanted, "{digits} {turn}");
        }
    }
    let same = Rules::new(vec![of("44?", 1), of("4?4", 2), of("44?", 3)]).unwrap();
    assert_eq!(point_code_of(&same, "444", 0), Some(3), "the later one");
}

#[test]
fn no_selector_has_more_shapes_than_may_be_looked_up() {
    let of = |at: u32| {
        let text: String = (0..7).map(|bit| if at >> bit & 1 == 1 { '?' } else { '1' }).collect();
        Rule {
            prefix: Pattern::parse(&text).unwrap(),
            ..rule("", &[(None, Routing::Title)], Choice::Backup)
        }
    };
    assert!(Rules::new((0..=64).map(of).collect()).is_ok());
    assert_eq!(Rules::new((0..=65).map(of).collect()).err(), Some(65));
}

/// Digits, choices and ranges.
const PATTERNS: &str = "[0-3]([0-3]|\\?|\\[[0-3]{1,2}\\]){0,4}|1[0-9]{2}\\.\\.1[0-9]{2}";

proptest! {
    /// What the tables find is what the patterns say, one held against the title after the other.
    #[test]
    fn tables_find_what_the_patterns_say(
        patterns in prop::collection::vec(PATTERNS, 1..12),
        titles in prop::collection::vec("[0-9]{0,7}", 1..40),
    ) {
        let patterns: Vec<Pattern> =
            patterns.iter().filter_map(|it| Pattern::parse(it)).collect();
        let rules = patterns.iter().zip(1u32..).map(|(pattern, number)| Rule {
            prefix: pattern.clone(),
            ..rule("", &[(Some(number), Routing::Title)], Choice::Backup)
        });
        let rules = Rules::new(rules.collect()).unwrap();
        for digits in titles {
            let title = Digits::parse(&digits).unwrap();
            let held = patterns.iter().zip(1u32..).filter(|(it, _)| it.matches(&title));
            let best = held.max_by_key(|(it, number)| (it.len(), it.rank(), *number));
            prop_assert_eq!(point_code_of(&rules, &digits, 0), best.map(|it| it.1), "{}", digits);
        }
    }
}

#[test]
fn choices_of_all_rules_have_a_limit_before_tables_are_made() {
    let of = |_| Rule {
        prefix: Pattern::parse("44[0-9][0-9][0-9]").unwrap(),
        ..rule("", &[(None, Routing::Title)], Choice::Backup)
    };
    let most = sccp::CHOICES_MAX / 1_000;
    let refused = Rules::new((0..most + 2).map(of).collect());
    assert_eq!(refused.err(), Some(most));
}

#[test]
fn the_point_codes_that_rules_lead_to_are_known_by_their_range() {
    let targets = |of: &[u32]| -> Vec<(Option<u32>, Routing)> {
        of.iter().map(|it| (Some(*it), Routing::Title)).collect()
    };
    let all = [&targets(&[9, 4])[..], &targets(&[4, 7]), &[(None, Routing::Subsystem)]];
    let rules = all.iter().zip(["1", "2", "3"]).map(|(it, of)| rule(of, it, Choice::Backup));
    let rules = Rules::new(rules.collect()).unwrap();
    let within = |point: u32, mask: u8| -> Vec<u32> {
        let range = Affected { point_code: point_code(point), mask };
        rules.point_codes(range).iter().map(|it| it.number()).collect()
    };
    assert_eq!(within(0, 24), [4, 7, 9]);
    assert_eq!((within(5, 2), within(9, 0), within(8, 2)), (vec![4, 7], vec![9], vec![9]));
    assert_eq!((within(6, 0), within(0, 2)), (vec![], vec![]));
}

#[test]
fn digits_and_fields_are_changed() {
    let change = Change {
        strip: 2,
        prepend: Digits::parse("353").unwrap(),
        translation_type: Some(7),
        plan: Some(7),
        nature: Some(3),
    };
    let rules = Rules::new(vec![Rule {
        change,
        ..rule("44", &[(Some(2), Routing::Title)], Choice::Backup)
    }]);
    let address = rules.unwrap().translate(&title("446712"), 0, |_, _| true).unwrap();
    let title = address.title.unwrap();
    assert_eq!(title.digits.to_string(), "3536712");
    assert_eq!((title.translation_type, title.plan, title.nature), (7, 7, 3));
    assert_eq!((title.encoding, title.indicator), (1, Indicator::TypePlanNature));
}

#[test]
fn load_is_shared_by_weight_and_a_flow_stays() {
    let mut shared =
        rule("4", &[(Some(1), Routing::Title), (Some(2), Routing::Title)], Choice::Share);
    shared.targets[0].weight = 3;
    let rules = Rules::new(vec![shared]).unwrap();
    let ones = (0..16u8).filter(|sls| point_code_of(&rules, "4", *sls) == Some(1)).count();
    assert_eq!(ones, 12);
    let all = (0..=255u8).filter(|sls| point_code_of(&rules, "4", *sls) == Some(1)).count();
    assert_eq!(all, 192);
}

#[test]
fn what_cannot_be_reached_is_passed_over_until_it_can() {
    let targets = [(Some(2), Routing::Subsystem), (Some(3), Routing::Subsystem)];
    for choice in [Choice::Backup, Choice::Share] {
        let mut world = World::new(vec![
            node(1, Parameters::q714(), vec![rule("4", &targets, choice)]),
            node(2, Parameters::q714(), Vec::new()),
            node(3, Parameters::q714(), Vec::new()),
        ]);
        let ask = |world: &mut World| {
            (0..16).for_each(|_| world.run(1, In::Unitdata(to(title("4"), 1, b"x"))));
            let counts = (world.data(2).len(), world.data(3).len());
            world.heard.clear();
            counts
        };
        let both = if choice == Choice::Backup { (16, 0) } else { (8, 8) };
        assert_eq!(ask(&mut world), both);
        world.run(1, In::Pause(Affected::one(point_code(2))));
        assert_eq!(world.heard, [(1, Indication::PointCode(point_code(2), false))]);
        assert_eq!(ask(&mut world), (0, 16));
        world.run(1, In::Resume(Affected::one(point_code(2))));
        assert_eq!(ask(&mut world), both);
        world.run(2, In::State(6, false));
        ask(&mut world); // the first that comes is answered by SSP
        assert_eq!(ask(&mut world), (0, 16));
        assert_eq!(world.count(1, Metric::Untranslated), 0);
    }
}

proptest! {
    #[test]
    fn the_tree_finds_what_a_search_of_all_rules_finds(
        prefixes in prop::collection::btree_set("[0-3]{0,6}", 1..30), digits in "[0-3]{0,9}",
    ) {
        let prefixes: Vec<String> = prefixes.into_iter().collect();
        let to_rule = |(at, prefix): (usize, &String)| {
            rule(prefix, &[(Some(at as u32), Routing::Title)], Choice::Backup)
        };
        let rules = Rules::new(prefixes.iter().enumerate().map(to_rule).collect()).unwrap();
        let longest = prefixes.iter().enumerate().filter(|it| digits.starts_with(it.1.as_str()));
        let expected = longest.max_by_key(|it| it.1.len()).map(|it| it.0 as u32);
        prop_assert_eq!(point_code_of(&rules, &digits, 0), expected);
    }
}

#[test]
fn the_digits_of_a_hundred_thousand_rules_take_few_octets_and_are_all_found() {
    let numbers = || (0..100_000u32).map(|it| format!("44{:07}", it * 77 % 10_000_000));
    let target = |number: u32| Target {
        point_code: Some(point_code(number)),
        subsystem: Some(6),
        routing: Routing::Subsystem,
        weight: 1,
    };
    let rules = numbers().zip(0..).map(|(number, index): (String, u32)| Rule {
        selector: Selector::default(),
        prefix: Digits::parse(&number).unwrap().into(),
        change: Change::default(),
        targets: vec![target(index % 200 + 1)],
        choice: Choice::Backup,
    });
    let rules = Rules::new(rules.collect()).unwrap();
    assert!(rules.octets() < 100_000 * 24, "{}", rules.octets());
    for (number, index) in numbers().zip(0..) {
        let title = Title::e164(Digits::parse(&format!("{number}99")).unwrap());
        let outcome = rules.find(&title).unwrap();
        assert_eq!(outcome.targets, [target(index % 200 + 1)], "{number}");
    }
    let title = Title::e164(Digits::parse("4599").unwrap());
    assert_eq!(rules.find(&title), Err(sccp::Untranslated::Digits));
}

#[test]
fn the_title_of_who_calls_is_changed_when_a_message_leaves() {
    let change = Change { strip: 2, prepend: Digits::parse("49").unwrap(), ..Change::default() };
    let target =
        Target { point_code: None, subsystem: Some(8), routing: Routing::Title, weight: 1 };
    let calling = Rule {
        selector: Selector::default(),
        prefix: Digits::parse("00").unwrap().into(),
        change,
        targets: vec![target],
        choice: Choice::Backup,
    };
    let rules = Rules::default().with_calling(Rules::new(vec![calling]).unwrap());
    let title = |digits| Title::e164(Digits::parse(digits).unwrap());
    let written = rules.calling(&Address::title(title("00123"), 9));
    assert_eq!(written, Address::title(title("49123"), 8));
    let other = Address::title(title("77123"), 9);
    assert_eq!(rules.calling(&other), other);
    let mut world = World::plain(2);
    world.nodes[0].set_rules(rules);
    let unitdata = Unitdata {
        called: Address::subsystem(Some(point_code(2)), 6),
        calling: Address::title(title("00123"), 9),
        class: sccp::codec::Class { is_sequenced: false, returns: false },
        sls: 0,
        importance: None,
        data: bytes::Bytes::from_static(b"x"),
    };
    world.run(1, In::Unitdata(unitdata));
    let Some((2, Indication::Unitdata(_, came))) = world.heard.last() else { panic!("it came") };
    assert_eq!(came.calling.title, Some(title("49123")));
}

#[test]
fn prefixes_of_every_length_are_found_and_the_last_of_equals_is_kept() {
    let digits = "0123456789abcdef0123456789abcdef";
    let of =
        |length: usize, to| rule(&digits[..length], &[(Some(to), Routing::Title)], Choice::Backup);
    let all = (0..=32).map(|it| of(it, 99)).chain((0..=32).map(|it| of(it, it as u32 + 1)));
    let rules = Rules::new(all.collect()).unwrap();
    for length in 0..=32 {
        let mut title = digits[..length].to_owned();
        if length < 32 {
            // The next digit is another one.
            title.push(if digits.as_bytes()[length] == b'7' { '8' } else { '7' });
        }
        assert_eq!(point_code_of(&rules, &title, 0), Some(length as u32 + 1), "{length}");
    }
}
