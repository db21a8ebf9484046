//! Any octets as what short messages are in MAP: operations, results and errors, identities, what
//! correlates: nothing panics, what is read is written so that it is read again as the same, no
//! identity stands in what a log would have, and nothing is given out twice.

use bytes::Bytes;
use map::Operation;
use mapsms::argument::Argument;
use mapsms::identity::{Correlations, Imsi, Msisdn, canonical};
use mapsms::invoked::{
    Invoked, Refused, delivery_result, failure_of, report_of, routing_of, routing_result,
};
use std::collections::BTreeSet;

/// Correlation IMSIs that are given out of one seed.
const GIVEN: usize = 32;

/// Runs one input: an octet that chooses, and what is read.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    match choice % 8 {
        0 => operation(Operation::SendRoutingInfoForSm, rest),
        1 => operation(Operation::MtForwardSm, rest),
        2 => operation(Operation::MoForwardSm, rest),
        3 => operation(Operation::ReportSmDeliveryStatus, rest),
        4 => results(rest),
        5 => identity(rest),
        6 => numbers(rest),
        _ => correlations(rest),
    }
}

fn operation(operation: Operation, octets: &[u8]) {
    let Ok(Some(invoked)) = Invoked::read(operation, octets) else { return };
    let (argument, has_more) = match invoked.clone() {
        Invoked::Routing { msisdn, centre, has_priority } => {
            (Argument::Routing { msisdn, centre, has_priority }, false)
        }
        Invoked::Deliver { imsi, centre, tpdu, has_more } => {
            (Argument::Deliver { imsi, centre, tpdu }, has_more)
        }
        Invoked::Report { msisdn, centre, outcome, diagnostic } => {
            (Argument::Report { msisdn, centre, outcome, diagnostic }, false)
        }
    };
    for version in 1..=3 {
        let again = Invoked::read(argument.operation(version), &argument.encode(version));
        let again = again.expect("what is written is of its type").expect("it says what it said");
        match (again, &invoked) {
            // Version 3 alone says why; that more follow is said of no message that is passed on.
            (Invoked::Report { outcome, .. }, Invoked::Report { outcome: first, .. })
                if version < 3 =>
            {
                assert_eq!(outcome, *first);
            }
            (Invoked::Deliver { imsi, centre, tpdu, has_more: false }, _) => {
                let again = Invoked::Deliver { imsi, centre, tpdu, has_more };
                assert!(again == invoked, "version {version}");
            }
            (again, _) => assert!(again == invoked, "version {version}"),
        }
    }
}

fn results(octets: &[u8]) {
    if let Some((imsi, nodes)) = routing_of(octets) {
        assert!(nodes.len() <= 2);
        let Some(node) = nodes.first() else { return };
        let again = routing_of(&routing_result(&imsi, node));
        assert_eq!(again, Some((imsi, vec![node.clone()])));
    }
    let whole = Bytes::copy_from_slice(octets);
    let (cause, report) = failure_of(Some(&whole));
    let report = report.filter(|it| !it.is_empty());
    if let Some(cause) = cause {
        for version in 1..=3 {
            let refused = Refused::delivery(version, cause, report.as_deref());
            let again = failure_of(refused.parameter.as_ref());
            let expected = report.clone().filter(|_| version > 1);
            assert_eq!(again, (Some(cause), expected), "version {version}");
        }
    }
    if let Some(report) = report_of(octets).filter(|it| !it.is_empty()) {
        assert_eq!(delivery_result(2, Some(&report)), None);
        let result = delivery_result(3, Some(&report)).expect("version 3 has a result");
        assert_eq!(report_of(&result), Some(report));
    }
}

fn identity(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    let own = canonical(text);
    assert_eq!(canonical(&own), own, "{text}");
    if let Some(msisdn) = Msisdn::of_uri(text) {
        looked_at(&msisdn);
        let uri = format!("tel:+{}", msisdn.digits());
        assert_eq!(Msisdn::of_uri(&uri), Some(msisdn));
    }
}

fn numbers(octets: &[u8]) {
    if let Some(msisdn) = Msisdn::of_address_string(octets) {
        looked_at(&msisdn);
    }
    if let Some(imsi) = Imsi::of_tbcd(octets) {
        assert_eq!(Imsi::of_tbcd(&imsi.tbcd()).as_ref(), Some(&imsi));
        assert!(!format!("{imsi:?}").contains(imsi.digits()));
    }
}

fn looked_at(msisdn: &Msisdn) {
    let again = Msisdn::of_address_string(msisdn.address_string().octets());
    assert_eq!(again.as_ref(), Some(msisdn));
    let digits = msisdn.digits();
    assert!(digits.len() < 3 || !format!("{msisdn:?}").contains(digits));
}

/// A seed, which of how many gives out, and the prefix.
fn correlations(octets: &[u8]) {
    let Some((seed, rest)) = octets.split_first_chunk::<16>() else { return };
    let Some(([own, all], rest)) = rest.split_first_chunk::<2>() else { return };
    let count = 5 + rest.len() % 3;
    let digit = |n: usize| char::from(b'0' + rest.get(n).copied().unwrap_or_default() % 10);
    let prefix: String = (0..count).map(digit).collect();
    let all = u16::from(*all).max(1);
    let mut given = Correlations::new(&prefix, seed, (u16::from(*own) % all, all));
    let mut known = BTreeSet::new();
    for _ in 0..GIVEN {
        let imsi = given.give();
        assert!(imsi.digits().len() == 15 && imsi.digits().starts_with(&prefix));
        assert!(known.insert(imsi), "it was given before");
    }
}
