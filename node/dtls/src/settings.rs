//! What all handshakes of a site share.

use crate::Certificate;
use dimpl::Config;
use machine::Duration;
use std::sync::Arc;

/// How long a handshake may take.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// Octets of a datagram that is sent.
pub(crate) const MTU: usize = 1_200;
/// The first wait for an answer; it doubles. A caller hears nothing while it lasts.
const FLIGHT_TIMER: Duration = Duration::from_millis(250);
const FLIGHT_RETRIES: usize = 7;
/// Datagrams of a handshake that wait for those before them.
const QUEUE_MAX: usize = 16;

/// What all handshakes of a site share.
#[derive(Debug, Clone)]
pub struct Settings {
    certificate: Certificate,
    pub(crate) config: Arc<Config>,
    pub(crate) profiles: Arc<[u16]>,
}

impl Settings {
    /// A site's certificate and the numbers of the SRTP profiles that it takes (RFC 5764 §4.1.2).
    /// The engine offers those that it has; others are refused after the handshake.
    ///
    /// # Panics
    /// Never: the limits of this crate are ones that the engine takes.
    #[must_use]
    pub fn new(certificate: Certificate, profiles: &[u16]) -> Self {
        let config = Self::config(None).expect("limits that the engine takes");
        Self { certificate, config: Arc::new(config), profiles: profiles.into() }
    }

    /// What engines are made of; with a seed, cookies of one are those of all.
    pub(crate) fn config(seed: Option<u64>) -> Option<Config> {
        let builder = Config::builder()
            .mtu(MTU)
            .max_queue_rx(QUEUE_MAX)
            .max_queue_tx(QUEUE_MAX)
            .require_client_certificate(true)
            .use_server_cookie(true)
            .flight_start_rto(FLIGHT_TIMER)
            .flight_retries(FLIGHT_RETRIES)
            .handshake_timeout(HANDSHAKE_MAX);
        let builder = match seed {
            Some(seed) => builder.dangerously_set_rng_seed(seed),
            None => builder,
        };
        builder.build().ok()
    }

    /// The certificate.
    #[must_use]
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}
