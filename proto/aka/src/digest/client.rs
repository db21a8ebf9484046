//! The phone's end (RFC 3310 §3.3, §3.4; TS 24.229 §5.1.1.5).

use super::response::{Request, response};
use super::{Challenge, Credentials, Nonce, Qop, SessionKeys};
use crate::{Card, Reject};

/// What came of a challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The network is proven; these are the keys of the session.
    Answered(SessionKeys),
    /// The sequence number is not fresh: the credentials ask for resynchronisation.
    Resynchronising,
    /// The code is wrong: the credentials have no response, and the phone tries elsewhere.
    WrongNetwork,
    /// The challenge is none of AKA: its algorithm or its nonce is none. Nothing can be sent.
    NoChallenge,
}

/// Credentials, and what they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered<'a> {
    /// What is sent; `None` with [`Outcome::NoChallenge`].
    pub credentials: Option<Credentials<'a>>,
    /// What came of it.
    pub outcome: Outcome,
}

/// Answers a challenge by a card. `uri` is the digest URI, `cnonce` was drawn at random.
pub fn answer<'a>(
    card: &mut Card,
    challenge: &'a Challenge<'_>,
    username: &'a [u8],
    uri: &'a [u8],
    cnonce: &'a [u8],
    request: Request<'_>,
) -> Answered<'a> {
    let nonce = Nonce::read(&challenge.nonce, card.mac_octets());
    let (Some(algorithm), Some(nonce)) = (challenge.algorithm, nonce) else {
        return Answered { credentials: None, outcome: Outcome::NoChallenge };
    };
    let qop = match challenge.qops {
        qops if qops.auth => Some(Qop::Auth),
        qops if qops.auth_int => Some(Qop::AuthInt),
        _ => None,
    };
    let mut credentials = Credentials {
        username: username.into(),
        realm: (&*challenge.realm).into(),
        nonce: (&*challenge.nonce).into(),
        uri: uri.into(),
        response: Vec::new(),
        algorithm: Some(algorithm),
        qop,
        cnonce: (qop.is_some() || algorithm.is_session).then(|| cnonce.into()),
        nonce_count: qop.map(|_| 1),
        opaque: challenge.opaque.as_deref().map(Into::into),
        auts: None,
        integrity_protected: None,
    };
    let outcome = match card.answer(&nonce.rand, &nonce.autn) {
        Ok(answer) => {
            let keys = SessionKeys { ck: answer.ck, ik: answer.ik };
            let password = algorithm.password(&answer.res, &keys);
            credentials.response = response(algorithm, &credentials, &password, request).to_vec();
            Outcome::Answered(algorithm.session_keys(&keys))
        }
        Err(Reject::Synchronisation(auts)) => {
            credentials.auts = Some(auts);
            credentials.response = response(algorithm, &credentials, b"", request).to_vec();
            Outcome::Resynchronising
        }
        Err(Reject::Mac) => Outcome::WrongNetwork,
    };
    Answered { credentials: Some(credentials), outcome }
}
