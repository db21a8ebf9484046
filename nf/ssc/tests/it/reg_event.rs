//! Registrations that the core tells of (RFC 3680, TS 24.229 §5.2.3): the controller subscribes,
//! keeps the subscription, believes its notifier alone, and ends what the network ends.

use crate::world::pair::Pair;
use crate::world::*;
use machine::Duration;

const CORE_S: u64 = 7_200;
const IDENTITY: &str = "sip:alice@example.com";

fn site(keys: &str) -> String {
    let access = format!(
        "side = \"access\"\n[realm.ipsec]\nrequired = false\n{keys}\n[[realm]]\nname = \"core\""
    );
    let site = SITE.replacen("[[realm]]\nname = \"core\"", &access, 1);
    format!(
        "{site}\n[registrar]\nenabled = true\ncore_expires_s = {CORE_S}\nclient_expires_s = 1800\n"
    )
}

fn watching() -> String {
    site("reg_event = true")
}

fn register(user: &str, cseq: u32) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bK{user}{cseq}\r\nMax-Forwards: 70\r\n\
         From: <sip:{user}@example.com>;tag=r\r\nTo: <sip:{user}@example.com>\r\n\
         Call-ID: reg-{user}\r\nCSeq: {cseq} REGISTER\r\nContact: <sip:{user}@{ALICE}>\r\n\
         Expires: 1800\r\nContent-Length: 0\r\n\r\n"
    )
}

/// A phone registers at the core; the URI by which the core knows it.
fn registered(world: &mut World, user: &str) -> String {
    world.receive(ALICE, ACCESS, &register(user, 1));
    accepted(world, user)
}

fn accepted(world: &mut World, user: &str) -> String {
    let forwarded = world.expect(BOB, "REGISTER");
    let contact = header(&forwarded, "Contact").to_owned();
    let uri = contact.split(['<', '>']).nth(1).unwrap().to_owned();
    let more = format!(
        "Contact: <{uri}>;expires={CORE_S}\r\n\
         P-Associated-URI: <sip:{user}@example.com>, <tel:+4930{user}1>\r\n"
    );
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(ALICE, "SIP/2.0 200");
    soon(world);
    uri
}

/// What is due now has left, and nothing was sent again yet.
fn soon(world: &mut World) {
    world.pass(Duration::from_millis(100));
}

/// What the core says to a SUBSCRIBE that it accepts.
fn accept(world: &mut World, subscribe: &str) {
    let expires = header(subscribe, "Expires");
    let more = format!(
        "Expires: {expires}\r\nContact: <sip:scscf@10.0.1.1:5080>\r\n\
         Record-Route: <sip:p2@10.0.1.9;lr>, <sip:p1@10.0.1.8;lr>\r\n"
    );
    world.receive(BOB, CORE, &respond(subscribe, "200 OK", "home", &more, ""));
}

/// A NOTIFY of the subscription that a SUBSCRIBE has made.
#[derive(Clone)]
struct Notify {
    from: String,
    to: String,
    call_id: String,
    cseq: u32,
    event: String,
    state: String,
    media: String,
    body: String,
}

impl Notify {
    fn of(subscribe: &str, cseq: u32, body: String) -> Self {
        Self {
            from: format!("<{IDENTITY}>;tag=home"),
            to: header(subscribe, "From").to_owned(),
            call_id: header(subscribe, "Call-ID").to_owned(),
            cseq,
            event: "reg".to_owned(),
            state: "active;expires=7000".to_owned(),
            media: "application/reginfo+xml".to_owned(),
            body,
        }
    }

    fn text(&self) -> String {
        let Self { from, to, call_id, cseq, event, state, media, body } = self;
        let branch = call_id.len() as u32 + cseq + body.len() as u32 + state.len() as u32;
        format!(
            "NOTIFY sip:{CORE} SIP/2.0\r\nVia: SIP/2.0/UDP {BOB};branch=z9hG4bKn{branch}{event}\
             \r\nMax-Forwards: 70\r\nFrom: {from}\r\nTo: {to}\r\nCall-ID: {call_id}\r\n\
             CSeq: {cseq} NOTIFY\r\nContact: <sip:scscf@10.0.1.1:5080>\r\nEvent: {event}\r\n\
             Subscription-State: {state}\r\nContent-Type: {media}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

/// A document about one contact.
fn document(version: u32, uri: &str, registration: &str, contact: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><reginfo xmlns=\"urn:ietf:params:xml:ns:reginfo\" \
         version=\"{version}\" state=\"full\"><registration aor=\"{IDENTITY}\" id=\"r\" \
         state=\"{registration}\"><contact id=\"c\" {contact}><uri>{uri}</uri></contact>\
         </registration></reginfo>"
    )
}

const ACTIVE: &str = "state=\"active\" event=\"registered\"";

fn bound(world: &mut World) -> usize {
    world.ask("registrations", &[]).as_array().unwrap().len()
}

fn rows(world: &mut World) -> Vec<serde_json::Value> {
    world.ask("ims/reg-events", &[]).as_array().unwrap().clone()
}

/// A phone whose registration is watched: its URI at the core, and the SUBSCRIBE.
fn watched(world: &mut World) -> (String, String) {
    let uri = registered(world, "alice");
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    accept(world, &subscribe);
    let first = Notify::of(&subscribe, 1, document(0, &uri, "active", ACTIVE));
    world.receive(BOB, CORE, &first.text());
    world.expect(BOB, "SIP/2.0 200");
    world.expect_nothing();
    (uri, subscribe)
}

#[test]
fn after_the_200_of_a_registration_its_state_is_subscribed_to() {
    let mut world = World::new(&site("reg_event = true\ncharging = \"visited.example\""));
    let (uri, subscribe) = watched(&mut world);
    assert!(subscribe.starts_with(&format!("SUBSCRIBE {IDENTITY} SIP/2.0\r\n")), "{subscribe}");
    let own = format!("<sip:{CORE}>");
    assert_eq!(header(&subscribe, "From").split(';').next(), Some(own.as_str()));
    assert_eq!(header(&subscribe, "To"), format!("<{IDENTITY}>"));
    let user = uri.strip_prefix("sip:").and_then(|it| it.split('@').next()).unwrap();
    let path = format!("<sip:{user}@{CORE};lr>"); // as in the Path of the REGISTER
    assert_eq!(header(&subscribe, "P-Asserted-Identity"), path);
    assert_eq!(header(&subscribe, "Contact"), own);
    assert_eq!(header(&subscribe, "Event"), "reg");
    assert_eq!(header(&subscribe, "Accept"), "application/reginfo+xml");
    assert!(header(&subscribe, "Expires").parse::<u64>().unwrap() > CORE_S);
    assert!(header(&subscribe, "P-Charging-Vector").contains("orig-ioi=visited.example"));
    let rows = rows(&mut world);
    assert_eq!((rows.len(), &rows[0]["identity"]), (1, &IDENTITY.into()));
    assert_eq!((&rows[0]["state"], &rows[0]["version"]), (&"standing".into(), &0.into()));
    let of = |name| World::ask(&mut world, "ims/reg-events", &[("identity", name)]);
    let counts =
        ["tel:+49301", "sip:alice@EXAMPLE.com"].map(of).map(|it| it.as_array().map(Vec::len));
    assert_eq!(counts, [Some(0), Some(1)]);
}

#[test]
fn a_registration_that_the_network_ends_ends_here_and_so_does_its_subscription() {
    for (registration, contact, why) in [
        ("active", "state=\"terminated\" event=\"deactivated\"", "deactivated"),
        ("active", "state=\"terminated\" event=\"rejected\"", "rejected"),
        ("terminated", "state=\"terminated\" event=\"probation\"", "probation"),
        ("terminated", "state=\"terminated\" event=\"expired\"", "expired"),
    ] {
        let capture = "name = \"ssc1\"\ncapture = \"udp:127.0.0.1:9060\"";
        let mut world = World::new(&watching().replacen("name = \"ssc1\"", capture, 1));
        let (uri, subscribe) = watched(&mut world);
        let body = document(1, &uri, registration, contact);
        world.receive(BOB, CORE, &Notify::of(&subscribe, 2, body).text());
        world.expect(BOB, "SIP/2.0 200");
        assert_eq!(bound(&mut world), 0, "{contact}");
        assert_eq!(world.metric("ims_reg_deregistrations_total"), 1);
        soon(&mut world);
        let off = world.expect(BOB, "SUBSCRIBE");
        assert_eq!((header(&off, "Expires"), header(&off, "CSeq")), ("0", "2 SUBSCRIBE"));
        accept(&mut world, &off);
        let last = Notify {
            state: "terminated;reason=timeout".to_owned(),
            ..Notify::of(&subscribe, 3, String::new())
        };
        world.receive(BOB, CORE, &last.text());
        world.expect(BOB, "SIP/2.0 200");
        world.pass(Duration::from_secs(1));
        assert_eq!(rows(&mut world), [] as [serde_json::Value; 0]);
        assert_eq!(world.metric("ims_reg_subscriptions"), 0);
        let told = String::from_utf8_lossy(&world.raw_to("127.0.0.1:9060")).into_owned();
        for event in ["RegistrationWatched", "RegistrationEnded", why] {
            assert!(told.contains(event), "{event}: {told}");
        }
        world.expect_nothing();
        world.expect_idle();
    }
}

/// A document that names an address of record and no contact of it.
fn nobody(version: u32) -> String {
    format!(
        "<?xml version=\"1.0\"?><reginfo xmlns=\"urn:ietf:params:xml:ns:reginfo\" \
         version=\"{version}\" state=\"full\"><registration aor=\"{IDENTITY}\" id=\"r\" \
         state=\"terminated\"/></reginfo>"
    )
}

#[test]
fn a_registration_over_without_contacts_ends_what_is_older_than_its_subscription() {
    let mut world = World::new(&watching());
    let (_, subscribe) = watched(&mut world);
    let over = Notify {
        state: "terminated;reason=noresource".to_owned(),
        ..Notify::of(&subscribe, 2, nobody(1))
    };
    world.receive(BOB, CORE, &over.text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(&mut world), 0, "a second after it was registered");
    soon(&mut world);
    assert_eq!(rows(&mut world), [] as [serde_json::Value; 0], "the core has ended it itself");
    world.expect_nothing();
    world.expect_idle();
}

#[test]
fn a_core_that_has_lost_its_registrations_says_init_and_what_stands_there_is_believed() {
    let of_tablet = "<contact id=\"t\" state=\"active\" event=\"registered\"><uri>sip:t@x</uri>\
                     </contact></registration>";
    let gone = "state=\"terminated\" event=\"deactivated\"";
    for (body, left) in [
        (nobody(1).replace("\"terminated\"", "\"init\""), 0),
        (nobody(1).replace("\"terminated\"", "\"init\"").replace("\"full\"", "\"partial\""), 1),
        (document(1, "sip:other@x", "init", gone), 0),
        (document(1, "sip:other@x", "init", gone).replace("</registration>", of_tablet), 1),
        (document(1, "sip:other@x", "init", ACTIVE), 1),
    ] {
        let mut world = World::new(&watching());
        let (_, subscribe) = watched(&mut world);
        world.receive(BOB, CORE, &Notify::of(&subscribe, 2, body.clone()).text());
        world.expect(BOB, "SIP/2.0 200");
        assert_eq!(bound(&mut world), left, "{body}");
    }
}

#[test]
fn a_document_is_looked_at_to_its_end() {
    let mut world = World::new(&watching());
    let (uri, subscribe) = watched(&mut world);
    let gone = "state=\"terminated\" event=\"deactivated\"";
    let rows = "<registration aor=\"a\" id=\"1\" state=\"active\"/>".repeat(800);
    let body = document(1, &uri, "active", gone);
    let body = body.replacen("<registration ", &format!("{rows}<registration "), 1);
    assert!(body.len() > 30_000, "{}", body.len());
    world.receive(BOB, CORE, &Notify::of(&subscribe, 2, body).text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(&mut world), 0);
}

#[test]
fn of_what_was_registered_since_the_core_is_asked_again_once_a_late_document_is_out_of_the_way() {
    let mut world = World::new(&watching());
    let (_, subscribe) = watched(&mut world);
    let tablet = "10.0.0.77:5060";
    let another = register("alice", 9).replace(ALICE, tablet).replace("reg-alice", "reg-tablet");
    world.receive(tablet, ACCESS, &another);
    let forwarded = world.expect(BOB, "REGISTER");
    let contact = header(&forwarded, "Contact").to_owned();
    let uri = contact.split(['<', '>']).nth(1).unwrap();
    let more = format!("Contact: <{uri}>;expires={CORE_S}\r\n");
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
    world.expect(tablet, "SIP/2.0 200");
    world.receive(BOB, CORE, &Notify::of(&subscribe, 2, nobody(1)).text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(&mut world), 1, "the document may have been on its way");
    world.pass(Duration::from_secs(31));
    world.expect_nothing();
    world.pass(Duration::from_millis(1_100));
    let again = world.expect(BOB, "SUBSCRIBE");
    assert_eq!(header(&again, "CSeq"), "2 SUBSCRIBE");
    accept(&mut world, &again);
    world.receive(BOB, CORE, &Notify::of(&subscribe, 3, nobody(2)).text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(&mut world), 0);
}

#[test]
fn what_is_of_another_contact_or_older_than_what_is_known_ends_nothing() {
    let mut world = World::new(&watching());
    let (uri, subscribe) = watched(&mut world);
    let gone = "state=\"terminated\" event=\"deactivated\"";
    let other = uri.replace("sip:", "sip:0");
    for (cseq, body) in [
        (2, document(0, &uri, "terminated", gone)), // the version of before
        (3, document(1, &other, "active", gone)),
        (4, document(2, "sip:alice@10.0.0.1", "active", gone)),
        (5, document(3, "no URI", "active", gone)),
    ] {
        world.receive(BOB, CORE, &Notify::of(&subscribe, cseq, body).text());
        world.expect(BOB, "SIP/2.0 200");
        assert_eq!(bound(&mut world), 1, "{cseq}");
    }
    assert_eq!(world.metric("ims_reg_documents_outdated_total"), 1);
    world.expect_nothing();
}

#[test]
fn a_notify_of_strangers_is_refused_and_each_violation_has_its_answer() {
    let mut world = World::new(&watching());
    let (uri, subscribe) = watched(&mut world);
    let gone = document(1, &uri, "terminated", "state=\"terminated\" event=\"rejected\"");
    let right = Notify::of(&subscribe, 2, gone);
    let with = |change: fn(&mut Notify)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        wrong.text()
    };
    let flip = |text: &mut String| {
        let last = text.pop().unwrap();
        text.push(if last == '0' { '1' } else { '0' });
    };
    let mut other_tag = right.clone();
    flip(&mut other_tag.to);
    let mut other_call = right.clone();
    flip(&mut other_call.call_id);
    let table = [
        (other_tag.text(), 481),
        (other_call.text(), 481),
        (with(|it| it.from = it.from.replace("tag=home", "tag=other")), 481),
        (with(|it| it.event = "presence".to_owned()), 489),
        (with(|it| it.event = "reg;id=1".to_owned()), 489),
        (with(|it| it.cseq = 1), 500),
        (with(|it| it.state = ";".to_owned()), 400),
        (with(|it| it.media = "text/xml".to_owned()), 415),
        (with(|it| it.body = it.body.replace("</reginfo>", "")), 400),
        (with(|it| it.body = format!("<!DOCTYPE a [<!ENTITY b \"c\">]>{}", &it.body[21..])), 400),
    ];
    for (at, (text, status)) in table.into_iter().enumerate() {
        let text = text.replace("z9hG4bKn", &format!("z9hG4bKw{at}"));
        world.receive(BOB, CORE, &text);
        world.expect(BOB, &format!("SIP/2.0 {status}"));
        assert_eq!(bound(&mut world), 1, "{text}");
    }
    assert_eq!(world.metric("ims_reg_notifies_refused_total"), 2);
    assert_eq!(world.metric("ims_reg_documents_unreadable_total"), 2);
    let elsewhere = right.text().replace("z9hG4bKn", "z9hG4bKe");
    world.receive(ALICE, ACCESS, &elsewhere);
    let refused = world.sent.pop_front().unwrap();
    assert!(refused.text.starts_with("SIP/2.0 481"), "{}", refused.text);
    assert_eq!((bound(&mut world), world.metric("ims_reg_notifies_refused_total")), (1, 3));
    world.receive(BOB, CORE, &right.text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(&mut world), 0);
}

#[test]
fn a_subscription_is_renewed_in_its_dialog_and_made_anew_when_the_core_has_forgotten_it() {
    let mut world = World::new(&watching());
    let (_, subscribe) = watched(&mut world);
    // Longer than 1,200 s: 600 s before its end; the phone registers meanwhile.
    for cseq in 2..6 {
        world.pass(Duration::from_secs(1_500));
        world.expect_nothing();
        world.receive(ALICE, ACCESS, &register("alice", cseq));
        match world.sent.front().is_some_and(|sent| sent.text.starts_with("REGISTER")) {
            true => drop(accepted(&mut world, "alice")),
            false => drop(world.expect(ALICE, "SIP/2.0 200")),
        }
    }
    world.pass(Duration::from_millis(400_200)); // 6,400 s: the NOTIFY has said 7,000
    let again = world.expect(BOB, "SUBSCRIBE sip:scscf@10.0.1.1:5080 SIP/2.0");
    assert_eq!(header(&again, "CSeq"), "2 SUBSCRIBE");
    assert_eq!(header(&again, "Call-ID"), header(&subscribe, "Call-ID"));
    assert_eq!(header(&again, "To"), format!("<{IDENTITY}>;tag=home"));
    assert_eq!(header(&again, "Route"), "<sip:p1@10.0.1.8;lr>,<sip:p2@10.0.1.9;lr>");
    world.receive(BOB, CORE, &respond(&again, "481 Gone", "home", "", ""));
    soon(&mut world);
    let anew = world.expect(BOB, &format!("SUBSCRIBE {IDENTITY}"));
    assert_eq!((header(&anew, "CSeq"), tag(&anew, "To")), ("1 SUBSCRIBE", ""));
    assert_ne!(header(&anew, "Call-ID"), header(&subscribe, "Call-ID"));
    assert_eq!(world.metric("ims_reg_subscribes_failed_total"), 1);
}

#[test]
fn a_core_that_refuses_is_asked_ever_more_seldom_and_one_that_knows_no_such_event_is_an_alarm() {
    let mut world = World::new(&watching());
    registered(&mut world, "alice");
    for (status, wait_s) in [("503 Later", 30), ("500 Error", 60), ("404 Nobody", 120)] {
        let subscribe = world.expect(BOB, "SUBSCRIBE");
        world.receive(BOB, CORE, &respond(&subscribe, status, "x", "", ""));
        world.pass(Duration::from_secs(wait_s - 1));
        world.expect_nothing();
        world.pass(Duration::from_millis(1_100));
    }
    let subscribe = world.expect(BOB, "SUBSCRIBE");
    world.receive(BOB, CORE, &respond(&subscribe, "489 Bad Event", "x", "", ""));
    let alarms = world.ask("alarms", &[]).to_string();
    assert!(alarms.contains("ims-reg-events-refused") && alarms.contains("489"), "{alarms}");
    assert_eq!(rows(&mut world)[0]["refused"], 489);
    world.pass(Duration::from_secs(1_000));
    world.expect_nothing();
    assert_eq!(bound(&mut world), 1, "the phone is registered all the same");
}

#[test]
fn what_a_core_wants_at_least_is_asked_for_and_what_is_no_number_is_none() {
    for (min, asked) in [
        ("9000", "9600"),
        ("99999999999", "605400"),
        ("9000 (seconds)", "9600"),
        ("9000x", "7800"),
        ("x", "7800"),
    ] {
        let mut world = World::new(&watching());
        registered(&mut world, "alice");
        let subscribe = world.expect(BOB, "SUBSCRIBE");
        assert_eq!(header(&subscribe, "Expires"), "7800");
        let more = format!("Min-Expires: {min}\r\n");
        world.receive(BOB, CORE, &respond(&subscribe, "423 Too Brief", "x", &more, ""));
        world.pass(Duration::from_secs(31));
        let again = world.expect(BOB, "SUBSCRIBE");
        assert_eq!(header(&again, "Expires"), asked, "{min}");
    }
}

#[test]
fn of_a_phone_that_is_bound_no_more_the_subscription_is_taken_back_when_it_is_due() {
    let mut world = World::new(&watching());
    watched(&mut world);
    world.pass(Duration::from_secs(1_801));
    assert_eq!(bound(&mut world), 0, "it has not registered again");
    world.pass(Duration::from_millis(6_400_400 - 1_801_000));
    let off = world.expect(BOB, "SUBSCRIBE");
    assert_eq!(header(&off, "Expires"), "0");
    world.receive(BOB, CORE, &respond(&off, "481 Gone", "home", "", ""));
    assert_eq!(rows(&mut world), [] as [serde_json::Value; 0]);
    world.expect_idle();
}

#[test]
fn subscriptions_are_bounded_by_realm_and_off_unless_the_realm_wants_them() {
    let mut world = World::new(&site("reg_event = true\nreg_events_max = 1"));
    watched(&mut world);
    registered(&mut world, "carol");
    world.expect_nothing();
    assert_eq!(world.metric("ims_reg_subscriptions_refused_total"), 1);
    let alarms = world.ask("alarms", &[]).to_string();
    assert!(alarms.contains("ims-reg-events-scarce"), "{alarms}");
    world.configure(&site(""));
    assert_eq!(rows(&mut world), [] as [serde_json::Value; 0]);
    let mut off = World::new(&site(""));
    registered(&mut off, "alice");
    off.expect_nothing();
}

#[test]
fn a_contact_that_the_network_lets_end_earlier_registers_at_the_core_next_time() {
    let mut world = World::new(&watching());
    let (uri, subscribe) = watched(&mut world);
    world.receive(ALICE, ACCESS, &register("alice", 2));
    world.expect(ALICE, "SIP/2.0 200");
    let short = document(1, &uri, "active", "state=\"active\" event=\"shortened\" expires=\"60\"");
    world.receive(BOB, CORE, &Notify::of(&subscribe, 2, short).text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(world.metric("ims_reg_shortened_total"), 1);
    world.receive(ALICE, ACCESS, &register("alice", 3));
    accepted(&mut world, "alice");
    world.pass(Duration::from_secs(61));
    assert_eq!(bound(&mut world), 1, "the core has accepted it anew");
}

#[test]
fn the_other_node_of_a_pair_goes_on_in_the_same_dialogs_and_asks_again_what_was_under_way() {
    let mut pair = Pair::new(&watching());
    let (uri, subscribe) = watched(&mut pair.active);
    let before = rows(&mut pair.active);
    pair.replicate();
    pair.catch_up();
    assert_eq!(rows(&mut pair.standby), before);
    let world = pair.fail_over();
    let gone = document(1, &uri, "terminated", "state=\"terminated\" event=\"rejected\"");
    world.receive(BOB, CORE, &Notify::of(&subscribe, 2, gone).text());
    world.expect(BOB, "SIP/2.0 200");
    assert_eq!(bound(world), 0);
    soon(world);
    let off = world.expect(BOB, "SUBSCRIBE");
    assert_eq!((header(&off, "Expires"), header(&off, "CSeq")), ("0", "2 SUBSCRIBE"));

    let mut pair = Pair::new(&watching());
    registered(&mut pair.active, "alice");
    let lost = pair.active.expect(BOB, "SUBSCRIBE");
    let world = pair.fail_over();
    soon(world);
    let again = world.expect(BOB, "SUBSCRIBE");
    assert_ne!(header(&again, "Call-ID"), header(&lost, "Call-ID"));
    accept(world, &again);
    assert_eq!(rows(world)[0]["state"], "standing");
}
