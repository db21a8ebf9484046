//! Capabilities exchange (RFC 6733 §5.3).

use super::watchdog::answer_header;
use super::{Node, State};
use crate::codec::{AvpWriter, Flags, Header, Message, ResultCode};
use crate::effects::Indication;
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId};
use bytes::Bytes;

/// No security within the protocol: TLS is below it or not there (RFC 6733 §6.10, §13.1).
const NO_INBAND_SECURITY: u32 = 0;
/// Applications of a peer that are kept.
const APPLICATIONS_MAX: usize = 256;
/// Letters of a Product-Name that are kept.
const PRODUCT_MAX: usize = 64;

/// Applications that a CER or CEA tells (RFC 6733 §5.3, §6.8 to §6.11).
fn applications(message: &Message<'_>) -> Vec<u32> {
    let mut all = Vec::new();
    for avp in message.avps().flatten() {
        let is_group = avp.is(&base::VENDOR_SPECIFIC_APPLICATION_ID);
        let is_own = avp.is(&base::AUTH_APPLICATION_ID) || avp.is(&base::ACCT_APPLICATION_ID);
        let inner = avp
            .group()
            .flatten()
            .filter(|it| it.is(&base::AUTH_APPLICATION_ID) || it.is(&base::ACCT_APPLICATION_ID));
        match (is_group, is_own) {
            (true, _) => all.extend(inner.filter_map(|it| it.unsigned32().ok())),
            (_, true) => all.extend(avp.unsigned32()),
            _ => {}
        }
        if all.len() >= APPLICATIONS_MAX {
            break;
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

impl Node {
    pub(super) fn send_cer(&mut self, way: Connection, id: PeerId) {
        let header = self.own_request(base::CAPABILITIES_EXCHANGE.code);
        let capabilities = self.capabilities(way);
        self.send_own(way, Some(id), &header, None, |out| out.copy(&capabilities));
    }

    /// Answers a CER; `failed` is what the Failed-AVP shows.
    pub(super) fn send_cea(
        &mut self,
        way: Connection,
        request: &Header,
        code: ResultCode,
        failed: Option<&[u8]>,
    ) {
        let mut header = answer_header(request);
        if code.is_protocol_error() {
            header.flags.0 |= Flags::ERROR;
            self.count(Metric::ErrorsOut);
        }
        let capabilities = self.capabilities(way);
        let peer = self.peer_of(way);
        self.send_own(way, peer, &header, Some(code), |out| {
            out.copy(&capabilities);
            if let Some(failed) = failed.filter(|it| !it.is_empty()) {
                out.group(&base::FAILED_AVP, |out| out.copy(failed));
            }
        });
    }

    /// What this node says of itself.
    fn capabilities(&self, way: Connection) -> Vec<u8> {
        let mut octets = Vec::with_capacity(256);
        let mut out = AvpWriter::new(&mut octets);
        let local = self.connections.get(&way).map(|it| &it.local[..]).unwrap_or_default();
        let any = [std::net::Ipv4Addr::UNSPECIFIED.into()];
        let all = [&self.settings.addresses[..], local, &any];
        let told = all.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
        told.iter().for_each(|it| out.address(&base::HOST_IP_ADDRESS, *it));
        out.number(&base::VENDOR_ID, self.settings.vendor);
        out.put(&base::PRODUCT_NAME, &self.settings.product);
        if self.settings.origin_state > 0 {
            out.number(&base::ORIGIN_STATE_ID, self.settings.origin_state);
        }
        let spoken = self.settings.applications.iter();
        let spoken: Vec<_> = spoken.filter_map(|it| self.dictionary.application(*it)).collect();
        let mut vendors: Vec<u32> = spoken.iter().map(|it| it.vendor).collect();
        vendors.sort_unstable();
        vendors.dedup();
        for vendor in vendors.into_iter().filter(|it| *it != 0) {
            out.number(&base::SUPPORTED_VENDOR_ID, vendor);
        }
        for it in spoken {
            let row = match it.is_accounting {
                true => &base::ACCT_APPLICATION_ID,
                false => &base::AUTH_APPLICATION_ID,
            };
            match it.vendor {
                0 => out.number(row, it.id),
                vendor => out.group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
                    out.number(&base::VENDOR_ID, vendor);
                    out.number(row, it.id);
                }),
            }
        }
        if self.settings.relays {
            out.number(&base::AUTH_APPLICATION_ID, base::RELAY);
        }
        octets
    }

    /// A CER came on a connection that the peer has opened.
    pub(super) fn cer(&mut self, way: Connection, octets: &Bytes, message: &Message<'_>) {
        let own = self.peer_of(way);
        // Whoever has said who it is does not become another one.
        let judged = match self.judge(message) {
            Ok(id) if own.is_some_and(|own| own != id) => Err(ResultCode::UnknownPeer),
            judged => judged,
        };
        match (judged, own) {
            (Ok(id), None) => self.greeted(id, way, octets),
            // Capabilities change while the connection is open (RFC 6733 §5.6, R-Rcv-CER).
            (Ok(id), Some(_)) => {
                self.take_capabilities(id, message);
                self.send_cea(way, &message.header, ResultCode::Success, None);
            }
            (Err(code), _) => {
                self.count(Metric::ConnectionsRefused);
                self.send_cea(way, &message.header, code, None);
                match own {
                    Some(own) => self.end(own, "its capabilities do not fit any more"),
                    None => self.drop_connection(way),
                }
            }
        }
    }

    /// Whose CER or CEA it is, and whether there is something in common.
    fn judge(&self, message: &Message<'_>) -> Result<PeerId, ResultCode> {
        let host = Self::origin(message).unwrap_or_default();
        let id = self.peers.of_host(host).ok_or(ResultCode::UnknownPeer)?;
        let realm = message.avps().find(&base::ORIGIN_REALM).map(|it| it.data);
        let wanted = self.peers.find(id).and_then(|peer| peer.settings.realm.as_deref());
        let fits =
            |wanted: &str| realm.is_some_and(|it| wanted.as_bytes().eq_ignore_ascii_case(it));
        if !wanted.is_none_or(fits) {
            return Err(ResultCode::UnknownPeer);
        }
        let mut offered = message.avps().all(&base::INBAND_SECURITY_ID).peekable();
        let is_none = offered.peek().is_none();
        if !is_none && !offered.any(|it| it.unsigned32() == Ok(NO_INBAND_SECURITY)) {
            return Err(ResultCode::NoCommonSecurity);
        }
        let theirs = applications(message);
        let is_relay = self.settings.relays || theirs.contains(&base::RELAY);
        let is_shared = self.settings.applications.iter().any(|own| theirs.contains(own));
        if is_relay || is_shared { Ok(id) } else { Err(ResultCode::NoCommonApplication) }
    }

    /// A CEA came on a connection that this node has opened.
    pub(super) fn cea(&mut self, id: PeerId, message: &Message<'_>) {
        let Some(peer) = self.peers.find(id) else { return };
        if !matches!(peer.state, State::WaitICea | State::WaitReturns) {
            return self.count(Metric::Stray);
        }
        let result = message.avps().find(&base::RESULT_CODE).and_then(|it| it.unsigned32().ok());
        if result != Some(ResultCode::Success.number()) {
            if result == Some(ResultCode::ElectionLost.number()) && peer.responder.is_some() {
                return; // the end of this connection follows
            }
            return self.end(id, "it has refused the capabilities");
        }
        match self.judge(message) {
            Ok(found) if found == id => self.open_initiator(id, message),
            Ok(_) | Err(ResultCode::UnknownPeer) => {
                self.end(id, "another host has answered than the one that was meant");
            }
            Err(_) => self.end(id, "there is no application in common"),
        }
    }

    /// Keeps what a peer says of itself.
    pub(super) fn take_capabilities(&mut self, id: PeerId, message: &Message<'_>) {
        let number = |row| message.avps().find(row).and_then(|it| it.unsigned32().ok());
        let state = number(&base::ORIGIN_STATE_ID);
        let product = message.avps().find(&base::PRODUCT_NAME);
        let product = product.and_then(|it| it.text().ok()).unwrap_or_default();
        let Some(peer) = self.peers.find_mut(id) else { return };
        peer.applications = applications(message);
        peer.product = product.chars().take(PRODUCT_MAX).collect();
        peer.origin_state = state;
    }

    /// A message on a connection whose far end has not said who it is.
    pub(super) fn stranger(&mut self, way: Connection, octets: &Bytes) {
        let checked = Message::read(octets)
            .and_then(|message| self.dictionary.check(&message).map(|command| (message, command)));
        match checked {
            Ok((message, command))
                if core::ptr::eq(command, &raw const base::CAPABILITIES_EXCHANGE)
                    && message.is_request() =>
            {
                self.cer(way, octets, &message);
            }
            Ok(_) => self.drop_connection(way),
            Err(violation) => {
                self.count(Metric::Malformed);
                if let Some(header) = super::answer::header(octets)
                    && header.flags.has(Flags::REQUEST)
                    && header.command == base::CAPABILITIES_EXCHANGE.code
                {
                    self.send_cea(way, &header, violation.code, Some(&violation.failed));
                }
                self.indicate(Indication::Complaint(None, violation));
                self.drop_connection(way);
            }
        }
    }
}
