//! Sample routes of every family, and every message that the crate writes.

use bgp::codec::{
    AttributeType, Cease, Context, GracefulRestart, LongLived, Notice, Offer, OpenError, Peering,
    RefreshKind, Role, keepalive, write_attribute, write_communication, write_notification,
    write_open, write_refresh,
};
use bgp::family::{FAMILIES, Family, FamilySet};
use bgp::pack::{Announcement, Limits, Withdrawal, end_of_rib};

/// Octets written as hexadecimal, with blanks.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    digits.chunks(2).map(|two| (two[0] << 4 | two[1]) as u8).collect()
}

/// Everything negotiated, all families, no path identifiers.
pub fn context() -> Context {
    Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families: Family::ALL.iter().copied().collect(),
        add_path: FamilySet::EMPTY,
        extended_next_hop: FamilySet::EMPTY,
        multiple_labels: FamilySet::EMPTY,
        aigp: true,
        first_as: None,
    }
}

pub const RD: &str = "0000 fde8 0000 002a";
pub const ESI: &str = "00 11 22 33 44 55 66 77 88 99";

/// Routes of a family, without path identifier.
pub fn routes(family: Family) -> Vec<Vec<u8>> {
    let label = "000641";
    let texts: Vec<String> = match family {
        Family::Ipv4Unicast | Family::Ipv4Multicast => {
            vec!["18 c00002".into(), "00".into(), "20 c6336401".into(), "11 0a0180".into()]
        }
        Family::Ipv6Unicast | Family::Ipv6Multicast => {
            vec!["20 20010db8".into(), "80 20010db8000000000000000000000001".into(), "00".into()]
        }
        Family::Ipv4Labelled => vec![format!("30 {label} c00002"), format!("18 {label}")],
        Family::Ipv6Labelled => vec![format!("38 {label} 20010db8")],
        Family::Vpnv4 => vec![format!("70 {label} {RD} c00002"), format!("58 {label} {RD}")],
        Family::Vpnv6 => vec![format!("78 {label} {RD} 20010db8")],
        Family::Vpls => {
            vec![format!("0011 {RD} 0001 0001 000a 186a01"), format!("000c {RD} c0000201")]
        }
        Family::Evpn => evpn(),
        Family::RouteTarget => {
            vec!["60 0000fde8 0002 fde8 00000064".into(), "00".into(), "20 0000fde8".into()]
        }
        Family::Ipv4FlowSpec => vec!["08 01 18 c00002 03 81 06".into()],
        Family::Ipv6FlowSpec => vec!["0a 01 20 00 20010db8 03 81 06".into()],
        Family::Vpnv4FlowSpec => vec![format!("10 {RD} 01 18 c00002 03 81 06")],
        Family::Vpnv6FlowSpec => vec![format!("12 {RD} 01 20 00 20010db8 03 81 06")],
        Family::Ipv4SrPolicy => vec!["60 00000001 00000064 c0000201".into()],
        Family::Ipv6SrPolicy => {
            vec!["c0 00000001 00000064 20010db8000000000000000000000001".into()]
        }
        // A node: protocol OSPFv2, identifier 0, a local node descriptor with AS and router.
        Family::LinkState => vec![
            "0001 0025 03 0000000000000000 0100 0018 0200 0004 0000fde8 0201 0004 00000000 \
             0203 0004 c0000201"
                .into(),
        ],
        Family::LinkStateVpn => vec![format!(
            "0001 002d {RD} 03 0000000000000000 0100 0018 0200 0004 0000fde8 0201 0004 00000000 \
             0203 0004 c0000201"
        )],
    };
    texts.iter().map(|text| hex(text)).collect()
}

/// The same without what tshark 4.0 takes for malformed: a default route with a label, and a
/// route target of which only the AS counts.
pub fn decodable(family: Family) -> Vec<Vec<u8>> {
    let mut all = routes(family);
    let is_odd = |wire: &Vec<u8>| match family {
        Family::Ipv4Labelled => wire[0] == 24,
        Family::RouteTarget => wire[0] == 32,
        _ => false,
    };
    all.retain(|wire| !is_odd(wire));
    all
}

fn evpn() -> Vec<String> {
    let mac = "02 00 00 00 00 01";
    vec![
        format!("01 19 {RD} {ESI} 00000000 000641"),
        format!("02 21 {RD} {ESI} 00000000 30 {mac} 00 000641"),
        format!("02 25 {RD} {ESI} 00000000 30 {mac} 20 c0000201 000641"),
        format!("02 28 {RD} {ESI} 00000000 30 {mac} 20 c0000201 000641 000651"),
        format!(
            "02 34 {RD} {ESI} 00000000 30 {mac} 80 20010db8000000000000000000000001 000641 000651"
        ),
        format!("03 11 {RD} 00000000 20 c0000201"),
        format!("04 17 {RD} {ESI} 20 c0000201"),
        format!("05 22 {RD} {ESI} 00000000 18 c0000200 00000000 000641"),
        format!(
            "05 3a {RD} {ESI} 00000000 20 20010db8000000000000000000000000 \
             00000000000000000000000000000000 000641"
        ),
    ]
}

/// A next hop of the family.
pub fn next_hop(family: Family) -> Vec<u8> {
    match family {
        Family::Ipv6Unicast | Family::Ipv6Multicast | Family::Ipv6Labelled => {
            hex("20010db8000000000000000000000001")
        }
        Family::Vpnv4 => hex("0000000000000000 c0000201"),
        Family::Vpnv6 => hex("0000000000000000 20010db8000000000000000000000001"),
        Family::LinkStateVpn => hex("0000000000000000 c0000201"),
        Family::Ipv4FlowSpec
        | Family::Ipv6FlowSpec
        | Family::Vpnv4FlowSpec
        | Family::Vpnv6FlowSpec => Vec::new(),
        Family::Ipv6SrPolicy => hex("20010db8000000000000000000000001"),
        _ => hex("c0000201"),
    }
}

/// Appends an attribute of its type's flags.
pub fn put(kind: AttributeType, value: &str, out: &mut Vec<u8>) {
    write_attribute(kind.flags(), kind.number(), &hex(value), out);
}

/// ORIGIN, AS_PATH, LOCAL_PREF: what every route has.
pub fn plain_attributes() -> Vec<u8> {
    let mut out = Vec::new();
    put(AttributeType::Origin, "00", &mut out);
    put(AttributeType::AsPath, "0202 0000fde9 0000fdea", &mut out);
    put(AttributeType::LocalPref, "00000064", &mut out);
    out
}

/// The same with NEXT_HOP in its place.
pub fn ipv4_attributes() -> Vec<u8> {
    let mut out = Vec::new();
    put(AttributeType::Origin, "00", &mut out);
    put(AttributeType::AsPath, "0202 0000fde9 0000fdea", &mut out);
    put(AttributeType::NextHop, "c0000201", &mut out);
    put(AttributeType::LocalPref, "00000064", &mut out);
    out
}

/// Every attribute that a route can have, but for those of other families.
pub fn all_attributes() -> Vec<u8> {
    let mut out = Vec::new();
    put(AttributeType::Origin, "02", &mut out);
    put(AttributeType::AsPath, "0202 0000fde9 0000fdea 0102 0000fdeb 0000fdec", &mut out);
    put(AttributeType::NextHop, "c0000201", &mut out);
    put(AttributeType::MultiExitDisc, "0000000a", &mut out);
    put(AttributeType::LocalPref, "00000064", &mut out);
    put(AttributeType::AtomicAggregate, "", &mut out);
    put(AttributeType::Aggregator, "0000fde9 c0000202", &mut out);
    put(AttributeType::Communities, "fde80001 ffffff01 ffff029a", &mut out);
    put(AttributeType::OriginatorId, "c0000203", &mut out);
    put(AttributeType::ClusterList, "c0000204 c0000205", &mut out);
    put(AttributeType::ExtendedCommunities, "0002 fde8 00000064 030c 0000 00000008", &mut out);
    put(AttributeType::PmsiTunnel, "00 06 000641 c0000201", &mut out);
    put(AttributeType::TunnelEncapsulation, "0008 000b 06 09 00000000 01 c0000201", &mut out);
    put(AttributeType::Aigp, "01 000b 0000000000000064", &mut out);
    put(AttributeType::LargeCommunities, "0000fde8 00000001 00000002", &mut out);
    put(AttributeType::OnlyToCustomer, "0000fde9", &mut out);
    put(AttributeType::PrefixSid, "01 0007 00 0000 00000064", &mut out);
    out
}

/// A speaker that can everything.
pub fn offer() -> Offer {
    let families: FamilySet = Family::ALL.iter().copied().collect();
    let mut offer = Offer::modern(4_200_000_001, 0xC000_0201, 90, families);
    offer.extended_next_hop =
        [Family::Ipv4Unicast, Family::Ipv4Labelled, Family::Vpnv4].into_iter().collect();
    offer.labels_max[Family::Ipv4Labelled as usize] = 3;
    offer.add_path_receive = [Family::Ipv4Unicast, Family::Vpnv4].into_iter().collect();
    offer.add_path_send = [Family::Ipv4Unicast, Family::Evpn].into_iter().collect();
    offer.role = Some(Role::Peer);
    let two: FamilySet = [Family::Ipv4Unicast, Family::Vpnv4].into_iter().collect();
    let one = FamilySet::only(Family::Vpnv4);
    offer.graceful_restart = Some(GracefulRestart {
        restarting: true,
        notification: true,
        time_s: 120,
        families: two,
        forwarding: one,
    });
    let mut time_s = [0; FAMILIES];
    time_s[Family::Ipv4Unicast as usize] = 3_600;
    time_s[Family::Vpnv4 as usize] = 86_400;
    offer.long_lived = Some(LongLived { families: two, forwarding: one, time_s });
    offer
}

fn one(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// UPDATEs that announce and withdraw sample routes of every family.
pub fn updates(routes: fn(Family) -> Vec<Vec<u8>>) -> Vec<(Family, Vec<u8>)> {
    let limits = Limits { message_max: 4_096, add_path: false };
    let attributes = plain_attributes();
    let mut all = Vec::new();
    for family in Family::ALL.iter().copied() {
        let hop = next_hop(family);
        all.push((
            family,
            one(|out| {
                let packing = Announcement::multiprotocol(limits, family, &hop, &attributes, out);
                let mut packing = packing.unwrap();
                routes(family).iter().for_each(|route| packing.route(0, route).unwrap());
                packing.finish();
            }),
        ));
        all.push((
            family,
            one(|out| {
                let mut packing = Withdrawal::multiprotocol(limits, family, out);
                routes(family).iter().for_each(|route| packing.route(0, route).unwrap());
                packing.finish();
            }),
        ));
        all.push((family, one(|out| end_of_rib(family, out))));
    }
    all
}

/// Every message, with a name.
pub fn messages() -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("keepalive".to_owned(), one(keepalive))];
    all.push(("open".into(), one(|out| write_open(&offer(), out))));
    all.push(("plain open".into(), one(|out| write_open(&Offer::plain(65_000, 1, 0), out))));
    for kind in [RefreshKind::Request, RefreshKind::Begin, RefreshKind::End] {
        let text = kind.name().to_owned();
        all.push((text, one(|out| write_refresh(Family::Vpnv4, kind, out))));
    }
    for error in OpenError::ALL {
        let notice = Notice::open(*error);
        let data = match error {
            OpenError::UnsupportedVersionNumber => hex("0004"),
            OpenError::UnsupportedCapability => hex("01 04 0001 0001"),
            _ => Vec::new(),
        };
        let write = |out: &mut Vec<u8>| write_notification(notice, &data, 4_096, out);
        all.push((notice.to_string(), one(write)));
    }
    for cease in Cease::ALL {
        let notice = Notice::cease(*cease);
        let data = one(|out| match cease {
            Cease::AdministrativeShutdown | Cease::AdministrativeReset => {
                write_communication("maintenance until 22:00 UTC", out);
            }
            Cease::MaximumPrefixes => out.extend_from_slice(&hex("0001 01 000003e8")),
            Cease::HardReset => out.extend_from_slice(&[6, 3]),
            _ => {}
        });
        all.push((notice.to_string(), one(|out| write_notification(notice, &data, 4_096, out))));
    }
    let limits = Limits { message_max: 4_096, add_path: false };
    let (plain, every) = (ipv4_attributes(), all_attributes());
    for (name, attributes) in [("plain", &plain), ("every attribute", &every)] {
        all.push((
            format!("update, {name}"),
            one(|out| {
                let mut packing = Announcement::plain(limits, attributes, out).unwrap();
                routes(Family::Ipv4Unicast).iter().for_each(|it| packing.route(0, it).unwrap());
                packing.finish();
            }),
        ));
    }
    all.push((
        "withdrawal".into(),
        one(|out| {
            let mut packing = Withdrawal::plain(limits, out);
            routes(Family::Ipv4Unicast).iter().for_each(|it| packing.route(0, it).unwrap());
            packing.finish();
        }),
    ));
    all.extend(
        updates(decodable).into_iter().map(|(family, bytes)| (format!("update {family}"), bytes)),
    );
    all
}
