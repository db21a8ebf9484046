//! The two ends of a call as user agents that a node's death does not trouble: what is not
//! answered is sent again, but nothing after a 100 (RFC 3261 §17.1.1.2); a 2xx is sent again until
//! its ACK, which follows each of them (§13.2.2.4).

use super::{ACCESS, ALICE, BOB, BOB_CONTACT, CORE, Caller, SDP, World, from_bob, header, respond};
use machine::{Duration, Time};

const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);

/// Something that is sent again.
#[derive(Debug)]
struct Waiting {
    text: String,
    next: Time,
    interval: Duration,
}

/// One end.
#[derive(Debug, Default)]
pub struct End {
    /// A request that waits for its final answer.
    request: Option<Waiting>,
    /// A 2xx that waits for its ACK.
    answer: Option<Waiting>,
    /// Final answers to its requests.
    pub finals: Vec<u16>,
    /// Bodies of the ACKs it got.
    pub acks: Vec<String>,
    /// How it answers an INVITE inside the call.
    pub refuses: bool,
}

/// Alice (0) and Bob (1) in a call that stands.
pub struct Ends {
    pub ends: [End; 2],
    alice: Caller,
    /// The INVITE as Bob got it.
    invite: String,
    bob_cseq: u32,
    /// What Alice's ACKs carry.
    pub late_offer: bool,
}

fn place(at: usize) -> (&'static str, &'static str) {
    [(ALICE, ACCESS), (BOB, CORE)][at]
}

fn body(text: &str) -> &str {
    text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

impl Ends {
    pub fn of((alice, invite): (Caller, String)) -> Self {
        Self { ends: Default::default(), alice, invite, bob_cseq: 0, late_offer: false }
    }

    /// One end sends a request.
    pub fn request(&mut self, world: &mut World, at: usize, method: &str) {
        let text = if at == 0 {
            self.alice.cseq += 1;
            let body = if method == "INVITE" && !self.late_offer { SDP } else { "" };
            self.alice.request(method, "", body)
        } else {
            self.bob_cseq += 1;
            from_bob(&self.invite, "b1", method, self.bob_cseq, "")
        };
        let (next, interval) = (world.now + T1, T1);
        self.ends[at].request = Some(Waiting { text: text.clone(), next, interval });
        let (from, listener) = place(at);
        world.receive(from, listener, &text);
    }

    /// The next message that the controller sent arrives; whether there was one.
    pub fn deliver(&mut self, world: &mut World) -> bool {
        let Some(sent) = world.sent.pop_front() else { return false };
        let at = usize::from(sent.to == BOB.parse().unwrap());
        let (from, listener) = place(at);
        let end = &mut self.ends[at];
        let status = sent.text.strip_prefix("SIP/2.0 ").and_then(|rest| rest[..3].parse().ok());
        let Some(status) = status else {
            if let Some(answer) = self.requested(world.now, at, &sent.text) {
                world.receive(from, listener, &answer);
            }
            return true;
        };
        let cseq = header(&sent.text, "CSeq");
        let is_mine = |waiting: &Waiting| header(&waiting.text, "CSeq") == cseq;
        if status < 200 {
            if let Some(request) = end.request.as_mut().filter(|request| is_mine(request)) {
                request.next = Time::MAX;
            }
            return true;
        }
        if end.request.as_ref().is_some_and(is_mine) {
            end.request = None;
            end.finals.push(status);
        }
        if cseq.ends_with("INVITE") {
            let ack = self.ack(at, cseq, &sent.text);
            world.receive(from, listener, &ack);
        }
        true
    }

    /// The ACK of a final answer: the 2xx's has a branch of its own.
    fn ack(&self, at: usize, cseq: &str, response: &str) -> String {
        let number: u32 = cseq.split(' ').next().unwrap().parse().unwrap();
        let is_2xx = response.starts_with("SIP/2.0 2");
        let ack = if at == 0 {
            let body = if self.late_offer && is_2xx { SDP } else { "" };
            Caller { cseq: number, ..self.alice.clone() }.request("ACK", "", body)
        } else {
            from_bob(&self.invite, "b1", "ACK", number, "")
        };
        if is_2xx { ack } else { ack.replacen("z9hG4bKACK", "z9hG4bKINVITE", 1) }
    }

    fn requested(&mut self, now: Time, at: usize, text: &str) -> Option<String> {
        let end = &mut self.ends[at];
        let number = |text: &str| header(text, "CSeq").split(' ').next().map(str::to_owned);
        if text.starts_with("ACK") {
            if end.answer.as_ref().is_some_and(|answer| number(&answer.text) == number(text)) {
                end.answer = None;
                end.acks.push(body(text).to_owned());
            }
            return None;
        }
        let contact =
            [format!("Contact: <sip:alice@{ALICE}>\r\n"), BOB_CONTACT.to_owned()][at].clone();
        let tag = ["", "b1"][at];
        if !text.starts_with("INVITE") {
            return Some(respond(text, "200 OK", tag, "", ""));
        }
        if let Some(answer) = &end.answer
            && number(&answer.text) == number(text)
        {
            return None; // its own retransmission goes on (RFC 6026 §7.1)
        }
        if end.refuses {
            return Some(respond(text, "488 Not Acceptable Here", tag, "", ""));
        }
        let answer = respond(text, "200 OK", tag, &contact, SDP);
        let (next, interval) = (now + T1, T1);
        end.answer = Some(Waiting { text: answer.clone(), next, interval });
        Some(answer)
    }

    /// Time passes; everything is delivered, and sent again when it is due.
    pub fn pass(&mut self, world: &mut World, time: Duration) {
        let end = world.now + time;
        while world.now < end {
            while self.deliver(world) {}
            world.pass(Duration::from_millis(10));
            for at in 0..2 {
                self.again(world, at);
            }
        }
    }

    fn again(&mut self, world: &mut World, at: usize) {
        let (from, listener) = place(at);
        let end = &mut self.ends[at];
        let due: Vec<String> = [&mut end.request, &mut end.answer]
            .into_iter()
            .flatten()
            .filter(|waiting| waiting.next <= world.now)
            .map(|waiting| {
                waiting.interval = (waiting.interval * 2).min(T2);
                waiting.next = world.now + waiting.interval;
                waiting.text.clone()
            })
            .collect();
        for text in due {
            world.receive(from, listener, &text);
        }
    }

    /// Whether nothing waits for anything.
    pub fn are_quiet(&self) -> bool {
        self.ends.iter().all(|end| end.request.is_none() && end.answer.is_none())
    }
}
