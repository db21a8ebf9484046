//! Messages of Diameter as legs of what they belong to, and as trails of their own.

use crate::bench::{Bench, CORE, Leg, SSC, UA};
use crate::interface::tshark;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::row::{Application, Command};
use diameter::rows::{base, s6c, sgd};
use sas::config::{Keep, Sas};
use sas::ladder::{self, Extent};
use sas::pcapng;
use sas::trail::{Kind, Outcome};

const OWN: &str = "192.0.2.1:40000";
const CENTRE: &str = "192.0.2.200:3868";
const TEXT: &[u8] = b"meet me at nine";
const TRAIL: &str = "00000000000000aa";

fn asked(of: (&Application, &Command), session: &str, host: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    Writer::request(&mut octets, of.1, of.0.id)
        .put(&base::SESSION_ID, session)
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, host)
        .put(&base::ORIGIN_REALM, "example")
        .put(&base::DESTINATION_REALM, "centres")
        .put(&s6c::SC_ADDRESS, [0x44, 0x87, 0x00])
        .group(&s6c::USER_IDENTIFIER, |out| {
            out.put(&diameter::rows::sh::MSISDN, [0x44, 0x77, 0x00, 0x09, 0x10, 0x32]);
        })
        .put(&sgd::SM_RP_UI, TEXT)
        .end()
        .unwrap();
    octets
}

fn answered(request: &[u8], host: &str, code: Result<ResultCode, u32>) -> Vec<u8> {
    let message = Message::read(request).unwrap();
    let session = message.avps().find(&base::SESSION_ID).unwrap().data;
    let mut octets = Vec::new();
    let writer = Writer::answer(&mut octets, &message.header).put(&base::SESSION_ID, session);
    let writer = match code {
        Ok(code) => writer.result(code),
        Err(code) => writer.group(&base::EXPERIMENTAL_RESULT, |out| {
            out.number(&base::VENDOR_ID, 10_415);
            out.number(&base::EXPERIMENTAL_RESULT_CODE, code);
        }),
    };
    writer
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, host)
        .put(&base::ORIGIN_REALM, "centres")
        .end()
        .unwrap();
    octets
}

const SUBMIT: (&Application, &Command) = (&sgd::SGD, &sgd::MO_FORWARD_SHORT_MESSAGE);

impl Bench {
    fn diameter(&mut self, from: &str, to: &str, payload: &[u8], correlation: &str) {
        self.protocol = hep::TCP;
        self.captured(hep::KIND_DIAMETER, from, to, payload, correlation);
        self.protocol = hep::UDP;
        self.wait_ms(5);
    }
}

#[test]
fn a_message_of_sip_and_its_legs_of_diameter_are_one_trail_on_one_ladder() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (leg, report) = (Leg::new("alice", "sc", "one"), Leg::new("sc", "alice", "two"));
    bench.sip(UA, SSC, &leg.request("MESSAGE", 1), TRAIL);
    bench.sip(SSC, UA, &leg.response(202, 1, "MESSAGE"), TRAIL);
    let request = asked(SUBMIT, "sms1.example;1;7", "sms1.example");
    bench.diameter(OWN, CENTRE, &request, TRAIL);
    // The centre takes longer than a message of SIP that is over is kept.
    bench.wait_ms(9_000);
    let answer = answered(&request, "sc1.centres", Err(5_555));
    bench.diameter(CENTRE, OWN, &answer, TRAIL);
    bench.sip(SSC, CORE, &report.request("MESSAGE", 1), TRAIL);
    bench.sip(CORE, SSC, &report.response(200, 1, "MESSAGE"), TRAIL);
    let trail = bench.only(&[("call_id", "one")]);
    assert_eq!((trail.kind, trail.outcome, trail.status), (Kind::Message, Outcome::Ok, 202));
    assert_eq!((trail.places.len(), trail.call_ids.len()), (6, 2));
    for pairs in [
        [("q", "sms1.example;1;7")],
        [("q", "sc1.centres")],
        [("number", "447700900123")],
        [("address", CENTRE)],
    ] {
        assert_eq!(bench.only(&pairs).id, trail.id, "{pairs:?}");
    }
    let (page, entries) = bench.detail(trail.id);
    let names: Vec<_> = page.messages.iter().filter_map(|it| it.method.as_deref()).collect();
    assert_eq!(names, ["MESSAGE", "OFR", "OFA ERROR_SM_DELIVERY_FAILURE", "MESSAGE"]);
    let failed: Vec<_> = page.messages.iter().filter(|it| it.failed).map(|it| it.n).collect();
    assert_eq!(failed, [3]);
    let hosts: Vec<_> = page.hosts.iter().map(|it| &*it.label).collect();
    assert!(hosts.contains(&"sc1.centres") && hosts.contains(&"sms1.example"), "{hosts:?}");
    let drawn = ladder::draw(&page, Extent::Whole);
    assert!(drawn.contains("OFR") && drawn.contains("\"SC-Address\": \"448700\""), "{drawn}");
    // tshark reads it, and finds the text as little as anybody else.
    let file = directory.path().join("message.pcapng");
    let bytes = pcapng::write(&entries);
    assert!(!bytes.windows(TEXT.len()).any(|it| it == TEXT), "the text is not kept");
    std::fs::write(&file, bytes).unwrap();
    let fields = ["diameter.cmd.code", "diameter.Session-Id", "_ws.malformed"];
    let lines: Vec<_> = tshark(&file, &fields);
    let read: Vec<_> = lines.iter().filter(|it| it.starts_with("8388645")).collect();
    assert_eq!(read, ["8388645\tsms1.example;1;7\t"; 2], "{lines:?}");
    bench.wait_ms(60_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    assert_eq!(bench.only(&[("call_id", "one")]).places.len(), 6);
}

#[test]
fn a_session_without_a_message_is_a_trail_that_ends_with_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let routing = (&s6c::S6C, &s6c::SEND_ROUTING_INFO_FOR_SM);
    for (session, code, outcome, status) in [
        ("a;1;1", Ok(ResultCode::Success), Outcome::Ok, 2001),
        ("a;1;2", Err(5_550), Outcome::Failed, 5550),
    ] {
        // Another agent says nothing of trails.
        let request = asked(routing, session, "sc1.centres");
        bench.diameter(CENTRE, OWN, &request, "");
        bench.diameter(OWN, CENTRE, &answered(&request, "sms1.example", code), "");
        let trail = bench.only(&[("q", session)]);
        assert_eq!((trail.kind, trail.outcome, trail.status), (Kind::Dialogue, outcome, status));
        assert_eq!((&*trail.from, &*trail.to), ("sc1.centres", "centres"));
        assert_eq!(trail.places.len(), 2);
    }
    assert_eq!(&*bench.only(&[("q", "a;1;2")]).cause, "ERROR_ABSENT_USER");
    let unanswered = asked(routing, "a;1;3", "sc1.centres");
    bench.diameter(CENTRE, OWN, &unanswered, "");
    bench.wait_ms(300_000);
    assert_eq!(bench.only(&[("q", "a;1;3")]).outcome, Outcome::NoAnswer);
}

#[test]
fn what_is_secret_or_unknown_is_kept_as_zeros_unless_the_operator_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let unknown = {
        let mut octets = asked(SUBMIT, "b;1;1", "sms1.example");
        let mut more = Vec::new();
        let flags = diameter::codec::AvpFlags(0x80);
        diameter::codec::AvpWriter::new(&mut more).raw(77, 9_999, flags, b"not for us!!");
        octets.extend_from_slice(&more);
        let length = u32::try_from(octets.len()).unwrap().to_be_bytes();
        octets[1..4].copy_from_slice(&length[1..]);
        octets
    };
    // An AVP that is longer than the message, and no message at all.
    let mut cut = unknown.clone();
    let at = cut.len() - 24 + 5;
    cut[at..at + 3].copy_from_slice(&[0, 1, 0]);
    let none = [b"\x02\x00\x00\x18".as_slice(), TEXT].concat();
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|it| it == text);
    for (n, (keep, is_kept)) in
        [(Vec::new(), false), (Keep::ALL.to_vec(), true)].into_iter().enumerate()
    {
        let config = Sas { keep, ..Sas::default() };
        let now = machine::Time::from_millis(1_800_000_000_000);
        let mut bench = Bench::with(&directory.path().join(n.to_string()), config, now);
        for (at, payload) in [&unknown, &cut, &none].into_iter().enumerate() {
            let correlation = format!("{at:016x}");
            bench.diameter(OWN, CENTRE, payload, &correlation);
            let (_, entries) = bench.detail(bench.only(&[("call_id", &correlation)]).id);
            let payload = &entries[0].payload;
            assert_eq!(has(payload, TEXT), is_kept, "{at}");
            assert_eq!(has(payload, b"not for us!!"), is_kept && at < 2, "{at}");
            assert_eq!(has(payload, b"b;1;1"), at < 2, "{at}");
        }
    }
}

#[test]
fn nothing_that_is_cut_off_or_altered_makes_it_panic_or_shows_what_is_secret() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let whole = asked(SUBMIT, "c;1;1", "sms1.example");
    let cut = (0..whole.len()).map(|length| {
        let mut octets = whole[..length].to_vec();
        // Its length is what it says, as far as it has one.
        if let Some(place) = octets.get_mut(1..4) {
            place.copy_from_slice(&u32::try_from(length).unwrap().to_be_bytes()[1..]);
        }
        octets
    });
    let altered = (0..whole.len()).map(|at| {
        let mut octets = whole.clone();
        octets[at] ^= 0xff;
        octets
    });
    for (n, payload) in cut.chain(altered).enumerate() {
        bench.diameter(OWN, CENTRE, &payload, &format!("{n:016x}"));
    }
    bench.wait_ms(1);
    let mut found = 0;
    for n in 0..2 * whole.len() {
        let Some(page) = bench.read(&format!("{n:016x}")) else { continue };
        found += 1;
        assert!(!page.messages[0].text.contains("6d 65 65 74 20 6d 65"), "{n}");
    }
    assert!(found > whole.len(), "{found} are found");
}
