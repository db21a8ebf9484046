//! Addresses change while the association lives (RFC 5061): ours by requests, of which one is on
//! its way at a time, the peer's by its own. Both ASCONF and ASCONF-ACK stand behind AUTH.

use super::{Association, PATHS_MAX, PathState, State};
use crate::codec::{Cause, Causes, Chunk, Parameter, Parameters, Tlv};
use crate::effects::{AddressChange, Context, Indication, Lost};
use crate::offer::is_unicast;
use core::net::{IpAddr, SocketAddr};
use machine::Time;
use std::collections::VecDeque;

/// Requests that wait for the one before at most.
const REQUESTS_MAX: usize = 16;
/// Deleted addresses that are remembered.
const LEFT_MAX: usize = 16;
/// Parameters of one ASCONF that are looked at; more are an attack.
const PARAMETERS_MAX: usize = 32;

/// What we ask the peer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressRequest {
    /// This address of ours is to be used too.
    Add(IpAddr),
    /// This address of ours is not to be used any more.
    Delete(IpAddr),
    /// This address of ours shall be the peer's primary path.
    SetPrimary(IpAddr),
}

/// What became of a request of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The peer has done it.
    Performed,
    /// The peer, or this side, refused, with that cause code; 0: the association has no ASCONF,
    /// or there are too many requests.
    Refused(u16),
}

#[derive(Debug)]
struct Pending {
    request: AddressRequest,
    number: u32,
    /// T4.
    until: Time,
}

/// What is going on in both directions.
#[derive(Debug)]
pub(crate) struct Asconf {
    waiting: VecDeque<AddressRequest>,
    pending: Option<Pending>,
    /// Sequence Number of our next ASCONF.
    next: u32,
    /// Peer-Sequence-Number: that of the peer's last ASCONF.
    last: u32,
    /// Our answer to it.
    answer: Vec<u8>,
    /// Our addresses in this association.
    pub(crate) own: Vec<IpAddr>,
    /// Addresses that we have deleted, or are about to: nothing is sent from there any more,
    /// though the peer's packets may still come.
    left: Vec<IpAddr>,
}

impl Asconf {
    pub(crate) fn new(local_tsn: u32, peer_tsn: u32, own: Vec<IpAddr>) -> Self {
        Self {
            waiting: VecDeque::new(),
            pending: None,
            next: local_tsn,
            last: peer_tsn.wrapping_sub(1),
            answer: Vec::new(),
            own,
            left: Vec::new(),
        }
    }

    /// T4.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.pending.as_ref().map(|pending| pending.until)
    }

    /// An address that can say who we are, and is not about to go.
    fn lookup(&self, request: AddressRequest) -> Option<IpAddr> {
        let is_going = |own: &IpAddr| request == AddressRequest::Delete(*own);
        self.own.iter().copied().find(|own| !is_going(own))
    }
}

impl Association {
    /// The user wants an address of ours to change its part.
    pub(crate) fn change_address(&mut self, cx: &mut Context<'_>, request: AddressRequest) {
        let is_open = self.state == State::Established && self.agreed.asconf;
        let refusal = match request {
            _ if !is_open || self.asconf.waiting.len() >= REQUESTS_MAX => Some(0),
            AddressRequest::Delete(address) if self.asconf.own == [address] => {
                Some(Cause::DeleteLastAddress(&[]).code())
            }
            AddressRequest::Delete(address) if !self.asconf.own.contains(&address) => {
                Some(Cause::UnresolvableAddress(&[]).code())
            }
            _ => None,
        };
        if let Some(code) = refusal {
            return cx.indicate(Indication::AddressAnswer(request, Answer::Refused(code)));
        }
        self.asconf.waiting.push_back(request);
        self.flush(cx);
    }

    /// Sends the next request when nothing is on its way.
    pub(super) fn ask_next(&mut self, now: Time) {
        if self.asconf.pending.is_some() || self.state != State::Established {
            return;
        }
        let Some(request) = self.asconf.waiting.pop_front() else { return };
        let number = self.asconf.next;
        self.asconf.next = number.wrapping_add(1);
        if let AddressRequest::Delete(address) = request {
            self.leave(address);
        }
        let until = now + self.paths[self.paths.for_data()].rto;
        self.asconf.pending = Some(Pending { request, number, until });
        self.send_asconf();
    }

    /// An ASCONF that deletes its own source address would be refused (RFC 5061 §5.3 D4).
    fn leave(&mut self, address: IpAddr) {
        self.asconf.left.push(address);
        let own = &self.asconf.own;
        for path in self.paths.iter_mut().filter(|path| path.local == Some(address)) {
            let is_like = |it: &&IpAddr| **it != address && it.is_ipv4() == address.is_ipv4();
            path.local = own.iter().find(is_like).copied();
        }
    }

    /// A packet came from the peer to `local`: what goes back on that path leaves there.
    pub(crate) fn learn_local(&mut self, path: usize, local: IpAddr) {
        if !self.asconf.left.contains(&local) {
            self.paths[path].local = Some(local);
        }
    }

    fn send_asconf(&mut self) {
        let Some(Pending { request, number, .. }) = self.asconf.pending else { return };
        let mut out = Vec::new();
        if let Some(lookup) = self.asconf.lookup(request) {
            Parameter::Address(lookup).write(&mut out);
        }
        match request {
            AddressRequest::Add(address) => Parameter::AddIp(number, address),
            AddressRequest::Delete(address) => Parameter::DeleteIp(number, address),
            AddressRequest::SetPrimary(address) => Parameter::SetPrimary(number, address),
        }
        .write(&mut out);
        self.control(self.paths.for_data(), &Chunk::Asconf(number, Parameters::new(&out)));
    }

    /// T4 expired (RFC 5061 §5.1 B1 to B5).
    pub(super) fn t4_expired(&mut self, cx: &mut Context<'_>) {
        let path = self.paths.for_data();
        self.paths[path].back_off();
        self.time_out(cx, path, true);
        if self.state == State::Closed {
            return;
        }
        let rto = self.paths[self.paths.for_data()].rto;
        if let Some(pending) = &mut self.asconf.pending {
            pending.until = cx.now + rto;
            self.send_asconf();
        }
    }

    /// An ASCONF came (RFC 5061 §5.2).
    pub(super) fn asconf(
        &mut self,
        cx: &mut Context<'_>,
        source: SocketAddr,
        number: u32,
        list: Parameters<'_>,
    ) {
        if matches!(self.state, State::CookieWait | State::CookieEchoed) {
            return;
        }
        if number == self.asconf.last.wrapping_add(1) {
            let mut answer = Vec::new();
            // The first one is the address for the lookup.
            for tlv in list.tlvs().skip(1).take(PARAMETERS_MAX) {
                if !self.asconf_parameter(cx, source, &tlv, &mut answer) {
                    break;
                }
            }
            self.asconf.last = number;
            self.asconf.answer = answer;
        } else if number != self.asconf.last || self.asconf.answer.is_empty() {
            return;
        }
        let path = self.paths.of(source.ip()).unwrap_or(self.paths.primary);
        let answer = core::mem::take(&mut self.asconf.answer);
        self.control(path, &Chunk::AsconfAck(number, Parameters::new(&answer)));
        self.asconf.answer = answer;
    }

    /// Does what one parameter asks for and says whether the next one counts.
    fn asconf_parameter(
        &mut self,
        cx: &mut Context<'_>,
        source: SocketAddr,
        tlv: &Tlv<'_>,
        answer: &mut Vec<u8>,
    ) -> bool {
        let whole = tlv.whole;
        let here = |address: IpAddr| if address.is_unspecified() { source.ip() } else { address };
        let (number, cause) = match Parameter::read(tlv) {
            Ok(Parameter::AddIp(number, address)) => {
                (number, self.add_peer_address(cx, here(address), source.port(), whole))
            }
            Ok(Parameter::DeleteIp(number, address)) => {
                (number, self.delete_peer_address(cx, address, source.ip(), whole))
            }
            Ok(Parameter::SetPrimary(number, address)) => {
                (number, self.obey_primary(cx, here(address), whole))
            }
            Ok(Parameter::AdaptationLayer(_)) => return true,
            Ok(other) => {
                let unknown = Parameter::unknown(other.kind());
                if unknown.is_reported {
                    write_causes(0, &Cause::UnrecognizedParameters(whole), answer);
                }
                return unknown.is_skipped;
            }
            Err(_) => (0, Some(Cause::InvalidParameter)),
        };
        match cause {
            None => Parameter::Success(number).write(answer),
            Some(cause) => write_causes(number, &cause, answer),
        }
        true
    }

    fn add_peer_address<'a>(
        &mut self,
        cx: &mut Context<'_>,
        address: IpAddr,
        encapsulation_port: u16,
        whole: &'a [u8],
    ) -> Option<Cause<'a>> {
        if self.paths.of(address).is_some() {
            return None;
        }
        if !is_unicast(address) || cx.peers.contains_key(&(address, self.peer_port)) {
            return Some(Cause::NotAuthorized(whole));
        }
        if self.paths.len() >= PATHS_MAX {
            return Some(Cause::ResourceShortage(whole));
        }
        self.add_path(cx.now, address, encapsulation_port);
        if let Some(path) = self.paths.last_mut() {
            path.next_heartbeat = Some(cx.now);
        }
        cx.indicate(Indication::PeerAddress(address, AddressChange::Added));
        None
    }

    fn delete_peer_address<'a>(
        &mut self,
        cx: &mut Context<'_>,
        address: IpAddr,
        source: IpAddr,
        whole: &'a [u8],
    ) -> Option<Cause<'a>> {
        let is_wild = address.is_unspecified();
        let goes = |it: IpAddr| if is_wild { it != source } else { it == address };
        let going: Vec<IpAddr> =
            self.paths.iter().map(|path| path.address).filter(|it| goes(*it)).collect();
        if !is_wild && address == source {
            return Some(Cause::DeleteSourceAddress(whole));
        }
        if going.len() == self.paths.len() {
            return Some(Cause::DeleteLastAddress(whole));
        }
        if going.is_empty() && !is_wild {
            return Some(Cause::UnresolvableAddress(whole));
        }
        for address in going {
            if let Some(path) = self.paths.of(address) {
                self.remove_path(path);
                cx.indicate(Indication::PeerAddress(address, AddressChange::Removed));
            }
        }
        None
    }

    fn obey_primary<'a>(
        &mut self,
        cx: &mut Context<'_>,
        address: IpAddr,
        whole: &'a [u8],
    ) -> Option<Cause<'a>> {
        match self.paths.of(address) {
            Some(path) if self.paths[path].state != PathState::Unconfirmed => {
                self.paths.primary = path;
                cx.indicate(Indication::PeerAddress(address, AddressChange::MadePrimary));
                None
            }
            _ => Some(Cause::UnresolvableAddress(whole)),
        }
    }

    /// An ASCONF-ACK came (RFC 5061 §5.1.1, §5.3 F0).
    pub(super) fn asconf_ack(&mut self, cx: &mut Context<'_>, number: u32, list: Parameters<'_>) {
        let pending = self.asconf.pending.as_ref().map(|pending| pending.number);
        if pending != Some(number) {
            if (number.wrapping_sub(self.asconf.next) as i32) >= 0 {
                let mut causes = Vec::new();
                Cause::IllegalAsconfAck.write(&mut causes);
                self.abort(cx, &causes, Lost::ProtocolViolation("an ASCONF-ACK for no ASCONF"));
            }
            return;
        }
        let refusals = list.iter().filter_map(Result::ok).filter_map(|it| match it {
            Parameter::ErrorCauses(_, causes) => {
                Some(causes.iter().find_map(Result::ok).map_or(0, |cause| cause.code()))
            }
            _ => None,
        });
        let answer = refusals.map(Answer::Refused).next().unwrap_or(Answer::Performed);
        self.paths.errors = 0;
        self.settle_asconf(cx, answer);
    }

    /// Our request is over.
    fn settle_asconf(&mut self, cx: &mut Context<'_>, answer: Answer) {
        let Some(Pending { request, .. }) = self.asconf.pending.take() else { return };
        let (own, left) = (&mut self.asconf.own, &mut self.asconf.left);
        match (request, answer) {
            (AddressRequest::Add(address), Answer::Performed) => {
                left.retain(|it| *it != address);
                own.retain(|it| *it != address);
                own.push(address);
            }
            (AddressRequest::Delete(address), Answer::Performed) => {
                own.retain(|it| *it != address);
                if left.len() > LEFT_MAX {
                    left.remove(0);
                }
            }
            (AddressRequest::Delete(address), Answer::Refused(_)) => {
                left.retain(|it| *it != address);
            }
            _ => {}
        }
        cx.indicate(Indication::AddressAnswer(request, answer));
    }

    /// The peer does not know ASCONF after all (RFC 5061 §5.1 B4).
    pub(super) fn asconf_is_unknown(&mut self, cx: &mut Context<'_>) {
        self.agreed.asconf = false;
        self.settle_asconf(cx, Answer::Refused(6));
        for request in core::mem::take(&mut self.asconf.waiting) {
            cx.indicate(Indication::AddressAnswer(request, Answer::Refused(6)));
        }
    }
}

fn write_causes(number: u32, cause: &Cause<'_>, out: &mut Vec<u8>) {
    let mut causes = Vec::new();
    cause.write(&mut causes);
    Parameter::ErrorCauses(number, Causes::new(&causes)).write(out);
}
