//! What the trail of a registration is told of its agreements.

use crate::world::{Phone, World, section};
use handset::{Handset, State};
use machine::Duration;
use secagree::Preference;
use sim::LinkSpec;

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
