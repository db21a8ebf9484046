//! Keys and trust, read from PEM files.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions that a server remembers for resumption without tickets (TLS 1.2).
const SESSIONS_MAX: usize = 10_000;
/// Servers whose sessions a client remembers for resumption.
const SERVERS_MAX: usize = 1_024;
/// Certificates in one file.
const CERTIFICATES_MAX: usize = 10_000;

/// Whether a TLS server asks its clients for certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientAuth {
    /// No.
    #[default]
    Off,
    /// Yes, but a client without one may come in.
    Optional,
    /// Yes, and one signed by the roots it must be (mutual TLS).
    Required,
}

/// Keys and trust of a TLS port, for both directions. Files are PEM; they are read again at each
/// new configuration, so that renewed certificates take effect without a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSpec {
    /// Our certificate chain, ours first. Needed to accept connections; sent to servers that
    /// ask for one.
    pub certificate: Option<PathBuf>,
    /// The private key of the first certificate (PKCS #8, PKCS #1 or SEC1).
    pub key: Option<PathBuf>,
    /// Authorities that sign the certificates of our peers; `None`: the system's.
    pub roots: Option<PathBuf>,
    /// Whether clients must show a certificate.
    pub client_auth: ClientAuth,
    /// Whether the certificate of a server that we connect to is checked. Off is for labs.
    pub verify: bool,
    /// The name that the certificates of servers must carry when the function gave none; without
    /// either it is their address.
    pub peer_name: Option<String>,
}

impl Default for TlsSpec {
    fn default() -> Self {
        Self {
            certificate: None,
            key: None,
            roots: None,
            client_auth: ClientAuth::Off,
            verify: true,
            peer_name: None,
        }
    }
}

/// Why keys or trust cannot be used, with the file and the hint.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    /// A file that cannot be read or holds nothing usable.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Certificate without key or the other way round.
    #[error("a certificate and its key belong together: only one of them is given")]
    Half,
    /// Accepting without a certificate.
    #[error("accepting TLS connections needs a certificate and its key")]
    NoCertificate,
    /// Client certificates wanted, but nobody to trust.
    #[error("asking clients for certificates needs the roots that sign them")]
    NoRoots,
    /// Key and certificate do not fit, or rustls refuses them otherwise.
    #[error("certificate and key cannot be used: {0}")]
    Unusable(String),
}

/// What sessions are made from; shared by all connections of a port.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) server: Option<Arc<ServerConfig>>,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) peer_name: Option<String>,
    /// Whether certificates of servers are checked.
    pub(crate) verifies: bool,
}

type Identity = Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>;

impl Context {
    /// Reads the files. `accepts`: whether the port takes connections.
    ///
    /// # Errors
    /// Files missing or broken, a key that does not belong to the certificate, trust missing.
    pub fn load(spec: &TlsSpec, accepts: bool) -> Result<Self, TlsFileError> {
        let identity = identity(spec)?;
        if accepts && identity.is_none() {
            return Err(TlsFileError::NoCertificate);
        }
        let roots = Arc::new(roots(spec)?);
        let server = match &identity {
            Some(_) if accepts => Some(Arc::new(server(spec, &roots, &identity)?)),
            _ => None,
        };
        let client = Arc::new(client(spec, roots, identity)?);
        let peer_name = spec.peer_name.clone();
        Ok(Self { server, client, peer_name, verifies: spec.verify })
    }

    /// What connections to servers are made from, for whoever speaks TLS by another library.
    #[must_use]
    pub fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }

    /// Whether connections can be accepted.
    #[must_use]
    pub const fn accepts(&self) -> bool {
        self.server.is_some()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn unusable(error: impl std::fmt::Display) -> TlsFileError {
    TlsFileError::Unusable(error.to_string())
}

fn file_error(path: &Path, what: impl std::fmt::Display) -> TlsFileError {
    TlsFileError::File { path: path.to_owned(), what: what.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let items = CertificateDer::pem_file_iter(path).map_err(|error| file_error(path, error))?;
    let found: Result<Vec<_>, _> = items.take(CERTIFICATES_MAX).collect();
    let found = found.map_err(|error| file_error(path, error))?;
    if found.is_empty() {
        return Err(file_error(path, "no certificate in PEM form (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(found)
}

fn identity(spec: &TlsSpec) -> Result<Identity, TlsFileError> {
    let (certificate, key) = match (&spec.certificate, &spec.key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        _ => return Err(TlsFileError::Half),
    };
    let chain = certificates(certificate)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => {
            file_error(key, "no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
        }
        other => file_error(key, other),
    })?;
    Ok(Some((chain, key)))
}

fn roots(spec: &TlsSpec) -> Result<RootCertStore, TlsFileError> {
    let mut store = RootCertStore::empty();
    let Some(path) = &spec.roots else {
        // Without verification nobody asks them; reading the system's takes milliseconds.
        if spec.verify {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        return Ok(store);
    };
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| file_error(path, error))?;
    }
    Ok(store)
}

fn server(
    spec: &TlsSpec,
    roots: &Arc<RootCertStore>,
    identity: &Identity,
) -> Result<ServerConfig, TlsFileError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match client_verifier(spec, roots)? {
        None => builder.with_no_client_auth(),
        Some(verifier) => builder.with_client_cert_verifier(verifier),
    };
    let (chain, key) = identity
        .as_ref()
        .map(|(chain, key)| (chain.clone(), key.clone_key()))
        .ok_or(TlsFileError::NoCertificate)?;
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(unusable)?;
    config.session_storage = rustls::server::ServerSessionMemoryCache::new(SESSIONS_MAX);
    Ok(config)
}

fn client_verifier(
    spec: &TlsSpec,
    roots: &Arc<RootCertStore>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsFileError> {
    if spec.client_auth == ClientAuth::Off {
        return Ok(None);
    }
    if spec.roots.is_none() {
        return Err(TlsFileError::NoRoots);
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), provider());
    let builder = match spec.client_auth {
        ClientAuth::Optional => builder.allow_unauthenticated(),
        _ => builder,
    };
    builder.build().map(Some).map_err(unusable)
}

fn client(
    spec: &TlsSpec,
    roots: Arc<RootCertStore>,
    identity: Identity,
) -> Result<ClientConfig, TlsFileError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = if spec.verify {
        builder.with_root_certificates(roots)
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider())))
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(unusable)?,
    };
    config.resumption = rustls::client::Resumption::in_memory_sessions(SERVERS_MAX);
    Ok(config)
}

/// Believes every certificate, for labs; signatures are checked all the same.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
