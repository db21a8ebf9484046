//! The controller's own subscriptions to what becomes of registrations at the core (RFC 3680,
//! TS 24.229 §5.2.3): IMS access says when, and what they mean; here they are sent and answered.

use crate::metrics::Metric;
use crate::refusal::{Answered, Refusal};
use crate::{Arrived, Controller, User};
use ims::Asking;
use machine::Time;
use registrar::Aor;
use runtime::Effects;
use sip_stack::write;
use transaction::ServerId;

/// SUBSCRIBE requests sent in one go at most; the others follow with the next tick.
const SUBSCRIBES_PER_TICK: usize = 64;

/// Sends the SUBSCRIBE requests that are due.
pub(crate) fn subscribe(controller: &mut Controller, now: Time, out: &mut Effects) {
    for _ in 0..SUBSCRIBES_PER_TICK {
        let registrar = &controller.registrar;
        let stands = |identity: &[u8]| {
            let aor = Aor::parse(identity);
            aor.is_some_and(|aor| registrar.reached_by(&aor).next().is_some())
        };
        let Some(asking) = controller.ims.watch_due(now, stands) else { return };
        if subscribe_one(controller, now, &asking, out).is_none() {
            controller.ims.unsubscribed(now, asking.key, 503);
        }
    }
}

fn subscribe_one(
    controller: &mut Controller,
    now: Time,
    asking: &Asking,
    out: &mut Effects,
) -> Option<()> {
    let Controller { border, ims, transactions, egress, .. } = controller;
    let listener = border.realms.listener(asking.flow.port)?;
    let (client, branch) = transactions.reserve()?;
    let flow = listener.flow(asking.flow.remote);
    egress.send(now, flow, Some(asking.trail), out, |buffer| {
        ims.write_subscribe(now, asking, listener, &branch, buffer);
    });
    let Some((_, bytes)) = out.last() else {
        transactions.release(client);
        return None;
    };
    let (user, reliable) = (User::Watch(asking.key), flow.transport.is_stream());
    transactions.start_client(now, client, flow, reliable, bytes, user);
    Some(())
}

/// A NOTIFY of such a subscription.
pub(crate) fn notified(
    controller: &mut Controller,
    at: &Arrived<'_>,
    server: ServerId,
    out: &mut Effects,
) {
    let (realms, realm) = (&controller.border.realms, at.realm);
    let is_near = |port| realms.listener(port).is_some_and(|listener| listener.realm == realm);
    let (ims, registrar) = (&mut controller.ims, &mut controller.registrar);
    let notified = ims.notified(at.now, &at.flow, at.message, is_near, registrar);
    controller.gone(at.now, &notified.gone);
    if notified.status == 481 {
        return controller.refuse(at, Some(server), Refusal::NO_DIALOG, out);
    }
    controller.seen(at, Some(notified.trail));
    if notified.status != 200 {
        controller.egress.metrics.add(Metric::Refused, 1);
    }
    controller.reply(
        at,
        Answered { server: Some(server), trail: notified.trail },
        notified.status,
        out,
        |head| match notified.status {
            415 => write::line(head, "Accept", ims::MEDIA_TYPE.as_bytes()),
            489 => write::line(head, "Allow-Events", b"reg"),
            _ => {}
        },
    );
}
