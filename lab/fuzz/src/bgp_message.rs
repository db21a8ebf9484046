//! Any octets as a BGP message: nothing panics, offsets lie in the message, routes that were
//! accepted survive being split into key and payload.

use bgp::codec::{Attributes, Context, Framing, MessageType, Notification, Open, Peering, Refresh};
use bgp::codec::{Update, frame, reflect, to_two_octets};
use bgp::family::{Family, FamilySet, Routes};

fn walk(routes: Routes<'_>) {
    let count = routes.check().expect("it was checked");
    let (mut key, mut payload, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = 0;
    for route in routes {
        key.clear();
        payload.clear();
        again.clear();
        route.split(&mut key, &mut payload);
        route.family.join(&key, &payload, &mut again);
        assert!(Routes::new(route.family, route.layout, &again).octets().len() <= 65_535);
        let _ = route.to_string();
        found += 1;
    }
    assert!(found <= count);
}

fn update(message: &[u8], context: &Context) {
    let update = match Update::read(message, context) {
        Ok(update) => update,
        Err(violation) => return assert!(violation.malformed.at <= message.len()),
    };
    walk(update.withdrawn());
    walk(update.announced());
    update.reach().into_iter().for_each(|reach| walk(reach.routes));
    update.unreach().into_iter().for_each(|unreach| walk(unreach.routes));
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    let canonical = update.canonical(&mut scratch);
    let fits = reflect(canonical, 1, 2, &mut out) && to_two_octets(canonical, &mut out);
    if !update.is_withdrawn() {
        assert!(fits);
        assert!(Attributes::new(canonical).all(|attribute| attribute.is_ok()));
    }
}

pub fn run(bytes: &[u8]) {
    // The first octet chooses what was negotiated, the header is made right around the rest.
    let Some((choice, body)) = bytes.split_first() else { return };
    let _ = frame(body, 4_096);
    let all: FamilySet = Family::ALL.iter().copied().collect();
    let some = |bit: u8| if choice & bit != 0 { all } else { FamilySet::EMPTY };
    let context = Context {
        peering: [Peering::Internal, Peering::External, Peering::Confederation]
            [usize::from(choice & 3).min(2)],
        four_octet_as: choice & 4 == 0,
        families: all,
        add_path: some(8),
        extended_next_hop: some(16),
        multiple_labels: some(32),
        aigp: choice & 64 == 0,
        first_as: None,
    };
    for kind in 1..=5 {
        let mut message = vec![0xFF; 16];
        message.extend_from_slice(&((19 + body.len()) as u16).to_be_bytes());
        message.push(kind);
        message.extend_from_slice(body);
        let Framing::Message(kind, message) = frame(&message, 65_535) else { continue };
        match kind {
            MessageType::Open => _ = Open::read(message),
            MessageType::Update => update(message, &context),
            MessageType::Notification => {
                _ = Notification::read(message).map(|it| it.communication().map(|it| it.len()));
            }
            MessageType::RouteRefresh => _ = Refresh::read(message),
            MessageType::Keepalive => {}
        }
    }
}
