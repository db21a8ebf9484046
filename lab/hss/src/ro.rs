//! Ro: immediate events of an online charging system (RFC 8506 §6): units are debited from an
//! account and refunded, and a request that comes again changes nothing.

use crate::subscriber::{Body, Hss, Refusal, body};
use diameter::codec::{Avps, Message, ResultCode};
use diameter::rows::{base, ro};
use std::collections::{BTreeMap, VecDeque};

/// Requests that are remembered.
const SESSIONS_MAX: usize = 10_000;
/// Values of CC-Request-Type, Requested-Action, Check-Balance-Result and Subscription-Id-Type.
const EVENT_REQUEST: i32 = 4;
const DIRECT_DEBITING: i32 = 0;
const REFUND_ACCOUNT: i32 = 1;
const CHECK_BALANCE: i32 = 2;
const ENOUGH_CREDIT: i32 = 0;
const NO_CREDIT: i32 = 1;
const END_USER_E164: i32 = 0;

/// Accounts by the numbers of who pays.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    units: BTreeMap<String, u64>,
    /// What requests were answered, by their sessions.
    answered: BTreeMap<Vec<u8>, Body>,
    order: VecDeque<Vec<u8>>,
}

/// What a request is about.
struct Event {
    number: String,
    units: u64,
    action: i32,
}

fn integer(avps: &Avps<'_>, row: &diameter::row::Row) -> Result<i32, Refusal> {
    let found = avps.find(row).ok_or(Refusal::Base(ResultCode::MissingAvp))?;
    found.integer32().map_err(|_| Refusal::Base(ResultCode::InvalidAvpValue))
}

fn payer(avps: &Avps<'_>) -> Option<String> {
    let is_number = |it: &Avps<'_>| integer(it, &ro::SUBSCRIPTION_ID_TYPE) == Ok(END_USER_E164);
    let all = avps.all(&ro::SUBSCRIPTION_ID).map(|it| it.group());
    let found = all.filter(is_number).find_map(|it| it.find(&ro::SUBSCRIPTION_ID_DATA));
    found.and_then(|it| it.text().ok().map(str::to_owned))
}

impl Event {
    fn of(request: &Message<'_>) -> Result<Self, Refusal> {
        let avps = request.avps();
        if integer(&avps, &ro::CC_REQUEST_TYPE)? != EVENT_REQUEST {
            return Err(Refusal::Base(ResultCode::UnableToComply));
        }
        let action = integer(&avps, &ro::REQUESTED_ACTION)?;
        let number = payer(&avps).ok_or(Refusal::Base(ResultCode::UserUnknown))?;
        let service = avps.find(&ro::MULTIPLE_SERVICES_CREDIT_CONTROL).map(|it| it.group());
        let wanted = service.unwrap_or(avps).find(&ro::REQUESTED_SERVICE_UNIT);
        let units = wanted.and_then(|it| it.group().find(&ro::CC_SERVICE_SPECIFIC_UNITS));
        let units = units.and_then(|it| it.unsigned64().ok());
        let units = units.ok_or(Refusal::Base(ResultCode::RatingFailed))?;
        Ok(Self { number, units, action })
    }
}

impl Hss {
    /// Gives whoever has that number an account with so many units.
    pub fn open_account(&mut self, number: &str, units: u64) {
        self.accounts.units.insert(number.to_owned(), units);
    }

    /// What an account has; none: there is no such account.
    #[must_use]
    pub fn balance(&self, number: &str) -> Option<u64> {
        self.accounts.units.get(number).copied()
    }

    /// CCR: an event is debited or refunded, once.
    pub(crate) fn credit_control(&mut self, request: &Message<'_>) -> Body {
        let session = request.avps().find(&base::SESSION_ID);
        let session = session.map(|it| it.data.to_vec()).unwrap_or_default();
        if let Some(answered) = self.accounts.answered.get(&session) {
            return answered.clone();
        }
        let answer = Event::of(request).and_then(|it| self.accounts.carry_out(&it));
        self.accounts.answered.insert(session.clone(), answer.clone());
        self.accounts.order.push_back(session);
        if self.accounts.order.len() > SESSIONS_MAX
            && let Some(first) = self.accounts.order.pop_front()
        {
            self.accounts.answered.remove(&first);
        }
        answer
    }
}

impl Accounts {
    fn carry_out(&mut self, event: &Event) -> Body {
        let account = self.units.get_mut(&event.number);
        let account = account.ok_or(Refusal::Base(ResultCode::UserUnknown))?;
        let left = account.checked_sub(event.units);
        match event.action {
            DIRECT_DEBITING => {
                *account = left.ok_or(Refusal::Base(ResultCode::CreditLimitReached))?;
                Ok(body(|out| {
                    out.group(&ro::MULTIPLE_SERVICES_CREDIT_CONTROL, |out| {
                        out.group(&ro::GRANTED_SERVICE_UNIT, |out| {
                            out.number64(&ro::CC_SERVICE_SPECIFIC_UNITS, event.units);
                        });
                        out.number(&base::RESULT_CODE, ResultCode::Success.number());
                    });
                }))
            }
            REFUND_ACCOUNT => {
                *account = account.saturating_add(event.units);
                Ok(Vec::new())
            }
            CHECK_BALANCE => Ok(body(|out| {
                let enough = if left.is_some() { ENOUGH_CREDIT } else { NO_CREDIT };
                out.integer(&ro::CHECK_BALANCE_RESULT, enough);
            })),
            _ => Err(Refusal::Base(ResultCode::RatingFailed)),
        }
    }
}
