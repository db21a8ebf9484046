//! Laws of the codec under any octets and any damage: nothing panics, offsets lie in the message,
//! what is given as canonical is canonical, what is borrowed is whole. `TANDEM_SEEDS` sets how
//! many damages each message suffers (default 300).

use crate::every;
use bgp::codec::{
    Approach, AsPath, Attributes, Capabilities, Community, Context, ExtendedCommunity, Framing,
    LargeCommunity, MessageType, NextHop, Notification, Open, Peering, PmsiTunnel, Refresh,
    TunnelTlvs, Update, Violation, aigp_metric, frame, reflect, to_two_octets, write_attribute,
    write_open,
};
use bgp::family::{Components, EvpnRoute, Family, FamilySet, Layout, Routes};
use proptest::prelude::*;

fn seeds() -> u64 {
    std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(300)
}

fn contexts() -> Vec<Context> {
    let all: FamilySet = Family::ALL.iter().copied().collect();
    let plain = every::context();
    vec![
        plain,
        Context { peering: Peering::External, add_path: all, multiple_labels: all, ..plain },
        Context { peering: Peering::Confederation, four_octet_as: false, aigp: false, ..plain },
        Context { families: FamilySet::only(Family::Evpn), extended_next_hop: all, ..plain },
    ]
}

fn is_inside(violation: &Violation, message: &[u8]) {
    assert!(violation.malformed.at <= message.len(), "{violation:?} of {}", message.len());
    let mut data = Vec::new();
    violation.write_data(message, &mut data);
    assert!(data.len() <= message.len());
}

fn read_routes(routes: Routes<'_>) {
    let count = routes.check().expect("it was checked");
    let mut found = 0;
    for route in routes {
        found += 1;
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        route.split(&mut key, &mut payload);
        let mut again = Vec::new();
        route.family.join(&key, &payload, &mut again);
        // The same route, with bits behind the prefix cleared and lengths written in one way.
        let layout = Layout { add_path: false, ..route.layout };
        let back = Routes::new(route.family, layout, &again).next().expect("it is a route");
        let (mut key2, mut payload2) = (Vec::new(), Vec::new());
        back.split(&mut key2, &mut payload2);
        assert_eq!((&key, &payload), (&key2, &payload2));
        assert!(!route.to_string().is_empty());
        assert_eq!(route.key().octets(), key);
        let _ = EvpnRoute::read(route.wire);
        let _ = Components::new(route.wire, true).count();
    }
    assert!(found <= count);
    assert!(found == count || routes.family() == Family::Evpn);
}

fn read_update(message: &[u8], context: &Context) {
    let update = match Update::read(message, context) {
        Ok(update) => update,
        Err(violation) => {
            assert_eq!(violation.approach, Approach::SessionReset);
            return is_inside(&violation, message);
        }
    };
    update.violation().into_iter().for_each(|violation| is_inside(violation, message));
    read_routes(update.withdrawn());
    read_routes(update.announced());
    update.reach().into_iter().for_each(|it| read_routes(it.routes));
    update.reach().into_iter().for_each(|it| _ = NextHop::read(it.next_hop));
    update.unreach().into_iter().for_each(|it| read_routes(it.routes));
    let _ = (update.end_of_rib(), update.aggregator(), update.as_path().to_string());
    for kind in bgp::codec::AttributeType::ALL {
        let Some(value) = update.value(*kind) else { continue };
        let _ = (aigp_metric(value), PmsiTunnel::read(value), TunnelTlvs::new(value).are_whole());
        let _ = (Community::all(value).count(), ExtendedCommunity::all(value).count());
        let _ = (LargeCommunity::all(value).count(), NextHop::read(value));
    }
    if update.is_withdrawn() {
        return;
    }
    check_canonical(&update, context);
}

/// What is canonical is accepted as it is, and is canonical again.
fn check_canonical(update: &Update<'_>, context: &Context) {
    let mut scratch = Vec::new();
    let canonical = update.canonical(&mut scratch).to_vec();
    assert!(Attributes::new(&canonical).all(|attribute| attribute.is_ok()));
    let mut message = vec![0xFF; 16];
    message.extend_from_slice(&((23 + canonical.len()) as u16).to_be_bytes());
    message.extend_from_slice(&[2, 0, 0]);
    message.extend_from_slice(&(canonical.len() as u16).to_be_bytes());
    message.extend_from_slice(&canonical);
    let wide = Context { four_octet_as: true, ..*context };
    let again = Update::read(&message, &wide);
    if let Ok(again) = again {
        assert_eq!(again.canonical(&mut scratch), canonical);
    }
    let mut out = Vec::new();
    assert!(reflect(&canonical, 1, 2, &mut out));
    assert!(Attributes::new(&out).all(|attribute| attribute.is_ok()));
    out.clear();
    assert!(to_two_octets(&canonical, &mut out));
    assert!(Attributes::new(&out).all(|attribute| attribute.is_ok()));
}

fn read(bytes: &[u8]) {
    match frame(bytes, 65_535) {
        Framing::Partial => {}
        Framing::Broken(violation) => is_inside(&violation, bytes),
        Framing::Message(kind, message) => match kind {
            MessageType::Open => match Open::read(message) {
                Ok(open) => {
                    let mut again = Vec::new();
                    write_open(&open.offer, &mut again);
                    let back = Open::read(&again).unwrap();
                    if !open.offer.roles_differ && open.offer.four_octet_as {
                        let mut offer = open.offer;
                        // Without families, or without capabilities, IPv4 unicast is meant.
                        if offer.families.is_empty() {
                            offer.families = back.offer.families;
                        }
                        if offer.long_lived.is_some_and(|it| it.families.is_empty()) {
                            offer.long_lived = None;
                        }
                        assert_eq!(back.offer, offer);
                    }
                }
                Err(violation) => is_inside(&violation, message),
            },
            MessageType::Update => contexts().iter().for_each(|it| read_update(message, it)),
            MessageType::Notification => {
                let notification = Notification::read(message).unwrap();
                let _ = (notification.communication(), notification.prefix_limit());
                let _ = (notification.notice.to_string(), notification.inside());
            }
            MessageType::RouteRefresh => {
                Refresh::read(message).err().iter().for_each(|it| is_inside(it, message));
            }
            MessageType::Keepalive => {}
        },
    }
}

/// Damage by seed: octets changed, taken out, put in, cut; the length of the header set right
/// again mostly.
fn damage(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut chance = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |bound: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        (chance % bound.max(1) as u64) as usize
    };
    let mut out = bytes.to_vec();
    for _ in 0..=below(3) {
        let at = 19 + below(out.len() - 19);
        let at = at.min(out.len() - 1);
        match below(5) {
            0 => out[at] = below(256) as u8,
            1 => out[at] ^= 1 << below(8),
            2 if out.len() > 24 => _ = out.remove(at),
            3 => out.insert(at, below(256) as u8),
            _ => out[at] = [0, 1, 0x7F, 0x80, 0xFF][below(5)],
        }
    }
    if below(8) > 0 {
        let length = (out.len() as u16).to_be_bytes();
        out[16..18].copy_from_slice(&length);
    }
    out
}

#[test]
fn every_message_is_read_whatever_happens_to_it() {
    for (number, (_, bytes)) in every::messages().into_iter().enumerate() {
        read(&bytes);
        for seed in 0..seeds() {
            read(&damage(&bytes, seed * 1_000 + number as u64));
        }
    }
}

/// UPDATEs of nearly 65,535 octets: one attribute fills each, by type, for ASes of two octets and
/// of four, and some are longer when they are widened than a message may be.
fn long_updates() -> Vec<Vec<u8>> {
    let segment = [&[2, 255][..], &[0xfd, 0xe9].repeat(255)].concat();
    let wide = [&[2, 255][..], &[0, 0, 0xfd, 0xe9].repeat(255)].concat();
    let mut values: Vec<(u8, u8, Vec<u8>)> = vec![
        (0x40, 2, segment.repeat(63)),
        (0x40, 2, segment.repeat(127)),
        (0x40, 2, wide.repeat(63)),
        (0xc0, 17, wide.repeat(60)),
    ];
    for (kind, unit) in [(8, 4), (9, 4), (10, 4), (16, 8), (23, 8), (26, 11), (32, 12), (99, 1)] {
        let flags = if matches!(kind, 9 | 10 | 26) { 0x80 } else { 0xc0 };
        let count = if kind == 9 { 1 } else { 65_000 / unit };
        values.push((flags, kind, [1].repeat(unit * count)));
    }
    let message = |(flags, kind, value): &(u8, u8, Vec<u8>)| {
        let mut attributes = Vec::new();
        for (flags, kind, value) in [(0x40, 1, &[0][..]), (0x40, 3, &[192, 0, 2, 1])] {
            assert!(write_attribute(flags, kind, value, &mut attributes));
        }
        if *kind != 2 {
            assert!(write_attribute(0x40, 2, &segment[..2 + 2 * 255], &mut attributes));
        }
        assert!(write_attribute(*flags, *kind, value, &mut attributes));
        let mut bytes = vec![0xFF; 16];
        bytes.extend_from_slice(&((23 + attributes.len() + 4) as u16).to_be_bytes());
        bytes.extend_from_slice(&[2, 0, 0]);
        bytes.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&attributes);
        bytes.extend_from_slice(&[24, 192, 0, 2]);
        bytes
    };
    values.iter().map(message).collect()
}

#[test]
fn updates_as_long_as_can_be_are_read_whatever_happens_to_them() {
    for (number, bytes) in long_updates().into_iter().enumerate() {
        assert!(bytes.len() > 10_000 || number == 5, "{number}: {}", bytes.len());
        read(&bytes);
        for seed in 0..seeds() / 30 {
            read(&damage(&bytes, seed * 1_000 + number as u64));
        }
    }
}

#[test]
fn every_cut_of_every_update_is_answered() {
    for (_, bytes) in every::messages() {
        for length in 23..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            cut[16..18].copy_from_slice(&(length as u16).to_be_bytes());
            read(&cut);
        }
    }
}

/// Mostly short, now and then as long as a message can be.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    use proptest::collection::vec;
    prop_oneof![15 => vec(any::<u8>(), 0..200), 1 => vec(any::<u8>(), 0..65_500)]
}

proptest! {
    #[test]
    fn any_octets_are_read(body in octets(), kind in 0u8..7) {
        let mut bytes = vec![0xFF; 16];
        bytes.extend_from_slice(&((19 + body.len()) as u16).to_be_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(&body);
        read(&bytes);
        read(&body);
    }

    #[test]
    fn any_attributes_are_read(field in octets()) {
        let mut bytes = vec![0xFF; 16];
        bytes.extend_from_slice(&((23 + 4 + field.len()) as u16).to_be_bytes());
        bytes.extend_from_slice(&[2, 0, 0]);
        bytes.extend_from_slice(&(field.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&field);
        bytes.extend_from_slice(&[24, 192, 0, 2]);
        read(&bytes);
        let _ = Capabilities::new(&field).count();
    }

    #[test]
    fn any_field_is_routes_or_has_a_violation(
        field in proptest::collection::vec(any::<u8>(), 0..120),
        add_path: bool,
        multiple_labels: bool,
        withdrawn: bool,
    ) {
        let layout = Layout { add_path, multiple_labels, withdrawn };
        for family in Family::ALL {
            let routes = Routes::new(*family, layout, &field);
            match routes.check() {
                Ok(_) => read_routes(routes),
                Err(found) => prop_assert!(found.at <= field.len(), "{family}: {found}"),
            }
        }
    }

    #[test]
    fn paths_are_narrowed_and_widened_without_loss(
        segments in proptest::collection::vec(
            (1u8..3, proptest::collection::vec(1u32..300_000, 1..6)), 0..4),
    ) {
        let mut value = Vec::new();
        for (kind, ases) in &segments {
            value.extend_from_slice(&[*kind, ases.len() as u8]);
            ases.iter().for_each(|asn| value.extend_from_slice(&asn.to_be_bytes()));
        }
        let path = AsPath::new(&value, true);
        prop_assert_eq!(path.check(), Ok(()));
        let mut two = Vec::new();
        let is_lossy = path.narrow(&mut two);
        let mut back = Vec::new();
        AsPath::new(&two, false).widen(is_lossy.then_some(path), &mut back);
        prop_assert_eq!(back, value);
    }
}
