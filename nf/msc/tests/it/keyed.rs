//! Connectivity checks and handshakes of ends, as their packets come up.

use super::shards::site;
use super::*;
use anchor::Checks;
use dtls::{Handshake, In as Told, Out as Wants, Role};
use machine::Machine as _;
use media::program::Guard as FlowGuard;
use msc::PACKET_CHANNEL;
use packet::datagram::Datagram;
use runtime::PacketRecord;
use srtp::Suite;
use srtp::dtls::{Description, Fingerprint, Hash, Role as SrtpRole, Setup};
use stun::{
    Algorithm, AttributeType, BINDING, Class, Integrity, Message as Stun, TransactionId, Writer,
};

const STUN: u8 = 0;
pub(super) const DTLS: u8 = 1;

impl World {
    /// The packet channel is open.
    pub(super) fn opens(&mut self) {
        self.up(ChannelEvent::Up);
        self.up(ChannelEvent::Message(&[]));
    }

    fn up(&mut self, event: ChannelEvent<'_>) {
        self.msc.step(self.now, In::Channel { port: PACKET_CHANNEL, event }, &mut self.out);
        self.settle();
    }

    /// A packet comes up from that source to a port; what was sent back to it.
    pub(super) fn comes(
        &mut self,
        class: u8,
        from: &str,
        to: Local,
        payload: &[u8],
    ) -> Vec<Vec<u8>> {
        let place = self.msc.state().place(to).expect("it stands");
        let from: SocketAddr = from.parse().expect("a place");
        let to = SocketAddr::new(place.address, place.port);
        let mut packet = Vec::new();
        Datagram { from, to, payload }.write(&mut packet);
        let record = PacketRecord { class, ..PacketRecord::default() };
        self.up(ChannelEvent::Packet(record, &packet));
        let sent = std::mem::take(&mut self.sent);
        let answers = sent.iter().map(|packet| {
            let it = Datagram::read(packet).expect("a datagram");
            assert_eq!((it.from, it.to), (to, from));
            it.payload.to_vec()
        });
        answers.collect()
    }

    fn guard(&self, port: u16) -> FlowGuard {
        let flows = self.plane.flows();
        flows.into_iter().find(|it| it.at.port == port).expect("a flow").guard
    }
}

/// A browser: its certificate, and what its description says of it.
pub(super) fn browser() -> (dtls::Settings, Description) {
    let certificate = dtls::Certificate::generate().expect("a certificate");
    let fingerprints = vec![Fingerprint::of(Hash::Sha256, certificate.der())];
    let suites = [Suite::AeadAes128Gcm, Suite::AeadAes256Gcm, Suite::AesCm128HmacSha1_80];
    let profiles = suites.map(|suite| suite.profile().expect("one"));
    let settings = dtls::Settings::new(certificate, &profiles);
    (settings, Description { fingerprints, setup: Setup::Active, tls_id: None })
}

/// Numbers of shards that must not make a difference.
const SHARDS: [u16; 3] = [1, 2, 4];

/// A world with a call whose A is protected by DTLS; its port.
fn with_dtls(shards: u16, peer: &Description, checks: Option<Checks>) -> (World, Stream) {
    let mut world = World::adopted(&site(shards));
    world.opens();
    world.greets(1, "ssc1", 7);
    assert!(matches!(&world.told(1)[..], [Message::Hello { fingerprint: Some(_), .. }]));
    let block = world.leases(1, "access", 32)[0];
    let mut what = stream(at(block, 0), at(block, 1));
    let a = &mut what.ends[0];
    a.guard = Guard::Dtls { peer: Box::new(peer.clone()), role: SrtpRole::Server };
    (a.rtcp, a.checks) = (Rtcp::Mux, checks.map(Box::new));
    world.puts(1, 5, 1, &what);
    (world, what)
}

/// Lets both ends talk until nothing is left to say; the peer's keys.
pub(super) fn talk(
    world: &mut World,
    peer: &mut Handshake,
    from: &str,
    to: Local,
) -> Option<dtls::Keys> {
    let (mut told, mut keys) = (Vec::new(), None);
    peer.step(world.now, Told::Started, &mut told);
    for _ in 0..50 {
        let mut next = Vec::new();
        for what in std::mem::take(&mut told) {
            match what {
                Wants::Send(payload) => {
                    for answer in world.comes(DTLS, from, to, &payload) {
                        peer.step(world.now, Told::Datagram(answer), &mut next);
                    }
                }
                Wants::Keys(agreed) => keys = Some(agreed),
                // Of a stranger: the other end wants nothing of it.
                _ => {}
            }
        }
        told = next;
        if told.is_empty() {
            world.now += Duration::from_millis(300);
            peer.tick(world.now, &mut told);
            world.msc.tick(world.now, &mut world.out);
            world.settle();
            for packet in std::mem::take(&mut world.sent) {
                let payload = Datagram::read(&packet).expect("a datagram").payload.to_vec();
                peer.step(world.now, Told::Datagram(payload), &mut told);
            }
        }
    }
    keys
}

pub(super) const BROWSER: &str = "198.51.100.1:4000";

#[test]
fn keys_of_a_handshake_guard_the_flow_and_outlive_a_hold() {
    for shards in SHARDS {
        let (settings, description) = browser();
        let (mut world, mut what) = with_dtls(shards, &description, None);
        let a = what.ends[0].local;
        assert_eq!(world.guard(a.port), FlowGuard::Dtls);
        let mut peer = Handshake::new(&settings, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        let keys = talk(&mut world, &mut peer, BROWSER, a).expect("keys");
        let FlowGuard::Keys { receive, send } = world.guard(a.port) else { panic!("keys") };
        let suite = Suite::of_profile(keys.profile).expect("a suite");
        let theirs = srtp::dtls::Keys::of(suite, &keys.material, SrtpRole::Client);
        let theirs = theirs.expect("they fit");
        assert!(receive.entries[0].key == theirs.ours && send.entries[0].key == theirs.theirs);
        // On hold, and told to a forwarder that comes, they are the same.
        what.ends[1].direction = Direction::Inactive;
        world.puts(1, 5, 2, &what);
        let again = world.guard(a.port);
        assert!(matches!(again, FlowGuard::Keys { receive: it, .. } if it == receive));
        world.channel(ChannelEvent::Down("it died"));
        world.plane = Plane::default();
        world.now += Duration::from_millis(250);
        world.adopt();
        let again = world.guard(a.port);
        assert!(matches!(again, FlowGuard::Keys { receive: it, .. } if it == receive));
        // Keys are of who was described when they were agreed on, whatever stood there in between.
        let dtls = what.ends[0].guard.clone();
        what.ends[0].guard = Guard::None;
        world.puts(1, 5, 3, &what);
        assert_eq!(world.guard(a.port), FlowGuard::None);
        what.ends[0].guard = dtls;
        world.puts(1, 5, 4, &what);
        assert!(matches!(world.guard(a.port), FlowGuard::Keys { .. }));
        // Another certificate is another association.
        let (_, other) = browser();
        what.ends[0].guard = Guard::Dtls { peer: Box::new(other), role: SrtpRole::Server };
        world.puts(1, 5, 5, &what);
        assert_eq!(world.guard(a.port), FlowGuard::Dtls);
    }
}

#[test]
fn a_stranger_with_another_certificate_gets_no_keys() {
    for shards in SHARDS {
        let (_, description) = browser();
        let (stranger, _) = browser();
        let (mut world, what) = with_dtls(shards, &description, None);
        let a = what.ends[0].local;
        let mut peer = Handshake::new(&stranger, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        talk(&mut world, &mut peer, BROWSER, a);
        assert_eq!(world.guard(a.port), FlowGuard::Dtls);
    }
}

#[test]
fn a_check_is_answered_and_the_pair_that_was_chosen_is_where_packets_come_from() {
    for shards in SHARDS {
        let (_, description) = browser();
        let text = |text: &str| -> Box<[u8]> { text.as_bytes().into() };
        let checks = Checks {
            name: text("ours"),
            password: text("a password of ours, 24 ch")
                .iter()
                .filter(|it| it.is_ascii_alphanumeric())
                .copied()
                .chain(*b"0123456789")
                .collect(),
            remote_name: text("them"),
            remote_password: text("0123456789012345678901234"),
        };
        let (mut world, mut what) = with_dtls(shards, &description, Some(checks.clone()));
        let a = what.ends[0].local;
        let expected = |world: &World| world.plane.flows()[0].expected;
        assert!(!expected(&world).anywhere, "nobody before a pair is chosen");
        let check = |password: &[u8]| {
            let mut octets = Vec::new();
            Writer::new(Class::Request, BINDING, TransactionId([7; 12]), &mut octets)
                .attribute(AttributeType::Username, b"ours:them")
                .attribute(AttributeType::Priority, &[1, 2, 3, 4])
                .attribute(AttributeType::IceControlling, &[9; 8])
                .attribute(AttributeType::UseCandidate, b"")
                .integrity(Algorithm::Sha1, password)
                .fingerprint();
            octets
        };
        let there = "203.0.113.77:4321";
        let answers = world.comes(STUN, there, a, &check(&checks.password));
        let answer = Stun::read(&answers[0]).expect("an answer");
        assert_eq!(answer.class, Class::Success);
        assert!(matches!(answer.integrity(&checks.password), Integrity::Holds(_)));
        assert_eq!(expected(&world).address, there.parse().unwrap());
        // Whoever does not know the password changes nothing.
        let stranger = "203.0.113.99:1";
        let answers = world.comes(STUN, stranger, a, &check(b"another password of 24 ch"));
        assert!(answers.iter().all(|it| Stun::read(it).expect("an answer").class == Class::Error));
        assert_eq!(expected(&world).address, there.parse().unwrap());
        // Records of DTLS are taken from the chosen place alone.
        assert!(world.comes(DTLS, stranger, a, &[22; 60]).is_empty());
        // What was chosen with a password is nothing to an end that has another one.
        let restarted = Checks { password: text("another password 0123456789"), ..checks };
        what.ends[0].checks = Some(Box::new(restarted));
        world.puts(1, 5, 2, &what);
        assert_ne!(expected(&world).address, there.parse().unwrap());
    }
}

#[test]
fn what_a_handshake_sends_by_itself_goes_to_nobody_who_has_shown_nothing() {
    for shards in SHARDS {
        let (settings, description) = browser();
        let (mut world, what) = with_dtls(shards, &description, None);
        let a = what.ends[0].local;
        // Hellos in the name of others, and one more than are heard at once.
        for port in 1..=500_u16 {
            let hello = hello(&world, &settings);
            world.comes(DTLS, &format!("198.51.100.1:{port}"), a, &hello);
        }
        for _ in 0..20 {
            world.now += Duration::from_millis(500);
            world.msc.tick(world.now, &mut world.out);
            world.settle();
        }
        assert_eq!(world.sent, Vec::<Vec<u8>>::new());
    }
}

/// What a browser says first.
fn hello(world: &World, settings: &dtls::Settings) -> Vec<u8> {
    let mut told = Vec::new();
    Handshake::new(settings, Role::Client, world.now).step(world.now, Told::Started, &mut told);
    let Some(Wants::Send(hello)) = told.into_iter().next() else { panic!("a hello") };
    hello
}

#[test]
fn once_who_is_signalled_has_begun_or_keys_are_agreed_nobody_else_is_heard() {
    for shards in SHARDS {
        let (settings, description) = browser();
        // A host is believed as far as with media.
        let (mut world, what) = with_dtls(shards, &description, None);
        let (a, first) = (what.ends[0].local, hello(&world, &settings));
        assert!(world.comes(DTLS, "203.0.113.50:4000", a, &first).is_empty(), "another host");
        assert!(
            !world.comes(DTLS, "198.51.100.1:4444", a, &first).is_empty(),
            "another port of its"
        );
        assert!(!world.comes(DTLS, BROWSER, a, &first).is_empty(), "it has shown nothing");
        assert!(world.comes(DTLS, "198.51.100.1:4444", a, &first).is_empty(), "it comes late");
        let mut peer = Handshake::new(&settings, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        talk(&mut world, &mut peer, BROWSER, a).expect("keys");
        assert!(world.comes(DTLS, "198.51.100.1:4444", a, &hello(&world, &settings)).is_empty());
        assert!(matches!(world.guard(a.port), FlowGuard::Keys { .. }));
        // One behind an address translator has its keys, and then whoever was signalled comes late.
        let (mut world, what) = with_dtls(shards, &description, None);
        let a = what.ends[0].local;
        let mut peer = Handshake::new(&settings, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        talk(&mut world, &mut peer, "198.51.100.1:4444", a).expect("keys");
        assert!(world.comes(DTLS, BROWSER, a, &hello(&world, &settings)).is_empty());
        // Of who may be anywhere the first is heard that answers, until the signalled one comes.
        let (mut world, mut what) = with_dtls(shards, &description, None);
        what.ends[0].latching_anywhere = true;
        world.puts(1, 5, 2, &what);
        let (stranger, _) = browser();
        let half = hello(&world, &stranger);
        assert!(!world.comes(DTLS, "203.0.113.50:9", a, &half).is_empty());
        let mut peer = Handshake::new(&settings, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        talk(&mut world, &mut peer, BROWSER, a).expect("keys");
    }
}

#[test]
fn keys_of_a_handshake_are_of_an_association_that_a_later_control_knows_again() {
    for shards in SHARDS {
        let (settings, description) = browser();
        let (mut world, mut what) = with_dtls(shards, &description, None);
        let a = what.ends[0].local;
        what.trace = Trace::of(7, b"");
        world.puts(1, 5, 2, &what);
        let mut peer = Handshake::new(&settings, Role::Client, world.now);
        peer.step(world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        talk(&mut world, &mut peer, BROWSER, a).expect("keys");
        let of = |world: &World| {
            let flow = world.plane.flows().into_iter().find(|it| it.at.port == a.port).expect("it");
            (flow.association, matches!(flow.guard, FlowGuard::Keys { .. }))
        };
        let (association, has_keys) = of(&world);
        assert!(association.is_some() && has_keys);
        // It dies; the forwarder goes on, and its session controller says the stream again.
        let now = world.now + Duration::from_secs(2);
        let mut world = World::with(world.settings, world.plane, now);
        world.adopt();
        world.greets(1, "ssc1", 7);
        world.says(1, Message::Begin);
        world.puts(1, 5, 2, &what);
        world.says(1, Message::End);
        assert_eq!(of(&world), (association, false), "the forwarder keeps them");
        // Of another call, or with another certificate, they are others.
        for (n, trail, peer) in [(3, 8, &description), (4, 7, &browser().1)] {
            what.trace = Trace::of(trail, b"");
            what.ends[0].guard =
                Guard::Dtls { peer: Box::new(Description::clone(peer)), role: SrtpRole::Server };
            world.puts(1, 5, n, &what);
            assert_ne!(of(&world).0, association);
        }
    }
}
