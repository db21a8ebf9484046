//! One end of one call: what it remembers between two messages.

use crate::scan::{Scan, tag, uri};
use crate::template::{ID_DIGITS, Id};
use machine::Time;
use runtime::Flow;

/// No step.
pub const NONE: u8 = u8::MAX;

/// A range of [`Dialog::bytes`].
type Part = (u16, u16);

/// The dialog's state (RFC 3261 §12), as text ready to be copied into a request.
#[derive(Debug, Default)]
pub struct Dialog {
    bytes: Vec<u8>,
    target: Part,
    routes: Part,
    local: Part,
    remote: Part,
    call_id: Part,
}

impl Dialog {
    /// Forgets everything, keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.target, self.routes) = ((0, 0), (0, 0));
        (self.local, self.remote, self.call_id) = ((0, 0), (0, 0), (0, 0));
    }

    fn put(&mut self, text: &[u8]) -> Part {
        let start = self.bytes.len() as u16;
        self.bytes.extend_from_slice(text);
        (start, self.bytes.len() as u16)
    }

    /// As the calling end learns it from a response that makes or refreshes the dialog.
    pub fn learn_from_response(&mut self, scan: &Scan<'_>) {
        let contact = scan.contact.of(scan.bytes);
        self.bytes.clear();
        self.target = self.put(uri(contact));
        let start = self.bytes.len() as u16;
        for span in scan.record_routes.iter().rev() {
            self.put_reversed(span.of(scan.bytes));
        }
        self.routes = (start, self.bytes.len() as u16);
        self.local = self.put(scan.from.of(scan.bytes));
        self.remote = self.put(scan.to.of(scan.bytes));
        self.call_id = self.put(scan.call_id.of(scan.bytes));
    }

    /// Route lines from one Record-Route line that may hold several values, last one first.
    fn put_reversed(&mut self, value: &[u8]) {
        let mut end = value.len();
        while end > 0 {
            let start = memchr::memrchr(b'<', &value[..end]).unwrap_or(0);
            let route = value[start..end].trim_ascii().trim_ascii_end();
            let route = route.strip_suffix(b",").unwrap_or(route);
            self.put_route(route);
            end = start;
        }
    }

    fn put_route(&mut self, route: &[u8]) {
        self.put(b"Route: ");
        self.put(route);
        self.put(b"\r\n");
    }

    /// As the called end learns it from the request that opens the dialog.
    pub fn learn_from_request(&mut self, scan: &Scan<'_>, id: Id) {
        self.bytes.clear();
        self.target = self.put(uri(scan.contact.of(scan.bytes)));
        let start = self.bytes.len() as u16;
        for span in scan.record_routes.iter() {
            self.put_route(span.of(scan.bytes));
        }
        self.routes = (start, self.bytes.len() as u16);
        let start = self.put(scan.to.of(scan.bytes)).0;
        self.put(b";tag=");
        let end = self.put(&id.digits()).1;
        self.local = (start, end);
        self.remote = self.put(scan.from.of(scan.bytes));
        self.call_id = self.put(scan.call_id.of(scan.bytes));
    }

    /// The far end's new contact (a target refresh, RFC 3261 §12.2).
    pub fn refresh(&mut self, scan: &Scan<'_>) {
        let target = uri(scan.contact.of(scan.bytes));
        if !target.is_empty() && target != self.target() {
            self.target = self.put(target);
        }
    }

    fn part(&self, part: Part) -> &[u8] {
        &self.bytes[part.0 as usize..part.1 as usize]
    }

    /// The remote target.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        self.part(self.target)
    }
    /// Whole Route lines.
    #[must_use]
    pub fn routes(&self) -> &[u8] {
        self.part(self.routes)
    }
    /// Our From value.
    #[must_use]
    pub fn local(&self) -> &[u8] {
        self.part(self.local)
    }
    /// Our To value.
    #[must_use]
    pub fn remote(&self) -> &[u8] {
        self.part(self.remote)
    }
    /// The Call-ID.
    #[must_use]
    pub fn call_id(&self) -> &[u8] {
        self.part(self.call_id)
    }
}

/// A request that is sent again until it is answered.
#[derive(Debug, Clone, Copy)]
pub struct Resending {
    /// Its step, or [`NONE`].
    pub step: u8,
    /// Distance of the next retransmission, milliseconds.
    pub interval_ms: u32,
}

/// Steps of a ladder, a bit each.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Those that came.
    pub seen: u64,
    /// Mandatory ones that were passed over.
    pub skipped: u64,
}

/// From Via to CSeq of requests, as their responses repeat them.
#[derive(Debug)]
pub struct Repeated {
    /// Of the opening request.
    pub opening: Vec<u8>,
    /// Of the last other one.
    pub head: Vec<u8>,
}

/// CSeq numbers of the far end's requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct RemoteCSeqs {
    /// That of the last request.
    pub last: u32,
    /// That of the INVITE that we answer.
    pub invite: u32,
    /// That of the last INVITE inside of the call that no flow has; 0 for none.
    pub reinvite: u32,
}

/// When requests within a dialog should have been sent, and when those of the far end came.
#[derive(Debug, Clone, Copy)]
pub struct InDialogTimes {
    /// The one that waits for its answer: the end of the hold time, or what made it possible.
    pub due: Time,
    /// The far end's last one, in the socket.
    pub arrived: Time,
}

/// One end of one call. Slots are used again, with their allocations.
#[derive(Debug)]
pub struct Leg {
    /// How often the slot was used before.
    pub generation: u32,
    /// Whether a call runs here.
    pub live: bool,
    /// The step whose turn it is.
    pub at: u8,
    /// What is sent again.
    pub resending: Resending,
    /// Messages waiting to be written.
    pub queued: u8,
    /// Whether the hold time runs.
    pub holding: bool,
    /// What became of the steps so far.
    pub steps: Steps,
    /// Where our messages go.
    pub flow: Flow,
    /// Index of the address we speak from.
    pub endpoint: u16,
    /// Which subscriber calls.
    pub subscriber: u32,
    /// When the call was due.
    pub scheduled: Time,
    /// When requests within its dialog were due, and came.
    pub in_dialog: InDialogTimes,
    /// When the request that waits for its answer was first sent.
    pub sent: Time,
    /// When time acts on this leg.
    pub due: Time,
    /// The earliest entry of this leg in the wheel; [`Time::MAX`] for none.
    pub armed: Time,
    /// The RSeq received last, or sent last.
    pub rseq: u32,
    /// Numbers of the far end's requests.
    pub remote: RemoteCSeqs,
    /// Call-ID, hashed.
    pub call_hash: u64,
    /// The dialog.
    pub dialog: Dialog,
    /// What responses repeat of requests.
    pub repeated: Repeated,
}

impl Leg {
    /// An unused slot.
    #[must_use]
    pub const fn new(flow: Flow) -> Self {
        Self {
            generation: 0,
            live: false,
            at: 0,
            resending: Resending { step: NONE, interval_ms: 0 },
            queued: 0,
            holding: false,
            steps: Steps { seen: 0, skipped: 0 },
            flow,
            endpoint: 0,
            subscriber: 0,
            scheduled: Time::ZERO,
            in_dialog: InDialogTimes { due: Time::ZERO, arrived: Time::ZERO },
            sent: Time::ZERO,
            due: Time::MAX,
            armed: Time::MAX,
            rseq: 0,
            remote: RemoteCSeqs { last: 0, invite: 0, reinvite: 0 },
            call_hash: 0,
            dialog: Dialog {
                bytes: Vec::new(),
                target: (0, 0),
                routes: (0, 0),
                local: (0, 0),
                remote: (0, 0),
                call_id: (0, 0),
            },
            repeated: Repeated { opening: Vec::new(), head: Vec::new() },
        }
    }

    /// A new call in this slot.
    pub fn open(&mut self, flow: Flow) {
        self.live = true;
        (self.at, self.resending.step, self.queued, self.holding) = (0, NONE, 0, false);
        self.steps = Steps { seen: 0, skipped: 0 };
        self.rseq = 0;
        self.remote = RemoteCSeqs::default();
        (self.due, self.armed) = (Time::MAX, Time::MAX);
        self.flow = flow;
        self.dialog.clear();
        self.repeated.opening.clear();
        self.repeated.head.clear();
    }
}

/// Writes what a response repeats of its request (RFC 3261 §8.2.6.2): Via, Record-Route, From, To
/// with our tag, Call-ID, CSeq; then the lines named in `echo`.
pub fn repeat(out: &mut Vec<u8>, scan: &Scan<'_>, our_tag: Option<Id>, echo: &[String]) {
    let bytes = scan.bytes;
    out.clear();
    let mut line = |name: &[u8], value: &[u8]| {
        out.extend_from_slice(name);
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    };
    for via in scan.vias.iter() {
        line(b"Via: ", via.of(bytes));
    }
    for route in scan.record_routes.iter() {
        line(b"Record-Route: ", route.of(bytes));
    }
    line(b"From: ", scan.from.of(bytes));
    let to = scan.to.of(bytes);
    match our_tag.filter(|_| tag(to).is_none()) {
        Some(id) => {
            out.extend_from_slice(b"To: ");
            out.extend_from_slice(to);
            out.extend_from_slice(b";tag=");
            out.extend_from_slice(&id.digits()[..ID_DIGITS]);
            out.extend_from_slice(b"\r\n");
        }
        None => line(b"To: ", to),
    }
    let mut line = |name: &[u8], value: &[u8]| {
        out.extend_from_slice(name);
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    };
    line(b"Call-ID: ", scan.call_id.of(bytes));
    line(b"CSeq: ", scan.cseq_value.of(bytes));
    for name in echo {
        for text in scan.lines_named(name) {
            line(b"", text);
        }
    }
}
