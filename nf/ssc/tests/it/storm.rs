//! A restart storm, by seed: every subscriber registers at once with a controller that knows
//! nobody, over a lossy access, before a slow core. Limits hold at every moment and everybody is
//! registered in the end.

use crate::world::*;
use machine::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

const CLIENTS: usize = 1_500;
const RELAYS_MAX: u64 = 200;
const TRANSACTIONS_MAX: u64 = 3_000;
/// The core takes this long for each REGISTER, one after the other.
const CORE_WORK: Duration = Duration::from_micros(2_500);
/// The core takes no more than this many before it answers 503.
const CORE_QUEUE: usize = 100;
const LOSS_PERCENT: u64 = 3;
const END: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client sends its REGISTER, or sends it again after this many milliseconds.
    Send(usize, u64),
    /// It begins anew with the next number.
    Begin(usize),
    /// The core answers.
    Answer(String),
}

#[derive(Debug, Clone, Default)]
struct Client {
    cseq: u32,
    registered: bool,
}

struct Storm {
    world: World,
    clients: Vec<Client>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    random: u64,
    core_free: Time,
    core_waiting: usize,
}

fn address(client: usize) -> String {
    format!("10.1.{}.{}:5062", client / 250, client % 250)
}

fn client_of(address: SocketAddr) -> usize {
    match address.ip() {
        std::net::IpAddr::V4(ip) => usize::from(ip.octets()[2]) * 250 + usize::from(ip.octets()[3]),
        std::net::IpAddr::V6(_) => unreachable!("the storm speaks IPv4"),
    }
}

impl Storm {
    fn new(seed: u64) -> Self {
        let limits = format!(
            "[limits]\nrelays_max = {RELAYS_MAX}\ntransactions_max = {TRANSACTIONS_MAX}\n\
             [registrar]\nclient_expires_s = 3000\ncore_expires_s = 7200\n"
        );
        let world = World::new(&format!("{SITE}{limits}"));
        let core_free = world.now;
        Self {
            world,
            clients: vec![Client::default(); CLIENTS],
            events: BinaryHeap::new(),
            count: 0,
            random: seed,
            core_free,
            core_waiting: 0,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn after(&mut self, delay: Duration, event: Event) {
        self.count += 1;
        self.events.push(Reverse((self.world.now + delay, self.count, event)));
    }

    fn register(&self, client: usize) -> String {
        let (at, cseq) = (address(client), self.clients[client].cseq);
        format!(
            "REGISTER sip:example.com SIP/2.0\r\n\
             Via: SIP/2.0/UDP {at};rport;branch=z9hG4bKs{client}-{cseq}\r\nMax-Forwards: 70\r\n\
             From: <sip:u{client}@example.com>;tag=t{client}\r\nTo: <sip:u{client}@example.com>\r\n\
             Call-ID: storm-{client}\r\nCSeq: {cseq} REGISTER\r\nContact: <sip:u{client}@{at}>\r\n\
             Expires: 3000\r\nContent-Length: 0\r\n\r\n"
        )
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin(client) => {
                self.clients[client].cseq += 1;
                self.happen(Event::Send(client, 500));
            }
            Event::Send(client, _) if self.clients[client].registered => {}
            Event::Send(client, interval_ms) => {
                if self.below(100) >= LOSS_PERCENT {
                    let text = self.register(client);
                    self.world.receive(&address(client), ACCESS, &text);
                }
                let wait = Duration::from_millis(interval_ms);
                self.after(wait, Event::Send(client, (2 * interval_ms).min(4_000)));
            }
            Event::Answer(text) => {
                self.core_waiting -= 1;
                self.world.receive(BOB, CORE, &text);
            }
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        while let Some(sent) = self.world.sent.pop_front() {
            if sent.to == BOB.parse().unwrap() || sent.to == BACKUP.parse().unwrap() {
                self.core(&sent.text);
            } else if self.below(100) >= LOSS_PERCENT {
                self.answered(client_of(sent.to), &sent.text);
            }
        }
    }

    fn core(&mut self, request: &str) {
        if self.core_waiting >= CORE_QUEUE {
            return; // lost in a full socket buffer
        }
        self.core_waiting += 1;
        self.core_free = self.core_free.max(self.world.now) + CORE_WORK;
        let contact = format!("Contact: {}\r\n", header(request, "Contact"));
        let answer = respond(request, "200 OK", "core", &contact, "");
        let delay = self.core_free.since(self.world.now);
        self.after(delay, Event::Answer(answer));
    }

    fn answered(&mut self, client: usize, text: &str) {
        if text.starts_with("SIP/2.0 200") {
            let is_ours = text.contains(&format!("CSeq: {} REGISTER", self.clients[client].cseq));
            assert!(text.contains(&format!("Contact: <sip:u{client}@")), "{text}");
            self.clients[client].registered |= is_ours;
        } else if !self.clients[client].registered {
            let wait_ms = 1_000 + self.below(4_000);
            self.after(Duration::from_millis(wait_ms), Event::Begin(client));
        }
    }

    fn check_limits(&mut self) {
        assert!(self.world.metric("ssc_requests_live") <= RELAYS_MAX);
        assert!(self.world.metric("ssc_transactions_live") <= 2 * TRANSACTIONS_MAX);
        // Those that wait for the core have a place already.
        assert!(self.world.metric("ssc_bindings_live") <= CLIENTS as u64 + RELAYS_MAX);
    }

    fn run(&mut self) {
        for client in 0..CLIENTS {
            let at = Duration::from_micros(self.below(300_000));
            self.after(at, Event::Begin(client));
        }
        let end = self.world.now + END;
        let mut steps = 0u64;
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            assert!(at <= end, "somebody is still not registered after {END:?}");
            let wait = at.since(self.world.now);
            self.world.pass(wait);
            self.deliver();
            self.happen(event);
            steps += 1;
            if steps.is_multiple_of(64) {
                self.check_limits();
            }
        }
    }
}

#[test]
fn a_restart_storm_ends_with_everybody_registered_and_no_limit_passed() {
    for seed in 1..=3 {
        let mut storm = Storm::new(seed);
        storm.run();
        let missing = storm.clients.iter().filter(|client| !client.registered).count();
        assert_eq!(missing, 0, "seed {seed}");
        assert_eq!(storm.world.metric("ssc_bindings_live"), CLIENTS as u64, "seed {seed}");
        assert!(storm.world.metric("ssc_overload_refused_total") > 0, "the storm was one");
        storm.world.pass(Duration::from_secs(70));
        assert_eq!(storm.world.metric("ssc_requests_live"), 0, "seed {seed}");
        assert_eq!(storm.world.metric("ssc_transactions_live"), 0, "seed {seed}");
    }
}
