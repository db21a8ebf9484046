//! Associations over two wires with somebody else's stack, which the driver program
//! (`lab/peers/guest/association.c`) speaks for.

pub mod associations;
pub mod extensions;
pub mod failover;

use crate::node::wire::Wire;
use crate::node::{LIMIT, Node, OUR_PORT, capture};
use peers::{GUEST_ADDRESSES, Talk};
use sctp::{AssociationId, Indication, Parameters};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// What leads to a peer's stack, which has [`GUEST_ADDRESSES`] at the far ends of two wires.
pub struct Place {
    /// The near ends, of a host of its own.
    pub wires: Vec<Wire>,
    /// Starts the driver program with these words.
    pub start: Box<dyn Fn(&str) -> Talk>,
}

/// Makes places.
pub trait Field {
    fn place(&self) -> Place;
}

/// Makes tests of functions that take a field.
macro_rules! against {
    ($field:expr; $($module:ident: $($name:ident),+;)+) => {
        $($(#[test] fn $name() { crate::peer::$module::$name(&$field); })+)+
    };
}
pub(crate) use against;

/// A port of the peer's that no other test has.
pub fn fresh_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Times of a fast network; paths fail after three time-outs.
pub fn parameters() -> Parameters {
    let mut parameters = Parameters::rfc9260();
    parameters.sack_delay = Duration::from_millis(40);
    parameters.path.rto_initial = Duration::from_millis(200);
    parameters.path.rto_min = Duration::from_millis(100);
    parameters.path.rto_max = Duration::from_millis(400);
    parameters.path.path_max_retrans = 2;
    parameters.path.hb_interval = Some(Duration::from_millis(500));
    parameters.split_from_bytes = Some(600); // what is split must be put together by every peer
    parameters
}

/// An association of ours with the peer over two paths.
pub struct Pair {
    pub node: Node,
    pub peer: Talk,
    pub id: AssociationId,
    _start: Box<dyn Fn(&str) -> Talk>,
}

/// Addresses after their flag.
fn flags(flag: &str, addresses: impl IntoIterator<Item = Ipv4Addr>) -> String {
    addresses.into_iter().map(|it| format!(" {flag} {it}")).collect()
}

impl Pair {
    /// We begin it.
    pub fn ours(field: &impl Field, parameters: Parameters, options: &str) -> Self {
        Self::ours_from(field, 2, parameters, options)
    }

    /// We begin it and announce so many addresses.
    pub fn ours_from(
        field: &impl Field,
        announced: usize,
        parameters: Parameters,
        options: &str,
    ) -> Self {
        let Place { wires, start } = field.place();
        let mut node = Node::on(wires, announced, parameters, false);
        let port = fresh_port();
        let bound = flags("-b", GUEST_ADDRESSES);
        let words = format!("-l -p {port}{bound} -r {OUR_PORT} {options}");
        let mut peer = start(&words);
        peer.hear("listening", LIMIT).unwrap();
        let id = node.associate_with(&[(IpAddr::from(GUEST_ADDRESSES[0]), 0).into()], port);
        node.run_until_up(id);
        peer.hear("up", LIMIT).unwrap();
        Self { node, peer, id, _start: start }
    }

    /// The peer begins it.
    pub fn theirs(field: &impl Field, parameters: Parameters, options: &str) -> Self {
        Self::theirs_from(field, 2, parameters, options)
    }

    /// The peer begins it and announces so many addresses.
    pub fn theirs_from(
        field: &impl Field,
        announced: usize,
        parameters: Parameters,
        options: &str,
    ) -> Self {
        let Place { wires, start } = field.place();
        let mut node = Node::on(wires, 2, parameters, true);
        let (port, to) = (fresh_port(), node.wire(0).address);
        let bound = flags("-b", GUEST_ADDRESSES.into_iter().take(announced));
        let words = format!("-p {port}{bound} -r {OUR_PORT} -c {to} {options}");
        let mut peer = start(&words);
        let is_up = |it: &(_, Indication)| matches!(it.1, Indication::CommunicationUp(..));
        node.run(|it| it.told.iter().any(is_up));
        peer.hear("up", LIMIT).unwrap();
        let id = node.told.iter().find(|it| is_up(it)).unwrap().0;
        Self { node, peer, id, _start: start }
    }

    /// Both, one after the other.
    pub fn both(field: &impl Field, parameters: Parameters, options: &str) -> [Self; 2] {
        [Self::ours(field, parameters, options), Self::theirs(field, parameters, options)]
    }

    /// Says a line to the program at the guest's end, and lets time pass until it has answered so.
    pub fn ask(&mut self, line: &str, answer: &str) -> String {
        self.peer.say(line).unwrap();
        self.hear(answer)
    }

    /// Lets time pass until the program has said a line that begins so.
    pub fn hear(&mut self, beginning: &str) -> String {
        self.hear_line(beginning, |line| line.starts_with(beginning))
    }

    /// Lets time pass until the program has said a line that ends so.
    pub fn hear_of(&mut self, end: &str) -> String {
        self.hear_line(end, |line| line.ends_with(end))
    }

    fn hear_line(&mut self, words: &str, is_it: impl Fn(&str) -> bool) -> String {
        let (peer, until) = (&mut self.peer, Instant::now() + LIMIT / 2);
        let mut heard = None;
        self.node.run(|_| {
            heard = peer.heard().iter().find(|it| is_it(it)).cloned();
            let is_wrong = peer.heard().iter().any(|it| it.starts_with("error"));
            heard.is_some() || is_wrong || Instant::now() > until
        });
        heard.unwrap_or_else(|| panic!("no `{words}`: {:?}", peer.heard()))
    }

    /// Ends it, by us; what has passed must be in order in the eyes of others.
    pub fn end(mut self) {
        self.node.step(sctp::In::Shutdown(self.id));
        self.node.run(|it| it.was_told(&Indication::ShutdownComplete));
        capture::check(&self.node.passed);
    }
}
