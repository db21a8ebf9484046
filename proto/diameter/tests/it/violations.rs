//! Each violation has the result code of its section and shows the AVP that offends (RFC 6733 §7).

use diameter::Dictionary;
use diameter::codec::{Avp, AvpFlags, AvpWriter, Avps, Message, ResultCode, Violation, Writer};
use diameter::rows::base::{self, FAILED_AVP};
use diameter::rows::{cx, sh};

/// A UDR whose AVPs `change` changes.
fn udr(change: impl Fn(&mut AvpWriter<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::request(&mut octets, &sh::USER_DATA_COMMAND, sh::SH.id)
        .put(&base::SESSION_ID, "a;1;2")
        .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
            out.number(&base::VENDOR_ID, 10_415);
            out.number(&base::AUTH_APPLICATION_ID, sh::SH.id);
        })
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, "as.example")
        .put(&base::ORIGIN_REALM, "example")
        .put(&base::DESTINATION_REALM, "example");
    change(writer.avps());
    writer.end().unwrap();
    octets
}

fn identity(out: &mut AvpWriter<'_>) {
    out.group(&sh::USER_IDENTITY, |out| out.put(&sh::MSISDN, [0x94, 0x71]));
}

fn violation(octets: &[u8]) -> Violation {
    Dictionary::default().check(&Message::read(octets).unwrap()).unwrap_err()
}

/// The AVPs that a violation shows, from the outermost group to the innermost.
fn shown(violation: &Violation) -> Vec<(u32, u32, usize)> {
    let mut all = Vec::new();
    let mut next: Option<Avp<'_>> = Avps::new(&violation.failed, 0).next().and_then(Result::ok);
    while let Some(avp) = next {
        all.push((avp.vendor, avp.code, avp.data.len()));
        let is_group = matches!(avp.code, 700 | 260);
        next = is_group.then(|| avp.group().next().and_then(Result::ok)).flatten();
    }
    all
}

#[test]
fn a_request_without_violation_passes() {
    let octets = udr(|out| {
        identity(out);
        out.integer(&sh::DATA_REFERENCE, 25);
        out.integer(&sh::DATA_REFERENCE, 24);
        out.raw(9_999, 0, AvpFlags(0), b"passed over");
    });
    let message = Message::read(&octets).unwrap();
    assert_eq!(Dictionary::default().check(&message).unwrap().request, "UDR");
}

#[test]
fn each_violation_has_its_result_code_and_its_failed_avp() {
    let reference = |out: &mut AvpWriter<'_>| out.integer(&sh::DATA_REFERENCE, 25);
    type Case<'a> = (&'a dyn Fn(&mut AvpWriter<'_>), ResultCode, &'a [(u32, u32, usize)]);
    let table: [Case<'_>; 9] = [
        (&|out| reference(out), ResultCode::MissingAvp, &[(10_415, 700, 0)]),
        (&|out| identity(out), ResultCode::MissingAvp, &[(10_415, 703, 4)]),
        (
            &|out| {
                identity(out);
                identity(out);
                reference(out);
            },
            ResultCode::AvpOccursTooManyTimes,
            &[(10_415, 700, 16), (10_415, 701, 2)],
        ),
        (
            &|out| {
                identity(out);
                out.integer(&sh::DATA_REFERENCE, 99);
            },
            ResultCode::InvalidAvpValue,
            &[(10_415, 703, 4)],
        ),
        (
            &|out| {
                identity(out);
                out.put(&sh::DATA_REFERENCE, [0, 25]);
            },
            ResultCode::InvalidAvpLength,
            &[(10_415, 703, 2)],
        ),
        (
            &|out| {
                identity(out);
                reference(out);
                out.raw(9_999, 0, AvpFlags(AvpFlags::MANDATORY), b"ab");
            },
            ResultCode::AvpUnsupported,
            &[(0, 9_999, 2)],
        ),
        (
            &|out| {
                out.group(&sh::USER_IDENTITY, |out| {
                    out.put(&cx::PUBLIC_IDENTITY, "sip:a@example");
                    out.raw(9_998, 7, AvpFlags(0xc0), b"abc");
                });
                reference(out);
            },
            ResultCode::AvpUnsupported,
            &[(10_415, 700, 16), (7, 9_998, 3)],
        ),
        (
            &|out| {
                identity(out);
                reference(out);
                out.put(&base::DESTINATION_HOST, "not a host");
            },
            ResultCode::InvalidAvpValue,
            &[(0, 293, 10)],
        ),
        (
            &|out| {
                identity(out);
                reference(out);
                out.put(&base::USER_NAME, [0xff, 0xfe]);
            },
            ResultCode::InvalidAvpValue,
            &[(0, 1, 2)],
        ),
    ];
    for (change, code, failed) in table {
        let violation = violation(&udr(change));
        assert_eq!((violation.code, shown(&violation)), (code, failed.to_vec()), "{violation}");
    }
}

#[test]
fn an_avp_longer_than_its_message_is_shown_by_its_header_alone() {
    let mut octets = udr(|out| {
        identity(out);
        out.integer(&sh::DATA_REFERENCE, 25);
    });
    let at = octets.len() - 16 + 7;
    octets[at] = 40;
    let violation = violation(&octets);
    assert_eq!(violation.code, ResultCode::InvalidAvpLength);
    assert_eq!(shown(&violation), [(10_415, 703, 0)]);
}

#[test]
fn applications_commands_and_bits_that_are_not_known_are_told_apart() {
    let whole = udr(|out| {
        identity(out);
        out.integer(&sh::DATA_REFERENCE, 25);
    });
    let change = |at: usize, octet| {
        let mut octets = whole.clone();
        octets[at] = octet;
        violation(&octets).code
    };
    assert_eq!(change(11, 9), ResultCode::ApplicationUnsupported);
    assert_eq!(change(7, 9), ResultCode::CommandUnsupported);
    assert_eq!(change(4, 0x80), ResultCode::InvalidHdrBits);
}

#[test]
fn groups_within_each_other_and_avps_are_bounded() {
    fn nest(out: &mut AvpWriter<'_>, depth: usize) {
        out.group(&sh::USER_IDENTITY, |out| match depth {
            0 => out.put(&sh::MSISDN, [1]),
            _ => nest(out, depth - 1),
        });
    }
    let deep = violation(&udr(|out| nest(out, 12)));
    assert_eq!(deep.code, ResultCode::InvalidAvpValue);
    let many = violation(&udr(|out| {
        (0..5_000).for_each(|_| out.raw(9_999, 0, AvpFlags(0), b""));
    }));
    assert_eq!(many.code, ResultCode::UnableToComply);
}

#[test]
fn an_answer_of_a_protocol_error_needs_what_every_such_answer_has() {
    let request = udr(identity);
    let header = Message::read(&request).unwrap().header;
    let mut octets = Vec::new();
    let writer = Writer::answer(&mut octets, &header)
        .put(&base::ORIGIN_HOST, "hss.example")
        .put(&base::ORIGIN_REALM, "example")
        .result(ResultCode::UnableToDeliver)
        .group(&FAILED_AVP, |out| out.raw(1, 0, AvpFlags(0x40), &[0xff]));
    writer.end().unwrap();
    octets[4] |= 0x20;
    let message = Message::read(&octets).unwrap();
    assert!(Dictionary::default().check(&message).is_ok());
    octets[4] &= !0x20;
    assert!(Dictionary::default().check(&Message::read(&octets).unwrap()).is_ok(), "nor without E");
    let mut octets = Vec::new();
    let writer = Writer::answer(&mut octets, &header)
        .put(&base::ORIGIN_HOST, "hss.example")
        .put(&base::ORIGIN_REALM, "example")
        .result(ResultCode::Success);
    writer.end().unwrap();
    assert_eq!(violation(&octets).code, ResultCode::MissingAvp, "an answer of Sh has more");
}
