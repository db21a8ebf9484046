//! Primitives by seed.

use bytes::Bytes;
use m3ua::codec::PointCode;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sccp::codec::{Address, Digits, Routing, Title};
use tcap::codec::{Diagnostic, PAbortCause, Problem};
use tcap::{OperationClass, PAbort};
use tcu::{
    Code, Component, Hello, Indication, Misread, Named, NetworkIndication, NetworkRequest,
    PointCodeStatus, Portion, Refusal, Request, ToApplication, ToGateway, Welcome,
};

/// 0.4.0.0.1.0.20.3: shortMsgGatewayContext-v3.
pub const SHORT_MESSAGE: &[u8] = &[4, 0, 0, 1, 0, 20, 3];

pub struct Draw(ChaCha8Rng);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, most: u32) -> u32 {
        self.0.next_u32() % most
    }

    pub fn is(&mut self) -> bool {
        self.below(2) == 0
    }

    fn octet(&mut self) -> u8 {
        self.0.next_u32() as u8
    }

    fn number(&mut self) -> u64 {
        self.0.next_u64() >> 11
    }

    fn octets(&mut self, most: u32) -> Bytes {
        let count = self.below(most + 1);
        (0..count).map(|_| self.octet()).collect()
    }

    fn maybe<T>(&mut self, of: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.is() { Some(of(self)) } else { None }
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'é', '"', '\\', '\n', '0', '-'];
        (0..self.below(8)).map(|_| letters[self.below(7) as usize]).collect()
    }

    fn address(&mut self) -> Address {
        let digits = (0..1 + self.below(12)).map(|_| char::from(b'0' + self.octet() % 10));
        let digits = Digits::parse(&digits.collect::<String>()).unwrap();
        let mut title = Title::e164(digits);
        if self.is() {
            (title.plan, title.translation_type) = (6, self.octet());
        }
        Address {
            routing: if self.is() { Routing::Title } else { Routing::Subsystem },
            point_code: self.maybe(|it| PointCode::new(it.below(1 << 14)).unwrap()),
            subsystem: self.maybe(Self::octet),
            title: if self.is() { Some(title) } else { None },
        }
    }

    /// An element: an octet string in one of a few tags.
    fn element(&mut self) -> Bytes {
        let contents = self.octets(20);
        let mut octets = vec![[0x04, 0x30, 0x81][self.below(3) as usize], contents.len() as u8];
        if octets[0] == 0x30 {
            return Bytes::from_static(&[0x30, 0]);
        }
        octets.extend_from_slice(&contents);
        octets.into()
    }

    fn code(&mut self) -> Code {
        match self.below(3) {
            0 => Code::Global(Bytes::from_static(&[0x2a, 3, 4])),
            1 => Code::Local(i64::from(self.below(90))),
            _ => Code::Local(self.number() as i64),
        }
    }

    fn id(&mut self) -> i8 {
        self.octet().cast_signed()
    }

    fn problem(&mut self) -> Problem {
        Problem::of(self.below(4) as u8, i64::from(self.below(12)))
    }

    fn component(&mut self) -> Component {
        let classes =
            [OperationClass::One, OperationClass::Two, OperationClass::Three, OperationClass::Four];
        match self.below(4) {
            0 => Component::Invoke {
                id: self.id(),
                linked: self.maybe(Self::id),
                code: self.code(),
                parameter: self.maybe(Self::element),
                class: self.maybe(|it| classes[it.below(4) as usize]),
                time_ms: self.maybe(|it| it.below(100_000)),
            },
            1 => Component::Result {
                id: self.id(),
                is_last: self.is(),
                result: self.maybe(|it| (it.code(), it.maybe(Self::element))),
            },
            2 => Component::Error {
                id: self.id(),
                code: self.code(),
                parameter: self.maybe(Self::element),
            },
            _ => Component::Reject { id: self.maybe(Self::id), problem: self.problem() },
        }
    }

    /// With a context that is known, if there is one: it says what is spoken.
    fn portion(&mut self) -> Portion {
        let context = match self.below(3) {
            0 => None,
            1 => Some(Bytes::from_static(SHORT_MESSAGE)),
            _ => Some(Bytes::from_static(&[0x2a, 3])),
        };
        let mut user_information = Vec::new();
        if self.is() {
            map::dialogue::wrap(&mut user_information, &[0xa0, 0]);
        }
        if self.is() {
            user_information.extend_from_slice(&[0x28, 0]);
        }
        let components = (0..self.below(4)).map(|_| self.component()).collect();
        Portion { context, user_information: user_information.into(), components }
    }

    pub fn indication(&mut self) -> Indication {
        let (dialogue, called, calling) = (self.number(), self.address(), self.address());
        match self.below(16) {
            15 => Indication::Network(self.network_indication(called, calling)),
            0 => Indication::Uni { called, calling, portion: self.portion() },
            1 => {
                let (is_again, portion) = (self.is(), self.portion());
                Indication::Begin { dialogue, called, calling, is_again, portion }
            }
            2 => Indication::Continue { dialogue, portion: self.portion() },
            3 => Indication::End { dialogue, portion: self.portion() },
            4 => {
                let refused = self.maybe(|it| match it.is() {
                    true => Diagnostic::User(it.below(3).into()),
                    false => Diagnostic::Provider(it.below(3).into()),
                });
                Indication::UAbort { dialogue, refused, portion: self.portion() }
            }
            5 => {
                let rows = PAbortCause::ALL;
                let cause = [
                    PAbort::Cause(rows[self.below(5) as usize].number().into()),
                    PAbort::Cause(77),
                    PAbort::AbnormalDialogue,
                    PAbort::NoCommonDialoguePortion,
                    PAbort::Idle,
                ][self.below(5) as usize];
                Indication::PAbort { dialogue, cause }
            }
            6 => Indication::Notice { dialogue, cause: self.octet() },
            7 => {
                let (id, problem) = (self.maybe(Self::id), self.problem());
                Indication::LocalReject { dialogue, id, problem }
            }
            8 => Indication::Cancel { dialogue, id: self.id() },
            9 => Indication::State {
                point_code: PointCode::new(self.below(1 << 14)).unwrap(),
                subsystem: self.octet(),
                in_service: self.is(),
            },
            10 => Indication::PointCode {
                point_code: PointCode::new(self.below(1 << 14)).unwrap(),
                status: [
                    PointCodeStatus::Inaccessible,
                    PointCodeStatus::Accessible,
                    PointCodeStatus::SccpUnavailable,
                    PointCodeStatus::SccpAvailable,
                    PointCodeStatus::Congested(3),
                ][self.below(5) as usize],
            },
            11 => Indication::Begun { reference: self.number(), dialogue },
            12 => Indication::Refused {
                reference: self.maybe(Self::number),
                dialogue: self.maybe(Self::number),
                why: [
                    Refusal::Full,
                    Refusal::Unknown,
                    Refusal::State,
                    Refusal::InvokeId,
                    Refusal::Long,
                    Refusal::Calling,
                ][self.below(6) as usize],
            },
            13 => Indication::Resume {
                dialogue,
                own: called,
                peer: calling,
                context: self.maybe(|_| Bytes::from_static(SHORT_MESSAGE)),
                state: self.octets(256),
            },
            _ => Indication::Slow(self.is()),
        }
    }

    pub fn request(&mut self) -> Request {
        let (dialogue, called, calling) = (self.number(), self.address(), self.address());
        let state = self.maybe(|it| it.octets(256));
        match self.below(10) {
            9 => Request::Network(self.network_request(called, calling)),
            0 => Request::Uni { called, calling, portion: self.portion() },
            1 => {
                let (reference, portion) = (self.number(), self.portion());
                Request::Begin { reference, called, calling, state, portion }
            }
            2 => Request::Continue { dialogue, state, portion: self.portion() },
            3 => {
                let (is_prearranged, portion) = (self.is(), self.portion());
                Request::End { dialogue, is_prearranged, portion }
            }
            4 => Request::UAbort { dialogue, portion: self.portion() },
            5 => Request::Cancel { dialogue, id: self.id() },
            6 => {
                let (id, time_ms) = (self.id(), self.maybe(|it| it.below(1_000)));
                Request::TimerReset { dialogue, id, time_ms }
            }
            7 => Request::Keep { dialogue, state: self.octets(256) },
            _ => Request::State { in_service: self.is() },
        }
    }

    fn network_indication(&mut self, called: Address, calling: Address) -> NetworkIndication {
        use NetworkIndication as N;
        let (connection, cause, data) = (self.below(1 << 24), self.octet(), self.octets(200));
        let class = 2 + self.below(2) as u8;
        match self.below(13) {
            0 => N::Connecting { reference: self.number(), connection },
            1 => {
                let calling = self.maybe(|_| calling);
                N::Connect { connection, called, calling, class, data }
            }
            2 => N::Connected { connection, class, data },
            3 => N::Data { connection, data },
            4 => N::Expedited { connection, data },
            5 => N::Reset { connection, cause },
            6 => N::ResetConfirm { connection },
            7 => N::Disconnect {
                reference: self.maybe(Self::number),
                connection: self.maybe(|_| connection),
                is_refused: self.is(),
                cause,
                data,
            },
            8 => N::Inform { connection, is_available: self.is() },
            9 => N::NotSent { connection },
            10 => N::Unitdata { called, calling, data },
            11 => N::Resume { connection, class, is_there: self.is() },
            _ => N::Notice { called, calling, cause, data },
        }
    }

    fn network_request(&mut self, called: Address, calling: Address) -> NetworkRequest {
        use NetworkRequest as N;
        let (connection, cause, data) = (self.below(1 << 24), self.octet(), self.octets(200));
        let class = 2 + self.below(2) as u8;
        match self.below(8) {
            0 => N::Connect { reference: self.number(), called, calling, class, data },
            1 => N::Accept { connection, class: self.maybe(|_| class), data },
            2 => N::Data { connection, data },
            3 => N::Expedited { connection, data },
            4 => N::Reset { connection, cause },
            5 => N::ResetResponse { connection },
            6 => N::Disconnect { connection, cause, data },
            _ => {
                let (class, returns) = (class - 2, self.is());
                N::Unitdata { called, calling, class, returns, data }
            }
        }
    }

    pub fn of_gateway(&mut self) -> ToApplication {
        match self.below(12) {
            0 => ToApplication::Challenge(self.octets(32)),
            1 => ToApplication::Welcome(Welcome {
                version: 1,
                function: self.text(),
                subsystem: self.octet(),
                message_octets_max: 65_536,
                state_octets_max: 256,
            }),
            2 => {
                let dialogue = self.maybe(|it| it.below(99_999).into());
                let reference = self.maybe(|it| it.below(99_999).into());
                let of = Named { dialogue, reference };
                ToApplication::Malformed(Misread { what: self.text(), at: self.below(9_999), of })
            }
            3 => ToApplication::Bye(self.text()),
            _ => ToApplication::Indication(self.indication()),
        }
    }

    pub fn of_application(&mut self) -> ToGateway {
        match self.below(8) {
            0 => ToGateway::Hello(Hello {
                version: 1,
                application: self.text(),
                group: self.text(),
                instance: self.text(),
                proof: self.maybe(|it| it.octets(32)),
            }),
            _ => ToGateway::Request(self.request()),
        }
    }
}
