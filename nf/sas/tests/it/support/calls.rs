//! Calls through a back-to-back user agent as its capture sees them: 14 messages each.
#![allow(dead_code, reason = "each file that takes this in uses its part")]

use machine::{Duration, Time};

/// Makes the packets of calls, many at once, in the order of time.
pub struct Plant {
    now: Time,
    calls: u64,
    /// What is still to come: time, call, step.
    coming: std::collections::BinaryHeap<std::cmp::Reverse<(Time, u64, usize)>>,
}

/// Calls begun a second.
const RATE: u64 = 15_000;
const ACCESS: &str = "198.51.100.7:5060";
const SSC_ACCESS: &str = "192.0.2.1:5060";
const SSC_CORE: &str = "192.0.2.129:5060";
const CORE: &str = "203.0.113.9:5060";

/// Start line or status, leg, whether from the caller's side, delay in milliseconds.
const STEPS: [(&str, u8, bool, u64); 14] = [
    ("INVITE", 0, true, 0),
    ("INVITE", 1, true, 1),
    ("100 Trying", 0, false, 1),
    ("180 Ringing", 1, false, 20),
    ("180 Ringing", 0, false, 21),
    ("200 OK", 1, false, 500),
    ("200 OK", 0, false, 501),
    ("ACK", 0, true, 510),
    ("ACK", 1, true, 511),
    ("BYE", 0, true, 900),
    ("BYE", 1, true, 901),
    ("200 Bye", 1, false, 905),
    ("200 Bye", 0, false, 906),
    ("100 Trying", 1, false, 2),
];

impl Plant {
    /// Begins at `start`.
    pub fn new(start: Time) -> Self {
        Self { now: start, calls: 0, coming: std::collections::BinaryHeap::new() }
    }

    /// The time of the last packet.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The next `count` packets.
    pub fn packets(&mut self, count: usize) -> Vec<(Time, Vec<u8>)> {
        let mut packets = Vec::with_capacity(count);
        while packets.len() < count {
            let next_call = self.now + Duration::from_nanos(1_000_000_000 / RATE);
            while let Some(&std::cmp::Reverse((at, call, step))) = self.coming.peek() {
                if at > next_call || packets.len() >= count {
                    break;
                }
                self.coming.pop();
                packets.push((at, packet(at, call, step)));
            }
            self.calls += 1;
            self.now = next_call;
            for (step, row) in STEPS.iter().enumerate() {
                let at = next_call + Duration::from_millis(row.3);
                self.coming.push(std::cmp::Reverse((at, self.calls, step)));
            }
        }
        packets
    }
}

/// The digits of a call's caller and callee: a million subscribers each.
pub fn numbers(call: u64) -> (String, String) {
    let mix = call.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (format!("+4930{:07}", mix % 1_000_000), format!("+4940{:07}", (mix >> 32) % 1_000_000))
}

fn packet(at: Time, call: u64, step: usize) -> Vec<u8> {
    let (line, leg, from_caller, _) = STEPS[step];
    let ends = if leg == 0 { (ACCESS, SSC_ACCESS) } else { (SSC_CORE, CORE) };
    let (source, destination) = if from_caller { ends } else { (ends.1, ends.0) };
    let text = message(call, line, leg, ends.0);
    let correlation = format!("{:016x}", call.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let micros = at.as_micros();
    let mut out = Vec::with_capacity(text.len() + 120);
    hep::Packet {
        protocol: hep::UDP,
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        seconds: (micros / 1_000_000) as u32,
        micros: (micros % 1_000_000) as u32,
        kind: hep::KIND_SIP,
        capture_id: 2001,
        correlation: correlation.as_bytes(),
        auth_key: b"",
        tags: b"",
        payload: text.as_bytes(),
    }
    .write(&mut out);
    out
}

fn message(call: u64, line: &str, leg: u8, via: &str) -> String {
    let (from, to) = numbers(call);
    let random = call.wrapping_mul(0xd134_2543_de82_ef95) ^ u64::from(leg);
    let is_response = line.as_bytes()[0].is_ascii_digit();
    let method = match line {
        "200 Bye" => "BYE",
        _ if is_response => "INVITE",
        method => method,
    };
    let first = match line {
        "200 Bye" => "SIP/2.0 200 OK".to_owned(),
        _ if is_response => format!("SIP/2.0 {line}"),
        _ => format!("{line} sip:{to}@core.example.org;user=phone SIP/2.0"),
    };
    let tag = if line == "INVITE" || line == "100 Trying" {
        String::new()
    } else {
        format!(";tag={:x}", random.rotate_left(17))
    };
    let cseq = if method == "BYE" { 2 } else { 1 };
    let sdp = if line == "INVITE" || (line == "200 OK") {
        format!(
            "v=0\r\no=- {random} 1 IN IP4 198.51.100.7\r\ns=-\r\nc=IN IP4 198.51.100.7\r\n\
             t=0 0\r\nm=audio {} RTP/AVP 8 0 101\r\na=rtpmap:101 telephone-event/8000\r\n\
             a=sendrecv\r\n",
            20_000 + call % 20_000
        )
    } else {
        String::new()
    };
    let media = if sdp.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "{first}\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bK{random:016x}{cseq};rport\r\n\
         Max-Forwards: 70\r\nFrom: \"{from}\" <sip:{from}@access.example.org>;tag={random:x}\r\n\
         To: <sip:{to}@core.example.org>{tag}\r\nCall-ID: {random:016x}{leg}@{via}\r\n\
         CSeq: {cseq} {method}\r\nContact: <sip:{from}@{via};ob>\r\n\
         User-Agent: Phone/1.{leg}\r\nAllow: INVITE, ACK, BYE, CANCEL, PRACK, UPDATE\r\n{media}\
         Content-Length: {}\r\n\r\n{sdp}",
        sdp.len()
    )
}
