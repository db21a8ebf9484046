//! The message flows of RFC 4666 §5, message by message.

use crate::world::{Node, World, msu, parameters, pc};
use m3ua::codec::{
    Affected, ErrorCode, MessageType, Notification, RoutingContext, ServerState, TrafficMode,
    UserCause,
};
use m3ua::{
    Cause, In, Indication, Key, Metric, Parameters, PeerSettings, Role, ServerId, ServerSettings,
    Side,
};

const DPC: u32 = 2;

/// An SGP and so many ASPs of one Application Server, RC 1, none of them started.
struct Group {
    world: World,
    sgp: Node,
    server: ServerId,
    asps: Vec<Node>,
    here: Vec<ServerId>,
}

fn group(
    count: usize,
    mode: TrafficMode,
    asps_min: u16,
    configure: fn(&mut ServerSettings),
) -> Group {
    let mut world = World::new(1);
    let sgp = world.node("sgp", parameters());
    let mut there = ServerSettings::new(Side::There, Some(RoutingContext(1)), Key::of(pc(DPC)));
    there.mode = Some(mode);
    there.asps_min = asps_min;
    let server = world.serve(sgp, there);
    let (mut asps, mut here) = (Vec::new(), Vec::new());
    for number in 0..count {
        let asp = world.node(&format!("asp{}", number + 1), parameters());
        let mut settings =
            ServerSettings::new(Side::Here, Some(RoutingContext(1)), Key::of(pc(DPC)));
        settings.mode = Some(mode);
        settings.starts = false;
        configure(&mut settings);
        here.push(world.serve(asp, settings));
        let link = world.asp_to_sgp(asp, sgp, number as u32 + 1);
        world.assign(link, 0, here[number]);
        world.assign(link, 1, server);
        asps.push(asp);
    }
    Group { world, sgp, server, asps, here }
}

impl Group {
    fn up(&mut self, asp: usize) {
        self.world.up(asp);
    }
    fn active(&mut self, asp: usize, is_active: bool) {
        let (peer, server) = (self.world.peer(asp, 0), self.here[asp]);
        self.world.step(
            self.asps[asp],
            match is_active {
                true => In::AspActive(peer, server),
                false => In::AspInactive(peer, server),
            },
        );
    }
    fn state(&self) -> ServerState {
        self.world.nodes[self.sgp].server_state(self.server).unwrap()
    }
    /// One MSU for each of sixteen flows; how many each ASP got.
    fn sixteen(&mut self) -> Vec<usize> {
        self.world.told.clear();
        for sls in 0..16 {
            self.world.step(self.sgp, In::Transfer(msu(1, DPC, sls, &[sls])));
        }
        self.world.run_ms(500);
        self.asps.iter().map(|asp| self.world.payloads(*asp).len()).collect()
    }
}

/// §5.1.1.1.
#[test]
fn a_single_asp_without_registration() {
    let mut group = group(1, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.world.expect(&[
        "asp1 > sgp ASPUP",
        "sgp > asp1 ASPUP ACK",
        "sgp > asp1 NTFY AS-INACTIVE RC=1",
    ]);
    group.active(0, true);
    group.world.expect(&[
        "asp1 > sgp ASPAC RC=1",
        "sgp > asp1 ASPAC ACK RC=1",
        "sgp > asp1 NTFY AS-ACTIVE RC=1",
    ]);
    assert_eq!(group.state(), ServerState::Active);
    assert_eq!(group.sixteen(), [16]);
}

/// §5.1.1.2.
#[test]
fn a_single_asp_with_dynamic_registration() {
    let mut world = World::new(1);
    let open = Parameters { registration: m3ua::Registration::Open, ..parameters() };
    let (sgp, asp) = (world.node("sgp", open), world.node("asp", parameters()));
    let mut settings = ServerSettings::new(Side::Here, None, Key::of(pc(DPC)));
    settings.registers = true;
    let here = world.serve(asp, settings);
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.assign(link, 0, here);
    world.up(link);
    world.expect(&[
        "asp > sgp ASPUP",
        "sgp > asp ASPUP ACK",
        "asp > sgp REG REQ",
        "sgp > asp REG RSP",
        "sgp > asp NTFY AS-INACTIVE RC=1",
        "asp > sgp ASPAC RC=1",
        "sgp > asp ASPAC ACK RC=1",
        "sgp > asp NTFY AS-ACTIVE RC=1",
    ]);
    world.step(sgp, In::Transfer(msu(1, DPC, 0, b"to the registered key")));
    world.run_ms(100);
    assert_eq!(world.payloads(asp).len(), 1);
    world.forget();
    let peer = world.peer(link, 0);
    world.step(asp, In::Deregister(peer, here));
    world.run_ms(500);
    let lines = world.lines();
    let said = |what: &str| lines.iter().position(|line| line.starts_with(what)).unwrap();
    assert!(said("asp > sgp ASPIA") < said("asp > sgp DEREG REQ"), "{lines:?}");
    assert!(said("asp > sgp DEREG REQ") < said("sgp > asp DEREG RSP"), "{lines:?}");
    assert_eq!(world.nodes[asp].routing_context(peer, here), None);
}

/// §5.1.1.3.
#[test]
fn a_single_asp_in_several_application_servers() {
    let mut world = World::new(1);
    let (sgp, asp) = (world.node("sgp", parameters()), world.node("asp", parameters()));
    let link = world.asp_to_sgp(asp, sgp, 1);
    let mut servers = Vec::new();
    for context in 1..=2 {
        let there = world.server(sgp, Side::There, context, 10 + context);
        let here = world.server(asp, Side::Here, context, 10 + context);
        world.assign(link, 1, there);
        world.assign(link, 0, here);
        servers.push(here);
    }
    world.up(link);
    world.run_ms(500);
    let lines = world.lines();
    for line in ["asp > sgp ASPAC RC=1", "asp > sgp ASPAC RC=2", "sgp > asp ASPAC ACK RC=1"] {
        assert!(lines.iter().any(|it| it == line), "{line} in {lines:?}");
    }
    for context in 1..=2 {
        world.step(sgp, In::Transfer(msu(1, 10 + context, 0, &[context as u8])));
    }
    world.run_ms(100);
    let served: Vec<ServerId> = world
        .told
        .iter()
        .filter_map(|(_, node, what)| match what {
            Indication::Transfer(_, server, ..) if *node == asp => Some(*server),
            _ => None,
        })
        .collect();
    assert_eq!(served, servers);
}

/// §5.1.2.
#[test]
fn two_asps_override_one_plus_one() {
    let mut group = group(2, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.up(1);
    group.world.run_ms(500);
    group.world.forget();
    group.active(0, true);
    group.world.expect(&[
        "asp1 > sgp ASPAC RC=1",
        "sgp > asp1 ASPAC ACK RC=1",
        "sgp > asp1 NTFY AS-ACTIVE RC=1",
        "sgp > asp2 NTFY AS-ACTIVE RC=1",
    ]);
    assert_eq!(group.sixteen(), [16, 0]);
}

/// §5.1.3: loadsharing between two, of which one is enough.
#[test]
fn two_asps_share_the_load() {
    let mut group = group(2, TrafficMode::Loadshare, 1, |_| {});
    group.up(0);
    group.up(1);
    group.active(0, true);
    group.world.run_ms(500);
    group.world.forget();
    group.active(1, true);
    group.world.expect(&["asp2 > sgp ASPAC RC=1", "sgp > asp2 ASPAC ACK RC=1"]);
    assert_eq!(group.sixteen(), [8, 8]);
}

/// §5.1.4: n+k, here 2+1.
#[test]
fn three_asps_share_the_load_of_two() {
    let mut group = group(3, TrafficMode::Loadshare, 2, |_| {});
    for asp in 0..3 {
        group.up(asp);
    }
    group.world.run_ms(500);
    group.world.forget();
    group.active(0, true);
    group.world.expect(&[
        "asp1 > sgp ASPAC RC=1",
        "sgp > asp1 ASPAC ACK RC=1",
        "sgp > asp2 NTFY Insufficient ASP Resources Active in AS RC=1",
        "sgp > asp3 NTFY Insufficient ASP Resources Active in AS RC=1",
    ]);
    assert_eq!(group.state(), ServerState::Inactive);
    group.active(1, true);
    group.world.expect(&[
        "asp2 > sgp ASPAC RC=1",
        "sgp > asp2 ASPAC ACK RC=1",
        "sgp > asp1 NTFY AS-ACTIVE RC=1",
        "sgp > asp2 NTFY AS-ACTIVE RC=1",
        "sgp > asp3 NTFY AS-ACTIVE RC=1",
    ]);
    assert_eq!(group.sixteen(), [8, 8, 0]);
}

/// §5.2.1.
#[test]
fn withdrawal_of_the_active_asp_and_the_backup_overrides() {
    let mut group = group(2, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.up(1);
    group.active(0, true);
    group.world.run_ms(500);
    group.world.forget();
    group.active(0, false);
    group.world.expect(&[
        "asp1 > sgp ASPIA RC=1",
        "sgp > asp1 ASPIA ACK RC=1",
        "sgp > asp1 NTFY AS-PENDING RC=1",
        "sgp > asp2 NTFY AS-PENDING RC=1",
    ]);
    for sls in 0..4 {
        group.world.step(group.sgp, In::Transfer(msu(1, DPC, sls, &[sls])));
    }
    assert_eq!(group.world.nodes[group.sgp].waiting(group.server), 4);
    group.active(1, true);
    group.world.expect(&[
        "asp2 > sgp ASPAC RC=1",
        "sgp > asp2 ASPAC ACK RC=1",
        "sgp > asp1 NTFY AS-ACTIVE RC=1",
        "sgp > asp2 NTFY AS-ACTIVE RC=1",
    ]);
    assert_eq!(group.world.payloads(group.asps[1]).len(), 4, "what waited came");
    assert_eq!(group.world.metric(group.sgp, Metric::Recovered), 4);
}

/// §5.2.2.
#[test]
fn the_backup_overrides_an_active_asp() {
    let mut group = group(2, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.up(1);
    group.active(0, true);
    group.world.run_ms(500);
    group.world.forget();
    group.active(1, true);
    group.world.expect(&[
        "asp2 > sgp ASPAC RC=1",
        "sgp > asp2 ASPAC ACK RC=1",
        "sgp > asp1 NTFY Alternate ASP Active RC=1",
    ]);
    let (peer, here) = (group.world.peer(0, 0), group.here[0]);
    assert!(!group.world.nodes[group.asps[0]].is_active(peer, here), "no tug of war");
    let told = group.world.told(group.asps[0]);
    let what = Notification::AlternateAspActive;
    assert!(told.contains(&&Indication::Notified(peer, Some(here), what, Some(2))), "{told:?}");
    assert_eq!(group.sixteen(), [0, 16]);
}

/// §5.2.3.
#[test]
fn withdrawal_of_one_that_shares_the_load() {
    let mut group = group(3, TrafficMode::Loadshare, 2, |settings| settings.takes_over = true);
    for asp in 0..3 {
        group.up(asp);
    }
    group.world.run_ms(100);
    group.active(0, true);
    group.active(1, true);
    group.world.run_ms(1000);
    // All the world has taken over: each was told that more are wanted.
    group.active(2, false);
    group.world.run_ms(500);
    group.world.forget();
    group.active(0, false);
    group.world.expect(&[
        "asp1 > sgp ASPIA RC=1",
        "sgp > asp1 ASPIA ACK RC=1",
        "sgp > asp1 NTFY Insufficient ASP Resources Active in AS RC=1",
        "sgp > asp3 NTFY Insufficient ASP Resources Active in AS RC=1",
        "asp1 > sgp ASPAC RC=1",
        "asp3 > sgp ASPAC RC=1",
        "sgp > asp1 ASPAC ACK RC=1",
        "sgp > asp3 ASPAC ACK RC=1",
    ]);
    assert_eq!(group.state(), ServerState::Active);
}

/// §5.3.
#[test]
fn normal_withdrawal_and_teardown() {
    let mut group = group(1, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.active(0, true);
    group.world.run_ms(500);
    group.world.forget();
    group.active(0, false);
    group.world.run_ms(100);
    let peer = group.world.peer(0, 0);
    group.world.step(group.asps[0], In::AspDown(peer));
    group.world.expect(&[
        "asp1 > sgp ASPIA RC=1",
        "sgp > asp1 ASPIA ACK RC=1",
        "sgp > asp1 NTFY AS-PENDING RC=1",
        "asp1 > sgp ASPDN",
        "sgp > asp1 ASPDN ACK",
    ]);
    assert_eq!(group.state(), ServerState::Pending);
    group.world.run_ms(2000);
    assert_eq!(group.state(), ServerState::Down, "T(r) has run out");
    assert!(group.world.lines().is_empty());
}

/// §5.4: available, congested, unavailable, and what nobody knows.
#[test]
fn audits_are_answered_by_the_state_of_the_destination() {
    let mut group = group(1, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.active(0, true);
    group.world.run_ms(500);
    let one = |number| Affected::one(pc(number));
    for input in [
        In::Resume(None, one(100)),
        In::Resume(None, one(101)),
        In::Status(None, one(101), Cause::Congestion(Some(2))),
        In::Pause(None, one(102)),
        In::Restrict(None, one(103)),
    ] {
        group.world.step(group.sgp, input);
    }
    group.world.run_ms(500);
    let peer = group.world.peer(0, 0);
    for (number, answers) in [
        (100, &["sgp > asp1 DAVA RC=1"][..]),
        (101, &["sgp > asp1 SCON RC=1", "sgp > asp1 DAVA RC=1"]),
        (102, &["sgp > asp1 DUNA RC=1"]),
        (103, &["sgp > asp1 DRST RC=1"]),
        (104, &["sgp > asp1 DUNA RC=1"]),
        (DPC, &["sgp > asp1 DAVA RC=1"]),
    ] {
        group.world.forget();
        group.world.step(group.asps[0], In::Audit(peer, None, vec![one(number)]));
        group.world.run_ms(100);
        let lines = group.world.lines();
        assert_eq!(lines[0], "asp1 > sgp DAUD RC=1");
        assert_eq!(&lines[1..], answers, "point code {number}");
    }
}

/// §5.5: what the MTP3 user at the ASP is told.
#[test]
fn the_user_hears_of_the_network() {
    let mut group = group(1, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.active(0, true);
    group.world.run_ms(500);
    let user = UserCause { cause: 1, user: 3 };
    let range = Affected { point_code: pc(0x100), mask: 8 };
    let one = Affected::one(pc(5));
    for (input, told) in [
        (In::Pause(None, range), Indication::Pause(None, range)),
        (In::Resume(None, range), Indication::Resume(None, range)),
        (
            In::Status(None, one, Cause::Congestion(Some(1))),
            Indication::Status(None, one, Cause::Congestion(Some(1)), None),
        ),
        (
            In::Status(None, one, Cause::UserPartUnavailable(user)),
            Indication::Status(None, one, Cause::UserPartUnavailable(user), None),
        ),
    ] {
        group.world.forget();
        group.world.step(group.sgp, input);
        group.world.run_ms(100);
        assert_eq!(group.world.told(group.asps[0]), [&told]);
    }
}

fn ipsps(roles: [Role; 2], contexts: [[u32; 2]; 2]) -> (World, [Node; 2]) {
    let mut world = World::new(1);
    let nodes = ["a", "b"].map(|name| world.node(name, parameters()));
    let [a, b] = roles.map(PeerSettings::new);
    let link = world.link((nodes[0], a), (nodes[1], b));
    for (index, [here, there]) in contexts.into_iter().enumerate() {
        let own = 100 + index as u32;
        let other = 101 - index as u32;
        if here > 0 {
            let server = world.server(nodes[index], Side::Here, here, own);
            world.assign(link, index, server);
        }
        let server = world.server(nodes[index], Side::There, there, other);
        world.assign(link, index, server);
    }
    world.up(link);
    (world, nodes)
}

/// §5.6.1: one exchange is for both directions.
#[test]
fn ipsps_with_a_single_exchange() {
    let (mut world, [a, b]) = ipsps([Role::IpspClient, Role::IpspServer], [[0, 9], [0, 9]]);
    world.expect(&[
        "a > b ASPUP",
        "b > a ASPUP ACK",
        "b > a NTFY AS-INACTIVE RC=9",
        "a > b ASPAC RC=9",
        "b > a ASPAC ACK RC=9",
        "b > a NTFY AS-ACTIVE RC=9",
    ]);
    world.step(a, In::Transfer(msu(100, 101, 3, b"to b")));
    world.step(b, In::Transfer(msu(101, 100, 3, b"to a")));
    world.run_ms(100);
    assert_eq!((world.payloads(a).len(), world.payloads(b).len()), (1, 1));
}

/// An association between IPSPs is lost: what either sends meanwhile waits for T(r).
#[test]
fn ipsps_buffer_in_both_directions_while_their_association_is_away() {
    let (mut world, [a, b]) = ipsps([Role::IpspClient, Role::IpspServer], [[0, 9], [0, 9]]);
    world.run_ms(500);
    world.cut(0);
    world.step(a, In::Transfer(msu(100, 101, 3, b"to b")));
    world.step(b, In::Transfer(msu(101, 100, 3, b"to a")));
    world.run_ms(1_000);
    assert_eq!((world.payloads(a).len(), world.payloads(b).len()), (0, 0));
    world.up(0);
    world.run_ms(500);
    assert_eq!((world.payloads(a).len(), world.payloads(b).len()), (1, 1));
}

/// An acknowledgement that nobody asked for is believed, and the way back is taken.
#[test]
fn an_asp_that_is_taken_down_by_its_sgp_comes_back() {
    let mut group = group(1, TrafficMode::Override, 1, |settings| settings.starts = true);
    group.up(0);
    group.world.run_ms(500);
    for kind in [MessageType::AspInactiveAck, MessageType::AspDownAck] {
        let (asp, peer, here) = (group.asps[0], group.world.peer(0, 0), group.here[0]);
        let mut bytes = Vec::new();
        m3ua::codec::Writer::begin(&mut bytes, kind).end();
        group.world.step(asp, In::Message(peer, 0, bytes.into()));
        assert!(!group.world.nodes[asp].is_active(peer, here), "{}", kind.name());
        group.world.run_ms(10_000);
        assert!(group.world.nodes[asp].is_active(peer, here), "{}", kind.name());
        assert_eq!(group.state(), ServerState::Active);
    }
}

/// §5.6.2: each side asks the other.
#[test]
fn ipsps_with_a_double_exchange() {
    let (mut world, [a, b]) = ipsps([Role::IpspDouble, Role::IpspDouble], [[1, 2], [2, 1]]);
    world.run_ms(500);
    let lines = world.lines();
    for line in ["a > b ASPUP", "b > a ASPUP", "a > b ASPAC RC=1", "b > a ASPAC RC=2"] {
        assert_eq!(lines.iter().filter(|it| *it == line).count(), 1, "{line} in {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.contains("ERR")), "{lines:?}");
    world.step(a, In::Transfer(msu(100, 101, 3, b"to b")));
    world.step(b, In::Transfer(msu(101, 100, 3, b"to a")));
    world.run_ms(100);
    assert_eq!((world.payloads(a).len(), world.payloads(b).len()), (1, 1));
}

/// Annex A.2.1: the standby takes over by itself when the association of the active one is lost.
#[test]
fn a_standby_takes_over_within_the_recovery_timer_and_nothing_is_lost() {
    let mut group = group(2, TrafficMode::Override, 1, |settings| settings.takes_over = true);
    group.up(0);
    group.active(0, true);
    group.world.run_ms(500);
    group.up(1);
    group.world.run_ms(500);
    group.world.forget();
    group.world.cut(0);
    for number in 0..100 {
        group.world.step(group.sgp, In::Transfer(msu(1, DPC, number, &[number])));
    }
    group.world.expect(&[
        "sgp > asp2 NTFY ASP Failure RC=1",
        "sgp > asp2 NTFY AS-PENDING RC=1",
        "asp2 > sgp ASPAC RC=1",
        "sgp > asp2 ASPAC ACK RC=1",
        "sgp > asp2 NTFY AS-ACTIVE RC=1",
    ]);
    assert_eq!(group.world.payloads(group.asps[1]).len(), 100);
    assert_eq!(group.world.metric(group.sgp, Metric::Shed), 0);
}

/// Annex A.2.2: two SGPs of one gateway, two gateways.
#[test]
fn an_asp_uses_another_sgp_and_then_another_gateway() {
    let mut world = World::new(1);
    let asp = world.node("asp", parameters());
    let here = world.server(asp, Side::Here, 1, DPC);
    let mut sgps = Vec::new();
    for (number, gateway) in [1, 1, 2].into_iter().enumerate() {
        let sgp = world.node(&format!("sgp{number}"), parameters());
        let there = world.server(sgp, Side::There, 1, DPC);
        let mut settings = PeerSettings::new(Role::Asp);
        (settings.gateway, settings.priority) = (gateway, gateway as u8);
        let link = world.link((asp, settings), (sgp, PeerSettings::new(Role::Sgp)));
        world.assign(link, 0, here);
        world.assign(link, 1, there);
        world.up(link);
        sgps.push(sgp);
    }
    world.run_ms(500);
    let sixteen = |world: &mut World| -> Vec<usize> {
        world.told.clear();
        (0..16).for_each(|sls| world.step(asp, In::Transfer(msu(DPC, 7, sls, &[sls]))));
        world.run_ms(100);
        sgps.iter().map(|sgp| world.payloads(*sgp).len()).collect()
    };
    let counts = sixteen(&mut world);
    assert!(counts[0] >= 5 && counts[1] >= 5 && counts[2] == 0, "{counts:?}");
    // The first gateway has no way any more: the second one has.
    world.step(1, In::Pause(None, Affected::one(pc(7))));
    world.step(2, In::Pause(None, Affected::one(pc(7))));
    world.run_ms(100);
    assert!(!world.told(asp).iter().any(|what| matches!(what, Indication::Pause(..))));
    assert_eq!(sixteen(&mut world), [0, 0, 16]);
    // Nor has the second one.
    world.step(3, In::Pause(None, Affected::one(pc(7))));
    world.run_ms(100);
    let pause = Indication::Pause(None, Affected::one(pc(7)));
    assert!(world.told(asp).contains(&&pause));
    assert_eq!(sixteen(&mut world), [0, 0, 0]);
    assert_eq!(world.metric(asp, Metric::Unroutable), 16);
    // The association to the second gateway is lost and comes again: it is asked.
    world.step(1, In::Resume(None, Affected::one(pc(7))));
    world.step(2, In::Resume(None, Affected::one(pc(7))));
    world.run_ms(100);
    world.forget();
    world.cut(2);
    world.up(2);
    world.run_ms(500);
    assert!(world.lines().iter().any(|line| line.starts_with("asp > sgp2 DAUD")));
    assert_eq!(sixteen(&mut world).iter().sum::<usize>(), 16);
}

#[test]
fn a_broadcast_reaches_all_and_tags_the_first_of_each_flow_for_a_newcomer() {
    let mut group = group(2, TrafficMode::Broadcast, 1, |_| {});
    group.up(0);
    group.up(1);
    group.active(0, true);
    group.world.run_ms(500);
    assert_eq!(group.sixteen(), [16, 0]);
    assert_eq!(group.sixteen(), [16, 0]);
    let tags = |group: &Group, asp: usize| -> Vec<Option<u32>> {
        group.world.payloads(group.asps[asp]).iter().map(|came| came.0).collect()
    };
    assert!(tags(&group, 0).iter().all(Option::is_none), "the flows are known");
    group.active(1, true);
    group.world.run_ms(500);
    assert_eq!(group.sixteen(), [16, 16]);
    let mut tagged = tags(&group, 0);
    assert_eq!(tagged, tags(&group, 1));
    tagged.dedup();
    assert!(tagged.len() == 16 && tagged.iter().all(Option::is_some), "unique: {tagged:?}");
}

#[test]
fn t_ack_sends_again_until_there_is_an_answer_or_no_try_left() {
    let mut world = World::new(1);
    let limited = Parameters { ack_retries_max: Some(3), ..parameters() };
    let asp = world.node("asp", limited);
    let sgp = world.node("sgp", parameters());
    let link = world.asp_to_sgp(asp, sgp, 1);
    world.up(link);
    world.links[link].is_up = false; // nothing arrives, and nobody says so
    world.lines();
    world.run_ms(60_000);
    assert_eq!(world.lines(), ["asp > sgp ASPUP"; 3]);
    assert_eq!(world.metric(asp, Metric::Retransmissions), 3);
    let peer = world.peer(link, 0);
    let gave_up = Indication::Unanswered(peer, MessageType::AspUp);
    assert_eq!(world.told(asp), [&gave_up]);
    world.links[link].is_up = true;
    world.step(asp, In::AspUp(peer));
    world.run_ms(100);
    assert_eq!(world.lines(), ["asp > sgp ASPUP", "sgp > asp ASPUP ACK"]);
}

#[test]
fn a_silent_peer_is_aborted_after_two_heartbeats() {
    let mut group = group(1, TrafficMode::Override, 1, |_| {});
    group.up(0);
    group.active(0, true);
    group.world.run_ms(500);
    let beating = Parameters { t_beat: Some(machine::Duration::from_secs(1)), ..parameters() };
    group.world.step(group.sgp, In::SetParameters(beating));
    group.world.forget();
    group.world.run_ms(3_500);
    assert_eq!(group.world.lines().len(), 6, "three beats, three answers");
    group.world.links[0].is_up = false;
    group.world.run_ms(5_000);
    assert_eq!(group.world.metric(group.sgp, Metric::HeartbeatsLost), 1);
    assert_ne!(group.state(), ServerState::Active);
}

#[test]
fn a_restart_of_either_side_leads_back_to_traffic() {
    let mut group = group(1, TrafficMode::Loadshare, 1, |settings| settings.starts = true);
    group.up(0);
    group.world.run_ms(500);
    for _ in 0..2 {
        let (asp, sgp) = (group.world.peer(0, 0), group.world.peer(0, 1));
        group.world.step(group.sgp, In::CommunicationRestart(sgp));
        group.world.step(group.asps[0], In::CommunicationRestart(asp));
        group.world.run_ms(3_000);
        assert_eq!(group.sixteen(), [16]);
    }
}

#[test]
fn a_peer_that_the_management_blocks_is_down_until_it_is_let_in() {
    let mut group = group(1, TrafficMode::Override, 1, |settings| settings.starts = true);
    group.up(0);
    group.world.run_ms(500);
    group.world.forget();
    let peer = group.world.peer(0, 1);
    group.world.step(group.sgp, In::Block(peer, true));
    group.world.run_ms(2_500);
    assert_eq!(
        group.world.lines(),
        [
            "sgp > asp1 ASPDN ACK",
            "asp1 > sgp ASPUP",
            "sgp > asp1 ERR Refused - Management Blocking",
        ]
    );
    let told = group.world.told(group.asps[0]);
    let number = ErrorCode::RefusedManagementBlocking.number();
    assert!(told.iter().any(|it| matches!(it, Indication::Error(_, code) if *code == number)));
    group.world.step(group.sgp, In::Block(peer, false));
    group.world.run_ms(40_000);
    assert_eq!(group.sixteen(), [16]);
}
