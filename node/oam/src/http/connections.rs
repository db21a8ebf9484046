//! The connections of the API: how many there are, how long each may take, and who makes room when
//! there are as many as there may be.

use axum::Router;
use axum::body::Body;
use futures_util::StreamExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep};
use tower::ServiceExt as _;

/// Connections at the same time.
pub const CONNECTIONS_MAX: usize = 512;
/// Time for the head of a request, from when the connection waits for it: an idle connection ends
/// with it.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Time for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(15);
/// Time in which the far end takes nothing of an answer.
const STALL_TIME: Duration = Duration::from_secs(30);
/// Pause after the kernel refused to accept (out of files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is known of a connection; requests carry it as an extension.
#[derive(Debug)]
pub struct Seat {
    source: IpAddr,
    since: Instant,
    /// Some request on it has carried a token or a session.
    is_known: AtomicBool,
    displaced: Notify,
}

impl Seat {
    /// A request on the connection was authenticated.
    pub fn is_known(&self) {
        self.is_known.store(true, Relaxed);
    }
}

/// All connections.
#[derive(Debug, Default)]
struct Seats {
    taken: Mutex<(u64, BTreeMap<u64, Arc<Seat>>)>,
}

impl Seats {
    fn taken(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Arc<Seat>>)> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a newcomer. When all are taken, one makes room: of those that nobody has proved
    /// to be his before those known, of the source with the most before others, the oldest.
    fn take(&self, source: IpAddr) -> (u64, Arc<Seat>) {
        let mut taken = self.taken();
        let (next, seats) = &mut *taken;
        if seats.len() >= CONNECTIONS_MAX {
            let mut counts: HashMap<IpAddr, usize> = HashMap::new();
            seats.values().for_each(|seat| *counts.entry(seat.source).or_default() += 1);
            let rank = |seat: &Arc<Seat>| {
                let count = counts.get(&seat.source).copied().unwrap_or_default();
                (seat.is_known.load(Relaxed), usize::MAX - count, seat.since)
            };
            let victim = seats.iter().min_by_key(|(_, seat)| rank(seat)).map(|(id, _)| *id);
            if let Some(seat) = victim.and_then(|id| seats.remove(&id)) {
                seat.displaced.notify_one();
            }
        }
        let seat = Arc::new(Seat {
            source: source.to_canonical(),
            since: Instant::now(),
            is_known: AtomicBool::new(false),
            displaced: Notify::new(),
        });
        let id = *next;
        *next += 1;
        seats.insert(id, Arc::clone(&seat));
        (id, seat)
    }

    fn leave(&self, id: u64) {
        self.taken().1.remove(&id);
    }
}

/// Serves until `stopped`; connections that stand go on.
pub async fn serve(listener: TcpListener, router: Router, mut stopped: oneshot::Receiver<()>) {
    let seats = Arc::new(Seats::default());
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve_one(stream, from.ip(), Arc::clone(&seats), router.clone()));
            }
            Err(error) => {
                tracing::warn!(target: "oam", %error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_one(stream: TcpStream, from: IpAddr, seats: Arc<Seats>, router: Router) {
    let (id, seat) = seats.take(from);
    let of_requests = Arc::clone(&seat);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(|body| timed(Body::new(body)));
        request.extensions_mut().insert(Arc::clone(&of_requests));
        router.clone().oneshot(request)
    });
    let stream = TokioIo::new(Stalling { stream, stalled: None });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(stream, service)
        .with_upgrades();
    tokio::select! {
        // How a connection ends is the far end's own affair.
        _ = connection => {}
        () = seat.displaced.notified() => {}
    }
    seats.leave(id);
}

/// A body that must have come within its time.
fn timed(body: Body) -> Body {
    let deadline = Instant::now() + BODY_TIME;
    let stream = body.into_data_stream();
    Body::from_stream(futures_util::stream::unfold(stream, move |mut stream| async move {
        match tokio::time::timeout_at(deadline, stream.next()).await {
            Ok(item) => item.map(|item| (item, stream)),
            Err(_) => {
                let late = io::Error::new(io::ErrorKind::TimedOut, "the body came too slowly");
                Some((Err(axum::Error::new(late)), stream))
            }
        }
    }))
}

/// A connection whose far end must take what is written within its time.
struct Stalling {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for Stalling {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_TIME)));
        stalled
            .as_mut()
            .poll(context)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the far end takes nothing")))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stranger_of_the_busiest_source_makes_room_and_known_ones_stay() {
        let seats = Seats::default();
        let (known, seat) = seats.take([127, 0, 0, 1].into());
        seat.is_known();
        let crowd: Vec<u64> =
            (0..CONNECTIONS_MAX - 2).map(|_| seats.take([10, 0, 0, 1].into()).0).collect();
        let (other, _) = seats.take([10, 0, 0, 2].into());
        let (newcomer, _) = seats.take([10, 0, 0, 3].into());
        let taken = seats.taken();
        assert_eq!(taken.1.len(), CONNECTIONS_MAX);
        assert!(!taken.1.contains_key(&crowd[0]), "the oldest of the crowd");
        assert!([known, other, newcomer, crowd[1]].iter().all(|id| taken.1.contains_key(id)));
    }
}
