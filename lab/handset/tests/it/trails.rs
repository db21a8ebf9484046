//! What the trail of a registration is told of its agreements.

use crate::pair_world::{self, COLLECTOR, SITE};
use crate::world::{Phone, World, section};
use handset::{Handset, State};
use machine::Duration;
use secagree::Preference;
use sim::LinkSpec;
use std::collections::BTreeSet;

fn world(seed: u64) -> World {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    World::new(seed, phones, section(), LinkSpec::perfect(Duration::from_millis(10)))
}

/// The names of what trails were told.
fn names(world: &mut World) -> Vec<String> {
    let word = |(_, event): (String, serde_json::Value)| event["event"].as_str().unwrap().into();
    world.told().into_iter().map(word).collect()
}

/// Why something ended, or failed.
fn reasons(world: &mut World) -> Vec<String> {
    let told = world.told().into_iter();
    told.filter_map(|(_, event)| event["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_trail_has_the_agreement_and_what_became_of_it_and_no_keys() {
    let mut world = world(1);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    let row = world.current(0).pop().expect("it is registered");
    assert_eq!(world.phones[0].handset.granted_s(), 600);
    let told = world.told();
    let [(call_id, chosen), (other, established)] = told.as_slice() else { panic!("{told:?}") };
    assert!(!call_id.is_empty() && call_id == other);
    let register = String::from_utf8_lossy(&world.pcscf.told[0]).into_owned();
    assert!(register.contains(&format!("Call-ID: {call_id}\r\n")), "{register}");
    let [spi_s, spi_c] = [row.spi_in[0], row.spi_in[1]];
    let [ue_c, ue_s] = row.ue_ports.unwrap();
    let [own_c, own_s] = row.own_ports.unwrap();
    let ue_spis = format!("{}/{}", row.spi_out[0], row.spi_out[1]);
    let wanted = serde_json::json!({
        "event": "AgreementChosen", "impi": row.impi, "algorithms": "null/aes-gcm",
        "mode": "trans", "ue_ports": format!("{ue_c}/{ue_s}"), "ue_spis": ue_spis,
        "own_ports": format!("{own_c}/{own_s}"), "own_spis": format!("{spi_c}/{spi_s}"),
    });
    assert_eq!(*chosen, wanted, "and nothing else: no keys");
    assert_eq!(established["event"], "AgreementEstablished");
    assert_eq!(
        (&established["own_spis"], &established["expires_s"]),
        (&wanted["own_spis"], &serde_json::json!(630),)
    );

    // The home network challenges a phone that comes in the clear again.
    world.phones[0].handset.restart();
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    let told = world.told();
    let words: Vec<_> = told.iter().map(|(_, it)| it["event"].as_str().unwrap()).collect();
    assert_eq!(words, ["AgreementChosen", "AgreementEstablished", "AgreementReplaced"]);
    assert_eq!((&told[2].0, &told[2].1["own_spis"]), (call_id, &wanted["own_spis"]));
    world.run(Duration::from_secs(60));
    assert_eq!(reasons(&mut world), ["its phone has a newer agreement"]);

    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(60));
    // Of the set of now, and of one that the challenge of the de-registration has made.
    let all = reasons(&mut world);
    assert!(!all.is_empty() && all.iter().all(|why| why.ends_with("de-registered")), "{all:?}");
}

#[test]
fn an_agreement_that_nobody_renews_ends_in_its_trail_once() {
    let mut world = world(2);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_eq!(names(&mut world), ["AgreementChosen", "AgreementEstablished"]);
    world.phones.clear();
    world.run(Duration::from_secs(700));
    assert_eq!(reasons(&mut world), ["its registration is over"]);
    world.run(Duration::from_secs(700));
    assert!(world.told().is_empty());
}

#[test]
fn a_refused_response_and_a_silent_core_are_told_with_their_reasons() {
    let mut world = world(3);
    world.pcscf.home.refuse(true);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_ne!(world.phones[0].handset.state(), State::Registered);
    let all = reasons(&mut world);
    assert!(all.iter().any(|why| why.starts_with("the core answered 403")), "{all:?}");
}

/// The names of the agreements that stand, as captures have them.
fn agreements(world: &mut pair_world::World) -> Vec<String> {
    let name = |row: &serde_json::Value| {
        let [own, ue] = [&row["spi_in"], &row["spi_out"]];
        let algorithms = row["algorithms"].as_str().unwrap();
        let (own_c, own_s, ue_c, ue_s) = (&own[1], &own[0], &ue[0], &ue[1]);
        format!("ESP {algorithms} trans, SPIs in {own_c}/{own_s} out {ue_c}/{ue_s}")
    };
    world.agreements(false).iter().map(name).collect()
}

#[test]
fn captures_have_the_clear_text_with_the_name_of_the_associations_that_carried_it() {
    let site = format!("capture = \"udp:192.0.2.8:{COLLECTOR}\"{SITE}");
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(5));
    let mut world = pair_world::World::of(&site, 1, phones, spec);
    let second = Duration::from_secs(1);
    let mut names = BTreeSet::new();
    for round in 0..2 {
        world.act(0, |handset, _, _| handset.speak_tcp(round == 1));
        world.act(0, Handset::register);
        world.run(second * 2);
        names.extend(agreements(&mut world));
        world.core_asks(0, round + 1);
        world.run(second * 2);
    }
    world.act(0, |handset, _, _| handset.speak_tcp(false));
    world.call(0);
    world.run(second * 2);
    world.hang_up(0);
    world.run(second * 2);
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names.len(), 2, "two registrations: {names:?}");
    let (mut found, mut clear) = (BTreeSet::new(), 0);
    for bytes in &world.captured {
        let packet = hep::Packet::parse(bytes).expect("a packet");
        let tags = core::str::from_utf8(packet.tags.trim_ascii()).unwrap();
        if packet.kind != hep::KIND_SIP {
            assert_eq!(tags, "", "events name them by themselves");
            continue;
        }
        let text = String::from_utf8_lossy(packet.payload).into_owned();
        let is_protected = [packet.source, packet.destination].iter().any(|it| it.port() == 5_062);
        match is_protected {
            true => {
                assert!(names.contains(tags), "`{tags}`: {text}");
                let first = text.split(' ').next().unwrap().to_owned();
                found.insert((first, packet.source.port() == 5_062, tags));
            }
            false => {
                assert_eq!(tags, "", "{text}");
                clear += 1;
            }
        }
    }
    assert!(clear > 10, "{clear} in the clear: those of the core, and the first round");
    for (method, is_sent) in [
        ("REGISTER", false),
        ("SIP/2.0", true),
        ("INVITE", false),
        ("ACK", false),
        ("BYE", false),
        ("MESSAGE", true),
        ("SIP/2.0", false),
    ] {
        let is_it = |it: &&(String, bool, &str)| it.0 == method && it.1 == is_sent;
        assert!(found.iter().any(|it| is_it(&it)), "{method} {is_sent}: {found:?}");
    }
    let used: BTreeSet<&str> = found.iter().map(|it| it.2).collect();
    assert_eq!(used, names, "both were used");
}
