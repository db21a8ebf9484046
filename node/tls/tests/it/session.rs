//! Two TLS sessions against each other, without sockets.

use std::net::IpAddr;
use tls::{Context, Progress, Session, TlsSpec};

const HOST: &str = "node.example.org";

fn contexts(name: &str) -> (Context, Context) {
    let directory = std::env::temp_dir().join(format!("tandem-tls-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    let (certificate, key) = (directory.join("a.crt"), directory.join("a.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let roots = Some(certificate.clone());
    let server = TlsSpec { certificate: Some(certificate), key: Some(key), ..TlsSpec::default() };
    let client = TlsSpec { roots, ..TlsSpec::default() };
    let pair = (Context::load(&server, true).unwrap(), Context::load(&client, false).unwrap());
    std::fs::remove_dir_all(directory).unwrap();
    pair
}

/// One side with what it has for the other.
struct End {
    session: Session,
    plain: Vec<u8>,
    wire: Vec<u8>,
    progress: Progress,
}

impl End {
    fn new(session: Session) -> Self {
        Self { session, plain: Vec::new(), wire: Vec::new(), progress: Progress::Shaking }
    }

    /// Takes bytes in pieces of `step`.
    fn take(&mut self, bytes: &[u8], step: usize) {
        let pieces: Vec<&[u8]> =
            if bytes.is_empty() { vec![bytes] } else { bytes.chunks(step).collect() };
        for piece in pieces {
            let mut incoming = self.session.pending().to_vec();
            incoming.extend_from_slice(piece);
            self.progress =
                self.session.process(&mut incoming, &mut self.plain, &mut self.wire).unwrap();
        }
    }
}

fn pair(contexts: &(Context, Context), step: usize) -> (End, End) {
    let address = IpAddr::from([127, 0, 0, 1]);
    let mut client = End::new(Session::client(&contexts.1, Some(HOST), address).unwrap());
    let mut server = End::new(Session::server(&contexts.0).unwrap());
    client.take(&[], step);
    for _ in 0..10 {
        let bytes = std::mem::take(&mut client.wire);
        server.take(&bytes, step);
        let bytes = std::mem::take(&mut server.wire);
        client.take(&bytes, step);
    }
    assert_eq!((client.progress, server.progress), (Progress::Open, Progress::Open));
    (client, server)
}

#[test]
fn data_crosses_both_ways_however_the_bytes_are_cut() {
    let contexts = contexts("cut");
    let long: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
    for step in [1, 5, 1_000, usize::MAX] {
        let (mut client, mut server) = pair(&contexts, step);
        client.session.encrypt(&long, &mut client.wire).unwrap();
        client.session.encrypt(b"tail", &mut client.wire).unwrap();
        let bytes = std::mem::take(&mut client.wire);
        for piece in bytes.chunks(step.min(7_000)) {
            server.take(piece, step);
            // Something to say while a record is half here.
            server.session.encrypt(b"meanwhile", &mut server.wire).unwrap();
            let back = std::mem::take(&mut server.wire);
            client.take(&back, step);
        }
        assert_eq!(server.plain.len(), long.len() + 4);
        assert!(server.plain.starts_with(&long) && server.plain.ends_with(b"tail"));
        assert!(client.plain.chunks(9).all(|chunk| chunk == b"meanwhile"));
        client.session.close(&mut client.wire);
        let bytes = std::mem::take(&mut client.wire);
        server.take(&bytes, step);
        assert_eq!(server.progress, Progress::Closed);
    }
}

#[test]
fn the_second_session_of_a_client_is_resumed() {
    let contexts = contexts("resume");
    let (first, _) = pair(&contexts, usize::MAX);
    assert!(!first.session.is_resumed());
    let (second, server) = pair(&contexts, usize::MAX);
    assert!(second.session.is_resumed() && server.session.is_resumed());
}

#[test]
fn a_byte_changed_on_the_way_ends_the_session_with_an_alert() {
    let contexts = contexts("changed");
    let (mut client, mut server) = pair(&contexts, usize::MAX);
    client.session.encrypt(b"secret", &mut client.wire).unwrap();
    let last = client.wire.len() - 1;
    client.wire[last] ^= 1;
    let outcome = server.session.process(&mut client.wire, &mut server.plain, &mut server.wire);
    assert!(outcome.is_err() && server.plain.is_empty());
    let alert = std::mem::take(&mut server.wire);
    assert!(!alert.is_empty());
    let mut alert = alert;
    let told = client.session.process(&mut alert, &mut client.plain, &mut Vec::new());
    assert!(matches!(told, Err(tls::TlsError::AlertReceived(_))), "{told:?}");
}

#[test]
fn whatever_bytes_come_instead_of_a_handshake_nothing_panics() {
    let contexts = contexts("noise");
    let (mut client, _) = pair(&contexts, usize::MAX);
    client.wire.clear();
    let hello = {
        let address = IpAddr::from([127, 0, 0, 1]);
        let mut client = End::new(Session::client(&contexts.1, Some(HOST), address).unwrap());
        client.take(&[], 1);
        client.wire
    };
    for at in 0..hello.len() {
        for flip in [1u8, 0x80, 0xFF] {
            let mut bytes = hello.clone();
            bytes[at] ^= flip;
            let mut server = End::new(Session::server(&contexts.0).unwrap());
            // Accepted or refused, both are fine.
            let _ = server.session.process(&mut bytes, &mut server.plain, &mut server.wire);
            let _ = server.session.encrypt(b"x", &mut server.wire);
            server.session.close(&mut server.wire);
        }
    }
}
