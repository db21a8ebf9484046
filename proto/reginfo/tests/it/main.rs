//! Registration information: the examples of RFC 3680, round trips, and what is refused.
#![allow(missing_docs, reason = "a test program")]

use reginfo::{
    ATTRIBUTES_MAX, Contact, ContactState, DEPTH_MAX, Event, NAMESPACES_MAX, NODES_MAX, OCTETS_MAX,
    Reginfo, Registration, RegistrationState, State,
};

/// As RFC 3680 §5.1 and §8 write it, with what is passed over.
const JOE: &str = r#"<?xml version="1.0"?>
    <reginfo xmlns="urn:ietf:params:xml:ns:reginfo" xmlns:o="urn:other"
             xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1" state="partial">
      <!-- what changed -->
      <registration aor="sip:joe@example.com" id="a7" state="active">
        <contact id="76" state="active" event="registered" expires="7200" q="0.8">
          <uri>sip:joe@pc34.example.com</uri>
          <display-name xml:lang="en">Joe &amp; co</display-name>
          <unknown-param name="audio"/>
        </contact>
        <o:contact>of another namespace</o:contact>
        <contact id="77" state="terminated" event="rejected">
          <uri> sip:joe@pc35.example.com;a=&quot;b&quot; </uri>
        </contact>
      </registration>
    </reginfo>"#;

#[test]
fn an_example_of_the_rfc_is_read() {
    let read = Reginfo::read(JOE.as_bytes()).expect("it is one");
    assert_eq!((read.version, read.state), (1, State::Partial));
    let [joe] = read.registrations.as_slice() else { panic!("one: {read:?}") };
    assert_eq!((joe.aor.as_str(), joe.id.as_str()), ("sip:joe@example.com", "a7"));
    let [active, rejected] = joe.contacts.as_slice() else { panic!("two: {joe:?}") };
    assert_eq!((active.event, active.expires_s), (Event::Registered, Some(7_200)));
    assert_eq!(active.uri, "sip:joe@pc34.example.com");
    assert_eq!((rejected.state, rejected.event), (ContactState::Terminated, Event::Rejected));
    assert_eq!(rejected.uri, "sip:joe@pc35.example.com;a=\"b\"");
}

#[test]
fn a_uri_is_all_text_of_its_element_and_one_byte_order_mark_may_stand_before_a_document() {
    for (uri, read) in [
        ("sip:tok<!-- x -->en@pcscf", "sip:token@pcscf"),
        ("<![CDATA[sip:tok]]>en@pcscf", "sip:token@pcscf"),
        ("sip:<b>tok</b>en@pcscf", "sip:token@pcscf"),
    ] {
        let text = JOE.replacen("sip:joe@pc34.example.com", uri, 1);
        let read_uri =
            Reginfo::read(text.as_bytes()).expect(uri).registrations[0].contacts[0].uri.clone();
        assert_eq!(read_uri, read);
    }
    let marked = format!("\u{feff}{JOE}");
    assert!(Reginfo::read(marked.as_bytes()).is_ok());
    assert!(Reginfo::read(format!("\u{feff}{marked}").as_bytes()).is_err());
}

#[test]
fn what_is_written_is_read_again() {
    for event in Event::ALL.iter().copied() {
        let contact = Contact {
            id: "c<\"".to_owned(),
            state: ContactState::Active,
            event,
            expires_s: Some(u64::MAX),
            uri: "sip:a&b@[::1];x=\"<>\"".to_owned(),
        };
        let ended = Contact { state: ContactState::Terminated, expires_s: None, ..contact.clone() };
        let registrations = RegistrationState::ALL.iter().map(|state| Registration {
            aor: "sip:\u{fc}'@x".to_owned(),
            id: "r".to_owned(),
            state: *state,
            contacts: vec![contact.clone(), ended.clone()],
        });
        let state = State::Full;
        let whole = Reginfo { version: u32::MAX, state, registrations: registrations.collect() };
        let mut text = Vec::new();
        whole.write(&mut text);
        assert_eq!(Reginfo::read(&text), Ok(whole));
    }
}

#[test]
fn what_is_no_document_is_refused_and_says_why() {
    let swap = |from: &str, to: &str| {
        assert!(JOE.contains(from), "{from}");
        JOE.replacen(from, to, 1)
    };
    let bomb = format!(
        "<!DOCTYPE r [<!ENTITY a \"{}\">]>{}",
        "x".repeat(99),
        &JOE[JOE.find("<reginfo").expect("it is there")..]
    );
    let nodes = format!("<a>{}</a>", "<b/>".repeat(NODES_MAX as usize));
    let deep = format!("{}{}", "<b>".repeat(9_000), "</b>".repeat(9_000));
    let table = [
        (String::new(), "well-formed"),
        (swap("</reginfo>", ""), "well-formed"),
        (bomb, "document type"),
        (nodes, "nodes"),
        (deep, "too deep"),
        ("x".repeat(OCTETS_MAX + 1), "too long"),
        (swap("ns:reginfo\"", "ns:other\""), "root"),
        (swap("version=\"1\" state", "version=\"-1\" state"), "version"),
        (swap("version=\"1\" state", "version=\"4294967296\" state"), "version"),
        (swap("state=\"partial\"", ""), "state"),
        (swap("aor=\"sip:joe@example.com\"", "aor=\" \""), "attribute"),
        (swap("event=\"registered\"", "event=\"moved\""), "event"),
        (swap("<uri>sip:joe@pc34.example.com</uri>", "<uri/>"), "URI"),
        (swap("Joe &amp; co", "&who;"), "well-formed"),
    ];
    for (text, why) in table {
        let violation = Reginfo::read(text.as_bytes()).expect_err(why);
        assert!(violation.what.contains(why), "{violation:?} for {why}");
    }
    assert_eq!(
        Reginfo::read(b"<a>\xff</a>").map_err(|it| (it.at, it.what)),
        Err((3, "it is no UTF-8"))
    );
}

/// A document with that between its root and the end of that.
fn holding(text: &str) -> Result<Reginfo, wire::Malformed> {
    Reginfo::read(JOE.replacen("<!-- what changed -->", text, 1).as_bytes())
}

#[test]
fn attributes_of_an_element_are_bounded_whatever_their_quotes_hold() {
    let element = |count: usize| {
        let attributes = (0..count).map(|it| format!(" a{it}='>\"<' b{it} =\n\"/>'\""));
        format!("<o:x{}>y</o:x><o:y/>", attributes.collect::<String>())
    };
    // Quotes of the one kind in the other begin nothing, nor does a tag end within them; `<` there
    // is no XML.
    let half = element(ATTRIBUTES_MAX / 2);
    assert!(
        holding(&half.replace('<', "&lt;").replace("&lt;o", "<o").replace("&lt;/", "</")).is_ok()
    );
    let many = holding(&element(ATTRIBUTES_MAX / 2 + 1)).expect_err("one too many");
    assert_eq!(many.what, "an element has too many attributes");
    let all = (0..7_000).fold(String::from("<o:x"), |all, it| format!("{all} a{it}=''"));
    assert!(holding(&format!("{all}/>")).is_err_and(|it| it.what == many.what));
}

#[test]
fn namespaces_in_scope_and_elements_in_each_other_are_bounded_and_those_beside_are_not() {
    // The root declares three of them.
    let nested = |depth: usize| {
        let names = (0..depth).map(|it| format!("<a{it} xmlns:n{it} = 'urn:{it}'>"));
        let ends = (0..depth).rev().map(|it| format!("</a{it}>"));
        names.chain(ends).collect::<String>()
    };
    assert!(holding(&nested(NAMESPACES_MAX - 3)).is_ok());
    let many = holding(&nested(NAMESPACES_MAX - 2)).expect_err("one too many");
    assert_eq!(many.what, "it has too many namespaces in scope");
    assert!(holding(&nested(NAMESPACES_MAX - 3).repeat(9)).is_ok());
    let deep = |depth: usize| format!("{}{}", "<o:b>".repeat(depth), "</o:b>".repeat(depth));
    assert!(holding(&deep(DEPTH_MAX - 1)).is_ok());
    assert!(holding(&deep(DEPTH_MAX)).is_err_and(|it| it.what == "its elements are too deep"));
    // What only looks like elements is none.
    let text = deep(DEPTH_MAX);
    for quiet in [format!("<!--{text}-->"), format!("<![CDATA[{text}]]>"), format!("<?x {text}?>")]
    {
        assert!(holding(&quiet).is_ok(), "{quiet}");
    }
}
