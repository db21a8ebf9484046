//! Messages of management that another node is made to say.

use crate::every::point_code;
use crate::world::*;
use bytes::Bytes;
use m3ua::Transfer;
use sccp::codec::{
    Address, Class, Form, MANAGEMENT_SSN, Management, ManagementType, ReturnCause, Routing,
    Segmentation, Unit, Word,
};
use sccp::{Choice, Indication, Metric, Parameters, Rule};

const VICTIM: u32 = 3;

/// "The subsystem 6 of that node is out of service."
fn prohibited(of: u32) -> Vec<u8> {
    let (kind, subsystem, point_code) = (ManagementType::Prohibited, 6, point_code(of));
    let mut data = Vec::new();
    Management { kind, subsystem, point_code, multiplicity: 0, congestion: 0 }.write(&mut data);
    data
}

fn unit_to(called: Address, calling: Address, data: &[u8]) -> Unit<'_> {
    Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: true }),
        hops: 0,
        called,
        calling,
        segmentation: None,
        importance: None,
        data,
    }
}

fn msu(opc: u32, dpc: u32, unit: &Unit<'_>) -> Transfer {
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(opc), point_code(dpc), Bytes::from(payload));
    Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload }
}

/// A stranger with the point code 1, a node 2 with these rules, a victim.
fn world(rules: Vec<Rule>) -> World {
    let to_two = vec![rule("2", &[(Some(2), Routing::Subsystem)], Choice::Backup)];
    World::new(vec![
        node(1, Parameters::q714(), Vec::new()),
        node(2, Parameters::q714(), rules),
        node(VICTIM, Parameters::q714(), to_two),
    ])
}

fn is_fooled(world: &World) -> bool {
    world.heard.contains(&(3, Indication::State(point_code(2), 6, false)))
}

#[test]
fn what_comes_back_is_no_word_of_management() {
    let data = prohibited(2);
    let victim = at(VICTIM, MANAGEMENT_SSN);
    let segmentation =
        Segmentation { is_first: false, is_sequenced: true, remaining: 0, reference: 9 };
    let (form, hops, segmentation) = (Form::Extended, 15, Some(segmentation));
    let basic = unit_to(at(2, 77), victim, &data);
    let segment = Unit { form, hops, segmentation, ..unit_to(at(2, 6), victim, &data) };
    for unit in [basic, segment] {
        let mut world = world(Vec::new());
        world.carry(vec![msu(1, 2, &unit)]);
        assert!(!is_fooled(&world), "{unit:?}");
        let to_victim = world.msus.iter().filter(|it| it.dpc == point_code(VICTIM));
        assert_eq!(to_victim.count(), 0, "nothing goes to management elsewhere");
        // Of another vendor's node it would come.
        let service = Unit { called: victim, calling: at(2, 77), ..unit };
        let service = Unit { word: Word::Service(4), segmentation: None, ..service };
        world.carry(vec![msu(2, VICTIM, &service)]);
        assert!(!is_fooled(&world), "{service:?}");
    }
}

#[test]
fn no_title_leads_to_the_management_of_a_node() {
    let targets = [
        ((Some(VICTIM), Routing::Subsystem), ReturnCause::Unqualified),
        ((Some(VICTIM), Routing::Title), ReturnCause::Unqualified),
        ((None, Routing::Subsystem), ReturnCause::UnequippedUser),
    ];
    for (target, cause) in targets {
        let mut world = world(vec![rule("4", &[target], Choice::Backup)]);
        let data = prohibited(2);
        let called = Address { subsystem: Some(MANAGEMENT_SSN), ..title("44") };
        world.carry(vec![msu(1, 2, &unit_to(called, at(1, 6), &data))]);
        assert!(!is_fooled(&world), "{target:?}");
        assert_eq!(world.notices(1), [cause.number()], "{target:?}");
        assert_eq!(world.count(2, Metric::Relayed), 0);
    }
}

#[test]
fn management_is_said_by_the_management_of_the_node_that_the_msu_comes_from() {
    let data = prohibited(2);
    let here = at(VICTIM, MANAGEMENT_SSN);
    let word = Word::Data(Class { is_sequenced: false, returns: false });
    let said = |calling| Unit { word, ..unit_to(here, calling, &data) };
    for calling in [at(2, 6), at(1, MANAGEMENT_SSN), Address::subsystem(None, 6), title("2")] {
        let mut world = world(Vec::new());
        world.carry(vec![msu(2, VICTIM, &said(calling))]);
        assert!(!is_fooled(&world), "{calling:?}");
        assert_eq!(world.count(3, Metric::Discarded), 1);
    }
    for calling in [at(2, MANAGEMENT_SSN), Address::subsystem(None, MANAGEMENT_SSN)] {
        let mut world = world(Vec::new());
        world.carry(vec![msu(2, VICTIM, &said(calling))]);
        assert!(is_fooled(&world), "its own word counts");
    }
    // An address with a title that is not what it goes by says no more.
    let mut world = world(Vec::new());
    let called = Address { routing: Routing::Subsystem, point_code: None, ..title("9") };
    let called = Address { subsystem: Some(MANAGEMENT_SSN), ..called };
    let said = Unit { called, ..said(at(2, MANAGEMENT_SSN)) };
    world.carry(vec![msu(2, VICTIM, &said)]);
    assert!(is_fooled(&world));
}
