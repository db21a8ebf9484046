//! What is transcoded, and digits: what the transcoder is told, and what it says.

use super::graph::{CORE as FAR, HERE, PHONE, router};
use super::*;
use anchor::Coding;
use anchor::row::{Event, Load};
use codec::message::{Message as Said, whole};
use codec::{Digits, End as Coded, Library, Output, Transcoder};
use packet::datagram::Datagram;
use rtp::{Header, Packet};

/// A transcoder as far as its control sees it, with the machine behind it.
struct Coder {
    machine: Transcoder,
    streams: BTreeMap<u32, [Coded; 2]>,
    removed: Vec<u32>,
    digits: Vec<(u32, codec::Side, u8, u16)>,
}

impl Coder {
    fn new(now: Time) -> Self {
        let machine = Transcoder::new(Library::load().0, 100, now);
        Self { machine, streams: BTreeMap::new(), removed: Vec::new(), digits: Vec::new() }
    }

    /// Takes what it was told.
    fn hear(&mut self, world: &mut World) {
        let octets = std::mem::take(&mut world.coded);
        let mut rest = &octets[..];
        while let Some(length) = whole(rest).expect("messages") {
            match Said::read(&rest[..length]).expect("sound").expect("known") {
                Said::Put { stream, ends } => {
                    self.machine.put(stream, ends).expect("it is taken");
                    self.streams.insert(stream, ends);
                }
                Said::Remove { stream } => {
                    self.streams.remove(&stream);
                    self.removed.push(stream);
                }
                Said::Digit { stream, end, code, lasts_ms } => {
                    self.machine.digit(world.now, stream, end, code, lasts_ms);
                    self.digits.push((stream, end, code, lasts_ms));
                }
                _ => {}
            }
            rest = &rest[length..];
        }
    }

    fn only(&self) -> (u32, [Coded; 2]) {
        let mut all = self.streams.iter();
        let (Some((number, ends)), None) = (all.next(), all.next()) else { panic!("not one") };
        (*number, *ends)
    }
}

impl World {
    pub(super) fn coder_says(&mut self, message: &Said<'_>) {
        let mut octets = Vec::new();
        message.write(&mut octets);
        self.coder(ChannelEvent::Message(&octets));
    }

    fn coder(&mut self, event: ChannelEvent<'_>) {
        self.msc.step(self.now, In::Channel { port: TRANSCODER, event }, &mut self.out);
        self.settle();
    }

    /// A transcoder comes that has G.711 and G.722, and gets packets.
    pub(super) fn coder_comes(&mut self) {
        let codecs = 0b1110;
        self.coder(ChannelEvent::Up);
        self.coder_says(&Said::Welcome { codecs, streams_max: 100 });
        self.coder_says(&load(true));
    }
}

fn load(is_fed: bool) -> Said<'static> {
    Said::Load { streams: 0, permille: 7, packets: [0, 5, 0, 0], is_fed, over: 3 }
}

/// PCMA at one side, G.722 at the other, events at both.
pub(super) fn coded_stream(a: Local, b: Local) -> Stream {
    let mut what = stream(a, b);
    let to = |codec| Action::Transcode(Coding { codec, clock: 8_000, channels: 1 });
    what.payloads[0] = Payload { becomes: 9, action: to(Codec::G722), ..what.payloads[0] };
    let g722 = Payload { number: 9, codec: Some(Codec::G722), ..what.payloads[1] };
    what.payloads[1] = Payload { becomes: 8, action: to(Codec::Pcma), ..g722 };
    let event = |receive, send| Some(anchor::Event { receive, send, clock: 8_000 });
    (what.ends[0].event, what.ends[1].event) = (event(96, 96), event(101, 101));
    what
}

fn greeted(site: &str) -> (World, Block, Block) {
    let mut world = World::adopted(site);
    world.greets(1, "ssc1", 7);
    let (access, core) = (world.leases(1, "access", 32)[0], world.leases(1, "core", 32)[0]);
    (world, access, core)
}

fn codecs(world: &mut World) -> Option<u32> {
    let told = world.heard.remove(&1).unwrap_or_default();
    let mut loads = told.into_iter().filter_map(|it| match it {
        Message::Load(Load { codecs, .. }) => Some(codecs),
        _ => None,
    });
    loads.next_back()
}

#[test]
fn a_stream_that_is_coded_anew_goes_up_and_the_transcoder_knows_where_it_comes_and_goes() {
    let (mut world, access, core) = greeted(SITE);
    world.passes(1);
    let g711 = 1 << Codec::Pcma.number() | 1 << Codec::Pcmu.number();
    assert_eq!(codecs(&mut world), Some(g711 | 1 << Codec::G722.number()));
    let mut coder = Coder::new(world.now);
    let what = coded_stream(at(access, 0), at(core, 0));
    world.puts(1, 5, 1, &what);
    coder.hear(&mut world);
    let flows = world.plane.flows();
    let up: Vec<u128> = flows.iter().map(|flow| flow.up.bits()).collect();
    assert_eq!(up, [1 << 8 | 1 << 96, 0, 1 << 9 | 1 << 101, 0], "sound and events, no RTCP");
    let (number, [a, b]) = coder.only();
    assert_eq!((a.receive, a.send, b.receive, b.send), (8, 8, 9, 9));
    assert_eq!(a.events.map(|it| (it.receive, it.send)), Some((96, 96)));
    let place = a.place.expect("a place");
    assert_eq!((place.address.to_string(), place.port), ("192.0.2.1".to_owned(), 20_000));
    assert!(a.ssrc != b.ssrc && a.ssrc != 0);
    // The same again says nothing; another packet time does, under the same source.
    world.puts(1, 5, 1, &what);
    assert!(world.coded.is_empty());
    let mut other = what.clone();
    other.ends[1].packet_ms = 40;
    world.puts(1, 5, 2, &other);
    coder.hear(&mut world);
    let (_, [_, again]) = coder.only();
    assert_eq!((again.ssrc, again.packet_ms), (b.ssrc, 40));
    // Twice the packets of 20 ms go up, for 40 are a wish; of shorter ones twice of those.
    let rates = |world: &World| {
        let flows = world.plane.flows();
        flows.iter().filter(|it| it.up.bits() > 0).map(|it| it.up_per_s).collect::<Vec<_>>()
    };
    assert_eq!(rates(&world), [100, 100]);
    other.ends[1].packet_ms = 10;
    world.puts(1, 5, 3, &other);
    coder.hear(&mut world);
    assert_eq!(rates(&world), [200, 200]);
    assert_eq!(world.asks("media", &[])[0]["transcoded"], 1);
    world.removes(1, 5, 3);
    coder.hear(&mut world);
    assert_eq!((coder.streams.len(), &coder.removed[..]), (0, &[number][..]));
}

#[test]
fn a_transcoder_that_dies_is_told_all_again_ahead_of_what_had_left() {
    let (mut world, access, core) = greeted(SITE);
    let mut coder = Coder::new(world.now);
    world.puts(1, 5, 1, &coded_stream(at(access, 0), at(core, 0)));
    coder.hear(&mut world);
    let (stream, [_, b]) = coder.only();
    let (end, sequence, timestamp) = (codec::Side::B, 65_530, 1_000);
    world.coder_says(&Said::Reached { stream, end, sequence, timestamp });
    world.coder(ChannelEvent::Down("killed"));
    codecs(&mut world);
    world.passes(1);
    assert_ne!(codecs(&mut world), Some(0), "it comes again at once");
    let mut next = Coder::new(world.now);
    world.coder_comes();
    next.hear(&mut world);
    let (_, [_, again]) = next.only();
    assert_eq!(again.ssrc, b.ssrc);
    let ahead = again.sequence.wrapping_sub(sequence);
    assert!((50..200).contains(&ahead), "a second are 50 packets: {ahead}");
    assert!(again.timestamp >= timestamp + 8_000);
    // One that stays away, or gets no packets, codes nothing: nothing is offered for it.
    world.coder_says(&load(false));
    assert_eq!(world.alarms(), Vec::<String>::new());
    world.passes(4);
    assert_eq!(codecs(&mut world), Some(0));
    assert_eq!(world.alarms(), ["transcoder-away"]);
    assert_eq!(world.asks("media", &[])[0]["transcoder"], "away");
}

#[test]
fn what_another_control_left_stays_until_everybody_has_said_what_stands() {
    let (mut world, access, core) = greeted(SITE);
    world.puts(1, 5, 1, &coded_stream(at(access, 0), at(core, 0)));
    let plane = std::mem::take(&mut world.plane);
    let mut next = World::with(Arc::clone(&world.settings), plane, world.now);
    next.adopt();
    let begins = |octets: &[u8]| octets.get(4) == Some(&1);
    assert!(!begins(&next.coded), "nobody has said anything");
    next.greets(1, "ssc1", 7);
    next.leases(1, "access", 32);
    next.leases(1, "core", 32);
    next.says(1, Message::Begin);
    next.puts(1, 5, 1, &coded_stream(at(access, 0), at(core, 0)));
    next.coded.clear();
    next.says(1, Message::End);
    assert!(begins(&next.coded), "all is said");
}

#[test]
fn a_digit_of_signalling_is_played_once_and_what_the_end_is_sent_passes_the_transcoder_then() {
    let (mut world, access, core) = greeted(SITE);
    let mut what = stream(at(access, 0), at(core, 0));
    (what.ends[0].dtmf, what.ends[1].dtmf) = (Dtmf::Info, Dtmf::Events);
    what.payloads.retain(|it| it.codec == Some(Codec::Pcma) || it.from == Side::B);
    what.payloads[2].action = Action::Digit;
    what.ends[1].event = Some(anchor::Event { receive: 101, send: 101, clock: 8_000 });
    let plays = |serial| Message::Play { stream: id(5), end: Side::B, serial, digit: 7, ms: 120 };
    world.puts(1, 5, 1, &what);
    world.coder(ChannelEvent::Down("gone"));
    world.passes(4);
    world.coded.clear();
    world.says(1, plays(1));
    assert!(world.coded.is_empty(), "nothing codes: it is counted");
    world.coder_comes();
    let mut coder = Coder::new(world.now);
    assert_eq!(world.plane.flows()[0].up.bits(), 0);
    for serial in [2, 2, 3] {
        world.says(1, plays(serial));
    }
    coder.hear(&mut world);
    let (number, [a, b]) = coder.only();
    let digit = (number, codec::Side::B, 7, 120);
    assert_eq!(coder.digits, [digit, digit], "each serial is one");
    assert_eq!((a.digits, b.digits), (Digits::Info, Digits::Events));
    let flows = world.plane.flows();
    assert_eq!(flows[0].up.bits(), 1 << 8, "what B is sent");
    assert_eq!(flows[2].up.bits(), 1 << 101, "digits of B, which A is not sent");
    assert!(flows[2].digits.has(101), "they are told");
}

#[test]
fn tones_are_heard_where_an_end_sends_them() {
    let (mut world, access, core) = greeted(SITE);
    let mut coder = Coder::new(world.now);
    let mut what = stream(at(access, 0), at(core, 0));
    what.ends[1].dtmf = Dtmf::Tones;
    what.ends[0].event = Some(anchor::Event { receive: 96, send: 96, clock: 8_000 });
    what.payloads.truncate(2);
    let event = Payload { number: 96, codec: Some(Codec::TelephoneEvent), ..what.payloads[0] };
    what.payloads.push(Payload { action: Action::Digit, becomes: 96, ..event });
    world.puts(1, 5, 1, &what);
    coder.hear(&mut world);
    let (stream, [a, b]) = coder.only();
    assert_eq!((a.digits, b.digits), (Digits::Pass, Digits::Tones));
    let flows = world.plane.flows();
    assert_eq!((flows[0].up.bits(), flows[2].up.bits()), (1 << 8 | 1 << 96, 1 << 8));
    world.told(1);
    let digit = |end| Said::Digit { stream, end, code: 11, lasts_ms: 90 };
    world.coder_says(&digit(codec::Side::B));
    // The forwarder tells those of events.
    world.coder_says(&digit(codec::Side::A));
    let heard = Message::Event { stream: id(5), end: Side::B, event: Event::Digit(11, 90) };
    assert_eq!(world.told(1), [heard]);
}

#[test]
fn ng_plays_digits_and_blocks_them() {
    let mut world = World::adopted(SITE);
    let mut coder = Coder::new(world.now);
    let sdp = |port: u16| {
        format!(
            "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP 8 101\r\na=rtpmap:101 telephone-event/8000\r\n"
        )
    };
    let (offer, answer) = (sdp(4_000), sdp(5_000));
    let of = [("call-id", "c"), ("from-tag", "a")];
    let mut says = |cookie: &str, command: &str, more: &[(&str, &str)]| {
        let all = [&of[..], &[("command", command)], more].concat();
        let reply = world.commands(cookie, &all);
        coder.hear(&mut world);
        (reply, world.plane.flows().iter().map(|it| it.up.bits()).collect::<Vec<_>>())
    };
    says("1", "offer", &[("sdp", &offer)]);
    let (_, up) = says("2", "answer", &[("to-tag", "b"), ("sdp", &answer)]);
    assert_eq!(up, [0; 4], "it passes");
    let (reply, up) = says("3", "block DTMF", &[]);
    assert!(reply.contains("2:ok"), "{reply}");
    assert_eq!(up, [1 << 101, 0, 0, 0], "events of A end");
    let (_, up) = says("4", "unblock DTMF", &[]);
    assert_eq!(up, [0; 4]);
    let (reply, up) = says("5", "play DTMF", &[("code", "15#"), ("duration", "i100e")]);
    assert!(reply.contains("2:ok"), "{reply}");
    assert_eq!(up, [1 << 8 | 1 << 101, 0, 0, 0], "what B is sent");
    let (number, _) = coder.only();
    let digits = [1, 5, 11].map(|code| (number, codec::Side::B, code, 250));
    assert_eq!(coder.digits, digits);
    world.coder(ChannelEvent::Down("gone"));
    world.passes(4);
    let all = [&of[..], &[("command", "play DTMF"), ("code", "1")]].concat();
    let reply = world.commands("6", &all);
    assert!(reply.contains("Digits cannot be sent"), "{reply}");
}

#[test]
fn sound_goes_up_is_coded_and_leaves_from_the_other_place_under_one_source() {
    let (mut world, access, core) = greeted(HERE);
    let mut coder = Coder::new(world.now);
    let mut what = coded_stream(at(access, 0), at(core, 0));
    for (end, remote) in what.ends.iter_mut().zip([PHONE, FAR]) {
        end.remote = Some(remote.parse().expect("a place"));
    }
    world.puts(1, 5, 1, &what);
    coder.hear(&mut world);
    let (number, ends) = coder.only();
    let mut router = router(&world);
    let frames = router.plane.handed().find(|it| it.name == "media/frames").expect("a class");
    let (mut out, mut sources, mut last) = (Output::default(), BTreeSet::new(), None);
    for sequence in 0..10 {
        // An event comes in the midst of it.
        let is_event = sequence == 5;
        let payload: &[u8] = if is_event { &[3, 0x8a, 3, 0x20] } else { &[0x55; 160] };
        let payload_type = if is_event { 96 } else { 8 };
        let timestamp = u32::from(sequence) * 160;
        let header = Header { payload_type, sequence, timestamp, ssrc: 77, marker: is_event };
        let left = super::graph::rtp(&mut router, (PHONE, "10.0.1.1:20000"), header, payload);
        assert_eq!(left.classes, [frames.number], "it goes up: {:?}", router.dropped());
        let up = Datagram::read(&left.punted[0]).expect("a datagram");
        assert_eq!(up.to.to_string(), "10.0.1.1:20000");
        coder.machine.packet(world.now, number, codec::Side::A, up.payload, &mut out);
        for (stream, end, octets) in out.packets() {
            assert_eq!((stream, end), (number, codec::Side::B));
            let place = ends[1].place.expect("a place");
            let from = SocketAddr::new(place.address, place.port);
            let mut packet = Vec::new();
            Datagram { from, to: from, payload: octets }.write(&mut packet);
            let slot = router.pool.put(&packet).expect("it fits");
            let entry = router.graph.entry(frames.down.expect("a node")).expect("it is there");
            router.graph.push(entry, &[slot], &mut router.pool);
        }
        out.clear();
        let left = router.send(0, &[]);
        for (port, frame) in left.sent {
            let sent = Datagram::read(&frame[14..]).expect("a datagram");
            assert_eq!((port, sent.to.to_string()), (1, FAR.to_owned()));
            assert_eq!(sent.from.to_string(), "10.0.2.1:30000");
            let packet = Packet::read(sent.payload).expect("RTP");
            let kind = packet.header.payload_type;
            assert_eq!((kind, packet.payload.len()), if is_event { (101, 4) } else { (9, 160) });
            sources.insert(packet.header.ssrc);
            let expected = last.map(|it: u16| it.wrapping_add(1));
            assert!(expected.is_none_or(|it| it == packet.header.sequence));
            last = Some(packet.header.sequence);
        }
        world.now += Duration::from_millis(20);
    }
    assert_eq!(sources.into_iter().collect::<Vec<_>>(), [ends[1].ssrc]);
    assert_eq!(last.map(|it| it.wrapping_sub(ends[1].sequence)), Some(9), "ten packets");
}

#[test]
fn a_stream_that_comes_back_to_the_transcoder_has_the_same_source_and_goes_on_with_its_numbers() {
    let (mut world, access, core) = greeted(SITE);
    let mut coder = Coder::new(world.now);
    let (a, b) = (at(access, 0), at(core, 0));
    world.puts(1, 5, 1, &coded_stream(a, b));
    coder.hear(&mut world);
    let (number, [first, second]) = coder.only();
    let (sequence, timestamp) = (second.sequence.wrapping_add(100), second.timestamp);
    world.coder_says(&Said::Reached { stream: number, end: codec::Side::B, sequence, timestamp });
    for generation in 2..6 {
        let what = if generation % 2 == 0 { stream(a, b) } else { coded_stream(a, b) };
        world.puts(1, 5, generation, &what);
        world.passes(1);
        coder.hear(&mut world);
    }
    let (_, [again, other]) = coder.only();
    assert_eq!((again.ssrc, other.ssrc), (first.ssrc, second.ssrc));
    let ahead = other.sequence.wrapping_sub(sequence);
    assert!((16..1_000).contains(&ahead), "ahead of what had left: {ahead}");
    world.removes(1, 5, 6);
    world.puts(1, 5, 7, &coded_stream(a, b));
    coder.hear(&mut world);
    assert_ne!(coder.only().1[0].ssrc, first.ssrc, "another call is another source");
}

#[test]
fn of_two_streams_of_one_port_the_first_one_is_coded_and_the_other_one_after_it() {
    let (mut world, access, core) = greeted(SITE);
    let mut coder = Coder::new(world.now);
    let (a, b) = (at(access, 0), at(core, 0));
    let put = |world: &mut World, line: u8, what: &Stream| {
        let (stream, what) = (StreamId { call: 5, line }, Box::new(what.clone()));
        world.says(1, Message::Put { stream, generation: 1, what });
    };
    put(&mut world, 0, &coded_stream(a, b));
    coder.hear(&mut world);
    let (number, ends) = coder.only();
    let mut second = coded_stream(a, at(core, 1));
    for payload in &mut second.payloads {
        (payload.number, payload.becomes) = (payload.number ^ 64, payload.becomes ^ 64);
    }
    put(&mut world, 1, &second);
    coder.hear(&mut world);
    assert_eq!(coder.only(), (number, ends), "the first one goes on as it is");
    let stream = StreamId { call: 5, line: 0 };
    world.says(1, Message::Remove { stream, generation: 1 });
    coder.hear(&mut world);
    assert_eq!(coder.removed, [number]);
    let (_, [_, other]) = coder.only();
    assert_eq!(other.place.map(|it| it.port), Some(at(core, 1).port), "now it is the first one");
}
