//! The response (RFC 7616 §3.4.1 to §3.4.3).

use super::algorithm::Algorithm;
use super::parameters::hex;
use super::{Credentials, Qop};
use zeroize::Zeroizing;

/// What of a request is part of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a [u8],
    /// Its body.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// A REGISTER, which has no body.
    pub const REGISTER: Self = Self { method: b"REGISTER", body: b"" };
}

/// The response to a password, of all else that the credentials say.
pub(super) fn response(
    algorithm: Algorithm,
    credentials: &Credentials<'_>,
    password: &[u8],
    request: Request<'_>,
) -> Zeroizing<Vec<u8>> {
    let hash = |parts: &[&[u8]]| Zeroizing::new(hex(&algorithm.hash.of(parts)));
    let nonce = &*credentials.nonce;
    let cnonce = credentials.cnonce.as_deref().unwrap_or_default();
    let mut a1 = hash(&[&credentials.username, b":", &credentials.realm, b":", password]);
    if algorithm.is_session {
        a1 = hash(&[&a1, b":", nonce, b":", cnonce]);
    }
    let (method, uri) = (request.method, &*credentials.uri);
    let a2 = match credentials.qop {
        Some(Qop::AuthInt) => hash(&[method, b":", uri, b":", &hash(&[request.body])]),
        _ => hash(&[method, b":", uri]),
    };
    match credentials.qop {
        None => algorithm.hash.of(&[&a1, b":", nonce, b":", &a2]),
        Some(qop) => {
            let count = hex(&credentials.nonce_count.unwrap_or_default().to_be_bytes());
            let qop = qop.name().as_bytes();
            let parts = [&a1[..], nonce, &count, cnonce, qop, &a2];
            algorithm.hash.of(&[&parts.join(&b':')])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::parameters::unhex;
    use crate::digest::{Hash, Version};

    /// RFC 7616 §3.9.1; there the password is no answer of AKA, and the hash is all that counts.
    #[test]
    fn responses_are_those_that_rfc_7616_prints() {
        let value = b"Digest username=\"Mufasa\", realm=\"http-auth@example.org\", \
            uri=\"/dir/index.html\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
            nc=00000001, cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, \
            response=\"8ca523f5e9506fed4657c9700eebdbec\"";
        let credentials = Credentials::read(value).unwrap();
        let request = Request { method: b"GET", body: b"" };
        let of = |hash| {
            let algorithm = Algorithm { version: Version::V1, hash, is_session: false };
            response(algorithm, &credentials, b"Circle of Life", request).to_vec()
        };
        assert_eq!(of(Hash::Md5), credentials.response);
        let sha = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1";
        assert_eq!(of(Hash::Sha256), unhex(sha.as_bytes()).unwrap());
    }

    /// RFC 2617 §3.5.
    #[test]
    fn a_response_is_that_of_rfc_2617() {
        let value = b"Digest username=\"Mufasa\", realm=\"testrealm@host.com\", \
            nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", uri=\"/dir/index.html\", qop=auth, \
            nc=00000001, cnonce=\"0a4f113b\", response=\"6629fae49393a05397450978507c4ef1\", \
            opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let credentials = Credentials::read(value).unwrap();
        let request = Request { method: b"GET", body: b"" };
        let made = response(Algorithm::AKA_V1_MD5, &credentials, b"Circle Of Life", request);
        assert_eq!(*made, credentials.response);
    }
}
