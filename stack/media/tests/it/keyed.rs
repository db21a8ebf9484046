//! Connections that prove a key, and those that do not.

use crate::world::{World, settings};
use authentication::Keys;
use machine::Duration;
use media_stack::{MediaMetric, Refused};

const KEY: &str = "a key of forty characters, as it should be";

fn world(ours: Option<&str>, theirs: Option<&str>) -> World {
    let keys = |key: Option<&str>| key.map(|key| Keys::parse(key).expect("it is long enough"));
    let mut settings = settings(1);
    settings.media.controller[0].keys = keys(ours);
    let mut world = World::with(1, settings, 7);
    world.mscs[0].keys = keys(theirs);
    world.pass(Duration::from_secs(2));
    world
}

#[test]
fn both_prove_the_key_before_anything_is_said() {
    let both = format!("{KEY}, changed\n{KEY}");
    for (ours, theirs) in [(None, None), (Some(KEY), Some(KEY)), (Some(&*both), Some(KEY))] {
        let mut world = world(ours, theirs);
        assert_eq!(world.metric(MediaMetric::ControllersUp), 1);
        assert!(world.call(1, ["10.1.0.1", "10.2.0.1"]).is_ok());
    }
}

#[test]
fn one_that_does_not_prove_the_key_gets_no_call() {
    let other = "another key of theirs, as long";
    for (ours, theirs) in [(Some(KEY), None), (None, Some(KEY)), (Some(KEY), Some(other))] {
        let mut world = world(ours, theirs);
        world.pass(Duration::from_secs(10));
        assert_eq!(world.metric(MediaMetric::ControllersUp), 0, "{ours:?} {theirs:?}");
        let call = world.call(1, ["10.1.0.1", "10.2.0.1"]);
        assert_eq!(call.map(|_| ()), Err(Refused::AWAY));
        assert_eq!(world.mscs[0].streams(), 0);
    }
}
