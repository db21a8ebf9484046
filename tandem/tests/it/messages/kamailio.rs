//! The gateway as an application server of Kamailio's S-CSCF (`ims_isc`, `ims_registrar_scscf`,
//! `cdp`): profiles with filter criteria come by Cx, terminals are pycrate's.
//!
//! ```text
//! ims_terminals.py ─ SIP, UDP ─→ kamailio ─ ISC ─→ the gateway
//!                                   └─ Cx ─→ hss.py
//! ```

use super::{ALICE, BOB, Core, Site, port};
use peers::{Scscf, ScscfSpec};
use serde_json::{Value, json};
use std::net::SocketAddr;

const DOMAIN: &str = "ims.example.org";
const CENTRE: &str = "447700000099";

fn site(own: SocketAddr, scscf: SocketAddr) -> Site {
    let text = format!(
        r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[ipsmgw]]
name = "sms1"
number = "{CENTRE}"
domain = "{DOMAIN}"
listen = ["udp:{own}"]
next_hop = [{{ name = "scscf", targets = ["udp:{scscf}"], probe_interval_s = 1 }}]
[ipsmgw.centre]
numbers = ["4477"]
retries_s = [3600]
"#
    );
    Site::of(tempfile::tempdir().unwrap(), &text, [own.port(), scscf.port()])
}

/// A card without keys: nobody asks for them here.
fn card(number: &str) -> String {
    let none = "0".repeat(32);
    format!("{number}@{DOMAIN},sip:+{number}@{DOMAIN},{none},{none}")
}

#[test]
fn kamailio_registers_the_gateway_by_filter_criteria_and_carries_messages_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let at = |host: u8, port: u16| SocketAddr::from(([127, 209, 0, host], port));
    let [terminals, scscf, own] = [at(1, port()), at(2, 5_080), at(4, port())];
    let site = site(own, scscf);
    let spec = ScscfSpec {
        listen: scscf,
        hss: at(3, 3_868),
        realm: DOMAIN.to_owned(),
        cards: [ALICE, BOB].map(card).to_vec(),
        application: Some(own),
    };
    let core = Scscf::start(&spec, directory.path()).unwrap();
    let up = |rows: &[Value]| rows.first().is_some_and(|it| it["state"] == "up");
    site.until(&["next-hops"], up);
    let words = [&*terminals.to_string(), &*scscf.to_string(), DOMAIN, CENTRE];
    let mut terminals = Core::of("ims_terminals.py", &words);
    for number in [ALICE, BOB] {
        let answer = terminals.does(&format!("register {number} 600"));
        assert_eq!(answer, json!({"status": 200}), "{}", core.log_end());
    }
    // By a third-party REGISTER each, with the number of the profile.
    let rows = site.until(&["sms", "registrations"], |rows| rows.len() == 2);
    let numbers: Vec<&Value> = rows.iter().map(|it| &it["number"]).collect();
    assert_eq!(numbers, [ALICE, BOB], "{rows:?}");
    for (from, to, text) in [(ALICE, BOB, "Hello over there"), (BOB, ALICE, "And back")] {
        let answer = terminals.does(&format!("submit {from} {to} 7 {text}"));
        assert_eq!(answer["report"]["ack"], true, "{answer} {}", core.log_end());
        let message = terminals.does(&format!("take {to}"));
        assert_eq!((&message["from"], &message["text"]), (&json!(from), &json!(text)));
    }
    site.until(&["sms", "pending"], <[Value]>::is_empty);
    // Who has gone is waited for.
    assert_eq!(terminals.does(&format!("register {BOB} 0"))["status"], 200);
    site.until(&["sms", "registrations"], |rows| rows.len() == 1);
    assert_eq!(terminals.does(&format!("submit {ALICE} {BOB} 8 Later"))["report"]["ack"], true);
    site.until(&["sms", "pending"], |rows| rows.len() == 1);
    assert_eq!(terminals.does(&format!("register {BOB} 600"))["status"], 200);
    assert_eq!(terminals.does(&format!("take {BOB}"))["text"], "Later");
    site.until(&["sms", "pending"], <[Value]>::is_empty);
}
