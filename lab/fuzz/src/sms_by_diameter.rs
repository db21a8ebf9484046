//! Any octets as a request or an answer of S6c or SGd: nothing panics; a request that is served is
//! asked again as it was, and every answer to it passes the dictionary.

use diameter::Dictionary;
use diameter::codec::{Message, Writer};
use diameter::rows::base;
use map::Operation;
use mapsms::argument::Argument;
use mapsms::by_diameter::{answer, ask, serve};
use mapsms::identity::Msisdn;
use mapsms::informed::MwStatus;
use mapsms::invoked::{Invoked, routing_of};
use std::sync::LazyLock;

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::default);

fn begun<'a>(octets: &'a mut Vec<u8>, request: &Message<'_>) -> Writer<'a> {
    Writer::answer(octets, &request.header)
        .put(&base::SESSION_ID, "a;1;1")
        .integer(&base::AUTH_SESSION_STATE, 1)
        .put(&base::ORIGIN_HOST, "a")
        .put(&base::ORIGIN_REALM, "b")
}

fn asked_again(invoked: &Invoked) -> Argument {
    match invoked.clone() {
        Invoked::Routing { msisdn, centre, has_priority } => {
            Argument::Routing { msisdn, centre, has_priority }
        }
        Invoked::Deliver { imsi, centre, tpdu, .. } => Argument::Deliver { imsi, centre, tpdu },
        Invoked::Report { msisdn, centre, outcome, diagnostic } => {
            Argument::Report { msisdn, centre, outcome, diagnostic }
        }
    }
}

fn request(operation: Operation, message: &Message<'_>) {
    let number = Msisdn::of("447700000099").expect("a number");
    let own = serve::Own { number, host: "a".into(), realm: "b".into() };
    let mut octets = Vec::new();
    let writer = begun(&mut octets, message);
    match serve::read(operation, message) {
        Ok(invoked) => {
            serve::answer(operation, &[], &own, |_| None, writer).end().expect("it is short");
            let argument = asked_again(&invoked);
            let (application, command) = ask::command(&argument).expect("it has a counterpart");
            let mut again = Vec::new();
            let writer = Writer::request(&mut again, command, application.id);
            let writer = ask::write(&argument, writer).expect("it has room");
            writer.end().expect("it is short");
            let again = Message::read(&again).expect("what is written is read");
            assert_eq!(serve::operation(&again), Some(operation));
            assert!(serve::read(operation, &again).is_ok_and(|it| it == invoked));
        }
        Err(unfit) => unfit.write(writer).end().expect("it is short"),
    }
    let answer = Message::read(&octets).expect("what is written is read");
    assert!(DICTIONARY.check(&answer).is_ok(), "an answer is well-formed");
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Ok(message) = Message::read(bytes) else { return };
    if DICTIONARY.check(&message).is_err() {
        return;
    }
    if let Some(operation) = serve::operation(&message).filter(|_| message.is_request()) {
        return request(operation, &message);
    }
    let _ = answer::names(&message);
    // What it tells of messages that wait is told on as it was.
    if let Some(status) = answer::informed(&message) {
        assert_eq!(MwStatus::of_components(&[status.component()]), Some(status));
    }
    for operation in [
        Operation::SendRoutingInfoForSm,
        Operation::MoForwardSm,
        Operation::MtForwardSm,
        Operation::ReportSmDeliveryStatus,
    ] {
        if let Ok(Some(value)) = answer::read(operation, &message)
            && operation == Operation::SendRoutingInfoForSm
        {
            assert!(routing_of(&value).is_some_and(|it| !it.1.is_empty()));
        }
    }
}
