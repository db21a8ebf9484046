//! A TLS server is greeted by real clients whose records somebody changes, cuts and mixes with
//! octets of his own: nothing panics, what waits for its end stays bounded, and a handshake that
//! nobody touched ends well.

use crate::script::Script;
use std::net::Ipv4Addr;
use std::sync::LazyLock;
use tls::{ClientAuth, Context, Progress, Session, TlsSpec};

/// Octets of records without their end: a record has at most 16,640, a message of the handshake at
/// most 65,540 in several of them.
const PENDING_MAX: usize = 128 << 10;
/// Turns of one input.
const TURNS_MAX: usize = 32;

static CONTEXT: LazyLock<Context> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let made = rcgen::generate_simple_self_signed(vec!["tandem.example".into()]).expect("a key");
    let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
    std::fs::write(&certificate, made.cert.pem()).expect("writable");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("writable");
    let spec = TlsSpec {
        roots: Some(certificate.clone()),
        certificate: Some(certificate),
        key: Some(key),
        client_auth: ClientAuth::Optional,
        verify: true,
        peer_name: Some("tandem.example".into()),
    };
    Context::load(&spec, true).expect("the files are sound")
});

/// One end, and whether it still listens.
struct Side {
    session: Session,
    progress: Option<Progress>,
}

impl Side {
    fn new(session: Session) -> Self {
        Self { session, progress: Some(Progress::Shaking) }
    }

    /// What it says to these octets.
    fn hear(&mut self, octets: &[u8]) -> Vec<u8> {
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        if self.progress.is_none() {
            return wire;
        }
        let mut incoming = self.session.pending().to_vec();
        incoming.extend_from_slice(octets);
        self.progress = self.session.process(&mut incoming, &mut plain, &mut wire).ok();
        assert!(self.session.pending().len() <= PENDING_MAX, "what waits is bounded");
        wire
    }
}

/// Changes what passes, as the script says; whether it did.
fn meddle(octets: &mut Vec<u8>, script: &mut Script<'_>) -> bool {
    let before = octets.clone();
    match script.octet() % 8 {
        0 => {
            let (at, octet) = (script.number(), script.octet());
            let length = octets.len().max(1);
            if let Some(place) = octets.get_mut(at % length) {
                *place ^= octet;
            }
        }
        1 => octets.truncate(script.number()),
        2 => octets.splice(..0, script.piece().iter().copied()).for_each(drop),
        3 => octets.extend_from_slice(script.piece()),
        _ => {}
    }
    *octets != before
}

pub fn run(input: &[u8]) {
    let mut script = Script::new(input);
    let mut server = Side::new(Session::server(&CONTEXT).expect("it has a certificate"));
    let client = Session::client(&CONTEXT, None, Ipv4Addr::LOCALHOST.into());
    let mut client = Side::new(client.expect("it has a name"));
    let (mut from_server, mut changed) = (Vec::new(), false);
    for turn in 0..TURNS_MAX {
        if turn > 8 && script.is_over() {
            break;
        }
        let mut from_client = client.hear(&from_server);
        changed |= meddle(&mut from_client, &mut script);
        from_server = server.hear(&from_client);
        changed |= meddle(&mut from_server, &mut script);
    }
    let both_open = [&server, &client].iter().all(|side| side.progress == Some(Progress::Open));
    assert!(changed || both_open, "a handshake that nobody touched ends well");
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_handshake_that_nobody_touches_ends_well() {
        super::run(&[7; 64]);
    }
}
