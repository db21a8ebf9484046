//! TPDUs and RP messages by chance, for tests and fuzzing: every parameter, edges among them.

use crate::address::{Address, NumberingPlan, RpAddress, TypeOfNumber};
use crate::coding::{Characters, Coding};
use crate::header::{self, Element};
use crate::names::{Cause, Command, FailureCause, Status};
use crate::rp;
use crate::time::{Time, Validity};
use crate::tpdu::{Kind, Parameter, Place, Shape, Tpdu, Value};
use crate::user_data::{Made, UserData};

fn octet(next: &mut dyn FnMut() -> u64) -> u8 {
    next().to_le_bytes()[0]
}

fn pick<T: Copy>(all: &[T], next: &mut dyn FnMut() -> u64) -> T {
    let index = usize::try_from(next() % all.len() as u64).unwrap_or_default();
    all[index]
}

fn digits(next: &mut dyn FnMut() -> u64, max: u64) -> String {
    let count = pick(&[0, 1, max, next() % (max + 1)], next);
    (0..count).map(|_| char::from(pick(b"0123456789*#abc", next))).collect()
}

/// An address of digits or letters.
pub(crate) fn address(next: &mut dyn FnMut() -> u64) -> Address {
    let letters = ["Bank", "12345678901", "Ä€", ""];
    let number = pick(TypeOfNumber::ALL, next);
    let plan = pick(NumberingPlan::ALL, next);
    let found = match number {
        TypeOfNumber::Alphanumeric => Address::letters(pick(&letters, next)),
        _ => Address::digits(number, plan, &digits(next, 20)),
    };
    found.unwrap_or_else(|| Address::letters("").expect("no letters fit"))
}

/// An address of an RP message.
pub(crate) fn rp_address(next: &mut dyn FnMut() -> u64) -> RpAddress {
    let number = pick(&TypeOfNumber::ALL[..5], next);
    let count = 1 + next() % 20;
    let text: String = (0..count).map(|_| char::from(pick(b"0123456789", next))).collect();
    RpAddress::digits(number, pick(NumberingPlan::ALL, next), &text).unwrap_or_default()
}

fn time(next: &mut dyn FnMut() -> u64) -> Time {
    let seconds = i64::try_from(next() % 3_000_000_000).unwrap_or_default();
    let quarters = i8::try_from(next() % 159).unwrap_or_default();
    Time::of_unix(seconds, quarters.wrapping_sub(79))
}

/// Elements that together take no more than `room` octets.
fn header(room: usize, next: &mut dyn FnMut() -> u64) -> Vec<u8> {
    let mut elements: Vec<(u8, Vec<u8>)> = Vec::new();
    for _ in 0..=next() % 3 {
        let mut value = Vec::new();
        let element = pick(Element::ALL, next);
        header::sample(element.fields(), next, &mut value);
        let used: usize = elements.iter().map(|it| 2 + it.1.len()).sum();
        if 1 + used + 2 + value.len() <= room {
            elements.push((element.number(), value));
        }
    }
    let mut octets = Vec::new();
    let _ = header::write(elements.iter().map(|it| (it.0, &it.1[..])), &mut octets);
    octets
}

/// Characters that every alphabet of seven bits has.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789 !.?:;";

fn user_data(coding: Coding, has_header: bool, max: usize, next: &mut dyn FnMut() -> u64) -> Made {
    let header = if has_header { header(max, next) } else { Vec::new() };
    let room = max - header.len();
    let count = pick(&[0, 1, room, usize::try_from(next() % (room as u64 + 1)).unwrap_or(0)], next);
    let letters = |count: usize, next: &mut dyn FnMut() -> u64| -> String {
        (0..count).map(|_| char::from(pick(LETTERS, next))).collect()
    };
    let made = match coding.characters() {
        _ if coding.is_compressed() => None,
        Characters::Octets => None,
        Characters::Gsm7 => Made::text(coding, &header, &letters(count * 8 / 7, next)),
        Characters::Ucs2 => Made::text(coding, &header, &letters(count / 2, next)),
    };
    let fits = made.filter(|it| it.octets.len() <= max);
    let body: Vec<u8> = (0..count).map(|_| octet(next)).collect();
    fits.or_else(|| Made::octets(&header, &body).filter(|_| !coding.counts_septets()))
        .or_else(|| Made::text(coding, &header, ""))
        .unwrap_or_default()
}

/// TP-DCS octets of every group, none of them reserved.
const CODINGS: &[u8] = &[
    0x00, 0x04, 0x08, 0x11, 0x16, 0x1b, 0x20, 0x24, 0x40, 0x48, 0xc0, 0xcb, 0xd1, 0xe2, 0xf0, 0xf5,
];

impl Kind {
    /// Appends a TPDU of this kind. `next` gives numbers; the same ones make the same TPDU.
    pub fn sample(self, next: &mut dyn FnMut() -> u64, out: &mut Vec<u8>) {
        let mut tpdu = Tpdu::new(self);
        let (mut data, mut command) = (None, Vec::new());
        for field in self.fields() {
            let parameter = field.parameter;
            if matches!(field.place, Place::Indicated(_) | Place::IfMore) && next() & 1 == 0 {
                continue;
            }
            let value = match parameter.shape() {
                Shape::Flag => Value::Flag(next() & 1 != 0),
                Shape::Octet if parameter == Parameter::DataCodingScheme => {
                    Value::Octet(pick(CODINGS, next))
                }
                Shape::Octet => Value::Octet(octet(next)),
                Shape::FailureCause => Value::Octet(pick(FailureCause::ALL, next).number()),
                Shape::Status => Value::Octet(pick(Status::ALL, next).number()),
                Shape::Command => Value::Octet(pick(Command::ALL, next).number()),
                Shape::Address => Value::Address(address(next)),
                Shape::Time => Value::Time(time(next)),
                Shape::Validity => match next() % 4 {
                    0 => continue,
                    1 => Value::Validity(Validity::Relative(octet(next))),
                    2 => Value::Validity(Validity::Absolute(time(next))),
                    _ => Value::Validity(Validity::Enhanced([2, octet(next), 0, 0, 0, 0, 0])),
                },
                Shape::Indicator => continue,
                Shape::CommandData => {
                    let has_header = tpdu.flag(Parameter::HeaderIndicator);
                    command = user_data(Coding::OCTETS, has_header, 140, next).octets;
                    continue;
                }
                Shape::UserData => {
                    let max = self.data_octets_max();
                    let has_header = tpdu.flag(Parameter::HeaderIndicator);
                    data = Some(user_data(tpdu.coding(), has_header, max, next));
                    continue;
                }
            };
            tpdu = tpdu.with(parameter, value);
        }
        if self == Self::Command {
            tpdu = tpdu.with(Parameter::CommandData, Value::Octets(&command));
        }
        if let Some(made) = &data {
            let (coding, has) = (tpdu.coding(), tpdu.flag(Parameter::HeaderIndicator));
            let value: UserData<'_> = made.as_read(coding, has);
            tpdu = tpdu.with(Parameter::UserData, Value::UserData(value));
        }
        tpdu.write(out).expect("a sample has all that its kind needs");
    }
}

impl rp::Kind {
    /// Appends an RP message of this kind, likewise, with a TPDU where it may have one.
    pub fn sample(self, next: &mut dyn FnMut() -> u64, out: &mut Vec<u8>) {
        let direction = self.direction();
        let (mut tpdu, diagnostic) = (Vec::new(), [octet(next)]);
        let mut message = rp::Message::new(self, octet(next));
        match self {
            Self::DataFromTerminal => message.destination = rp_address(next),
            Self::DataToTerminal => message.originator = rp_address(next),
            Self::ErrorFromTerminal | Self::ErrorToTerminal => {
                let diagnostic = if next() & 1 == 0 { &[][..] } else { &diagnostic[..] };
                let cause = pick(Cause::ALL, next);
                message.failure = Some(rp::Failure { diagnostic, ..rp::Failure::of(cause) });
            }
            _ => {}
        }
        let kind = match (self, direction, next() & 1 != 0) {
            (Self::DataFromTerminal, ..) => Some(pick(&[Kind::Submit, Kind::Command], next)),
            (Self::DataToTerminal, ..) => Some(pick(&[Kind::Deliver, Kind::StatusReport], next)),
            (Self::MemoryAvailable, ..) | (.., false) => None,
            (_, direction, true) => Some(Kind::in_report(direction, message.failure.is_some())),
        };
        if let Some(kind) = kind {
            kind.sample(next, &mut tpdu);
            message.user_data = Some(&tpdu);
        }
        message.write(out).expect("a sample has all that its kind needs");
    }
}
