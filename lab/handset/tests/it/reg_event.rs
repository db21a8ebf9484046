//! What the core tells of registrations, over sockets: a session controller that subscribes, phones
//! with ESP, a home network that notifies.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::live::{Core, Phone, asked, controller_with, count, until};
use handset::{Event, Handset, Subscriber};
use runtime::Running;
use secagree::Mode;
use ssc::Controller;
use std::net::SocketAddr;
use std::time::Duration;

#[test]
fn what_the_network_ends_ends_at_the_controller_and_the_phone_may_register_anew() {
    let net = 207;
    let core = Core::start(net, (1..=2).map(Subscriber::number).collect());
    let running = controller_with(net, 2, "", "reg_event = true");
    let mut phones: Vec<Phone> =
        (1..=2).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    let registered =
        |phones: &[Phone]| phones.iter().all(|it| it.events.contains(&Event::Registered));
    phones.iter_mut().for_each(|phone| phone.act(Handset::register));
    until(&mut phones, "both register", registered);
    let standing = |rows: &[serde_json::Value]| {
        let is_it = |row: &&serde_json::Value| row["state"] == "standing" && row["version"] == 0;
        rows.iter().filter(is_it).count()
    };
    until(&mut phones, "both are watched", |_| standing(&asked(&running, "ims/reg-events")) == 2);
    let impi = phones[0].handset.config().subscriber.impi.clone();
    assert!(core.home.lock().unwrap().deregister(&impi, reginfo::Event::Deactivated));
    until(&mut phones, "its binding has ended", |_| asked(&running, "registrations").len() == 1);
    let rows = asked(&running, "ipsec");
    let state = |impi: &str| rows.iter().find(|row| row["impi"] == impi).map(|row| &row["state"]);
    let other = phones[1].handset.config().subscriber.impi.clone();
    assert_eq!((state(&impi), state(&other)), (Some(&"ending".into()), Some(&"current".into())));
    until(&mut phones, "it is watched no more", |_| asked(&running, "ims/reg-events").len() == 1);
    assert_eq!(count(&running, "ims_reg_deregistrations_total"), 1);

    // As after a new start: in the clear, with another agreement.
    drop(phones.remove(0)); // its sockets first
    phones.insert(0, Phone::drawing(net, 1, Mode::Transport, 99));
    phones[0].act(Handset::register);
    until(&mut phones, "it registers anew", |phones| phones[0].events.contains(&Event::Registered));
    until(&mut phones, "it is watched again", |_| {
        standing(&asked(&running, "ims/reg-events")) == 2
    });
    running.stop(Duration::from_secs(1));
}

/// A NOTIFY as another one of the same dialog, with that number and that document.
fn like(notify: &str, cseq: u32, body: &str) -> String {
    let (head, _) = notify.split_once("\r\n\r\n").expect("a message");
    let line = |line: &str| match line.split_once(": ").map(|(name, _)| name) {
        Some("CSeq") => format!("CSeq: {cseq} NOTIFY"),
        Some("Content-Length") => format!("Content-Length: {}", body.len()),
        Some("Via") => format!("{line}{cseq}x{}", body.len()),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = head.split("\r\n").map(line).collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

fn register(phones: &mut [Phone], at: usize) {
    phones[at].events.clear();
    phones[at].act(Handset::register);
    until(phones, "it registers", |phones| phones[at].events.contains(&Event::Registered));
}

/// The core tells that, and it is counted.
fn tells(core: &Core, net: u8, running: &Running<Controller>, notify: &str, metric: &str) {
    let before = count(running, metric);
    let to = SocketAddr::from(([127, net, 0, 2], 5_060));
    core.socket.send_to(notify.as_bytes(), to).unwrap();
    until(&mut [], metric, |_| count(running, metric) > before);
}

#[test]
fn what_the_core_tells_well_and_badly_is_counted() {
    well_and_badly(209);
}

/// All that can be told, in a network of its own.
pub fn well_and_badly(net: u8) {
    let core = Core::start(net, (1..=2).map(Subscriber::number).collect());
    let registrar = "client_expires_s = 600\ncore_expires_s = 600"; // each goes to the core
    let running = controller_with(net, 1, registrar, "reg_event = true\nreg_events_max = 1");
    let mut phones: Vec<Phone> =
        (1..=2).map(|number| Phone::new(net, number, Mode::Transport)).collect();
    core.home.lock().unwrap().know_events(false);
    register(&mut phones, 0);
    until(&mut phones, "the core refuses", |_| {
        count(&running, "ims_reg_subscribes_failed_total") == 1
    });
    core.home.lock().unwrap().know_events(true);
    register(&mut phones, 0);
    until(&mut phones, "it is watched", |_| count(&running, "ims_reg_notifies_total") > 0);
    assert_eq!(count(&running, "ims_reg_subscriptions"), 1);
    register(&mut phones, 1);
    until(&mut phones, "there is no room for the other", |_| {
        count(&running, "ims_reg_subscriptions_refused_total") == 1
    });

    let last = core.notified.lock().unwrap().last().cloned().expect("it was notified");
    let (_, body) = last.split_once("\r\n\r\n").unwrap();
    let stranger = like(&last, 70, body).replace(
        "From: <sip:+490000000001@ims.example.org>;tag=",
        "From: <sip:+490000000001@ims.example.org>;tag=0",
    );
    tells(&core, net, &running, &stranger, "ims_reg_notifies_refused_total");
    let cut = like(&last, 71, &body[..body.len() / 2]);
    tells(&core, net, &running, &cut, "ims_reg_documents_unreadable_total");
    tells(&core, net, &running, &like(&last, 72, body), "ims_reg_documents_outdated_total");
    let version = |text: &str, version: u32| {
        text.replacen(" version=\"0\"", &format!(" version=\"{version}\""), 1)
    };
    assert!(body.contains(" version=\"0\""), "{body}");
    let short = body.replace("event=\"registered\"", "event=\"shortened\" expires=\"60\"");
    let short = like(&last, 73, &version(&short, 8));
    tells(&core, net, &running, &short, "ims_reg_shortened_total");
    let over = body.replace(
        "state=\"active\" event=\"registered\"",
        "state=\"terminated\" event=\"rejected\"",
    );
    let over = like(&last, 74, &version(&over, 9));
    tells(&core, net, &running, &over, "ims_reg_deregistrations_total");
    assert_eq!(asked(&running, "registrations").len(), 1, "that of the other phone");
    for (_, cells) in running.cells() {
        cells.iter().for_each(crate::metrics::note_cells);
    }
    running.stop(Duration::from_secs(1));
}
