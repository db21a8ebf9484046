//! Laws: tables say what a walk through the rules would say; nothing that comes makes them panic.

use crate::build::{From, ask, begin, context, fs11, go_on, refused_by, rules, screen, with_imsi};
use machine::identity::mix;
use std::fmt::Write;

/// Numbers from a seed.
struct Rng(u64);

impl Rng {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(0x9e37_79b9));
        self.0 % most
    }

    fn digits(&mut self, most: u64) -> String {
        let count = 1 + self.below(most);
        (0..count).map(|_| char::from(b'0' + self.below(3) as u8)).collect()
    }
}

const OPERATIONS: [(&str, i64); 4] =
    [("updateLocation", 2), ("purgeMS", 67), ("restoreData", 57), ("cancelLocation", 3)];

/// A rule as text, and what it asks of operation, calling and called title and IMSI.
type Asks = (Option<usize>, String, String, String);

#[test]
fn tables_say_what_a_walk_through_the_rules_says() {
    for seed in 0..40 {
        let mut rng = Rng(seed);
        let (mut text, mut all) = (String::new(), Vec::<Asks>::new());
        for n in 0..60 {
            let operation = (rng.below(3) > 0).then(|| rng.below(4) as usize);
            let mut list = |key: &str| -> String {
                if rng.below(2) == 0 { String::new() } else { format!("{key}={}", rng.digits(5)) }
            };
            let lists = [list("calling"), list("called"), list("imsi")];
            let _ = writeln!(text, "[[rule]]\nname = \"{n}\"");
            if let Some(operation) = operation {
                let _ = writeln!(text, "operations = [\"{}\"]", OPERATIONS[operation].0);
            }
            for list in lists.iter().filter(|it| !it.is_empty()) {
                let (key, digits) = list.split_once('=').expect("a list");
                let _ = writeln!(text, "{key} = [\"{digits}\"]");
            }
            let [calling, called, imsi] =
                lists.map(|it| it.split_once('=').map(|it| it.1.to_owned()).unwrap_or_default());
            all.push((operation, calling, called, imsi));
        }
        let screen = rules(&text);
        for _ in 0..200 {
            let which = rng.below(4) as usize;
            let mut number = || format!("{}0000000", rng.digits(8));
            let (calling, called) = (number(), number());
            let imsi = number().chars().cycle().take(15).collect::<String>();
            let from = From { calling: &calling, called: &called, ..From::vlr_to_hlr("") };
            let oid = context("networkLocUpContext", 2);
            let data = begin(Some(&oid), &[(OPERATIONS[which].1, &with_imsi(&imsi))]);
            let holds = |(operation, from, to, of): &Asks| {
                operation.is_none_or(|it| it == which)
                    && calling.starts_with(from)
                    && called.starts_with(to)
                    && imsi.starts_with(of)
            };
            let wanted = all.iter().position(holds).map(|it| it.to_string());
            assert_eq!(refused_by(&screen, &from, &data), wanted, "seed {seed} {calling} {called}");
        }
    }
}

#[test]
fn octets_that_change_make_nothing_panic() {
    let screen = screen(&fs11());
    let oid = context("subscriberInfoEnquiryContext", 3);
    let argument = with_imsi("262011234567890");
    let messages =
        [begin(Some(&oid), &[(70, &argument), (2, &argument)]), go_on(&[(7, &argument)])];
    let mut rng = Rng(1);
    for _ in 0..20_000 {
        let mut data = messages[rng.below(2) as usize].clone();
        for _ in 0..=rng.below(4) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.below(256) as u8;
        }
        data.truncate(1 + rng.below(data.len() as u64 * 2) as usize);
        let _ = ask(&screen, &From::hlr_to_vlr("33609000001"), &data);
    }
}
