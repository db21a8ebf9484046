//! A media controller that holds its session controllers to every rule of the language: ports that
//! are leased, no port twice, numbers that rise by one.

use anchor::row::{
    Envelope, Load, MEDIA_CONTROLLER, Message, Nonce, SESSION_CONTROLLER, Standing, StreamId,
    VERSION, proved, read, write,
};
use anchor::{Block, Local, Stream, Trace};
use authentication::Keys;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Pairs of a block.
pub const BLOCK_PAIRS: u16 = 32;

/// A group of addresses: one of IPv4 and one of IPv6, by their numbers.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: &'static str,
    pub addresses: [(u16, IpAddr); 2],
    /// Blocks of each address.
    pub blocks: u16,
}

/// A connection of a session controller.
#[derive(Debug, Default)]
struct Link {
    who: Option<Box<str>>,
    heard: u64,
    said: u64,
    out: Vec<u8>,
    is_proved: bool,
    nonce: Nonce,
}

#[derive(Debug)]
pub struct Msc {
    pub name: &'static str,
    pub epoch: u64,
    pub groups: Vec<Group>,
    pub keys: Option<Keys>,
    /// Whether one that began anew leases a block to whom a stream in it is of.
    pub claims: bool,
    /// Whether nothing that it says arrives, and nothing says that its connections are over.
    pub is_cut_off: bool,
    /// Whose a block is, by its address and first port.
    leased: BTreeMap<(u16, u16), Box<str>>,
    /// Blocks that were taken back and may still have streams.
    ending: Vec<(u16, u16)>,
    pub standing: BTreeMap<Box<str>, Standing<Stream>>,
    epochs: BTreeMap<Box<str>, u64>,
    links: BTreeMap<u32, Link>,
    pub load: Load,
    pub puts: u64,
    pub plays: Vec<(StreamId, u32, u8)>,
}

impl Msc {
    pub fn new(name: &'static str, groups: Vec<Group>) -> Self {
        Self {
            name,
            epoch: 1,
            groups,
            keys: None,
            claims: true,
            is_cut_off: false,
            leased: BTreeMap::new(),
            ending: Vec::new(),
            standing: BTreeMap::new(),
            epochs: BTreeMap::new(),
            links: BTreeMap::new(),
            load: Load { codecs: u32::MAX, ..Load::default() },
            puts: 0,
            plays: Vec::new(),
        }
    }

    /// It ends and begins anew, and knows nothing.
    pub fn restart(&mut self) {
        self.epoch += 1;
        self.leased.clear();
        self.ending.clear();
        self.standing.clear();
        self.epochs.clear();
        self.links.clear();
    }

    pub fn connect(&mut self, conn: u32) {
        let nonce = [conn.to_be_bytes()[3] ^ 0x55; 32];
        self.links.insert(conn, Link { nonce, ..Link::default() });
        if self.keys.is_some() {
            self.say(conn, Message::Challenge { nonce });
        }
    }

    pub fn disconnect(&mut self, conn: u32) {
        self.links.remove(&conn);
    }

    fn say(&mut self, conn: u32, message: Message) {
        if self.is_cut_off {
            return;
        }
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.said += 1;
        write(&Envelope { number: link.said, message }, &mut link.out).expect("short enough");
    }

    /// Says something to everybody.
    pub fn say_all(&mut self, message: &Message) {
        let there = self.links.iter().filter(|(_, link)| link.who.is_some());
        let conns: Vec<u32> = there.map(|(conn, _)| *conn).collect();
        conns.into_iter().for_each(|conn| self.say(conn, message.clone()));
    }

    pub fn say_load(&mut self) {
        self.load.streams = u32::try_from(self.streams()).expect("a few");
        let load = self.load;
        self.say_all(&Message::Load(load));
    }

    /// What it has for a connection.
    pub fn take_out(&mut self, conn: u32) -> Vec<u8> {
        self.links.get_mut(&conn).map(|link| std::mem::take(&mut link.out)).unwrap_or_default()
    }

    /// Octets of a connection came: whole messages.
    pub fn receive(&mut self, conn: u32, mut octets: &[u8]) {
        while !octets.is_empty() {
            let (envelope, taken) = read(octets).expect("a message").expect("a whole one");
            octets = &octets[taken..];
            let Some(link) = self.links.get_mut(&conn) else { return };
            link.heard += 1;
            assert_eq!(envelope.number, link.heard, "numbers rise by one");
            let number = envelope.number;
            self.message(conn, envelope.message);
            self.say(conn, Message::Ack { number });
        }
    }

    fn message(&mut self, conn: u32, message: Message) {
        let link = &self.links[&conn];
        let (who, is_proved) = (link.who.clone(), link.is_proved || self.keys.is_none());
        match (who, message) {
            (None, Message::Prove { nonce, proofs }) if !is_proved => {
                let said = proved(&self.links[&conn].nonce, &nonce);
                let keys = self.keys.clone().expect("there is a key");
                if !proofs.iter().any(|it| keys.is_proof(SESSION_CONTROLLER, &said, it)) {
                    return drop(self.links.remove(&conn));
                }
                let proofs = keys.prove(MEDIA_CONTROLLER, &said);
                let proofs = proofs.into_iter().map(Into::into).collect();
                let nonce = self.links[&conn].nonce;
                self.say(conn, Message::Prove { nonce, proofs });
                self.links.get_mut(&conn).expect("it stands").is_proved = true;
            }
            // Without the proof nothing is taken; whoever said it waits in vain.
            (None, Message::Hello { .. }) if !is_proved => {}
            (None, Message::Hello { version, name, epoch, .. }) => {
                assert_eq!(version, VERSION);
                let known = self.epochs.insert(name.clone(), epoch);
                let standing = self.standing.entry(name.clone()).or_default();
                if known.is_some_and(|known| known != epoch) {
                    standing.renew();
                }
                self.links.get_mut(&conn).expect("it stands").who = Some(name);
                let (name, epoch) = (self.name.into(), self.epoch);
                let fingerprint = None;
                self.say(conn, Message::Hello { version: VERSION, name, epoch, fingerprint });
            }
            (Some(who), message) => self.spoken(conn, who, message),
            (None, message) => panic!("{message:?} before a hello"),
        }
    }

    fn spoken(&mut self, conn: u32, who: Box<str>, message: Message) {
        match message {
            Message::Lease { group, pairs } => self.lease(conn, &who, (&group, pairs)),
            Message::Begin => self.standing.entry(who).or_default().begin(),
            Message::End => drop(self.standing.entry(who).or_default().end()),
            Message::Put { stream, generation, what } => {
                self.puts += 1;
                assert_ne!(what.trace, Trace::default(), "whose call it is");
                self.put(&who, stream, &what);
                self.standing.entry(who).or_default().put(stream, generation, *what);
            }
            Message::Remove { stream, generation } => {
                self.standing.entry(who).or_default().remove(stream, generation);
            }
            Message::Play { stream, serial, digit, .. } => self.plays.push((stream, serial, digit)),
            other => panic!("{other:?} is nothing that a session controller says"),
        }
    }

    fn block_of(local: Local) -> (u16, u16) {
        let octets = 2 * BLOCK_PAIRS;
        (local.address, (local.port - 20_000) / octets * octets + 20_000)
    }

    fn put(&mut self, who: &str, stream: StreamId, what: &Stream) {
        for end in &what.ends {
            let block = Self::block_of(end.local);
            if self.claims && !self.leased.contains_key(&block) {
                self.leased.insert(block, who.into());
            }
            let owner = self.leased.get(&block).map(|it| &**it);
            if owner != Some(who) {
                assert!(!self.claims, "{:?} of {who} is leased to {owner:?}", end.local);
                continue; // the session controller is about to find out
            }
            for (other, standing) in &self.standing {
                for (id, _, it) in standing.iter() {
                    let is_other = (&**other, id) != (who, stream);
                    let meets = it.ends.iter().any(|it| it.local == end.local);
                    assert!(!(is_other && meets), "{:?} is {id:?}'s and {stream:?}'s", end.local);
                }
            }
        }
    }

    fn lease(&mut self, conn: u32, who: &str, wish: (&str, u32)) {
        let (name, pairs) = wish;
        let Some(group) = self.groups.iter().find(|it| it.name == name).cloned() else {
            return;
        };
        for (is_v6, (address, ip)) in [false, true].into_iter().zip(group.addresses) {
            let wanted = pairs.div_ceil(u32::from(BLOCK_PAIRS)) as usize;
            for first in (0..group.blocks).map(|n| 20_000 + 2 * BLOCK_PAIRS * n) {
                if self.own_blocks(who, address).len() >= wanted {
                    break;
                }
                self.leased.entry((address, first)).or_insert_with(|| who.into());
            }
            let own = self.own_blocks(who, address);
            let blocks =
                own.into_iter().map(|first| Block { address, first, pairs: BLOCK_PAIRS }).collect();
            let group = name.into();
            self.say(conn, Message::Grant { group, is_v6, blocks, addresses: vec![(address, ip)] });
        }
    }

    fn own_blocks(&self, who: &str, address: u16) -> Vec<u16> {
        let all = self.leased.iter();
        let own = all.filter(|((at, first), owner)| {
            *at == address && &***owner == who && !self.ending.contains(&(*at, *first))
        });
        own.map(|((_, first), _)| *first).collect()
    }

    /// Takes a block back: it is in no grant any more.
    pub fn revoke(&mut self, nth: usize) {
        let free: Vec<_> =
            self.leased.keys().filter(|it| !self.ending.contains(it)).copied().collect();
        if let Some(block) = free.get(nth % free.len().max(1)) {
            self.ending.push(*block);
        }
    }

    /// Streams of everybody.
    pub fn streams(&self) -> usize {
        self.standing.values().map(Standing::len).sum()
    }
}
