//! Answers as results and errors of MAP.

use super::{Named, NodeKind, VERSION, errors, number, result, serving};
use crate::identity::{Imsi, Msisdn};
use crate::informed::MwStatus;
use crate::invoked::{Refused, delivery_result};
use ber::Writer;
use bytes::Bytes;
use diameter::codec::{Avps, Message};
use diameter::row::Row;
use diameter::rows::base::USER_NAME;
use diameter::rows::sh::MSISDN;
use diameter::rows::{s6c, sgd};
use map::types::{AdditionalNumber, LocationInfoWithLmsi, RoutingInfoForSmRes};
use map::{Error, Operation};

/// The nodes of an answer that have a number and a name.
#[must_use]
pub fn names(message: &Message<'_>) -> Vec<Named> {
    let kinds = [NodeKind::Mme, NodeKind::Sgsn];
    let all = serving(message).flat_map(|node| kinds.map(|kind| named(&node, kind)));
    all.flatten().collect()
}

fn named(node: &Avps<'_>, kind: NodeKind) -> Option<Named> {
    let [host, realm, digits] = kind.rows();
    let text = |row: &Row| node.find(row)?.text().ok().map(str::to_owned);
    let number = number(node.find(digits)?.data)?;
    Some(Named { kind, number, host: text(host)?, realm: text(realm)? })
}

/// What an answer about routing tells of the messages that wait.
#[must_use]
pub fn informed(message: &Message<'_>) -> Option<MwStatus> {
    let number = message.avps().find(&s6c::MWD_STATUS)?.unsigned32().ok()?;
    let user = message.avps().find(&s6c::USER_IDENTIFIER).map(|it| it.group());
    let stored = user.and_then(|it| it.find(&MSISDN)).and_then(|it| super::number(it.data));
    Some(MwStatus::of_number(number, stored))
}

/// The number of the node that a group names.
fn node_number(node: &Avps<'_>) -> Option<Msisdn> {
    let rows = [&s6c::MME_NUMBER_FOR_MT_SMS, &s6c::MSC_NUMBER, &s6c::SGSN_NUMBER];
    rows.into_iter().find_map(|row| number(node.find(row)?.data))
}

/// What an answer is to whoever asked.
///
/// # Errors
/// The error that it tells, or that it does not say what it has to.
pub fn read(operation: Operation, message: &Message<'_>) -> Result<Option<Bytes>, Refused> {
    result(message).map_err(|code| errors::read(code, message))?;
    match operation {
        Operation::SendRoutingInfoForSm => {
            let imsi = message.avps().find(&USER_NAME).and_then(|it| it.text().ok());
            let imsi = imsi.and_then(Imsi::of).ok_or(Refused::of(Error::SystemFailure))?;
            let nodes: Vec<Msisdn> = serving(message).filter_map(|it| node_number(&it)).collect();
            match nodes.first() {
                Some(first) => Ok(Some(routing(&imsi, first, nodes.get(1)))),
                None => Err(Refused::of(Error::AbsentSubscriberSm)),
            }
        }
        Operation::MoForwardSm | Operation::MtForwardSm => {
            let report = message.avps().find(&sgd::SM_RP_UI).map(|it| it.data);
            Ok(delivery_result(VERSION, report))
        }
        _ => Ok(None),
    }
}

/// Routing information with one node or two.
fn routing(imsi: &Imsi, first: &Msisdn, second: Option<&Msisdn>) -> Bytes {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
        out.octets(RoutingInfoForSmRes::Imsi, &imsi.tbcd());
        let row = RoutingInfoForSmRes::LocationInfoWithLmsi;
        out.within::<LocationInfoWithLmsi>(row, |out| {
            let number = first.address_string();
            out.octets(LocationInfoWithLmsi::NetworkNodeNumber, number.octets());
            if let Some(second) = second {
                let row = LocationInfoWithLmsi::AdditionalNumber;
                out.within::<AdditionalNumber>(row, |out| {
                    out.octets(AdditionalNumber::MscNumber, second.address_string().octets());
                });
            }
        });
    });
    octets.into()
}
