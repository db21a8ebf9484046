//! INIT, COOKIE ECHO, and packets out of the blue: what an endpoint answers without an
//! association, or beside the one that stands (RFC 9260 §5.1, §5.2, §8.4).

use crate::arrived::Arrived;
use crate::association::{Association, Auth, State, Verdict, authenticated};
use crate::codec::{
    Cause, Causes, Chunk, ChunkType, Header, Parameter, Parameters, RawChunk, seal,
};
use crate::cookie::{Cookie, tie_tags};
use crate::effects::{Indication, Out, Transmit};
use crate::endpoint::Endpoint;
use crate::offer::{Offer, Own};
use core::net::IpAddr;
use machine::Duration;

/// Octets of an INIT that is answered at most: the answer holds it twice.
const INIT_BYTES_MAX: usize = 2048;
/// Longest life that a Cookie Preservative can ask for beyond Valid.Cookie.Life.
const PRESERVATIVE_MAX: Duration = Duration::from_secs(60);

impl Endpoint {
    /// Deals with a packet that begins with INIT or COOKIE ECHO; false when it does not.
    pub(crate) fn greet(&mut self, arrived: &Arrived<'_>, out: &mut Vec<Out>) -> bool {
        match ChunkType::of(arrived.first.kind) {
            Some(ChunkType::Init) => self.init(arrived, out),
            Some(ChunkType::CookieEcho) => self.cookie_echo(arrived, out),
            _ => return false,
        }
        true
    }

    /// Whether the user knows the source, by name or by its association.
    fn knows(&self, arrived: &Arrived<'_>) -> bool {
        let source = arrived.source.ip();
        self.budget.is_known(source)
            || self.owner(source, arrived.packet.header.source_port).is_some()
    }

    /// Answers outside of any association, as often as the source may be answered.
    fn answer(&mut self, arrived: &Arrived<'_>, tag: u32, chunk: &Chunk<'_>, out: &mut Vec<Out>) {
        let (now, source, is_known) = (arrived.now, arrived.source.ip(), self.knows(arrived));
        if !self.budget.has_room(now, source, is_known) {
            self.counts.unanswered += 1;
            return;
        }
        self.budget.take(now, source, is_known);
        let header = Header {
            source_port: arrived.packet.header.destination_port,
            destination_port: arrived.packet.header.source_port,
            verification_tag: tag,
        };
        let mut bytes = self.pool.take();
        header.write(&mut bytes);
        chunk.write(&mut bytes);
        seal(&mut bytes);
        let transmit = Transmit {
            source: Some(arrived.local),
            destination: arrived.source,
            may_fragment: true,
            bytes,
        };
        out.push(Out::Transmit(transmit));
    }

    fn refuse(&mut self, arrived: &Arrived<'_>, tag: u32, cause: &Cause<'_>, out: &mut Vec<Out>) {
        let mut causes = Vec::new();
        cause.write(&mut causes);
        let causes = Causes::new(&causes);
        self.answer(arrived, tag, &Chunk::Abort { is_reflected: false, causes }, out);
    }

    /// An INIT: everything goes into the cookie, nothing stays here (RFC 9260 §5.1 B, §5.2.1,
    /// §5.2.2).
    fn init(&mut self, arrived: &Arrived<'_>, out: &mut Vec<Out>) {
        let is_alone = arrived.packet.chunks().count() == 1;
        let is_proper = is_alone
            && arrived.packet.header.verification_tag == 0
            && arrived.first.whole.len() <= INIT_BYTES_MAX;
        let chunk = Chunk::read(&arrived.first);
        let (true, Ok(Chunk::Init(init))) = (is_proper, chunk) else {
            self.counts.malformed += 1;
            return;
        };
        if !self.budget.has_room(arrived.now, arrived.source.ip(), self.knows(arrived)) {
            self.counts.unanswered += 1; // before anything costly is done for it
            return;
        }
        if init.initiate_tag == 0 {
            // Nobody could be answered (§3.3.2).
            self.counts.malformed += 1;
            return;
        }
        let offer = Offer::read(&init);
        let Some(offer) = offer.filter(|offer| offer.violation().is_none()) else {
            self.counts.malformed += 1;
            return self.refuse(arrived, init.initiate_tag, &Cause::InvalidParameter, out);
        };
        if let Some(name) = offer.host_name {
            return self.refuse(arrived, offer.tag, &Cause::UnresolvableAddress(name), out);
        }
        // It belongs to an association that one of its addresses leads to (§5.1.2 D). An address
        // that an association has not confirmed (§5.4) may be anybody's: it leads nowhere, or who
        // lists another's address in an INIT would keep that one out.
        let port = arrived.packet.header.source_port;
        let leads = |address: &IpAddr| self.owner(*address, port);
        let index = leads(&arrived.source.ip()).or_else(|| offer.addresses.iter().find_map(leads));
        let Some(standing) = index.and_then(|index| self.association(index)) else {
            if !self.settings.listens {
                return self.refuse(arrived, offer.tag, &Cause::OutOfResource, out);
            }
            let (tag, tsn) = (self.fresh_tag(), self.random.word());
            return self.init_ack(arrived, &offer, (tag, tsn), (0, 0), out);
        };
        let ties = tie_tags(&self.key, standing.local_tag, standing.peer_tag);
        let own = (standing.local_tag, standing.local_tsn);
        match standing.state {
            State::ShutdownAckSent => {
                let tag = standing.peer_tag;
                self.answer(arrived, tag, &Chunk::ShutdownAck, out);
            }
            // Only an address that the user has named is answered (§5.2.1).
            State::CookieWait if standing.paths.of(arrived.source.ip()).is_none() => {}
            State::CookieWait => self.init_ack(arrived, &offer, own, (0, 0), out),
            state => {
                let strangers = strangers(standing, &offer, arrived.source.ip());
                if !strangers.is_empty() {
                    let cause = Cause::RestartWithNewAddresses(&strangers);
                    return self.refuse(arrived, offer.tag, &cause, out);
                }
                let own = match state {
                    State::CookieEchoed => own,
                    _ => (self.fresh_tag(), self.random.word()),
                };
                self.init_ack(arrived, &offer, own, ties, out);
            }
        }
    }

    fn init_ack(
        &mut self,
        arrived: &Arrived<'_>,
        offer: &Offer<'_>,
        ours: (u32, u32),
        tie_tags: (u32, u32),
        out: &mut Vec<Out>,
    ) {
        let (tag, initial_tsn) = ours;
        let settings = self.settings.parameters;
        let more = Duration::from_millis(offer.preservative.into()).min(PRESERVATIVE_MAX);
        let cookie = Cookie {
            created: arrived.now,
            life: settings.valid_cookie_life + more,
            local_tag: tag,
            local_tsn: initial_tsn,
            peer_port: arrived.packet.header.source_port,
            source: arrived.source,
            tie_tags,
            init: arrived.first.whole,
        };
        let mut signed = Vec::new();
        cookie.write(&self.cookie_key(arrived.now), &mut signed);
        let addresses = self.settings.addresses.clone();
        let random = self.random_of(tag, initial_tsn);
        let own =
            Own { tag, initial_tsn, addresses: &addresses, settings: &settings, random: &random };
        let mut parameters = Vec::new();
        Parameter::StateCookie(&signed).write(&mut parameters);
        own.write_parameters(&mut parameters);
        if !offer.unrecognized.is_empty() {
            let list = Parameters::new(&offer.unrecognized);
            for tlv in list.tlvs() {
                Parameter::UnrecognizedParameter(tlv.whole).write(&mut parameters);
            }
        }
        let init_ack = Chunk::InitAck(own.init(Parameters::new(&parameters)));
        self.answer(arrived, offer.tag, &init_ack, out);
    }

    /// A COOKIE ECHO (RFC 9260 §5.1.5, and the table of §5.2.4).
    fn cookie_echo(&mut self, arrived: &Arrived<'_>, out: &mut Vec<Out>) {
        let keys = self.cookie_keys;
        let cookie = keys.iter().find_map(|key| Cookie::read(arrived.first.value(), key));
        let header = arrived.packet.header;
        let cookie = cookie.filter(|cookie| {
            cookie.peer_port == header.source_port && cookie.local_tag == header.verification_tag
        });
        let init = cookie.and_then(|cookie| init_of(cookie.init));
        let (Some(cookie), Some(offer)) = (cookie, init) else {
            self.counts.cookie += 1;
            return;
        };
        let index = self.of_cookie(arrived, &cookie);
        if !self.is_authentic(arrived, index, &cookie, &offer) {
            self.counts.cookie += 1;
            return;
        }
        let tags = (cookie.local_tag, offer.tag);
        let standing = index.and_then(|index| self.association(index));
        let is_same = standing.is_some_and(|it| (it.local_tag, it.peer_tag) == tags);
        if let Some(staleness) = cookie.staleness(arrived.now).filter(|_| !is_same) {
            self.counts.stale += 1;
            let us = u32::try_from(staleness.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX);
            let mut causes = Vec::new();
            Cause::StaleCookie(us).write(&mut causes);
            return self.answer(arrived, offer.tag, &Chunk::Error(Causes::new(&causes)), out);
        }
        let (Some(index), Some(standing)) = (index, standing) else {
            return self.accept(arrived, &cookie, &offer, out);
        };
        let ties = tie_tags(&self.key, standing.local_tag, standing.peer_tag);
        let is_mine = standing.local_tag == cookie.local_tag;
        let is_theirs = standing.peer_tag == offer.tag;
        match (is_mine, is_theirs, cookie.tie_tags == ties) {
            (false, false, true) => self.restart(arrived, index, &cookie, &offer, out),
            (true, ..) => self.join(arrived, index, &cookie, &offer, out),
            _ => self.counts.cookie += 1,
        }
    }

    /// The association that a cookie came to: the one that it made, or the one of its source.
    fn of_cookie(&self, arrived: &Arrived<'_>, cookie: &Cookie<'_>) -> Option<u32> {
        let (source, port) = (arrived.source.ip(), arrived.packet.header.source_port);
        let own = self.tagged(cookie.local_tag).filter(|index| {
            let own = self.association(*index);
            own.is_some_and(|it| it.peer_port == port && it.paths.of(source).is_some())
        });
        own.or_else(|| self.owner(source, port))
    }

    /// Whether a COOKIE ECHO that must stand behind AUTH does (RFC 4895 §6.3): the keys follow
    /// from the cookie.
    fn is_authentic(
        &self,
        arrived: &Arrived<'_>,
        index: Option<u32>,
        cookie: &Cookie<'_>,
        offer: &Offer<'_>,
    ) -> bool {
        let extensions = &self.settings.parameters.extensions;
        if !authenticated(extensions).contains(ChunkType::CookieEcho.number()) {
            return true;
        }
        let (tag, tsn) = (cookie.local_tag, cookie.local_tsn);
        let secrets = match index.and_then(|index| self.association(index)) {
            Some(standing) => standing.secrets.renewed(self.random_of(tag, tsn)),
            None => self.secrets(tag, tsn),
        };
        let Some(auth) = Auth::agree(extensions, &secrets, offer) else { return true };
        let Some(Ok(raw)) = arrived.packet.chunks().next() else { return false };
        match Chunk::read(&raw) {
            Ok(Chunk::Auth(chunk)) => {
                auth.check(&chunk, &arrived.bytes[raw.at..]) == Verdict::Authentic
            }
            _ => false,
        }
    }

    /// No association stands: the cookie becomes one.
    fn accept(
        &mut self,
        arrived: &Arrived<'_>,
        cookie: &Cookie<'_>,
        offer: &Offer<'_>,
        out: &mut Vec<Out>,
    ) {
        let source = cookie.source.ip();
        let mut addresses = offer.addresses.iter().chain([&source]);
        let has_owner = addresses.any(|it| self.owner(*it, cookie.peer_port).is_some());
        let is_taken = has_owner || self.tagged(cookie.local_tag).is_some();
        if is_taken || !self.settings.listens {
            self.counts.cookie += 1;
            return;
        }
        let (tag, tsn) = (cookie.local_tag, cookie.local_tsn);
        let mut association = self.fresh_association(cookie.peer_port, tag, tsn);
        association.adopt(arrived.now, offer, cookie.source);
        let is_crowding = !self.budget.is_known(source) && self.is_crowding(source);
        let Some(index) = (!is_crowding).then(|| self.insert(association)).flatten() else {
            self.counts.full += 1;
            return self.refuse(arrived, offer.tag, &Cause::OutOfResource, out);
        };
        self.stand(arrived, index, out);
    }

    /// The association stands: the cookie is acknowledged, and what came behind it is taken.
    fn stand(&mut self, arrived: &Arrived<'_>, index: u32, out: &mut Vec<Out>) {
        self.with(arrived.now, index, out, |association, cx| {
            association.acknowledge_cookie(arrived.source.ip());
            association.establish(cx);
        });
        self.pass(arrived, index, out);
    }

    /// Action A: the peer has restarted.
    fn restart(
        &mut self,
        arrived: &Arrived<'_>,
        index: u32,
        cookie: &Cookie<'_>,
        offer: &Offer<'_>,
        out: &mut Vec<Out>,
    ) {
        if self.association(index).is_some_and(|it| it.state == State::ShutdownAckSent) {
            return self.with(arrived.now, index, out, Association::refuse_restart);
        }
        self.strike(index);
        let (local_tag, local_tsn) = (cookie.local_tag, cookie.local_tsn);
        let random = self.random_of(local_tag, local_tsn);
        self.with(arrived.now, index, out, |association, cx| {
            association.fail_messages(cx);
            association.restart(local_tag, local_tsn, random);
            association.adopt(cx.now, offer, cookie.source);
            cx.indicate(Indication::Restart);
        });
        self.stand(arrived, index, out);
    }

    /// Actions B and D: both began at once, or the cookie comes again.
    fn join(
        &mut self,
        arrived: &Arrived<'_>,
        index: u32,
        cookie: &Cookie<'_>,
        offer: &Offer<'_>,
        out: &mut Vec<Out>,
    ) {
        self.with(arrived.now, index, out, |association, cx| {
            if matches!(association.state, State::CookieWait | State::CookieEchoed) {
                association.adopt(cx.now, offer, cookie.source);
                association.establish(cx);
            }
            association.peer_tag = offer.tag;
            association.acknowledge_cookie(arrived.source.ip());
        });
        self.pass(arrived, index, out);
    }

    /// Whether the tag is that of an association with that port, which an attacker cannot know.
    fn is_from_of_old(&self, arrived: &Arrived<'_>) -> bool {
        let header = arrived.packet.header;
        let index = self.tagged(header.verification_tag);
        let standing = index.and_then(|index| self.association(index));
        standing.is_some_and(|it| {
            it.peer_port == header.source_port && it.paths.of(arrived.source.ip()).is_none()
        })
    }

    /// A packet that belongs to no association (RFC 9260 §8.4).
    pub(crate) fn out_of_the_blue(&mut self, arrived: &Arrived<'_>, out: &mut Vec<Out>) {
        self.counts.out_of_the_blue += 1;
        let chunks = || arrived.packet.chunks().map_while(Result::ok);
        let has = |kind: ChunkType| chunks().any(|raw| raw.kind == kind.number());
        let tag = arrived.packet.header.verification_tag;
        // A tag of zero is for an INIT that stands alone (§8.5.1 A). One of ours was sent before
        // the peer took that address away (RFC 5061): an ABORT would end the association.
        if tag == 0 || has(ChunkType::Abort) || self.is_from_of_old(arrived) {
            return;
        }
        if has(ChunkType::ShutdownAck) {
            let chunk = Chunk::ShutdownComplete { is_reflected: true };
            return self.answer(arrived, tag, &chunk, out);
        }
        let is_end = has(ChunkType::ShutdownComplete) || has(ChunkType::CookieAck);
        if is_end || chunks().any(|raw| is_stale_cookie(&raw)) {
            return;
        }
        let chunk = Chunk::Abort { is_reflected: true, causes: Causes::new(&[]) };
        self.answer(arrived, tag, &chunk, out);
    }
}

/// Addresses in the INIT that the association does not have, as parameters.
fn strangers(standing: &Association, offer: &Offer<'_>, source: IpAddr) -> Vec<u8> {
    let mut out = Vec::new();
    for address in offer.addresses.iter().chain([&source]) {
        if standing.paths.of(*address).is_none() {
            Parameter::Address(*address).write(&mut out);
        }
    }
    out
}

/// The INIT that a cookie holds.
fn init_of(whole: &[u8]) -> Option<Offer<'_>> {
    let raw = RawChunk { at: 0, kind: *whole.first()?, flags: 0, whole };
    match (whole.len() >= 4).then(|| Chunk::read(&raw))? {
        Ok(Chunk::Init(init)) => Offer::read(&init),
        _ => None,
    }
}

fn is_stale_cookie(raw: &RawChunk<'_>) -> bool {
    match Chunk::read(raw) {
        Ok(Chunk::Error(causes)) => {
            causes.iter().any(|cause| matches!(cause, Ok(Cause::StaleCookie(_))))
        }
        _ => false,
    }
}
