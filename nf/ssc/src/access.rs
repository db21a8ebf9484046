//! IMS access between the wire and the controller: what comes by associations, what phones must
//! say first, and what leaves to them.

use crate::metrics::Metric;
use crate::{Arrived, Controller};
use ims::{Leaving, Packet, Verdict};
use machine::Time;
use runtime::{Diverted, Effects, Flow};
use sip::Message;
use sip_stack::realm::Side;
use sip_stack::upstream::upstream;

/// Takes a message that IMS access must see before anything else does; `false`: it is none.
pub(crate) fn unwrapped(
    controller: &mut Controller,
    now: Time,
    flow: &Flow,
    bytes: &[u8],
    out: &mut Effects,
) -> bool {
    if controller.ims.is_off() {
        return false;
    }
    match controller.ims.packet(now, flow, bytes) {
        Packet::Dropped => true,
        Packet::Message(flow) => {
            let delay = controller.overload.admission.delay();
            controller.overload.protected.comes(now, delay);
            let mut next = Some(flow);
            while let Some(flow) = next {
                let text = controller.ims.text();
                let is_named = name(controller);
                controller.message(now, flow, &text, out);
                unname(controller, is_named);
                controller.ims.reuse(text);
                next = controller.ims.next_inside(now);
            }
            controller.overload.protected.is_over();
            true
        }
        Packet::Foreign => unkeyed(controller, now, flow, bytes, out),
    }
}

/// A challenge of the core with keys that are not for the phone, nor for the trail.
fn unkeyed(
    controller: &mut Controller,
    now: Time,
    flow: &Flow,
    bytes: &[u8],
    out: &mut Effects,
) -> bool {
    let Some(listener) = controller.border.realms.listener(flow.port) else { return false };
    let realm = controller.border.realms.row(listener.realm);
    let believes = realm.side == Side::Core && realm.trusted;
    let mut text = Vec::new();
    let verdict = controller.ims.unkeyed(now, bytes, believes, &mut text);
    if verdict == Verdict::Changed {
        controller.message(now, *flow, &text, out);
    }
    verdict != Verdict::Passes
}

/// A message of a realm with IPsec: goes on without its agreement, or is refused.
pub(crate) fn agreed(controller: &mut Controller, at: &Arrived<'_>, out: &mut Effects) {
    let (mut text, mut room) = (Vec::new(), None);
    let verdict = controller.ims.request(at.now, &at.flow, at.message, &mut text);
    let is_named = name(controller);
    match verdict {
        Verdict::Passes => controller.changed_by_rules(at, out),
        Verdict::Changed => match Message::parse_in(&mut room, &text) {
            Ok(message) => controller.changed_by_rules(&Arrived { message, ..*at }, out),
            Err(violation) => controller.malformed(at.now, at.flow, at.raw, &violation, out),
        },
        Verdict::Refused => {
            controller.seen(at, None);
            controller.egress.metrics.add(Metric::Refused, 1);
            let to = upstream(&at.flow, at.message);
            controller.egress.send(at.now, to, None, out, |buffer| buffer.extend_from_slice(&text));
        }
        Verdict::Dropped => controller.seen(at, None),
    }
    unname(controller, is_named);
}

/// Captures say by which associations the message came that is dealt with; whether that was not
/// known before.
fn name(controller: &mut Controller) -> bool {
    let egress = &mut controller.egress;
    let is_new = egress.tags.is_empty() && egress.capture.is_on();
    if is_new {
        controller.ims.write_arrived_by(&mut egress.tags);
    }
    is_new
}

/// It is dealt with.
fn unname(controller: &mut Controller, is_named: bool) {
    if is_named {
        controller.egress.tags.clear();
    }
}

/// The ports of whose messages captures say by which associations they leave.
pub(crate) fn name_ports(controller: &mut Controller) {
    controller.egress.tagged_later = controller.ims.named_ports().collect();
}

/// Protects what leaves to phones.
pub(crate) fn protect(controller: &mut Controller, now: Time, out: &mut Effects) {
    if controller.ims.is_off() {
        return;
    }
    let (ims, shard) = (&mut controller.ims, controller.shard);
    let (capture, mut number) = (&mut controller.egress.capture, out.diverted());
    let mut handed: Vec<(Flow, Vec<u8>)> = Vec::new();
    out.divert(|flow, bytes, text| {
        let leaving = ims.leaving(now, &flow, bytes, text);
        capture.tag(number, |name| ims.write_left_by(name));
        number += 1;
        match leaving {
            Leaving::Stays => Diverted::Stays,
            Leaving::Inside | Leaving::Dropped => Diverted::Dropped,
            // The first shard alone has the raw sockets.
            Leaving::Instead(to) if shard != 0 && ims.is_raw(to.port) => {
                handed.push((to, text.clone()));
                Diverted::Dropped
            }
            Leaving::Instead(to) => Diverted::Instead { to, in_parts: true },
        }
    });
    let mut inside: Vec<(Flow, Vec<u8>)> = Vec::new();
    ims.leave_inside(now, |to, packet| inside.push((to, packet.to_vec())));
    for (to, packet) in inside {
        match shard != 0 && ims.is_raw(to.port) {
            true => handed.push((to, packet)),
            false => out.send_in_parts(to, |buffer| buffer.extend_from_slice(&packet)),
        }
    }
    ims.tell(now, &mut controller.egress.capture);
    ims.write_keys(out);
    for (flow, packet) in handed {
        out.hand(0, |work| ipsec::write_handed(&flow, &packet, work));
    }
}

/// Sends what another shard has protected.
pub(crate) fn handed(work: &[u8], out: &mut Effects) {
    if let Some((flow, packet)) = ipsec::read_handed(work) {
        out.send_in_parts(flow, |buffer| buffer.extend_from_slice(packet));
    }
}
