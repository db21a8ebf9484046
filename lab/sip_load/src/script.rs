//! What each step of a ladder looks like on the wire: templates made once, filled for each call.

use crate::description::Descriptions;
use crate::ladder::{Body, FlowError, Ladder, Side, Step, What};
use crate::leg::Leg;
use crate::scan::Scan;
use crate::template::{Id, Names, Template};
use runtime::Transport;
use sip::Method;
use std::io::Write as _;
use std::sync::Arc;

/// RSeq of the first reliable response; three digits for the whole flow.
pub const RSEQ_FIRST: u32 = 101;
/// Host part of the subscribers' addresses.
const DOMAIN: &str = "lab.example.org";

const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
    m=audio 49170 RTP/AVP 8 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\n";
/// IR.92 §3.2: AMR-WB and AMR with DTMF; preconditions of RFC 3312 as in TS 24.229 §6.1.
const VOLTE_OFFER: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\n\
    b=AS:49\r\nt=0 0\r\nm=audio 49170 RTP/AVP 104 102 105 100\r\na=rtpmap:104 AMR-WB/16000\r\n\
    a=fmtp:104 mode-change-capability=2;max-red=0\r\na=rtpmap:102 AMR/8000\r\n\
    a=fmtp:102 mode-change-capability=2;max-red=0\r\na=rtpmap:105 telephone-event/16000\r\n\
    a=rtpmap:100 telephone-event/8000\r\na=ptime:20\r\na=maxptime:240\r\na=sendrecv\r\n\
    a=curr:qos local none\r\na=curr:qos remote none\r\na=des:qos mandatory local sendrecv\r\n\
    a=des:qos optional remote sendrecv\r\n";
const VOLTE_ANSWER: &str = "v=0\r\no=- 2 2 IN IP4 192.0.2.2\r\ns=-\r\nc=IN IP4 192.0.2.2\r\n\
    b=AS:49\r\nt=0 0\r\nm=audio 49172 RTP/AVP 104 105\r\na=rtpmap:104 AMR-WB/16000\r\n\
    a=fmtp:104 mode-change-capability=2;max-red=0\r\na=rtpmap:105 telephone-event/16000\r\n\
    a=ptime:20\r\na=maxptime:240\r\na=sendrecv\r\na=curr:qos local none\r\n\
    a=curr:qos remote none\r\na=des:qos mandatory local sendrecv\r\n\
    a=des:qos mandatory remote sendrecv\r\na=conf:qos remote sendrecv\r\n";
/// What a VoLTE terminal adds (TS 24.229 §5.1.3.1, IR.92 §2).
const VOLTE_LINES: &str = "P-Preferred-Identity: <sip:+{user}@lab.example.org>\r\n\
    P-Access-Network-Info: 3GPP-E-UTRAN-FDD;utran-cell-id-3gpp=2620100010019B01\r\n\
    P-Preferred-Service: urn:urn-7:3gpp-service.ims.icsi.mmtel\r\n\
    Accept-Contact: *;+g.3gpp.icsi-ref=\"urn%3Aurn-7%3A3gpp-service.ims.icsi.mmtel\"\r\n\
    Supported: 100rel,precondition\r\nP-Early-Media: supported\r\n\
    Allow: INVITE,ACK,CANCEL,BYE,PRACK,UPDATE,OPTIONS\r\n";

/// One step, ready to be written.
#[derive(Debug)]
struct Text {
    /// Start line (up to the target, or whole).
    head: Template,
    /// Everything behind the lines that differ by dialog.
    tail: Template,
    /// The same without its body, if it has one and somebody else describes media.
    bare: Option<Template>,
    /// `CSeq: 1 INVITE` with line end.
    cseq: Vec<u8>,
}

/// Every step of a ladder as one end of it writes them.
#[derive(Debug)]
pub struct Script {
    side: Side,
    texts: Vec<Text>,
    via: Template,
    contact: Template,
    /// Who describes media, in place of the bodies of the flow.
    pub descriptions: Option<Arc<dyn Descriptions>>,
    /// Whether requests offer to take overload control feedback (RFC 7339 §4.1).
    pub offers_feedback: bool,
}

/// What a message needs from outside its leg.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    /// Index of the step.
    pub at: usize,
    /// What is filled into the templates.
    pub names: Names<'a>,
}

const fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "UDP",
        Transport::Tcp => "TCP",
        Transport::Tls => "TLS",
    }
}

fn contact(side: Side, transport: Transport) -> String {
    let user = if side == Side::Caller { "{user}" } else { "{callee}" };
    let param = match transport {
        Transport::Udp => "",
        Transport::Tcp => ";transport=tcp",
        Transport::Tls => ";transport=tls",
    };
    format!("Contact: <sip:{user}@{{local}}{param}>\r\n")
}

impl Script {
    /// The texts of `ladder` as `side` sends them over `transport`.
    ///
    /// # Errors
    /// When a header line holds a brace that names nothing.
    pub fn new(ladder: &Ladder, side: Side, transport: Transport) -> Result<Self, FlowError> {
        let volte = ladder.steps.iter().any(|step| step.volte);
        let texts = ladder.steps.iter().map(|step| {
            let reliable = ladder.steps.iter().any(|other| other.reliable);
            text(step, contact(side, transport), volte, reliable)
        });
        let via = format!("Via: SIP/2.0/{} {{local}};rport;branch=z9hG4bK", word(transport));
        Ok(Self {
            side,
            texts: texts.collect::<Result<_, _>>()?,
            via: Template::new(&via)?,
            contact: Template::new(&contact(side, transport))?,
            descriptions: None,
            offers_feedback: false,
        })
    }

    /// Writes what is behind the lines that differ by dialog, body included.
    fn write_tail(&self, out: &mut Vec<u8>, voice: &Voice<'_>) {
        let text = &self.texts[voice.at];
        let (Some(bare), Some(descriptions)) = (&text.bare, &self.descriptions) else {
            return text.tail.fill(out, &voice.names);
        };
        bare.fill(out, &voice.names);
        self.write_described(out, voice, &**descriptions);
    }

    /// Writes the end of a message whose media somebody describes.
    fn write_described(
        &self,
        out: &mut Vec<u8>,
        voice: &Voice<'_>,
        descriptions: &dyn Descriptions,
    ) {
        let mut body = Vec::with_capacity(512);
        descriptions.describe(self.side, voice.names.subscriber, &mut body);
        out.extend_from_slice(b"Content-Type: application/sdp\r\nContent-Length: ");
        write!(out, "{}\r\n\r\n", body.len()).expect("a vector takes everything");
        out.extend_from_slice(&body);
    }

    /// Writes the request that opens a call.
    pub fn write_opening(&self, out: &mut Vec<u8>, voice: &Voice<'_>) {
        let text = &self.texts[voice.at];
        text.head.fill(out, &voice.names);
        self.write_via(out, voice, voice.at);
        out.extend_from_slice(&text.cseq);
        self.write_tail(out, voice);
    }

    fn write_via(&self, out: &mut Vec<u8>, voice: &Voice<'_>, step: usize) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.via.fill(out, &voice.names);
        out.extend_from_slice(&voice.names.id.digits());
        out.extend_from_slice(&[HEX[step >> 4 & 15], HEX[step & 15]]);
        if self.offers_feedback {
            out.extend_from_slice(sip::overload::OFFER);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Writes a request inside the dialog.
    pub fn write_request(&self, out: &mut Vec<u8>, voice: &Voice<'_>, leg: &Leg) {
        let text = &self.texts[voice.at];
        text.head.fill(out, &voice.names);
        put(out, &[leg.dialog.target(), b" SIP/2.0\r\n"]);
        self.write_via(out, voice, voice.at);
        put(out, &[leg.dialog.routes(), b"Max-Forwards: 70\r\nFrom: ", leg.dialog.local()]);
        put(out, &[b"\r\nTo: ", leg.dialog.remote()]);
        put(out, &[b"\r\nCall-ID: ", leg.dialog.call_id(), b"\r\n", &text.cseq]);
        self.write_tail(out, voice);
    }

    /// Writes `RAck` in front of nothing else: a PRACK for the response `rseq`.
    pub fn write_prack(&self, out: &mut Vec<u8>, voice: &Voice<'_>, leg: &Leg) {
        self.write_request(out, voice, leg);
        // The tail of a PRACK is `Content-Length: 0` and the blank line: RAck goes before both.
        let tail = out.len() - EMPTY.len();
        out.truncate(tail);
        put(out, &[b"RAck: ", leg.rseq.to_string().as_bytes(), b" 1 INVITE\r\n", EMPTY]);
    }

    /// Writes the ACK of a final response that is not 2xx (RFC 3261 §17.1.1.3): branch and target
    /// of the INVITE at step `opening`, To of the response.
    pub fn write_refusal_ack(
        &self,
        out: &mut Vec<u8>,
        voice: &Voice<'_>,
        opening: usize,
        to: &[u8],
    ) {
        let mut invite = Vec::with_capacity(1_024);
        self.write_opening(&mut invite, &Voice { at: opening, ..*voice });
        let lines = invite.split_inclusive(|&c| c == b'\n');
        for (at, line) in lines.enumerate() {
            match line {
                line if at == 0 => put(out, &[b"ACK", &line[b"INVITE".len()..]]),
                b"\r\n" => break,
                line if line.starts_with(b"To:") => put(out, &[b"To: ", to, b"\r\n"]),
                line if line.starts_with(b"CSeq:") => put(out, &[b"CSeq: 1 ACK\r\n"]),
                line if KEPT.iter().any(|name| line.starts_with(name)) => put(out, &[line]),
                _ => {}
            }
        }
        put(out, &[EMPTY]);
    }

    /// Writes the ACK of a refusal straight from it: cheap, for there may be many.
    pub fn write_ack_of(&self, out: &mut Vec<u8>, voice: &Voice<'_>, refusal: &Scan<'_>) {
        const METHODS: usize = b"INVITE".len() - b"ACK".len();
        let start = out.len();
        self.texts[0].head.fill(out, &voice.names);
        out.drain(start..start + METHODS);
        out[start..start + b"ACK".len()].copy_from_slice(b"ACK");
        self.write_via(out, voice, 0);
        let of = |span: crate::scan::Span| span.of(refusal.bytes).trim_ascii();
        put(out, &[b"Max-Forwards: 70\r\nFrom: ", of(refusal.from), b"\r\nTo: ", of(refusal.to)]);
        put(out, &[b"\r\nCall-ID: ", of(refusal.call_id), b"\r\nCSeq: 1 ACK\r\n", EMPTY]);
    }

    /// Writes a 200 that no flow has, to an INVITE inside of a call, with our description.
    pub fn write_described_ok(&self, out: &mut Vec<u8>, voice: &Voice<'_>, head: &[u8]) {
        put(out, &[b"SIP/2.0 200 OK\r\n", head]);
        self.contact.fill(out, &voice.names);
        match &self.descriptions {
            Some(descriptions) => self.write_described(out, voice, &**descriptions),
            None => put(out, &[EMPTY]),
        }
    }

    /// Writes a response: `head` is what it repeats of its request.
    pub fn write_response(&self, out: &mut Vec<u8>, voice: &Voice<'_>, head: &[u8]) {
        let text = &self.texts[voice.at];
        text.head.fill(out, &voice.names);
        out.extend_from_slice(head);
        self.write_tail(out, voice);
    }
}

const EMPTY: &[u8] = b"Content-Length: 0\r\n\r\n";
/// Lines of an INVITE that the ACK of its refusal repeats.
const KEPT: &[&[u8]] = &[b"Via:", b"From:", b"Call-ID:", b"Max-Forwards:"];

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Appends a whole `200 OK` without a body, for a request outside of any call.
pub fn write_plain_ok(out: &mut Vec<u8>, head: &[u8]) {
    put(out, &[b"SIP/2.0 200 OK\r\n", head, EMPTY]);
}

fn text(step: &Step, contact: String, volte: bool, reliable: bool) -> Result<Text, FlowError> {
    let mut tail = String::new();
    let opening = matches!(step.what, What::Request(_))
        && step.number == 0
        && step.side == Side::Caller
        && step.method() != Method::Ack;
    let head = match step.what {
        What::Hold => String::new(),
        What::Request(method) if opening => {
            tail += OPENING_LINES;
            if step.volte {
                tail += VOLTE_LINES;
            } else if reliable && method == Method::Invite {
                tail += "Supported: 100rel\r\n";
            }
            if method == Method::Register {
                tail = tail.replace("{callee}", "{user}");
            }
            let target = if method == Method::Register { "" } else { "+{callee}@" };
            format!("{} sip:{target}{DOMAIN} SIP/2.0\r\n", method.name())
        }
        What::Request(method) => format!("{} ", method.name()),
        What::Response(status, _) => format!("SIP/2.0 {status} {}\r\n", sip::reason(status)),
    };
    if carries_contact(step) {
        tail += &contact;
    }
    if step.reliable {
        let rseq = RSEQ_FIRST + step.reliable_number;
        tail += &format!("Require: 100rel\r\nRSeq: {rseq}\r\n");
    }
    for line in &step.headers {
        tail += line;
        tail += "\r\n";
    }
    let bare = (step.body != Body::None).then(|| Template::new(&tail)).transpose()?;
    tail += &body(step, volte);
    let cseq = format!("CSeq: {} {}\r\n", step.number + 1, step.method().name());
    Ok(Text { head: Template::new(&head)?, tail: Template::new(&tail)?, bare, cseq: cseq.into() })
}

const OPENING_LINES: &str = "Max-Forwards: 70\r\nFrom: <sip:+{user}@lab.example.org>;tag={id}\r\n\
    To: <sip:+{callee}@lab.example.org>\r\nCall-ID: {id}@{local}\r\n";

/// RFC 3261 Table 2, RFC 3262 and RFC 3311: where Contact is mandatory or of use.
const fn carries_contact(step: &Step) -> bool {
    match step.what {
        What::Request(method) => {
            matches!(method, Method::Invite | Method::Update | Method::Register | Method::Subscribe)
        }
        What::Response(status, method) => {
            status > 100 && status < 300 && matches!(method, Method::Invite | Method::Update)
        }
        What::Hold => false,
    }
}

fn body(step: &Step, volte: bool) -> String {
    let sdp = match (step.body, volte) {
        (Body::None, _) => return String::from_utf8_lossy(EMPTY).into_owned(),
        (Body::Offer, true) => VOLTE_OFFER.to_owned(),
        (Body::Answer, true) => VOLTE_ANSWER.to_owned(),
        (Body::Reserved, true) if step.side == Side::Caller => reserved(VOLTE_OFFER),
        (Body::Reserved, true) => reserved(VOLTE_ANSWER),
        (Body::Offer | Body::Answer | Body::Reserved, false) => OFFER.to_owned(),
    };
    format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}", sdp.len())
}

/// The next version of a description, its resources reserved (RFC 3264 §8, RFC 3312 §5).
fn reserved(sdp: &str) -> String {
    let next = sdp.replace("o=- 1 1", "o=- 1 2").replace("o=- 2 2", "o=- 2 3");
    next.replace("curr:qos local none", "curr:qos local sendrecv")
        .replace("a=conf:qos remote sendrecv\r\n", "")
}

/// What a leg's messages are filled with.
#[must_use]
pub const fn names<'a>(leg: &Leg, slot: u32, local: &'a [u8]) -> Names<'a> {
    Names { subscriber: leg.subscriber, id: Id { slot, generation: leg.generation }, local }
}
