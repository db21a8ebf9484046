//! What becomes known of media in the service assurance.

use super::*;
use media::program::{Statistics, StreamStatistics};
use serde_json::Value;

/// A world with a collector, and two ports of `ssc1`.
fn captured() -> (World, [Local; 2]) {
    let mut world = World::adopted(&format!("capture = \"udp:127.0.0.1:9060\"\n{SITE}"));
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    (world, [at(block, 0), at(block, 1)])
}

/// The events that were told since: their correlation, and what they say.
fn events(world: &mut World) -> Vec<(String, Value)> {
    world.passes(1);
    let told = std::mem::take(&mut world.replies);
    let event = |octets: &Vec<u8>| {
        let packet = hep::Packet::parse(octets).expect("HEP");
        let correlation = String::from_utf8(packet.correlation.to_vec()).expect("text");
        (correlation, serde_json::from_slice(packet.payload).expect("JSON"))
    };
    told.iter().map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(_, event)| event["event"].as_str().expect("a name")).collect()
}

/// What passed of 20 ms speech with 1 of 50 packets lost.
fn counted(packets: u32) -> Notice {
    let stream = StreamStatistics {
        ssrc: 7,
        expected: packets + packets / 49,
        received: packets,
        lost: packets / 49,
        jitter: 16,
        ..StreamStatistics::default()
    };
    let packets = u64::from(packets);
    let statistics = Statistics {
        packets,
        octets: 160 * packets,
        idle_ms: Some(10),
        stream: Some(stream),
        ..Statistics::default()
    };
    Notice { statistics: Some(statistics), ..Notice::default() }
}

fn with_trace(ports: [Local; 2], trace: Trace) -> Stream {
    Stream { trace, ..stream(ports[0], ports[1]) }
}

#[test]
fn events_of_media_are_in_the_trail_that_the_session_controller_named() {
    let (mut world, ports) = captured();
    let what = with_trace(ports, Trace::of(0xfeed, b"a84b4c76e66710"));
    world.puts(1, 5, 1, &what);
    let mut held = what.clone();
    held.ends[0].direction = Direction::SendOnly;
    world.puts(1, 5, 2, &held);
    let elsewhere = Some("198.51.100.1:4444".parse().expect("a place"));
    world.notices(ports[0], &Notice { latched: elsewhere, ..Notice::default() });
    let all = events(&mut world);
    let wanted = ["StreamBegan", "StreamBegan", "StreamChanged", "StreamChanged", "StreamLatched"];
    assert_eq!(names(&all), wanted);
    assert!(all.iter().all(|(trail, _)| trail == "000000000000feed"), "{all:?}");
    let row = &world.asks("streams", &[("call", "a84b4c76e66710")])[0];
    assert_eq!([&row["call"], &row["call_id"]], ["000000000000feed", "a84b4c76e66710"]);
    assert_eq!(world.asks("stream", &[("call", "000000000000feed")])["line"], 0);
    // One of an earlier version names no trail: its calls are numbered by theirs.
    world.removes(1, 5, 2);
    world.passes(2);
    world.replies.clear();
    world.puts(1, 6, 1, &stream(ports[0], ports[1]));
    assert!(events(&mut world).iter().all(|(trail, _)| trail == "0000000000000006"));
}

#[test]
fn the_last_figures_of_a_short_call_are_in_its_trail() {
    let (mut world, ports) = captured();
    world.puts(1, 5, 1, &with_trace(ports, Trace::of(1, b"")));
    world.passes(1);
    world.notices(ports[0], &counted(49));
    world.now += Duration::from_millis(1_000);
    assert_eq!(names(&events(&mut world)), ["StreamBegan"; 2]);
    world.told(1);
    world.removes(1, 5, 1);
    // Its flows go, and each tells a last time what passed.
    world.notices(ports[0], &counted(147));
    let all = events(&mut world);
    assert_eq!(names(&all), ["QualityReported", "StreamEnded", "StreamEnded"]);
    let ended = all.iter().map(|(_, event)| event).rfind(|it| it["packets"] == 147).expect("it");
    assert_eq!([&ended["event"], &ended["leg"]], ["StreamEnded", "a"]);
    assert_eq!(ended["lost"], 3);
    assert_eq!(ended["duration_ms"], 3_000, "until it was removed");
    assert_eq!(ended["jitter_us"], 2_000);
    let score = ended["mos_hundredths"].as_u64().expect("a score");
    assert!((300..440).contains(&score), "{ended}");
    let told = world.told(1);
    let is_quality = |it: &Message| match it {
        Message::Event { event: anchor::row::Event::Quality(it), .. } => {
            u64::from(it.mos_hundredths) == score
        }
        _ => false,
    };
    assert!(told.iter().any(is_quality), "its session controller hears of it: {told:?}");
    assert_eq!(world.msc.state().poor_ones(), (0, 0));
}

#[test]
fn quality_is_reported_every_five_seconds_and_to_the_session_controller_once_a_minute() {
    let (mut world, ports) = captured();
    world.puts(1, 5, 1, &with_trace(ports, Trace::of(1, b"")));
    world.told(1);
    let mut reports = 0;
    for n in 1..=60 {
        world.passes(1);
        // As the forwarder tells: each second, then every five.
        if n <= 5 || n % 5 == 0 {
            world.notices(ports[0], &counted(49 * n));
        }
        let told = std::mem::take(&mut world.replies);
        let is_report = |it: &&Vec<u8>| String::from_utf8_lossy(it).contains("QualityReported");
        reports += told.iter().filter(is_report).count();
    }
    assert!((11..=12).contains(&reports), "{reports}");
    let qualities = world.told(1);
    assert_eq!(qualities.len(), 1, "{qualities:?}");
}

#[test]
fn another_stream_at_the_port_of_one_that_is_over_does_not_wait_for_it() {
    let (mut world, ports) = captured();
    world.puts(1, 5, 1, &with_trace(ports, Trace::of(1, b"")));
    world.removes(1, 5, 1);
    world.puts(1, 5, 2, &with_trace(ports, Trace::of(1, b"")));
    let all = events(&mut world);
    let wanted = ["StreamBegan", "StreamBegan", "StreamEnded", "StreamEnded"];
    assert_eq!(names(&all)[..4], wanted);
    assert_eq!(names(&all)[4..], ["StreamBegan"; 2], "and it ends no more");
}
