//! The rules that are shipped: each example of a category refused, what networks do pass.

use crate::build::{
    FRENCH, FRENCH_IMSI, From, GERMAN, JAPANESE, OWN, OWN_IMSI, SPANISH, ask_at, begin, code,
    context, element, fs11, go_on, opening, refused_by, screen, tbcd, with_imsi, with_tagged_imsi,
};
use machine::{Duration, Time};
use screening::Action;
use tcap::codec::{TransactionId, Writer};

/// Category 1: operation, context and its version.
const ONE: [(&str, &str, u8); 21] = [
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
    ("sendParameters", "infoRetrievalContext", 1),
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
    let cases: [(&str, &str, u8, &[u8]); 10] = [
        ("updateLocation", "networkLocUpContext", 3, &own),
        ("updateLocation", "networkLocUpContext", 2, &own),
        ("updateGprsLocation", "gprsLocationUpdateContext", 3, &own),
        ("sendAuthenticationInfo", "infoRetrievalContext", 3, &tagged),
        ("purgeMS", "msPurgingContext", 3, &own),
        ("restoreData", "networkLocUpContext", 3, &own),
        ("sendRoutingInfoForSM", "shortMsgGatewayContext", 3, &tagged),
        ("reportSM-DeliveryStatus", "shortMsgGatewayContext", 3, &tagged),
        ("processUnstructuredSS-Request", "networkUnstructuredSsContext", 2, &own),
        ("authenticationFailureReport", "authenticationFailureReportContext", 3, &own),
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

#[test]
fn every_network_that_is_listed_manages_its_own_visitors() {
    let (screen, file) = (screen(&fs11()), fs11());
    let oid = context("subscriberInfoEnquiryContext", 3);
    for it in &file.operator {
        for (imsi, home) in it.imsi.iter().flat_map(|of| it.titles.iter().map(move |to| (of, to))) {
            let (imsi, home) = (format!("{imsi:0<15}"), format!("{home:0<12}"));
            if imsi.starts_with("26201") || home.starts_with("49171") {
                continue;
            }
            let argument = with_tagged_imsi(&imsi);
            let data = begin(Some(&oid), &[(code("provideSubscriberInfo"), &argument)]);
            let by = |calling: &str| refused_by(&screen, &From::hlr_to_vlr(calling), &data);
            assert_eq!(by(&home), None, "{} at {home}", it.name);
            assert_eq!(by("999000000000").as_deref(), Some("cat2-not-its-home"), "{}", it.name);
        }
    }
}

/// A message of a dialogue that begins for an own subscriber: nothing, or USSD of its home.
fn opened(operation: Option<&str>) -> Vec<u8> {
    let mut data = Vec::new();
    let (oid, user) = (context("networkUnstructuredSsContext", 2), opening(OWN_IMSI));
    let writer = Writer::begin(TransactionId::of(1)).request(&oid, &user);
    writer.write(&mut data, |out| {
        if let Some(operation) = operation {
            out.invoke(1, None, tcap::codec::Code::Local(code(operation)), None);
        }
    });
    data
}

#[test]
fn own_subscribers_are_asked_nothing_from_outside() {
    let screen = screen(&fs11());
    for operation in ["unstructuredSS-Request", "unstructuredSS-Notify"] {
        let by = refused_by(&screen, &From::hlr_to_vlr(FRENCH), &opened(Some(operation)));
        assert_eq!(by.as_deref(), Some("cat2-own-subscriber"), "{operation}");
    }
}

/// What is refused of a node in Spain, of a subscriber that is in France; and of one there.
fn elsewhere(data: &[u8]) -> [Option<String>; 2] {
    let screen = screen(&fs11());
    let mut places = screen.last_places(7);
    let oid = context("networkLocUpContext", 3);
    let update = begin(Some(&oid), &[(code("updateLocation"), &with_imsi(OWN_IMSI))]);
    let mut ask = |calling: &str, data: &[u8]| {
        let now = Time::ZERO + Duration::from_secs(60);
        let from = From::vlr_to_hlr(calling);
        let verdict = ask_at(now, &screen, &mut places, &from, data).expect("it is read");
        let refused = verdict.rule.filter(|_| verdict.action.refuses());
        refused.and_then(|it| screen.rule(it)).map(|it| it.0.to_owned())
    };
    assert_eq!(ask(FRENCH, &update), None);
    [ask(SPANISH, data), ask(FRENCH, data)]
}

#[test]
fn a_dialogue_that_begins_with_its_subscriber_alone_is_judged() {
    assert_eq!(elsewhere(&opened(None)), [Some("cat3-dialogue".to_owned()), None]);
    let ask = opened(Some("processUnstructuredSS-Request"));
    assert_eq!(elsewhere(&ask), [Some("cat3-elsewhere".to_owned()), None]);
}

#[test]
fn a_short_message_in_the_middle_of_a_dialogue_is_judged() {
    let parts = [
        element(0x84, &[0x91, 0x94, 0x71, 0x01]),
        element(0x82, &[0x91, 0x94, 0x71, 0x21]),
        element(0x04, &[0x11, 0, 3, 0x91]),
        element(0x04, &tbcd(OWN_IMSI)),
    ];
    let argument = element(0x30, &parts.concat());
    let first =
        begin(Some(&context("shortMsgMO-RelayContext", 3)), &[(code("mo-ForwardSM"), &argument)]);
    for data in [first, go_on(&[(code("mo-ForwardSM"), &argument)])] {
        assert_eq!(elsewhere(&data), [Some("cat3-short-message".to_owned()), None]);
    }
}

#[test]
fn who_is_nowhere_says_nothing_of_own_subscribers() {
    let screen = screen(&fs11());
    let oid = context("networkLocUpContext", 3);
    let update = |imsi| begin(Some(&oid), &[(code("updateLocation"), &with_imsi(imsi))]);
    let by = |imsi| refused_by(&screen, &From::vlr_to_hlr("999000000000"), &update(imsi));
    assert_eq!(by(OWN_IMSI).as_deref(), Some("cat3-nowhere"));
    assert_eq!(by(FRENCH_IMSI), None);
    // Satellites and ships have no place, and are a network.
    for calling in ["870100000000", "881600000000", "882130000000"] {
        let by = refused_by(&screen, &From::vlr_to_hlr(calling), &update(OWN_IMSI));
        assert_eq!(by, None, "{calling}");
    }
}

#[test]
fn an_alert_of_version_1_is_no_hidden_operation() {
    let by = |number| {
        let data = begin(None, &[(number, &[0x30, 0x00])]);
        refused_by(&screen(&fs11()), &From::hlr_to_vlr(FRENCH), &data)
    };
    assert_eq!((by(49), by(27).as_deref()), (None, Some("hidden-operation")));
}
