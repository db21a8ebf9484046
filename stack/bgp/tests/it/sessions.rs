//! Sessions, UPDATEs, limits and configurations.

use crate::world::{Observed, SECOND, World};
use bgp::State;
use bgp::family::Family;
use bgp_stack::{Held, In, PolicyChange, Refusal};
use rib::Kind;

const A: &str = r#"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
[[group]]
name = "pe"
ranges = ["10.0.0.0/24"]
client = true
peers_max = 1
[[policy]]
name = "all"
rule = [{ then = "accept" }]
"#;
const B: &str = r#"
asn = 65000
identifier = "10.0.0.2"
[[peer]]
name = "a"
address = "10.0.0.1"
"#;

/// An UPDATE with that many octets of withdrawn routes: each 0/0.
fn update(routes: u8) -> Vec<u8> {
    let mut message = vec![0xFF; 16];
    message.extend_from_slice(&(23 + u16::from(routes)).to_be_bytes());
    message.extend_from_slice(&[2, 0, routes]);
    message.extend(core::iter::repeat_n(0, routes.into()));
    message.extend_from_slice(&[0, 0]);
    message
}

fn take(world: &mut World, at: usize) -> Vec<Observed> {
    core::mem::take(&mut world.sides[at].told)
}

#[test]
fn two_speakers_find_each_other_and_exchange_updates_until_one_of_them_leaves() {
    let mut world = World::new([A, B]);
    let (a, b) = (world.peer(0), world.peer(1));
    assert_eq!(take(&mut world, 0), [Observed::Up(a)]);
    assert_eq!(take(&mut world, 1), [Observed::Up(b)]);
    let peer = world.sides[0].speaker.peers().get(a).unwrap();
    assert!(peer.settings.is_dynamic, "it came from a range");
    assert_eq!(peer.session.state(), State::Established);
    assert_eq!(world.sides[0].speaker.counts().established, 1);
    assert!(world.send(1, &update(3)));
    assert_eq!(take(&mut world, 0), [Observed::Update(a, update(3))]);
    let families = world.act(1, |speaker, now, out| speaker.request_routes(now, b, out));
    assert!(families.unwrap().has(Family::Ipv4Unicast));
    assert_eq!(take(&mut world, 0), [Observed::Refresh(a, Family::Ipv4Unicast)]);
    world.act(1, |speaker, now, out| speaker.drain(now, Some("good bye"), out));
    let told = take(&mut world, 0);
    assert!(
        matches!(&told[..], [Observed::Down(_, cause)] if cause.contains("good bye")),
        "{told:?}"
    );
    assert!(world.sides[0].speaker.is_idle() && world.sides[1].speaker.is_idle());
    assert!(!world.send(1, &update(1)), "the session does not stand any more");
    world.pass(SECOND * 600);
    assert!(world.sides[0].speaker.peers().is_empty(), "who came from a range is forgotten");
}

#[test]
fn no_update_is_handed_on_behind_one_that_ended_the_session() {
    let mut world = World::new([A, B]);
    let a = world.peer(0);
    take(&mut world, 0);
    take(&mut world, 1);
    world.sides[0].refuses = Some(update(2).len());
    world.send(1, &[update(1), update(2), update(3)].concat());
    let told = take(&mut world, 0);
    assert_eq!(told[..2], [Observed::Update(a, update(1)), Observed::Update(a, update(2))]);
    assert!(matches!(&told[2..], [Observed::Down(_, cause)] if cause.contains("Sent")), "{told:?}");
    let told = take(&mut world, 1);
    assert!(
        matches!(&told[..], [Observed::Down(_, cause)] if cause.contains("Received")),
        "{told:?}"
    );
    assert_eq!(world.sides[0].speaker.counts().offended, 1);
    world.sides[0].refuses = None;
    // A connection that comes while the other side waits in Idle is refused: ConnectRetryTime.
    world.pass(SECOND * 300);
    assert!(matches!(take(&mut world, 1)[..], [Observed::Up(_)]), "it comes back");
}

#[test]
fn a_peer_with_more_routes_than_it_may_have_is_held_for_a_while() {
    let limit = r#"
        [[group.prefix_limit]]
        family = "ipv4-unicast"
        max = 10
        excess = "restart"
        restart_s = 60
    "#;
    // The table of a group's limit ends its plain keys.
    let site = A.replace("peers_max = 1", &format!("peers_max = 1\n{limit}"));
    let mut world = World::new([&site, B]);
    let a = world.peer(0);
    take(&mut world, 0);
    let check = |world: &mut World, routes| {
        let count = |_: Family| routes;
        world.act(0, |speaker, now, out| speaker.check_limits(now, a, count, || 0, out));
        take(world, 0)
    };
    assert_eq!(check(&mut world, 9), []);
    let warned = world.sides[0].speaker.peers().get(a).unwrap().warned;
    assert!(warned.has(Family::Ipv4Unicast), "80 per cent of it");
    assert!(matches!(check(&mut world, 11)[..], [Observed::Down(..)]));
    let held = world.sides[0].speaker.peers().get(a).unwrap().held;
    assert!(matches!(held, Some(Held::Excess(Some(_)))), "{held:?}");
    world.pass(SECOND * 50);
    assert_eq!(take(&mut world, 0), [], "not yet");
    world.pass(SECOND * 300);
    assert!(matches!(take(&mut world, 0)[..], [Observed::Up(_)]));
}

#[test]
fn a_configuration_changes_what_it_must_and_leaves_the_rest_alone() {
    let mut world = World::new([A, B]);
    let b = world.peer(1);
    take(&mut world, 1);
    assert_eq!(world.configure(1, &B.replace("[[peer]]", "[[peer]]\nconnect_retry_s = 7")), None);
    assert_eq!(take(&mut world, 1), [Observed::Limits(b)], "the session goes on");
    let import = r#"
        [[policy]]
        name = "all"
        rule = [{ then = "accept" }]
        [[peer]]
        import = "all""#;
    let with_policy = B.replace("[[peer]]", import);
    let change = |numbers| Some(PolicyChange { numbers, ..PolicyChange::default() });
    let named = PolicyChange { rebound: vec![(b, [1, 0])], numbers: vec![1] };
    assert_eq!(world.configure(1, &with_policy), Some(named), "the session has it now");
    world.pass(SECOND * 10);
    assert_eq!(take(&mut world, 1), [Observed::Limits(b)], "the session goes on");
    let peer = world.sides[1].speaker.peers().get(b).unwrap();
    assert_eq!((peer.policies, world.sides[1].speaker.policies().validating()), ([1, 0], vec![]));
    let changed = with_policy.replace("accept", "reject");
    assert_eq!(world.configure(1, &changed), change(vec![1]), "it is asked again");
    let alone = B.split("[[peer]]").next().unwrap();
    world.configure(1, alone);
    let told = take(&mut world, 1);
    assert!(matches!(told[..], [Observed::Down(..)]), "{told:?}");
    assert!(world.sides[1].speaker.peers().is_empty());
}

#[test]
fn a_policy_that_begins_to_look_at_peers_gets_numbers_that_know_them() {
    let site = |rule: &str| {
        let policy = format!("[[policy]]\nname = \"all\"\nrule = [{{ {rule} }}]\n[[peer]]\n");
        B.replace("[[peer]]", &format!("{policy}import = \"all\"\nexport = \"all\""))
    };
    let mut world = World::new([A, &site("then = \"accept\"")]);
    let b = world.peer(1);
    assert_eq!(world.sides[1].speaker.peers().get(b).unwrap().policies, [1, 1]);
    let looks = site("match.peers = [\"a\"], then = \"accept\"");
    let change = PolicyChange { rebound: vec![(b, [2, 2])], numbers: vec![2] };
    assert_eq!(world.configure(1, &looks), Some(change));
    let again = looks.replace("accept", "reject");
    let change = PolicyChange { rebound: vec![], numbers: vec![2] };
    assert_eq!(world.configure(1, &again), Some(change), "they know them already");
    assert!(matches!(take(&mut world, 1)[..], [Observed::Up(_)]), "the session goes on");
}

#[test]
fn what_was_sent_to_manage_a_session_is_told_though_the_peer_has_gone() {
    let mut world = World::new([A, B]);
    let sent = |world: &mut World| core::mem::take(&mut world.sides[1].sent);
    world.pass(SECOND * 100);
    let [open, notification, refresh] = [1, 3, 5].map(|kind| ("a".to_owned(), kind));
    assert_eq!(sent(&mut world), [open], "no KEEPALIVE");
    let b = world.peer(1);
    world.act(1, |speaker, now, out| speaker.request_routes(now, b, out));
    assert!(world.send(1, &update(1)));
    assert_eq!(sent(&mut world), [refresh]);
    world.configure(1, B.split("[[peer]]").next().unwrap());
    assert!(world.sides[1].speaker.peers().is_empty());
    assert_eq!(sent(&mut world), [notification]);
}

#[test]
fn a_connection_from_nowhere_and_one_too_many_are_refused() {
    let nobody = A.replace("10.0.0.0/24", "10.9.0.0/24");
    let mut world = World::new([&nobody, B]);
    assert_eq!(world.sides[0].speaker.counts().refused, 1);
    assert!(world.sides[0].speaker.peers().is_empty());
    let more = A.replace("10.0.0.0/24", "10.0.0.2/32");
    world.configure(0, &more);
    world.pass(SECOND * 300);
    let peer = world.sides[0].speaker.peers().iter().next().unwrap().1;
    assert_eq!(peer.negotiated.as_ref().unwrap().peer.asn, 65_000);
    assert_eq!(peer.settings.group.as_deref(), Some("pe"));
    assert!(matches!(peer.settings.client.then_some(Kind::Client), Some(Kind::Client)));
}

#[test]
fn two_that_restarted_do_not_wait_for_one_another_and_go_on_as_before_until_all_is_told() {
    let a = A.replace("client = true", "client = true\ngraceful_restart_s = 60");
    let b = B.to_owned() + "graceful_restart_s = 60\n";
    let mut world = World::after([&a, &b], SECOND * 60);
    let is_deferring = |world: &mut World, at: usize| {
        world.act(at, |speaker, now, out| speaker.is_deferring(now, out))
    };
    let is_recovering = |world: &World| [0, 1].map(|at| world.sides[at].speaker.is_recovering());
    // Who may come from a range is waited for.
    assert_eq!([0, 1].map(|at| is_deferring(&mut world, at)), [true, false]);
    assert_eq!(is_recovering(&world), [true, true]);
    let family = Family::Ipv4Unicast;
    let id = world.peer(1);
    world.act(1, |speaker, now, out| speaker.end_of_rib(now, id, family, out));
    assert_eq!(is_recovering(&world), [true, false], "it has told all that it has");
    world.pass(SECOND * 58);
    assert_eq!((is_deferring(&mut world, 0), is_recovering(&world)[0]), (true, true));
    world.pass(SECOND);
    assert_eq!((is_deferring(&mut world, 0), is_recovering(&world)[0]), (false, false));
}

#[test]
fn why_a_session_does_not_stand_is_what_holds_now() {
    let elsewhere = r#"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
[[peer]]
name = "b"
address = "10.0.0.9"
connect_retry_s = 10
"#;
    let mut world = World::new([elsewhere, &format!("{B}connect_retry_s = 10\n")]);
    let why = |world: &World, at: usize| {
        let speaker = &world.sides[at].speaker;
        let (_, peer) = speaker.peers().iter().next().unwrap();
        speaker.why(world.now, peer)
    };
    let stranger = "connections from 10.0.0.2 were refused: no peer has that address";
    world.pass(SECOND * 30);
    assert_eq!(why(&world, 0), Some(format!("the far end closed the connection; {stranger}")));
    // Whoever carries connections says what is not proven by an address of the peer.
    for (refusal, text) in [
        (Refusal::WrongPassword, "segments with a wrong password come from its address"),
        (Refusal::NoPassword, "segments without a password come from its address"),
    ] {
        let refused = In::Refused([10, 0, 0, 9].into(), refusal);
        world.act(0, |speaker, now, out| speaker.step(now, refused, out));
        assert_eq!(why(&world, 0), Some(format!("{text}; {stranger}")));
    }
    // Its address is put right: nothing of before is said any more, and the session stands.
    world.configure(0, &elsewhere.replace("10.0.0.9", "10.0.0.2"));
    let said = why(&world, 0).unwrap_or_default();
    assert!(!said.contains("10.0.0.2") && !said.contains("password"), "{said}");
    world.pass(SECOND * 60);
    assert!(matches!(take(&mut world, 1)[..], [Observed::Up(_)]));
    assert_eq!((why(&world, 0), why(&world, 1)), (None, None));
    // A reason that grows old says so.
    let (id, text) = (world.peer(0), Some("for the night".to_owned()));
    world.act(0, |speaker, now, out| speaker.shut_down(now, id, text, out));
    let fresh = why(&world, 0).unwrap();
    world.pass(SECOND * 300);
    assert_eq!(why(&world, 0), Some(format!("{fresh} (5 min ago)")));
}

#[test]
fn a_wrong_as_is_what_both_ends_say_while_connections_end_without_a_word() {
    let a = r#"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
[[peer]]
name = "b"
address = "10.0.0.2"
asn = 65009
passive = true
"#;
    let b = r#"
asn = 65002
identifier = "10.0.0.2"
[[peer]]
name = "a"
address = "10.0.0.1"
asn = 65000
connect_retry_s = 2
"#;
    let mut world = World::new([a, b]);
    let why = |world: &World, at: usize| {
        let speaker = &world.sides[at].speaker;
        let (_, peer) = speaker.peers().iter().next().unwrap();
        speaker.why(world.now, peer).unwrap_or_default()
    };
    let sent = "sent OPEN Message Error: Bad Peer AS (it says AS 65002, here its `asn` is 65009)";
    let received = "received OPEN Message Error: Bad Peer AS";
    let mut attempts = 0;
    for _ in 0..60 {
        let before = world.sides[1].speaker.counts().attempts;
        world.pass(SECOND);
        attempts += world.sides[1].speaker.counts().attempts - before;
        assert!(why(&world, 0).starts_with(sent), "{}", why(&world, 0));
        assert!(why(&world, 1).starts_with(received), "{}", why(&world, 1));
    }
    assert!(attempts > 2, "some of them were closed without a word: {attempts}");
    // Nothing but closed connections for long: then that is the reason.
    let nobody = a.replace("10.0.0.2", "10.0.0.9");
    world.configure(0, &nobody);
    world.pass(SECOND * 120);
    assert!(why(&world, 1).starts_with(received), "{}", why(&world, 1));
    world.pass(SECOND * 120);
    assert_eq!(why(&world, 1), "the far end closed the connection");
}
