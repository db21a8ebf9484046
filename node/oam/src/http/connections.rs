//! The listener of the API: connections with a place each, and time-outs on all that a peer may
//! draw out.
//!
//! ```text
//!   accept    a place, at once; none free: the oldest connection without a token, of the
//!             source that holds most, loses its own; where all have shown one, the oldest of
//!             the token that holds most
//!   head      within Limits::head, of a new connection and of one that is kept open
//!   body      within Limits::body (the layer in mod.rs; answered with 408)
//!   answer    a write that moves nothing for Limits::stall ends the connection
//! ```
//!
//! Nobody waits for a place: whoever asks for `/livez` is heard while others hold all the rest.

pub use super::limits::{Limits, Source};
use super::stream::{Arrived, Listener, Stream};
use crate::core::Core;
use crate::metrics::OamMetric;
use crate::token::{Authenticator, Principal};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::future::Future as _;
use std::io;

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{oneshot, watch};
use tokio::time::Sleep;
use tower::ServiceExt as _;

/// Pause after the kernel refused to accept (out of files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// While all places are taken, the tokens of those that stand are looked at this often.
const RECHECK: Duration = Duration::from_secs(1);

/// A connection, as its requests see it.
#[derive(Debug)]
pub struct Connection {
    /// Where it comes from.
    pub source: Source,
    /// Who the kernel says it is, over the socket of this machine.
    pub user: Option<Principal>,
    /// Whose token or session its last request carried.
    principal: Mutex<Option<Principal>>,
    /// Taken or dropped: the connection ends.
    end: Mutex<Option<oneshot::Sender<()>>>,
}

impl Connection {
    /// A request of this connection carried a valid token or session, or none (any more).
    pub fn prove(&self, principal: Option<&Principal>) {
        *lock(&self.principal) = principal.cloned();
    }

    fn name(&self) -> Option<Arc<str>> {
        lock(&self.principal).as_ref().map(|principal| Arc::clone(&principal.name))
    }

    fn end(&self) {
        drop(lock(&self.end).take());
    }
}

/// The connections that stand, by their number: lower is older.
#[derive(Debug, Default)]
struct Connections {
    all: BTreeMap<u64, Arc<Connection>>,
    weights: HashMap<Source, usize>,
    next: u64,
    rechecked: Option<Instant>,
}

impl Connections {
    fn take(
        &mut self,
        source: Source,
        user: Option<Principal>,
    ) -> (u64, Arc<Connection>, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let principal = Mutex::new(user.clone());
        let connection = Connection { source, user, principal, end: Mutex::new(Some(end)) };
        let (number, connection) = (self.next, Arc::new(connection));
        self.next += 1;
        self.all.insert(number, Arc::clone(&connection));
        *self.weights.entry(source).or_default() += 1;
        (number, connection, ended)
    }

    fn free(&mut self, number: u64) -> Option<Arc<Connection>> {
        let connection = self.all.remove(&number)?;
        if let Some(weight) = self.weights.get_mut(&connection.source) {
            *weight -= 1;
            if *weight == 0 {
                self.weights.remove(&connection.source);
            }
        }
        Some(connection)
    }

    /// Who makes room for the newcomer: without a token first, of the source that holds most, the
    /// oldest; else the oldest of the token that holds most.
    fn victim(&self, newcomer: u64) -> Option<u64> {
        let names: Vec<_> =
            self.others(newcomer).map(|(_, connection)| connection.name()).collect();
        let mut tokens: HashMap<&str, usize> = HashMap::new();
        for name in names.iter().flatten() {
            *tokens.entry(name).or_default() += 1;
        }
        let key = |((number, connection), name): ((u64, &Connection), &Option<Arc<str>>)| {
            let weight = match name {
                Some(name) => tokens.get(&**name).copied(),
                None => self.weights.get(&connection.source).copied(),
            };
            (name.is_some(), Reverse(weight), number)
        };
        self.others(newcomer).zip(&names).map(key).min().map(|(_, _, number)| number)
    }

    fn others(&self, newcomer: u64) -> impl Iterator<Item = (u64, &Connection)> {
        let connections = self.all.iter().map(|(&number, connection)| (number, &**connection));
        connections.filter(move |&(number, _)| number != newcomer)
    }

    /// Who stands with a token that has been revoked stands without one.
    fn recheck(&mut self, authenticator: &Authenticator) {
        if self.rechecked.is_some_and(|at| at.elapsed() < RECHECK) {
            return;
        }
        self.rechecked = Some(Instant::now());
        let mut known: Vec<(Principal, bool)> = Vec::new();
        for connection in self.all.values() {
            let mut proved = lock(&connection.principal);
            let Some(principal) = &*proved else { continue };
            let found = known.iter().find(|(one, _)| one.is_same(principal)).map(|it| it.1);
            let is_valid = found.unwrap_or_else(|| {
                let is_valid = authenticator.is_valid(principal);
                known.push((principal.clone(), is_valid));
                is_valid
            });
            if !is_valid {
                *proved = None;
            }
        }
    }
}

type Shared = Arc<Mutex<Connections>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single call: what a panicking thread left behind is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that holds its place, an upgraded one too.
struct WatchedStream {
    stream: Stream,
    ended: oneshot::Receiver<()>,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    number: u64,
    connections: Shared,
    core: Arc<Core>,
}

impl WatchedStream {
    fn shed(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match Pin::new(&mut self.ended).poll(context) {
            Poll::Ready(_) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// What the peer does not take within the time ends it.
    fn watched<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(stalled.as_mut().poll(context));
        self.core.metrics.add(OamMetric::Slow, 1);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        lock(&self.connections).free(self.number);
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.shed(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shed(context)?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Serves until the other end of `open` is dropped; answers under way may end.
pub async fn serve(core: Arc<Core>, listener: Listener, mut open: watch::Receiver<()>) {
    let router = super::router(&core);
    let connections = Shared::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = open.changed() => return,
        };
        match accepted {
            Ok(arrived) => {
                let (stream, connection) = admit(&core, &connections, arrived);
                let (router, open) = (router.clone(), open.clone());
                tokio::spawn(serve_connection(core.limits, router, stream, connection, open));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                core.metrics.add(OamMetric::Unauthorized, 1);
                core.log_refused(Some(Source::MACHINE), 403, &error.to_string());
            }
            Err(error) => {
                tracing::warn!(target: "oam", %error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn admit(core: &Arc<Core>, shared: &Shared, arrived: Arrived) -> (WatchedStream, Arc<Connection>) {
    let Arrived { stream, source, user } = arrived;
    let mut connections = lock(shared);
    let (number, connection, ended) = connections.take(source, user);
    if connections.all.len() > core.limits.connections_max {
        connections.recheck(&core.authenticator);
        if let Some(victim) = connections.victim(number).and_then(|number| connections.free(number))
        {
            victim.end();
            core.metrics.add(OamMetric::Shed, 1);
        }
    }
    drop(connections);
    let stream = WatchedStream {
        stream,
        ended,
        stall: core.limits.stall,
        stalled: None,
        number,
        connections: Arc::clone(shared),
        core: Arc::clone(core),
    };
    (stream, connection)
}

async fn serve_connection(
    limits: Limits,
    router: Router,
    stream: WatchedStream,
    connection: Arc<Connection>,
    mut open: watch::Receiver<()>,
) {
    let core = Arc::clone(&stream.core);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&connection));
        router.clone().oneshot(request.map(Body::new))
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        _ = open.changed() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if ended.is_err_and(|error| error.is_timeout()) {
        core.metrics.add(OamMetric::Slow, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Role, Tokens};
    use std::net::SocketAddr;

    fn source(text: &str) -> Source {
        Source::from(SocketAddr::new(text.parse().unwrap(), 1))
    }

    const FIRST: &str = "the-first-of-all";

    #[test]
    fn room_is_made_by_the_source_that_holds_most_its_oldest_first() {
        let mut connections = Connections::default();
        let folder = tempfile::tempdir().unwrap();
        let authenticator = Authenticator::new(FIRST, Tokens::new(folder.path().join("tokens")));
        let (few, _, _a) = connections.take(source("192.0.2.1"), None);
        let (proved, connection, _b) = connections.take(source("192.0.2.2"), None);
        connection.prove(authenticator.authenticate(FIRST).as_ref());
        let (oldest, _, _c) = connections.take(source("192.0.2.2"), None);
        let (newest, _, _d) = connections.take(source("192.0.2.2"), None);
        let (newcomer, _, _e) = connections.take(source("192.0.2.3"), None);
        for expected in [oldest, newest, few, proved] {
            assert_eq!(connections.victim(newcomer), Some(expected));
            connections.free(expected);
        }
        assert!(connections.victim(newcomer).is_none() && connections.free(newcomer).is_some());
        assert!(connections.weights.is_empty());
    }

    #[test]
    fn of_those_who_have_shown_a_token_the_one_that_holds_most_makes_room_and_a_revoked_one_first()
    {
        let mut connections = Connections::default();
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(folder.path().join("tokens"));
        let authenticator = Authenticator::new(FIRST, tokens.clone());
        let monitor = tokens.make(0, "prometheus", Role::Monitor).unwrap();
        let gone = tokens.make(0, "gone", Role::Monitor).unwrap();
        let mut admit = |token: &str| {
            let (number, connection, ended) = connections.take(source("192.0.2.1"), None);
            connection.prove(authenticator.authenticate(token).as_ref());
            (number, ended)
        };
        let admitted = [FIRST, &monitor, &gone, &monitor].map(&mut admit);
        let (newcomer, _ended) = admit("");
        assert_eq!(
            connections.victim(newcomer),
            Some(admitted[1].0),
            "of who holds most the oldest"
        );
        tokens.revoke("gone").unwrap();
        connections.recheck(&authenticator);
        assert_eq!(connections.victim(newcomer), Some(admitted[2].0), "who has none any more");
    }

    #[test]
    fn a_source_is_an_address_or_a_64() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_ne!(source("::1"), source("::2"));
    }
}
