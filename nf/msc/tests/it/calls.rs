//! What session controllers and NG say becomes flows, and what the forwarder tells is heard.

use super::*;
use anchor::row::Event;
use media::Use;
use media::program::{Digit, Guard as FlowGuard, Statistics, StreamStatistics};

#[test]
fn a_section_becomes_ranges_of_ports() {
    let world = World::adopted(SITE);
    let ranges: Vec<(String, u16, u16)> = world
        .plane
        .ranges()
        .iter()
        .map(|it| (it.address.to_string(), it.first, it.ports))
        .collect();
    let wanted = [("2001:db8::1", 20_000), ("192.0.2.1", 20_000), ("192.0.2.2", 30_000)];
    assert_eq!(ranges, wanted.map(|(address, first)| (address.to_owned(), first, 256)));
}

#[test]
fn a_stream_becomes_a_flow_each_way_and_one_each_for_rtcp() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let [Message::Hello { name, epoch, .. }] = &world.told(1)[..] else { panic!("a hello") };
    assert!(&**name == "msc1" && *epoch != 0);
    let block = world.leases(1, "access", 32)[0];
    let core = world.leases(1, "core", 32)[0];
    let what = stream(at(block, 0), at(core, 3));
    world.puts(1, 5, 1, &what);
    let flows = world.plane.flows();
    let places: Vec<(u16, u16, Use)> =
        flows.iter().map(|it| (it.at.port, it.to.expect("a way").port, it.settings.of)).collect();
    let wanted = [
        (20_000, 30_006, Use::Rtp),
        (20_001, 30_007, Use::Rtcp),
        (30_006, 20_000, Use::Rtp),
        (30_007, 20_001, Use::Rtcp),
    ];
    assert_eq!(places, wanted);
    let first = &flows[0];
    assert_eq!(first.expected.address, "198.51.100.1:4000".parse().unwrap());
    assert_eq!((first.dscp, first.timeout), (Some(46), Some(Duration::from_secs(30))));
    // No bandwidth was agreed on: nothing is beyond it.
    assert_eq!(first.settings.rate, media::Rate::of_octet_ps(0));
    assert_eq!(first.becomes, [(96, 101)]);
    assert!(first.digits.has(96) && !first.digits.has(8) && first.settings.payload_types.has(8));
    assert_eq!(flows[1].expected.address, "198.51.100.1:4001".parse().unwrap());
    // The same comes twice, and an older one late.
    let items = world.plane.items.clone();
    world.puts(1, 5, 1, &what);
    world.puts(1, 5, 1, &stream(at(block, 0), at(core, 4)));
    assert_eq!(world.plane.items, items);
    // It moves on one side; on hold nothing passes.
    let mut held = stream(at(block, 0), at(core, 4));
    held.ends[0].direction = Direction::Inactive;
    world.puts(1, 5, 2, &held);
    let flows = world.plane.flows();
    assert_eq!(flows[2].at.port, 30_008);
    assert!(flows.iter().all(|flow| !flow.settings.is_active));
    world.removes(1, 5, 2);
    assert_eq!(world.plane.flows(), []);
    assert_eq!(world.msc.state().pairs_in_use(&[0, 1, 2]), 0);
}

#[test]
fn nobody_has_a_stream_at_a_port_that_was_leased_to_another_or_has_one() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    world.greets(2, "ssc2", 8);
    let (one, two) = (world.leases(1, "access", 64), world.leases(2, "access", 64));
    assert!(one.iter().all(|block| !two.contains(block)) && one.len() == 2, "{one:?} {two:?}");
    world.puts(1, 1, 1, &stream(at(one[0], 0), at(two[0], 0)));
    world.puts(1, 2, 1, &stream(at(one[0], 1), at(one[0], 1)));
    assert_eq!(world.plane.flows(), [], "one port is another's, or twice its own");
    world.puts(1, 3, 1, &stream(at(one[0], 0), at(one[0], 1)));
    world.puts(1, 4, 1, &stream(at(one[0], 1), at(one[0], 2)));
    assert_eq!(world.plane.flows().len(), 4, "a port has one stream");
    world.leases(1, "nowhere", 10);
}

#[test]
fn who_does_not_have_the_key_or_says_nothing_is_closed() {
    let key = "a key that both of them know";
    let mut world = World::new(SITE, Some(key));
    world.adopt();
    for conn in 1..=4 {
        world.connect(conn);
    }
    let [Message::Challenge { nonce }] = world.told(1)[..] else { panic!("a challenge") };
    let theirs = [9; 32];
    let prove = |key: &str, both: &[u8]| {
        let keys = Keys::parse(key).expect("a key");
        let proofs = keys.prove(anchor::row::SESSION_CONTROLLER, both);
        Message::Prove { nonce: theirs, proofs: proofs.into_iter().map(Into::into).collect() }
    };
    let both = anchor::row::proved(&nonce, &theirs);
    world.says(2, prove("another key that is long", &both));
    world.says(3, hello("ssc1", 7));
    world.octets(3, &[0, 0, 0, 9, 99]);
    world.says(1, prove(key, &both));
    let [Message::Prove { nonce: again, proofs }] = &world.told(1)[..] else { panic!("a proof") };
    let keys = Keys::parse(key).expect("a key");
    assert!(*again == nonce && keys.is_proof(anchor::row::MEDIA_CONTROLLER, &both, &proofs[0]));
    world.says(1, hello("ssc1", 7));
    assert!(matches!(world.told(1)[..], [Message::Hello { .. }]));
    world.passes(11);
    assert_eq!(world.closed, [2, 3, 4].into());
}

/// Streams that were told and are not acknowledged would count as another one's.
#[test]
fn a_load_comes_behind_the_acknowledgement_of_all_that_counts_in_it() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    world.passes(1);
    world.now += Duration::from_millis(990);
    world.heard.clear();
    world.puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    world.now += Duration::from_millis(10);
    world.msc.tick(world.now, &mut world.out);
    world.settle();
    let number = world.said[&1];
    let [Message::Ack { number: acknowledged }, Message::Load(load)] = &world.heard[&1][..] else {
        panic!("{:?}", world.heard[&1])
    };
    assert_eq!((*acknowledged, load.streams), (number, 1));
}

#[test]
fn what_the_forwarder_tells_of_a_stream_its_session_controller_hears() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    let (a, b) = (at(block, 0), at(block, 1));
    world.puts(1, 5, 1, &stream(a, b));
    world.told(1);
    let latched = "198.51.100.9:4444".parse().unwrap();
    let digits = vec![Digit { code: 5, duration_ms: 160 }];
    let notice = Notice { latched: Some(latched), digits, ..Notice::default() };
    world.notices(a, &notice);
    world.notices(b, &Notice { one_way: true, unprotected: 150, ..Notice::default() });
    world.notices(b, &Notice { one_way: true, timed_out: true, ..Notice::default() });
    let stream = id(5);
    let event = |end, event| Message::Event { stream, end, event };
    let wanted = [
        event(Side::A, Event::Latched(latched)),
        event(Side::A, Event::Digit(5, 160)),
        event(Side::B, Event::Unprotected(150)),
        event(Side::A, Event::OneWay),
        event(Side::B, Event::TimedOut),
    ];
    assert_eq!(world.told(1), wanted);
    assert_eq!(world.alarms(), ["one-way-audio", "srtp-failures"]);
    let counted = |packets: u32, lost: u32| {
        let expected = packets + lost;
        let stream = StreamStatistics { ssrc: 7, expected, lost, ..StreamStatistics::default() };
        let packets = packets.into();
        let idle_ms = Some(10);
        let stream = Some(stream);
        let statistics = Some(Statistics { packets, idle_ms, stream, ..Statistics::default() });
        Notice { statistics, ..Notice::default() }
    };
    world.notices(a, &counted(50, 0));
    assert_eq!(world.alarms(), ["srtp-failures"], "it speaks");
    world.passes(61);
    world.notices(a, &counted(3_000, 300));
    let told = world.told(1);
    let [Message::Event { end: Side::A, event: Event::Quality(quality), .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(quality.statistics.lost, 300);
    assert!((100..350).contains(&quality.mos_hundredths), "{quality:?}");
    world.says(1, Message::Ask { stream });
    let told = world.told(1);
    let [Message::Report { statistics: Some([of_a, _]), .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((of_a.packets, of_a.lost), (3_000, 300));
    let rows = world.asks("streams", &[]);
    let ends = &rows[0]["ends"];
    assert_eq!(
        (&ends[0]["latched"], &ends[0]["state"]),
        (&"198.51.100.9:4444".into(), &"speaks".into())
    );
    assert_eq!((&ends[1]["codec"], &ends[1]["state"]), (&"PCMA/8000".into(), &"timed-out".into()));
    let one = world.asks("stream", &[("call", "0000000000000005")]);
    assert_eq!(one["local"], serde_json::Value::Null);
    assert_eq!(one["session_controller"], "ssc1");
}

const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\n\
    c=IN IP4 198.51.100.1\r\nt=0 0\r\n\
    m=audio 4000 RTP/AVP 8 101\r\na=rtpmap:101 telephone-event/8000\r\n";

#[test]
fn what_passed_before_a_controller_was_there_is_not_of_its_first_second() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    let (a, b) = (at(block, 0), at(block, 1));
    world.puts(1, 5, 1, &stream(a, b));
    let counted = |packets, age_ms| {
        let statistics = Some(Statistics { packets, age_ms, ..Statistics::default() });
        Notice { statistics, ..Notice::default() }
    };
    world.notices(a, &counted(50, 0));
    world.notices(b, &counted(1_000_000, 3_600_000));
    world.passes(10);
    assert_eq!(world.asks("media", &[])[0]["packets_per_s"], 5, "fifty in ten seconds");
    world.notices(b, &counted(1_000_070, 3_601_000));
    world.passes(1);
    assert_eq!(world.asks("media", &[])[0]["packets_per_s"], 7);
}

fn counted(packets: u64) -> Notice {
    let statistics = Some(Statistics { packets, ..Statistics::default() });
    Notice { statistics, ..Notice::default() }
}

#[test]
fn a_reply_that_tells_what_was_counted_waits_for_figures_of_now() {
    let mut world = World::adopted(SITE);
    ng_call(&mut world, "call-1");
    let ends: Vec<Local> = world.msc.state().ports(1, Side::A);
    let ends = [ends, world.msc.state().ports(1, Side::B)].concat();
    let flows = world.plane.flows();
    let query = [("command", "query"), ("call-id", "call-1")];
    world.plane.items.clear();
    world.sends_command("2_1", &query);
    assert_eq!(world.plane.flows(), flows, "the forwarder is asked");
    assert_eq!(world.replies, Vec::<Vec<u8>>::new());
    world.sends_command("2_1", &query);
    world.notices(ends[0], &counted(50));
    assert_eq!(world.replies, Vec::<Vec<u8>>::new(), "the other end is awaited");
    world.notices(ends[1], &counted(49));
    let reply = String::from_utf8(world.replies.remove(0)).expect("text");
    assert!(reply.contains("7:packetsi50e") && reply.contains("7:packetsi49e"), "{reply}");
    assert!(reply.contains("7:packetsi99e"), "both of them: {reply}");
    assert_eq!(world.replies.len(), 0, "asked twice while it waits is asked once");
    // Of one that hears nothing more the forwarder is not waited for.
    world.sends_command("2_2", &[("command", "delete"), ("call-id", "call-1")]);
    let later = [("command", "query"), ("call-id", "call-1"), ("from-tag", "a")];
    world.sends_command("2_3", &later);
    world.passes(1);
    let replies = world.replies.iter().map(|it| String::from_utf8_lossy(it).into_owned());
    let replies: Vec<String> = replies.collect();
    assert!(replies[0].starts_with("2_2 ") && replies[0].contains("packetsi99e"), "{replies:?}");
    assert!(replies[1].starts_with("2_3 ") && replies[1].contains("Unknown call-id"));
    assert_eq!(world.plane.flows(), []);
}

#[test]
fn what_a_command_says_and_is_not_done_is_told_to_people_too() {
    let mut world = World::adopted(SITE);
    let odd = [("command", "list"), ("record call", "yes")];
    assert!(world.commands("1_1", &odd).contains("7:warning21:not done: record call"));
    world.commands("1_2", &odd);
    let told = world.asks("media/refusals", &[]);
    assert_eq!(
        (&told[0]["why"], told.as_array().map(Vec::len)),
        (&"not done: record call".into(), Some(1))
    );
}

#[test]
fn what_comes_behind_a_command_that_waits_is_run_behind_it() {
    let mut world = World::adopted(SITE);
    ng_call(&mut world, "call-1");
    world.sends_command("2_1", &[("command", "delete"), ("call-id", "call-1")]);
    let again = [("command", "offer"), ("call-id", "call-1"), ("from-tag", "z"), ("sdp", OFFER)];
    world.sends_command("2_2", &again);
    let replies = world.replies.iter().map(|it| String::from_utf8_lossy(it).into_owned());
    let replies: Vec<String> = replies.collect();
    assert!(replies[0].starts_with("2_1 ") && replies[1].starts_with("2_2 "), "{replies:?}");
    assert!(replies.iter().all(|it| it.contains("6:result2:ok")), "another call begins");
}

/// A call of NG, answered.
fn ng_call(world: &mut World, call: &str) {
    let offer = [("command", "offer"), ("call-id", call), ("from-tag", "a"), ("sdp", OFFER)];
    world.commands(&format!("{call}_1"), &offer);
    let mut answer = offer.to_vec();
    answer[0].1 = "answer";
    answer.push(("to-tag", "b"));
    world.commands(&format!("{call}_2"), &answer);
}

#[test]
fn ports_are_scarce_when_they_are_used_or_somebody_lacks_some_and_not_when_a_block_is_all() {
    // One block has all 128 pairs.
    let text = SITE.replace("block_pairs = 32", "block_pairs = 512");
    let mut world = World::adopted(&text);
    ng_call(&mut world, "call-0");
    let access = &world.asks("media", &[])[0]["leases"][0];
    assert_eq!((&access["leased"], &access["pairs"]), (&128.into(), &128.into()));
    assert_eq!(world.alarms(), Vec::<String>::new());
    for at in 1..58 {
        ng_call(&mut world, &format!("call-{at}"));
    }
    assert_eq!(world.alarms(), ["media-ports-scarce"], "116 are in use");
    // Of session controllers the first one leases ahead, and the second one finds nothing.
    let mut world = World::adopted(&text);
    world.greets(1, "ssc1", 7);
    world.leases(1, "core", 1_024);
    assert_eq!(world.alarms(), Vec::<String>::new());
    world.greets(2, "ssc2", 8);
    world.leases(2, "core", 1_024);
    assert_eq!(world.alarms(), ["media-ports-scarce"]);
    world.disconnect(2);
    assert_eq!(world.alarms(), ["session-controller-away"]);
}

#[test]
fn packets_before_their_keys_are_no_failure_of_protection() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    let (a, b) = (at(block, 0), at(block, 1));
    world.puts(1, 5, 1, &stream(a, b));
    world.told(1);
    let unprotected = |count| Notice { unprotected: count, ..Notice::default() };
    world.notices(a, &unprotected(1));
    assert_eq!(world.told(1), []);
    world.passes(1);
    world.notices(a, &unprotected(50));
    let event = Message::Event { stream: id(5), end: Side::A, event: Event::Unprotected(51) };
    assert_eq!(world.told(1), [event], "with the one before");
    for call in 6..16 {
        let (a, b) = (at(block, 2 * call as u16 - 8), at(block, 2 * call as u16 - 7));
        world.puts(1, call, 1, &stream(a, b));
        (0..9).for_each(|_| world.notices(a, &unprotected(1)));
    }
    assert_eq!(world.alarms(), Vec::<String>::new(), "a few of each of many calls");
}

#[test]
fn fax_as_udptl_is_a_flow_of_datagrams_without_rtcp() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    let mut fax = stream(at(block, 0), at(block, 1));
    fax.flow = Carried::Udptl;
    world.puts(1, 5, 1, &fax);
    let uses: Vec<Use> = world.plane.flows().iter().map(|it| it.settings.of).collect();
    assert_eq!(uses, [Use::Datagrams, Use::Datagrams]);
}

#[test]
fn kamailio_drives_it_by_ng_with_groups_as_interfaces() {
    let mut world = World::adopted(SITE);
    assert_eq!(world.commands("1_1", &[("command", "ping")]), "d6:result4:ponge");
    let offer = [
        ("command", "offer"),
        ("call-id", "call-1"),
        ("from-tag", "a"),
        ("sdp", OFFER),
        ("direction", "list:l6:access4:coree"),
    ];
    let reply = world.commands("1_2", &offer);
    assert!(reply.contains("c=IN IP4 192.0.2.2") && reply.contains("m=audio 30000 "), "{reply}");
    let answer = OFFER.replace("198.51.100.1", "203.0.113.1").replace("4000", "5000");
    let mut entries = offer.to_vec();
    entries[0].1 = "answer";
    entries[3].1 = &answer;
    entries.push(("to-tag", "b"));
    let reply = world.commands("1_3", &entries);
    assert!(reply.contains("c=IN IP4 192.0.2.1") && reply.contains("m=audio 20000 "), "{reply}");
    let flows = world.plane.flows();
    assert_eq!(
        flows.iter().map(|it| it.at.port).collect::<Vec<_>>(),
        [20_000, 20_001, 30_000, 30_001]
    );
    assert!(matches!(flows[0].guard, FlowGuard::None));
    let block = [("command", "block media"), ("call-id", "call-1"), ("from-tag", "a")];
    world.commands("1_4", &block);
    let active: Vec<bool> = world.plane.flows().iter().map(|it| it.settings.is_active).collect();
    assert_eq!(active, [false, false, true, true]);
    let rows = world.asks("streams", &[("call", "call-1")]);
    assert_eq!(
        (&rows[0]["call_id"], &rows[0]["session_controller"]),
        (&"call-1".into(), &"NG".into())
    );
    // A session controller gets none of its ports.
    world.greets(1, "ssc1", 7);
    assert!(world.leases(1, "access", 4_000).iter().all(|block| block.first != 20_000));
    let delete = [("command", "delete"), ("call-id", "call-1"), ("from-tag", "a")];
    assert!(world.commands("1_5", &delete).contains("6:result2:ok"));
    assert_eq!(world.plane.flows(), []);
    let unknown = world.commands(
        "1_6",
        &[
            ("command", "offer"),
            ("call-id", "call-2"),
            ("from-tag", "a"),
            ("sdp", OFFER),
            ("direction", "list:l6:access5:othere"),
        ],
    );
    assert!(unknown.contains("Unknown interface"), "{unknown}");
}

#[test]
fn streams_that_share_a_port_are_one_flow_and_it_stays_with_the_last_of_them() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    let mut audio = stream(at(block, 0), at(block, 1));
    audio.ends[0].rtcp = Rtcp::Mux;
    audio.ends[0].bundle = Some(Box::new(anchor::Bundle { lead: 0, mid: b"0"[..].into() }));
    let mut video = audio.clone();
    video.kind = Kind::Video;
    video.ends[1].local = at(block, 2);
    video
        .payloads
        .iter_mut()
        .for_each(|it| (it.number, it.becomes) = (it.number + 1, it.becomes + 1));
    video.ends[0].bundle = Some(Box::new(anchor::Bundle { lead: 0, mid: b"1"[..].into() }));
    for (what, bits, ssrcs) in [(&mut audio, 64_000, vec![9]), (&mut video, 500_000, vec![7, 8])] {
        (what.ends[0].police_bps, what.ends[0].ssrcs) = (bits, ssrcs);
    }
    let put = |line, what: &Stream| Message::Put {
        stream: StreamId { call: 5, line },
        generation: 1,
        what: Box::new(what.clone()),
    };
    world.says(1, put(0, &audio));
    world.says(1, put(1, &video));
    let lead = world.plane.flows().remove(0);
    assert!(lead.settings.payload_types.has(8) && lead.settings.payload_types.has(9));
    let rate = media::Rate::bits(564_000).octet_ps();
    assert!(lead.settings.rate.octet_ps().abs_diff(rate) <= 1, "as much as both may have");
    assert_eq!(lead.settings.ssrcs.all(), [7, 8, 9]);
    let branches = lead.branches[1..].iter().map(|it| {
        let (port, reports) = (it.to.port - video.ends[1].local.port, it.reports);
        (port, reports, it.payload_types.has(9), it.payload_types.has(8))
    });
    let audio_reports = audio.ends[1].local.port + 1;
    assert!(lead.branches[0].reports && lead.branches[0].to.port == audio_reports);
    let of_video = branches.collect::<Vec<_>>();
    assert_eq!(of_video, [(0, false, true, false), (1, true, true, false)]);
    world.removes(1, 5, 1);
    let lead = world.plane.flows().remove(0);
    assert!(!lead.settings.payload_types.has(8) && lead.settings.payload_types.has(9));
    assert_eq!(lead.settings.rate, media::Rate::bits(500_000));
    // One of which nothing is known may send as it likes, and all with it.
    let any = Stream { ends: audio.ends.clone().map(|it| End { police_bps: 0, ..it }), ..audio };
    world.says(1, put(0, &any));
    assert_eq!(world.plane.flows()[0].settings.rate, media::Rate::of_octet_ps(0));
    world.removes(1, 5, 1);
    world.says(1, Message::Remove { stream: StreamId { call: 5, line: 1 }, generation: 1 });
    assert_eq!(world.plane.flows(), []);
    assert_eq!(world.msc.state().pairs_in_use(&[0, 1, 2]), 0);
}

#[test]
fn a_name_is_of_the_key_that_proved_it_first() {
    let (one, other) = ("a key that one of them knows", "a key that the other one knows");
    let mut world = World::new(SITE, Some(&format!("{one}\n{other}")));
    world.adopt();
    let greets = |world: &mut World, conn: u32, key: &str| {
        world.connect(conn);
        let [Message::Challenge { nonce }] = world.told(conn)[..] else { panic!("a challenge") };
        let both = anchor::row::proved(&nonce, &[9; 32]);
        let proofs = Keys::parse(key).expect("a key").prove(anchor::row::SESSION_CONTROLLER, &both);
        let proofs = proofs.into_iter().map(Into::into).collect();
        world.says(conn, Message::Prove { nonce: [9; 32], proofs });
        world.told(conn);
        world.says(conn, hello("ssc1", 7));
        matches!(world.told(conn)[..], [Message::Hello { .. }])
    };
    assert!(greets(&mut world, 1, one));
    assert!(!greets(&mut world, 2, other));
    assert_eq!(world.closed, [2].into(), "the first one stays");
    assert!(greets(&mut world, 3, one), "who has the key comes by another way");
    assert_eq!(world.closed, [1, 2].into());
    // The next control knows it, too.
    world.disconnect(3);
    let now = world.now + Duration::from_secs(2);
    let mut world = World::with(world.settings, world.plane, now);
    world.adopt();
    assert!(!greets(&mut world, 4, other));
    assert!(greets(&mut world, 5, one));
}

#[test]
fn those_who_prove_nothing_push_out_one_another_and_nobody_else() {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    for conn in 2..=20 {
        world.connect(conn);
        world.now += Duration::from_millis(1);
    }
    assert_eq!(world.closed, (2..=12).collect(), "eight of an address stay");
    world.says(20, hello("ssc2", 1));
    assert!(matches!(world.told(20)[..], [Message::Hello { .. }]));
}

#[test]
fn more_blocks_than_a_grant_can_name_are_not_leased() {
    let text =
        SITE.replace("20000-20255", "1024-65535").replace("block_pairs = 32", "block_pairs = 16");
    let mut world = World::adopted(
        &text.replace("\"192.0.2.1\", \"2001", "\"192.0.2.1\", \"192.0.2.9\", \"2001"),
    );
    world.greets(1, "ssc1", 7);
    assert_eq!(world.leases(1, "access", u32::MAX).len(), anchor::BLOCKS_MAX);
}

#[test]
fn off_the_loopback_session_controllers_prove_who_they_are() {
    let issues = |text: &str| {
        let msc: Msc = toml::from_str(text).expect("a section");
        let mut issues = Vec::new();
        msc.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    let far = SITE.replace("listen = \"127.0.0.1", "listen = \"192.0.2.1");
    assert_eq!(issues(&far), ["listen"]);
    assert_eq!(issues(&format!("key_file = \"msc.key\"\n{far}")), Vec::<String>::new());
}

#[test]
fn a_call_of_ng_whose_media_cannot_be_forwarded_is_refused_and_over() {
    let text = SITE.replace("[limits]", "[limits]\nstreams_max = 1");
    let mut world = World::adopted(&text);
    fn both<'a>(command: &'a str, call: &'a str) -> Vec<(&'a str, &'a str)> {
        let entries = [("command", command), ("call-id", call), ("from-tag", "a"), ("sdp", OFFER)];
        [&entries[..], if command == "answer" { &[("to-tag", "b")] } else { &[] }].concat()
    }
    for (at, call) in ["call-1", "call-2", "call-3"].into_iter().enumerate() {
        world.commands(&format!("{at}_1"), &both("offer", call));
        let reply = world.commands(&format!("{at}_2"), &both("answer", call));
        assert_eq!(reply.contains("result2:ok"), at == 0, "{reply}");
        let again = world.commands(&format!("{at}_2"), &both("answer", call));
        assert_eq!(again, reply, "it is asked twice");
        assert_eq!((world.msc.state().calls(), world.plane.flows().len()), (1, 4));
    }
    // A reply that is longer than a datagram may be is none.
    let name = "n".repeat(400);
    for at in 0..6 {
        let call = format!("{at}{name}");
        world.commands(&format!("{at}_3"), &both("offer", &call));
    }
    let listed = world.commands("9_9", &[("command", "list")]);
    assert!(listed.contains("error-reason") && listed.len() < 200, "{listed}");
}
