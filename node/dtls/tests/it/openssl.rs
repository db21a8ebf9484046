//! OpenSSL as the other end (Debian: openssl), in both roles: the same keys by its own exporter.

use crate::tshark::{Datagram, messages};
use crate::{PROFILES, expect, settings};
use dtls::{Handshake, In, Keys, Out, Role, Settings};
use machine::{Duration, Machine, Time};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const OPENSSL: &str = "openssl is not installed (Debian: openssl)";
/// Nothing here takes as long; a test that would goes wrong.
const PATIENCE: Duration = Duration::from_secs(40);

/// What OpenSSL calls a profile, and the octets of its exporter.
const NAMES: [(u16, &str, usize); 3] = [
    (PROFILES[0], "SRTP_AES128_CM_SHA1_80", 60),
    (PROFILES[1], "SRTP_AEAD_AES_128_GCM", 56),
    (PROFILES[2], "SRTP_AEAD_AES_256_GCM", 88),
];

fn openssl(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl").args(arguments).output().expect(OPENSSL);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Key and certificate of the other end, and the certificate in DER.
fn certificate(folder: &Path) -> (String, String, Vec<u8>) {
    made(folder, &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
}

/// The same of a new key as OpenSSL's arguments have it.
fn made(folder: &Path, new_key: &[&str]) -> (String, String, Vec<u8>) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (key, certificate) = (path("key"), path("certificate"));
    let names = ["-keyout", &key, "-out", &certificate, "-subj", "/CN=peer", "-days", "30"];
    openssl(&[&["req", "-x509", "-nodes"][..], new_key, &names].concat());
    let der = openssl(&["x509", "-in", &certificate, "-outform", "DER"]);
    (key, certificate, der)
}

/// A child that does not outlive the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Peer {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new("openssl");
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().expect(OPENSSL))
    }

    /// All that it said, once it is ended.
    fn said(mut self) -> String {
        let _ = self.0.kill();
        let mut said = Vec::new();
        let _ = self.0.stdout.take().unwrap().read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// Runs our end over a socket until there are keys, and a little longer: the last flight may have
/// to be sent again. The keys, and all datagrams.
///
/// # Errors
/// The other end has nothing that suits.
fn run(
    handshake: &mut Handshake,
    socket: &UdpSocket,
    mut peer: Option<SocketAddr>,
) -> Result<(Keys, Vec<Datagram>), Vec<Datagram>> {
    let began = Instant::now();
    let mut room = [0; 4_096];
    let (mut keys, mut until) = (None, PATIENCE);
    let (mut out, mut datagrams) = (Vec::new(), Vec::new());
    handshake.step(Time::ZERO, In::Started, &mut out);
    while began.elapsed() < until {
        for effect in out.drain(..) {
            match effect {
                Out::Send(datagram) => {
                    let _ = socket.send_to(&datagram, peer.expect("it has spoken"));
                    datagrams.push((true, datagram));
                }
                Out::Keys(these) => {
                    keys = Some(these);
                    until = began.elapsed() + Duration::from_millis(700);
                }
                Out::Failed(why) | Out::Refused(why) => panic!("{why}"),
                Out::Unsuited => return Err(datagrams),
                Out::Closed => {}
            }
        }
        let now = Time::ZERO + began.elapsed();
        let wait = handshake.deadline().map_or(PATIENCE, |deadline| deadline.since(now));
        let wait = wait.clamp(Duration::from_millis(1), Duration::from_millis(100));
        socket.set_read_timeout(Some(wait)).unwrap();
        let heard = socket.recv_from(&mut room);
        let now = Time::ZERO + began.elapsed();
        if let Ok((length, from)) = heard {
            peer = Some(from);
            datagrams.push((false, room[..length].to_vec()));
            handshake.step(now, In::Datagram(room[..length].to_vec()), &mut out);
        }
        handshake.tick(now, &mut out);
    }
    Ok((keys.expect("there are keys"), datagrams))
}

/// What the exporter of OpenSSL gave.
fn exported(said: &str) -> &str {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Keying material: "));
    line.unwrap_or_else(|| panic!("no keying material: {said}"))
}

fn same(said: &str, keys: &Keys, (profile, name, octets): (u16, &str, usize)) {
    assert_eq!((keys.profile, keys.material.len()), (profile, octets));
    assert!(said.contains(&format!("profile={name}")), "{said}");
    let ours: String = keys.material.iter().map(|octet| format!("{octet:02X}")).collect();
    assert_eq!(exported(said), ours);
}

fn prepared(role: Role, der: &[u8]) -> (Settings, Handshake) {
    let settings = settings();
    let mut handshake = Handshake::new(&settings, role, Time::ZERO);
    handshake.step(Time::ZERO, expect(der), &mut Vec::new());
    (settings, handshake)
}

#[test]
fn openssl_as_the_server_has_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate, der) = certificate(folder.path());
    for profile in NAMES {
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap();
        drop(free);
        let (port, length) = (port.to_string(), profile.2.to_string());
        let files = ["-cert", &certificate, "-key", &key, "-verify", "1"];
        let srtp = ["-use_srtp", profile.1, "-keymatexport", "EXTRACTOR-dtls_srtp"];
        let rest = ["-keymatexportlen", &length];
        let serve = ["s_server", "-dtls1_2", "-accept", &port];
        let peer = Peer::start(&[&serve[..], &files, &srtp, &rest].concat());
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (_, mut handshake) = prepared(Role::Client, &der);
        // Our first words may come before it listens: they are said again.
        let ran = run(&mut handshake, &socket, Some(port.parse().unwrap()));
        let (keys, datagrams) = ran.expect("they suit");
        same(&peer.said(), &keys, profile);
        // ClientHello, Certificate, ClientKeyExchange, CertificateVerify (RFC 5246 §7.4).
        let types = messages(&datagrams);
        assert!([1, 11, 16, 15].iter().all(|it| types.contains(it)), "{types:?}");
    }
}

#[test]
fn openssl_as_the_client_has_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate, der) = certificate(folder.path());
    for profile in NAMES {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (port, length) = (socket.local_addr().unwrap().to_string(), profile.2.to_string());
        let files = ["-cert", &certificate, "-key", &key];
        let srtp = ["-use_srtp", profile.1, "-keymatexport", "EXTRACTOR-dtls_srtp"];
        let rest = ["-keymatexportlen", &length];
        let connect = ["s_client", "-dtls1_2", "-connect", &port];
        let peer = Peer::start(&[&connect[..], &files, &srtp, &rest].concat());
        let (_, mut handshake) = prepared(Role::Server, &der);
        let (keys, datagrams) = run(&mut handshake, &socket, None).expect("they suit");
        same(&peer.said(), &keys, profile);
        // ServerHello, Certificate, ServerKeyExchange, CertificateRequest, ServerHelloDone.
        let types = messages(&datagrams);
        assert!([2, 11, 12, 13, 14].iter().all(|it| types.contains(it)), "{types:?}");
    }
}

#[test]
fn an_end_that_has_a_certificate_of_rsa_alone_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate, der) = made(folder.path(), &["-newkey", "rsa:2048"]);
    let files = ["-cert", &certificate, "-key", &key, "-use_srtp", NAMES[0].1];
    // As the client it has none to show.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = socket.local_addr().unwrap().to_string();
    let _peer = Peer::start(&[&["s_client", "-dtls1_2", "-connect", &port][..], &files].concat());
    let (_, mut handshake) = prepared(Role::Server, &der);
    run(&mut handshake, &socket, None).expect_err("it does not suit");
    // As the server it has no suite.
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = free.local_addr().unwrap();
    drop(free);
    let accept = port.to_string();
    let _peer = Peer::start(&[&["s_server", "-dtls1_2", "-accept", &accept][..], &files].concat());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (_, mut handshake) = prepared(Role::Client, &der);
    run(&mut handshake, &socket, Some(port)).expect_err("it does not suit");
}
