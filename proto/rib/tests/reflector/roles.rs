//! RFC 9234 §5: who may be told what was for customers only.

use crate::world::{OWN_AS, Spec, World};
use bgp::codec::{AttributeType, Attributes, Role, SegmentKind, prepend, write_attribute};
use bgp::family::Family;
use rib::Kind;

const ROLES: [Role; 3] = [Role::Provider, Role::Customer, Role::Peer];
const KEY: [u8; 4] = [24, 10, 0, 0];

/// Two external peers, and what we are to them.
fn world(from: Role, to: Role) -> World {
    let spec = |role| Spec {
        kind: Kind::External,
        add_path: false,
        constrained: false,
        four_octet_as: true,
        location: 0,
        import: 0,
        export: 0,
        role: Some(role),
        long_lived: false,
    };
    let mut world = World::new(1, vec![spec(from), spec(to)]);
    (0..2).for_each(|number| world.up(number));
    world
}

/// What the second is told of a route of the first: ONLY_TO_CUSTOMER, or nothing at all.
fn told(from: Role, to: Role, only_to_customer: Option<u32>) -> Option<Option<u32>> {
    let mut world = world(from, to);
    let (mut path, mut attributes) = (Vec::new(), Vec::new());
    prepend(&[], SegmentKind::Sequence, world.asn(0), &mut path);
    write_attribute(0x40, 1, &[0], &mut attributes);
    write_attribute(0x40, 2, &path, &mut attributes);
    write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
    if let Some(asn) = only_to_customer {
        write_attribute(0xc0, 35, &asn.to_be_bytes(), &mut attributes);
    }
    world.announce(0, Family::Ipv4Unicast, &KEY, (attributes, vec![], vec![]));
    world.settle();
    let (attributes, ..) = world.clients[1].told.values().next()?;
    let value = Attributes::new(attributes).value(AttributeType::OnlyToCustomer);
    Some(value.map(|it| u32::from_be_bytes(it.try_into().expect("four octets"))))
}

#[test]
fn a_route_from_above_or_beside_goes_down_only() {
    let first = 64_000; // the AS of the first peer
    for from in ROLES {
        for to in ROLES {
            // We are the provider of customers, the customer of providers.
            let is_for_customers = from != Role::Provider;
            let expected = match (is_for_customers, to) {
                (true, Role::Provider) => Some(Some(first)),
                (true, _) => None,
                (false, Role::Customer) => Some(None),
                (false, _) => Some(Some(OWN_AS)),
            };
            assert_eq!(told(from, to, None), expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn a_leak_is_not_taken() {
    assert_eq!(told(Role::Provider, Role::Provider, Some(9)), None, "of a customer");
    assert_eq!(told(Role::Peer, Role::Provider, Some(9)), None, "of a peer, not marked by it");
    assert_eq!(told(Role::Peer, Role::Provider, Some(64_000)), Some(Some(64_000)));
    assert_eq!(told(Role::Customer, Role::Provider, Some(9)), Some(Some(9)));
}
