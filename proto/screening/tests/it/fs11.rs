//! The rules that are shipped: each example of a category refused, what networks do pass.

use crate::build::{
    FRENCH, FRENCH_IMSI, From, GERMAN, JAPANESE, OWN, OWN_IMSI, SPANISH, ask_at, begin, code,
    context, fs11, go_on, refused_by, screen, with_imsi, with_tagged_imsi,
};
use machine::{Duration, Time};
use screening::Action;

/// Category 1: operation, context and its version.
const ONE: [(&str, &str, u8); 20] = [
    ("sendRoutingInfo", "locationInfoRetrievalContext", 3),
    ("sendIMSI", "imsiRetrievalContext", 2),
    ("anyTimeInterrogation", "anyTimeInfoEnquiryContext", 3),
    ("anyTimeModification", "anyTimeInfoHandlingContext", 3),
    ("anyTimeSubscriptionInterrogation", "anyTimeInfoHandlingContext", 3),
    ("noteSubscriberDataModified", "subscriberDataModificationNotificationContext", 3),
    ("noteMM-Event", "mm-EventReportingContext", 3),
    ("ss-InvocationNotification", "ss-InvocationNotificationContext", 3),
    ("sendRoutingInfoForLCS", "locationSvcGatewayContext", 3),
    ("provideSubscriberLocation", "locationSvcEnquiryContext", 3),
    ("subscriberLocationReport", "locationSvcEnquiryContext", 3),
    ("sendRoutingInfoForGprs", "gprsLocationInfoRetrievalContext", 4),
    ("failureReport", "failureReportContext", 3),
    ("noteMsPresentForGprs", "gprsNotifyContext", 3),
    ("prepareHandover", "handoverControlContext", 3),
    ("sendIdentification", "interVlrInfoRetrievalContext", 3),
    ("checkIMEI", "equipmentMngtContext", 3),
    ("prepareGroupCall", "groupCallControlContext", 3),
    ("sendGroupCallInfo", "groupCallInfoRetrievalContext", 3),
    ("releaseResources", "resourceManagementContext", 3),
];

/// Category 2, with how the argument tells the IMSI.
const TWO: [(&str, &str, u8); 7] = [
    ("insertSubscriberData", "subscriberDataMngtContext", 3),
    ("deleteSubscriberData", "subscriberDataMngtContext", 3),
    ("cancelLocation", "locationCancellationContext", 2),
    ("provideSubscriberInfo", "subscriberInfoEnquiryContext", 3),
    ("provideRoamingNumber", "roamingNumberEnquiryContext", 3),
    ("activateTraceMode", "tracingContext", 3),
    ("deactivateTraceMode", "tracingContext", 3),
];

/// The argument of an operation of category 2 for a subscriber.
fn two(operation: &str, imsi: &str) -> Vec<u8> {
    match operation {
        "cancelLocation" => with_imsi(imsi),
        _ => with_tagged_imsi(imsi),
    }
}

#[test]
fn the_file_is_sound_and_every_rule_can_decide() {
    let screen = screen(&fs11());
    assert_eq!(screen.unreachable(), []);
    assert!(screen.looked_at() < 32, "{}", screen.looked_at());
}

#[test]
fn operations_within_a_network_are_refused_from_outside_and_pass_inside() {
    let screen = screen(&fs11());
    for (operation, of, version) in ONE {
        let data = begin(Some(&context(of, version)), &[(code(operation), &with_imsi(OWN_IMSI))]);
        for calling in [GERMAN, FRENCH, JAPANESE] {
            let by = refused_by(&screen, &From::vlr_to_hlr(calling), &data);
            assert!(by.is_some_and(|it| it.starts_with("cat1-")), "{operation} of {calling}");
        }
    }
}

#[test]
fn own_subscribers_are_managed_by_nobody_else() {
    let screen = screen(&fs11());
    for (operation, of, version) in TWO {
        let argument = two(operation, OWN_IMSI);
        let data = begin(Some(&context(of, version)), &[(code(operation), &argument)]);
        for calling in [GERMAN, FRENCH] {
            let by = refused_by(&screen, &From::hlr_to_vlr(calling), &data);
            assert_eq!(by.as_deref(), Some("cat2-own-subscriber"), "{operation} of {calling}");
        }
    }
}

#[test]
fn visitors_are_managed_by_their_home_alone() {
    let screen = screen(&fs11());
    for (operation, of, version) in TWO {
        let argument = two(operation, FRENCH_IMSI);
        let data = begin(Some(&context(of, version)), &[(code(operation), &argument)]);
        let by = |calling| refused_by(&screen, &From::hlr_to_vlr(calling), &data);
        assert_eq!(by(FRENCH), None, "{operation}");
        assert_eq!(by(SPANISH).as_deref(), Some("cat2-not-its-home"), "{operation}");
        assert_eq!(by(JAPANESE).as_deref(), Some("cat2-not-its-home"), "{operation}");
    }
}

#[test]
fn subscribers_who_travel_too_fast_are_refused_and_come_later() {
    let screen = screen(&fs11());
    let mut places = screen.last_places(7);
    let oid = context("networkLocUpContext", 3);
    let update = begin(Some(&oid), &[(code("updateLocation"), &with_imsi(OWN_IMSI))]);
    let mut at = |minutes: u64, calling: &str| {
        let now = Time::ZERO + Duration::from_secs(60 * minutes);
        let verdict = ask_at(now, &screen, &mut places, &From::vlr_to_hlr(calling), &update);
        verdict.expect("it is read").action
    };
    let unexpected = Action::Error(map::Error::UnexpectedDataValue.code());
    assert_eq!(at(10, FRENCH), Action::Pass, "nothing is known before");
    assert_eq!(at(20, SPANISH), Action::Pass, "the border is near");
    assert_eq!(at(30, JAPANESE), unexpected, "ten minutes to Japan");
    assert_eq!(at(40, SPANISH), Action::Pass, "what was refused taught nothing");
    assert_eq!(at(40 + 13 * 60, JAPANESE), Action::Pass, "a flight later");
    assert_eq!(at(60 + 13 * 60, FRENCH), unexpected);
}

#[test]
fn services_are_asked_for_from_where_the_subscriber_is() {
    let screen = screen(&fs11());
    let mut places = screen.last_places(7);
    let update = begin(
        Some(&context("networkLocUpContext", 3)),
        &[(code("updateLocation"), &with_imsi(OWN_IMSI))],
    );
    let purge =
        begin(Some(&context("msPurgingContext", 2)), &[(code("purgeMS"), &with_imsi(OWN_IMSI))]);
    let mut ask = |minutes: u64, calling: &str, data: &[u8]| {
        let now = Time::ZERO + Duration::from_secs(60 * minutes);
        let verdict = ask_at(now, &screen, &mut places, &From::vlr_to_hlr(calling), data);
        verdict.expect("it is read").action.refuses()
    };
    assert!(!ask(1, SPANISH, &purge), "nothing is known");
    assert!(!ask(2, FRENCH, &update));
    assert!(ask(3, SPANISH, &purge));
    assert!(!ask(4, FRENCH, &purge));
    assert!(!ask(26 * 60, SPANISH, &purge), "a day later nothing is known");
}

#[test]
fn a_title_of_the_own_network_does_not_come_from_outside() {
    let screen = screen(&fs11());
    let oid = context("networkLocUpContext", 3);
    let update = begin(Some(&oid), &[(code("updateLocation"), &with_imsi(OWN_IMSI))]);
    let by = refused_by(&screen, &From::vlr_to_hlr(OWN), &update);
    assert_eq!(by.as_deref(), Some("own-title-from-outside"));
}

#[test]
fn what_roaming_needs_passes() {
    let screen = screen(&fs11());
    let own = with_imsi(OWN_IMSI);
    let tagged = with_tagged_imsi(OWN_IMSI);
    let cases: [(&str, &str, u8, &[u8]); 9] = [
        ("updateLocation", "networkLocUpContext", 3, &own),
        ("updateLocation", "networkLocUpContext", 2, &own),
        ("updateGprsLocation", "gprsLocationUpdateContext", 3, &own),
        ("sendAuthenticationInfo", "infoRetrievalContext", 3, &tagged),
        ("purgeMS", "msPurgingContext", 3, &own),
        ("restoreData", "networkLocUpContext", 3, &own),
        ("sendRoutingInfoForSM", "shortMsgGatewayContext", 3, &tagged),
        ("reportSM-DeliveryStatus", "shortMsgGatewayContext", 3, &tagged),
        ("processUnstructuredSS-Request", "networkUnstructuredSsContext", 2, &own),
    ];
    for (operation, of, version, argument) in cases {
        let data = begin(Some(&context(of, version)), &[(code(operation), argument)]);
        for calling in [GERMAN, FRENCH, JAPANESE] {
            let by = refused_by(&screen, &From::vlr_to_hlr(calling), &data);
            assert_eq!(by, None, "{operation} of {calling}");
        }
    }
    // The home of a visitor inserts its data in the dialogue that this node has begun.
    let insert = go_on(&[(code("insertSubscriberData"), &[0x30, 0x00])]);
    assert_eq!(refused_by(&screen, &From::hlr_to_vlr(FRENCH), &insert), None);
}
