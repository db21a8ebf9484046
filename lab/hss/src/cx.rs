//! Cx: registrations and vectors (TS 29.228 §6).

use crate::sh::escaped;
use crate::subscriber::{Body, Hss, Refusal, USER_UNKNOWN, body, data};
use aka::{Auts, Rand};
use diameter::codec::{Message, ResultCode};
use diameter::rows::{base, cx};

/// `DIAMETER_FIRST_REGISTRATION`, `DIAMETER_ERROR_IDENTITIES_DONT_MATCH`,
/// `DIAMETER_ERROR_IDENTITY_NOT_REGISTERED`, `DIAMETER_ERROR_AUTH_SCHEME_NOT_SUPPORTED` (TS 29.229
/// §6.2).
const FIRST_REGISTRATION: u32 = 2001;
const IDENTITIES_DONT_MATCH: u32 = 5002;
const IDENTITY_NOT_REGISTERED: u32 = 5003;
const AUTH_SCHEME_NOT_SUPPORTED: u32 = 5006;
/// The scheme that is answered, and the one that leaves it open.
const SCHEMES: [&[u8]; 2] = [b"Digest-AKAv1-MD5", b"Unknown"];
/// Vectors of one answer at most.
const VECTORS_MAX: u32 = 8;

impl Hss {
    /// Both identities of a request belong to one subscription.
    fn fits(&self, request: &Message<'_>) -> Result<String, Refusal> {
        let impi = data(request, &base::USER_NAME).unwrap_or_default();
        let impi = String::from_utf8_lossy(impi).into_owned();
        let card = self.cards.get(&impi).ok_or(Refusal::Experimental(USER_UNKNOWN))?;
        match data(request, &cx::PUBLIC_IDENTITY) {
            Some(impu) if impu == card.subscriber.impu.as_bytes() => Ok(impi),
            _ => Err(Refusal::Experimental(IDENTITIES_DONT_MATCH)),
        }
    }

    /// UAR: which S-CSCF (TS 29.228 §6.1.1).
    pub(crate) fn user_authorization(&mut self, request: &Message<'_>) -> Body {
        let impi = self.fits(request)?;
        match self.cards.get(&impi).and_then(|card| card.server.clone()) {
            Some(server) => Ok(body(|out| out.put(&cx::SERVER_NAME, server))),
            None => Err(Refusal::Experimental(FIRST_REGISTRATION)),
        }
    }

    /// SAR: the S-CSCF tells that it serves, or does no more (TS 29.228 §6.1.2).
    pub(crate) fn server_assignment(&mut self, request: &Message<'_>) -> Body {
        let impu = data(request, &cx::PUBLIC_IDENTITY).unwrap_or_default().to_vec();
        let server = data(request, &cx::SERVER_NAME).unwrap_or_default();
        let server = String::from_utf8_lossy(server).into_owned();
        let kind = request.avps().find(&cx::SERVER_ASSIGNMENT_TYPE);
        let kind = kind.and_then(|it| it.integer32().ok()).unwrap_or_default();
        let card = self.of_public(&impu)?;
        card.server = match kind {
            // Timeouts, de-registrations and failures of authentication.
            4 | 5 | 8..=11 => None,
            _ => Some(server),
        };
        let profile = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><IMSSubscription><PrivateID>{}</PrivateID>\
             <ServiceProfile><PublicIdentity><Identity>{}</Identity></PublicIdentity>\
             </ServiceProfile></IMSSubscription>",
            escaped(&card.subscriber.impi),
            escaped(&card.subscriber.impu)
        );
        let impi = card.subscriber.impi.clone();
        Ok(body(|out| {
            out.put(&base::USER_NAME, impi);
            out.put(&cx::USER_DATA, profile);
        }))
    }

    /// LIR: where it is served (TS 29.228 §6.1.4).
    pub(crate) fn location_info(&mut self, request: &Message<'_>) -> Body {
        let impu = data(request, &cx::PUBLIC_IDENTITY).unwrap_or_default().to_vec();
        match self.of_public(&impu)?.server.clone() {
            Some(server) => Ok(body(|out| out.put(&cx::SERVER_NAME, server))),
            None => Err(Refusal::Experimental(IDENTITY_NOT_REGISTERED)),
        }
    }

    /// MAR: vectors, after a resynchronisation if the card wants one (TS 29.228 §6.3).
    pub(crate) fn multimedia_auth(&mut self, request: &Message<'_>) -> Body {
        let impi = self.fits(request)?;
        let item = request.avps().find(&cx::SIP_AUTH_DATA_ITEM);
        let item = item.ok_or(Refusal::Base(ResultCode::MissingAvp))?.group();
        let scheme = item.find(&cx::SIP_AUTHENTICATION_SCHEME).map(|it| it.data);
        if !scheme.is_some_and(|it| SCHEMES.contains(&it)) {
            return Err(Refusal::Experimental(AUTH_SCHEME_NOT_SUPPORTED));
        }
        if let Some(told) = item.find(&cx::SIP_AUTHORIZATION) {
            self.resynchronise(&impi, told.data)?;
        }
        let wanted = request.avps().find(&cx::SIP_NUMBER_AUTH_ITEMS);
        let wanted = wanted.and_then(|it| it.unsigned32().ok()).unwrap_or(1);
        let count = wanted.clamp(1, VECTORS_MAX);
        let mut vectors = Vec::new();
        for _ in 0..count {
            let rand = u128::from(self.random()) << 64 | u128::from(self.random());
            let card = self.cards.get_mut(&impi).ok_or(Refusal::Experimental(USER_UNKNOWN))?;
            let vector = card.home.vector(Rand(rand.to_be_bytes()), 0);
            vectors.push(vector.map_err(|_| Refusal::Base(ResultCode::UnableToComply))?);
        }
        let impu = data(request, &cx::PUBLIC_IDENTITY).unwrap_or_default();
        Ok(body(|out| {
            out.put(&base::USER_NAME, &impi);
            out.put(&cx::PUBLIC_IDENTITY, impu);
            out.number(&cx::SIP_NUMBER_AUTH_ITEMS, count);
            for (number, vector) in (1..).zip(&vectors) {
                out.group(&cx::SIP_AUTH_DATA_ITEM, |out| {
                    out.number(&cx::SIP_ITEM_NUMBER, number);
                    out.put(&cx::SIP_AUTHENTICATION_SCHEME, SCHEMES[0]);
                    let challenge = [&vector.rand.0[..], &vector.autn.octets()].concat();
                    out.put(&cx::SIP_AUTHENTICATE, challenge);
                    out.put(&cx::SIP_AUTHORIZATION, vector.xres.expose());
                    out.put(&cx::CONFIDENTIALITY_KEY, vector.ck.expose());
                    out.put(&cx::INTEGRITY_KEY, vector.ik.expose());
                });
            }
        }))
    }

    /// RAND and AUTS of a card that is out of step.
    fn resynchronise(&mut self, impi: &str, told: &[u8]) -> Result<(), Refusal> {
        let wrong = Refusal::Base(ResultCode::InvalidAvpValue);
        let (rand, auts) = told.split_first_chunk::<16>().ok_or(wrong)?;
        let auts = Auts::new(auts).ok_or(wrong)?;
        let card = self.cards.get_mut(impi).ok_or(Refusal::Experimental(USER_UNKNOWN))?;
        card.home.resynchronise(&Rand(*rand), &auts, 0).map_err(|_| wrong)
    }
}
