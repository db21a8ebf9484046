//! Phones of IMS through a session controller: they attach, register again, call and de-register.
//! Needs `CAP_NET_RAW`.

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
/// Long, for a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);

fn at(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 203, 0, last], port))
}

fn controller() -> Running<Controller> {
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
        access = at(1, 5_060),
        inside = at(2, 5_060),
        core = at(2, 5_080),
    );
    let config: ssc::config::Ssc = toml::from_str(&text).expect("it is a section");
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert_eq!(issues, []);
    let ports = config.ports();
    let spec = ShardSpec { name: "sbc".to_owned(), ports, ..ShardSpec::default() };
    ssc::start(spec, Arc::new(config), Arc::new(Controller::new)).expect("it starts")
}

fn phones(ladder: Ladder) -> Running<Phones> {
    let stations: Vec<Station> = (0u16..2)
        .map(|number| Station {
            clear: at(10 + number as u8, 5_060),
            clear_port: PortId(1 + 2 * number),
            raw: PortId(2 + 2 * number),
        })
        .collect();
    let port = |id, listen, carrier| PortSpec { id, listen, carrier, ..PortSpec::default() };
    let raw = Carrier::Raw { protocol: 50, bypass: false };
    let mut ports = vec![port(PortId(0), at(2, 5_080), Carrier::default())];
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
            pcscf: at(1, 5_060),
            preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
            expires_s: 600,
            seed: 1,
        },
        server_port: 5_062,
        cards: 1..u64::from(PHONES) + 1,
        core: (PortId(0), at(2, 5_080)),
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
    let (controller, phones) = (controller(), phones(Ladder::built_in("VoLTE").unwrap()));
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
