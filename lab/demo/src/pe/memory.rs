//! Hosts in this process, at the ends of two memifs: no root, no namespaces, no ping(8).

use super::INTERVAL;
use super::echo::{self, Echoes, End};
use graph::{Pool, STRIDE, Slot};
use ports::{MemifPort, Port, memif};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const A: End = End { mac: [2, 0, 0, 1, 0, 2], edge: [2, 0, 0, 1, 0, 1], address: [198, 18, 1, 2] };
const B: End = End { mac: [2, 0, 0, 2, 0, 2], edge: [2, 0, 0, 2, 0, 1], address: [198, 18, 2, 2] };
const CELLS: usize = 1_024;
/// Between two looks at the ports, and at their state.
const LOOK: Duration = Duration::from_micros(200);
const ATTEND: Duration = Duration::from_millis(20);

/// Two hosts. Dropping it ends them.
pub(super) struct Memory {
    sockets: [PathBuf; 2],
    is_over: Arc<AtomicBool>,
    echoes: Arc<Mutex<Echoes>>,
    thread: Option<JoinHandle<()>>,
}

impl Memory {
    pub(super) fn new(directory: &Path) -> Self {
        let sockets = ["a", "b"].map(|name| directory.join(format!("{name}.memif")));
        let (is_over, echoes) = (Arc::default(), Arc::default());
        Self { sockets, is_over, echoes, thread: None }
    }

    pub(super) fn text(&self) -> String {
        let [a, b] = &self.sockets;
        [("a", a, &A), ("b", b, &B)]
            .map(|(name, socket, end)| {
                let (edge, mac) = (text_of(end.edge), text_of(end.mac));
                let [w, x, y, z] = end.address;
                format!(
                    "[[pe.port]]\nname = \"{name}\"\ndriver = \"memif\"\nsocket = {socket:?}\n\
                    master = true\nmac = \"{edge}\"\n[[pe.neighbour]]\ninterface = \"{name}\"\n\
                    address = \"{w}.{x}.{y}.{z}\"\nmac = \"{mac}\"\n"
                )
            })
            .concat()
    }

    /// Host a pings host b from now on.
    pub(super) fn ping(&mut self) -> anyhow::Result<()> {
        let open = |socket: &Path, end: &End| {
            let spec = memif::Spec::new(socket, 0, memif::Role::Slave, end.mac);
            MemifPort::open(&spec).map(Port::Memif)
        };
        let ports = [open(&self.sockets[0], &A)?, open(&self.sockets[1], &B)?];
        let (is_over, echoes) = (Arc::clone(&self.is_over), Arc::clone(&self.echoes));
        let mut hosts = Both::new(ports);
        self.thread = Some(thread::spawn(move || {
            while !is_over.load(Relaxed) {
                hosts.round(&echoes);
                thread::sleep(LOOK);
            }
        }));
        Ok(())
    }

    pub(super) fn echoes(&self) -> Echoes {
        self.echoes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        // A host that failed has been noticed: it answered nothing.
        self.thread.take().map(JoinHandle::join);
    }
}

/// A MAC address as the site file writes it.
fn text_of(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

/// Both hosts, on one thread.
struct Both {
    ports: [Port; 2],
    pool: Pool,
    slots: Vec<Slot>,
    next: u16,
    /// The request that was sent last, and when.
    asked: (u16, Instant),
    attended: Instant,
}

impl Both {
    fn new(ports: [Port; 2]) -> Self {
        let (pool, slots, now) = (Pool::new(CELLS, STRIDE), Vec::new(), Instant::now());
        Self { ports, pool, slots, next: 1, asked: (0, now), attended: now }
    }

    /// A look at both ports, and a request when it is due.
    fn round(&mut self, echoes: &Mutex<Echoes>) {
        let now = Instant::now();
        let Self { ports: [a, b], pool, slots, .. } = self;
        if now.duration_since(self.attended) > ATTEND {
            a.attend(pool);
            b.attend(pool);
            self.attended = now;
        }
        a.receive(pool, slots);
        for sequence in slots.iter().filter_map(|slot| echo::answered(&A, pool.bytes(*slot))) {
            // A reply that is later than the next request says nothing of its time.
            let since = if sequence == self.asked.0 { self.asked.1 } else { now };
            let time = now.duration_since(since).as_micros() as u64;
            echoes.lock().unwrap_or_else(PoisonError::into_inner).add(sequence, time);
        }
        pool.free_all(slots);
        slots.clear();
        b.receive(pool, slots);
        let replies: Vec<_> =
            slots.iter().filter_map(|slot| echo::reply(&B, pool.bytes(*slot))).collect();
        pool.free_all(slots);
        slots.clear();
        slots.extend(replies.iter().filter_map(|frame| pool.put(frame)));
        b.send(pool, slots);
        let is_due = now.duration_since(self.asked.1) >= INTERVAL;
        if is_due && a.is_up() && b.is_up() {
            slots.extend(pool.put(&echo::request(&A, &B, self.next)));
            self.asked = (self.next, now);
            self.next = self.next.wrapping_add(1);
            a.send(pool, slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_file_has_both_ports_and_who_is_behind_them() {
        let text = Memory::new(Path::new("/somewhere")).text();
        assert!(text.contains("socket = \"/somewhere/a.memif\""), "{text}");
        assert!(text.contains("mac = \"02:00:00:02:00:01\""), "{text}");
        assert!(text.contains("address = \"198.18.2.2\"\nmac = \"02:00:00:02:00:02\""), "{text}");
    }
}
