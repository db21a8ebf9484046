//! Requests as operations, and the answers to them.

use super::ask::SM_RP_PRI;
use super::{Named, errors, number, tbcd};
use crate::identity::{Imsi, Msisdn};
use crate::informed::MwStatus;
use crate::invoked::{Invoked, Refused, report_of, routing_of};
use diameter::codec::{Avp, AvpWriter, Avps, Message, ResultCode, Writer};
use diameter::row::{Kind, Row};
use diameter::rows::base::{FAILED_AVP, USER_NAME};
use diameter::rows::sh::MSISDN;
use diameter::rows::{s6c, sgd};
use map::types::SmDeliveryOutcome;
use map::{Error, Operation};
use tcu::{Code, Component};

/// Outcomes of a delivery, that of an IP-SM-GW first.
const OUTCOMES: [&Row; 4] = [
    &s6c::IP_SM_GW_SM_DELIVERY_OUTCOME,
    &s6c::MME_SM_DELIVERY_OUTCOME,
    &s6c::MSC_SM_DELIVERY_OUTCOME,
    &s6c::SGSN_SM_DELIVERY_OUTCOME,
];

/// What a request lacks, or has that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The Result-Code that says so.
    pub code: ResultCode,
    /// What Failed-AVP has (RFC 6733 §7.5).
    failed: Vec<u8>,
}

impl Unfit {
    /// An AVP lacks: an example of it is told, with zeros (RFC 6733 §7.1.5).
    fn lacks(row: &Row) -> Self {
        let octets = match row.kind {
            Kind::Grouped(_) => 0,
            Kind::Enumerated(_) => 4,
            _ => 1,
        };
        let mut failed = Vec::new();
        AvpWriter::new(&mut failed).put(row, &[0; 4][..octets]);
        Self { code: ResultCode::MissingAvp, failed }
    }

    /// The value of an AVP cannot be.
    fn invalid(avp: &Avp<'_>) -> Self {
        let mut failed = Vec::new();
        AvpWriter::new(&mut failed).copy(avp.whole);
        Self { code: ResultCode::InvalidAvpValue, failed }
    }

    /// Writes it behind the head of an answer.
    pub fn write<'a>(&self, writer: Writer<'a>) -> Writer<'a> {
        let writer = writer.result(self.code);
        writer.group(&FAILED_AVP, |out| out.copy(&self.failed))
    }
}

/// Who answers.
#[derive(Debug, Clone)]
pub struct Own {
    /// Its number.
    pub number: Msisdn,
    /// Its host.
    pub host: String,
    /// Its realm.
    pub realm: String,
}

/// The operation that a request is; none: it is not one that is served.
#[must_use]
pub fn operation(message: &Message<'_>) -> Option<Operation> {
    let header = message.header;
    match (header.application, header.command) {
        (id, code) if id == s6c::S6C.id && code == s6c::SEND_ROUTING_INFO_FOR_SM.code => {
            Some(Operation::SendRoutingInfoForSm)
        }
        (id, code) if id == s6c::S6C.id && code == s6c::REPORT_SM_DELIVERY_STATUS.code => {
            Some(Operation::ReportSmDeliveryStatus)
        }
        (id, code) if id == sgd::SGD.id && code == sgd::MT_FORWARD_SHORT_MESSAGE.code => {
            Some(Operation::MtForwardSm)
        }
        _ => None,
    }
}

fn one<'a>(avps: &Avps<'a>, row: &Row) -> Result<Avp<'a>, Unfit> {
    avps.find(row).ok_or_else(|| Unfit::lacks(row))
}

fn number_at(avps: &Avps<'_>, row: &Row) -> Result<Msisdn, Unfit> {
    let avp = one(avps, row)?;
    number(avp.data).ok_or_else(|| Unfit::invalid(&avp))
}

/// What a request asks that is an operation which is served.
///
/// # Errors
/// What it lacks, or what cannot be.
pub fn read(operation: Operation, message: &Message<'_>) -> Result<Invoked, Unfit> {
    let avps = message.avps();
    let centre = number_at(&avps, &s6c::SC_ADDRESS)?.address_string();
    match operation {
        Operation::MtForwardSm => {
            let user = one(&avps, &USER_NAME)?;
            let imsi = user.text().ok().and_then(Imsi::of);
            let imsi = imsi.ok_or_else(|| Unfit::invalid(&user))?;
            let tpdu = one(&avps, &sgd::SM_RP_UI)?.data.to_vec();
            // Each message is a request of its own, whatever TFR-Flags says of more.
            Ok(Invoked::Deliver { imsi, centre, tpdu, has_more: false })
        }
        Operation::SendRoutingInfoForSm => {
            let msisdn = number_at(&avps, &MSISDN)?;
            let flags = avps.find(&s6c::SRR_FLAGS).and_then(|it| it.unsigned32().ok());
            let has_priority = flags.unwrap_or_default() & SM_RP_PRI != 0;
            Ok(Invoked::Routing { msisdn, centre, has_priority })
        }
        _ => {
            let user = one(&avps, &s6c::USER_IDENTIFIER)?;
            let msisdn = number_at(&user.group(), &MSISDN)?;
            let told = one(&avps, &s6c::SM_DELIVERY_OUTCOME)?;
            let (outcome, diagnostic) = outcome_of(&told)?;
            Ok(Invoked::Report { msisdn, centre, outcome, diagnostic })
        }
    }
}

fn outcome_of(told: &Avp<'_>) -> Result<(SmDeliveryOutcome, Option<i64>), Unfit> {
    let all = told.group();
    let one_of = OUTCOMES.iter().find_map(|row| all.find(row));
    let outcome = one_of.ok_or_else(|| Unfit::invalid(told))?.group();
    let cause = one(&outcome, &s6c::SM_DELIVERY_CAUSE)?;
    let known = cause.integer32().ok().and_then(|it| SmDeliveryOutcome::of(it.into()));
    let diagnostic = outcome.find(&s6c::ABSENT_USER_DIAGNOSTIC_SM);
    let diagnostic = diagnostic.and_then(|it| it.unsigned32().ok()).map(i64::from);
    Ok((known.ok_or_else(|| Unfit::invalid(&cause))?, diagnostic))
}

/// Writes what the components of an answer in MAP say; without one the node cannot comply. `named`
/// knows the names of nodes by their numbers.
pub fn answer<'a>(
    operation: Operation,
    components: &[Component],
    own: &Own,
    named: impl Fn(&Msisdn) -> Option<Named>,
    writer: Writer<'a>,
) -> Writer<'a> {
    let is_answer = |it: &&Component| !matches!(it, Component::Invoke { .. });
    let status = MwStatus::of_components(components);
    let told = status.filter(|_| operation == Operation::SendRoutingInfoForSm);
    let writer = match components.iter().find(is_answer) {
        Some(Component::Result { result, .. }) => {
            let value = result.as_ref().and_then(|it| it.1.as_deref());
            done(operation, value, own, named, writer)
        }
        Some(Component::Error { code: Code::Local(code), parameter, .. }) => {
            let error = Error::of(*code).unwrap_or(Error::SystemFailure);
            errors::write(&Refused { error, parameter: parameter.clone() }, writer)
        }
        _ => return writer.result(ResultCode::UnableToComply),
    };
    match told {
        Some(status) => inform(&status, writer),
        None => writer,
    }
}

/// Writes what is told of the messages that wait.
fn inform<'a>(status: &MwStatus, writer: Writer<'a>) -> Writer<'a> {
    let writer = writer.number(&s6c::MWD_STATUS, status.number());
    match &status.stored {
        Some(stored) => writer.group(&s6c::USER_IDENTIFIER, |out| {
            out.put(&MSISDN, tbcd(stored.digits()));
        }),
        None => writer,
    }
}

fn done<'a>(
    operation: Operation,
    value: Option<&[u8]>,
    own: &Own,
    named: impl Fn(&Msisdn) -> Option<Named>,
    writer: Writer<'a>,
) -> Writer<'a> {
    match operation {
        Operation::SendRoutingInfoForSm => {
            let Some((imsi, nodes)) = value.and_then(routing_of) else {
                return writer.result(ResultCode::UnableToComply);
            };
            let writer = writer.result(ResultCode::Success).put(&USER_NAME, imsi.digits());
            let rows = [&s6c::SERVING_NODE, &s6c::ADDITIONAL_SERVING_NODE];
            let nodes = rows.into_iter().zip(&nodes);
            nodes.fold(writer, |writer, (row, node)| {
                writer.group(row, |out| served_at(node, own, named(node), out))
            })
        }
        Operation::MtForwardSm => {
            let writer = writer.result(ResultCode::Success);
            match value.and_then(report_of) {
                Some(report) => writer.put(&sgd::SM_RP_UI, report),
                None => writer,
            }
        }
        _ => writer.result(ResultCode::Success),
    }
}

/// A node that serves a user: this one, one with a name, or one that has a number alone.
fn served_at(node: &Msisdn, own: &Own, named: Option<Named>, out: &mut AvpWriter<'_>) {
    let digits = tbcd(node.digits());
    if own.number == *node {
        out.put(&s6c::IP_SM_GW_NUMBER, digits);
        out.put(&s6c::IP_SM_GW_NAME, &own.host);
        return out.put(&s6c::IP_SM_GW_REALM, &own.realm);
    }
    let Some(named) = named else { return out.put(&s6c::MSC_NUMBER, digits) };
    let [host, realm, number] = named.kind.rows();
    out.put(host, &named.host);
    out.put(realm, &named.realm);
    out.put(number, digits);
}
