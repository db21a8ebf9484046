//! With freeDiameter, which relays between an application server and the home subscriber server: it
//! accepts the one and connects to the other.

use crate::live::{Live, PATIENCE, avp, head, mar, text, udr};
use peers::{Process, ProcessSpec};
use rcgen::{CertificateParams, KeyPair};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// freeDiameter, which listens at all addresses where only loopback is left: at a port of its own
/// for each test. The server is at `127.80.NET.1`.
fn relay(directory: &Path, net: u8) -> Process {
    // It wants keys, though nothing here speaks TLS.
    let key = KeyPair::generate().unwrap();
    let names = vec![String::from("fd.net")];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(directory.join("fd.crt"), certificate.pem()).unwrap();
    fs::write(directory.join("fd.key"), key.serialize_pem()).unwrap();
    fs::write(directory.join("acl.conf"), "ALLOW_IPSEC as.example\n").unwrap();
    let port = port(net);
    let configuration = format!(
        "Identity = \"fd.net\";\nRealm = \"net\";\nPort = {port};\nSecPort = 0;\nNo_SCTP;\n\
         No_IPv6;\nTcTimer = 6;\nTwTimer = 6;\n\
         TLS_Cred = \"fd.crt\", \"fd.key\";\nTLS_CA = \"fd.crt\";\n\
         LoadExtension = \"/usr/lib/freeDiameter/acl_wl.fdx\" : \"acl.conf\";\n\
         ConnectPeer = \"hss.home\" {{ ConnectTo = \"127.80.{net}.1\"; Port = 3868; No_TLS; }};\n"
    );
    fs::write(directory.join("fd.conf"), configuration).unwrap();
    let spec = ProcessSpec::new("fd", "/usr/bin/freeDiameterd", directory).with(["-c", "fd.conf"]);
    Process::start(&spec).expect("freeDiameter is installed (make setup)")
}

fn port(net: u8) -> u16 {
    38_680 + u16::from(net)
}

fn server(net: u8) -> Live {
    Live::start(&format!(
        r#"
        applications = [16777216, 16777217]
        [diameter]
        host = "hss.home"
        realm = "home"
        tcp = {{ listen = ["127.80.{net}.1:3868"] }}
        [[peer]]
        name = "fd"
        host = "fd.net"
        [[route]]
        to = [{{ peer = "fd" }}]
        "#
    ))
}

fn client(net: u8) -> Live {
    Live::start(&format!(
        r#"
        applications = [16777216, 16777217]
        [diameter]
        host = "as.example"
        realm = "example"
        timers = {{ reconnect_ms = 300, reconnect_max_ms = 1000, watchdog_ms = 6000 }}
        [[peer]]
        name = "fd"
        host = "fd.net"
        addresses = ["127.80.{net}.2"]
        port = {port}
        connect = true
        [[route]]
        realm = "home"
        to = [{{ peer = "fd" }}]
        "#,
        port = port(net),
    ))
}

#[test]
fn requests_pass_free_diameter_both_ways_and_its_watchdog_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let (server, mut relay) = (server(3), relay(directory.path(), 3));
    let client = client(3);
    server.until_open(1);
    client.until_open(1);
    let answer = client.answer(&udr("as.example", "example", &["MSISDN", "UEReachabilityForIP"]));
    assert_eq!(avp(&answer["avps"], "Origin-Host"), "hss.home", "{answer:#}\n{}", relay.log_end());
    assert!(text(avp(&answer["avps"], "Sh-User-Data")).contains("<MSISDN>491710000</MSISDN>"));
    let answer = client.answer(&mar("as.example", "example"));
    assert_eq!(avp(&answer["avps"], "Result-Code"), 2001, "{answer:#}");
    // The server asks too: it tells that the user can be reached.
    let snr = head("SNR", "Sh", 16_777_217, "as.example", "example")
        + ",{\"User-Identity\":[{\"Public-Identity\":\"sip:a@home\"}]},\
           {\"Subs-Req-Type\":\"Subscribe\"},{\"Data-Reference\":\"UEReachabilityForIP\"}]}";
    let answer = client.answer(&snr);
    assert_eq!(avp(&answer["avps"], "Result-Code"), 2001, "{answer:#}");
    server.ask("reachable", &[("impu", "sip:a@home")]);
    client.until("counts", |counts| counts["asked"] == 1);
    // Each side has its watchdog after six seconds.
    let end = Instant::now() + PATIENCE;
    let received = |live: &Live| live.ask("peers", &[])[0]["received"].as_u64().unwrap();
    let before = (received(&client), received(&server));
    while received(&client) < before.0 + 2 || received(&server) < before.1 + 2 {
        assert!(Instant::now() < end, "no watchdog: {}", relay.log_end());
        std::thread::sleep(Duration::from_millis(100));
    }
    for live in [&client, &server] {
        let counts = live.ask("counts", &[]);
        assert_eq!(counts["complaints"], serde_json::json!([]));
        live.until_open(1);
    }
    // It says goodbye in order.
    relay.stop();
    client.until("peers", |rows| rows[0]["state"] != "open");
    let why = client.ask("peers", &[])[0]["why"].clone();
    assert_ne!(why, "", "{why}");
    client.stop();
    server.stop();
}

#[test]
fn an_answer_of_free_diameter_for_a_realm_that_it_does_not_know_is_understood() {
    let directory = tempfile::tempdir().unwrap();
    let (server, mut relay) = (server(4), relay(directory.path(), 4));
    let client = client(4);
    server.until_open(1);
    client.until_open(1);
    let elsewhere = udr("as.example", "example", &["MSISDN"]).replace(
        "{\"Destination-Realm\":\"home\"}",
        "{\"Destination-Realm\":\"home\"},{\"Destination-Host\":\"nobody.home\"}",
    );
    let answer = client.answer(&elsewhere);
    let code = avp(&answer["avps"], "Result-Code").as_u64().unwrap();
    assert!((3000..4000).contains(&code), "{answer:#}");
    assert!(answer["flags"].as_str().unwrap().contains('E'), "{answer:#}");
    relay.stop();
    client.stop();
    server.stop();
}
