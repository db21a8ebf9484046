//! TLS through running functions, with certificates made for the test.

use crate::echo::{
    self, Behaviour, Echo, Searched, Seen, count, framed, launch, port, say, secured, until,
    wait_for,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use runtime::*;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// An authority and what it signed, as PEM files.
struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!(
            "tandem-runtime-{}-{name}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&directory).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(directory.join("roots.pem"), certificate.pem()).unwrap();
        Self { directory, issuer: Issuer::new(params, key) }
    }

    fn roots(&self) -> Option<PathBuf> {
        Some(self.directory.join("roots.pem"))
    }

    /// Certificate and key for these names, in files called `file`.
    fn sign(&self, file: &str, names: &[&str]) -> (Option<PathBuf>, Option<PathBuf>) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let path = |ending: &str| self.directory.join(format!("{file}.{ending}"));
        std::fs::write(path("crt"), certificate.pem()).unwrap();
        std::fs::write(path("key"), key.serialize_pem()).unwrap();
        (Some(path("crt")), Some(path("key")))
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn spec(tls: TlsSpec) -> ShardSpec {
    ShardSpec { ports: vec![secured(0, tls, "127.0.0.1")], ..ShardSpec::default() }
}

fn server(
    authority: &Authority,
    names: &[&str],
    auth: ClientAuth,
) -> (Running<Echo>, Receiver<Seen>) {
    let (certificate, key) = authority.sign("server", names);
    let roots = authority.roots();
    launch(
        spec(TlsSpec { certificate, key, roots, client_auth: auth, ..TlsSpec::default() }),
        Behaviour::default(),
    )
}

fn client(tls: TlsSpec) -> (Running<Echo>, Receiver<Seen>) {
    // Quiet would hide the answers; the echo of an echo goes on for ever, which is load enough.
    launch(spec(tls), Behaviour::default())
}

fn trusting(authority: &Authority) -> TlsSpec {
    TlsSpec { roots: authority.roots(), ..TlsSpec::default() }
}

fn message(events: &Receiver<Seen>) -> Vec<u8> {
    wait_for(events, |seen| match seen {
        Seen::Message(_, _, bytes) => Some(bytes.clone()),
        _ => None,
    })
}

fn why(events: &Receiver<Seen>) -> &'static str {
    wait_for(events, |seen| match seen {
        Seen::Down(_, _, why) => Some(*why),
        _ => None,
    })
}

const TLS: (&str, &str) = ("transport", "tls");

#[test]
fn two_functions_talk_over_tls_and_the_far_end_is_known_by_its_address() {
    let authority = Authority::new("plain");
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let (client, events) = client(trusting(&authority));
    say(&client, 0, server.local_addr(PortId(0)), &[TLS, ("text", "ping")]);
    assert_eq!(message(&served), framed(b"ping"));
    assert_eq!(message(&events), framed(b"ping"));
    assert_eq!(count(&server, RuntimeMetric::Accepted), 1);
    assert_eq!(count(&client, RuntimeMetric::Opened), 1);
}

#[test]
fn long_messages_and_many_of_them_cross_whole_and_in_order() {
    let authority = Authority::new("long");
    let (certificate, key) = authority.sign("server", &["127.0.0.1"]);
    let tls = TlsSpec { certificate, key, ..TlsSpec::default() };
    let (server, served) = launch(spec(tls), Behaviour::default());
    // The client must not echo the echo: it counts only.
    let (client, events) =
        launch(spec(trusting(&authority)), Behaviour { quiet: false, ..Behaviour::default() });
    let text = "x".repeat(100_000);
    say(&client, 0, server.local_addr(PortId(0)), &[TLS, ("text", &text), ("times", "5")]);
    for _ in 0..5 {
        assert_eq!(message(&served).len(), 100_004);
        assert_eq!(message(&events).len(), 100_004);
    }
}

#[test]
fn shared_pieces_cross_tls_as_copies_and_are_told_as_written() {
    let authority = Authority::new("shared");
    let (certificate, key) = authority.sign("server", &["127.0.0.1"]);
    let mut spec = spec(TlsSpec { certificate, key, ..TlsSpec::default() });
    spec.ports[0].stream_mut().unwrap().paced = true;
    let (server, served) = launch(spec, Behaviour { shared: true, ..Behaviour::default() });
    let (client, events) = client(trusting(&authority));
    let text = "x".repeat(100_000);
    say(&client, 0, server.local_addr(PortId(0)), &[TLS, ("text", &text), ("times", "3")]);
    for _ in 0..3 {
        assert_eq!(message(&events), framed(text.as_bytes()));
    }
    let mut sum = 0;
    while sum < 3 * 100_004 {
        sum += wait_for(&served, |seen| match seen {
            Seen::Written(_, _, octets, _) => Some(*octets),
            _ => None,
        });
    }
}

#[test]
fn the_name_that_the_function_gives_decides_over_the_certificate() {
    let authority = Authority::new("names");
    let (server, served) = server(&authority, &["core.example.org"], ClientAuth::Off);
    let to = server.local_addr(PortId(0));
    let (wrong, events) = client(trusting(&authority));
    say(&wrong, 0, to, &[TLS]);
    assert_eq!(why(&events), "its certificate carries another name");
    assert_eq!(count(&wrong, RuntimeMetric::ConnectFailed), 1);
    let (right, _events) = client(trusting(&authority));
    say(&right, 0, to, &[TLS, ("name", "core.example.org")]);
    assert_eq!(message(&served), framed(b"hello"));
    let peer_name = Some("core.example.org".to_owned());
    let (configured, _events) = client(TlsSpec { peer_name, ..trusting(&authority) });
    say(&configured, 0, to, &[TLS]);
    assert_eq!(message(&served), framed(b"hello"));
}

#[test]
fn a_server_signed_by_a_stranger_is_refused_unless_verification_is_off() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("stranger"));
    let (server, served) = server(&stranger, &["127.0.0.1"], ClientAuth::Off);
    let to = server.local_addr(PortId(0));
    let (careful, events) = client(trusting(&authority));
    say(&careful, 0, to, &[TLS]);
    assert_eq!(why(&events), "its certificate is not signed by a root that we trust");
    until("the server counts it", || count(&server, RuntimeMetric::HandshakeFailed) == 1);
    let (careless, _events) = client(TlsSpec { verify: false, ..TlsSpec::default() });
    say(&careless, 0, to, &[TLS]);
    assert_eq!(message(&served), framed(b"hello"));
}

#[test]
fn mutual_tls_lets_in_who_shows_a_certificate_of_the_roots_and_nobody_else() {
    let (authority, stranger) = (Authority::new("mutual"), Authority::new("outsider"));
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Required);
    let to = server.local_addr(PortId(0));
    let (certificate, key) = authority.sign("client", &["client.example.org"]);
    let (member, _events) = client(TlsSpec { certificate, key, ..trusting(&authority) });
    say(&member, 0, to, &[TLS, ("text", "let me in")]);
    assert_eq!(message(&served), framed(b"let me in"));
    let (naked, events) = client(trusting(&authority));
    say(&naked, 0, to, &[TLS]);
    assert_eq!(why(&events), "it refused the TLS session (alert)");
    let (certificate, key) = stranger.sign("client", &["client.example.org"]);
    let (outsider, events) = client(TlsSpec { certificate, key, ..trusting(&authority) });
    say(&outsider, 0, to, &[TLS]);
    assert_eq!(why(&events), "it refused the TLS session (alert)");
    until("both are counted", || count(&server, RuntimeMetric::HandshakeFailed) == 2);
    assert_eq!(count(&server, RuntimeMetric::Accepted), 1);
}

#[test]
fn a_client_that_never_shakes_hands_is_given_up() {
    let authority = Authority::new("silent");
    let (certificate, key) = authority.sign("server", &["127.0.0.1"]);
    let mut spec = spec(TlsSpec { certificate, key, ..TlsSpec::default() });
    spec.streams.connect_timeout = Duration::from_millis(50);
    let (server, _served) = launch(spec, Behaviour::default());
    let silent = TcpStream::connect(server.local_addr(PortId(0))).unwrap();
    until("it is counted", || count(&server, RuntimeMetric::HandshakeFailed) == 1);
    until("its place is free", || count(&server, RuntimeMetric::Connections) == 0);
    drop(silent);
}

#[test]
fn a_renewed_certificate_takes_effect_with_the_next_configuration() {
    let (authority, renewed) = (Authority::new("old"), Authority::new("new"));
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let to = server.local_addr(PortId(0));
    let (first, events) = client(trusting(&authority));
    say(&first, 0, to, &[TLS]);
    assert_eq!(message(&events), framed(b"hello"));
    // The same files, another authority.
    for ending in ["crt", "key"] {
        renewed.sign("server", &["127.0.0.1"]);
        let file = format!("server.{ending}");
        std::fs::copy(renewed.directory.join(&file), authority.directory.join(&file)).unwrap();
    }
    let (fresh_certificate, fresh_key) = renewed.sign("server", &["127.0.0.1"]);
    for (from, file) in [(fresh_certificate, "server.crt"), (fresh_key, "server.key")] {
        std::fs::copy(from.unwrap(), authority.directory.join(file)).unwrap();
    }
    let ports = server.ports().into_iter().map(|(spec, _)| spec).collect();
    server.configure(Arc::new(Behaviour { version: 2, ..Behaviour::default() }), ports).unwrap();
    let (second, events) = client(trusting(&renewed));
    say(&second, 0, to, &[TLS, ("text", "after")]);
    assert_eq!(message(&events), framed(b"after"));
    drop(served);
}

fn refusal(tls: TlsSpec) -> String {
    let mut spec = spec(tls);
    spec.ports[0].stream_mut().unwrap().connect_only = false;
    echo::try_launch(spec, Behaviour::default()).err().unwrap().to_string()
}

#[test]
fn files_that_cannot_be_used_are_refused_with_their_name_and_the_reason() {
    let authority = Authority::new("files");
    let (certificate, key) = authority.sign("a", &["127.0.0.1"]);
    let (_, other_key) = authority.sign("b", &["127.0.0.1"]);
    let missing = Some(Path::new("/nowhere/x.pem").to_owned());
    let cases = [
        (missing.clone(), key.clone(), "/nowhere/x.pem"),
        (certificate.clone(), missing, "/nowhere/x.pem"),
        (key.clone(), key.clone(), "no certificate in PEM form"),
        (certificate.clone(), certificate.clone(), "no private key in PEM form"),
        (certificate.clone(), None, "belong together"),
        (None, None, "needs a certificate"),
        (certificate.clone(), other_key, "cannot be used"),
    ];
    for (certificate, key, want) in cases {
        let text = refusal(TlsSpec { certificate, key, ..TlsSpec::default() });
        assert!(text.contains(want) && text.contains("port 0"), "{text} must say {want}");
    }
    let tls = TlsSpec { certificate, key, client_auth: ClientAuth::Required, ..TlsSpec::default() };
    assert!(refusal(tls).contains("needs the roots"));
}

#[test]
fn bytes_that_are_no_tls_end_the_connection_with_a_count() {
    use std::io::{Read, Write};
    let authority = Authority::new("garbage");
    let (server, _served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let to: SocketAddr = server.local_addr(PortId(0));
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"INVITE sip:a@b SIP/2.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // An alert, then the end (or a reset, for what was not read).
    let _ = stream.read_to_end(&mut answer);
    until("it is counted", || count(&server, RuntimeMetric::HandshakeFailed) == 1);
}

#[test]
fn the_names_that_a_far_end_proves_are_told_before_it_is_up() {
    let authority = Authority::new("proved");
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Required);
    let (certificate, key) = authority.sign("client", &["client.example.org", "other.example.org"]);
    let (member, _events) = client(TlsSpec { certificate, key, ..trusting(&authority) });
    say(&member, 0, server.local_addr(PortId(0)), &[TLS]);
    let first = wait_for(&served, |seen| match seen {
        Seen::Proved(_, flow, names) => Some((*flow, names.clone())),
        Seen::Up(..) => panic!("too early"),
        _ => None,
    });
    assert_eq!(first.1, ["client.example.org", "other.example.org"]);
    let flow = wait_for(&served, |seen| match seen {
        Seen::Up(_, flow) => Some(*flow),
        _ => None,
    });
    assert_eq!(flow, first.0);
}

fn openssl(to: SocketAddr, authority: &Authority, more: &[&str]) -> String {
    use std::process::{Command, Stdio};
    let mut command = Command::new("timeout");
    command.args(["20", "openssl", "s_client", "-connect", &to.to_string(), "-CAfile"]);
    command.arg(authority.directory.join("roots.pem")).args(more);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let stdin = child.stdin.take();
    // It reads until the end of its input, so that the tickets of TLS 1.3 reach it.
    std::thread::sleep(Duration::from_millis(500));
    drop(stdin);
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

#[test]
fn openssl_resumes_its_session_with_either_version_and_it_is_counted() {
    let authority = Authority::new("openssl");
    let (server, _served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let to = server.local_addr(PortId(0));
    for (n, version) in ["-tls1_2", "-tls1_3"].into_iter().enumerate() {
        let file = authority.directory.join(version).display().to_string();
        let first = openssl(to, &authority, &[version, "-sess_out", &file]);
        assert!(first.contains("Verify return code: 0"), "{first}");
        let again = openssl(to, &authority, &[version, "-sess_in", &file]);
        assert!(again.contains("Reused, TLSv1"), "{again}");
        until("it is counted", || count(&server, RuntimeMetric::Resumed) == n as u64 + 1);
    }
}

#[test]
fn a_client_resumes_towards_a_server_that_it_knows() {
    let authority = Authority::new("again");
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let (client, events) = client(trusting(&authority));
    let to = server.local_addr(PortId(0));
    for n in 0..2 {
        say(&client, 0, to, &[TLS, ("text", "close")]);
        assert_eq!(message(&events), framed(b"bye"));
        let _ = why(&events);
        assert_eq!(count(&client, RuntimeMetric::Resumed), n);
        until("its place is free", || count(&client, RuntimeMetric::Connections) == 0);
    }
    assert_eq!(count(&server, RuntimeMetric::Accepted), 2);
    drop(served);
}

#[test]
fn messages_are_answered_while_more_handshakes_wait_than_may_and_the_newest_are_shed() {
    const HANDSHAKES_MAX: usize = 64;
    let authority = Authority::new("storm");
    let (certificate, key) = authority.sign("server", &["127.0.0.1"]);
    let mut spec = spec(TlsSpec { certificate, key, ..TlsSpec::default() });
    spec.ports.push(port(1, Transport::Udp, "127.0.0.1"));
    spec.streams.handshakes_max = HANDSHAKES_MAX;
    let (server, _served) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
    let (tls, udp) = (server.local_addr(PortId(0)), server.local_addr(PortId(1)));
    let silent: Vec<_> =
        (0..HANDSHAKES_MAX / 2).map(|_| TcpStream::connect(tls).unwrap()).collect();
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let storm: Vec<_> = (0..2)
        .map(|_| {
            let (over, authority) = (Arc::clone(&over), trusting(&authority));
            std::thread::spawn(move || shake_until(tls, &authority, &over))
        })
        .collect();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    until("handshakes ran beside many messages", || {
        for n in 0..200u32 {
            socket.send_to(&n.to_be_bytes(), udp).unwrap();
            let mut answer = [0; 16];
            let length = socket.recv(&mut answer).unwrap();
            assert_eq!(&answer[..length], n.to_be_bytes(), "one answer for each, in order");
        }
        count(&server, RuntimeMetric::Accepted) >= 300
    });
    let more: Vec<_> = (0..HANDSHAKES_MAX).map(|_| TcpStream::connect(tls).unwrap()).collect();
    until("the newest are shed", || count(&server, RuntimeMetric::HandshakeShed) > 0);
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(storm.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>() > 0);
    drop((silent, more));
}

/// Shakes hands in full, again and again; how often.
fn shake_until(to: SocketAddr, tls: &TlsSpec, over: &std::sync::atomic::AtomicBool) -> u64 {
    use std::io::{Read, Write};
    let mut count = 0;
    while !over.load(std::sync::atomic::Ordering::Relaxed) {
        // A new context remembers no session, so that nothing is shortened.
        let context = tls::Context::load(tls, false).unwrap();
        let mut session = tls::Session::client(&context, None, to.ip()).unwrap();
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (mut incoming, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let mut wire = Vec::new();
            let progress = session.process(&mut incoming, &mut plain, &mut wire);
            if !matches!(progress, Ok(tls::Progress::Shaking)) {
                let _ = stream.write_all(&wire); // shed connections are closed
                count += u64::from(progress.is_ok());
                break;
            }
            let mut room = [0; 16 << 10];
            let sent = stream.write_all(&wire);
            let Ok(length @ 1..) = stream.read(&mut room) else { break };
            if sent.is_err() {
                break;
            }
            incoming = [session.pending(), &room[..length]].concat();
        }
    }
    count
}

#[test]
fn a_source_that_fills_the_handshakes_with_silence_makes_room_for_others() {
    const HANDSHAKES_MAX: usize = 64;
    let authority = Authority::new("silence");
    let (certificate, key) = authority.sign("server", &["127.0.0.1", "::1"]);
    let tls = TlsSpec { certificate, key, ..TlsSpec::default() };
    let mut spec = spec(tls.clone());
    spec.ports.push(secured(1, tls, "::1"));
    spec.streams.handshakes_max = HANDSHAKES_MAX;
    spec.streams.connect_timeout = machine::Duration::from_secs(20);
    let (server, _served) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
    let silent: Vec<_> = (0..4 * HANDSHAKES_MAX)
        .map(|_| TcpStream::connect(server.local_addr(PortId(0))).unwrap())
        .collect();
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (to, trusting, ends) =
        (server.local_addr(PortId(1)), trusting(&authority), Arc::clone(&over));
    let honest = std::thread::spawn(move || shake_until(to, &trusting, &ends));
    until("another source shakes hands", || count(&server, RuntimeMetric::Accepted) >= 20);
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(honest.join().unwrap() > 0);
    assert!(count(&server, RuntimeMetric::HandshakeShed) > 0, "the silent ones made room");
    drop(silent);
}

#[test]
fn a_source_that_fills_the_table_with_silent_handshakes_makes_room_for_others_at_once() {
    const CONNECTIONS_MAX: usize = 32;
    let authority = Authority::new("table");
    let (certificate, key) = authority.sign("server", &["127.0.0.1", "::1"]);
    let tls = TlsSpec { certificate, key, ..TlsSpec::default() };
    let mut spec = spec(tls.clone());
    spec.ports.push(secured(1, tls, "::1"));
    spec.streams.connections_max = CONNECTIONS_MAX;
    spec.streams.connect_timeout = machine::Duration::from_secs(60);
    let (server, served) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
    let silent: Vec<_> = (0..2 * CONNECTIONS_MAX)
        .map(|_| TcpStream::connect(server.local_addr(PortId(0))).unwrap())
        .collect();
    until("they make room for each other", || {
        count(&server, RuntimeMetric::Displaced) >= CONNECTIONS_MAX as u64
    });
    let (client, events) = client(trusting(&authority));
    say(&client, 0, server.local_addr(PortId(1)), &[TLS, ("text", "ping")]);
    assert_eq!(message(&events), framed(b"ping"));
    assert_eq!(count(&server, RuntimeMetric::Refused), 0);
    // Their handshakes are over at once, and the function heard of none.
    let mut first = &silent[0];
    first.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(std::io::Read::read(&mut first, &mut [0]).unwrap_or(0), 0);
    assert!(!served.try_iter().any(|seen| matches!(seen, Seen::Down(..))));
}

#[test]
fn a_message_of_one_octet_a_record_arrives_whole_and_is_not_searched_anew_with_each() {
    use std::io::{Read, Write};
    let searched = Searched::begin();
    let authority = Authority::new("octets");
    let (server, served) = server(&authority, &["127.0.0.1"], ClientAuth::Off);
    let to = server.local_addr(PortId(0));
    let context = tls::Context::load(&trusting(&authority), false).unwrap();
    let mut session = tls::Session::client(&context, None, to.ip()).unwrap();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut incoming, mut wire) = (Vec::new(), Vec::new());
    while matches!(
        session.process(&mut incoming, &mut Vec::new(), &mut wire),
        Ok(tls::Progress::Shaking)
    ) {
        stream.write_all(&wire).unwrap();
        wire.clear();
        let mut room = [0; 16 << 10];
        let length = stream.read(&mut room).unwrap();
        assert!(length > 0, "the handshake goes on");
        incoming = [session.pending(), &room[..length]].concat();
    }
    let text = format!("~{}\n~second\n", "x".repeat(5_000));
    for octet in text.as_bytes() {
        session.encrypt(&[*octet], &mut wire).unwrap();
        stream.write_all(&wire).unwrap();
        wire.clear();
    }
    let told = [message(&served), message(&served)].concat();
    assert_eq!(told, text.as_bytes());
    let searched = searched.octets();
    assert!(searched <= 4 * text.len(), "{searched} octets were searched");
}
