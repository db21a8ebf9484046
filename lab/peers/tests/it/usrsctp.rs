//! usrsctp (Debian `libusrsctp-examples`) in both roles over UDP encapsulation (RFC 6951) on the
//! loopback. Where it is not installed the tests fail and say so.

use crate::node::{HERE, LIMIT, Node, OUR_PORT, program};
use peers::{Process, ProcessSpec, free_port};
use sctp::{AddressRequest, Answer, In, Indication, Outgoing, Parameters, PathState, State};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

const ECHO_PORT: u16 = 7;

fn parameters() -> Parameters {
    let mut parameters = Parameters::rfc9260();
    parameters.sack_delay = Duration::from_millis(40);
    parameters.path.rto_initial = Duration::from_millis(300);
    parameters.path.rto_min = Duration::from_millis(100);
    parameters
}

/// echo_server with its encapsulation on a free port.
fn echo_server(node: &Node, directory: &Path) -> (Process, u16) {
    let udp_port = free_port(HERE).unwrap().port();
    let arguments = [udp_port.to_string(), node.udp_port().to_string()];
    let spec = ProcessSpec::new("echo_server", program("echo_server"), directory);
    (Process::start(&spec.with(arguments)).unwrap(), udp_port)
}

#[test]
fn messages_of_all_sizes_come_back_from_usrsctp_in_order_and_the_end_is_in_order_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = Node::new(&[HERE], parameters(), false);
    let (_server, udp_port) = echo_server(&node, directory.path());
    let id = node.associate(udp_port, ECHO_PORT);
    node.run(|it| it.endpoint.status(id).is_some_and(|it| it.state == State::Established));
    let sizes = [1, 3, 100, 1_000, 1_424, 1_452, 1_500, 5_000, 9_000];
    let sent: Vec<Vec<u8>> = (0..600).map(|n| vec![n as u8; sizes[n % sizes.len()]]).collect();
    for (n, message) in sent.iter().enumerate() {
        let outgoing = Outgoing::new(n as u16 % 3, 51, message.clone().into());
        node.step(In::Send(id, outgoing));
        if n % 50 == 0 {
            node.run(|it| it.messages().count() + 100 >= n);
        }
    }
    node.run(|it| it.messages().count() >= sent.len());
    for stream in 0..3 {
        let got = node.messages().filter(|it| it.stream == stream).map(|it| &it.payload[..]);
        let expected = sent.iter().enumerate().filter(|(n, _)| *n as u16 % 3 == stream);
        assert!(got.eq(expected.map(|(_, it)| &it[..])), "stream {stream}");
    }
    node.step(In::Shutdown(id));
    node.run(|it| it.was_told(&Indication::ShutdownComplete));
}

#[test]
fn usrsctp_takes_our_authenticated_address_changes() {
    let directory = tempfile::tempdir().unwrap();
    let second = IpAddr::from([127, 0, 0, 2]);
    let mut with_asconf = parameters();
    with_asconf.extensions.address_reconfiguration = true;
    let mut node = Node::new(&[HERE, second], with_asconf, false);
    let (_server, udp_port) = echo_server(&node, directory.path());
    let id = node.associate(udp_port, ECHO_PORT);
    node.run(|it| it.endpoint.status(id).is_some_and(|it| it.state == State::Established));
    let requests = [
        AddressRequest::Add(second),
        AddressRequest::SetPrimary(second),
        AddressRequest::SetPrimary(HERE),
        AddressRequest::Delete(second),
    ];
    for request in requests {
        node.step(In::ChangeAddress(id, request));
        node.run(|it| {
            it.told
                .iter()
                .any(|(_, what)| matches!(what, Indication::AddressAnswer(of, _) if *of == request))
        });
        if request == AddressRequest::Add(second) {
            // usrsctp asks the new address before it makes it its primary.
            let until = Instant::now() + Duration::from_secs(2);
            node.run(|_| Instant::now() > until);
        }
    }
    for request in requests {
        let performed = Indication::AddressAnswer(request, Answer::Performed);
        assert!(node.was_told(&performed), "{request:?}: {:?}", node.ends_of_told());
    }
    node.step(In::Send(id, Outgoing::new(0, 51, vec![9; 300].into())));
    node.run(|it| it.messages().count() == 1);
}

#[test]
fn what_tsctp_sends_arrives_in_full_and_it_ends_in_order() {
    for (flags, length) in [(&["-D"][..], 100), (&["-u"], 1_400), (&[], 4_000)] {
        let directory = tempfile::tempdir().unwrap();
        let mut node = Node::new(&[HERE], parameters(), true);
        let program = program("tsctp");
        let udp_port = free_port(HERE).unwrap().port();
        let count = 2_000;
        let numbers = [
            ("-E", udp_port.to_string()),
            ("-U", node.udp_port().to_string()),
            ("-p", OUR_PORT.to_string()),
            ("-n", count.to_string()),
            ("-l", length.to_string()),
            ("-L", HERE.to_string()),
        ];
        let spec = ProcessSpec::new("tsctp", program, directory.path());
        let spec = spec.with(numbers.iter().flat_map(|(flag, value)| [*flag, value.as_str()]));
        let mut tsctp =
            Process::start(&spec.with(flags.iter().copied()).with(["127.0.0.1"])).unwrap();
        node.run(|it| it.was_told(&Indication::ShutdownComplete));
        assert_eq!(node.messages().count(), count, "{flags:?}");
        assert!(node.messages().all(|it| it.payload.len() == length), "{flags:?}");
        tsctp.wait(LIMIT).unwrap();
    }
}

#[test]
fn a_usrsctp_that_dies_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let mut fast = Parameters::telecom(2);
    fast.association_max_retrans = 4;
    // The server takes its time to come up; the fast timers are for its end.
    fast.max_init_retransmits = 200;
    let mut node = Node::new(&[HERE], fast, false);
    let (mut server, udp_port) = echo_server(&node, directory.path());
    let id = node.associate(udp_port, ECHO_PORT);
    node.run(|it| it.endpoint.status(id).is_some_and(|it| it.state == State::Established));
    server.kill();
    node.step(In::Send(id, Outgoing::new(0, 51, vec![9; 300].into())));
    let lost = Indication::CommunicationLost(sctp::Lost::Unreachable);
    node.run(|it| it.was_told(&lost));
    let failed = Indication::NetworkStatusChange(HERE, PathState::Inactive);
    assert!(node.was_told(&failed), "{:?}", node.ends_of_told());
}
