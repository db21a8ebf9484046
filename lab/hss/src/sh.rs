//! Sh: data of a subscriber, and word of when it can be reached (TS 29.328 §6.1).

use crate::subscriber::{Body, Card, Hss, Refusal, USER_UNKNOWN, body, data};
use diameter::codec::{Message, ResultCode, Writer};
use diameter::rows::{VENDOR_3GPP, base, sh};

/// Values of Data-Reference (TS 29.329 §6.3.4).
const REPOSITORY_DATA: i32 = 0;
const IMS_USER_STATE: i32 = 11;
const S_CSCF_NAME: i32 = 12;
const MSISDN: i32 = 17;
const UE_REACHABILITY_FOR_IP: i32 = 25;
/// `DIAMETER_ERROR_OPERATION_NOT_ALLOWED`, `DIAMETER_ERROR_USER_DATA_CANNOT_BE_READ`,
/// `…_MODIFIED`, `…_NOTIFIED`, `DIAMETER_ERROR_TRANSPARENT_DATA_OUT_OF_SYNC`,
/// `DIAMETER_ERROR_TOO_MUCH_DATA` (TS 29.329 §6.2).
const NOT_ALLOWED: u32 = 5101;
const CANNOT_BE_READ: u32 = 5102;
const CANNOT_BE_MODIFIED: u32 = 5103;
const CANNOT_BE_NOTIFIED: u32 = 5104;
const OUT_OF_SYNC: u32 = 5105;
const TOO_MUCH_DATA: u32 = 5008;
/// Application servers that watch one subscriber at most.
const WATCHERS_MAX: usize = 16;
/// The last Sequence-Number; 1 follows, since 0 makes data anew (TS 29.328 §6.1.2).
const SEQUENCE_MAX: u32 = 65_535;

/// Digits of a number, two in an octet, the low half first (TS 29.329 §6.3.2).
fn digits(octets: &[u8]) -> String {
    let halves = octets.iter().flat_map(|it| [it & 15, it >> 4]);
    halves.filter(|it| *it < 10).map(|it| char::from(b'0' + it)).collect()
}

/// The text between two tags of the elements that this server writes itself.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

impl Hss {
    /// The subscription that a User-Identity means.
    fn meant(&mut self, request: &Message<'_>) -> Result<&mut Card, Refusal> {
        let identity = request.avps().find(&sh::USER_IDENTITY);
        let identity = identity.ok_or(Refusal::Base(ResultCode::MissingAvp))?.group();
        if let Some(impu) = identity.find(&diameter::rows::cx::PUBLIC_IDENTITY) {
            return self.of_public(impu.data);
        }
        let msisdn = identity.find(&sh::MSISDN).map(|it| digits(it.data)).unwrap_or_default();
        let mut cards = self.cards.values_mut();
        let found = cards.find(|it| it.subscriber.msisdn == msisdn);
        found.ok_or(Refusal::Experimental(USER_UNKNOWN))
    }

    fn references(request: &Message<'_>) -> Vec<i32> {
        let all = request.avps().all(&sh::DATA_REFERENCE);
        all.filter_map(|it| it.integer32().ok()).collect()
    }

    /// UDR (TS 29.328 §6.1.1).
    pub(crate) fn user_data(&mut self, request: &Message<'_>) -> Body {
        let references = Self::references(request);
        let service = data(request, &sh::SERVICE_INDICATION).unwrap_or_default().to_vec();
        let card = self.meant(request)?;
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Sh-Data>");
        for reference in references {
            let part = part(card, reference, &service);
            xml.push_str(&part.ok_or(Refusal::Experimental(CANNOT_BE_READ))?);
        }
        xml.push_str("</Sh-Data>");
        Ok(body(|out| out.put(&sh::USER_DATA, xml)))
    }

    /// PUR: transparent data, whose Sequence-Number counts (TS 29.328 §6.1.2).
    pub(crate) fn profile_update(&mut self, request: &Message<'_>) -> Body {
        if Self::references(request) != [REPOSITORY_DATA] {
            return Err(Refusal::Experimental(CANNOT_BE_MODIFIED));
        }
        let xml = data(request, &sh::USER_DATA).unwrap_or_default();
        let xml = String::from_utf8_lossy(xml).into_owned();
        let service = between(&xml, "ServiceIndication").map(str::to_owned);
        let number = between(&xml, "SequenceNumber").and_then(|it| it.parse().ok());
        let wrong = Refusal::Base(ResultCode::InvalidAvpValue);
        let (service, number): (String, u32) = service.zip(number).ok_or(wrong)?;
        let kept = between(&xml, "ServiceData").map(str::to_owned);
        let card = self.meant(request)?;
        let before = card.repository.get(service.as_bytes()).map(|it| it.0);
        if number != next_of(before) {
            return Err(Refusal::Experimental(OUT_OF_SYNC));
        }
        match kept {
            Some(kept) if Self::keep(card, service.as_bytes(), number, kept.as_bytes()) => {
                Ok(Vec::new())
            }
            Some(_) => Err(Refusal::Experimental(TOO_MUCH_DATA)),
            // No data in place of those that stand: they go.
            None => match card.repository.remove(service.as_bytes()) {
                Some(_) => Ok(Vec::new()),
                None => Err(Refusal::Experimental(NOT_ALLOWED)),
            },
        }
    }

    /// SNR for the reachability of a user (TS 29.328 §6.1.3, §7.6.18).
    pub(crate) fn subscribe(&mut self, request: &Message<'_>) -> Body {
        if Self::references(request) != [UE_REACHABILITY_FOR_IP] {
            return Err(Refusal::Experimental(CANNOT_BE_NOTIFIED));
        }
        let host = data(request, &base::ORIGIN_HOST).unwrap_or_default().to_vec();
        let realm = data(request, &base::ORIGIN_REALM).unwrap_or_default().to_vec();
        let kind = request.avps().find(&sh::SUBS_REQ_TYPE).and_then(|it| it.integer32().ok());
        let card = self.meant(request)?;
        if kind == Some(1) {
            card.watchers.remove(&(host, realm));
        } else if card.watchers.len() < WATCHERS_MAX {
            card.watchers.insert((host, realm));
        } else {
            return Err(Refusal::Experimental(CANNOT_BE_NOTIFIED));
        }
        Ok(Vec::new())
    }

    /// A user can be reached: the PNRs for all who wanted to know, once (TS 29.328 §6.1.4).
    /// `session` makes a Session-Id for each.
    pub fn reachable(&mut self, impu: &str, mut session: impl FnMut() -> String) -> Vec<Vec<u8>> {
        let (host, realm) = (self.host.clone(), self.realm.clone());
        let Ok(card) = self.of_public(impu.as_bytes()) else { return Vec::new() };
        let watchers = core::mem::take(&mut card.watchers);
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Sh-Data><Sh-IMS-Data><Extension>\
                   <Extension><Extension><Extension><UEReachabilityForIP>0</UEReachabilityForIP>\
                   </Extension></Extension></Extension></Extension></Sh-IMS-Data></Sh-Data>";
        let notification = |(to_host, to_realm): (Vec<u8>, Vec<u8>)| {
            let mut octets = Vec::new();
            let writer = Writer::request(&mut octets, &sh::PUSH_NOTIFICATION, sh::SH.id)
                .put(&base::SESSION_ID, session())
                .group(&base::VENDOR_SPECIFIC_APPLICATION_ID, |out| {
                    out.number(&base::VENDOR_ID, VENDOR_3GPP);
                    out.number(&base::AUTH_APPLICATION_ID, sh::SH.id);
                })
                .integer(&base::AUTH_SESSION_STATE, 1)
                .put(&base::ORIGIN_HOST, &host)
                .put(&base::ORIGIN_REALM, &realm)
                .put(&base::DESTINATION_HOST, to_host)
                .put(&base::DESTINATION_REALM, to_realm)
                .group(&sh::USER_IDENTITY, |out| {
                    out.put(&diameter::rows::cx::PUBLIC_IDENTITY, impu);
                })
                .put(&sh::USER_DATA, xml);
            writer.end().ok().map(|()| octets)
        };
        watchers.into_iter().filter_map(notification).collect()
    }
}

/// The Sequence-Number that has to follow, of data that are there or not.
const fn next_of(before: Option<u32>) -> u32 {
    match before {
        None => 0,
        Some(SEQUENCE_MAX..) => 1,
        Some(before) => before + 1,
    }
}

/// Text as it stands in XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A part of Sh-Data (TS 29.328 Annex D); `None`: this server has none.
fn part(card: &Card, reference: i32, service: &[u8]) -> Option<String> {
    let server = card.server.as_deref();
    Some(match reference {
        REPOSITORY_DATA => {
            let (number, data) = card.repository.get(service)?;
            let (service, data) = (String::from_utf8_lossy(service), String::from_utf8_lossy(data));
            format!(
                "<RepositoryData><ServiceIndication>{service}</ServiceIndication><SequenceNumber>\
                 {number}</SequenceNumber><ServiceData>{data}</ServiceData></RepositoryData>"
            )
        }
        IMS_USER_STATE => {
            let state = i32::from(server.is_some());
            format!("<Sh-IMS-Data><IMSUserState>{state}</IMSUserState></Sh-IMS-Data>")
        }
        S_CSCF_NAME => {
            let server = escaped(server?);
            format!("<Sh-IMS-Data><SCSCFName>{server}</SCSCFName></Sh-IMS-Data>")
        }
        MSISDN => {
            let msisdn = &card.subscriber.msisdn;
            format!("<PublicIdentifiers><MSISDN>{msisdn}</MSISDN></PublicIdentifiers>")
        }
        UE_REACHABILITY_FOR_IP => {
            let state = i32::from(server.is_none());
            format!(
                "<Sh-IMS-Data><Extension><Extension><Extension><Extension><UEReachabilityForIP>\
                 {state}</UEReachabilityForIP></Extension></Extension></Extension></Extension>\
                 </Sh-IMS-Data>"
            )
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_begins_with_zero_and_never_comes_back_to_it() {
        let follow = [None, Some(0), Some(65_534), Some(65_535), Some(u32::MAX)].map(next_of);
        assert_eq!(follow, [0, 1, 65_535, 1, 1]);
    }
}
