//! Phones and a session controller at a core that others wrote: Kamailio's S-CSCF (`ims_auth`,
//! `ims_registrar_scscf`), whose Cx an HSS on python-diameter answers (Debian:
//! kamailio-ims-modules, kamailio-presence-modules; `make setup-python`).
//!
//! ```text
//! Handset ══ esp, raw ══→ 127.206.0.1 │ SSC │ 127.206.0.2 ─udp─→ kamailio :5080 ─ Cx ─→ hss.py
//! ```
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::live::{Phone, asked, controller, controller_with, until};
use handset::{Event, Handset, State, Subscriber};
use peers::{Scscf, ScscfSpec};
use secagree::Mode;
use std::net::SocketAddr;
use std::time::Duration;

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn card(subscriber: &Subscriber) -> String {
    let Subscriber { impi, impu, k, opc, .. } = subscriber;
    format!("{impi},{impu},{},{}", hex(k), hex(opc))
}

/// A request of the first phone to the second one.
fn request(from: &Phone, to: &str, method: &str, cseq: u32, far_tag: &str) -> Vec<u8> {
    let (via, own) = (from.handset.contact(), &from.handset.config().subscriber.impu);
    let to_uri = &from_uri(to);
    format!(
        "{method} {to} SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bK{method}{cseq}\r\n\
         Max-Forwards: 70\r\nFrom: <{own}>;tag=a\r\nTo: <{to_uri}>{far_tag}\r\n\
         Call-ID: a-call\r\nCSeq: {cseq} {method}\r\nContact: <sip:a@{via}>\r\n\
         Content-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

fn from_uri(to: &str) -> String {
    to.split(';').next().unwrap_or(to).to_owned()
}

/// The answer with that status among what came to a phone.
fn answer<'a>(phone: &'a Phone, start: &str) -> Option<&'a str> {
    phone.events.iter().find_map(|event| match event {
        Event::Came(text) => core::str::from_utf8(text).ok().filter(|it| it.starts_with(start)),
        _ => None,
    })
}

fn value<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim()
}

#[test]
fn phones_register_call_each_other_register_again_and_are_gone_at_a_core_of_kamailio() {
    let net = 206;
    let subscribers: Vec<Subscriber> = (1..=2).map(Subscriber::number).collect();
    let directory = tempfile::tempdir().unwrap();
    let spec = ScscfSpec {
        listen: SocketAddr::from(([127, net, 0, 2], 5_080)),
        hss: SocketAddr::from(([127, net, 0, 3], 3_868)),
        realm: subscribers[0].realm.clone(),
        cards: subscribers.iter().map(card).collect(),
        application: None,
    };
    let scscf = Scscf::start(&spec, directory.path()).unwrap();
    // Each registration is one at the core.
    let running = controller(net, 1, "client_expires_s = 600\ncore_expires_s = 600");
    let mut phones: Vec<Phone> =
        (1..=2).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    let register = |phones: &mut [Phone], what: &str| {
        for phone in phones.iter_mut() {
            phone.events.clear();
            phone.act(Handset::register);
        }
        until(phones, what, |phones| {
            phones.iter().all(|phone| phone.events.contains(&Event::Registered))
        });
    };
    register(&mut phones, "both register");
    let rows = asked(&running, "ipsec");
    assert_eq!(rows.iter().filter(|row| row["state"] == "current").count(), 2, "{rows:?}");

    // The one calls the other, who is found by its public identity.
    let to = subscribers[1].impu.clone();
    let invite = request(&phones[0], &to, "INVITE", 1, "");
    phones[0].act(|handset, _, out| handset.send(&invite, out));
    until(&mut phones, "the call comes", |phones| answer(&phones[1], "INVITE ").is_some());
    let came = answer(&phones[1], "INVITE ").unwrap().as_bytes().to_vec();
    phones[1].act(|handset, _, out| handset.answer(&came, 200, b"", out));
    until(&mut phones, "it is answered", |phones| answer(&phones[0], "SIP/2.0 200").is_some());
    let ok = answer(&phones[0], "SIP/2.0 200").unwrap().to_owned();
    let (_, tag) = value(&ok, "To:").split_once(";tag=").expect("it has a tag");
    let far_tag = format!(";tag={tag}");
    let target = value(&ok, "Contact:").split(['<', '>']).nth(1).expect("an address").to_owned();
    let ack = request(&phones[0], &target, "ACK", 1, &far_tag);
    phones[0].act(|handset, _, out| handset.send(&ack, out));
    until(&mut phones, "it stands", |phones| answer(&phones[1], "ACK ").is_some());

    // It goes on through another registration, with other keys of another challenge.
    phones[0].events.clear();
    register(&mut phones, "both register again");
    let bye = request(&phones[0], &target, "BYE", 2, &far_tag);
    phones[0].act(|handset, _, out| handset.send(&bye, out));
    until(&mut phones, "it ends", |phones| answer(&phones[1], "BYE ").is_some());
    let came = answer(&phones[1], "BYE ").unwrap().as_bytes().to_vec();
    phones[1].act(|handset, _, out| handset.answer(&came, 200, b"", out));
    until(&mut phones, "its end is heard", |phones| answer(&phones[0], "SIP/2.0 200").is_some());

    for phone in &mut phones {
        phone.act(Handset::deregister);
    }
    until(&mut phones, "both are gone", |phones| {
        phones.iter().all(|phone| phone.handset.state() == State::Off)
    });
    assert_eq!(asked(&running, "registrations"), [] as [serde_json::Value; 0]);
    let log = scscf.asked();
    let count = |start: &str| log.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("MAR "), count("SAR ")), (6, 6), "{}", scscf.log_end());
    running.stop(Duration::from_secs(1));
}

#[test]
fn what_kamailio_ends_ends_at_the_controller_that_has_subscribed_there() {
    let net = 208;
    let subscribers: Vec<Subscriber> = (1..=2).map(Subscriber::number).collect();
    let directory = tempfile::tempdir().unwrap();
    let spec = ScscfSpec {
        listen: SocketAddr::from(([127, net, 0, 2], 5_080)),
        hss: SocketAddr::from(([127, net, 0, 3], 3_868)),
        realm: subscribers[0].realm.clone(),
        cards: subscribers.iter().map(card).collect(),
        application: None,
    };
    let scscf = Scscf::start(&spec, directory.path()).unwrap();
    let expires = "client_expires_s = 600\ncore_expires_s = 600";
    let running = controller_with(net, 1, expires, "reg_event = true");
    let mut phones: Vec<Phone> =
        (1..=2).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    phones.iter_mut().for_each(|phone| phone.act(Handset::register));
    until(&mut phones, "both register", |phones| {
        phones.iter().all(|phone| phone.events.contains(&Event::Registered))
    });
    until(&mut phones, "both are watched", |_| {
        let rows = asked(&running, "ims/reg-events");
        rows.iter().filter(|row| row["state"] == "standing" && row["version"].is_u64()).count() == 2
    });
    scscf.deregister(&subscribers[0].impu).unwrap();
    until(&mut phones, "its binding has ended", |_| asked(&running, "registrations").len() == 1);
    let rows = asked(&running, "ipsec");
    let state = |at: usize| rows.iter().find(|row| row["impi"] == subscribers[at].impi);
    let states = [0, 1].map(|at| state(at).map(|row| row["state"].clone()));
    assert_eq!(states, [Some("ending".into()), Some("current".into())], "{}", scscf.log_end());
    running.stop(Duration::from_secs(1));
}
