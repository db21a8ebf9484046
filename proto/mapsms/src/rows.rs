//! Keys and rows as octets, for whoever keeps them: tagged fields behind a letter that says which.
//! A reader skips what it does not know.

use crate::centre::{Retry, Stored};
use crate::identity::{Imsi, Msisdn};
use crate::store::{
    Correlation, Done, Flight, Form, Key, Limit, Row, Submitted, Subscriber, Waiting,
};
use machine::Time;
use wire::field::{self, Fields};

const IDENTITY: u8 = 1;
const S_CSCF: u8 = 2;
const IMSI: u8 = 3;
const CONTACT: u8 = 4;
const FORM: u8 = 5;
const MSISDN: u8 = 6;
const NODE: u8 = 7;
const CENTRE: u8 = 8;
const IS_FULL: u8 = 9;
const TO: u8 = 10;
const SENDER: u8 = 11;
const REFERENCE: u8 = 12;
const WANTS_REPORT: u8 = 13;
const TPDU: u8 = 14;
const RECEIVED: u8 = 15;
const UNTIL: u8 = 16;
const TRAIL: u8 = 17;
const FLOW: u8 = 18;
const PROOF: u8 = 19;
const SUM: u8 = 20;
const IS_DEBITED: u8 = 21;
const ASKER: u8 = 22;
const FAILURES: u8 = 23;
const DUE: u8 = 24;
const IS_UNROUTED: u8 = 25;
const REPORT: u8 = 26;

/// The letter of keys of messages.
pub const MESSAGES: &[u8] = b"m";
/// The letter of keys of subscribers.
pub const SUBSCRIBERS: &[u8] = b"s";
/// The letter of keys of correlation IMSIs.
pub const CORRELATIONS: &[u8] = b"c";
/// The letter of keys of who waits for a subscriber.
pub const WAITING: &[u8] = b"w";
/// The letter of keys of how subscribers are tried.
pub const RETRIES: &[u8] = b"r";
/// The letter of keys of messages under way.
pub const FLIGHTS: &[u8] = b"f";
/// The letter of keys of messages of terminals.
pub const SUBMISSIONS: &[u8] = b"o";
/// The letter of keys of what is used of limits.
pub const LIMITS: &[u8] = b"l";

/// The letter of a limit.
const fn letter_of(limit: Limit) -> u8 {
    match limit {
        Limit::Sender => b's',
        Limit::Waiter => b'w',
    }
}

fn limit_of(letter: u8) -> Option<Limit> {
    [Limit::Sender, Limit::Waiter].into_iter().find(|it| letter_of(*it) == letter)
}

impl Key {
    /// The key as octets.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        let (letter, rest) = match self {
            Self::Subscriber(msisdn) => (b's', msisdn.digits().as_bytes().to_vec()),
            Self::Identity(identity) => (b'i', identity.as_bytes().to_vec()),
            Self::Correlation(imsi) => (b'c', imsi.digits().as_bytes().to_vec()),
            Self::Waiting(msisdn) => (b'w', msisdn.digits().as_bytes().to_vec()),
            Self::Message(number) => (b'm', number.to_be_bytes().to_vec()),
            Self::Flight(number) => (b'f', number.to_be_bytes().to_vec()),
            Self::Retry(msisdn) => (b'r', msisdn.digits().as_bytes().to_vec()),
            Self::Submission(sum) => (b'o', sum.to_be_bytes().to_vec()),
            Self::Used(limit, msisdn) => {
                (b'l', [&[letter_of(*limit)], msisdn.digits().as_bytes()].concat())
            }
        };
        [&[letter][..], &rest].concat()
    }

    /// The key of octets; none if they are none.
    #[must_use]
    pub fn of(octets: &[u8]) -> Option<Self> {
        let (letter, rest) = octets.split_first()?;
        let text = || core::str::from_utf8(rest).ok();
        match letter {
            b's' => Msisdn::of(text()?).map(Self::Subscriber),
            b'i' => Some(Self::Identity(text()?.to_owned())),
            b'c' => Imsi::of(text()?).map(Self::Correlation),
            b'w' => Msisdn::of(text()?).map(Self::Waiting),
            b'm' => Some(Self::Message(u64::from_be_bytes(rest.try_into().ok()?))),
            b'f' => Some(Self::Flight(u64::from_be_bytes(rest.try_into().ok()?))),
            b'r' => Msisdn::of(text()?).map(Self::Retry),
            b'o' => Some(Self::Submission(u64::from_be_bytes(rest.try_into().ok()?))),
            b'l' => {
                let (letter, digits) = rest.split_first()?;
                let msisdn = Msisdn::of(core::str::from_utf8(digits).ok()?)?;
                Some(Self::Used(limit_of(*letter)?, msisdn))
            }
            _ => None,
        }
    }
}

/// The text of each field.
struct Read<'a>(Fields<'a>);

impl<'a> Read<'a> {
    fn all(&self, tag: u8) -> impl Iterator<Item = &'a [u8]> {
        self.0.clone().filter_map(move |(own, value)| (own == tag).then_some(value))
    }

    fn text(&self, tag: u8) -> Option<&'a str> {
        core::str::from_utf8(self.all(tag).next()?).ok()
    }

    fn number(&self, tag: u8) -> u64 {
        self.all(tag).next().map_or(0, field::read)
    }

    fn time(&self, tag: u8) -> Option<Time> {
        Some(Time::from_nanos(field::read(self.all(tag).next()?)))
    }

    fn msisdn(&self, tag: u8) -> Option<Msisdn> {
        Msisdn::of(self.text(tag)?)
    }

    fn msisdns(&self, tag: u8) -> Option<Vec<Msisdn>> {
        self.all(tag).map(|it| Msisdn::of(core::str::from_utf8(it).ok()?)).collect()
    }
}

impl Row {
    /// The row as octets.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Subscriber(row) => row.write(&mut out),
            Self::Identity(msisdn) => {
                out.push(b'i');
                field::bytes(&mut out, MSISDN, msisdn.digits().as_bytes());
            }
            Self::Correlation(row) => row.write(&mut out),
            Self::Waiting(row) => {
                out.push(b'w');
                row.centres.iter().for_each(|it| {
                    field::bytes(&mut out, CENTRE, it.digits().as_bytes());
                });
                field::bytes(&mut out, IS_FULL, &[row.is_full.into()]);
            }
            Self::Message(row) => row.write(&mut out),
            Self::Flight(row) => {
                out.push(b'f');
                field::bytes(&mut out, IDENTITY, row.identity.as_bytes());
                field::bytes(&mut out, REFERENCE, &[row.reference]);
                field::number(&mut out, FLOW, row.flow);
                field::bytes(&mut out, PROOF, &row.proof.to_be_bytes());
                if row.is_debited {
                    field::bytes(&mut out, IS_DEBITED, &[1]);
                }
            }
            Self::Done(row) => {
                out.push(b'd');
                field::bytes(&mut out, SUM, &row.sum.to_be_bytes());
                field::number(&mut out, RECEIVED, row.received.as_nanos());
            }
            Self::Retry(row) => {
                out.push(b'r');
                field::number(&mut out, FAILURES, row.failures.into());
                field::number(&mut out, DUE, row.due.as_nanos());
                if row.is_unrouted {
                    field::bytes(&mut out, IS_UNROUTED, &[1]);
                }
            }
            Self::Submission(row) => row.write(&mut out),
            Self::Used(until) => {
                out.push(b'l');
                field::number(&mut out, UNTIL, until.as_nanos());
            }
        }
        out
    }

    /// The row of octets; none if they are none.
    #[must_use]
    pub fn of(octets: &[u8]) -> Option<Self> {
        let (letter, rest) = octets.split_first()?;
        let fields = Fields::new(rest);
        let read = Read(fields.clone());
        let is_whole = fields.clone().last().is_none_or(|_| {
            let mut all = fields.clone();
            all.by_ref().for_each(drop);
            all.rest().is_empty()
        });
        match letter {
            _ if !is_whole => None,
            b's' => Subscriber::of(&read).map(Self::Subscriber),
            b'i' => read.msisdn(MSISDN).map(Self::Identity),
            b'c' => Correlation::of(&read).map(Self::Correlation),
            b'w' => {
                let centres = read.msisdns(CENTRE)?;
                (centres.len() <= Waiting::CENTRES_MAX).then_some(())?;
                Some(Self::Waiting(Waiting { centres, is_full: read.number(IS_FULL) != 0 }))
            }
            b'm' => Stored::of(&read).map(Self::Message),
            b'f' => Some(Self::Flight(Flight {
                flow: read.number(FLOW),
                proof: read.number(PROOF),
                reference: u8::try_from(read.number(REFERENCE)).ok()?,
                identity: read.text(IDENTITY)?.to_owned(),
                is_debited: read.number(IS_DEBITED) == 1,
            })),
            b'd' => Some(Self::Done(Done {
                sum: read.number(SUM),
                received: Time::from_nanos(read.number(RECEIVED)),
            })),
            b'r' => Some(Self::Retry(Retry {
                failures: u32::try_from(read.number(FAILURES)).ok()?,
                due: Time::from_nanos(read.number(DUE)),
                is_unrouted: read.number(IS_UNROUTED) == 1,
            })),
            b'o' => Submitted::of(&read).map(Self::Submission),
            b'l' => read.time(UNTIL).map(Self::Used),
            _ => None,
        }
    }
}

impl Subscriber {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b's');
        field::bytes(out, IDENTITY, self.identity.as_bytes());
        field::bytes(out, S_CSCF, self.s_cscf.as_bytes());
        if let Some(imsi) = &self.imsi {
            field::bytes(out, IMSI, imsi.digits().as_bytes());
        }
        self.contacts.iter().for_each(|it| field::bytes(out, CONTACT, it.as_bytes()));
        field::bytes(out, FORM, &[u8::from(self.form == Form::Text)]);
    }

    fn of(read: &Read<'_>) -> Option<Self> {
        let contacts = read.all(CONTACT).map(|it| String::from_utf8(it.to_vec()).ok());
        Some(Self {
            identity: read.text(IDENTITY)?.to_owned(),
            s_cscf: read.text(S_CSCF)?.to_owned(),
            imsi: read.text(IMSI).map(Imsi::of).map_or(Some(None), |it| it.map(Some))?,
            contacts: contacts.collect::<Option<_>>()?,
            form: if read.number(FORM) == 1 { Form::Text } else { Form::ShortMessage },
        })
    }
}

impl Correlation {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'c');
        field::bytes(out, MSISDN, self.msisdn.digits().as_bytes());
        if let Some(centre) = &self.centre {
            field::bytes(out, CENTRE, centre.digits().as_bytes());
        }
        if let Some(asker) = &self.asker {
            field::bytes(out, ASKER, asker.digits().as_bytes());
        }
        if let Some(imsi) = &self.imsi {
            field::bytes(out, IMSI, imsi.digits().as_bytes());
        }
        self.nodes.iter().for_each(|it| field::bytes(out, NODE, it.digits().as_bytes()));
    }

    fn of(read: &Read<'_>) -> Option<Self> {
        Some(Self {
            msisdn: read.msisdn(MSISDN)?,
            centre: read.text(CENTRE).map(Msisdn::of).map_or(Some(None), |it| it.map(Some))?,
            asker: read.msisdn(ASKER),
            imsi: read.text(IMSI).map(Imsi::of).map_or(Some(None), |it| it.map(Some))?,
            nodes: read.msisdns(NODE)?,
        })
    }
}

impl Submitted {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'o');
        field::number(out, RECEIVED, self.received.as_nanos());
        if self.is_debited {
            field::bytes(out, IS_DEBITED, &[1]);
        }
        if let Some(report) = &self.report {
            field::bytes(out, REPORT, report);
        }
    }

    fn of(read: &Read<'_>) -> Option<Self> {
        Some(Self {
            received: read.time(RECEIVED)?,
            is_debited: read.number(IS_DEBITED) == 1,
            report: read.all(REPORT).next().map(<[u8]>::to_vec),
        })
    }
}

impl Stored {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'm');
        field::bytes(out, TO, self.to.digits().as_bytes());
        if let Some(sender) = &self.sender {
            field::bytes(out, SENDER, sender.digits().as_bytes());
        }
        field::bytes(out, REFERENCE, &[self.reference]);
        field::bytes(out, WANTS_REPORT, &[self.wants_report.into()]);
        field::bytes(out, TPDU, &self.tpdu);
        field::number(out, RECEIVED, self.received.as_nanos());
        field::number(out, UNTIL, self.until.as_nanos());
        field::number(out, TRAIL, self.trail);
        if self.sum != 0 {
            field::bytes(out, SUM, &self.sum.to_be_bytes());
        }
    }

    fn of(read: &Read<'_>) -> Option<Self> {
        Some(Self {
            to: read.msisdn(TO)?,
            sender: read.text(SENDER).map(Msisdn::of).map_or(Some(None), |it| it.map(Some))?,
            reference: u8::try_from(read.number(REFERENCE)).ok()?,
            wants_report: read.number(WANTS_REPORT) != 0,
            tpdu: read.all(TPDU).next()?.to_vec(),
            received: Time::from_nanos(read.number(RECEIVED)),
            until: Time::from_nanos(read.number(UNTIL)),
            trail: read.number(TRAIL),
            sum: read.number(SUM),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_rows_are_read_as_they_were_written_and_what_is_cut_off_is_none() {
        let number = || Msisdn::of("447700900123").unwrap();
        let imsi = || Imsi::of("234150000000123").unwrap();
        for key in [
            Key::Subscriber(number()),
            Key::Identity("sip:a@x".into()),
            Key::Correlation(imsi()),
            Key::Waiting(number()),
            Key::Message(77),
            Key::Flight(77),
            Key::Retry(number()),
            Key::Submission(77),
            Key::Used(Limit::Sender, number()),
            Key::Used(Limit::Waiter, number()),
        ] {
            assert_eq!(Key::of(&key.octets()), Some(key));
        }
        let message = Stored {
            to: number(),
            sender: None,
            reference: 200,
            wants_report: true,
            tpdu: vec![4, 1, 2],
            received: Time::from_millis(5),
            until: Time::from_millis(6),
            trail: u64::MAX,
            sum: 1,
        };
        let identity = "sip:a@x".to_owned();
        let flight = Flight { flow: 7, proof: 1, reference: 9, identity, is_debited: true };
        let subscriber = Subscriber {
            identity: "sip:a@x".into(),
            s_cscf: "sip:s".into(),
            imsi: Some(imsi()),
            contacts: vec!["sip:c".into(), "sip:d".into()],
            form: Form::Text,
        };
        let correlation = Correlation {
            msisdn: number(),
            centre: Some(number()),
            asker: Some(number()),
            imsi: None,
            nodes: vec![number(), number()],
        };
        let received = Time::from_millis(5);
        let submission = |report| Submitted { received, is_debited: true, report };
        for row in [
            Row::Subscriber(subscriber),
            Row::Identity(number()),
            Row::Correlation(correlation),
            Row::Waiting(Waiting { centres: vec![number()], is_full: true }),
            Row::Message(message),
            Row::Flight(flight),
            Row::Retry(Retry { failures: 3, due: Time::from_millis(9), is_unrouted: true }),
            Row::Submission(submission(None)),
            Row::Submission(submission(Some(vec![3, 9]))),
            Row::Used(Time::from_millis(9)),
            Row::Done(Done { sum: 1 << 63, received: Time::from_millis(5) }),
        ] {
            let octets = row.octets();
            assert_eq!(Row::of(&octets).as_ref(), Some(&row));
            assert_eq!(Row::of(&octets[..octets.len() - 1]), None, "{row:?}");
        }
        assert!(Key::of(b"").is_none() && Row::of(b"x").is_none() && Key::of(b"m123").is_none());
        assert!(Key::of(b"lx44").is_none() && Key::of(b"l").is_none());
    }
}
