//! The session, step by step: states, timers, violations (RFC 4271 §8), what is negotiated, what
//! outlives it.

use crate::every;
use bgp::codec::{
    Cease, Framing, FsmError, GracefulRestart, LongLived, MessageType, Notice, Notification, Offer,
    Open, OpenError, Peering, RefreshKind, Role, frame, keepalive, write_communication,
    write_notification, write_open, write_refresh,
};
use bgp::family::{FAMILIES, Family, FamilySet};
use bgp::pack::end_of_rib;
use bgp::{
    Cause, ConnectionId, In, Indication, Negotiated, OPEN_HOLD_TIME, Out, PeerAs, Session,
    Settings, State,
};
use machine::{Duration, Machine, Time};

const ID: ConnectionId = ConnectionId(1);

fn ipv4() -> FamilySet {
    FamilySet::only(Family::Ipv4Unicast)
}

fn ours() -> Offer {
    Offer::modern(65_000, 0x0A00_0001, 90, ipv4())
}

fn theirs() -> Offer {
    Offer::modern(65_000, 0x0A00_0002, 30, ipv4())
}

fn settings() -> Settings {
    Settings::new(ours(), PeerAs::Internal)
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// A session whose peer is played by the test.
struct Endpoint {
    session: Session,
    now: Time,
    out: Vec<Out>,
}

impl Endpoint {
    fn new(settings: Settings) -> Self {
        let mut endpoint =
            Self { session: Session::new(settings, 7), now: Time::from_millis(1), out: Vec::new() };
        endpoint.step(In::Start);
        endpoint
    }

    fn step(&mut self, input: In) {
        self.session.step(self.now, input, &mut self.out);
    }

    /// The effects since the last time.
    fn took(&mut self) -> Vec<Out> {
        core::mem::take(&mut self.out)
    }

    fn receive(&mut self, id: ConnectionId, bytes: &[u8]) {
        let taken = self.session.receive(self.now, id, bytes, &mut self.out);
        assert_eq!(taken, bytes.len());
    }

    fn open(&mut self, id: ConnectionId, offer: &Offer) {
        self.receive(id, &written(|out| write_open(offer, out)));
    }

    fn keepalive(&mut self, id: ConnectionId) {
        self.receive(id, &written(keepalive));
    }

    /// Time passes, timers fire.
    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.session.deadline().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.session.tick(self.now, &mut self.out);
            assert!(self.session.deadline().is_none_or(|at| at > self.now));
        }
        self.now = until;
    }

    fn wait_s(&mut self, seconds: u64) {
        self.wait(Duration::from_secs(seconds));
    }

    /// Established with a peer of that offer, on a connection of ours.
    fn established(settings: Settings, offer: &Offer) -> Self {
        let mut endpoint = Self::new(settings);
        endpoint.step(In::Connected(ID));
        endpoint.open(ID, offer);
        endpoint.keepalive(ID);
        assert_eq!(endpoint.session.state(), State::Established);
        endpoint.took();
        endpoint
    }

    fn negotiated(&self) -> &Negotiated {
        self.session.negotiated().unwrap()
    }
}

fn sent(out: &[Out]) -> Vec<MessageType> {
    let kinds = out.iter().filter_map(|effect| match effect {
        Out::Send(_, bytes) => match frame(bytes, 65_535) {
            Framing::Message(kind, message) if message.len() == bytes.len() => Some(kind),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    kinds.collect()
}

fn told(out: &[Out]) -> Vec<Indication> {
    let told = out.iter().filter_map(|effect| match effect {
        Out::Indicate(Indication::State(_)) => None,
        Out::Indicate(indication) => Some(indication.clone()),
        _ => None,
    });
    told.collect()
}

/// The NOTIFICATION that was sent, with its data.
fn notified(out: &[Out]) -> Option<(Notice, Vec<u8>)> {
    out.iter().find_map(|effect| match effect {
        Out::Send(_, bytes) if bytes[18] == 3 => {
            let read = Notification::read(bytes).unwrap();
            Some((read.notice, read.data.to_vec()))
        }
        _ => None,
    })
}

#[test]
fn a_session_comes_up_step_by_step() {
    let mut endpoint = Endpoint::new(settings());
    assert_eq!(endpoint.took(), [Out::Connect, Out::Indicate(Indication::State(State::Connect))]);
    endpoint.step(In::Connected(ID));
    let out = endpoint.took();
    assert_eq!(sent(&out), [MessageType::Open]);
    let Out::Send(id, bytes) = &out[0] else { panic!() };
    assert_eq!((*id, Open::read(bytes).unwrap().offer), (ID, ours()));
    assert_eq!(endpoint.session.state(), State::OpenSent);
    endpoint.open(ID, &theirs());
    assert_eq!(sent(&endpoint.took()), [MessageType::Keepalive]);
    assert_eq!(endpoint.session.state(), State::OpenConfirm);
    endpoint.keepalive(ID);
    let out = endpoint.took();
    assert!(matches!(&told(&out)[..], [Indication::Up(ID, _)]));
    assert_eq!(endpoint.session.state(), State::Established);
    let negotiated = endpoint.negotiated();
    assert_eq!(negotiated.hold_time, Duration::from_secs(30));
    assert_eq!(negotiated.keepalive_time, Duration::from_secs(10));
    assert_eq!(negotiated.send_hold_time, Duration::from_secs(480));
    assert_eq!((negotiated.message_max, negotiated.context.peering), (65_535, Peering::Internal));
    assert!(negotiated.is_internal() && negotiated.enhanced_refresh);
    let counters = endpoint.session.counters();
    assert_eq!((counters.received, counters.sent), ([1, 0, 0, 1, 0], [1, 0, 0, 1, 0]));
}

#[test]
fn keepalives_are_sent_with_jitter_and_not_beside_updates() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    for _ in 0..20 {
        endpoint.wait_s(5);
        endpoint.keepalive(ID);
    }
    let count = sent(&endpoint.took()).len();
    assert!((10..=14).contains(&count), "{count} in 100 s, one in 7.5 to 10 s");
    for _ in 0..20 {
        endpoint.step(In::Sent(ID, 3));
        endpoint.wait_s(5);
        endpoint.keepalive(ID);
    }
    assert_eq!(sent(&endpoint.took()), []);
    assert_eq!(endpoint.session.counters().sent[MessageType::Update as usize], 60);
}

#[test]
fn without_a_hold_time_there_are_no_timers_as_long_as_nothing_waits() {
    let mut endpoint = Endpoint::established(settings(), &Offer { hold_time_s: 0, ..theirs() });
    assert_eq!(endpoint.session.deadline(), None);
    endpoint.step(In::Blocked(ID));
    endpoint.step(In::Written(ID, false));
    assert_eq!(endpoint.session.deadline(), None);
    endpoint.wait_s(100_000);
    assert_eq!(endpoint.took(), []);
}

#[test]
fn the_hold_timer_ends_what_is_silent() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.wait_s(29);
    endpoint.receive(ID, &written(|out| end_of_rib(Family::Ipv4Unicast, out)));
    endpoint.wait_s(29);
    assert_eq!(endpoint.session.state(), State::Established, "an UPDATE is a sign of life");
    endpoint.took();
    endpoint.wait(Duration::from_millis(1_001));
    let out = endpoint.took();
    assert_eq!(notified(&out), Some((Notice::HOLD_TIMER_EXPIRED, vec![])));
    let cause = Cause::Sent(Notice::HOLD_TIMER_EXPIRED);
    assert_eq!(told(&out), [Indication::Down(cause, FamilySet::EMPTY)]);
    assert_eq!(endpoint.session.counters().hold_expired, 1);
    assert_eq!(endpoint.session.state(), State::Idle);
}

#[test]
fn a_peer_that_sends_no_open_is_left_after_four_minutes() {
    let mut endpoint = Endpoint::new(settings());
    endpoint.step(In::Connected(ID));
    endpoint.took();
    endpoint.wait(OPEN_HOLD_TIME - Duration::from_secs(1));
    assert_eq!(endpoint.session.state(), State::OpenSent);
    endpoint.wait_s(1);
    let out = endpoint.took();
    assert_eq!(notified(&out), Some((Notice::HOLD_TIMER_EXPIRED, vec![])));
    assert!(out.contains(&Out::Close(ID)));
}

#[test]
fn a_peer_without_a_hold_time_that_takes_nothing_is_left_as_well() {
    let mut endpoint = Endpoint::established(settings(), &Offer { hold_time_s: 0, ..theirs() });
    endpoint.wait_s(4_000);
    assert_eq!(endpoint.session.state(), State::Established, "nothing waits");
    endpoint.step(In::Blocked(ID));
    endpoint.wait_s(470);
    assert_eq!(endpoint.session.state(), State::Established);
    endpoint.took();
    endpoint.wait_s(10);
    let (notice, _) = notified(&endpoint.took()).unwrap();
    assert_eq!(notice, Notice::SEND_HOLD_TIMER_EXPIRED);
}

#[test]
fn a_peer_that_takes_nothing_is_left_after_the_send_hold_time() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    let live = |endpoint: &mut Endpoint, seconds| {
        for _ in 0..seconds / 10 {
            endpoint.wait_s(10);
            if endpoint.session.state() == State::Established {
                endpoint.keepalive(ID);
            }
        }
    };
    endpoint.step(In::Blocked(ID));
    live(&mut endpoint, 470);
    endpoint.step(In::Blocked(ID));
    endpoint.step(In::Written(ID, true));
    live(&mut endpoint, 470);
    endpoint.step(In::Written(ID, false));
    live(&mut endpoint, 1_000);
    assert_eq!(endpoint.session.state(), State::Established, "something was taken in time");
    endpoint.step(In::Blocked(ID));
    endpoint.took();
    live(&mut endpoint, 480);
    let out = endpoint.took();
    let (notice, _) = notified(&out).unwrap();
    assert_eq!(notice, Notice::SEND_HOLD_TIMER_EXPIRED);
    assert_eq!(endpoint.session.counters().send_hold_expired, 1);
}

#[test]
fn updates_that_are_handed_over_count_as_sent_and_are_to_be_taken_in_time() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.session.handed_over(endpoint.now, ID, 3);
    assert_eq!(endpoint.session.counters().sent[MessageType::Update as usize], 3);
    for _ in 0..48 {
        assert_eq!(endpoint.session.state(), State::Established);
        endpoint.wait_s(10);
        endpoint.keepalive(ID);
    }
    assert_eq!(endpoint.session.counters().send_hold_expired, 1);
}

#[test]
fn what_cannot_be_connected_is_tried_again_and_the_peer_may_come_meanwhile() {
    let mut endpoint = Endpoint::new(settings());
    endpoint.took();
    endpoint.step(In::ConnectFailed);
    assert_eq!(endpoint.session.state(), State::Active);
    endpoint.wait_s(89);
    endpoint.took();
    endpoint.wait_s(31);
    assert_eq!(endpoint.took()[0], Out::Connect, "after 90 to 120 s");
    // No answer at all: the attempt is given up and begun anew.
    endpoint.wait_s(120);
    assert_eq!(endpoint.took()[..2], [Out::Abandon, Out::Connect]);
    endpoint.step(In::Accepted(ID));
    endpoint.open(ID, &theirs());
    endpoint.keepalive(ID);
    assert_eq!(endpoint.session.state(), State::Established);
    assert!(endpoint.took().contains(&Out::Abandon), "the attempt is needed no more");
    // Too late.
    endpoint.step(In::Connected(ConnectionId(9)));
    assert_eq!(endpoint.took(), [Out::Close(ConnectionId(9))]);
}

#[test]
fn a_session_without_times_does_not_spin() {
    let (connect_retry, idle_hold) = (Duration::ZERO, Duration::ZERO);
    let mut endpoint = Endpoint::new(Settings { connect_retry, idle_hold, ..settings() });
    for _ in 0..100 {
        endpoint.step(In::ConnectFailed);
        endpoint.wait(Duration::from_millis(100));
    }
    let attempts = endpoint.session.counters().connects;
    assert!((50..=140).contains(&attempts), "{attempts} in ten seconds");
    endpoint.step(In::Connected(ID));
    endpoint.open(ID, &Offer { asn: 1, ..theirs() });
    assert_eq!(endpoint.session.state(), State::Idle);
    endpoint.wait_s(1);
    assert_ne!(endpoint.session.state(), State::Idle);
}

#[test]
fn a_passive_session_waits() {
    let mut endpoint = Endpoint::new(Settings { passive: true, ..settings() });
    assert_eq!(endpoint.took(), [Out::Indicate(Indication::State(State::Active))]);
    endpoint.wait_s(1_000);
    assert_eq!(endpoint.took(), []);
    endpoint.step(In::Accepted(ID));
    assert_eq!(sent(&endpoint.took()), [MessageType::Open]);
}

#[test]
fn who_is_not_wanted_is_refused() {
    let mut session = Session::new(settings(), 1);
    let mut out = Vec::new();
    session.step(Time::ZERO, In::Accepted(ID), &mut out);
    assert_eq!(out, [Out::Close(ID)]);
    assert_eq!(session.counters().refused, 1);
}

#[test]
fn the_open_waits_where_that_is_configured() {
    let delayed = Settings { delay_open: Duration::from_secs(10), ..settings() };
    let mut endpoint = Endpoint::new(delayed.clone());
    endpoint.step(In::Connected(ID));
    assert_eq!(sent(&endpoint.took()), []);
    endpoint.wait_s(10);
    assert_eq!(sent(&endpoint.took()), [MessageType::Open]);
    // The peer's OPEN comes before: both answers at once.
    let mut endpoint = Endpoint::new(delayed.clone());
    endpoint.step(In::Connected(ID));
    endpoint.took();
    endpoint.open(ID, &theirs());
    assert_eq!(sent(&endpoint.took()), [MessageType::Open, MessageType::Keepalive]);
    // Before anything was said nothing is said at the end.
    let mut endpoint = Endpoint::new(delayed);
    endpoint.step(In::Connected(ID));
    endpoint.step(In::Stop(Cease::AdministrativeShutdown, None));
    assert_eq!(sent(&endpoint.took()), []);
}

#[test]
fn messages_that_a_state_does_not_take_are_told_by_their_type() {
    let update = written(|out| end_of_rib(Family::Ipv4Unicast, out));
    let refresh = written(|out| write_refresh(Family::Ipv4Unicast, RefreshKind::Request, out));
    let open = written(|out| write_open(&theirs(), out));
    let alive = written(keepalive);
    let cases = [
        (0, &update, FsmError::InOpenSent, 2),
        (0, &alive, FsmError::InOpenSent, 4),
        (0, &refresh, FsmError::InOpenSent, 5),
        (1, &update, FsmError::InOpenConfirm, 2),
        (1, &open, FsmError::InOpenConfirm, 1),
        (1, &refresh, FsmError::InOpenConfirm, 5),
        (2, &open, FsmError::InEstablished, 1),
    ];
    for (far, message, error, kind) in cases {
        let mut endpoint = Endpoint::new(settings());
        endpoint.step(In::Connected(ID));
        if far > 0 {
            endpoint.open(ID, &theirs());
        }
        if far > 1 {
            endpoint.keepalive(ID);
        }
        endpoint.took();
        endpoint.receive(ID, message);
        let out = endpoint.took();
        assert_eq!(notified(&out), Some((Notice::fsm(error), vec![kind])));
        assert!(out.contains(&Out::Close(ID)));
    }
}

#[test]
fn an_open_that_does_not_fit_is_refused_with_its_reason() {
    let refused = |settings: Settings, offer: &Offer| {
        let mut endpoint = Endpoint::new(settings);
        endpoint.step(In::Connected(ID));
        endpoint.took();
        endpoint.open(ID, offer);
        let out = endpoint.took();
        let offended = told(&out);
        assert!(matches!(offended[0], Indication::Offended(_)), "{offended:?}");
        notified(&out).unwrap().0
    };
    let is = |error| Notice::open(error);
    let other_as = Offer { asn: 65_001, ..theirs() };
    assert_eq!(refused(settings(), &other_as), is(OpenError::BadPeerAs));
    let own_identifier = Offer { identifier: ours().identifier, ..theirs() };
    assert_eq!(refused(settings(), &own_identifier), is(OpenError::BadBgpIdentifier));
    let strict = Settings { hold_time_min_s: 60, ..settings() };
    assert_eq!(refused(strict, &theirs()), is(OpenError::UnacceptableHoldTime));
    let ipv6 = Offer { families: FamilySet::only(Family::Ipv6Unicast), ..theirs() };
    assert_eq!(refused(settings(), &ipv6), is(OpenError::UnsupportedCapability));
    let mut endpoint = Endpoint::new(settings());
    endpoint.step(In::Connected(ID));
    endpoint.open(ID, &ipv6);
    let (_, data) = notified(&endpoint.took()).unwrap();
    assert_eq!(data, every::hex("0104 0001 0001"), "the capability that lacks");
    let needy = Settings { required: FamilySet::only(Family::Evpn), ..settings() };
    assert_eq!(refused(needy, &theirs()), is(OpenError::UnsupportedCapability));
    let external = |role, role_strict| {
        let offer = Offer { role, ..ours() };
        Settings { role_strict, ..Settings::new(offer, PeerAs::External) }
    };
    let with = |role| Offer { role, ..other_as.clone() };
    let mismatch = is(OpenError::RoleMismatch);
    let (customer, peer) = (Some(Role::Customer), Some(Role::Peer));
    assert_eq!(refused(external(customer, false), &with(customer)), mismatch);
    assert_eq!(refused(external(peer, true), &with(None)), mismatch);
    let mut endpoint = Endpoint::established(external(peer, false), &with(None));
    endpoint.step(In::Stop(Cease::PeerDeconfigured, None));
    assert_eq!(notified(&endpoint.took()).unwrap().0, Notice::cease(Cease::PeerDeconfigured));
    // The same identifier in another AS is no violation (RFC 6286).
    let twin = Offer { identifier: ours().identifier, ..other_as.clone() };
    Endpoint::established(Settings::new(ours(), PeerAs::Is(65_001)), &twin);
}

#[test]
fn what_is_negotiated_is_what_both_can() {
    let mut theirs = Offer { asn: 65_001, ..every::offer() };
    theirs.role = None;
    let mut ours = Offer { asn: 65_000, identifier: 7, ..every::offer() };
    ours.role = None;
    ours.add_path_receive = FamilySet::only(Family::Evpn);
    let endpoint = Endpoint::established(Settings::new(ours.clone(), PeerAs::Any), &theirs);
    let negotiated = endpoint.negotiated();
    assert_eq!(negotiated.context.families.len(), Family::ALL.len());
    assert_eq!(negotiated.context.add_path, FamilySet::only(Family::Evpn), "they send it");
    assert_eq!(negotiated.add_path_send, ipv4(), "they receive it and we send it");
    let limits = negotiated.limits(Family::Ipv4Unicast);
    assert!(limits.add_path && !negotiated.limits(Family::Vpnv4).add_path);
    assert_eq!(negotiated.context.first_as, Some(65_001));
    assert!(negotiated.context.multiple_labels.has(Family::Ipv4Labelled));
    assert!(negotiated.context.extended_next_hop.has(Family::Vpnv4));
    assert!(negotiated.notification_restart && negotiated.long_lived.has(Family::Vpnv4));
    // Nothing of it with a plain speaker.
    let plain = Offer::plain(65_001, 9, 30);
    let endpoint = Endpoint::established(Settings::new(ours, PeerAs::Any), &plain);
    let negotiated = endpoint.negotiated();
    assert_eq!(negotiated.context.families, ipv4());
    assert!(!negotiated.context.four_octet_as && !negotiated.route_refresh);
    assert_eq!((negotiated.message_max, negotiated.graceful_restart), (4_096, FamilySet::EMPTY));
    let mut member = Settings::new(self::ours(), PeerAs::Any);
    member.confederation = true;
    let endpoint = Endpoint::established(member, &Offer { asn: 65_001, ..self::theirs() });
    assert_eq!(endpoint.negotiated().context.peering, Peering::Confederation);
}

#[test]
fn failures_are_waited_out_longer_each_time() {
    let mut endpoint = Endpoint::new(settings());
    let mut waits = Vec::new();
    for number in 0..9 {
        let id = ConnectionId(number);
        endpoint.step(In::Connected(id));
        endpoint.open(id, &Offer { asn: 65_001, ..theirs() });
        assert_eq!(endpoint.session.state(), State::Idle);
        endpoint.step(In::Accepted(ConnectionId(100)));
        assert!(endpoint.took().contains(&Out::Close(ConnectionId(100))), "Idle refuses");
        let begin = endpoint.now;
        while endpoint.session.state() == State::Idle {
            endpoint.wait(Duration::from_millis(100));
        }
        waits.push(endpoint.now.since(begin).as_secs_f64());
        endpoint.took();
    }
    for (number, wait) in waits.iter().enumerate() {
        let full = f64::from(1 << number).min(120.0);
        assert!((0.7 * full..=full + 0.2).contains(wait), "{waits:?}");
    }
    // An hour of peace, and it begins anew.
    let id = ConnectionId(50);
    endpoint.step(In::Connected(id));
    endpoint.open(id, &Offer { hold_time_s: 0, ..theirs() });
    endpoint.keepalive(id);
    endpoint.wait_s(3_600);
    endpoint.step(In::Closed(id));
    endpoint.wait_s(1);
    assert_eq!(endpoint.session.state(), State::Connect);
}

#[test]
fn a_shutdown_is_told_with_its_words() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.step(In::Stop(Cease::AdministrativeShutdown, Some("maintenance".into())));
    let out = endpoint.took();
    let (notice, data) = notified(&out).unwrap();
    assert_eq!(notice, Notice::cease(Cease::AdministrativeShutdown));
    assert_eq!(data, written(|out| write_communication("maintenance", out)));
    assert_eq!(endpoint.session.state(), State::Idle);
    assert_eq!(endpoint.session.deadline(), None);
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.step(In::Reset(Cease::AdministrativeReset, Some("new version".into())));
    assert_eq!(endpoint.session.state(), State::Connect, "a reset begins anew at once");
    let mut endpoint = Endpoint::established(settings(), &theirs());
    let data = written(|out| write_communication("bye", out));
    let notice = Notice::cease(Cease::AdministrativeReset);
    endpoint.receive(ID, &written(|out| write_notification(notice, &data, 4_096, out)));
    let cause = Cause::Received(notice, Some("bye".into()));
    let out = endpoint.took();
    assert_eq!(told(&out), [Indication::Down(cause, FamilySet::EMPTY)]);
    assert_eq!(sent(&out), [], "a NOTIFICATION is never answered");
}

#[test]
fn updates_are_handed_on_in_runs_and_in_order() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    let update = written(|out| end_of_rib(Family::Ipv4Unicast, out));
    let refresh = written(|out| write_refresh(Family::Ipv4Unicast, RefreshKind::Begin, out));
    let other = written(|out| write_refresh(Family::Evpn, RefreshKind::Request, out));
    let alive = written(keepalive);
    let bytes =
        [&update[..], &update, &refresh, &other, &update, &alive, &update, &update[..10]].concat();
    let taken = endpoint.session.receive(endpoint.now, ID, &bytes, &mut endpoint.out);
    assert_eq!(taken, bytes.len() - 10);
    assert_eq!(
        endpoint.took(),
        [
            Out::Updates(ID, 0..46),
            Out::Indicate(Indication::Refresh(Family::Ipv4Unicast, RefreshKind::Begin)),
            Out::Updates(ID, 92..115),
            Out::Updates(ID, 134..157),
        ],
        "the family that was not agreed on is passed over"
    );
    // What is broken ends it, behind what was whole.
    let mut bytes = update.clone();
    bytes.extend_from_slice(&[0; 40]);
    endpoint.receive(ID, &bytes);
    let out = endpoint.took();
    assert_eq!(out[0], Out::Updates(ID, 0..23));
    assert_eq!((notified(&out).unwrap().0.code, out.contains(&Out::Close(ID))), (1, true));
    assert_eq!(
        endpoint.session.receive(endpoint.now, ID, &update, &mut endpoint.out),
        23,
        "nobody is there"
    );
    assert_eq!(endpoint.took(), []);
}

#[test]
fn the_owner_refuses_what_offends_in_an_update() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    let notice = Notice::cease(Cease::MaximumPrefixes);
    endpoint.step(In::Refuse(ID, notice, every::hex("0001 01 00000064")));
    let out = endpoint.took();
    assert_eq!(notified(&out), Some((notice, every::hex("0001 01 00000064"))));
    assert_eq!(told(&out), [Indication::Down(Cause::Sent(notice), FamilySet::EMPTY)]);
}

#[test]
fn refreshes_are_sent_to_who_understands_them() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.step(In::Refresh(Family::Ipv4Unicast, RefreshKind::Request));
    endpoint.step(In::Refresh(Family::Ipv4Unicast, RefreshKind::End));
    endpoint.step(In::Refresh(Family::Evpn, RefreshKind::Request));
    assert_eq!(sent(&endpoint.took()), [MessageType::RouteRefresh; 2]);
    let mut endpoint =
        Endpoint::established(settings(), &Offer { enhanced_refresh: false, ..theirs() });
    endpoint.step(In::Refresh(Family::Ipv4Unicast, RefreshKind::Begin));
    assert_eq!(sent(&endpoint.took()), []);
    let mut endpoint = Endpoint::established(settings(), &Offer::plain(65_000, 9, 30));
    endpoint.step(In::Refresh(Family::Ipv4Unicast, RefreshKind::Request));
    assert_eq!(sent(&endpoint.took()), []);
}

#[test]
fn the_connection_of_the_higher_identifier_stays() {
    for (identifier, survivor) in [(0x0900_0000, ID), (0x0B00_0000, ConnectionId(2))] {
        let offer = Offer { identifier, ..theirs() };
        for order in [[ID, ConnectionId(2)], [ConnectionId(2), ID]] {
            let mut endpoint = Endpoint::new(settings());
            endpoint.step(In::Connected(ID));
            endpoint.step(In::Accepted(ConnectionId(2)));
            endpoint.took();
            endpoint.open(order[0], &offer);
            endpoint.open(order[1], &offer);
            let out = endpoint.took();
            let loser = if survivor == ID { ConnectionId(2) } else { ID };
            assert!(out.contains(&Out::Close(loser)), "{order:?}");
            let notice = Notice::cease(Cease::ConnectionCollisionResolution);
            assert_eq!(notified(&out).unwrap().0, notice);
            assert_eq!(endpoint.session.connections().collect::<Vec<_>>(), [survivor]);
            endpoint.keepalive(survivor);
            assert_eq!(endpoint.session.state(), State::Established);
        }
    }
}

#[test]
fn with_the_same_identifier_the_larger_as_wins() {
    let offer = Offer { identifier: ours().identifier, asn: 65_001, ..theirs() };
    let mut endpoint = Endpoint::new(Settings::new(ours(), PeerAs::External));
    endpoint.step(In::Connected(ID));
    endpoint.step(In::Accepted(ConnectionId(2)));
    endpoint.open(ID, &offer);
    endpoint.open(ConnectionId(2), &offer);
    assert_eq!(endpoint.session.connections().collect::<Vec<_>>(), [ConnectionId(2)]);
}

#[test]
fn what_is_established_for_long_stays_against_a_newcomer() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    endpoint.wait_s(20);
    endpoint.took();
    endpoint.step(In::Accepted(ConnectionId(2)));
    endpoint.open(ConnectionId(2), &theirs());
    let out = endpoint.took();
    assert!(out.contains(&Out::Close(ConnectionId(2))) && !out.contains(&Out::Close(ID)));
    assert_eq!(endpoint.session.state(), State::Established);
    // Who connects again and again holds one place only.
    for number in 10..60 {
        endpoint.step(In::Accepted(ConnectionId(number)));
        assert!(endpoint.session.connections().count() <= 2);
    }
}

fn restarting(time_s: u16, notification: bool, lasting_s: u32) -> Offer {
    let mut offer = theirs();
    offer.families = [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect();
    let restart = GracefulRestart { notification, time_s, ..GracefulRestart::default() };
    offer.graceful_restart =
        Some(GracefulRestart { families: ipv4(), forwarding: ipv4(), ..restart });
    if lasting_s > 0 {
        let mut time_s = [0; FAMILIES];
        time_s[Family::Ipv4Unicast as usize] = lasting_s;
        offer.long_lived = Some(LongLived { families: ipv4(), forwarding: ipv4(), time_s });
    }
    offer
}

fn patient(notification: bool, lasting: bool) -> Settings {
    let mut settings = settings();
    settings.offer.families = [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect();
    let restart = GracefulRestart { notification, time_s: 120, ..GracefulRestart::default() };
    settings.offer.graceful_restart = Some(restart);
    if lasting {
        let families = settings.offer.families;
        settings.offer.long_lived = Some(LongLived { families, ..LongLived::default() });
    }
    settings.passive = true;
    settings
}

/// Established on an accepted connection.
fn back(endpoint: &mut Endpoint, id: u32, offer: &Offer) {
    endpoint.step(In::Accepted(ConnectionId(id)));
    endpoint.open(ConnectionId(id), offer);
    endpoint.keepalive(ConnectionId(id));
    assert_eq!(endpoint.session.state(), State::Established);
}

#[test]
fn routes_outlive_a_lost_connection_until_the_restart_time_is_over() {
    let offer = restarting(60, false, 0);
    let mut endpoint = Endpoint::new(patient(false, false));
    back(&mut endpoint, 1, &offer);
    endpoint.took();
    endpoint.step(In::Closed(ID));
    assert_eq!(told(&endpoint.took()), [Indication::Down(Cause::Lost, ipv4())]);
    endpoint.wait_s(59);
    assert_eq!(told(&endpoint.took()), []);
    endpoint.wait_s(1);
    assert_eq!(told(&endpoint.took()), [Indication::Purge(ipv4())]);
    assert_eq!(endpoint.session.deadline(), None);
}

#[test]
fn a_peer_that_is_back_in_time_renews_its_routes_until_its_end_of_rib() {
    let offer = restarting(60, false, 0);
    let mut endpoint = Endpoint::new(patient(false, false));
    back(&mut endpoint, 1, &offer);
    endpoint.step(In::Closed(ID));
    endpoint.wait_s(30);
    endpoint.took();
    back(&mut endpoint, 2, &offer);
    assert!(matches!(told(&endpoint.took())[..], [Indication::Up(..)]));
    endpoint.step(In::EndOfRib(Family::Ipv6Unicast));
    assert_eq!(told(&endpoint.took()), []);
    endpoint.step(In::EndOfRib(Family::Ipv4Unicast));
    assert_eq!(told(&endpoint.took()), [Indication::Purge(ipv4())]);
    // Without End-of-RIB they go after a time.
    endpoint.step(In::Closed(ConnectionId(2)));
    endpoint.wait_s(10);
    back(&mut endpoint, 3, &Offer { hold_time_s: 0, ..offer.clone() });
    endpoint.took();
    endpoint.wait_s(360);
    assert_eq!(told(&endpoint.took()), [Indication::Purge(ipv4())]);
    // Who did not keep forwarding has lost them at once.
    endpoint.step(In::Closed(ConnectionId(3)));
    endpoint.wait_s(10);
    endpoint.took();
    let mut forgetful = offer;
    let restart = forgetful.graceful_restart.as_mut().unwrap();
    restart.forwarding = FamilySet::EMPTY;
    back(&mut endpoint, 4, &forgetful);
    assert!(matches!(told(&endpoint.took())[..], [Indication::Up(..), Indication::Purge(_)]));
}

#[test]
fn routes_outlive_a_notification_only_where_both_said_so() {
    let notice = Notice::cease(Cease::OutOfResources);
    let hard = Notice::cease(Cease::HardReset);
    for (agreed, notice, kept) in
        [(false, notice, FamilySet::EMPTY), (true, notice, ipv4()), (true, hard, FamilySet::EMPTY)]
    {
        let mut endpoint = Endpoint::new(patient(agreed, false));
        back(&mut endpoint, 1, &restarting(60, true, 0));
        endpoint.took();
        endpoint.receive(ID, &written(|out| write_notification(notice, &[6, 4], 4_096, out)));
        let cause = Cause::Received(notice, None);
        assert_eq!(told(&endpoint.took()), [Indication::Down(cause, kept)]);
        // The hold timer is such a NOTIFICATION as well, of ours.
        let mut endpoint = Endpoint::new(patient(agreed, false));
        back(&mut endpoint, 1, &restarting(600, true, 0));
        endpoint.took();
        endpoint.wait_s(30);
        let kept = if agreed { ipv4() } else { FamilySet::EMPTY };
        let cause = Cause::Sent(Notice::HOLD_TIMER_EXPIRED);
        assert_eq!(told(&endpoint.took()), [Indication::Down(cause, kept)]);
    }
    // A violation of the peer's is none that its routes outlive.
    let mut endpoint = Endpoint::new(patient(true, false));
    back(&mut endpoint, 1, &restarting(60, true, 0));
    endpoint.took();
    endpoint.receive(ID, &[0; 30]);
    assert!(
        told(&endpoint.took()).iter().any(|it| matches!(it, Indication::Down(_, FamilySet::EMPTY)))
    );
}

#[test]
fn stale_routes_live_long_where_that_was_agreed() {
    let offer = restarting(60, false, 3_600);
    let mut endpoint = Endpoint::new(patient(false, true));
    back(&mut endpoint, 1, &offer);
    endpoint.took();
    endpoint.step(In::Closed(ID));
    assert_eq!(told(&endpoint.took()), [Indication::Down(Cause::Lost, ipv4())]);
    endpoint.wait_s(60);
    assert_eq!(told(&endpoint.took()), [Indication::LongLived(ipv4())]);
    // Back and lost again: the time that runs is not begun anew (RFC 9494 §4.2).
    endpoint.wait_s(1_000);
    back(&mut endpoint, 2, &offer);
    endpoint.step(In::Closed(ConnectionId(2)));
    endpoint.took();
    endpoint.wait_s(2_599);
    assert_eq!(told(&endpoint.took()), []);
    endpoint.wait_s(1);
    assert_eq!(told(&endpoint.took()), [Indication::Purge(ipv4())]);
    // Without a restart time the long one begins at once.
    let mut endpoint = Endpoint::new(patient(false, true));
    back(&mut endpoint, 1, &restarting(0, false, 100));
    endpoint.took();
    endpoint.step(In::Closed(ID));
    let down = Indication::Down(Cause::Lost, ipv4());
    assert_eq!(told(&endpoint.took()), [down, Indication::LongLived(ipv4())]);
    // What the operator ends is over.
    endpoint.step(In::Stop(Cease::AdministrativeShutdown, None));
    assert_eq!(told(&endpoint.took()), [Indication::Purge(ipv4())]);
}

#[test]
fn other_settings_count_from_the_next_connection_on() {
    let mut endpoint = Endpoint::established(settings(), &theirs());
    let other = Offer { hold_time_s: 9, ..ours() };
    endpoint.step(In::SetSettings(Box::new(Settings::new(other, PeerAs::Internal))));
    assert_eq!(endpoint.negotiated().hold_time, Duration::from_secs(30));
    endpoint.step(In::Reset(Cease::OtherConfigurationChange, None));
    endpoint.step(In::Connected(ConnectionId(2)));
    endpoint.open(ConnectionId(2), &theirs());
    endpoint.keepalive(ConnectionId(2));
    assert_eq!(endpoint.negotiated().hold_time, Duration::from_secs(9));
    assert_eq!(endpoint.session.settings().offer.hold_time_s, 9);
}
