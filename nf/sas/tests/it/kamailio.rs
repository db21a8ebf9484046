//! A capture agent that nobody here wrote: Kamailio's siptrace sends HEP3 to a SAS on a real
//! shard, and the call is found. Without Kamailio on the machine there is nothing to test.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use runtime::{PortId, PortSpec, ShardSpec, Transport};
use sas::trail::{Kind, Outcome};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // TERM lets the main process end its workers.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn script(listen: &str, collector: std::net::SocketAddr, run: &std::path::Path) -> String {
    format!(
        "debug=0\nlog_stderror=yes\nfork=yes\nchildren=1\nauto_aliases=no\nlisten=udp:{listen}\n\
         loadmodule \"pv.so\"\nloadmodule \"sl.so\"\nloadmodule \"tm.so\"\n\
         loadmodule \"siptrace.so\"\n\
         modparam(\"siptrace\", \"duplicate_uri\", \"sip:{collector}\")\n\
         modparam(\"siptrace\", \"hep_mode_on\", 1)\nmodparam(\"siptrace\", \"hep_version\", 3)\n\
         modparam(\"siptrace\", \"hep_capture_id\", 42)\n\
         modparam(\"siptrace\", \"trace_to_database\", 0)\n\
         modparam(\"siptrace\", \"trace_on\", 1)\nmodparam(\"siptrace\", \"trace_mode\", 1)\n\
         request_route {{\n  if (is_method(\"INVITE\")) \
         {{ sl_send_reply(\"486\", \"Busy Here\"); }}\n}}\n\
         # runs in {}\n",
        run.display()
    )
    .replace("is_method(\"INVITE\")", "$rm == \"INVITE\"")
}

#[test]
fn a_call_that_kamailio_captured_is_found() {
    if Command::new("kamailio").arg("-v").output().is_err() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let config = Arc::new(sas::config::Sas::default());
    let archive = sas::Archive::open(&config, directory.path()).unwrap();
    let port = PortSpec { name: "hep".to_owned(), ..PortSpec::default() };
    assert_eq!((port.transport(), port.id), (Transport::Udp, PortId(0)));
    let spec = ShardSpec { name: "sas".into(), ports: vec![port], ..ShardSpec::default() };
    let making = Arc::clone(&archive);
    let make = move |seed: runtime::Seed, config| making.function(&seed, config);
    let running = Arc::new(runtime::start::<sas::Sas>(spec, config, make).unwrap());
    let asked = Arc::clone(&running);
    let ask: sas::AskFn = Arc::new(move |ask| asked.ask(ask));

    let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
    phone.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let here = phone.local_addr().unwrap();
    let listen = "127.0.0.1:25062";
    let file = directory.path().join("kamailio.cfg");
    let text = script(listen, running.local_addr(PortId(0)), directory.path());
    std::fs::write(&file, text).unwrap();
    let kamailio = Command::new("kamailio")
        .args(["-DD", "-E", "-m", "16", "-M", "4"])
        .arg("-f")
        .arg(&file)
        .arg("-Y")
        .arg(directory.path())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let kamailio = Killed(kamailio);
    let invite = format!(
        "INVITE sip:+4930555@{listen} SIP/2.0\r\nVia: SIP/2.0/UDP {here};branch=z9hG4bKk1\r\n\
         From: <sip:+4940777@example.org>;tag=1\r\nTo: <sip:+4930555@example.org>\r\n\
         Call-ID: seen-by-kamailio\r\nCSeq: 1 INVITE\r\nMax-Forwards: 70\r\n\
         Content-Length: 0\r\n\r\n"
    );
    let until = Instant::now() + Duration::from_secs(60);
    let mut answer = [0; 2_000];
    loop {
        assert!(Instant::now() < until, "kamailio answers");
        phone.send_to(invite.as_bytes(), listen).unwrap();
        if phone.recv(&mut answer).is_ok() {
            break;
        }
    }
    assert!(answer.starts_with(b"SIP/2.0 486"));
    let params = || [("number".to_owned(), "030555".to_owned())].into();
    let trail = loop {
        assert!(Instant::now() < until, "the trail is found");
        let page = sas::archive::search(&archive, &ask, params()).unwrap();
        match page.trails.into_iter().next() {
            Some(trail) if trail.status == 486 => break trail,
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    assert_eq!((trail.kind, trail.outcome), (Kind::Call, Outcome::Busy));
    assert_eq!(&*trail.call_ids[0], "seen-by-kamailio");
    let id = sas::trail::Trail::id_text(trail.id);
    let (page, _) = sas::archive::read(&archive, &ask, &id).unwrap();
    let addresses: Vec<_> = page.hosts.iter().map(|host| host.address.clone()).collect();
    assert_eq!(addresses, [here.to_string(), listen.to_owned()]);
    assert_eq!(page.messages[0].text, invite);
    drop(kamailio);
}
