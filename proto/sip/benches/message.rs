//! What reading and writing a message costs: an INVITE of 550 octets with SDP.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sip::{Header, Message, NameAddr, Writer, frame};
use std::hint::black_box;

const INVITE: &[u8] = b"INVITE sip:+15551230042@192.0.2.20:5060;transport=udp SIP/2.0\r\n\
Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK776asdhds;rport\r\n\
Max-Forwards: 70\r\n\
Route: <sip:192.0.2.1;lr>\r\n\
From: \"Alice B.\" <sip:alice@example.com>;tag=1928301774\r\n\
To: <sip:+15551230042@example.com>\r\n\
Call-ID: a84b4c76e66710@192.0.2.10\r\n\
CSeq: 314159 INVITE\r\n\
Contact: <sip:alice@192.0.2.10:5060>\r\n\
Content-Type: application/sdp\r\n\
Content-Length: 136\r\n\
\r\n\
v=0\r\n\
o=alice 2890844526 2890844526 IN IP4 192.0.2.10\r\n\
s=-\r\n\
c=IN IP4 192.0.2.10\r\n\
t=0 0\r\n\
m=audio 49172 RTP/AVP 8\r\n\
a=sendrecv\r\n\
a=ptime:20\r\n";

/// The routing headers, understood: branch and sent-by, tags, CSeq, Call-ID, hops, R-URI, first
/// Route, Contact.
fn understand(bytes: &[u8]) -> usize {
    let mut room = None;
    let message = Message::parse_in(&mut room, bytes).expect("the INVITE is well-formed");
    let uri = message.uri().expect("a request has one");
    let mut sum = uri.host.len() + usize::from(uri.port.unwrap_or(0));
    let via = message.via();
    sum += via.host.len() + via.branch.map_or(0, <[u8]>::len);
    sum += message.from_tag().map_or(0, <[u8]>::len) + message.to_tag().map_or(0, <[u8]>::len);
    sum += message.call_id().len() + message.cseq().number as usize;
    sum += usize::from(message.max_forwards().unwrap_or(0));
    for header in [Header::Route, Header::Contact] {
        let value = message.first(header).expect("it stands there");
        let address = NameAddr::parse(value).expect("it is well-formed");
        let uri = address.parse_uri().expect("it is well-formed");
        sum += uri.host.len() + usize::from(uri.lr());
    }
    sum
}

/// The same INVITE as a B2BUA sends it on: own Via, Contact and Call-ID, the rest copied.
fn forward(message: &Message<'_>, out: &mut Vec<u8>) {
    out.clear();
    let uri = message.request_uri().expect("a request has one");
    let mut writer = Writer::request(out, b"INVITE", uri);
    writer.header(Header::Via, b"SIP/2.0/UDP 192.0.2.30:5060;branch=z9hG4bK0001000200030004");
    writer.number(Header::MaxForwards, 69);
    writer.header(Header::CallId, b"0001-0002-0003-0004@192.0.2.30");
    writer.header(Header::Contact, b"<sip:192.0.2.30:5060>");
    for line in message.lines() {
        if matches!(line.header, Header::From | Header::To | Header::CSeq) {
            writer.copy(&line);
        }
    }
    writer.body(message.header(Header::ContentType), message.body());
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("message");
    group.throughput(Throughput::Bytes(INVITE.len() as u64));
    group.bench_function("parse_invite", |b| {
        b.iter(|| {
            let mut room = None;
            Message::parse_in(&mut room, black_box(INVITE)).map(|message| message.cseq().number)
        });
    });
    group.bench_function("parse_invite_with_routing_understood", |b| {
        b.iter(|| understand(black_box(INVITE)));
    });
    // What any reader of lines must pay on this machine: the measure for the two above.
    group.bench_function("line_scan", |b| {
        b.iter(|| memchr::memchr_iter(b'\n', black_box(INVITE)).sum::<usize>());
    });
    group.bench_function("frame_invite", |b| b.iter(|| frame(black_box(INVITE))));
    let message = Message::parse(INVITE).expect("the INVITE is well-formed");
    let mut out = Vec::with_capacity(sip::MESSAGE_BYTES_MAX);
    group.bench_function("write_invite", |b| b.iter(|| forward(black_box(&message), &mut out)));
    group.finish();
}

criterion_group!(message, benches);
criterion_main!(message);
