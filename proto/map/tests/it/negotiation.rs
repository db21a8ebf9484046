//! Which version two sides come to.

use map::negotiation::{Refusal, Verdict, judge, next};
use map::{Context, Operation};
use tcap::PAbort;

const GATEWAY: Context = Context::ShortMsgGateway;

fn up_to(most: u8) -> impl Fn(Context, u8) -> bool {
    move |_, version| version <= most
}

#[test]
fn a_version_that_is_spoken_is_accepted_and_another_answered_with_the_highest() {
    let oid = GATEWAY.oid(3);
    assert_eq!(judge(Some(&oid), Some(45), up_to(3)), Verdict::Accept(GATEWAY, 3));
    assert_eq!(judge(Some(&oid), Some(45), up_to(2)), Verdict::Refuse(GATEWAY, 2));
    assert_eq!(judge(Some(&oid), Some(45), up_to(1)), Verdict::Refuse(GATEWAY, 1));
    assert_eq!(judge(Some(&GATEWAY.oid(9)), Some(45), up_to(4)), Verdict::Refuse(GATEWAY, 3));
    assert_eq!(judge(Some(&oid), Some(45), |_, _| false), Verdict::Unknown);
    assert_eq!(judge(Some(&[4, 0, 0, 1, 0, 99, 3]), Some(45), up_to(3)), Verdict::Unknown);
    // Version 1 knows no dialogue portion: named in one it is refused.
    assert_eq!(judge(Some(&GATEWAY.oid(1)), Some(45), up_to(3)), Verdict::Refuse(GATEWAY, 3));
}

#[test]
fn a_begin_without_a_dialogue_portion_is_of_version_1_by_its_first_operation() {
    let table = [
        (45, Context::ShortMsgGateway),
        (46, Context::ShortMsgMoRelay),
        (2, Context::NetworkLocUp),
        (9, Context::InfoRetrieval),
        (7, Context::SubscriberDataMngt),
        (50, Context::Tracing),
        (49, Context::ShortMsgAlert),
        (48, Context::MwdMngt),
        (28, Context::HandoverControl),
        (19, Context::NetworkFunctionalSs),
    ];
    for (code, context) in table {
        assert_eq!(judge(None, Some(code), up_to(3)), Verdict::Accept(context, 1), "{code}");
    }
    for code in [44, 59, 64, 83, 1_000] {
        assert_eq!(judge(None, Some(code), up_to(3)), Verdict::Unknown, "{code}");
    }
    assert_eq!(judge(None, None, up_to(3)), Verdict::Unknown);
    assert_eq!(judge(None, Some(45), |_, version| version > 1), Verdict::Unknown);
}

#[test]
fn an_initiator_comes_down_to_the_alternative_and_to_version_1() {
    let refused = |from, other: [u8; 7]| next((GATEWAY, from), Refusal::Context(&other), up_to(3));
    assert_eq!(refused(3, GATEWAY.oid(2)), Some((GATEWAY, 2)));
    assert_eq!(refused(3, GATEWAY.oid(1)), Some((GATEWAY, 1)));
    assert_eq!(refused(2, GATEWAY.oid(3)), Some((GATEWAY, 1)), "no version is tried twice");
    assert_eq!(refused(3, GATEWAY.oid(3)), Some((GATEWAY, 2)));
    assert_eq!(refused(1, GATEWAY.oid(1)), None);
    assert_eq!(refused(3, Context::Reset.oid(2)), None);
    let aborted = |cause| next((GATEWAY, 3), Refusal::Provider(cause), up_to(3));
    assert_eq!(aborted(PAbort::Cause(3)), Some((GATEWAY, 1)));
    assert_eq!(aborted(PAbort::NoCommonDialoguePortion), Some((GATEWAY, 1)));
    assert_eq!(aborted(PAbort::Cause(4)), None);
    assert_eq!(aborted(PAbort::Idle), None);
    let relay = Context::ShortMsgMtRelay;
    let first = next((relay, 2), Refusal::Provider(PAbort::Cause(3)), up_to(3));
    assert_eq!(first, Some((Context::ShortMsgMoRelay, 1)), "one relay context in version 1");
    let only_3 = Context::AnyTimeInfoEnquiry;
    assert_eq!(next((only_3, 3), Refusal::Provider(PAbort::Cause(3)), up_to(3)), None);
}

#[test]
fn two_sides_always_come_to_an_end_and_to_the_highest_version_of_both() {
    for context in Context::ALL {
        for (here, there) in (1..=4).flat_map(|here| (1..=4).map(move |there| (here, there))) {
            let versions = || context.versions().iter().map(|it| it.version);
            let both = versions().find(|it| *it <= here && *it <= there);
            let mut offer = versions().find(|it| *it <= here).map(|it| (*context, it));
            let mut agreed = None;
            for _ in 0..4 {
                let Some((offered, version)) = offer else { break };
                let first = offered.version(version).unwrap().initiator[0];
                let verdict = match version {
                    1 => judge(None, Some(first.code()), up_to(there)),
                    _ => judge(Some(&offered.oid(version)), Some(first.code()), up_to(there)),
                };
                offer = match verdict {
                    Verdict::Accept(_, version) => {
                        agreed = Some(version);
                        None
                    }
                    Verdict::Refuse(other, version) => {
                        let oid = other.oid(version);
                        next((offered, offer.unwrap().1), Refusal::Context(&oid), up_to(here))
                    }
                    Verdict::Unknown => {
                        let refusal = Refusal::Provider(PAbort::Cause(3));
                        next((offered, version), refusal, up_to(here))
                    }
                };
            }
            let expected = both.or_else(|| {
                let has = versions().any(|it| it <= here && it > 1);
                let first = context.in_version_1().filter(|_| has && versions().all(|it| it > 1));
                first.map(|_| 1)
            });
            assert_eq!(agreed, expected, "{context:?} {here} {there}");
        }
    }
    assert_eq!(map::negotiation::in_version_1(Operation::MtForwardSm), None);
}

#[test]
fn a_dialogue_says_how_it_opens_and_why_it_is_refused() {
    use map::types::{MapDialoguePdu as Pdu, MapOpenInfo as Open, MapRefuseInfo as Refuse};
    let mut octets = Vec::new();
    map::dialogue::write(&mut octets, |out| {
        out.within::<Open>(Pdu::MapOpen, |out| {
            out.octets(Open::DestinationReference, &[0x96, 0x21, 0x43]);
        });
    });
    let expected = [
        &[0x28, 18, 6, 7, 4, 0, 0, 1, 1, 1, 1, 0xa0, 7, 0xa0, 5][..],
        &[0x80, 3, 0x96, 0x21, 0x43],
    ];
    assert_eq!(octets, expected.concat());
    let element = ber::Element::only(&octets).unwrap();
    let (which, open) = map::dialogue::read(element).unwrap().unwrap();
    assert_eq!(which, Pdu::MapOpen);
    let open = Open::read(open).unwrap();
    assert_eq!(open.octets(Open::DestinationReference).unwrap(), [0x96, 0x21, 0x43][..]);

    let mut octets = Vec::new();
    map::dialogue::write(&mut octets, |out| {
        out.within::<Refuse>(Pdu::MapRefuse, |out| out.integer(Refuse::Reason, 1));
    });
    let element = ber::Element::only(&octets).unwrap();
    assert_eq!(map::dialogue::read(element).unwrap().unwrap().0, Pdu::MapRefuse);
    let other = ber::Element::only(&[0x28, 4, 6, 2, 4, 0]).unwrap();
    assert!(map::dialogue::read(other).unwrap().is_none());
    assert!(map::dialogue::read(ber::Element::only(&[4, 0]).unwrap()).is_err());
}
