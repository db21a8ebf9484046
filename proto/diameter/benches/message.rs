//! What a message costs: UDR and UDA of Sh, MAR and MAA of Cx, each written, read and checked.
//! `valgrind --tool=callgrind --toggle-collect='*::write_udr'` counts instructions of one of the
//! functions that are not inlined.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use diameter::Dictionary;
use diameter::codec::{AvpWriter, Message, ResultCode, Writer};
use diameter::rows::{base, cx, sh};
use std::hint::black_box;

const SESSION: &str = "ipsmgw1.ims.example.org;1700000000;4711";
/// Data of a subscriber: reachability and registration for short messages.
const XML: [u8; 640] = [b'x'; 640];

fn application(out: &mut AvpWriter<'_>, id: u32) {
    out.group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
        out.number(&base::VENDOR_ID, 10_415);
        out.number(&base::AUTH_APPLICATION_ID, id);
    });
    out.integer(&base::AUTH_SESSION_STATE, 1);
}

fn origin(out: &mut AvpWriter<'_>, host: &str) {
    out.put(&base::ORIGIN_HOST, host);
    out.put(&base::ORIGIN_REALM, "ims.example.org");
}

#[inline(never)]
fn write_udr(out: &mut Vec<u8>) {
    out.clear();
    let mut writer = Writer::request(out, &sh::USER_DATA_COMMAND, sh::SH.id);
    let avps = writer.avps();
    avps.put(&base::SESSION_ID, SESSION);
    application(avps, sh::SH.id);
    origin(avps, "ipsmgw1.ims.example.org");
    avps.put(&base::DESTINATION_REALM, "ims.example.org");
    avps.group(&sh::USER_IDENTITY, |out| out.put(&sh::MSISDN, [0x94, 0x71, 0x00, 0x00, 0x10]));
    avps.integer(&sh::DATA_REFERENCE, 25);
    avps.integer(&sh::DATA_REFERENCE, 24);
    writer.end().expect("it is short");
}

#[inline(never)]
fn write_uda(out: &mut Vec<u8>) {
    out.clear();
    let mut writer = Writer::request(out, &sh::USER_DATA_COMMAND, sh::SH.id);
    let avps = writer.avps();
    avps.put(&base::SESSION_ID, SESSION);
    application(avps, sh::SH.id);
    avps.number(&base::RESULT_CODE, ResultCode::Success.number());
    origin(avps, "hss.ims.example.org");
    avps.put(&sh::USER_DATA, XML);
    writer.end().expect("it is short");
    out[4] &= !0x80;
}

#[inline(never)]
fn write_mar(out: &mut Vec<u8>) {
    out.clear();
    let mut writer = Writer::request(out, &cx::MULTIMEDIA_AUTH, cx::CX.id);
    let avps = writer.avps();
    avps.put(&base::SESSION_ID, SESSION);
    application(avps, cx::CX.id);
    origin(avps, "scscf.ims.example.org");
    avps.put(&base::DESTINATION_REALM, "ims.example.org");
    avps.put(&base::USER_NAME, "001010000000001@ims.example.org");
    avps.put(&cx::PUBLIC_IDENTITY, "sip:001010000000001@ims.example.org");
    avps.group(&cx::SIP_AUTH_DATA_ITEM, |out| {
        out.put(&cx::SIP_AUTHENTICATION_SCHEME, "Digest-AKAv1-MD5");
    });
    avps.number(&cx::SIP_NUMBER_AUTH_ITEMS, 1);
    avps.put(&cx::SERVER_NAME, "sip:scscf.ims.example.org:5060");
    writer.end().expect("it is short");
}

#[inline(never)]
fn write_maa(out: &mut Vec<u8>) {
    out.clear();
    let mut writer = Writer::request(out, &cx::MULTIMEDIA_AUTH, cx::CX.id);
    let avps = writer.avps();
    avps.put(&base::SESSION_ID, SESSION);
    application(avps, cx::CX.id);
    avps.number(&base::RESULT_CODE, ResultCode::Success.number());
    origin(avps, "hss.ims.example.org");
    avps.put(&base::USER_NAME, "001010000000001@ims.example.org");
    avps.put(&cx::PUBLIC_IDENTITY, "sip:001010000000001@ims.example.org");
    avps.number(&cx::SIP_NUMBER_AUTH_ITEMS, 1);
    avps.group(&cx::SIP_AUTH_DATA_ITEM, |out| {
        out.number(&cx::SIP_ITEM_NUMBER, 1);
        out.put(&cx::SIP_AUTHENTICATION_SCHEME, "Digest-AKAv1-MD5");
        out.put(&cx::SIP_AUTHENTICATE, [7; 32]);
        out.put(&cx::SIP_AUTHORIZATION, [7; 8]);
        out.put(&cx::CONFIDENTIALITY_KEY, [7; 16]);
        out.put(&cx::INTEGRITY_KEY, [7; 16]);
    });
    writer.end().expect("it is short");
    out[4] &= !0x80;
}

/// Reads a message, holds it against its rows, and looks for two of its AVPs.
#[inline(never)]
fn read(dictionary: &Dictionary, octets: &[u8]) -> usize {
    let message = Message::read(octets).expect("it is well-formed");
    let command = dictionary.check(&message).expect("it is what its rows say");
    let session = message.avps().find(&base::SESSION_ID).map_or(0, |avp| avp.data.len());
    let host = message.avps().find(&base::ORIGIN_HOST).map_or(0, |avp| avp.data.len());
    session + host + command.name.len()
}

fn messages(criterion: &mut Criterion) {
    let dictionary = Dictionary::default();
    type Write = fn(&mut Vec<u8>);
    let all: [(&str, Write); 4] =
        [("UDR", write_udr), ("UDA", write_uda), ("MAR", write_mar), ("MAA", write_maa)];
    let mut group = criterion.benchmark_group("diameter");
    for (name, write) in all {
        let mut octets = Vec::new();
        write(&mut octets);
        group.bench_function(format!("{name} write"), |bencher| {
            bencher.iter(|| write(black_box(&mut octets)));
        });
        group.bench_function(format!("{name} read and check"), |bencher| {
            bencher.iter(|| read(black_box(&dictionary), black_box(&octets)));
        });
    }
    group.finish();
}

criterion_group!(benches, messages);
criterion_main!(benches);
