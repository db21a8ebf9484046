//! A service in a program apart is told over a Unix socket what it would be told inside.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod others;

use application::{Address, Program};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use tcu::{
    Cut, Echo, Hello, Indication, Request, Speech, Spelling, ToApplication, ToGateway, Welcome, cut,
};

#[test]
fn addresses_are_read_and_others_are_refused() {
    assert_eq!("unix:a/b".parse(), Ok(Address::Unix("a/b".into())));
    assert!(matches!("tcp:127.0.0.1:1".parse(), Ok(Address::Tcp(_))));
    for wrong in ["unix:", "tcp:host", "udp:127.0.0.1:1", ""] {
        assert!(wrong.parse::<Address>().is_err(), "{wrong}");
    }
}

#[test]
fn a_service_answers_over_a_socket_in_both_spellings() {
    for spelling in [Spelling::Tagged, Spelling::Json] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let program = std::thread::spawn(move || {
            let mut program = Program::new(Hello::new("a", "g", "i")).spelling(spelling);
            program.run(&Address::Unix(path), &mut Echo).to_string()
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut came = Vec::new();
        let mut next = |stream: &mut std::os::unix::net::UnixStream| loop {
            match cut(&came) {
                Cut::Message(length) if length <= came.len() => {
                    let message: Vec<u8> = came.drain(..length).collect();
                    return spelling.read_request(&message, &|_| Speech::Unknown).unwrap();
                }
                _ => {
                    let mut octets = [0; 4_096];
                    let count = stream.read(&mut octets).unwrap();
                    assert!(count > 0);
                    came.extend_from_slice(&octets[..count]);
                }
            }
        };
        assert!(matches!(next(&mut stream), ToGateway::Hello(it) if it.group == "g"));
        let mut octets = Vec::new();
        let welcome = Welcome {
            version: 1,
            function: "stp".into(),
            subsystem: 6,
            message_octets_max: 1,
            state_octets_max: 1,
        };
        spelling.write(&ToApplication::Welcome(welcome), Speech::Unknown, &mut octets);
        let begin = Indication::End { dialogue: 7, portion: tcu::Portion::default() };
        spelling.write(&ToApplication::Indication(begin), Speech::Unknown, &mut octets);
        let dialogue = 7;
        let it = Indication::Begin {
            dialogue,
            called: ADDRESS,
            calling: ADDRESS,
            is_again: false,
            portion: tcu::Portion::default(),
        };
        spelling.write(&ToApplication::Indication(it), Speech::Unknown, &mut octets);
        stream.write_all(&octets).unwrap();
        assert!(matches!(next(&mut stream), ToGateway::Request(Request::End { dialogue: 7, .. })));
        let mut octets = Vec::new();
        spelling.write(&ToApplication::Bye("over".into()), Speech::Unknown, &mut octets);
        stream.write_all(&octets).unwrap();
        assert_eq!(program.join().unwrap(), "over");
    }
}

const ADDRESS: sccp::codec::Address = sccp::codec::Address::subsystem(None, 6);
