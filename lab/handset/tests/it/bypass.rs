//! ESP past the kernel's IP (`AF_XDP`): a session controller in a network namespace, phones on the
//! kernel's raw sockets in another, a veth between them. That needs root: without it the tests
//! fail and say so.
//!
//! ```text
//! near │ SSC ─ 10.9.0.1, fd09::1 ─ near0 ══ esp ══ far0 ─ 10.9.0.11, fd09::11 … ─ Handset │ far
//!      └ Core on loopback
//! ```
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::live::{
    Core, Phone, again_and_off, asked, core_asks, count, phone_asks, section, start,
};
use crate::live::{config, until};
use attack::{Namespace, Veth, enter};
use driver::{DatagramSocket, ReceiveBatch, SocketOptions};
use handset::{Config, Event, Handset, State, Subscriber};
use runtime::Running;
use secagree::{Mode, Preference};
use ssc::Controller;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const NEAR_MAC: &str = "02:00:00:00:09:01";
const FAR_MAC: &str = "02:00:00:00:09:02";
const PHONES: u64 = 3;
/// Octets of ESP that a packet of the veth holds: what is longer comes in parts.
const PACKET: usize = 1_500 - 20;
const BYPASS: &str = "bypass = true";

/// Two namespaces that a veth joins; the thread is in the near one.
struct Joined {
    near: Namespace,
    far: Namespace,
}

impl Joined {
    fn new(place: &str) -> Self {
        let [near, far] = ["near", "far"].map(|side| {
            Namespace::new(&format!("{place}-{side}")).expect("namespaces need root and ip(8)")
        });
        let end = |namespace, interface, mac| Veth { namespace, interface, addresses: &[], mac };
        let ends = (end(&near, "near0", NEAR_MAC), end(&far, "far0", FAR_MAC));
        Veth::pair(ends.0, ends.1).unwrap();
        enter(near.name()).unwrap();
        let joined = Self { near, far };
        for family in ["10.9.0.", "fd09::"] {
            joined.add(&joined.near, &address(family, 1), "near0");
            for number in 1..=PHONES {
                let phone = address(family, 10 + number);
                joined.add(&joined.far, &phone, "far0");
                // Nobody forgets who is where: the kernel needs to be asked of nobody.
                joined.knows(&joined.near, &phone, FAR_MAC, "near0");
            }
            joined.knows(&joined.far, &address(family, 1), NEAR_MAC, "far0");
        }
        joined
    }

    fn add(&self, namespace: &Namespace, address: &str, interface: &str) {
        let is_v6 = address.contains(':');
        let address = format!("{address}/{}", if is_v6 { 64 } else { 24 });
        let mut words = vec!["address", "add", &address, "dev", interface];
        words.extend(is_v6.then_some("nodad"));
        namespace.ip(&words).unwrap();
    }

    fn knows(&self, namespace: &Namespace, address: &str, mac: &str, interface: &str) {
        let words = ["neighbour", "replace", address, "lladdr", mac, "dev", interface];
        namespace.ip(&[&words[..], &["nud", "permanent"]].concat()).unwrap();
    }

    /// Whether the kernel of the controller may send ESP at all.
    fn kernel_sends(&self, may: bool) {
        let verb = if may { "delete" } else { "add" };
        for family in ["-4", "-6"] {
            self.near.ip(&[family, "rule", verb, "ipproto", "50", "prohibit"]).unwrap();
        }
    }

    /// A phone whose sockets are in the far namespace.
    fn phone(&self, family: &str, number: u64) -> Phone {
        let own: IpAddr = address(family, 10 + number).parse().unwrap();
        let pcscf: IpAddr = address(family, 1).parse().unwrap();
        let made = Config {
            subscriber: Subscriber::number(number),
            address: own,
            pcscf: SocketAddr::new(pcscf, 5_060),
            preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
            seed: number,
            ..config()
        };
        enter(self.far.name()).unwrap();
        let phone = Phone::with(made);
        enter(self.near.name()).unwrap();
        phone
    }
}

fn address(family: &str, last: u64) -> String {
    format!("{family}{last}")
}

/// A raw socket beside the controller's: it gets what the kernel's IP has received of ESP.
struct Witness {
    socket: DatagramSocket,
    batch: ReceiveBatch,
}

impl Witness {
    fn new(family: &str) -> Self {
        let address: IpAddr = address(family, 1).parse().unwrap();
        let socket = DatagramSocket::raw(address, ipsec::PROTOCOL, &SocketOptions::default());
        Self { socket: socket.unwrap(), batch: ReceiveBatch::new() }
    }

    /// The lengths of packets that the kernel has had since this was asked last.
    fn seen(&mut self) -> Vec<usize> {
        let mut seen = Vec::new();
        while self.batch.receive(&self.socket).unwrap() > 0 {
            seen.extend(self.batch.datagrams().map(|it| it.bytes.len()));
        }
        seen
    }
}

fn ssc(family: &str, net: u8, shards: u16, keys: &str) -> ssc::config::Ssc {
    let access = SocketAddr::new(address(family, 1).parse().unwrap(), 5_060);
    section(&format!("[\"udp:{access}\"]"), net, shards, "", keys)
}

fn all_register(phones: &mut [Phone]) {
    for phone in phones.iter_mut() {
        phone.act(Handset::register);
    }
    let registered =
        |phones: &[Phone]| phones.iter().all(|it| it.handset.state() == State::Registered);
    until(phones, "all register", registered);
}

/// Both sides ask something.
fn all_ask(net: u8, core: &Core, phones: &mut [Phone], round: u8) {
    for phone in phones.iter_mut() {
        phone.events.clear();
    }
    phone_asks(phones, "UDP");
    core.asked.lock().unwrap().clear();
    core_asks(net, core, phones, round);
}

/// A phone says more than a packet holds, and hears as much.
fn long_words(net: u8, core: &Core, phones: &mut [Phone], running: &Running<Controller>) {
    let body = "b".repeat(3_000);
    let (via, own) =
        (phones[0].handset.contact(), phones[0].handset.config().subscriber.impu.clone());
    let message = format!(
        "MESSAGE sip:b@ims.example.org SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bKlong\r\n\
         Max-Forwards: 70\r\nFrom: <{own}>;tag=1\r\nTo: <sip:b@ims.example.org>\r\n\
         Call-ID: long\r\nCSeq: 1 MESSAGE\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         \r\n{body}",
        body.len()
    );
    phones[0].act(|handset, _, out| handset.send(message.as_bytes(), out));
    let came = |_: &[Phone]| core.asked.lock().unwrap().iter().any(|it| it.ends_with(&body));
    until(phones, "what came in parts reaches the core", came);
    phones[0].events.clear();
    let impi = phones[0].handset.config().subscriber.impi.clone();
    let contact = core.home.lock().unwrap().contact(&impi).expect("registered").to_vec();
    let contact = String::from_utf8(contact).unwrap();
    let uri = contact.split(['<', '>']).nth(1).expect("an address").to_owned();
    let from = core.socket.local_addr().unwrap();
    let request = format!(
        "MESSAGE {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bKback\r\n\
         Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\nCall-ID: back\r\n\
         CSeq: 1 MESSAGE\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let to = SocketAddr::from(([127, net, 0, 2], 5_060));
    core.socket.send_to(request.as_bytes(), to).unwrap();
    let heard = |phones: &[Phone]| {
        let is_it = |it: &Event| matches!(it, Event::Came(text) if text.ends_with(body.as_bytes()));
        phones[0].events.iter().any(is_it)
    };
    until(phones, "what leaves in parts reaches the phone", heard);
    assert_eq!(count(running, "ipsec_dropped_icv_total"), 0);
}

#[test]
fn phones_register_and_talk_past_a_kernel_that_may_send_no_esp_and_fragments_go_by_it() {
    let joined = Joined::new("bypass");
    for (net, family, shards) in [(1, "10.9.0.", 1), (2, "10.9.0.", 2), (3, "fd09::", 1)] {
        let core = Core::start(net, (1..=PHONES).map(Subscriber::number).collect());
        let running = start(ssc(family, net, shards, BYPASS));
        let mut witness = Witness::new(family);
        joined.kernel_sends(false);
        let mut phones: Vec<Phone> =
            (1..=PHONES).map(|number| joined.phone(family, number)).collect();
        all_register(&mut phones);
        assert_eq!(asked(&running, "ipsec").len(), phones.len());
        all_ask(net, &core, &mut phones, 1);
        let seen = witness.seen();
        assert!(seen.iter().all(|it| *it > PACKET), "{family}, {shards} shards: {seen:?}");
        assert_eq!(count(&running, "ipsec_unsent_total"), 0);
        joined.kernel_sends(true);
        long_words(net, &core, &mut phones, &running);
        let seen = witness.seen();
        assert!(seen.iter().any(|octets| *octets > 3_000), "{family}: {seen:?}");
        again_and_off(&running, &mut phones);
        running.stop(Duration::from_secs(1));
    }
}

#[test]
fn a_changed_key_moves_esp_to_the_kernel_and_back_and_every_agreement_stands() {
    let joined = Joined::new("bypass-change");
    let (net, family) = (4, "10.9.0.");
    let core = Core::start(net, (1..=PHONES).map(Subscriber::number).collect());
    let running = start(ssc(family, net, 2, ""));
    let mut witness = Witness::new(family);
    let mut phones: Vec<Phone> = (1..=PHONES).map(|number| joined.phone(family, number)).collect();
    all_register(&mut phones);
    assert!(!witness.seen().is_empty(), "by the kernel at first");
    let accepted = core.home.lock().unwrap().counts().accepted;
    for round in 1..5 {
        let bypasses = round % 2 == 1;
        let next = ssc(family, net, 2, if bypasses { BYPASS } else { "" });
        let ports = next.ports();
        running.configure(Arc::new(next), ports).expect("it changes");
        witness.seen();
        if bypasses {
            joined.kernel_sends(false);
        }
        all_ask(net, &core, &mut phones, round);
        assert_eq!(witness.seen().is_empty(), bypasses, "round {round}");
        if bypasses {
            joined.kernel_sends(true);
        }
    }
    assert_eq!(core.home.lock().unwrap().counts().accepted, accepted, "nobody has registered");
    again_and_off(&running, &mut phones);
    running.stop(Duration::from_secs(1));
}

#[test]
fn an_address_that_no_interface_of_ethernet_has_is_refused_in_words() {
    let _joined = Joined::new("bypass-refused");
    for (listen, words) in [("10.9.0.77", "no interface"), ("127.0.0.1", "Ethernet")] {
        let listen = format!("[\"udp:{listen}:5060\"]");
        let mut config = section(&listen, 5, 1, "", "");
        for realm in &mut config.realm {
            if let Some(ipsec) = &mut realm.ipsec {
                ipsec.bypass = true;
            }
        }
        // Each alone: the other ports of an address that is not there are refused as well.
        let raw = config.ports().into_iter().find(|it| it.name.ends_with(" esp"));
        let spec = runtime::ShardSpec {
            ports: raw.into_iter().collect(),
            ..runtime::ShardSpec::default()
        };
        let refused = ssc::start(spec, Arc::new(config), Arc::new(Controller::new));
        let told = refused.err().expect("it does not start").to_string();
        assert!(told.contains(words) && told.contains("access ipsec esp"), "{told}");
    }
}
