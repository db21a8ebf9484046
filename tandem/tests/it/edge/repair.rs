//! A ring of four edges whose links are watched by BFD: one is cut without a carrier being lost,
//! and packets go by the repair from the moment that BFD says so.
//!
//! ```text
//!      a ── pe1 ──10── pe2 ──10── pe3 ── b        pe1 to b by pe2; repaired by pe4
//!            └─15─ pe4 ─10─────────┘
//! ```

use super::Scene;
use super::igp::awaited;
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// Milliseconds without a packet that BFD takes for a loss, three times.
const BFD_MS: u64 = 50;
/// Milliseconds for which routes stay with their repairs.
const DELAY_MS: u64 = 5_000;
/// Between two packets.
const PAUSE_MS: u64 = 10;

fn ring() -> String {
    let edge = |name: &str, own: &str, ports: &[(&str, &str, Option<u16>)]| {
        let mut text = format!("[[pe]]\nname = \"{name}\"\n");
        for (port, address, _) in ports {
            text += &format!("[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\n");
            text += &format!("[[pe.interface]]\nname = \"{port}\"\naddresses = [\"{address}\"]\n");
        }
        text += &format!(
            "[pe.ospf]\nrouter_id = \"{own}\"\nrestart_s = 0\nrepair = \"lfa\"\n\
             microloop_delay_ms = {DELAY_MS}\n[[pe.ospf.area]]\nid = \"0\"\n"
        );
        for (port, _, cost) in ports {
            let more = cost.map_or("passive = true".to_owned(), |cost| {
                format!(
                    "network = \"point-to-point\"\ncost = {cost}\nhello_s = 1\ndead_s = 20\n\
                     bfd = {{ interval_ms = {BFD_MS}, multiplier = 3 }}"
                )
            });
            text += &format!("[[pe.ospf.area.interface]]\nname = \"{port}\"\n{more}\n");
        }
        text
    };
    let ten = Some(10);
    edge(
        "pe1",
        "10.255.0.1",
        &[
            ("a", "10.1.0.1/24", None),
            ("w12", "10.12.0.1/24", ten),
            ("w14", "10.14.0.1/24", Some(15)),
        ],
    ) + &edge("pe2", "10.255.0.2", &[("w21", "10.12.0.2/24", ten), ("w23", "10.23.0.2/24", ten)])
        + &edge(
            "pe3",
            "10.255.0.3",
            &[
                ("w32", "10.23.0.3/24", ten),
                ("w34", "10.34.0.3/24", ten),
                ("b", "10.2.0.1/24", None),
            ],
        )
        + &edge(
            "pe4",
            "10.255.0.4",
            &[("w41", "10.14.0.4/24", Some(15)), ("w43", "10.34.0.4/24", ten)],
        )
}

/// What becomes of packets to b at pe1: the gateway, and the state of its repair.
fn route(scene: &Scene) -> (Option<String>, Option<String>) {
    let rows = scene.rows(&["igp", "routes", "pe1", "--within", "10.2.0.0/24"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let row = rows.first();
    let gateway = row.and_then(|it| text(&it["via"][0]["gateway"]));
    (gateway, row.and_then(|it| text(&it["repair"]["state"])))
}

#[test]
fn a_link_that_is_cut_silently_costs_the_time_that_bfd_takes_to_notice() {
    let mut scene = Scene::new();
    for (one, other) in [("w23", "w32"), ("w34", "w43"), ("w14", "w41")] {
        scene.wire(one, other);
    }
    // The wire that is cut leads over a bridge.
    let ip = |words: &str| scene.router.ip(&words.split(' ').collect::<Vec<_>>()).unwrap();
    ip("link add name m type bridge mcast_snooping 0");
    for (end, middle) in [("w12", "m12"), ("w21", "m21")] {
        scene.wire(end, middle);
        ip(&format!("link set dev {middle} master m"));
    }
    ip("link set dev m up");
    let a = scene.host("a", &["10.1.0.2/24"], &["10.1.0.1"]);
    let _b = scene.host("b", &["10.2.0.2/24"], &["10.2.0.1"]);
    scene.start(&ring());
    let ready = (Some("10.12.0.2".to_owned()), Some("ready".to_owned()));
    awaited("the route and its repair", || route(&scene) == ready);
    let up = |pe: &str| scene.rows(&["igp", "summary", pe])[0]["bfd_up"] == 2;
    awaited("BFD", || ["pe1", "pe2", "pe3", "pe4"].iter().all(|pe| up(pe)));
    a.reaches("10.2.0.2");
    // The backup's neighbour is asked for once it is named; so are all others.
    thread::sleep(Duration::from_secs(2));
    let said = thread::scope(|scope| {
        let pause = format!("0.{:03}", PAUSE_MS);
        let pings = scope.spawn(move || a.ping(&["-c", "800", "-i", &pause], "10.2.0.2").1);
        thread::sleep(Duration::from_secs(2));
        // Packets vanish, and both ends keep their carrier.
        scene.router.ip(&["link", "set", "dev", "m12", "nomaster"]).unwrap();
        // The row of the route is SPF's once that has run; the plane is told later.
        awaited("the repair", || scene.ctl(&["alarms"]).contains("igp-repair-in-use"));
        awaited("the count", || {
            let counters = scene.ctl(&["counters", "--name", "igp_repairs_total"]);
            counters.contains("igp_repairs_total")
        });
        pings.join().unwrap()
    });
    let lost = said.lines().find(|line| line.contains("packet loss")).unwrap_or_default();
    eprintln!("{lost}");
    let words: Vec<u64> = lost.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [sent, received, ..] = words[..] else { panic!("{said}") };
    // Not a time: twenty times the detection is what a busy machine may take.
    assert!(sent - received < 20 * 3 * BFD_MS / PAUSE_MS, "{said}");
    awaited("SPF's own way", || route(&scene).0.as_deref() == Some("10.14.0.4"));
}
