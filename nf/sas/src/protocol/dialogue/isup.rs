//! What is secret in a message of ISUP (Q.763): what subscribers say to each other beside the call
//! (user-to-user information, what their accesses say to each other, digits that are no number).
//! Numbers, causes and what networks say of a call stay. Whatever is not understood is secret.
//!
//! ```text
//!   circuit │ type │ fixed part │ pointers │ variable parameters │ name, length, value │ … │ 0
//! ```

use core::ops::Range;

/// A message: its type, octets of the fixed part, its variable parameters, and whether optional
/// ones may follow (Q.763 §4, tables 21 to 54).
struct Row {
    kind: u8,
    fixed: usize,
    variable: &'static [u8],
    has_optional: bool,
}

const fn row(kind: u8, fixed: usize, variable: &'static [u8], has_optional: bool) -> Row {
    Row { kind, fixed, variable, has_optional }
}

const CALLED: u8 = 0x04;
const SUBSEQUENT: u8 = 0x05;
const CAUSE: u8 = 0x12;
const RANGE: u8 = 0x16;
const USER_TO_USER: u8 = 0x20;

const ROWS: &[Row] = &[
    row(0x01, 5, &[CALLED], true),
    row(0x02, 0, &[SUBSEQUENT], true),
    row(0x03, 2, &[], true),
    row(0x04, 2, &[], true),
    row(0x05, 1, &[], false),
    row(0x06, 2, &[], true),
    row(0x07, 2, &[], true),
    row(0x08, 0, &[], true),
    row(0x09, 0, &[], true),
    row(0x0c, 0, &[CAUSE], true),
    row(0x0d, 1, &[], true),
    row(0x0e, 1, &[], true),
    row(0x10, 0, &[], true),
    row(0x11, 0, &[], false),
    row(0x12, 0, &[], false),
    row(0x13, 0, &[], false),
    row(0x14, 0, &[], false),
    row(0x15, 0, &[], false),
    row(0x16, 0, &[], false),
    row(0x17, 0, &[RANGE], false),
    row(0x18, 1, &[RANGE], false),
    row(0x19, 1, &[RANGE], false),
    row(0x1a, 1, &[RANGE], false),
    row(0x1b, 1, &[RANGE], false),
    row(0x1f, 1, &[], true),
    row(0x20, 1, &[], true),
    row(0x21, 1, &[CAUSE], true),
    row(0x24, 0, &[], false),
    row(0x29, 0, &[RANGE], false),
    row(0x2a, 0, &[RANGE], false),
    row(0x2c, 1, &[], true),
    row(0x2d, 0, &[USER_TO_USER], true),
    row(0x2e, 0, &[], false),
    row(0x2f, 0, &[CAUSE], true),
    row(0x30, 0, &[], false),
    row(0x32, 0, &[], true),
    row(0x33, 0, &[], true),
    row(0x36, 0, &[], true),
    row(0x37, 0, &[], true),
    row(0x38, 0, &[], true),
    row(0x40, 0, &[], true),
    row(0x41, 0, &[], true),
    row(0x42, 0, &[], true),
];

/// Parameters that say nothing of what subscribers tell each other (Q.763 §3, table 5): numbers,
/// causes, indicators of networks and of services.
const SHOWN: &[u8] = &[
    0x01, CALLED, SUBSEQUENT, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
    0x11, CAUSE, 0x13, 0x15, RANGE, 0x18, 0x1a, 0x1d, 0x1e, 0x21, 0x22, 0x23, 0x24, 0x26, 0x27,
    0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x31, 0x33, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3b,
    0x3c, 0x3d, 0x3e, 0x3f, 0xc0,
];

/// Where what is secret stands in a message whose circuit has that many octets.
pub(super) fn secret(message: &[u8], circuit: usize) -> Vec<Range<usize>> {
    let mut shown: Vec<_> = std::iter::once(0..circuit + 1).collect();
    // What was shown until something was not understood stays.
    let _ = show(message, circuit, &mut shown);
    let mut spots = Vec::new();
    shown.sort_by_key(|it| it.start);
    let mut from = 0;
    for it in shown {
        if it.start > from {
            spots.push(from..it.start);
        }
        from = from.max(it.end);
    }
    if from < message.len() {
        spots.push(from..message.len());
    }
    spots
}

/// Adds what is shown. `None` where the message ends too early, or is none that is known.
fn show(message: &[u8], circuit: usize, shown: &mut Vec<Range<usize>>) -> Option<()> {
    let kind = *message.get(circuit)?;
    let row = ROWS.iter().find(|row| row.kind == kind)?;
    let pointers = circuit + 1 + row.fixed;
    let optional_at = pointers + row.variable.len();
    let end = optional_at + usize::from(row.has_optional);
    shown.push(circuit + 1..end);
    for (place, name) in row.variable.iter().enumerate() {
        let at = pointers + place;
        parameter(message, at + usize::from(*message.get(at)?), *name, shown)?;
    }
    if !row.has_optional {
        return Some(());
    }
    let pointer = usize::from(*message.get(optional_at)?);
    if pointer == 0 {
        return Some(());
    }
    let mut at = optional_at + pointer;
    loop {
        let name = *message.get(at)?;
        shown.push(at..at + 1);
        if name == 0 {
            return Some(());
        }
        at = parameter(message, at + 1, name, shown)?;
    }
}

/// One with its length in front; where it ends.
fn parameter(message: &[u8], at: usize, name: u8, shown: &mut Vec<Range<usize>>) -> Option<usize> {
    let end = at + 1 + usize::from(*message.get(at)?);
    shown.push(at..at + 1);
    if SHOWN.contains(&name) && end <= message.len() {
        shown.push(at + 1..end);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a message whose circuit has two octets.
    fn left(message: &[u8]) -> Vec<u8> {
        let mut out = message.to_vec();
        secret(message, 2).into_iter().for_each(|spot| out[spot].fill(0));
        out
    }

    #[test]
    fn of_a_call_numbers_stay_and_what_subscribers_say_goes() {
        // Called 4477…, user-to-user information, calling 33, digits, access transport.
        let iam = [
            &[1, 0, 0x01, 0, 0x60, 1, 10, 3, 2, 7, 5, 0x03, 0x10, 0x44, 0x77, 0x0f][..],
            &[0x20, 3, b'h', b'e', b'y', 0x0a, 3, 0x03, 0x13, 0x33],
            &[0xc1, 2, 0x11, 0x99, 0x03, 2, 0x71, 0x55, 0],
        ]
        .concat();
        let mut expected = iam.clone();
        for place in [18, 19, 20, 28, 29, 32, 33] {
            expected[place] = 0;
        }
        assert_eq!(left(&iam), expected);
        let answer = [1, 0, 0x09, 1, 0x20, 2, 7, 7, 0];
        assert_eq!(left(&answer), [1, 0, 0x09, 1, 0x20, 2, 0, 0, 0]);
        let release = [1, 0, 0x0c, 2, 0, 2, 0x80, 0x90];
        assert_eq!(left(&release), release);
    }

    #[test]
    fn what_is_not_understood_or_lies_between_parameters_goes() {
        assert_eq!(left(&[1, 0, 0x28, 9, 9, 9]), [1, 0, 0x28, 0, 0, 0], "pass along");
        assert_eq!(left(&[1, 0, 0xee, 9]), [1, 0, 0xee, 0]);
        assert_eq!(left(&[1, 0, 0x09, 3, 9, 9, 0, 9]), [1, 0, 0x09, 3, 0, 0, 0, 0]);
        assert_eq!(left(&[1, 0, 0x09, 1, 0x0a, 200, 9]), [1, 0, 0x09, 1, 0x0a, 200, 0]);
        assert_eq!(left(&[1, 0, 0x2d, 2, 0, 2, 8, 8]), [1, 0, 0x2d, 2, 0, 2, 0, 0]);
    }

    #[test]
    fn no_octets_lead_out_of_a_message() {
        for kind in 0..=255 {
            for filler in [0, 1, 9, 255] {
                for length in 0..24 {
                    let mut message = vec![filler; length];
                    if let Some(it) = message.get_mut(2) {
                        *it = kind;
                    }
                    let spots = secret(&message, 2);
                    assert!(spots.iter().all(|it| it.start <= it.end && it.end <= length));
                }
            }
        }
    }
}
