//! Phones of IMS through a session controller: they attach, register again, call and de-register.
//! Needs `CAP_NET_RAW`; past the kernel (`AF_XDP`), in two namespaces that a veth joins, root.

use attack::{Namespace, Veth, enter};
use driver::{DatagramSocket, ReceiveBatch, SocketOptions};
use handset::{FleetConfig, Station};
use machine::Duration;
use runtime::{Ask, Carrier, PortId, PortSpec, Running, ShardSpec};
use secagree::{Mode, Preference};
use sip_load::{Act, Ladder, Phones, PhonesConfig, Report, Trial};
use ssc::Controller;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

const PHONES: u32 = 200;
/// Octets of ESP that a packet of the veth holds: what is longer goes in parts, by the kernel.
const PACKET: usize = 1_500 - 20;
/// Long, for a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);

fn at(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 203, 0, last], port))
}

/// Where everything is.
struct Places {
    access: SocketAddr,
    inside: SocketAddr,
    core: SocketAddr,
    /// Of phones, in the clear.
    stations: Vec<SocketAddr>,
    /// Whether ESP goes past the kernel, at both ends.
    bypass: bool,
}

impl Places {
    fn loopback() -> Self {
        Self {
            access: at(1, 5_060),
            inside: at(2, 5_060),
            core: at(2, 5_080),
            stations: vec![at(10, 5_060), at(11, 5_060)],
            bypass: false,
        }
    }
}

fn controller(places: &Places) -> Running<Controller> {
    let text = format!(
        r#"
        name = "sbc"
        [registrar]
        enabled = true
        [[realm]]
        name = "access"
        side = "access"
        listen = ["udp:{access}"]
        register_required = true
        [realm.ipsec]
        sets_max = 2000
        under_way_of_source_max = 1000
        bypass = {bypass}
        [[realm]]
        name = "core"
        side = "core"
        trusted = true
        listen = ["udp:{inside}"]
        [[next_hop]]
        name = "scscf"
        realm = "core"
        targets = ["udp:{core}"]
        probe_interval_s = 0
        [[route]]
        from = "access"
        to = ["scscf"]
        "#,
        access = places.access,
        inside = places.inside,
        core = places.core,
        bypass = places.bypass,
    );
    let config: ssc::config::Ssc = toml::from_str(&text).expect("it is a section");
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert_eq!(issues, []);
    let ports = config.ports();
    let spec = ShardSpec { name: "sbc".to_owned(), ports, ..ShardSpec::default() };
    ssc::start(spec, Arc::new(config), Arc::new(Controller::new)).expect("it starts")
}

fn phones(places: &Places, ladder: Ladder) -> Running<Phones> {
    let stations: Vec<Station> = (0u16..)
        .zip(&places.stations)
        .map(|(number, clear)| Station {
            clear: *clear,
            clear_port: PortId(1 + 2 * number),
            raw: PortId(2 + 2 * number),
        })
        .collect();
    let port = |id, listen, carrier| PortSpec { id, listen, carrier, ..PortSpec::default() };
    let raw = Carrier::Raw { protocol: 50, bypass: places.bypass };
    let mut ports = vec![port(PortId(0), places.core, Carrier::default())];
    for it in &stations {
        let address = SocketAddr::new(it.clear.ip(), 0);
        ports.push(port(it.clear_port, it.clear, Carrier::default()));
        ports.push(port(it.raw, address, raw.clone()));
    }
    let config = PhonesConfig {
        fleet: FleetConfig {
            stations,
            phones: PHONES,
            first: 1,
            pcscf: places.access,
            preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
            expires_s: 600,
            seed: 1,
        },
        server_port: 5_062,
        cards: 1..u64::from(PHONES) + 1,
        core: (PortId(0), places.core),
        ladder: Arc::new(ladder),
        capture: None,
    };
    let spec = ShardSpec { name: "phones".to_owned(), ports, ..ShardSpec::default() };
    Phones::launch(spec, Arc::new(config)).expect("raw sockets need CAP_NET_RAW")
}

/// What came of what was started, once nothing runs.
fn over(phones: &Running<Phones>, path: &str) -> Report {
    let end = Instant::now() + PATIENCE;
    loop {
        let ask = Ask { path: path.to_owned(), ..Ask::default() };
        let report: Report = serde_json::from_value(phones.ask(ask).unwrap()).unwrap();
        if !report.running || Instant::now() > end {
            assert_eq!(report.failed(), 0, "{:?}", report.examples);
            return report;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn rows(controller: &Running<Controller>, path: &str) -> Vec<serde_json::Value> {
    let ask = Ask { path: path.to_owned(), ..Ask::default() };
    controller.ask(ask).unwrap().as_array().cloned().unwrap_or_default()
}

#[test]
fn phones_of_two_addresses_attach_call_register_again_and_are_gone() {
    let places = Places::loopback();
    let ladder = Ladder::built_in("VoLTE").unwrap();
    live(controller(&places), phones(&places, ladder));
}

/// What the kernel has received of ESP at that address, by a raw socket beside others.
fn witness(address: &str) -> DatagramSocket {
    let options = SocketOptions { receive_buffer_bytes: 4 << 20, ..SocketOptions::default() };
    DatagramSocket::raw(address.parse().unwrap(), 50, &options).unwrap()
}

#[test]
fn phones_and_controller_do_the_same_past_the_kernel_of_each() {
    let [near, far] = ["fleet-near", "fleet-far"]
        .map(|place| Namespace::new(place).expect("namespaces need root and ip(8)"));
    let ends = [(&near, "near0", "02:00:00:00:0a:01"), (&far, "far0", "02:00:00:00:0a:02")];
    let addresses: [&[&str]; 2] =
        [&["10.9.1.1/24", "10.9.1.2/24"], &["10.9.1.11/24", "10.9.1.12/24"]];
    let [one, two] = [0, 1].map(|at: usize| {
        let (namespace, interface, mac) = ends[at];
        Veth { namespace, interface, addresses: addresses[at], mac }
    });
    Veth::pair(one, two).unwrap();
    for (namespace, far, mac, interface) in
        [(&near, "10.9.1.11", ends[1].2, "near0"), (&far, "10.9.1.1", ends[0].2, "far0")]
    {
        // Nobody has to be asked for: all that fits a packet passes by the kernel.
        let words = ["neighbour", "replace", far, "lladdr", mac, "dev", interface];
        namespace.ip(&[&words[..], &["nud", "permanent"]].concat()).unwrap();
    }
    let place = |text: &str| text.parse().unwrap();
    let places = Places {
        access: place("10.9.1.1:5060"),
        inside: place("10.9.1.2:5060"),
        core: place("10.9.1.12:5080"),
        stations: vec![place("10.9.1.11:5060")],
        bypass: true,
    };
    enter(near.name()).unwrap();
    let (controller, at_controller) = (controller(&places), witness("10.9.1.1"));
    enter(far.name()).unwrap();
    let ladder = Ladder::built_in("VoLTE").unwrap();
    let (phones, at_phones) = (phones(&places, ladder), witness("10.9.1.11"));
    live(controller, phones);
    let mut batch = ReceiveBatch::new();
    for socket in [at_controller, at_phones] {
        while batch.receive(&socket).unwrap() > 0 {
            for it in batch.datagrams() {
                assert!(it.bytes.len() > PACKET, "{} octets by the kernel", it.bytes.len());
            }
        }
    }
}

/// Phones attach, register again, call and de-register.
fn live(controller: Running<Controller>, phones: Running<Phones>) {
    let rate = 400.0;
    let length = Duration::from_secs_f64((f64::from(PHONES) - 0.5) / rate);
    let trial = Trial { rate, length, ..Trial::default() };
    let all = u64::from(PHONES);
    for act in [Act::Attach, Act::Again, Act::Attach] {
        phones.ask(act.ask(&trial)).unwrap();
        let report = over(&phones, "phones");
        assert_eq!((report.started, report.completed), (all, all), "{act:?}");
        assert_eq!(report.setup.count, all);
    }
    let current = |row: &&serde_json::Value| row["state"] == "current";
    let stands = || rows(&controller, "ipsec").iter().filter(current).count();
    assert_eq!((stands(), rows(&controller, "registrations").len()), (200, 200));

    let calls = Trial { hold: Duration::from_millis(20), ..trial };
    phones.ask(calls.ask()).unwrap();
    let report = over(&phones, "trial");
    assert_eq!((report.completed, report.answered, report.missing), (all, all, 0));

    phones.ask(Act::Off.ask(&trial)).unwrap();
    let report = over(&phones, "phones");
    assert_eq!((report.completed, report.duplicates), (all, 0));
    assert_eq!((stands(), rows(&controller, "registrations").len()), (0, 0));
    phones.stop(Duration::from_secs(1));
    controller.stop(Duration::from_secs(1));
}
