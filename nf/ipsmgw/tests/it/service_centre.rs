//! A service centre as the gateway of a link has it: what it took stands, and what comes again with
//! TP-RD is a duplicate (TS 23.040 §9.2.3.25).

use crate::network::{forwarded, invoked, result, text_of};
use crate::submissions::rejected;
use map::Operation;
use sms::{FailureCause, Kind, Parameter};
use std::collections::BTreeMap;
use tcu::{
    Component, Indication, Portion, Request, Speech, Spelling, ToApplication, ToGateway, Welcome,
};

/// The service centre, and the signalling gateway before it.
#[derive(Default)]
pub struct ServiceCentre {
    dialogues: u64,
    /// How often it took each text.
    pub taken: BTreeMap<String, u32>,
}

fn said(message: &ToApplication) -> Vec<u8> {
    let mut octets = Vec::new();
    Spelling::Tagged.write(message, Speech::Unknown, &mut octets);
    octets
}

fn told(it: Indication) -> Vec<u8> {
    said(&ToApplication::Indication(it))
}

impl ServiceCentre {
    /// What it answers to octets of a link.
    pub fn hears(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        match Spelling::Tagged.read_request(octets, &|_| Speech::Unknown).unwrap() {
            ToGateway::Hello(_) => vec![said(&ToApplication::Welcome(Welcome {
                version: 1,
                function: "stp".into(),
                subsystem: 8,
                message_octets_max: 65_536,
                state_octets_max: 256,
            }))],
            ToGateway::Request(Request::Begin { reference, portion, .. }) => {
                self.dialogues += 1;
                let dialogue = self.dialogues;
                let (operation, argument) = invoked(&portion.components).unwrap();
                assert_eq!(operation, Operation::MoForwardSm);
                let portion = Portion::of(vec![self.takes(&forwarded(&argument))]);
                vec![
                    told(Indication::Begun { reference, dialogue }),
                    told(Indication::End { dialogue, portion }),
                ]
            }
            ToGateway::Request(_) => Vec::new(),
        }
    }

    fn takes(&mut self, tpdu: &[u8]) -> Component {
        let read = Kind::Submit.read(tpdu).unwrap();
        let times = self.taken.entry(text_of(Kind::Submit, tpdu)).or_default();
        if *times > 0 && read.flag(Parameter::RejectDuplicates) {
            return rejected(FailureCause::DuplicateRejected.number());
        }
        *times += 1;
        result(Operation::MoForwardSm, None)
    }
}
