//! MSUs of strangers to an SCCP node with rules, which couples connections, and time that passes:
//! nothing panics, the deadline advances, what waits is bounded, and nothing is left at the end.
//!
//! ```text
//! input = (what, length, octets)…     what: the low bits name the source, the high ones the event
//! ```

use bytes::Bytes;
use m3ua::Transfer;
use m3ua::codec::{Affected, PointCode};
use machine::{Duration, Machine, Time};
use sccp::codec::{Digits, Routing};
use sccp::{
    Change, Choice, ConnectionParameters, In, Node, Out, Parameters, Rule, Rules, Selector,
    Settings, Target,
};

const HERE: PointCode = PointCode::truncated(1);
const REASSEMBLY_OCTETS: usize = 16 << 10;
const REFERENCES: usize = 64;
/// What one message leads to, at most: a window, and the answers of both sections.
const SENT_MAX: usize = 8;

fn node() -> Node {
    let target = |number, routing| Target {
        point_code: Some(PointCode::truncated(number)),
        subsystem: None,
        routing,
        weight: 1,
    };
    let rule = |prefix, targets| Rule {
        selector: Selector::default(),
        prefix: Digits::parse(prefix).expect("digits").into(),
        change: Change::default(),
        targets,
        choice: Choice::Share,
    };
    let rules = vec![
        rule("4", vec![target(1, Routing::Subsystem), target(2, Routing::Subsystem)]),
        rule("46", vec![target(3, Routing::Title)]),
    ];
    let settings = Settings {
        network: None,
        point_code: HERE,
        aliases: vec![PointCode::truncated(9)],
        network_indicator: 2,
        concerned: vec![PointCode::truncated(2)],
        parameters: Parameters {
            reassembly_octets_max: REASSEMBLY_OCTETS,
            remotes_max: 8,
            couples: true,
            connections: ConnectionParameters {
                guard: Duration::ZERO,
                credit_max: 3,
                references_max: REFERENCES,
                waiting_octets_max: REASSEMBLY_OCTETS,
                ..ConnectionParameters::q714()
            },
            ..Parameters::q714()
        },
    };
    Node::new(settings, Rules::new(rules).expect("they have targets"))
}

pub fn run(bytes: &[u8]) {
    let (mut node, mut now, mut out) = (node(), Time::ZERO, Vec::new());
    node.step(now, In::State(6, true), &mut out);
    let mut rest = bytes;
    while let [what, length, tail @ ..] = rest {
        let (octets, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let opc = PointCode::truncated(u32::from(what & 0x0f) + 2);
        let input = match what >> 4 {
            0 => In::Pause(Affected::one(opc)),
            1 => In::Resume(Affected::one(opc)),
            2 => In::State(6, length % 2 == 0),
            4 => {
                let payload = Bytes::copy_from_slice(octets);
                let (network, opc, dpc) = (None, HERE, opc);
                let (si, ni, mp, sls) = (3, 2, 0, 0);
                In::Undeliverable(Transfer { network, opc, dpc, si, ni, mp, sls, payload })
            }
            3 => {
                now += Duration::from_secs(u64::from(*length));
                node.tick(now, &mut out);
                assert!(node.deadline().is_none_or(|deadline| deadline > now));
                continue;
            }
            _ => {
                let payload = Bytes::copy_from_slice(octets);
                let (network, dpc) = (None, HERE);
                In::Transfer(Transfer { network, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload })
            }
        };
        out.clear();
        let is_message = matches!(input, In::Transfer(_));
        node.step(now, input, &mut out);
        assert!(node.waiting_octets() <= REASSEMBLY_OCTETS);
        let (used, frozen) = node.connections();
        assert!(used + frozen <= REFERENCES && node.connection_octets() <= REASSEMBLY_OCTETS);
        let sent = out.iter().filter(|it| matches!(it, Out::Transfer(_))).count();
        assert!(!is_message || sent <= SENT_MAX, "one message is answered by few");
    }
    let end = now + Duration::from_secs(3 * 3_600);
    while now < end {
        now = node.deadline().unwrap_or(end).clamp(now, end);
        node.tick(now, &mut out);
        assert!(node.deadline().is_none_or(|deadline| deadline > now));
    }
    assert_eq!(node.waiting_octets(), 0);
    assert_eq!((node.connections(), node.connection_octets()), ((0, 0), 0));
}
