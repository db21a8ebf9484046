//! Laws of the message layer: what is written is read back, what nobody touched leaves as it
//! came, however it is folded, abbreviated or spread over lines.

use proptest::collection::vec;
use proptest::prelude::*;
use sip::{Framing, Header, Message, Start, Uri, Writer, frame};

const CASES: u32 = 256;

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z0-9!%*_+`'~.-]{1,12}"
}

/// A value without white space at its ends; commas, quotes and brackets wherever they fall.
fn text() -> impl Strategy<Value = String> {
    "([!-~]([ -~]{0,30}[!-~])?)?"
}

/// A line of a header that has no say in how the message is read.
fn line() -> impl Strategy<Value = (String, String)> {
    let known: Vec<&str> =
        Header::all().filter(|header| !is_structural(*header)).map(Header::name).collect();
    let name = prop_oneof![prop::sample::select(known).prop_map(str::to_owned), token()];
    (name, text()).prop_filter("a name that steers the parser", |(name, _)| {
        !is_structural(Header::parse(name.as_bytes()))
    })
}

const fn is_structural(header: Header) -> bool {
    matches!(
        header,
        Header::Via
            | Header::From
            | Header::To
            | Header::CallId
            | Header::CSeq
            | Header::MaxForwards
            | Header::ContentLength
    )
}

fn write(lines: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::request(&mut out, b"INVITE", b"sip:bob@example.org");
    writer.header(Header::Via, b"SIP/2.0/UDP h;branch=z9hG4bK1");
    writer.header(Header::From, b"<sip:a@b>;tag=1");
    writer.header(Header::To, b"<sip:c@d>");
    for (name, value) in lines {
        writer.named(name.as_bytes(), value.as_bytes());
    }
    writer.header(Header::CallId, b"call");
    writer.header(Header::CSeq, b"1 INVITE");
    writer.body(None, body);
    out
}

/// Rewrites a message line by line through the writer.
fn rewrite(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let Start::Request { name, uri, .. } = message.start() else { panic!("a request") };
    let mut writer = Writer::request(&mut out, name, uri);
    for line in message.lines().filter(|line| line.header != Header::ContentLength) {
        writer.copy(&line);
    }
    writer.body(None, message.body());
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn a_parse_followed_by_a_write_gives_the_same_bytes(
        lines in vec(line(), 0..20),
        body in vec(any::<u8>(), 0..200),
    ) {
        let bytes = write(&lines, &body);
        let message = Message::parse(&bytes).expect("what the writer wrote is a message");
        prop_assert_eq!(message.raw(), &bytes[..]);
        prop_assert_eq!(rewrite(&message), &bytes[..]);
        let raw: Vec<u8> = message.lines().flat_map(|line| line.raw.to_vec()).collect();
        prop_assert_eq!(raw, &bytes[message.start_line().len()..message.head_end()]);
    }

    #[test]
    fn every_line_is_found_by_its_name_and_keeps_its_octets(lines in vec(line(), 1..20)) {
        let bytes = write(&lines, b"");
        let message = Message::parse(&bytes).expect("what the writer wrote is a message");
        let read: Vec<_> = message
            .lines()
            .filter(|line| !is_structural(line.header))
            .map(|line| (String::from_utf8_lossy(line.name), String::from_utf8_lossy(line.value)))
            .collect();
        let written: Vec<_> =
            lines.iter().map(|(n, value)| (n.as_str().into(), value.as_str().into())).collect();
        prop_assert_eq!(&read, &written);
        for (name, value) in &lines {
            prop_assert!(message.named(name.as_bytes()).any(|found| found == value.as_bytes()));
        }
    }

    #[test]
    fn a_fold_changes_no_meaning(lines in vec(line(), 1..10), tab in any::<bool>()) {
        let fold = if tab { "\r\n\t" } else { "\r\n " };
        let folded: Vec<_> =
            lines.iter().map(|(n, v)| (n.clone(), v.replacen(' ', fold, 1))).collect();
        let (plain, folded) = (write(&lines, b""), write(&folded, b""));
        let plain = Message::parse(&plain).expect("well-formed");
        let folded = Message::parse(&folded).expect("well-formed");
        for (a, b) in plain.lines().zip(folded.lines()) {
            let unfolded = String::from_utf8_lossy(b.value).replace(fold, " ");
            prop_assert_eq!(String::from_utf8_lossy(a.value), unfolded);
            prop_assert_eq!(a.header, b.header);
        }
    }

    #[test]
    fn a_list_means_the_same_on_one_line_and_on_many(tokens in vec(token(), 1..10)) {
        let one = [("Supported".to_owned(), tokens.join(", "))];
        let many: Vec<_> = tokens.iter().map(|t| ("k".to_owned(), t.clone())).collect();
        let (one, many) = (write(&one, b""), write(&many, b""));
        let one = Message::parse(&one).expect("well-formed");
        let many = Message::parse(&many).expect("well-formed");
        let expected: Vec<&[u8]> = tokens.iter().map(|token| token.as_bytes()).collect();
        prop_assert_eq!(one.values(Header::Supported).collect::<Vec<_>>(), &expected[..]);
        prop_assert_eq!(many.values(Header::Supported).collect::<Vec<_>>(), &expected[..]);
    }

    #[test]
    fn a_compact_form_means_the_same_as_the_long_one(value in text()) {
        for header in Header::all().filter(|header| !is_structural(*header)) {
            let Some(letter) = header.compact() else { continue };
            let bytes = write(&[((letter as char).to_string(), value.clone())], b"");
            let message = Message::parse(&bytes).expect("well-formed");
            prop_assert_eq!(message.header(header), Some(value.as_bytes()));
        }
    }

    #[test]
    fn a_stream_is_cut_where_its_messages_end(
        bodies in vec(vec(any::<u8>(), 0..50), 1..5),
        blanks in vec(0..3_usize, 5),
    ) {
        let messages: Vec<_> = bodies.iter().map(|body| write(&[], body)).collect();
        let mut stream = Vec::new();
        for (message, blank) in messages.iter().zip(&blanks) {
            stream.extend_from_slice(&b"\r\n\r\n\r\n"[..2 * blank]);
            stream.extend_from_slice(message);
        }
        let (mut at, mut cut) = (0, Vec::new());
        while at < stream.len() {
            match frame(&stream[at..]) {
                Framing::Skip(length) => at += length,
                Framing::Message(length) => {
                    cut.push(stream[at..at + length].to_vec());
                    at += length;
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(cut, messages);
    }

    #[test]
    fn a_uri_is_equal_to_itself_and_keeps_its_parts(
        user in "[a-z0-9.+]{1,10}", host in "[a-z][a-z0-9.-]{0,10}", port in any::<u16>(),
        name in "[a-z]{1,5}", value in "[a-z0-9]{1,5}",
    ) {
        let text = format!("sip:{user}@{host}:{port};{name}={value}");
        let uri = Uri::parse(text.as_bytes()).expect("well-formed");
        prop_assert_eq!(uri.user, Some(user.as_bytes()));
        prop_assert_eq!(uri.host, host.as_bytes());
        prop_assert_eq!(uri.port, Some(port));
        prop_assert_eq!(uri.param(name.as_bytes()), Some(value.as_bytes()));
        let same = uri;
        prop_assert!(uri == same);
    }
}
