//! Every message, with every parameter it may have.

use m3ua::codec::PointCode;
use sccp::codec::{
    Address, Class, Digits, Form, Indicator, MANAGEMENT_SSN, Management, ManagementType,
    MessageType, Parameter, Routing, Segmentation, Title, Unit, Word, Writer,
};

pub fn point_code(number: u32) -> PointCode {
    PointCode::new(number).unwrap()
}

/// An address with a title of that kind, with and without point code and subsystem.
pub fn addresses() -> Vec<Address> {
    let mut all =
        vec![Address::subsystem(Some(point_code(0x3abc)), 200), Address::subsystem(None, 201)];
    for digits in ["4467102030405", "446710203040"] {
        let digits = Digits::parse(digits).unwrap();
        let e164 = Title::e164(digits);
        for indicator in
            [Indicator::Nature, Indicator::TypePlan, Indicator::TypePlanNature, Indicator::Type]
        {
            let title = match indicator {
                Indicator::Nature => Title { indicator, plan: 0, encoding: 0, ..e164 },
                Indicator::Type if digits.is_odd() => continue,
                Indicator::Type => Title {
                    indicator,
                    plan: 0,
                    encoding: 0,
                    nature: 0,
                    translation_type: 9,
                    ..e164
                },
                Indicator::TypePlan => Title { indicator, nature: 0, plan: 6, ..e164 },
                Indicator::TypePlanNature => e164,
            };
            let routing = if digits.is_odd() { Routing::Title } else { Routing::Subsystem };
            let base = Address::title(title, 202);
            all.push(Address { routing, point_code: Some(point_code(77)), ..base });
            all.push(Address { routing: Routing::Title, ..base });
        }
    }
    all
}

/// A connectionless message of every form, to and from every kind of address.
pub fn units() -> Vec<(MessageType, Vec<u8>)> {
    let class = Class { is_sequenced: true, returns: true };
    let segment = Segmentation { is_first: true, is_sequenced: true, remaining: 0, reference: 7 };
    let mut all = Vec::new();
    let addresses = addresses();
    for (index, called) in addresses.iter().enumerate() {
        let calling = addresses[(index + 1) % addresses.len()];
        for (form, kinds) in [
            (Form::Basic, [MessageType::Unitdata, MessageType::UnitdataService]),
            (Form::Extended, [MessageType::ExtendedUnitdata, MessageType::ExtendedUnitdataService]),
            (Form::Long, [MessageType::LongUnitdata, MessageType::LongUnitdataService]),
        ] {
            let is_basic = form == Form::Basic;
            let cause = u8::try_from(index).unwrap() % 15;
            for (word, kind) in [(Word::Data(class), kinds[0]), (Word::Service(cause), kinds[1])] {
                let unit = Unit {
                    form,
                    word,
                    hops: if is_basic { 0 } else { 12 },
                    called: *called,
                    calling,
                    segmentation: (!is_basic && index % 2 == 0).then_some(segment),
                    importance: (!is_basic && index % 3 != 0).then_some(5),
                    data: &[0xd1, 0xd2, 0xd3],
                };
                let mut octets = Vec::new();
                unit.write(&mut octets).unwrap();
                all.push((kind, octets));
            }
        }
    }
    all
}

/// Every message of connections.
pub fn connection_messages() -> Vec<(MessageType, Vec<u8>)> {
    let mut called = Vec::new();
    Address::subsystem(Some(point_code(5)), 200).write(&mut called);
    let data = [1, 2, 3];
    let write = |kind, fixed: &[u8], variable: &[&[u8]], optional: &[(Parameter, &[u8])]| {
        let mut octets = Vec::new();
        let mut writer = Writer::begin(&mut octets, kind, fixed);
        for value in variable {
            writer = writer.variable(value).unwrap();
        }
        for (parameter, value) in optional {
            writer = writer.optional(*parameter, value).unwrap();
        }
        writer.end();
        (kind, octets)
    };
    let (d, i) = ((Parameter::Data, &data[..]), (Parameter::Importance, &[3u8][..]));
    let (credit, party) = ((Parameter::Credit, &[7u8][..]), (Parameter::Called, &called[..]));
    let calling = (Parameter::Calling, &called[..]);
    let hops = (Parameter::Hops, &[9u8][..]);
    use MessageType as M;
    vec![
        write(M::ConnectionRequest, &[1, 2, 3, 2], &[&called], &[credit, calling, d, hops, i]),
        write(M::ConnectionRequest, &[1, 2, 3, 2], &[&called], &[]),
        write(M::ConnectionConfirm, &[1, 2, 3, 4, 5, 6, 2], &[], &[credit, party, d, i]),
        write(M::ConnectionRefused, &[1, 2, 3, 0], &[], &[party, d, i]),
        write(M::Released, &[1, 2, 3, 4, 5, 6, 0], &[], &[d, i]),
        write(M::ReleaseComplete, &[1, 2, 3, 4, 5, 6], &[], &[]),
        write(M::DataForm1, &[1, 2, 3, 0], &[&data], &[]),
        write(M::DataForm2, &[1, 2, 3, 2, 4], &[&data], &[]),
        write(M::Acknowledgement, &[1, 2, 3, 4, 7], &[], &[]),
        write(M::ExpeditedData, &[1, 2, 3], &[&data], &[]),
        write(M::ExpeditedAcknowledgement, &[1, 2, 3], &[], &[]),
        write(M::ResetRequest, &[1, 2, 3, 4, 5, 6, 0], &[], &[]),
        write(M::ResetConfirm, &[1, 2, 3, 4, 5, 6], &[], &[]),
        write(M::Error, &[1, 2, 3, 0], &[], &[]),
        write(M::InactivityTest, &[1, 2, 3, 4, 5, 6, 2, 0, 0, 7], &[], &[]),
    ]
}

/// Every message of SCCP management, in its UDT.
pub fn management() -> Vec<(Management, Vec<u8>)> {
    let of = |kind: &ManagementType| {
        let congestion = if *kind == ManagementType::Congested { 3 } else { 0 };
        let (subsystem, point_code) = (200, point_code(0x1234));
        let management =
            Management { kind: *kind, subsystem, point_code, multiplicity: 0, congestion };
        let mut data = Vec::new();
        management.write(&mut data);
        let address = Address::subsystem(None, MANAGEMENT_SSN);
        let unit = Unit {
            form: Form::Basic,
            word: Word::Data(Class { is_sequenced: false, returns: false }),
            hops: 0,
            called: address,
            calling: address,
            segmentation: None,
            importance: None,
            data: &data,
        };
        let mut octets = Vec::new();
        unit.write(&mut octets).unwrap();
        (management, octets)
    };
    ManagementType::ALL.iter().map(of).collect()
}
