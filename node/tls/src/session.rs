//! One TLS connection, without a socket: bytes in, bytes out.
//!
//! ```text
//!   from the network → process() ─┬→ plain   application data
//!                                 └→ wire    what must go back (handshake, tickets, alerts)
//!   application data → encrypt() ──→ wire
//! ```

use crate::context::Context;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use webpki::EndEntityCert;

/// Names of one certificate that are looked at.
const PEER_NAMES_MAX: usize = 64;
/// Room that records add to application data: 16 KB each, with header, nonce and tag.
const fn with_records(bytes: usize) -> usize {
    bytes + (bytes / 16_384 + 2) * 64
}
/// Room for most handshake records; larger ones ask for more.
const RECORD_ROOM: usize = 4_096;
/// Records that wait to go out when something else is wanted: tickets, key updates, an alert.
const ALERTS_MAX: usize = 16;
/// Steps of rustls for one call of [`Session::process`]; far more than any buffer holds records.
const STEPS_MAX: usize = 100_000;

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The handshake runs.
    Shaking,
    /// Application data may be sent.
    Open,
    /// The far end has said that nothing more comes.
    Closed,
}

/// One side of a TLS connection.
pub struct Session {
    side: Side,
    /// Bytes from the network that are not done with. rustls keeps places in them, so that it must
    /// see them at every call.
    pending: Vec<u8>,
    /// After an error rustls must not be asked again.
    over: bool,
    /// Whether the far end's certificate was checked.
    verified: bool,
}

enum Side {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

/// What one step of rustls asks for.
enum Step {
    Again,
    Stop(Progress),
}

impl Session {
    /// The accepting side.
    ///
    /// # Errors
    /// The context has no certificate.
    pub fn server(context: &Context) -> Result<Self, rustls::Error> {
        let config = context.server.as_ref().ok_or(rustls::Error::NoCertificatesPresented)?;
        let connection = UnbufferedServerConnection::new(Arc::clone(config))?;
        let side = Side::Server(Box::new(connection));
        Ok(Self { side, pending: Vec::new(), over: false, verified: true })
    }

    /// The connecting side. The far end's certificate must carry `name`, or the context's
    /// `peer_name`, or `address`.
    ///
    /// # Errors
    /// The name is none that a certificate can carry.
    pub fn client(
        context: &Context,
        name: Option<&str>,
        address: IpAddr,
    ) -> Result<Self, rustls::Error> {
        let name = match name.or(context.peer_name.as_deref()) {
            None => ServerName::from(address),
            Some(name) => ServerName::try_from(name.to_owned()).map_err(|_| {
                rustls::Error::General(format!("no name for a certificate: {name}"))
            })?,
        };
        let connection = UnbufferedClientConnection::new(Arc::clone(&context.client), name)?;
        let side = Side::Client(Box::new(connection));
        Ok(Self { side, pending: Vec::new(), over: false, verified: context.verifies })
    }

    /// Bytes of the last [`Session::process`] that make no whole record yet. The next call's
    /// `incoming` begins with them.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Takes bytes from the network: what was pending, then what came (nothing, to start a
    /// client). Application data is appended to `plain`, what must go back to `wire`.
    ///
    /// # Errors
    /// The far end offends against TLS or shows no certificate that we trust; `wire` then ends
    /// with the alert that says so.
    pub fn process(
        &mut self,
        incoming: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<Progress, rustls::Error> {
        if self.over {
            return Err(over());
        }
        let pending = &mut self.pending;
        pending.clear();
        let outcome = match &mut self.side {
            Side::Server(connection) => {
                guard(|| process(&mut **connection, incoming, pending, plain, wire))
            }
            Side::Client(connection) => {
                guard(|| process(&mut **connection, incoming, pending, plain, wire))
            }
        };
        self.over = outcome.is_err();
        outcome
    }

    /// Appends the records that carry `plain` to `wire`.
    ///
    /// # Errors
    /// The session is not open, or its keys are used up.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), rustls::Error> {
        if self.over {
            return Err(over());
        }
        let pending = &mut self.pending;
        match &mut self.side {
            Side::Server(connection) => encrypt(&mut **connection, pending, plain, wire),
            Side::Client(connection) => encrypt(&mut **connection, pending, plain, wire),
        }
    }

    /// Appends the alert that says that nothing more comes.
    pub fn close(&mut self, wire: &mut Vec<u8>) {
        if self.over {
            return;
        }
        let pending = &mut self.pending;
        match &mut self.side {
            Side::Server(connection) => close(&mut **connection, pending, wire),
            Side::Client(connection) => close(&mut **connection, pending, wire),
        }
    }

    /// The names that the far end's certificate carries and that a root we trust has signed: DNS
    /// names, and URIs as they are written (`sip:example.org`; RFC 5922 §7.1). Empty when it
    /// showed none, or when certificates are not checked.
    #[must_use]
    pub fn peer_names(&self) -> Vec<String> {
        let chain = match &self.side {
            Side::Server(connection) => connection.peer_certificates(),
            Side::Client(_) if !self.verified => None,
            Side::Client(connection) => connection.peer_certificates(),
        };
        let first = chain.and_then(|chain| chain.first());
        let Some(certificate) = first.and_then(|der| EndEntityCert::try_from(der).ok()) else {
            return Vec::new();
        };
        let names = certificate.valid_uri_names().chain(certificate.valid_dns_names());
        names.take(PEER_NAMES_MAX).map(str::to_owned).collect()
    }

    /// Whether the handshake was shortened by an earlier session (TLS 1.2 and 1.3).
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        let kind = match &self.side {
            Side::Server(connection) => connection.handshake_kind(),
            Side::Client(connection) => connection.handshake_kind(),
        };
        kind == Some(rustls::HandshakeKind::Resumed)
    }
}

fn over() -> rustls::Error {
    rustls::Error::General(String::from("the session is over"))
}

/// What both sides of rustls have in common.
trait Records {
    type Data;

    fn records<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Records for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn records<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }
}

impl Records for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn records<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }
}

/// What strangers send must never end a shard: a panic of the library ends the session only.
fn guard<T>(work: impl FnOnce() -> Result<T, rustls::Error>) -> Result<T, rustls::Error> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(rustls::Error::General(String::from("the TLS library panicked"))))
}

/// Drives rustls over `incoming` until it needs more; what is left goes to `pending`.
fn process<R: Records>(
    connection: &mut R,
    incoming: &mut [u8],
    pending: &mut Vec<u8>,
    plain: &mut Vec<u8>,
    wire: &mut Vec<u8>,
) -> Result<Progress, rustls::Error> {
    let mut done = 0;
    for _ in 0..STEPS_MAX {
        let status = connection.records(&mut incoming[done..]);
        done += status.discard;
        match status.state.and_then(|state| handle(state, plain, wire)) {
            Ok(Step::Again) => {}
            Ok(Step::Stop(progress)) => {
                pending.extend_from_slice(&incoming[done..]);
                return Ok(progress);
            }
            Err(error) => {
                alert(connection, &mut incoming[done..], wire);
                return Err(error);
            }
        }
    }
    Err(rustls::Error::General(String::from("the session makes no progress")))
}

/// Takes the alert that follows an error.
fn alert<R: Records>(connection: &mut R, rest: &mut [u8], wire: &mut Vec<u8>) {
    if let Ok(state @ ConnectionState::EncodeTlsData(_)) = connection.records(rest).state {
        // One that does not fit anywhere is not sent; the session is over either way.
        let _ = handle(state, &mut Vec::new(), wire);
    }
}

fn handle<Data>(
    state: ConnectionState<'_, '_, Data>,
    plain: &mut Vec<u8>,
    wire: &mut Vec<u8>,
) -> Result<Step, rustls::Error> {
    match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                plain.extend_from_slice(record?.payload);
            }
            Ok(Step::Again)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            append(wire, RECORD_ROOM, |room| {
                data.encode(room).map_err(|error| match error {
                    EncodeError::InsufficientSize(need) => Some(need.required_size),
                    EncodeError::AlreadyEncoded => None,
                })
            })?;
            Ok(Step::Again)
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done(); // it stands in `wire`, which the caller sends
            Ok(Step::Again)
        }
        ConnectionState::BlockedHandshake => Ok(Step::Stop(Progress::Shaking)),
        ConnectionState::WriteTraffic(_) => Ok(Step::Stop(Progress::Open)),
        ConnectionState::PeerClosed | ConnectionState::Closed => Ok(Step::Stop(Progress::Closed)),
        // Early data is not offered by our configuration.
        _ => Err(rustls::Error::General(String::from("early data was not offered"))),
    }
}

fn encrypt<R: Records>(
    connection: &mut R,
    pending: &mut Vec<u8>,
    plain: &[u8],
    wire: &mut Vec<u8>,
) -> Result<(), rustls::Error> {
    for _ in 0..ALERTS_MAX {
        let status = connection.records(pending);
        let discard = status.discard;
        let step = match status.state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                return append(wire, with_records(plain.len()), |room| {
                    traffic.encrypt(plain, room).map_err(|error| match error {
                        EncryptError::InsufficientSize(need) => Some(need.required_size),
                        EncryptError::EncryptExhausted => None,
                    })
                });
            }
            // Session tickets and key updates go first.
            state => handle(state, &mut Vec::new(), wire)?,
        };
        pending.drain(..discard);
        if matches!(step, Step::Stop(_)) {
            break;
        }
    }
    Err(rustls::Error::HandshakeNotComplete)
}

fn close<R: Records>(connection: &mut R, pending: &mut Vec<u8>, wire: &mut Vec<u8>) {
    for _ in 0..ALERTS_MAX {
        let status = connection.records(pending);
        let discard = status.discard;
        match status.state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                // A session whose keys are used up ends without the courtesy.
                let _ = append(wire, RECORD_ROOM, |room| {
                    traffic.queue_close_notify(room).map_err(|error| match error {
                        EncryptError::InsufficientSize(need) => Some(need.required_size),
                        EncryptError::EncryptExhausted => None,
                    })
                });
                return;
            }
            Ok(state) => match handle(state, &mut Vec::new(), wire) {
                Ok(Step::Again) => drop(pending.drain(..discard)),
                _ => return,
            },
            Err(_) => return,
        }
    }
}

/// Lets `write` append to `wire`; it says how much it wrote, or how much room it needs.
fn append(
    wire: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), rustls::Error> {
    let start = wire.len();
    wire.resize(start + room, 0);
    let mut outcome = write(&mut wire[start..]);
    if let Err(Some(need)) = outcome {
        wire.resize(start + need, 0);
        outcome = write(&mut wire[start..]);
    }
    wire.truncate(start + outcome.unwrap_or(0));
    outcome.map(drop).map_err(|_| rustls::Error::EncryptError)
}
