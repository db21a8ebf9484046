//! Authenticated chunks and addresses that change: RFC 4895 and RFC 5061 between two endpoints.
#![allow(clippy::needless_range_loop)]

use crate::world::{CLIENT_PORT, Link, SERVER_PORT, World, address, kinds, settings};
use bytes::Bytes;
use machine::Duration;
use sctp::codec::{
    Chunk, ChunkType, ChunkTypes, Header, Packet as Octets, Parameter, Parameters as Octets8, seal,
};
use sctp::{
    AddressChange, AddressRequest, Answer, Endpoint, In, Indication, Packet, Parameters, PathState,
};

const MS: Duration = Duration::from_millis(1);

fn types(kinds: &[ChunkType]) -> ChunkTypes {
    kinds.iter().map(|kind| kind.number()).collect()
}

fn authenticated(kinds: &[ChunkType]) -> Parameters {
    let mut parameters = Parameters::telecom(2);
    parameters.extensions.authentication = true;
    parameters.extensions.authenticated = types(kinds);
    parameters
}

#[test]
fn what_the_peer_wants_authenticated_stands_behind_auth_and_nothing_else_does() {
    let wanted = [ChunkType::Data, ChunkType::CookieEcho, ChunkType::Sack];
    for (ours, theirs) in [(&wanted[..], &[][..]), (&[], &wanted), (&wanted, &wanted)] {
        let parameters = [authenticated(ours), authenticated(theirs)];
        let mut world = World::of(1, parameters, &[Link::perfect(5); 2]);
        world.keeps_packets = true;
        let ids = world.up();
        for size in [1, 1400, 1452, 20_000] {
            world.send(0, ids[0], 0, vec![1; size]);
            world.send(1, ids[1], 0, vec![2; size]);
        }
        world.run(5_000 * MS);
        assert_eq!((world.messages(0, 0).len(), world.messages(1, 0).len()), (4, 4));
        for (_, side, _, bytes) in &world.sent {
            let kinds = kinds(bytes);
            let peer = types([ours, theirs][1 - side]);
            let first = kinds.iter().position(|kind| peer.contains(*kind));
            let auth = kinds.iter().position(|kind| *kind == ChunkType::Auth.number());
            assert_eq!(auth.is_some(), first.is_some(), "{kinds:?}");
            assert!(auth <= first, "{kinds:?}");
            assert!(bytes.len() <= 1472);
        }
    }
}

#[test]
fn sides_with_different_keys_do_not_come_together_when_the_cookie_is_authenticated() {
    let parameters = authenticated(&[ChunkType::CookieEcho]);
    for (key, is_right) in [(b"right", true), (b"wrong", false)] {
        let mut world = World::new(1, parameters, &[Link::perfect(5)]);
        world.ends[0].set_shared_keys(vec![(3, Bytes::from_static(b"right"))], 3);
        world.ends[1].set_shared_keys(vec![(3, Bytes::from_static(key))], 3);
        world.associate(0);
        world.run(1_000 * MS);
        let is_up = world.told(1).any(|it| matches!(it, Indication::CommunicationUp(..)));
        assert_eq!(is_up, is_right);
        assert_eq!(world.ends[1].counts().cookie > 0, !is_right);
    }
}

#[test]
fn keys_change_while_the_association_lives() {
    let mut world = World::new(1, authenticated(&[ChunkType::Data]), &[Link::perfect(5)]);
    let ids = world.up();
    world.send(0, ids[0], 0, vec![1]);
    world.run(1_000 * MS);
    for side in 0..2 {
        world.step(side, In::SetSharedKey(ids[side], 7, Bytes::from_static(b"new")));
    }
    world.step(0, In::UseSharedKey(ids[0], 7));
    world.send(0, ids[0], 0, vec![2]);
    world.run(1_000 * MS);
    world.step(1, In::UseSharedKey(ids[1], 9));
    assert_eq!(world.told(1).last(), Some(&Indication::SharedKeyRefused(9)));
    world.step(1, In::RemoveSharedKey(ids[1], 7));
    world.send(0, ids[0], 0, vec![3]);
    world.run(1_000 * MS);
    assert_eq!(world.messages(1, 0), [vec![1], vec![2]], "without the key nothing is taken");
    world.step(1, In::SetSharedKey(ids[1], 7, Bytes::from_static(b"new")));
    world.run(1_000 * MS);
    assert_eq!(world.messages(1, 0), [vec![1], vec![2], vec![3]], "it comes again");
}

fn moving() -> Parameters {
    let mut parameters = Parameters::telecom(2);
    parameters.extensions.address_reconfiguration = true;
    parameters.extensions.adaptation = Some(77);
    parameters.association_max_retrans = 100;
    parameters
}

/// The client has its first address only.
fn moving_world(seed: u64, link: Link) -> World {
    let mut world = World::new(seed, moving(), &[link; 2]);
    let mut only = settings(0, 1, moving());
    only.addresses = vec![address(0, 0)];
    world.ends[0] = Endpoint::new(only, [9; 32]);
    world.routes[0] = Some(address(0, 0));
    world
}

fn answers(world: &World, side: usize) -> Vec<(AddressRequest, Answer)> {
    let told = world.told(side).filter_map(|it| match it {
        Indication::AddressAnswer(request, answer) => Some((*request, *answer)),
        _ => None,
    });
    told.collect()
}

fn peers(world: &World, side: usize) -> Vec<sctp::PathStatus> {
    let id = world.ends[side].associations().next().unwrap();
    world.ends[side].status(id).unwrap().paths
}

#[test]
fn a_side_moves_from_one_address_to_another_and_messages_go_on() {
    for (seed, loss) in [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.2), (5, 0.2), (6, 0.2)] {
        let mut link = Link::perfect(10);
        link.loss = loss;
        link.reorder = loss;
        let mut world = moving_world(seed, link);
        let ids = world.up();
        assert_eq!(peers(&world, 1).len(), 1);
        let [old, new] = [address(0, 0), address(1, 0)];
        let requests = [
            AddressRequest::Add(new),
            AddressRequest::SetPrimary(new),
            AddressRequest::Delete(old),
        ];
        for n in 0..300u32 {
            world.send(0, ids[0], 0, n.to_be_bytes().to_vec());
            world.send(1, ids[1], 0, n.to_be_bytes().to_vec());
            if n == 249 {
                world.routes[0] = Some(new);
            }
            if n % 100 == 50 {
                world.step(0, In::ChangeAddress(ids[0], requests[n as usize / 100]));
            }
            world.run(20 * MS);
        }
        world.run(60_000 * MS);
        let performed = requests.map(|request| (request, Answer::Performed));
        assert_eq!(answers(&world, 0), performed, "seed {seed}");
        let changes: Vec<_> = world
            .told(1)
            .filter_map(|it| match it {
                Indication::PeerAddress(address, change) => Some((*address, *change)),
                _ => None,
            })
            .collect();
        let expected = [
            (new, AddressChange::Added),
            (new, AddressChange::MadePrimary),
            (old, AddressChange::Removed),
        ];
        assert_eq!(changes, expected, "seed {seed}");
        let left = peers(&world, 1);
        assert_eq!((left.len(), left[0].address), (1, new), "seed {seed}");
        for side in 0..2 {
            let expected: Vec<_> = (0..300u32).map(|n| n.to_be_bytes().to_vec()).collect();
            assert_eq!(world.messages(side, 0), expected, "seed {seed}");
        }
    }
}

#[test]
fn an_address_that_is_added_is_asked_before_data_goes_there() {
    let mut world = moving_world(1, Link::perfect(10));
    let ids = world.up();
    assert!(world.told(1).any(|it| *it == Indication::AdaptationLayer(77)));
    world.keeps_packets = true;
    world.step(0, In::ChangeAddress(ids[0], AddressRequest::Add(address(1, 0))));
    world.run(15 * MS);
    assert_eq!(peers(&world, 1)[1].state, PathState::Unconfirmed);
    world.run(1_000 * MS);
    assert_eq!(peers(&world, 1)[1].state, PathState::Active);
    let asconf = world.sent.iter().find(|it| kinds(&it.3).contains(&0xC1)).unwrap();
    assert_eq!(kinds(&asconf.3), [ChunkType::Auth.number(), ChunkType::Asconf.number()]);
    let answer = world.sent.iter().find(|it| kinds(&it.3).contains(&0x80)).unwrap();
    assert_eq!(kinds(&answer.3), [ChunkType::Auth.number(), ChunkType::AsconfAck.number()]);
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let mut world = moving_world(1, Link::perfect(10));
    let ids = world.up();
    let last = AddressRequest::Delete(address(0, 0));
    let unknown = AddressRequest::Delete(address(7, 0));
    let primary = AddressRequest::SetPrimary(address(8, 0));
    for request in [last, unknown, primary] {
        world.step(0, In::ChangeAddress(ids[0], request));
        world.run(1_000 * MS);
    }
    let refused = [(last, 0xA0), (unknown, 5), (primary, 5)];
    assert_eq!(answers(&world, 0), refused.map(|(it, code)| (it, Answer::Refused(code))));
    let mut plain = World::new(1, Parameters::telecom(2), &[Link::perfect(10)]);
    let ids = plain.up();
    plain.step(0, In::ChangeAddress(ids[0], unknown));
    assert_eq!(answers(&plain, 0), [(unknown, Answer::Refused(0))]);
}

#[test]
fn an_asconf_without_auth_or_with_a_forged_one_changes_nothing() {
    let mut world = moving_world(1, Link::perfect(10));
    world.keeps_packets = true;
    let ids = world.up();
    let echo = world.sent.iter().find(|it| kinds(&it.3)[0] == 10).unwrap();
    let tag = Octets::read(&echo.3).unwrap().header.verification_tag;
    let init = world.sent.iter().find(|it| kinds(&it.3)[0] == 1).unwrap();
    let tsn = u32::from_be_bytes(init.3[28..32].try_into().unwrap());
    let mut parameters = Vec::new();
    Parameter::Address(address(0, 0)).write(&mut parameters);
    Parameter::AddIp(1, address(1, 0)).write(&mut parameters);
    for hmac in [None, Some([7; 32])] {
        let mut bytes = Vec::new();
        let (source_port, destination_port) = (CLIENT_PORT, SERVER_PORT);
        Header { source_port, destination_port, verification_tag: tag }.write(&mut bytes);
        if let Some(hmac) = &hmac {
            Chunk::Auth(sctp::codec::Auth { key: 0, hmac_id: 3, hmac }).write(&mut bytes);
        }
        Chunk::Asconf(tsn, Octets8::new(&parameters)).write(&mut bytes);
        seal(&mut bytes);
        // Without AUTH a packet from nowhere is out of the blue.
        for path in 0..1 + usize::from(hmac.is_some()) {
            let source = (address(path, 0), 0).into();
            let packet = Packet { source, destination: address(0, 1), bytes: bytes.clone().into() };
            world.step(1, In::Packet(packet));
        }
    }
    world.run(1_000 * MS);
    assert_eq!(peers(&world, 1).len(), 1);
    world.step(0, In::ChangeAddress(ids[0], AddressRequest::Add(address(1, 0))));
    world.run(1_000 * MS);
    assert_eq!(peers(&world, 1).len(), 2, "the real one is taken");
}
