//! `tandem sctp server` and `client`: standard input and output over SCTP.

use crate::command::{SctpClient, SctpServer};
use crate::endpoint;
use crate::words;
use bytes::Bytes;
use client::Exit;
use machine::Time;
use runtime::Running;
use sctp::{Failure, In, Indication, Lost, Outgoing};
use sctp_stack::host::{self, Host, User};
use sctp_stack::{AssociationId, Peer, SctpEndpoint};
use std::io::{BufRead as _, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Lines that wait to be sent; the reader of standard input waits with the next one.
const ORDERS_MAX: usize = 64;
/// Events that wait to be printed; the endpoint waits with the next one.
const EVENTS_MAX: usize = 1_024;
/// Octets of a message; a longer line is several.
const LINE_MAX: u64 = 65_536;
/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the association to end in order after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// What the user is told to do.
enum Order {
    Send(Bytes),
    Shutdown,
    Abort,
}

/// What standard output and the caller are told.
enum Event {
    Data(Bytes),
    Told(AssociationId, Indication),
}

struct Talk {
    peer: Option<Peer>,
    orders: Receiver<Order>,
    events: SyncSender<Event>,
    /// The association that lines go to, once it stands.
    current: Option<AssociationId>,
    /// A line that found the send buffer full.
    waiting: Option<Bytes>,
    is_full: bool,
    streams: u16,
    stream: u16,
}

impl User for Talk {
    fn indicated(&mut self, _: &mut SctpEndpoint, _: Time, id: AssociationId, what: Indication) {
        let event = match what {
            Indication::Data(message) | Indication::DataPart(message, _) => {
                Event::Data(message.payload)
            }
            Indication::SendFailure(_, Failure::BufferFull) => {
                self.is_full = true;
                return;
            }
            Indication::SendBufferFree => {
                self.is_full = false;
                return;
            }
            other => {
                self.note(id, &other);
                Event::Told(id, other)
            }
        };
        // Whoever prints may have ended already.
        let _ = self.events.send(event);
    }

    fn pump(&mut self, endpoint: &mut SctpEndpoint, now: Time) {
        if let Some(peer) = self.peer.take()
            && endpoint.associate(now, &peer).is_err()
        {
            return; // cannot be: it is the first one
        }
        while let Some(id) = self.current.filter(|_| !self.is_full) {
            let order = match self.waiting.take() {
                Some(line) => Order::Send(line),
                None => match self.orders.try_recv() {
                    Ok(order) => order,
                    Err(_) => return,
                },
            };
            match order {
                Order::Send(line) => self.send(endpoint, now, id, line),
                Order::Shutdown => endpoint.wish(now, In::Shutdown(id)),
                Order::Abort => endpoint.wish(now, In::Abort(id, Bytes::new())),
            }
        }
    }
}

impl Talk {
    fn note(&mut self, id: AssociationId, what: &Indication) {
        match what {
            Indication::CommunicationUp(out, _) => {
                self.current = Some(id);
                self.streams = self.streams.min(*out).max(1);
                self.is_full = false;
            }
            Indication::ShutdownComplete | Indication::CommunicationLost(_)
                if self.current == Some(id) =>
            {
                self.current = None;
            }
            _ => {}
        }
    }

    fn send(&mut self, endpoint: &mut SctpEndpoint, now: Time, id: AssociationId, line: Bytes) {
        endpoint.wish(now, In::Send(id, Outgoing::new(self.stream, 0, line.clone())));
        while let Some((id, what)) = endpoint.next() {
            self.indicated(endpoint, now, id, what);
        }
        if self.is_full {
            self.waiting = Some(line);
        } else {
            self.stream = (self.stream + 1) % self.streams;
        }
    }
}

/// What the command does beside passing bytes on.
struct Options {
    json: bool,
    /// It began the association.
    is_client: bool,
    keep_open: bool,
}

/// Takes associations.
pub fn serve(asked: &SctpServer) -> Result<(), Exit> {
    let (config, _) = endpoint::read(&asked.endpoint, &[], 0)?;
    let options =
        Options { json: asked.endpoint.json, is_client: false, keep_open: asked.keep_open };
    run(config, None, 1, &options)
}

/// Associates with a server.
pub fn connect(asked: &SctpClient) -> Result<(), Exit> {
    let (config, peer) = endpoint::read(&asked.endpoint, &asked.peer, asked.peer_udp_port)?;
    let options =
        Options { json: asked.endpoint.json, is_client: true, keep_open: asked.keep_open };
    run(config, peer, asked.streams, &options)
}

fn run(
    config: sctp_stack::Config,
    peer: Option<Peer>,
    streams: u16,
    options: &Options,
) -> Result<(), Exit> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let (orders, ordered) = sync_channel(ORDERS_MAX);
    let (events, happened) = sync_channel(EVENTS_MAX);
    let (current, waiting, is_full, stream) = (None, None, false, 0);
    let user = Talk { peer, orders: ordered, events, current, waiting, is_full, streams, stream };
    let running = host::start(config, user).map_err(|error| Exit::Failed(error.to_string()))?;
    let running = Arc::new(running);
    host::pump(&running).map_err(|error| Exit::Failed(error.to_string()))?;
    let (reader, lines) = (Arc::clone(&running), orders.clone());
    let shuts_down = options.is_client && !options.keep_open;
    // It ends with the process: standard input cannot be left while it is being read.
    std::thread::spawn(move || read(&reader, &lines, shuts_down));
    let mut ending = Ending { ended, since: None, orders, running };
    print(&happened, options, &mut ending)
}

/// Passes standard input on, a line a message.
fn read(running: &Running<Host>, orders: &SyncSender<Order>, shuts_down: bool) {
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(LINE_MAX).read_until(b'\n', &mut line);
        let order = match read {
            Ok(0) | Err(_) if shuts_down => Order::Shutdown,
            Ok(0) | Err(_) => return,
            Ok(_) => Order::Send(line.into()),
        };
        let is_last = matches!(order, Order::Shutdown);
        if orders.send(order).is_err() || host::pump(running).is_err() || is_last {
            return;
        }
    }
}

/// What a signal brings about.
struct Ending {
    ended: Arc<AtomicBool>,
    since: Option<Instant>,
    orders: SyncSender<Order>,
    running: Arc<Running<Host>>,
}

impl Ending {
    /// Looks for a signal; true when the time for an orderly end is over.
    fn look(&mut self) -> bool {
        if !self.ended.load(SeqCst) {
            return false;
        }
        let is_first = self.since.is_none();
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_late = since.elapsed() > GRACE;
        if is_first || is_late {
            let order = if is_late { Order::Abort } else { Order::Shutdown };
            // Full of lines: then the time runs out.
            let _ = self.orders.try_send(order);
            // An endpoint that has failed has no association any more.
            let _ = host::pump(&self.running);
        }
        is_late || self.is_alone()
    }

    fn is_alone(&self) -> bool {
        let ask = runtime::Ask { path: "sctp/associations".into(), ..Default::default() };
        self.running.ask(ask).is_ok_and(|rows| rows.as_array().is_some_and(Vec::is_empty))
    }
}

/// Prints what happens until the association has ended.
fn print(happened: &Receiver<Event>, options: &Options, ending: &mut Ending) -> Result<(), Exit> {
    let mut was_up = false;
    loop {
        let event = match happened.recv_timeout(LOOK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) if ending.look() => return Ok(()),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Exit::Failed("the endpoint has failed".into()));
            }
        };
        match event {
            Event::Data(bytes) => {
                let mut output = std::io::stdout().lock();
                output.write_all(&bytes)?;
                output.flush()?;
            }
            Event::Told(id, what) => {
                tell(options.json, id, &what);
                was_up |= matches!(what, Indication::CommunicationUp(..));
                if let Some(end) = end(&what, options, was_up) {
                    return end;
                }
            }
        }
    }
}

/// How the command ends by what happened, if it does.
fn end(what: &Indication, options: &Options, was_up: bool) -> Option<Result<(), Exit>> {
    let goes_on = options.keep_open && !options.is_client;
    match what {
        Indication::ShutdownComplete if !goes_on => Some(Ok(())),
        Indication::CommunicationLost(Lost::UserAborted) if !goes_on => Some(Ok(())),
        Indication::CommunicationLost(lost) if !goes_on => {
            let what = format!("the association is lost: {}", words::why(*lost));
            let exit = if was_up { Exit::Failed(what) } else { Exit::Unreachable(what) };
            Some(Err(exit))
        }
        _ => None,
    }
}

fn tell(json: bool, id: AssociationId, what: &Indication) {
    let Some((words, object)) = words::of(id, what) else { return };
    // The end in words is the command's own last word.
    match (json, what) {
        (true, _) => eprintln!("{object}"),
        (false, Indication::CommunicationLost(_)) => {}
        (false, _) => eprintln!("tandem: {words}"),
    }
}
