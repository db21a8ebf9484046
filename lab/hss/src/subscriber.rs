//! The subscribers, and which command is answered where.

use crate::ro::Accounts;
use aka::{Algorithm, Amf, Generator, GeneratorState, Home, Milenage, Scheme};
use core::fmt;
use diameter::codec::{AvpWriter, Flags, Message, ResultCode, Writer};
use diameter::row::Row;
use diameter::rows::{VENDOR_3GPP, base, cx, ro, sh};
use std::collections::{BTreeMap, BTreeSet};

/// `DIAMETER_ERROR_USER_UNKNOWN` (TS 29.229 §6.2.2.1).
pub(crate) const USER_UNKNOWN: u32 = 5001;
/// Services of a subscriber's repository at most, and octets of them all.
const REPOSITORY_MAX: usize = 32;
const REPOSITORY_OCTETS_MAX: usize = 64 << 10;

/// A subscription.
#[derive(Clone)]
pub struct Subscriber {
    /// Private identity.
    pub impi: String,
    /// Public identity.
    pub impu: String,
    /// Digits of its number.
    pub msisdn: String,
    /// K.
    pub k: [u8; 16],
    /// OPc.
    pub opc: [u8; 16],
}

/// Without the keys.
impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("impi", &self.impi).finish_non_exhaustive()
    }
}

/// A subscription and its state.
#[derive(Debug)]
pub(crate) struct Card {
    pub subscriber: Subscriber,
    pub home: Home,
    /// The S-CSCF that serves it.
    pub server: Option<String>,
    /// Transparent data by Service-Indication, with their Sequence-Number.
    pub repository: BTreeMap<Vec<u8>, (u32, Vec<u8>)>,
    /// Hosts that want to know when it can be reached (TS 29.328 §7.6.18).
    pub watchers: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

/// A home subscriber server.
#[derive(Debug)]
pub struct Hss {
    pub(crate) cards: BTreeMap<String, Card>,
    pub(crate) host: String,
    pub(crate) realm: String,
    pub(crate) accounts: Accounts,
    random: u64,
}

/// What stands in an answer behind its head.
pub(crate) type Body = Result<Vec<u8>, Refusal>;

/// Why there is no answer with success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A Result-Code.
    Base(ResultCode),
    /// An Experimental-Result-Code of 3GPP, of a success too.
    Experimental(u32),
}

impl Hss {
    /// A server of these subscribers; `host` and `realm` are its own.
    #[must_use]
    pub fn new(
        host: &str,
        realm: &str,
        subscribers: impl IntoIterator<Item = Subscriber>,
        seed: u64,
    ) -> Self {
        let card = |subscriber: Subscriber| {
            let generator =
                Generator::new(Scheme::Counter, aka::IND_BITS, GeneratorState::default());
            let milenage = Milenage::new(&subscriber.k, &subscriber.opc);
            let home = Home::new(Algorithm::Milenage(milenage), Amf([0x80, 0]), generator);
            let (repository, watchers) = (BTreeMap::new(), BTreeSet::new());
            let impi = subscriber.impi.clone();
            (impi, Card { subscriber, home, server: None, repository, watchers })
        };
        let cards = subscribers.into_iter().map(card).collect();
        let (host, realm, accounts) = (host.to_owned(), realm.to_owned(), Accounts::default());
        Self { cards, host, realm, accounts, random: seed }
    }

    /// SplitMix64.
    pub(crate) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Answers a request that was checked.
    #[must_use]
    pub fn answer(&mut self, request: &Message<'_>) -> Vec<u8> {
        let body = match (request.header.application, request.header.command) {
            (id, 300) if id == cx::CX.id => self.user_authorization(request),
            (id, 301) if id == cx::CX.id => self.server_assignment(request),
            (id, 302) if id == cx::CX.id => self.location_info(request),
            (id, 303) if id == cx::CX.id => self.multimedia_auth(request),
            (id, 306) if id == sh::SH.id => self.user_data(request),
            (id, 307) if id == sh::SH.id => self.profile_update(request),
            (id, 308) if id == sh::SH.id => self.subscribe(request),
            (id, 272) if id == ro::RO.id => self.credit_control(request),
            _ => Err(Refusal::Base(ResultCode::CommandUnsupported)),
        };
        self.whole(request, body)
    }

    /// Head and body of an answer.
    fn whole(&self, request: &Message<'_>, body: Body) -> Vec<u8> {
        let mut octets = Vec::with_capacity(512);
        let mut header = request.header;
        header.flags.0 &= Flags::PROXIABLE;
        if matches!(body, Err(Refusal::Base(code)) if code.is_protocol_error()) {
            header.flags.0 |= Flags::ERROR;
        }
        let mut writer = Writer::begin(&mut octets, &header);
        let is_charging = header.application == ro::RO.id;
        let kept: &[&Row] = match is_charging {
            true => &[
                &base::SESSION_ID,
                &base::AUTH_APPLICATION_ID,
                &ro::CC_REQUEST_TYPE,
                &ro::CC_REQUEST_NUMBER,
            ],
            false => &[&base::SESSION_ID, &base::VENDOR_SPECIFIC_APPLICATION_ID],
        };
        for row in kept {
            if let Some(avp) = request.avps().find(row) {
                writer.avps().copy(avp.whole);
            }
        }
        writer = match &body {
            Ok(_) => writer.result(ResultCode::Success),
            Err(Refusal::Base(code)) => writer.result(*code),
            Err(Refusal::Experimental(code)) => writer.group(&base::EXPERIMENTAL_RESULT, |out| {
                out.number(&base::VENDOR_ID, VENDOR_3GPP);
                out.number(&base::EXPERIMENTAL_RESULT_CODE, *code);
            }),
        };
        if !is_charging {
            writer = writer.integer(&base::AUTH_SESSION_STATE, 1);
        }
        writer = writer.put(&base::ORIGIN_HOST, &self.host).put(&base::ORIGIN_REALM, &self.realm);
        for proxy in request.avps().all(&base::PROXY_INFO) {
            writer.avps().copy(proxy.whole);
        }
        writer.avps().copy(&body.unwrap_or_default());
        match writer.end() {
            Ok(()) => octets,
            Err(_) => self.whole(request, Err(Refusal::Base(ResultCode::UnableToComply))),
        }
    }

    /// The subscription of a public identity.
    pub(crate) fn of_public(&mut self, impu: &[u8]) -> Result<&mut Card, Refusal> {
        let found = self.cards.values_mut().find(|it| it.subscriber.impu.as_bytes() == impu);
        found.ok_or(Refusal::Experimental(USER_UNKNOWN))
    }

    /// Keeps transparent data, as far as there is room.
    pub(crate) fn keep(card: &mut Card, service: &[u8], number: u32, data: &[u8]) -> bool {
        let others = card.repository.iter().filter(|it| it.0 != service);
        let (count, octets) = others.fold((0, 0), |(count, octets), (service, (_, data))| {
            (count + 1, octets + service.len() + data.len())
        });
        let has_room =
            count < REPOSITORY_MAX && octets + service.len() + data.len() <= REPOSITORY_OCTETS_MAX;
        if has_room {
            card.repository.insert(service.to_vec(), (number, data.to_vec()));
        }
        has_room
    }
}

/// The data of an AVP of a message.
pub(crate) fn data<'a>(message: &Message<'a>, row: &diameter::row::Row) -> Option<&'a [u8]> {
    message.avps().find(row).map(|avp| avp.data)
}

/// The octets that `fill` writes.
pub(crate) fn body(fill: impl FnOnce(&mut AvpWriter<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    fill(&mut AvpWriter::new(&mut octets));
    octets
}
