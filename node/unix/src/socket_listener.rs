//! The listener and its connections, behind one descriptor.

use crate::Listen;
use crate::connection::Connection;
use crate::words::{Event, Order};
use channel::{Came, Channel};
use driver::{Interest, Poll, Waker, unix_socket};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

/// For its owner and root alone.
const MODE: u32 = 0o600;
/// Connections accepted at a time.
const ACCEPTS_MAX: usize = 64;
/// How long a connection that is closed may take to read what was sent.
const LINGER: Duration = Duration::from_secs(2);
const LISTENER: u64 = 0;
const NEWS: u64 = u64::MAX;

pub(crate) struct SocketListener {
    listen: Listen,
    listener: UnixListener,
    poll: Poll,
    /// Wakes whoever waits for the descriptor when there are news that no socket has.
    waker: Waker,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// A descriptor to give up where there is none to accept with.
    spare: Option<File>,
    /// Whether the listener is watched.
    is_listening: bool,
    /// What the function was not told yet.
    news: Vec<Vec<u8>>,
}

impl SocketListener {
    pub(crate) fn open(listen: Listen) -> io::Result<Self> {
        sweep(&listen.path)?;
        let listener = unix_socket::listen(&listen.path, MODE)?;
        let (poll, waker) = (Poll::new()?, Waker::new()?);
        poll.add(&listener, LISTENER, Interest::Read)?;
        poll.add(&waker, NEWS, Interest::Read)?;
        let (connections, news) = (BTreeMap::new(), Vec::new());
        Ok(Self {
            listen,
            listener,
            poll,
            waker,
            connections,
            next: 1,
            spare: spare(),
            is_listening: true,
            news,
        })
    }

    fn tell(&mut self, connection: u64, event: Event<'_>) {
        let mut message = Vec::new();
        event.write(connection, &mut message);
        self.news.push(message);
        self.waker.doze();
        self.waker.wake();
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_MAX {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if is_passing(error.kind()) => return,
                Err(_) => match self.turn_away() {
                    true => continue,
                    false => return,
                },
            };
            let Ok(user) = unix_socket::user_of(&stream) else { continue };
            if self.connections.len() >= self.listen.connections_max {
                self.sweep_closed();
            }
            let is_known = user == 0 || user == unix_socket::own_user();
            if !is_known || self.connections.len() >= self.listen.connections_max {
                continue; // closes it
            }
            let id = self.next;
            if stream.set_nonblocking(true).is_err()
                || self.poll.add(&stream, id, Interest::Read).is_err()
            {
                continue;
            }
            self.next += 1;
            self.connections.insert(id, Connection::new(stream));
            self.tell(id, Event::Up(user));
        }
    }

    /// There is no descriptor to accept with. The connection would stay, and this thread awake: it
    /// is accepted with the spare one, and closed. Whether that could be done; else the listener is
    /// watched again when something else happens.
    fn turn_away(&mut self) -> bool {
        let is_done = self.spare.take().is_some() && self.listener.accept().is_ok();
        self.spare = spare();
        if !is_done && self.poll.remove(&self.listener).is_ok() {
            self.is_listening = false;
        }
        is_done
    }

    fn listen_again(&mut self) {
        self.is_listening =
            self.is_listening || self.poll.add(&self.listener, LISTENER, Interest::Read).is_ok();
    }

    /// Who is closed and reads nothing has no place for ever.
    fn sweep_closed(&mut self) {
        let now = Instant::now();
        self.connections.retain(|_, it| it.closes_by.is_none_or(|by| now < by));
    }

    /// A connection is over. Closing ends the watch.
    fn remove(&mut self, id: u64, why: Option<&str>) {
        if self.connections.remove(&id).is_some()
            && let Some(why) = why
        {
            self.tell(id, Event::Down(why));
        }
    }

    /// Writes what a connection has room for, and watches for more as long as something waits.
    fn flush(&mut self, id: u64) {
        let queue_octets_max = self.listen.queue_octets_max;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let has_moved = match connection.flush() {
            Ok(has_moved) => has_moved,
            Err(error) => return self.remove(id, Some(&error.to_string())),
        };
        let left = connection.waiting();
        if left > queue_octets_max {
            return self.remove(id, Some("more waits for the program than its queue may hold"));
        }
        if left == 0 && connection.closes_by.is_some() {
            return self.remove(id, None);
        }
        let is_writing = left > 0;
        if std::mem::replace(&mut connection.is_writing, is_writing) != is_writing {
            let interest = if is_writing { Interest::ReadWrite } else { Interest::Read };
            // A descriptor that stands in the set can be changed.
            let _: io::Result<()> = self.poll.modify(&connection.stream, id, interest);
        }
        if has_moved {
            self.tell(id, Event::Written(left as u64));
        }
    }

    fn fill(&mut self, id: u64, take: &mut dyn FnMut(Came<'_>)) {
        let framing = self.listen.framing;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let mut message = Vec::new();
        let is_closing = connection.closes_by.is_some();
        let filled = connection.fill(framing, &mut |octets| {
            if !is_closing {
                message.clear();
                Event::Message(octets).write(id, &mut message);
                take(Came::Message(&message));
            }
        });
        if let Err(why) = filled {
            self.remove(id, Some(&why).filter(|_| !is_closing).map(|why| &**why));
        }
    }

    fn tell_news(&mut self, take: &mut dyn FnMut(Came<'_>)) {
        for message in std::mem::take(&mut self.news) {
            take(Came::Message(&message));
        }
    }
}

impl Channel for SocketListener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let ready = self.poll.wait(Some(Duration::ZERO)).map_err(|error| error.to_string())?;
        let ready: Vec<_> = ready.to_vec();
        self.listen_again();
        // What a connection says comes behind the news that it stands.
        for it in &ready {
            match it.token {
                NEWS => self.waker.clear(),
                LISTENER => self.accept(),
                _ => {}
            }
        }
        self.tell_news(take);
        let left = self.connections.iter().filter(|it| it.1.has_more).map(|it| *it.0);
        let left: Vec<u64> = left.collect();
        left.iter().for_each(|id| self.fill(*id, take));
        for it in ready.iter().filter(|it| !matches!(it.token, NEWS | LISTENER)) {
            if it.readable && !left.contains(&it.token) {
                self.fill(it.token, take);
            }
            if it.writable {
                self.flush(it.token);
            }
        }
        self.tell_news(take);
        self.waker.clear();
        if self.connections.values().any(|it| it.has_more) {
            self.waker.doze();
            self.waker.wake();
        }
        Ok(())
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        let (mut rest, mut touched) = (&messages[..], Vec::new());
        while let Some((id, order, behind)) = Order::read(rest) {
            rest = behind;
            if let Some(connection) = self.connections.get_mut(&id) {
                match order {
                    Order::Send(octets) => connection.push(octets),
                    Order::Close => connection.closes_by = Some(Instant::now() + LINGER),
                }
                touched.push(id);
            }
        }
        touched.dedup();
        touched.into_iter().for_each(|id| self.flush(id));
        Ok(())
    }

    /// What waits is watched for inside.
    fn waits(&self) -> bool {
        false
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        // Somebody has removed it: nothing is left to do.
        let _ = fs::remove_file(&self.listen.path);
    }
}

/// Whether accepting again may do, or nobody is there.
fn is_passing(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Removes what a process left that is gone: a socket at which nobody listens.
fn sweep(path: &Path) -> io::Result<()> {
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        about => about?,
    };
    let is_refused = || {
        let tried = unix_socket::connect(path);
        tried.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    match about.file_type().is_socket() && is_refused() {
        true => fs::remove_file(path),
        false => Err(ErrorKind::AddrInUse.into()),
    }
}
