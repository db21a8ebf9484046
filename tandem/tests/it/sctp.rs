//! `tandem sctp` as a command: what it refuses, what crosses, what is measured.

use attack::{Namespace, Veth};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
/// The exit status for a peer that is not there.
const UNREACHABLE: i32 = 4;

/// The command, in a namespace or here, ended by the kernel's clock when it hangs.
fn sctp(namespace: Option<&Namespace>, arguments: &[&str]) -> Command {
    let mut words = vec!["120", TANDEM, "sctp"];
    let mut command = Command::new("timeout");
    if let Some(namespace) = namespace {
        command = Command::new("ip");
        words = [&["netns", "exec", namespace.name(), "timeout"], &words[..]].concat();
    }
    command.args(words).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    sctp(None, arguments).stdin(Stdio::null()).output().unwrap()
}

fn free_udp_port() -> String {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port().to_string()
}

/// Waits until some program here has this UDP port.
fn until_bound(port: u16) {
    let (until, local) = (Instant::now() + LONG, format!(":{port:04X} "));
    while !std::fs::read_to_string("/proc/net/udp").unwrap().contains(&local) {
        assert!(Instant::now() < until, "nobody opens it");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for a line on standard error that contains `word`.
fn wait_for(child: &mut Child, word: &str) -> BufReader<std::process::ChildStderr> {
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let (mut all, mut line) = (String::new(), String::new());
    while said.read_line(&mut line).unwrap() > 0 {
        if line.contains(word) {
            return said;
        }
        all += &std::mem::take(&mut line);
    }
    panic!("nobody said {word}: {all}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_hint() {
    let client = ["client", "--peer", "127.0.0.1"];
    for (arguments, status, word) in [
        (&["client"][..], 2, "--peer"),
        (&[&client[..], &["--peer", "127.0.0.2"]].concat(), 2, "--local"),
        (&[&client[..], &["--preset", "fast"]].concat(), 2, "telecom(2)"),
        (&[&client[..], &["--set", "rto_min"]].concat(), 2, "KEY=VALUE"),
        (&[&client[..], &["--set", "rto_mn=1"]].concat(), 2, "rto_min_ms"),
        (&[&client[..], &["--set", "rto_min_ms=soon"]].concat(), 2, "rto_min_ms"),
        (&[&client[..], &["--set", "sack_delay_ms=900"]].concat(), 2, "500"),
        (&[&client[..], &["--local", "192.0.2.1"]].concat(), 1, "no interface"),
        (&[&client[..], &["--carrier", "xdp"]].concat(), 2, "name the addresses"),
        (&[&client[..], &["--carrier", "xdp", "--local", "::1"]].concat(), 2, "Ethernet"),
        (&["throughput", "--size", "7"], 2, "--peer"),
        (&["throughput", "--peer", "127.0.0.1", "--size", "0"], 2, "octets"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn where_the_kernel_has_no_sctp_the_command_says_what_to_choose_instead() {
    let output = run(&["client", "--peer", "127.0.0.1", "--carrier", "kernel"]);
    let said = String::from_utf8(output.stderr).unwrap();
    if std::path::Path::new("/proc/net/sctp").exists() {
        assert_eq!(output.status.code(), Some(4), "nobody listens there: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("kernel has no SCTP; use ip"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_unreachable_in_words_and_by_status() {
    let port = free_udp_port();
    let output = run(&["client", "--peer", "127.0.0.1", "--peer-udp-port", &port]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("nobody answers"), "{said}");
}

#[test]
fn lines_cross_in_both_directions_and_the_end_of_the_input_ends_the_association() {
    let port = free_udp_port();
    let server = ["server", "--local", "127.0.0.1", "--udp-port", &port, "--json"];
    let mut server = sctp(None, &server).spawn().unwrap();
    until_bound(port.parse().unwrap());
    let client = ["client", "--peer", "127.0.0.1", "--peer-udp-port", &port, "--streams", "3"];
    let mut client = sctp(None, &client).spawn().unwrap();
    let _said = wait_for(&mut server, "\"event\":\"up\"");
    server.stdin.as_mut().unwrap().write_all(b"good day\n").unwrap();
    let mut heard = BufReader::new(client.stdout.take().unwrap());
    let mut line = String::new();
    heard.read_line(&mut line).unwrap();
    assert_eq!(line, "good day\n");
    let text: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut lines: Vec<_> = output.stdout.split_inclusive(|it| *it == b'\n').collect();
    let mut expected: Vec<_> = text.as_bytes().split_inclusive(|it| *it == b'\n').collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert!(lines == expected, "{} of {} lines", lines.len(), expected.len());
    assert_eq!(client.wait().unwrap().code(), Some(0));
}

/// Two namespaces joined by one pair of interfaces that has all addresses.
fn field() -> [Namespace; 2] {
    field_of("one", &[&["10.197.1.1/24", "10.197.2.1/24"]], &[&["10.197.1.2/24", "10.197.2.2/24"]])
}

/// Two namespaces joined by a pair of interfaces for each list of addresses.
fn field_of(place: &str, lefts: &[&[&str]], rights: &[&[&str]]) -> [Namespace; 2] {
    let [left, right] = ["left", "right"]
        .map(|side| Namespace::new(&format!("sctp-{place}-{side}")).expect("namespaces need root"));
    for (number, (addresses, others)) in lefts.iter().zip(rights).enumerate() {
        let interface = format!("near{number}");
        let end =
            |namespace, addresses, mac| Veth { namespace, interface: &interface, addresses, mac };
        let macs = [1, 2].map(|side| format!("02:00:00:00:{number:02x}:{side:02x}"));
        Veth::pair(end(&left, addresses, &macs[0]), end(&right, others, &macs[1])).unwrap();
    }
    [left, right]
}

const LEFT: [&str; 2] = ["10.197.1.1", "10.197.2.1"];
const RIGHT: [&str; 2] = ["10.197.1.2", "10.197.2.2"];

/// Sends 20,000 messages from left to right, each side over its carrier.
fn measure([left, right]: [&Namespace; 2], [ours, theirs]: [&str; 2]) {
    let local = ["--local", RIGHT[0], "--local", RIGHT[1]];
    let receiver = ["throughput", "--once", "--json", "--carrier", theirs];
    let receiver = [&receiver[..], &local].concat();
    let receiver = sctp(Some(right), &receiver).spawn().unwrap();
    let sender = [
        &["throughput", "--carrier", ours, "--size", "700", "--count", "20000"][..],
        &["--streams", "4", "--unordered", "--json"],
        &["--local", LEFT[0], "--local", LEFT[1]],
        &["--peer", RIGHT[0], "--peer", RIGHT[1]],
    ];
    // Until the receiver is there nobody is reached, which is told at once.
    let until = Instant::now() + LONG;
    let sent = loop {
        let sent = sctp(Some(left), &sender.concat()).output().unwrap();
        if sent.status.code() != Some(UNREACHABLE) || Instant::now() > until {
            break sent;
        }
    };
    let received = receiver.wait_with_output().unwrap();
    for output in [sent, received] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{ours} to {theirs}: {said}");
        let row: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&row["messages"], &row["octets"]), (&20_000.into(), &14_000_000.into()));
        assert!(row["messages_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn every_message_of_a_measurement_arrives_over_udp_and_over_ip_with_two_addresses_each() {
    let [left, right] = field();
    for carrier in ["udp", "ip"] {
        measure([&left, &right], [carrier; 2]);
    }
    let both = ["throughput", "--carrier", "xdp", "--local", LEFT[0], "--local", LEFT[1]];
    let refused = sctp(Some(&left), &both).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("other AF_XDP sockets have all queues"), "{said}");
}

/// Packets that the kernel's own IP went through at the left: it counts them.
fn packets_in(namespace: &Namespace) -> u64 {
    let nstat = ["netns", "exec", namespace.name(), "cat", "/proc/net/snmp"];
    let output = Command::new("ip").args(nstat).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let values = text.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
    values.split(' ').nth(3).unwrap().parse().unwrap()
}

#[test]
fn past_the_kernels_ip_every_message_arrives_as_well_and_the_kernel_sees_few_packets() {
    let [left, right] = field_of(
        "xdp",
        &[&["10.197.1.1/24"], &["10.197.2.1/24"]],
        &[&["10.197.1.2/24"], &["10.197.2.2/24"]],
    );
    for carriers in [["xdp", "ip"], ["ip", "xdp"], ["xdp", "xdp"]] {
        let before = [&left, &right].map(packets_in);
        measure([&left, &right], carriers);
        let after = [&left, &right].map(packets_in);
        for (side, carrier) in carriers.into_iter().enumerate() {
            let seen = after[side] - before[side];
            assert!((seen < 100) == (carrier == "xdp"), "{carriers:?}: side {side} saw {seen}");
        }
    }
}
