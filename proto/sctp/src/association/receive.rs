//! A packet came: chunk after chunk (RFC 9260 §6.2, §6.6, §6.7, §8.5.1).

use super::reassembly::Fragment;
use super::received::Arrival;
use super::{Association, State, Verdict};
use crate::codec::{Cause, Causes, Chunk, ChunkType, Data, DataFlags, IData, Packet, RawChunk};
use crate::effects::{Context, Indication, Lost};
use crate::id::unwrap32;
use crate::offer::Offer;
use bytes::Bytes;
use core::net::SocketAddr;

/// Where a packet came from and which octets it has.
pub(crate) struct Incoming<'a> {
    pub(crate) source: SocketAddr,
    pub(crate) bytes: &'a Bytes,
    pub(crate) packet: Packet<'a>,
}

/// A chunk of user data, of either kind.
struct Arriving<'a> {
    tsn: u32,
    fragment: Fragment,
    payload: &'a [u8],
}

impl Association {
    /// Takes a packet whose Verification Tag is right.
    pub(crate) fn packet(&mut self, cx: &mut Context<'_>, incoming: &Incoming<'_>) {
        let from = self.paths.of(incoming.source.ip());
        if let Some(path) = from {
            self.paths[path].encapsulation_port = incoming.source.port();
        }
        if self.state == State::ShutdownSent {
            // The peer is there: it shall have the time to send what it has (RFC 9260 §9.2).
            self.paths.errors = 0;
            self.start_t2(cx.now);
        }
        let mut from = from.unwrap_or(self.paths.primary);
        let mut is_authentic = false;
        self.has_sack = false;
        for raw in incoming.packet.chunks() {
            let Ok(raw) = raw else { break };
            let goes_on = match self.authenticate(from, incoming, &raw, &mut is_authentic) {
                Some(goes_on) => goes_on,
                None => self.chunk(cx, from, incoming, &raw),
            };
            if self.state == State::Closed {
                return;
            }
            if !goes_on {
                break;
            }
            if raw.kind == ChunkType::Asconf.number() {
                from = self.paths.of(incoming.source.ip()).unwrap_or(self.paths.primary);
            }
        }
        let has_data = self.inbound.sacking.has_data;
        self.inbound.packet_ends(cx.now, &self.parameters);
        self.inbound.sacking.is_due |= has_data && self.state == State::ShutdownSent;
        self.flush(cx);
        if has_data && self.state == State::ShutdownSent {
            self.send_shutdown(cx); // what came is acknowledged by both SACK and SHUTDOWN
        }
    }

    /// AUTH is checked and a chunk that should have stood behind it is left out; says whether the
    /// next one counts. `None`: the chunk is to be taken (RFC 4895 §6.3).
    #[inline]
    fn authenticate(
        &mut self,
        from: usize,
        incoming: &Incoming<'_>,
        raw: &RawChunk<'_>,
        is_authentic: &mut bool,
    ) -> Option<bool> {
        let auth = self.auth.as_ref()?;
        if raw.kind != ChunkType::Auth.number() {
            return (auth.wants(raw.kind) && !*is_authentic).then_some(true);
        }
        let verdict = match Chunk::read(raw) {
            Ok(Chunk::Auth(chunk)) => auth.check(&chunk, &incoming.bytes[raw.at..]),
            _ => Verdict::Forged,
        };
        if let Verdict::UnsupportedHmac(id) = verdict {
            let mut causes = Vec::new();
            Cause::UnsupportedHmac(id).write(&mut causes);
            self.control(from, &Chunk::Error(Causes::new(&causes)));
        }
        *is_authentic = verdict == Verdict::Authentic;
        Some(*is_authentic)
    }

    /// Takes one chunk and says whether the next one counts.
    fn chunk(
        &mut self,
        cx: &mut Context<'_>,
        from: usize,
        incoming: &Incoming<'_>,
        raw: &RawChunk<'_>,
    ) -> bool {
        if raw.kind == ChunkType::Data.number() && !self.outbound.is_interleaved {
            if let Ok(data) = Data::read(raw) {
                self.data(cx, from, &plain(&data), incoming.bytes);
            }
            return true;
        }
        let Ok(chunk) = Chunk::read(raw) else {
            cx.indicate(Indication::CommunicationError(0));
            return true;
        };
        match chunk {
            Chunk::IData(data) if self.outbound.is_interleaved => {
                self.data(cx, from, &interleaved(&data), incoming.bytes);
            }
            Chunk::Data(_) | Chunk::IData(_) => {
                self.violate(cx, "DATA and I-DATA in one association");
            }
            // One is enough for a packet (§6.2): each costs a walk through what is on its way.
            Chunk::Sack(_) if core::mem::replace(&mut self.has_sack, true) => {}
            Chunk::Sack(sack) => {
                if !matches!(self.state, State::CookieWait | State::CookieEchoed) {
                    self.sack(cx, &sack);
                }
            }
            Chunk::Heartbeat(info) => self.control(from, &Chunk::HeartbeatAck(info)),
            Chunk::HeartbeatAck(info) => self.heartbeat_ack(cx, info),
            Chunk::ForwardTsn(_) if self.outbound.is_interleaved => {
                self.violate(cx, "FORWARD-TSN where I-DATA is in use");
            }
            Chunk::ForwardTsn(forward) if self.agreed.forward_tsn => {
                self.inbound.forward_tsn(cx, &forward, self.parameters.counts_unread);
            }
            Chunk::IForwardTsn(forward)
                if self.agreed.forward_tsn && self.outbound.is_interleaved =>
            {
                self.inbound.i_forward_tsn(cx, &forward, self.parameters.counts_unread);
            }
            // Extensions that were not agreed are as unknown as types that do not exist.
            Chunk::Unknown(..) | Chunk::Auth(_) | Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) => {
                return self.unknown(from, raw.kind, raw.whole);
            }
            Chunk::ReConfig(_) if !self.agreed.reconfiguration => {
                return self.unknown(from, raw.kind, raw.whole);
            }
            Chunk::Asconf(..) | Chunk::AsconfAck(..) if !self.agreed.asconf => {
                return self.unknown(from, raw.kind, raw.whole);
            }
            other => self.rare(cx, from, incoming, &other),
        }
        true
    }

    /// Chunks of set-up and end.
    fn rare(
        &mut self,
        cx: &mut Context<'_>,
        from: usize,
        incoming: &Incoming<'_>,
        chunk: &Chunk<'_>,
    ) {
        match chunk {
            Chunk::InitAck(init) if self.state == State::CookieWait => match Offer::read(init) {
                Some(offer) => self.init_ack(cx, &offer, incoming.source),
                None => self.malformed_init_ack(cx, init.initiate_tag),
            },
            Chunk::CookieAck => self.cookie_ack(cx),
            Chunk::Abort { causes, .. } => {
                let code = causes.iter().find_map(Result::ok).map_or(0, |cause| cause.code());
                self.lose(cx, Lost::PeerAborted(code));
            }
            Chunk::Error(causes) => self.error(cx, *causes),
            Chunk::Shutdown { cumulative_tsn_ack } => self.shutdown(cx, *cumulative_tsn_ack),
            Chunk::ShutdownAck => self.shutdown_ack(cx, from),
            Chunk::ShutdownComplete { .. } => self.shutdown_complete(cx),
            Chunk::ReConfig(_) if self.state < State::Established => {}
            Chunk::ReConfig(parameters) => self.re_config(cx, from, *parameters),
            Chunk::Asconf(number, parameters) => {
                self.asconf(cx, incoming.source, *number, *parameters);
            }
            Chunk::AsconfAck(number, parameters) => self.asconf_ack(cx, *number, *parameters),
            _ => {}
        }
    }

    /// RFC 9260 §3.2: the high bits of an unknown type say what to do.
    fn unknown(&mut self, from: usize, kind: u8, whole: &[u8]) -> bool {
        /// Octets of an unknown chunk that are sent back.
        const REPORT_BYTES_MAX: usize = 256;
        let unknown = Chunk::unknown(kind);
        if unknown.is_reported {
            let mut causes = Vec::new();
            let part = &whole[..whole.len().min(REPORT_BYTES_MAX)];
            Cause::UnrecognizedChunk(part).write(&mut causes);
            self.control(from, &Chunk::Error(Causes::new(&causes)));
        }
        unknown.is_skipped
    }

    /// An ERROR came.
    fn error(&mut self, cx: &mut Context<'_>, causes: Causes<'_>) {
        for cause in causes.iter().filter_map(Result::ok) {
            match cause {
                Cause::StaleCookie(us) if self.state == State::CookieEchoed => {
                    return self.stale_cookie(cx, us);
                }
                Cause::UnrecognizedChunk([kind, ..]) if *kind == ChunkType::Asconf.number() => {
                    self.asconf_is_unknown(cx);
                }
                _ => {}
            }
            cx.indicate(Indication::CommunicationError(cause.code()));
        }
    }

    /// User data.
    fn data(&mut self, cx: &mut Context<'_>, from: usize, arriving: &Arriving<'_>, packet: &Bytes) {
        if !matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownSent)
        {
            return;
        }
        let tsn = unwrap32(self.inbound.received.cumulative(), arriving.tsn);
        let fragment = &arriving.fragment;
        if arriving.payload.is_empty() {
            let mut causes = Vec::new();
            Cause::NoUserData(arriving.tsn).write(&mut causes);
            return self.abort(cx, &causes, Lost::ProtocolViolation("DATA without user data"));
        }
        self.inbound.sacking.has_data = true;
        self.inbound.sacking.path = from;
        self.inbound.sacking.is_due |=
            fragment.flags.is_immediate() || !self.inbound.sacking.has_begun;
        // The next one frees what waits for it, also when it fills a gap.
        let is_next = tsn == self.inbound.received.cumulative() + 1;
        match self.inbound.received.arrival(tsn) {
            Arrival::Duplicate => {
                self.inbound.received.duplicate(tsn);
                self.inbound.sacking.is_due = true;
                return;
            }
            Arrival::Outside => {
                self.inbound.sacking.is_due = true;
                return;
            }
            Arrival::Beyond if !is_next => {
                self.inbound.sacking.is_due = true;
                if self.inbound.is_without_room(arriving.payload.len()) {
                    return;
                }
            }
            Arrival::Next | Arrival::Beyond
                if self.inbound.window() == 0 || self.inbound.is_full() =>
            {
                // What is next may free what waits; a user who does not read frees nothing.
                self.inbound.sacking.is_due = true;
                if self.inbound.unread >= self.parameters.receive_buffer as usize {
                    return;
                }
                if self.inbound.is_overdrawn() {
                    let mut causes = Vec::new();
                    Cause::OutOfResource.write(&mut causes);
                    let lost = Lost::ProtocolViolation("more than the receive buffer twice over");
                    return self.abort(cx, &causes, lost);
                }
            }
            Arrival::Next | Arrival::Beyond => {}
        }
        self.inbound.received.insert(tsn);
        if fragment.stream >= self.inbound.streams {
            let mut causes = Vec::new();
            Cause::InvalidStream(fragment.stream).write(&mut causes);
            return self.control(from, &Chunk::Error(Causes::new(&causes)));
        }
        self.deliver(cx, tsn, arriving, packet);
    }

    fn deliver(&mut self, cx: &mut Context<'_>, tsn: u64, arriving: &Arriving<'_>, packet: &Bytes) {
        let mut fragment = arriving.fragment.clone();
        fragment.payload = packet.slice_ref(arriving.payload);
        fragment.packet_bytes = packet.len();
        if !fragment.is_interleaved {
            fragment.index = tsn;
        }
        let unread = self.parameters.counts_unread.then_some(&mut self.inbound.unread);
        let point = self.parameters.partial_delivery_point;
        let taken = self.inbound.reassembly.take(fragment, point, &mut cx.hand(unread));
        if let Err(violation) = taken {
            self.violate(cx, violation);
        }
    }

    /// The user has taken octets; a window that opens again is told (RFC 9260 §6.2).
    pub(crate) fn consume(&mut self, cx: &mut Context<'_>, bytes: u32) {
        self.inbound.unread = self.inbound.unread.saturating_sub(bytes as usize);
        let step = (self.parameters.receive_buffer / 2).min(3000);
        let is_open = self.inbound.window() >= self.inbound.advertised.saturating_add(step);
        if is_open && !matches!(self.state, State::CookieWait | State::CookieEchoed) {
            self.inbound.sacking.is_due = true;
            self.flush(cx);
        }
    }
}

fn plain<'a>(data: &Data<'a>) -> Arriving<'a> {
    let fragment = Fragment {
        stream: data.stream,
        number: u32::from(data.ssn),
        is_interleaved: false,
        index: 0,
        ppid: data.ppid,
        flags: data.flags,
        payload: Bytes::new(),
        packet_bytes: 0,
    };
    Arriving { tsn: data.tsn, fragment, payload: data.payload }
}

fn interleaved<'a>(data: &IData<'a>) -> Arriving<'a> {
    let is_begin = data.flags.0 & DataFlags::BEGIN != 0;
    let fragment = Fragment {
        stream: data.stream,
        number: data.mid,
        is_interleaved: true,
        index: if is_begin { 0 } else { u64::from(data.ppid_or_fsn) },
        ppid: if is_begin { data.ppid_or_fsn } else { 0 },
        flags: data.flags,
        payload: Bytes::new(),
        packet_bytes: 0,
    };
    Arriving { tsn: data.tsn, fragment, payload: data.payload }
}
