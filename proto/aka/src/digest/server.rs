//! The server's end (RFC 3310 §3.3, §3.4; TS 24.229 §5.4.1.2): a challenge of one vector, and what
//! is right as an answer to it.

use super::response::{Request, response};
use super::{Algorithm, Challenge, Credentials, Nonce, Qops, SessionKeys};
use crate::{Auts, Rand, Vector};
use core::fmt;
use subtle::ConstantTimeEq;

/// Most octets that a server may add to a nonce.
pub const SERVER_DATA_MAX: usize = 64;

/// Responses that may be wrong before a challenge is over: RES may have 32 bits (TS 33.102 §6.3.7),
/// and whoever guesses is given no more of it.
pub const WRONG_MAX: u8 = 3;

/// Why credentials are not right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// They are of another realm.
    Realm,
    /// They are another subscriber's: the vector is not.
    Username,
    /// They are for another request: its URI is not the one that was digested.
    Uri,
    /// So many responses were wrong that none is right any more.
    Over,
    /// They answer another challenge, or none.
    Nonce,
    /// They are of another algorithm.
    Algorithm,
    /// They are of another quality of protection than those offered, or lack what that one needs.
    Qop,
    /// They were used before: the nonce count has not risen.
    Replayed,
    /// There is no response: the phone did not believe the network (TS 24.229 §5.1.1.5.3).
    NoResponse,
    /// The response is wrong.
    Response,
    /// The phone wants to be resynchronised; the home network looks whether it does.
    Resynchronise(Auts),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Realm => "the realm is another one (RFC 7616 §3.4)",
            Self::Username => "the private identity is another one's (TS 24.229 §5.4.1.2)",
            Self::Uri => "the URI is not that of the request (RFC 7616 §3.4.6)",
            Self::Over => "too many responses were wrong",
            Self::Nonce => "the nonce is not that of the challenge (RFC 7616 §3.4)",
            Self::Algorithm => "the algorithm is not that of the challenge (RFC 3310 §3.1)",
            Self::Qop => "the quality of protection was not offered (RFC 7616 §3.4)",
            Self::Replayed => "the nonce count has not risen (RFC 7616 §3.4)",
            Self::NoResponse => "the phone did not believe the network (TS 24.229 §5.1.1.5.3)",
            Self::Response => "the response is wrong (RFC 3310 §3.3)",
            Self::Resynchronise(_) => "the sequence number is not fresh (RFC 3310 §3.4)",
        })
    }
}

impl core::error::Error for Refused {}

/// A challenge that waits for its answer.
#[derive(Debug)]
pub struct Server {
    algorithm: Algorithm,
    /// The private identity whose vector it is.
    username: Vec<u8>,
    realm: Vec<u8>,
    nonce: String,
    qops: Qops,
    vector: Vector,
    /// The nonce count of the last answer that was right.
    count: u32,
    /// Responses that were wrong.
    wrong: u8,
}

impl Server {
    /// A challenge of a private identity by a vector of its own, with data of the server's own in
    /// the nonce, of which [`SERVER_DATA_MAX`] octets are taken.
    #[must_use]
    pub fn new(
        algorithm: Algorithm,
        username: &[u8],
        realm: &[u8],
        qops: Qops,
        vector: Vector,
        server_data: &[u8],
    ) -> Self {
        let server_data = server_data[..server_data.len().min(SERVER_DATA_MAX)].to_vec();
        let nonce = Nonce { rand: vector.rand, autn: vector.autn.clone(), server_data }.text();
        let (username, realm) = (username.to_vec(), realm.to_vec());
        Self { algorithm, username, realm, nonce, qops, vector, count: 0, wrong: 0 }
    }

    /// The challenge; with the keys only to a proxy of the same network.
    #[must_use]
    pub fn challenge(&self, with_keys: bool) -> Challenge<'_> {
        Challenge {
            realm: self.realm.as_slice().into(),
            nonce: self.nonce.as_bytes().into(),
            opaque: None,
            qops: self.qops,
            algorithm: Some(self.algorithm),
            is_stale: false,
            keys: with_keys.then(|| self.keys()),
        }
    }

    /// The random challenge, for whoever resynchronises.
    #[must_use]
    pub const fn rand(&self) -> &Rand {
        &self.vector.rand
    }

    /// The keys of the session.
    #[must_use]
    pub fn keys(&self) -> SessionKeys {
        self.algorithm.session_keys(&self.aka_keys())
    }

    fn aka_keys(&self) -> SessionKeys {
        SessionKeys { ck: self.vector.ck.clone(), ik: self.vector.ik.clone() }
    }

    /// Checks credentials that a request to this URI has. What is right once is not right again
    /// with the same nonce count, and nothing is after [`WRONG_MAX`] responses that were wrong.
    ///
    /// # Errors
    /// Why they are not right.
    pub fn check(
        &mut self,
        credentials: &Credentials<'_>,
        uri: &[u8],
        request: Request<'_>,
    ) -> Result<SessionKeys, Refused> {
        if *credentials.realm != *self.realm {
            return Err(Refused::Realm);
        }
        if *credentials.nonce != *self.nonce.as_bytes() {
            return Err(Refused::Nonce);
        }
        if self.wrong >= WRONG_MAX {
            return Err(Refused::Over);
        }
        // The digest holds for whatever name is in it: that it is this one's is looked at here.
        if *credentials.username != *self.username {
            return Err(Refused::Username);
        }
        if *credentials.uri != *uri {
            return Err(Refused::Uri);
        }
        if credentials.algorithm.is_some_and(|it| it != self.algorithm) {
            return Err(Refused::Algorithm);
        }
        // Its code proves it better than a response to the empty password, which some leave out.
        if let Some(auts) = &credentials.auts {
            return Err(Refused::Resynchronise(auts.clone()));
        }
        if credentials.response.is_empty() {
            return Err(Refused::NoResponse);
        }
        let count = self.count_of(credentials)?;
        let password = self.algorithm.password(&self.vector.xres, &self.aka_keys());
        let expected = response(self.algorithm, credentials, &password, request);
        if !bool::from(expected.ct_eq(&credentials.response)) {
            self.wrong += 1;
            return Err(Refused::Response);
        }
        self.count = count;
        Ok(self.keys())
    }

    /// The nonce count, if it has risen. Without a quality of protection there is none: such an
    /// answer is right once.
    fn count_of(&self, credentials: &Credentials<'_>) -> Result<u32, Refused> {
        let is_whole = match credentials.qop {
            Some(_) => credentials.cnonce.is_some() && credentials.nonce_count.is_some(),
            None => credentials.cnonce.is_some() || !self.algorithm.is_session,
        };
        if !is_whole || !self.qops.offers(credentials.qop) {
            return Err(Refused::Qop);
        }
        let count =
            if credentials.qop.is_none() { 1 } else { credentials.nonce_count.unwrap_or(0) };
        if count > self.count { Ok(count) } else { Err(Refused::Replayed) }
    }
}
