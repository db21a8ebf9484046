//! Several point codes of one node, and MSUs that find no way.

use crate::every::point_code;
use crate::world::*;
use bytes::Bytes;
use m3ua::Transfer;
use machine::{Machine, Time};
use sccp::codec::{Address, Class, Management, ManagementType, ReturnCause, Routing, Unit, Word};
use sccp::{Choice, In, Indication, Metric, Node, Out, Parameters, Rules, Settings, Unitdata};

/// The point codes 1, 5 and 7, a translation to 2, and the subsystem 6.
fn node() -> Node {
    let settings = Settings {
        network: None,
        point_code: point_code(1),
        aliases: vec![point_code(5), point_code(7)],
        network_indicator: 2,
        concerned: vec![point_code(3)],
        parameters: Parameters::q714(),
    };
    let rules = [
        rule("4", &[(Some(2), Routing::Title)], Choice::Backup),
        rule("7", &[(Some(7), Routing::Subsystem)], Choice::Backup),
    ];
    Node::new(settings, Rules::new(rules.into()).unwrap())
}

fn step(node: &mut Node, input: In) -> (Vec<Transfer>, Vec<Indication>) {
    let mut out = Vec::new();
    node.step(Time::ZERO, input, &mut out);
    let (mut msus, mut heard) = (Vec::new(), Vec::new());
    for it in out {
        match it {
            Out::Transfer(msu) => msus.push(msu),
            Out::Indicate(indication) => heard.push(indication),
        }
    }
    (msus, heard)
}

fn msu(opc: u32, dpc: u32, unit: &Unit<'_>) -> Transfer {
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(opc), point_code(dpc), Bytes::from(payload));
    Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload }
}

fn data(called: Address, calling: Address) -> Unit<'static> {
    Unit {
        form: sccp::codec::Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: true }),
        hops: 0,
        called,
        calling,
        segmentation: None,
        importance: None,
        data: b"x",
    }
}

#[test]
fn each_point_code_answers_for_itself_and_has_every_subsystem() {
    let mut node = node();
    let (told, _) = step(&mut node, In::State(6, true));
    let of = |it: &Transfer| (it.opc.number(), Management::read(unit(it).data).unwrap());
    let all: Vec<_> = told.iter().map(of).map(|(opc, it)| (opc, it.point_code.number())).collect();
    assert_eq!(all, [(1, 1), (5, 5), (7, 7)]);
    for own in [1, 5, 7] {
        let (back, _) = step(&mut node, In::Transfer(msu(2, own, &data(at(own, 77), at(2, 8)))));
        assert_eq!((back[0].opc.number(), back[0].dpc.number()), (own, 2));
        assert_eq!(unit(&back[0]).word, Word::Service(ReturnCause::UnequippedUser.number()));
        let (_, heard) = step(&mut node, In::Transfer(msu(2, own, &data(at(own, 6), at(2, 8)))));
        assert!(matches!(heard[..], [Indication::Unitdata(Some(_), _)]), "{heard:?}");
        let (relayed, _) = step(&mut node, In::Transfer(msu(3, own, &data(title("44"), at(3, 8)))));
        assert_eq!((relayed[0].opc.number(), relayed[0].dpc.number()), (own, 2));
        let unitdata = Unitdata { calling: at(own, 6), ..to(at(2, 8), 1, b"x") };
        assert_eq!(step(&mut node, In::Unitdata(unitdata)).0[0].opc.number(), own);
    }
    // A title that leads to another one of them stays.
    let (sent, heard) = step(&mut node, In::Transfer(msu(2, 1, &data(title("7"), at(2, 8)))));
    assert!(sent.is_empty() && matches!(heard[..], [Indication::Unitdata(..)]), "{heard:?}");
    let test = Management {
        kind: ManagementType::StatusTest,
        subsystem: 6,
        point_code: point_code(7),
        multiplicity: 0,
        congestion: 0,
    };
    let mut octets = Vec::new();
    test.write(&mut octets);
    let asked = Unit { data: &octets, ..data(at(7, 1), at(2, 1)) };
    let (said, _) = step(&mut node, In::Transfer(msu(2, 7, &asked)));
    assert_eq!(of(&said[0]), (7, Management { kind: ManagementType::Allowed, ..test }));
}

#[test]
fn an_answer_goes_to_where_the_msu_came_from_if_the_address_does_not_say_more() {
    let mut node = node();
    step(&mut node, In::State(6, true));
    for (calling, wanted) in
        [(Address::subsystem(None, 8), at(2, 8)), (at(9, 8), at(9, 8)), (title("49"), title("49"))]
    {
        let (_, heard) = step(&mut node, In::Transfer(msu(2, 5, &data(at(5, 6), calling))));
        let Indication::Unitdata(_, came) = &heard[0] else { panic!("{heard:?}") };
        assert_eq!(came.calling, wanted);
    }
}

#[test]
fn what_found_no_way_comes_back_once() {
    let mut node = node();
    let lost = |unit: &Unit<'_>| In::Undeliverable(msu(5, 2, unit));
    let failure = ReturnCause::MtpFailure.number();
    for calling in [at(5, 8), at(1, 8), Address::subsystem(None, 8)] {
        let (sent, heard) = step(&mut node, lost(&data(at(2, 8), calling)));
        let is_notice = |it: &Indication| match it {
            Indication::Notice { cause, data, .. } => (*cause, &data[..]) == (failure, b"x"),
            _ => false,
        };
        assert!(sent.is_empty() && heard.iter().any(is_notice), "{heard:?}");
    }
    let (back, heard) = step(&mut node, lost(&data(at(2, 8), at(3, 8))));
    assert_eq!((back[0].opc.number(), back[0].dpc.number()), (5, 3));
    assert_eq!(unit(&back[0]).word, Word::Service(failure));
    let Indication::Undelivered { from, called, calling, cause } = &heard[0] else { panic!() };
    assert_eq!((*from, *called, *calling), (Some(point_code(3)), at(2, 8), at(3, 8)));
    assert_eq!(*cause, ReturnCause::MtpFailure);
    let service = unit(&back[0]);
    let (none, _) = step(&mut node, lost(&service));
    assert!(none.is_empty());
    let silent = Word::Data(Class { is_sequenced: false, returns: false });
    let (none, _) = step(&mut node, lost(&Unit { word: silent, ..data(at(2, 8), at(3, 8)) }));
    assert!(none.is_empty());
    assert_eq!(node.metrics().read(Metric::Discarded), 2);
    let (none, _) = step(
        &mut node,
        In::Undeliverable(Transfer {
            payload: Bytes::from_static(b"?"),
            ..msu(5, 2, &data(at(2, 8), at(3, 8)))
        }),
    );
    assert!(none.is_empty());
}

#[test]
fn settings_change_and_a_subsystem_goes_for_good() {
    let mut node = node();
    step(&mut node, In::State(6, true));
    let settings = Settings {
        network: None,
        point_code: point_code(8),
        aliases: Vec::new(),
        network_indicator: 0,
        concerned: vec![point_code(3)],
        parameters: Parameters::q714(),
    };
    node.set_settings(settings);
    assert_eq!(node.point_codes().collect::<Vec<_>>(), [point_code(8)]);
    let (sent, _) = step(&mut node, In::Unitdata(to(at(2, 8), 1, b"x")));
    assert_eq!((sent[0].opc.number(), sent[0].ni), (8, 0));
    let mut out = Vec::new();
    node.remove_subsystem(6, &mut out);
    assert_eq!((out.len(), node.subsystems().count()), (1, 0), "the one concerned is told");
    let (back, _) = step(&mut node, In::Transfer(msu(2, 8, &data(at(8, 6), at(2, 8)))));
    assert_eq!(unit(&back[0]).word, Word::Service(ReturnCause::UnequippedUser.number()));
}
