//! Dialogues of TCAP as trails: how they are joined over a relay, found, shown and redacted.

use crate::bench::Bench;
use crate::interface::tshark;
use m3ua::codec::{Data, PointCode, ProtocolData};
use sas::config::{Keep, Sas};
use sas::ladder::{self, Extent};
use sas::pcapng;
use sas::trail::{Kind, Outcome};
use sccp::codec::{Address, Class, Digits, Form, ReturnCause, Segmentation, Title, Unit, Word};
use tcap::codec::{
    Code, ComponentWriter, Diagnostic, InvokeProblem, PAbortCause, Problem, TransactionId, Writer,
};

pub(crate) const SMSC: &str = "10.0.1.1:2905";
pub(crate) const STP_WEST: &str = "10.0.0.1:2905";
const STP_EAST: &str = "10.0.0.2:2905";
pub(crate) const HLR: &str = "10.0.2.1:2905";
/// What the agent says of the association that a message came by.
pub(crate) const ASSOCIATION: &str = "00000000000000aa";
const SEND_ROUTING_INFO_FOR_SM: i64 = 45;
pub(crate) const SEND_AUTHENTICATION_INFO: i64 = 56;
const MT_FORWARD_SM: i64 = 44;
const SHORT_MSG_GATEWAY: [u8; 7] = [4, 0, 0, 1, 0, 20, 3];
pub(crate) const INFO_RETRIEVAL: [u8; 7] = [4, 0, 0, 1, 0, 14, 3];
const SHORT_MSG_MT: [u8; 7] = [4, 0, 0, 1, 0, 25, 3];

/// Who speaks: point code, and an address by its title, or by point code and subsystem.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) point_code: u32,
    pub(crate) title: Option<&'static str>,
    pub(crate) subsystem: u8,
}

pub(crate) const ASKS: End = End { point_code: 4_900, title: Some("447800000001"), subsystem: 8 };
pub(crate) const ANSWERS: End =
    End { point_code: 4_899, title: Some("447700900123"), subsystem: 6 };
/// The relay between them.
pub(crate) const RELAY: u32 = 4_897;

impl End {
    fn address(self) -> Address {
        let digits = self.title.map(|it| Digits::parse(it).unwrap());
        match digits {
            Some(digits) => Address::title(Title::e164(digits), self.subsystem),
            None => Address::subsystem(PointCode::new(self.point_code), self.subsystem),
        }
    }
}

/// What of SCCP a message has beside its data.
#[derive(Clone, Copy)]
pub(crate) struct Envelope {
    word: Word,
    segmentation: Option<Segmentation>,
    label: (u32, u32),
}

impl Envelope {
    pub(crate) fn from(opc: u32, dpc: u32) -> Self {
        let word = Word::Data(Class { is_sequenced: false, returns: true });
        Self { word, segmentation: None, label: (opc, dpc) }
    }
}

pub(crate) fn m3ua(from: End, to: End, envelope: Envelope, data: &[u8]) -> Vec<u8> {
    let has_more = envelope.segmentation.is_some();
    let unit = Unit {
        form: if has_more { Form::Extended } else { Form::Basic },
        word: envelope.word,
        hops: if has_more { 12 } else { 0 },
        called: to.address(),
        calling: from.address(),
        segmentation: envelope.segmentation,
        importance: None,
        data,
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc) = envelope.label;
    let code = |number| PointCode::new(number).unwrap();
    let (opc, dpc) = (code(opc), code(dpc));
    let protocol_data = ProtocolData { opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload: &payload };
    let mut out = Vec::new();
    Data { network: None, routing_context: None, protocol_data, correlation: None }.write(&mut out);
    out
}

pub(crate) fn tcap(
    writer: Writer<'_>,
    write: impl FnOnce(&mut ComponentWriter<'_, '_>),
) -> Vec<u8> {
    let mut out = Vec::new();
    writer.write(&mut out, write);
    out
}

pub(crate) fn octets(operation: i64, is_argument: bool, json: &str) -> Vec<u8> {
    let signature = map::Operation::of(operation).unwrap().signature(3).unwrap();
    let kind = if is_argument { signature.argument } else { signature.result };
    let mut out = Vec::new();
    kind.unwrap().kind.from_json(json, None, &mut ber::Writer::new(&mut out)).unwrap();
    out
}

pub(crate) const ASKED: u32 = 0x0a00_0001;
pub(crate) const ANSWERED: u32 = 0x0b00_0002;

/// The question for where a short message goes.
pub(crate) fn begin() -> Vec<u8> {
    let argument = octets(
        SEND_ROUTING_INFO_FOR_SM,
        true,
        r#"{"msisdn":"91447700091032","sm-RP-PRI":true,"serviceCentreAddress":"914478"}"#,
    );
    let writer = Writer::begin(TransactionId::of(ASKED)).request(&SHORT_MSG_GATEWAY, &[]);
    let code = Code::Local(SEND_ROUTING_INFO_FOR_SM);
    tcap(writer, |out| out.invoke(1, None, code, Some(&argument)))
}

pub(crate) fn result() -> Vec<u8> {
    let json = r#"{"imsi":"32140500000000f1",
        "locationInfoWithLMSI":{"networkNode-Number":"91447700000001"}}"#;
    let result = octets(SEND_ROUTING_INFO_FOR_SM, false, json);
    let writer = Writer::end(TransactionId::of(ASKED)).accept(&SHORT_MSG_GATEWAY, &[]);
    let code = Code::Local(SEND_ROUTING_INFO_FOR_SM);
    tcap(writer, |out| out.result(1, true, Some((code, Some(&result)))))
}

impl Bench {
    pub(crate) fn m3ua(&mut self, from: &str, to: &str, payload: &[u8]) {
        self.protocol = hep::SCTP;
        self.captured(hep::KIND_M3UA, from, to, payload, ASSOCIATION);
        self.wait_ms(2);
    }

    /// A message of the one who asks, over the relay.
    pub(crate) fn there(&mut self, data: &[u8]) {
        let first = m3ua(ASKS, ANSWERS, Envelope::from(ASKS.point_code, RELAY), data);
        self.m3ua(SMSC, STP_WEST, &first);
        let second = m3ua(ASKS, ANSWERS, Envelope::from(RELAY, ANSWERS.point_code), data);
        self.m3ua(STP_EAST, HLR, &second);
    }

    /// An answer, over the relay.
    pub(crate) fn back(&mut self, data: &[u8]) {
        let first = m3ua(ANSWERS, ASKS, Envelope::from(ANSWERS.point_code, RELAY), data);
        self.m3ua(HLR, STP_EAST, &first);
        let second = m3ua(ANSWERS, ASKS, Envelope::from(RELAY, ASKS.point_code), data);
        self.m3ua(STP_WEST, SMSC, &second);
    }
}

#[test]
fn a_dialogue_is_one_trail_over_a_relay_and_found_by_all_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    // The association that carries it has a trail of its own.
    bench.m3ua(SMSC, STP_WEST, &[1, 0, 3, 1, 0, 0, 0, 8]);
    bench.there(&begin());
    bench.back(&result());
    for _ in 0..2 {
        for pairs in [
            &[("kind", "dialogue")][..],
            &[("number", "447700900123")],
            &[("q", "447800000001")],
            &[("q", "234150000000001")],
            &[("q", "0a000001")],
            &[("q", "0a000001@447800000001")],
            &[("method", "sendRoutingInfoForSM"), ("outcome", "ok")],
            &[("address", HLR)],
            &[("kind", "dialogue"), ("q", "2-100-3/6")],
            &[("kind", "dialogue"), ("q", "2-100-4")],
            &[("q", "4899")],
        ] {
            let trail = bench.only(pairs);
            assert_eq!((trail.kind, trail.outcome), (Kind::Dialogue, Outcome::Ok), "{pairs:?}");
            assert_eq!(trail.places.len(), 4);
        }
        assert!(bench.search(&[("method", "sendRoutingInfo")]).trails.is_empty());
        bench.wait_ms(60_000);
    }
    assert_eq!(bench.only(&[("kind", "session")]).places.len(), 1);
    let trail = bench.only(&[("kind", "dialogue")]);
    let view = serde_json::to_value(trail.view()).unwrap();
    assert_eq!(view["from"], "447800000001");
    assert_eq!(view["to"], "447700900123");
    assert_eq!(view["method"], "sendRoutingInfoForSM");
    assert_eq!(view["subscriber"], "447700900123");
    assert_eq!(view["duration_ms"], 4);
    assert_eq!(view["call_ids"][0], "0a000001@447800000001");
}

#[test]
fn point_codes_name_a_dialogue_where_nothing_else_does() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (asks, answers) = (End { title: None, ..ASKS }, End { title: None, ..ANSWERS });
    let envelope = Envelope::from(asks.point_code, answers.point_code);
    bench.m3ua(SMSC, HLR, &m3ua(asks, answers, envelope, &begin()));
    let envelope = Envelope::from(answers.point_code, asks.point_code);
    bench.m3ua(HLR, SMSC, &m3ua(answers, asks, envelope, &result()));
    for typed in ["2-100-4", "2-100-3", "2-100-3/6", "4899"] {
        assert_eq!(bench.only(&[("q", typed)]).places.len(), 2, "{typed}");
    }
    assert!(bench.search(&[("q", "2-100-1")]).trails.is_empty());
}

#[test]
fn a_page_shows_operations_by_name_and_parameters_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.there(&begin());
    bench.back(&result());
    let (page, entries) = bench.detail(bench.only(&[("kind", "dialogue")]).id);
    let titles: Vec<&str> = page.messages.iter().map(|it| it.method.as_deref().unwrap()).collect();
    let (asked, answered) = ("Begin sendRoutingInfoForSM", "End result sendRoutingInfoForSM");
    assert_eq!(titles, [asked, asked, answered, answered]);
    let pairs: Vec<_> = page.messages.iter().map(|it| it.pair).collect();
    // Out of the relay by another of its addresses: nobody can know that it is the same.
    assert_eq!(pairs, [None; 4]);
    assert_eq!(page.messages[0].components[0]["argument"]["msisdn"], "91447700091032");
    assert_eq!(page.messages[2].components[0]["value"]["imsi"], "32140500000000f1");
    let labels: Vec<&str> = page.hosts.iter().map(|it| &*it.label).collect();
    assert_eq!(labels, ["2-100-4", "2-100-1", "2-100-1", "2-100-3"]);
    for text in ["context: shortMsgGatewayContext-v3", "\"msisdn\": \"91447700091032\"", "M3UA\n"] {
        assert!(page.messages[0].text.contains(text), "{text}: {}", page.messages[0].text);
    }
    let drawn = ladder::draw(&page, Extent::Ladder);
    assert!(drawn.contains(&format!(" {asked} ")) && drawn.contains("about 4477"), "{drawn}");
    let file = directory.path().join("dialogue.pcapng");
    std::fs::write(&file, pcapng::write(&entries)).unwrap();
    let fields =
        ["gsm_old.localValue", "tcap.otid", "e212.imsi", "_ws.malformed", "_ws.expert.message"];
    let lines = tshark(&file, &fields);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("45\t0a000001\t"), "{lines:?}");
    assert!(lines[2].starts_with("45\t\t234150000000001"), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with("\t\t")), "complaints: {lines:?}");
}

#[test]
fn a_relay_with_one_address_passes_a_message_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let envelope = Envelope::from(ASKS.point_code, ANSWERS.point_code);
    // MTP alone: the label stays, and the relay is no node that would be called by it.
    let begin = m3ua(ASKS, ANSWERS, envelope, &begin());
    bench.m3ua(SMSC, STP_WEST, &begin);
    bench.m3ua(STP_WEST, HLR, &begin);
    let (page, _) = bench.detail(bench.only(&[("kind", "dialogue")]).id);
    assert_eq!((page.messages[0].pair, page.messages[1].pair), (Some(1), Some(0)));
    assert!(page.hosts[1].is_self && page.hosts[1].label == STP_WEST);
}

#[test]
fn what_fails_is_named_by_its_error_problem_or_cause() {
    let id = TransactionId::of(ASKED);
    let refused = Writer::abort(id).refuse(&SHORT_MSG_GATEWAY, Diagnostic::User(2), &[]);
    let unknown = Code::Local(1);
    let problem = Problem::Invoke(InvokeProblem::MistypedParameter);
    let table = [
        (
            tcap(Writer::end(id), |out| out.error(1, unknown, None)),
            (Outcome::Failed, "unknownSubscriber", 1, "End error unknownSubscriber"),
        ),
        (
            tcap(Writer::end(id), |out| out.reject(Some(1), problem)),
            (
                Outcome::Rejected,
                "reject invoke/mistypedParameter",
                0,
                "End reject invoke/mistypedParameter",
            ),
        ),
        (
            tcap(Writer::p_abort(id, PAbortCause::ResourceLimitation), |_| ()),
            (Outcome::Failed, "resourceLimitation", 4, "Abort: resourceLimitation"),
        ),
        (
            tcap(Writer::abort(id).abrt(false, &[]), |_| ()),
            (Outcome::Rejected, "by the user", 0, "Abort: by the user"),
        ),
        (
            tcap(refused, |_| ()),
            (
                Outcome::Rejected,
                "refused, context not supported",
                0,
                "Abort: refused, context not supported",
            ),
        ),
    ];
    for (answer, (outcome, cause, status, title)) in table {
        let directory = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(directory.path());
        bench.there(&begin());
        bench.back(&answer);
        let trail = bench.only(&[("kind", "dialogue")]);
        assert_eq!((trail.outcome, &*trail.cause, trail.status), (outcome, cause, status));
        let (page, _) = bench.detail(trail.id);
        assert_eq!(page.messages[2].method.as_deref(), Some(title));
        assert!(page.messages[2].failed && !page.messages[0].failed);
    }
}

#[test]
fn a_message_that_comes_back_ends_its_dialogue_with_the_return_cause() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.there(&begin());
    let cause = ReturnCause::SubsystemFailure;
    let envelope =
        Envelope { word: Word::Service(cause.number()), ..Envelope::from(RELAY, ASKS.point_code) };
    bench.m3ua(STP_WEST, SMSC, &m3ua(ANSWERS, ASKS, envelope, &begin()));
    let trail = bench.only(&[("kind", "dialogue")]);
    assert_eq!((trail.outcome, &*trail.cause), (Outcome::Failed, "SCCP: subsystem failure"));
    assert_eq!((trail.places.len(), &*trail.from), (3, "447800000001"));
}

#[test]
fn the_next_dialogue_with_the_same_number_is_another_trail() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    for _ in 0..3 {
        bench.there(&begin());
        bench.back(&result());
    }
    let trails = bench.search(&[("kind", "dialogue")]).trails;
    assert_eq!(trails.len(), 3);
    assert!(trails.iter().all(|trail| trail.places.len() == 4));
}

#[test]
fn both_transactions_lead_to_a_dialogue_that_goes_on_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (asked, answered) = (TransactionId::of(ASKED), TransactionId::of(ANSWERED));
    bench.there(&begin());
    let writer = Writer::go_on(answered, asked).accept(&SHORT_MSG_GATEWAY, &[]);
    bench.back(&tcap(writer, |out| out.error(1, Code::Local(27), None)));
    let now = bench.now;
    drop(bench);
    let mut bench = Bench::with(directory.path(), Sas::default(), now);
    bench.there(&tcap(Writer::end(answered), |_| ()));
    let trail = bench.only(&[("q", "0b000002")]);
    assert_eq!(trail.places.len(), 6);
    assert_eq!((trail.outcome, &*trail.cause), (Outcome::Failed, "absentSubscriber"));
    assert_eq!(trail.call_ids.len(), 2);
}

#[test]
fn keys_and_what_people_write_are_zeros_unless_they_are_to_be_kept() {
    let quintuplet = r#"{"rand":"000102030405060708090a0b0c0d0e0f","xres":"a1a2a3a4a5a6a7a8",
        "ck":"c0c1c2c3c4c5c6c7c8c9cacbcccdcecf","ik":"d0d1d2d3d4d5d6d7d8d9dadbdcdddedf",
        "autn":"e0e1e2e3e4e5e6e7e8e9eaebecedeeef"}"#;
    let json = format!(r#"{{"authenticationSetList":{{"quintupletList":[{quintuplet}]}}}}"#);
    let keys = octets(SEND_AUTHENTICATION_INFO, false, &json);
    let code = Code::Local(SEND_AUTHENTICATION_INFO);
    let writer = Writer::end(TransactionId::of(ASKED)).accept(&INFO_RETRIEVAL, &[]);
    let keys = tcap(writer, |out| out.result(1, true, Some((code, Some(&keys)))));
    let message = octets(
        MT_FORWARD_SM,
        true,
        r#"{"sm-RP-DA":{"imsi":"32140500000000f1"},
            "sm-RP-OA":{"serviceCentreAddressOA":"914478"},"sm-RP-UI":"24048155aaf0f1f2f3"}"#,
    );
    let writer = Writer::begin(TransactionId::of(ASKED)).request(&SHORT_MSG_MT, &[]);
    let code = Code::Local(MT_FORWARD_SM);
    let written = tcap(writer, |out| out.invoke(1, None, code, Some(&message)));
    // Without a context, and after the beginning, nothing says which version it is.
    let writer = Writer::go_on(TransactionId::of(ANSWERED), TransactionId::of(ASKED));
    let more = tcap(writer, |out| out.invoke(2, None, code, Some(&message)));
    let secrets: [(&[u8], &[u8], Keep); 4] = [
        (&keys, &[0xc0, 0xc1, 0xc2, 0xc3], Keep::Keys),
        (&keys, &[0xa1, 0xa2, 0xa3, 0xa4], Keep::Keys),
        (&written, &[0xf0, 0xf1, 0xf2, 0xf3], Keep::Bodies),
        (&more, &[0xf0, 0xf1, 0xf2, 0xf3], Keep::Bodies),
    ];
    for (data, secret, keep) in secrets {
        for kept in [None, Some(keep)] {
            let directory = tempfile::tempdir().unwrap();
            let config = Sas { keep: kept.into_iter().collect(), ..Sas::default() };
            let now = machine::Time::from_millis(1_800_000_000_000);
            let mut bench = Bench::with(directory.path(), config, now);
            bench.there(data);
            let (page, entries) = bench.detail(bench.only(&[("kind", "dialogue")]).id);
            let has = |it: &[u8]| it.windows(secret.len()).any(|window| window == secret);
            for entry in &entries {
                assert_eq!(has(&entry.payload), kept.is_some());
            }
            assert!(!page.messages[0].components.is_empty());
            assert_eq!(
                bench.metric("sas_redacted_messages_total"),
                if kept.is_some() { 0 } else { 2 }
            );
        }
    }
}

#[test]
fn segments_of_a_message_are_in_the_trail_of_its_dialogue() {
    let directory = tempfile::tempdir().unwrap();
    let keep = vec![Keep::Bodies, Keep::Keys];
    let now = machine::Time::from_millis(1_800_000_000_000);
    let config = Sas { keep, ..Sas::default() };
    let mut bench = Bench::with(directory.path(), config, now);
    bench.there(&begin());
    let end = result();
    let (first, second) = end.split_at(40);
    for (data, is_first, remaining) in [(first, true, 1), (second, false, 0)] {
        let segmentation =
            Some(Segmentation { is_first, is_sequenced: true, remaining, reference: 7 });
        let envelope =
            Envelope { segmentation, ..Envelope::from(ANSWERS.point_code, ASKS.point_code) };
        bench.m3ua(HLR, SMSC, &m3ua(ANSWERS, ASKS, envelope, data));
    }
    let trail = bench.only(&[("kind", "dialogue")]);
    assert_eq!((trail.places.len(), trail.outcome), (4, Outcome::Ok));
    let (page, _) = bench.detail(trail.id);
    let title = |n: usize| page.messages[n].method.clone().unwrap();
    assert_eq!(title(2), "End, segment 1 of 2");
    assert_eq!(title(3), "End result sendRoutingInfoForSM");
    assert_eq!(page.messages[3].components[0]["value"]["imsi"], "32140500000000f1");
}

#[test]
fn damaged_messages_are_kept_and_shown_without_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let envelope = Envelope::from(ASKS.point_code, ANSWERS.point_code);
    let whole = [
        m3ua(ASKS, ANSWERS, envelope, &begin()),
        m3ua(ANSWERS, ASKS, Envelope::from(ANSWERS.point_code, ASKS.point_code), &result()),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut chance = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % most
    };
    for round in 0..2_000 {
        let mut octets = whole[round % 2].clone();
        for _ in 0..=chance(3) {
            let at = chance(octets.len());
            octets[at] = chance(256) as u8;
        }
        if chance(8) == 0 {
            octets.truncate(chance(octets.len()));
        }
        bench.captured(hep::KIND_M3UA, SMSC, HLR, &octets, ASSOCIATION);
    }
    for trail in bench.search(&[("limit", "500")]).trails {
        let (page, entries) = bench.detail(trail.id);
        assert!(!ladder::draw(&page, Extent::Whole).is_empty());
        assert!(!pcapng::write(&entries).is_empty());
    }
    bench.wait_ms(60_000);
    assert!(!bench.search(&[("kind", "dialogue")]).trails.is_empty());
}
