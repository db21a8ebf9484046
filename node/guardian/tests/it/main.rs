//! A guardian from outside: a process that it watches is killed.

use guardian::{
    Carrier, Ended, HELD_MAX, LastWord, OCTETS_MAX, ROUTES_MAX, Route, Sockets, Unsent, Word,
    guard, process_of,
};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// A process that does nothing, and its guardian in this one.
struct Watched {
    process: Child,
    ours: Option<OwnedFd>,
    guardian: JoinHandle<Ended>,
}

fn watched() -> Watched {
    let process = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep");
    let pid = Pid::from_child(&process);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd");
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("a pair");
    let guardian = std::thread::spawn(move || {
        guard(theirs, pidfd, &Sockets::default()).expect("the process is watched")
    });
    Watched { process, ours: Some(ours), guardian }
}

impl Watched {
    fn say(&self, word: &Word) {
        self.octets(&word.write().expect("it fits"));
    }

    fn octets(&self, octets: &[u8]) {
        send(self.ours.as_ref().expect("it is open"), octets, SendFlags::empty()).expect("taken");
    }

    fn kill(mut self) -> Ended {
        self.process.kill().expect("it is there");
        let ended = self.guardian.join().expect("it ends");
        self.process.wait().expect("it is gone");
        ended
    }
}

/// Somebody who hears datagrams, and a way to him.
fn listener() -> (UdpSocket, Route) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    let remote = socket.local_addr().expect("an address");
    // A port that the dead process has left.
    let local = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    (socket, Route { carrier: Carrier::Udp, local, remote })
}

fn word(octets: &[u8], route: Route) -> LastWord {
    LastWord { octets: octets.to_vec(), routes: vec![route] }
}

fn heard(socket: &UdpSocket) -> (Vec<u8>, u16) {
    let mut room = [0; 256];
    let (count, from) = socket.recv_from(&mut room).expect("a datagram");
    (room[..count].to_vec(), from.port())
}

fn hears_nothing(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).expect("a flag");
    socket.recv_from(&mut [0; 256]).is_err()
}

#[test]
fn what_a_process_has_left_is_sent_when_it_is_killed() {
    let watched = watched();
    let (peer, route) = listener();
    watched.say(&Word::Hold(1, 1, word(b"before", route)));
    watched.say(&Word::Hold(1, 1, word(b"last", route)));
    watched.say(&Word::Hold(1, 2, word(b"released", route)));
    watched.say(&Word::Release(1, 2));
    watched.say(&Word::Hold(2, 1, word(b"of a shard that was made anew", route)));
    watched.say(&Word::Forget(2));
    let ended = watched.kill();
    assert_eq!(ended, Ended::Died(Unsent { sent: 1, failed: 0 }));
    assert_eq!(heard(&peer), (b"last".to_vec(), route.local.port()));
    assert!(hears_nothing(&peer));
}

#[test]
fn a_process_that_ends_in_order_leaves_nothing() {
    let watched = watched();
    let (peer, route) = listener();
    watched.say(&Word::Hold(1, 1, word(b"last", route)));
    watched.say(&Word::Rest);
    assert_eq!(watched.kill(), Ended::InOrder);
    assert!(hears_nothing(&peer));
}

#[test]
fn nothing_that_comes_makes_it_send_while_the_process_lives() {
    let mut watched = watched();
    let (peer, route) = listener();
    watched.say(&Word::Hold(1, 1, word(b"last", route)));
    for octets in [&b"x"[..], &[1], &[1; 400], &[9, 9], &[2, 0], &[4, 4]] {
        watched.octets(octets);
    }
    // The other end closes: the process lives on, and so does its guardian.
    watched.ours = None;
    std::thread::sleep(Duration::from_millis(50));
    assert!(!watched.guardian.is_finished() && hears_nothing(&peer));
    peer.set_nonblocking(false).expect("a flag");
    assert_eq!(watched.kill(), Ended::Died(Unsent { sent: 1, failed: 0 }));
    assert_eq!(heard(&peer).0, b"last");
}

#[test]
fn a_descriptor_of_no_process_is_not_waited_for() {
    let (process, file) = (std::process::id(), std::fs::File::open("/dev/null").expect("it"));
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("a pair");
    assert!(process_of(&file).is_err() && process_of(&ours).is_err());
    assert_eq!(guard(&theirs, &ours, &Sockets::default()), Err(rustix::io::Errno::BADF));
    let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).expect("a pidfd");
    assert_eq!(process_of(&own).expect("a pidfd"), Some(process));
}

#[test]
fn what_cannot_be_sent_is_counted() {
    let watched = watched();
    let (_, route) = listener();
    let far = Route { local: "192.0.2.1:9899".parse().expect("an address"), ..route };
    watched.say(&Word::Hold(1, 1, word(b"last", far)));
    watched.say(&Word::Hold(1, 2, word(b"last", Route { carrier: Carrier::Ip(132), ..route })));
    assert_eq!(watched.kill(), Ended::Died(Unsent { sent: 0, failed: 2 }));
}

#[test]
fn words_are_read_as_they_were_written_and_others_are_none() {
    let (four, six) = ("10.0.0.1:9899", "[2001:db8::1]:9899");
    let route = |text: &str, carrier| {
        let address = text.parse().expect("an address");
        Route { carrier, local: address, remote: address }
    };
    let routes = vec![route(four, Carrier::Udp), route(six, Carrier::Ip(132))];
    let words = [
        Word::Hold(7, u64::MAX, LastWord { octets: vec![1; OCTETS_MAX], routes }),
        Word::Release(0, 3),
        Word::Forget(9),
        Word::Rest,
    ];
    for word in words {
        let octets = word.write().expect("it fits");
        assert_eq!(Word::read(&octets), Some(word));
        for cut in 0..octets.len() {
            assert_eq!(Word::read(&octets[..cut]), None);
        }
        assert_eq!(Word::read(&[&octets[..], &[0]].concat()), None);
    }
    let long = LastWord { octets: vec![0; OCTETS_MAX + 1], routes: Vec::new() };
    assert_eq!(Word::Hold(0, 0, long).write(), None);
    let many = vec![route(four, Carrier::Udp); ROUTES_MAX + 1];
    assert_eq!(Word::Hold(0, 0, LastWord { octets: Vec::new(), routes: many }).write(), None);
    const { assert!(HELD_MAX >= 65_536, "as many as associations of an endpoint") };
}
