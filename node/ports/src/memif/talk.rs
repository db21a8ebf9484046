//! What master and slave say until they agree on memory and rings.
//!
//! ```text
//!   slave  → connects                    master → Hello: what it takes
//!          → Init, AddRegion, AddRing …         → Ack for each
//!          → Connect                            → Connected
//! ```
//! The slave makes the memory; it sends its next message when the one before is acknowledged.

use super::control::{Connection, LOG2_SIZE_MAX, Role, SLOW, Spec};
use super::message::{self, AddRing, Hello, Message, SECRET, VERSION};
use super::queue::{Buffers, Queue};
use crate::bell::{Bell, Interrupt};
use crate::shared::{Ring, Segment, eventfd};
use driver::Timed;
use machine::narrow;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// Pieces of memory of one slave.
const REGIONS_MAX: u16 = 256;
/// Messages that are looked at in one go.
const MESSAGES_MAX: usize = 256;
/// Ethernet, not IP.
const MODE_ETHERNET: u8 = 0;

/// A ring that the slave has added.
#[derive(Debug)]
struct Added {
    about: AddRing,
    interrupt: Arc<Interrupt>,
}

/// Why a connection ends, as the other side is told.
pub(super) type Refusal = &'static str;

/// How far two ends are that do not agree yet.
#[derive(Debug)]
pub(super) struct Talk {
    spec: Spec,
    bell: Arc<Bell>,
    pub socket: OwnedFd,
    pub since: Instant,
    pub is_greeted: bool,
    /// Calls that wake the other end: at the socket, and at its interrupts.
    timed: Timed,
    segments: Vec<Arc<Segment>>,
    rings: Vec<Added>,
    /// What a slave has to say yet, and the descriptor beside it.
    to_say: VecDeque<(Message, Option<OwnedFd>)>,
}

impl Talk {
    /// Begins it; a master says what it takes.
    pub fn begin(spec: &Spec, bell: &Arc<Bell>, socket: OwnedFd, since: Instant) -> Self {
        let it = Self {
            spec: spec.clone(),
            bell: Arc::clone(bell),
            socket,
            since,
            is_greeted: false,
            timed: Timed::default(),
            segments: Vec::new(),
            rings: Vec::new(),
            to_say: VecDeque::new(),
        };
        if spec.role == Role::Master {
            // A slave that is gone at once shows when its messages are read.
            let _ = message::send(&it.socket, &Message::Hello(it.hello()), None);
        }
        it
    }

    /// Reads what the other end says; the connection, as soon as it stands.
    ///
    /// # Errors
    /// Why it is over.
    pub fn turn(&mut self) -> Result<Option<Connection>, Refusal> {
        for _ in 0..MESSAGES_MAX {
            let got = self.timed.call(|| message::receive(&self.socket));
            let got = got.map_err(|_| "not understood")?;
            if self.timed.is_over() {
                return Err(SLOW);
            }
            let Some((message, beside)) = got else { return Ok(None) };
            if let Some(connection) = self.hear(message, beside)? {
                return Ok(Some(connection));
            }
        }
        Ok(None)
    }

    fn hello(&self) -> Hello {
        let last = |count: usize| u16::try_from(count.max(1) - 1).unwrap_or(u16::MAX);
        Hello {
            versions: (VERSION, VERSION),
            region_max: REGIONS_MAX - 1,
            to_slave_max: last(self.spec.rings.1),
            to_master_max: last(self.spec.rings.0),
            log2_size_max: LOG2_SIZE_MAX,
        }
    }

    fn hear(
        &mut self,
        message: Message,
        beside: Option<OwnedFd>,
    ) -> Result<Option<Connection>, Refusal> {
        match (self.spec.role, message) {
            (_, Message::Disconnect { .. }) => return Err("as you wish"),
            (Role::Slave, Message::Hello(hello)) => self.prepare(&hello)?,
            (Role::Slave, Message::Ack) => {}
            (Role::Slave, Message::Connected) => return self.connection().map(Some),
            (Role::Master, Message::Init { version, id, mode, secret }) => {
                self.check_init(version, id, mode, &secret)?;
            }
            (Role::Master, Message::AddRegion { index, octets }) if self.is_greeted => {
                self.add_region(index, octets, beside.ok_or("Missing region fd")?)?;
            }
            (Role::Master, Message::AddRing(about)) if self.is_greeted => {
                self.add_ring(about, beside.ok_or("Missing interrupt fd")?)?;
            }
            (Role::Master, Message::Connect) if self.is_greeted => {
                let connection = self.connection()?;
                self.say(&Message::Connected, None)?;
                return Ok(Some(connection));
            }
            _ => return Err("Unexpected message"),
        }
        match self.spec.role {
            Role::Master => self.say(&Message::Ack, None)?,
            Role::Slave => {
                if let Some((message, beside)) = self.to_say.pop_front() {
                    self.say(&message, beside.as_ref().map(AsRawFd::as_raw_fd))?;
                }
            }
        }
        Ok(None)
    }

    fn say(&self, message: &Message, beside: Option<RawFd>) -> Result<(), Refusal> {
        let said = self.timed.call(|| message::send(&self.socket, message, beside));
        said.map_err(|_| "cannot send")
    }

    fn check_init(
        &mut self,
        version: u16,
        id: u32,
        mode: u8,
        secret: &[u8; SECRET],
    ) -> Result<(), Refusal> {
        match () {
            () if version != VERSION => Err("Incompatible memif version"),
            () if id != self.spec.id => Err("ID not found"),
            () if mode != MODE_ETHERNET => Err("Only ethernet mode supported"),
            () if self.spec.secret != [0; SECRET] && *secret != self.spec.secret => {
                Err("Incorrect secret")
            }
            () => {
                self.is_greeted = true;
                Ok(())
            }
        }
    }

    fn add_region(&mut self, index: u16, octets: u64, fd: OwnedFd) -> Result<(), Refusal> {
        if usize::from(index) != self.segments.len()
            || self.segments.len() == usize::from(REGIONS_MAX)
        {
            return Err("Invalid region index");
        }
        let before: u64 = self.segments.iter().map(|it| it.octets()).sum();
        if before.saturating_add(octets) > self.spec.octets_max() {
            return Err("Too much memory");
        }
        let segment = Segment::map(&fd, octets).map_err(|_| "Invalid region")?;
        self.segments.push(Arc::new(segment));
        Ok(())
    }

    fn add_ring(&mut self, about: AddRing, interrupt: OwnedFd) -> Result<(), Refusal> {
        let most = if about.is_to_master { self.spec.rings.0 } else { self.spec.rings.1 };
        let known = |told: &Added| {
            (told.about.is_to_master, told.about.index) == (about.is_to_master, about.index)
        };
        if usize::from(about.index) >= most || self.rings.iter().any(known) {
            return Err("Invalid ring index");
        }
        if about.log2_size > LOG2_SIZE_MAX || about.private_octets != 0 {
            return Err("Invalid ring");
        }
        // What is no eventfd cannot be rung, and is refused here.
        let interrupt = Interrupt::new(interrupt, &self.bell);
        self.timed.call(|| interrupt.ring()).map_err(|_| "Invalid interrupt fd")?;
        self.timed.call(|| interrupt.forget());
        self.rings.push(Added { about, interrupt });
        Ok(())
    }

    /// The slave's side of the agreement: its memory and what to say of it.
    fn prepare(&mut self, hello: &Hello) -> Result<(), Refusal> {
        if !(hello.versions.0..=hello.versions.1).contains(&VERSION) || self.is_greeted {
            return Err("Incompatible memif version");
        }
        self.is_greeted = true;
        let to_master = self.spec.rings.0.min(usize::from(hello.to_master_max) + 1);
        let to_slave = self.spec.rings.1.min(usize::from(hello.to_slave_max) + 1);
        self.spec.log2_size = self.spec.log2_size.min(hello.log2_size_max);
        let octets = self.spec.octets(to_master + to_slave);
        let (segment, fd) = Segment::create(octets).map_err(|_| "no memory")?;
        let Spec { id, secret, log2_size, .. } = self.spec;
        self.to_say
            .push_back((Message::Init { version: VERSION, id, mode: MODE_ETHERNET, secret }, None));
        let region = Message::AddRegion { index: 0, octets: octets as u64 };
        self.to_say.push_back((region, Some(fd)));
        let all = (0..to_master).map(|n| (true, n)).chain((0..to_slave).map(|n| (false, n)));
        for (number, (is_to_master, index)) in all.enumerate() {
            let about = AddRing {
                is_to_master,
                index: narrow::index(index),
                region: 0,
                offset: narrow::place(number * Ring::octets(log2_size)),
                log2_size,
                private_octets: 0,
            };
            let interrupt = eventfd().map_err(|_| "no descriptors")?;
            let beside = interrupt.try_clone().map_err(|_| "no descriptors")?;
            self.to_say.push_back((Message::AddRing(about), Some(beside)));
            Ring::format(&segment, about.offset);
            self.rings.push(Added { about, interrupt: Interrupt::new(interrupt, &self.bell) });
        }
        self.to_say.push_back((Message::Connect, None));
        self.segments.push(Arc::new(segment));
        Ok(())
    }

    /// Makes queues of what was agreed on.
    fn connection(&mut self) -> Result<Connection, Refusal> {
        let is_slave = self.spec.role == Role::Slave;
        let all: Arc<[Arc<Segment>]> = self.segments.iter().map(Arc::clone).collect();
        let mut rings = std::mem::take(&mut self.rings);
        let behind = rings.len() * Ring::octets(self.spec.log2_size);
        rings.sort_by_key(|told| (!told.about.is_to_master, told.about.index));
        let mut connection = Connection { receive: Vec::new(), send: Vec::new() };
        for (number, Added { about, interrupt }) in rings.into_iter().enumerate() {
            let segment = all.get(usize::from(about.region)).ok_or("Invalid ring region")?;
            let ring = Ring::at(segment, about.offset, about.log2_size, &interrupt);
            let ring = ring.filter(Ring::is_ring).ok_or("Wrong cookie or place")?;
            let octets = self.spec.buffer_octets;
            let own = behind + (number << about.log2_size) * octets as usize;
            let buffers = if is_slave {
                Buffers::Own { segment: Arc::clone(segment), start: narrow::place(own), octets }
            } else {
                Buffers::Told(Arc::clone(&all))
            };
            let mut queue = Queue::new(ring, buffers);
            if about.is_to_master == is_slave {
                connection.send.push(queue);
                continue;
            }
            if is_slave {
                queue.offer();
            }
            queue.ring.want_interrupts(false);
            connection.receive.push(queue);
        }
        Ok(connection)
    }
}
