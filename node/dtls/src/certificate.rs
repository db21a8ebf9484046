//! A certificate of one's own: nobody signs it, SDP says its fingerprint (RFC 5763 §5).

use core::fmt;
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use zeroize::Zeroizing;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[error("a certificate cannot be made: {0}")]
pub struct CertificateError(#[from] rcgen::Error);

/// A certificate with its key, both in DER. A site has one, and both nodes of a pair have the same:
/// a call's fingerprint outlives its node.
#[derive(Clone)]
pub struct Certificate {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl Certificate {
    /// A new one, of ECDSA with P-256.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn generate() -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        // Its serial number comes of its key: no two certificates have the same.
        let mut parameters = CertificateParams::new(Vec::<String>::new())?;
        parameters.distinguished_name.push(DnType::CommonName, "tandem");
        let certificate = parameters.self_signed(&key)?.der().to_vec();
        Ok(Self { certificate, key: Zeroizing::new(key.serialize_der()) })
    }

    /// One that was made before: certificate and PKCS #8 key in DER.
    #[must_use]
    pub fn of(certificate: Vec<u8>, key: Vec<u8>) -> Self {
        Self { certificate, key: Zeroizing::new(key) }
    }

    /// The certificate in DER: what a fingerprint is made of.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.certificate
    }

    /// The key in DER, to keep it; never for a log.
    #[must_use]
    pub fn expose_key(&self) -> &[u8] {
        &self.key
    }

    pub(crate) fn for_engine(&self) -> dimpl::DtlsCertificate {
        dimpl::DtlsCertificate {
            certificate: self.certificate.clone(),
            private_key: self.key.to_vec(),
        }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({} octets)", self.certificate.len())
    }
}
