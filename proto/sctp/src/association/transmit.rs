//! Packets: what goes into the next one and where it goes (RFC 9260 §6.1, §6.4, §6.10).

use super::outbound::Flight;
use super::{Association, State};
use crate::codec::{Chunk, ChunkType, Gaps, HEADER_BYTES, Header, Sack, Words, padded, seal};
use crate::effects::{Context, Failure, Indication, Out, Transmit};
use core::net::SocketAddr;
use machine::Time;

/// A packet that is being filled.
#[derive(Debug)]
struct Draft {
    bytes: Vec<u8>,
    path: usize,
    limit: usize,
    /// Where its AUTH chunk begins.
    auth: Option<usize>,
}

impl Draft {
    /// Octets that are left for a chunk that needs an AUTH chunk of `auth` octets before it.
    fn room(&self, path: usize, auth: usize) -> usize {
        let auth = if self.auth.is_some() { 0 } else { auth };
        if self.path == path { self.limit.saturating_sub(self.bytes.len() + auth) } else { 0 }
    }

    /// Whether a chunk fits that needs an AUTH chunk of `auth` octets before it, if any.
    fn fits(&self, path: usize, bytes: usize, auth: usize) -> bool {
        bytes <= self.room(path, auth)
    }
}

impl Association {
    /// Sends one chunk in a packet of its own on the primary path.
    pub(super) fn send_alone(&mut self, cx: &mut Context<'_>, chunk: &Chunk<'_>) {
        self.send_on(cx, self.paths.primary, chunk);
    }

    /// Sends one chunk in a packet of its own.
    pub(super) fn send_on(&mut self, cx: &mut Context<'_>, path: usize, chunk: &Chunk<'_>) {
        self.send_together(cx, path, core::slice::from_ref(chunk));
    }

    /// Sends a probe: larger than the PMTU that is known, and never fragmented.
    pub(super) fn send_probe(&mut self, cx: &mut Context<'_>, path: usize, chunks: &[Chunk<'_>]) {
        let mut draft = self.open(cx, path);
        draft.limit = usize::MAX;
        chunks.iter().for_each(|chunk| self.put(&mut draft, chunk));
        self.post(cx, draft, !self.agreed.zero_checksum);
    }

    /// Sends these chunks in one packet. Its checksum is never zero: the peer may not know of it
    /// yet (RFC 9653 §5.2).
    pub(super) fn send_together(
        &mut self,
        cx: &mut Context<'_>,
        path: usize,
        chunks: &[Chunk<'_>],
    ) {
        let mut draft = self.open(cx, path);
        chunks.iter().for_each(|chunk| self.put(&mut draft, chunk));
        self.post(cx, draft, true);
    }

    /// The packet that aborts it, sealed and authenticated as one that is sent now, on every path.
    pub(crate) fn abort_packets(&self, port: u16) -> Vec<Transmit> {
        if self.peer_tag == 0 {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        let (source_port, destination_port) = (port, self.peer_port);
        Header { source_port, destination_port, verification_tag: self.peer_tag }.write(&mut bytes);
        let mut draft = Draft { bytes, path: 0, limit: usize::MAX, auth: None };
        let causes = crate::codec::Causes::new(&[]);
        self.put(&mut draft, &Chunk::Abort { is_reflected: false, causes });
        if let (Some(auth), Some(at)) = (&self.auth, draft.auth) {
            auth.seal(&mut draft.bytes[at..]);
        }
        seal(&mut draft.bytes);
        let packet = |path: &super::path::Path| Transmit {
            source: path.local,
            destination: SocketAddr::new(path.address, path.encapsulation_port),
            may_fragment: false,
            bytes: draft.bytes.clone(),
        };
        self.paths.iter().map(packet).collect()
    }

    fn open(&self, cx: &mut Context<'_>, path: usize) -> Draft {
        let mut bytes = cx.pool.take();
        let header = Header {
            source_port: cx.port,
            destination_port: self.peer_port,
            verification_tag: self.peer_tag,
        };
        header.write(&mut bytes);
        Draft { bytes, path, limit: self.paths[path].packet_bytes(), auth: None }
    }

    /// Octets of AUTH that a chunk of ours needs before it (RFC 4895 §6.2).
    pub(super) fn auth_bytes(&self, kind: u8) -> usize {
        self.auth.as_ref().map_or(0, |auth| auth.bytes_before(kind))
    }

    /// AUTH goes before the chunk when the peer wants it and it is not there yet.
    fn put_auth(&self, draft: &mut Draft, kind: u8) {
        if let (Some(auth), None) = (&self.auth, draft.auth)
            && auth.bytes_before(kind) > 0
        {
            draft.auth = Some(draft.bytes.len());
            auth.begin(&mut draft.bytes);
        }
    }

    fn put(&self, draft: &mut Draft, chunk: &Chunk<'_>) {
        self.put_auth(draft, chunk.kind().0);
        chunk.write(&mut draft.bytes);
    }

    fn post(&self, cx: &mut Context<'_>, mut draft: Draft, is_sealed: bool) {
        if let (Some(auth), Some(at)) = (&self.auth, draft.auth) {
            auth.seal(&mut draft.bytes[at..]);
        }
        if is_sealed {
            seal(&mut draft.bytes);
        }
        let path = &self.paths[draft.path];
        let destination = SocketAddr::new(path.address, path.encapsulation_port);
        let may_fragment = draft.bytes.len() > draft.limit;
        let transmit =
            Transmit { source: path.local, destination, may_fragment, bytes: draft.bytes };
        cx.out.push(Out::Transmit(transmit));
    }

    /// The packet for `path` with room for a chunk of that type and length; the one before leaves
    /// if it has none.
    fn room<'d>(
        &self,
        cx: &mut Context<'_>,
        draft: &'d mut Option<Draft>,
        path: usize,
        kind: u8,
        bytes: usize,
    ) -> &'d mut Vec<u8> {
        let auth = self.auth_bytes(kind);
        if draft.as_ref().is_some_and(|draft| !draft.fits(path, bytes, auth)) {
            self.close(cx, draft);
        }
        let draft = draft.get_or_insert_with(|| self.open(cx, path));
        if auth > 0 {
            self.put_auth(draft, kind);
        }
        &mut draft.bytes
    }

    fn close(&self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        if let Some(draft) = draft.take() {
            self.post(cx, draft, !self.agreed.zero_checksum);
        }
    }

    /// Sends everything that may be sent now.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        if matches!(self.state, State::CookieWait | State::CookieEchoed | State::Closed) {
            return;
        }
        let mut draft = None;
        self.request_next(cx);
        self.ask_next(cx.now);
        while let Some((path, chunk)) = self.controls.pop_front() {
            let (kind, bytes) = (chunk[0], chunk.len());
            self.room(cx, &mut draft, path, kind, bytes).extend_from_slice(&chunk);
        }
        if self.inbound.sacking.is_due {
            self.put_sack(cx, &mut draft);
        }
        if matches!(
            self.state,
            State::Established | State::ShutdownPending | State::ShutdownReceived
        ) {
            self.flush_data(cx, &mut draft);
        }
        self.close(cx, &mut draft);
        self.shut_down_when_done(cx);
        self.tell_of_buffer(cx);
    }

    fn flush_data(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        let max_burst = self.parameters.max_burst;
        if self.outbound.marked == 0 && !self.outbound.has_queued() && !self.outbound.is_forward_due
        {
            return;
        }
        for path in self.paths.iter_mut() {
            path.congestion.allowed = path.congestion.window(max_burst, path.pmdcs());
        }
        if self.outbound.is_forward_due {
            self.put_forward_tsn(cx, draft);
        }
        let is_free = self.flush_marked(cx, draft);
        self.outbound.recovery.may_burst = false;
        if self.outbound.is_forward_due {
            // Some was given up just now. Control chunks stand before DATA (RFC 9260 §6.10).
            self.close(cx, draft);
            self.put_forward_tsn(cx, draft);
        }
        if is_free {
            self.flush_new(cx, draft);
        }
    }

    /// A SACK that is not due yet goes with data that leaves anyway (RFC 9260 §6.2).
    fn bundle_sack(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        if self.inbound.sacking.packets > 0 {
            self.put_sack(cx, draft);
        }
    }

    fn put_sack(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        let path = self.inbound.sacking.path;
        let duplicates: Vec<u8> =
            self.inbound.received.duplicates.drain(..).flat_map(u32::to_be_bytes).collect();
        let mut gaps = Vec::new();
        let kind = ChunkType::Sack.number();
        let least = HEADER_BYTES + self.auth_bytes(kind) + 16 + duplicates.len();
        let max = self.paths[path].packet_bytes().saturating_sub(least) / 4;
        if self.inbound.received.has_gaps() {
            self.inbound.received.gaps(max, &mut gaps);
        }
        self.inbound.advertised = self.inbound.window();
        let sack = Sack {
            cumulative_tsn_ack: crate::id::low32(self.inbound.received.cumulative()),
            a_rwnd: self.inbound.advertised,
            gaps: Gaps::new(&gaps),
            duplicates: Words::new(&duplicates),
        };
        let length = 16 + gaps.len() + duplicates.len();
        Chunk::Sack(sack).write(self.room(cx, draft, path, kind, length));
        self.inbound.sacking.packets = 0;
        self.inbound.sacking.has_begun = true;
        self.inbound.sacking.is_due = false;
        self.inbound.sacking.until = None;
    }

    /// Type and header octets of our chunks of user data.
    const fn data_chunk(&self) -> (u8, usize) {
        let kind = if self.outbound.is_interleaved { ChunkType::IData } else { ChunkType::Data };
        (kind.number(), self.outbound.header_bytes())
    }

    /// Sends what is marked for retransmission, as far as the windows allow; false when something
    /// is left (RFC 9260 §6.1 C: new data waits).
    fn flush_marked(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) -> bool {
        let (mut burst_begun, mut free) = (false, self.outbound.recovery.may_burst);
        let mut is_first_on = [true; super::PATHS_MAX];
        let (kind, header) = self.data_chunk();
        let auth = self.auth_bytes(kind);
        while let Some(index) = self.outbound.first_marked() {
            let entry = &self.outbound.ring[index];
            if self.agreed.forward_tsn && entry.is_stale(cx.now) {
                let context = self.outbound.abandon(index, &mut self.paths);
                cx.indicate(Indication::SendFailure(context, Failure::Abandoned));
                continue;
            }
            let is_fast = entry.flight == Flight::Marked(true);
            let path = self.paths.for_retransmission(usize::from(entry.path), is_fast);
            let length = padded(header + entry.payload.len());
            let fits = draft.as_ref().is_some_and(|it| it.fits(path, length, auth));
            if free && burst_begun && !fits {
                free = false;
            }
            let it = &self.paths[path].congestion;
            let is_over = it.flight >= it.allowed || (it.is_alone && it.flight > 0 && !fits);
            if !free && is_over {
                return false;
            }
            if !burst_begun {
                self.bundle_sack(cx, draft);
                burst_begun = true;
            }
            let is_first = core::mem::take(&mut is_first_on[path]);
            self.retransmit(cx, draft, index, path, is_first);
        }
        true
    }

    fn retransmit(
        &mut self,
        cx: &mut Context<'_>,
        draft: &mut Option<Draft>,
        index: usize,
        path: usize,
        is_first: bool,
    ) {
        let tsn = self.outbound.first + index as u64;
        let is_interleaved = self.outbound.is_interleaved;
        let (kind, _) = self.data_chunk();
        let length = self.outbound.chunk_bytes(index);
        let is_earliest = is_first && self.is_earliest(index, path);
        let bytes = self.room(cx, draft, path, kind, length);
        let entry = &mut self.outbound.ring[index];
        let is_fast = entry.flight == Flight::Marked(true);
        entry.write(tsn, is_interleaved, bytes);
        entry.flight = Flight::Outstanding;
        entry.was_fast |= is_fast;
        entry.was_elsewhere |= usize::from(entry.path) != path;
        entry.path = super::path_number(path);
        entry.transmissions = entry.transmissions.saturating_add(1);
        entry.sent_at = cx.now;
        let size = entry.payload.len();
        self.outbound.marked -= 1;
        self.outbound.retransmitted += 1;
        self.outbound.outstanding += size;
        let path = &mut self.paths[path];
        path.congestion.flight += length;
        if path.t3_rtx.is_none() || is_earliest {
            path.t3_rtx = Some(cx.now + path.rto);
        }
    }

    /// Whether nothing with a lower TSN is on its way on that path: then the timer is restarted
    /// (RFC 9260 §6.1, §7.2.4 step 4).
    fn is_earliest(&self, index: usize, path: usize) -> bool {
        let mut before = self.outbound.ring.range(..index);
        self.paths[path].congestion.flight == 0
            || !before.any(|it| it.flight == Flight::Outstanding && usize::from(it.path) == path)
    }

    /// Sends new data as far as both windows allow (RFC 9260 §6.1 A, B, D).
    fn flush_new(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        if !self.outbound.has_queued() {
            return;
        }
        let index = self.paths.for_data();
        self.paths[index].wake(cx.now);
        let it = &mut self.paths[index].congestion;
        it.allowed = it.allowed.min(it.cwnd);
        let smallest = self.paths.iter().map(super::path::Path::packet_bytes).min();
        let (kind, header) = self.data_chunk();
        let auth = self.auth_bytes(kind);
        let max = smallest.unwrap_or(0).saturating_sub(HEADER_BYTES + auth + header) & !3;
        let is_interleaved = self.outbound.is_interleaved;
        let holds_data = self.reconfig.holds_data();
        let mut is_first = true;
        loop {
            if self.agreed.forward_tsn {
                self.expire(cx);
            }
            if holds_data && !self.outbound.queue.has_begun() {
                break;
            }
            let room = draft.as_ref().map_or(0, |it| it.room(index, auth));
            let room = room.saturating_sub(header) & !3;
            let point = self.parameters.split_from_bytes;
            let Some(bytes) = self.outbound.next_bytes(max, room, point) else { break };
            let outstanding = self.outbound.outstanding;
            let is_window_closed = outstanding + bytes > self.outbound.peer_rwnd
                && (outstanding > 0 || !self.may_probe_window(cx.now));
            let path = &self.paths[index];
            let waits = self.parameters.nagle
                && outstanding > 0
                && self.outbound.queued < max
                && self.state == State::Established;
            if is_window_closed || path.congestion.flight >= path.congestion.allowed || waits {
                break;
            }
            if is_first {
                self.bundle_sack(cx, draft);
                is_first = false;
            }
            let (tsn, length) = (self.outbound.next_tsn(), padded(header + bytes));
            if draft.as_ref().is_some_and(|it| !it.fits(index, length, auth)) {
                let it = &self.paths[index].congestion;
                if it.is_alone && it.flight > 0 {
                    break;
                }
                self.close(cx, draft);
                self.outbound.queue.packet_begins();
                continue;
            }
            self.room(cx, draft, index, kind, length);
            self.outbound.emit(cx.now, super::path_number(index), bytes);
            let (Some(entry), Some(draft)) = (self.outbound.ring.back(), draft.as_mut()) else {
                break;
            };
            entry.write(tsn, is_interleaved, &mut draft.bytes);
            let path = &mut self.paths[index];
            path.congestion.flight += length;
            path.congestion.last_data = cx.now;
            path.timed.get_or_insert(tsn);
            path.t3_rtx.get_or_insert(cx.now + path.rto);
        }
    }

    /// Whether the peer's closed window may be probed: an RTO after it was found closed, and again
    /// an RTO after each probe that was taken; for one that was not, T3-rtx backs off
    /// (RFC 9260 §6.1 A).
    fn may_probe_window(&mut self, now: Time) -> bool {
        let at = self.outbound.window_probe.unwrap_or(now + self.paths[self.paths.for_data()].rto);
        let is_due = at <= now;
        self.outbound.window_probe = (!is_due).then_some(at);
        is_due
    }

    /// Messages whose time is over before they were sent leave the queue.
    fn expire(&mut self, cx: &mut Context<'_>) {
        while let Some(message) = self.outbound.expire(cx.now) {
            cx.indicate(Indication::SendFailure(message.context, Failure::Unsent));
        }
    }

    fn put_forward_tsn(&mut self, cx: &mut Context<'_>, draft: &mut Option<Draft>) {
        self.outbound.is_forward_due = false;
        let path = self.paths.for_data();
        let mut chunk = Vec::new();
        self.outbound.write_forward_tsn(&mut chunk, self.paths[path].packet_bytes());
        let (kind, bytes) = (chunk[0], chunk.len());
        self.room(cx, draft, path, kind, bytes).extend_from_slice(&chunk);
        let path = &mut self.paths[path];
        path.t3_rtx.get_or_insert(cx.now + path.rto);
    }

    /// Half of the send buffer is free again for a user that found it full.
    fn tell_of_buffer(&mut self, cx: &mut Context<'_>) {
        let held = self.outbound.queued + self.outbound.held;
        if self.outbound.wants_buffer && held <= self.parameters.send_buffer as usize / 2 {
            self.outbound.wants_buffer = false;
            cx.indicate(Indication::SendBufferFree);
        }
    }
}
