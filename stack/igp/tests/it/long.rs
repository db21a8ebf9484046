//! An LSA that is longer than a packet of the link, and than a cell of the forwarder.

use crate::world::{PACKET_CHANNEL, SECOND, World};
use igp::ip4::{Head, write};
use ospf::lsa::{self, Key, LsaType};
use ospf::packet::{PacketType, Writer};
use ospf::{ALL_SPF_ROUTERS, Authentication};
use runtime::{ChannelEvent, PacketRecord};

#[test]
fn an_lsa_of_many_octets_is_read_from_the_fragments_that_come_up() {
    let mut world = World::new(7, 2);
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let lsas = |world: &World| question::value(world.at(0).summary(world.now))[0]["lsas"].clone();
    let before = lsas(&world).as_u64().unwrap();
    let router = World::id(1).into();
    let key = Key { kind: LsaType::OpaqueArea, id: 0xC8_00_00_01, router };
    let lsa = lsa::make(key, 2, 1, &[7; 9_000]).unwrap();
    let writer = Writer::new(PacketType::Update, router, 0).update(&[(1, &lsa)]);
    let update = writer.finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (World::address(0, 1), ALL_SPF_ROUTERS);
    let head = Head { source, destination, ttl: 1, protocol: ospf::PROTOCOL, id: 7 };
    let mut pieces = Vec::new();
    write(&head, &update, 1_500, |head, part| pieces.push([head, part].concat()));
    assert_eq!(pieces.len(), 7);
    let record = PacketRecord { interface: 1, ..PacketRecord::default() };
    for piece in pieces {
        let now = world.now;
        world.with(0, |it, out| {
            it.step(now, PACKET_CHANNEL, ChannelEvent::Packet(record, &piece), out)
        });
    }
    assert_eq!(lsas(&world).as_u64().unwrap(), before + 1);
}
