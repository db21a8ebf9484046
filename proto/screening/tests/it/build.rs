//! Messages as a network sends them, and rules that are asked about them.

use machine::Time;
use sccp::codec::{Address, Digits, Title};
use screening::config::{Own, RuleFile};
use screening::{Action, LastPlaces, Screen, Subject, Unreadable, Verdict, Way};
use tcap::codec::{Code, TransactionId, Writer};

/// The own network: Germany, 262 01, 49 171.
pub const OWN_IMSI: &str = "262011234567890";
/// A visitor from France.
pub const FRENCH_IMSI: &str = "208101234567890";
/// A node of the own network, of one in Germany, in France, in Spain, and in Japan.
pub const OWN: &str = "491710000001";
/// See [`OWN`].
pub const GERMAN: &str = "491520000001";
/// See [`OWN`].
pub const FRENCH: &str = "33609000001";
/// See [`OWN`].
pub const SPANISH: &str = "34607000001";
/// See [`OWN`].
pub const JAPANESE: &str = "819000000001";

pub fn own() -> Own {
    Own { imsi: vec!["26201".to_owned()], titles: vec!["49171".to_owned()] }
}

/// The rules that are shipped.
pub fn fs11() -> RuleFile {
    let text = include_str!("../../../../packaging/screening/fs11.toml");
    toml::from_str(text).expect("the file is well-formed")
}

pub fn screen(file: &RuleFile) -> Screen {
    let code = |text: &str| {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    Screen::new(file, &own(), &code).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

pub fn rules(text: &str) -> Screen {
    screen(&toml::from_str(text).expect("rules"))
}

pub fn title(digits: &str, subsystem: u8) -> Address {
    Address::title(Title::e164(Digits::parse(digits).expect(digits)), subsystem)
}

/// TBCD digits.
pub fn tbcd(digits: &str) -> Vec<u8> {
    let halves: Vec<u8> = digits.bytes().map(|it| it - b'0').collect();
    halves.chunks(2).map(|it| it[0] | it.get(1).copied().unwrap_or(0xf) << 4).collect()
}

/// An element of short contents.
pub fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    assert!(contents.len() < 128);
    let mut out = vec![tag, contents.len() as u8];
    out.extend_from_slice(contents);
    out
}

/// An argument whose IMSI is its first component.
pub fn with_imsi(imsi: &str) -> Vec<u8> {
    element(0x30, &element(0x04, &tbcd(imsi)))
}

/// An argument whose IMSI has the tag \[0\].
pub fn with_tagged_imsi(imsi: &str) -> Vec<u8> {
    element(0x30, &element(0x80, &tbcd(imsi)))
}

/// What opens a dialogue of MAP for a subscriber.
pub fn opening(imsi: &str) -> Vec<u8> {
    let mut user = Vec::new();
    let reference = [&[0x96][..], &tbcd(imsi)].concat();
    map::dialogue::write(&mut user, |out| {
        out.within::<map::types::MapOpenInfo>(map::types::MapDialoguePdu::MapOpen, |out| {
            out.octets(map::types::MapOpenInfo::DestinationReference, &reference);
        });
    });
    user
}

/// Contents of the object identifier of a context of MAP.
pub fn context(name: &str, version: u8) -> [u8; 7] {
    let found = map::Context::ALL.iter().find(|it| it.name() == name);
    found.unwrap_or_else(|| panic!("{name}")).oid(version)
}

/// The first message of a dialogue: what it invokes.
pub fn begin(context: Option<&[u8]>, invokes: &[(i64, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let writer = Writer::begin(TransactionId::of(0x1122_3344));
    let writer = match context {
        Some(context) => writer.request(context, &[]),
        None => writer,
    };
    writer.write(&mut out, |components| {
        for (id, (code, argument)) in invokes.iter().enumerate() {
            let argument = (!argument.is_empty()).then_some(*argument);
            components.invoke(id as i8, None, Code::Local(*code), argument);
        }
    });
    out
}

/// A later one.
pub fn go_on(invokes: &[(i64, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let writer = Writer::go_on(TransactionId::of(0x1122_3344), TransactionId::of(0x5566));
    writer.write(&mut out, |components| {
        for (id, (code, argument)) in invokes.iter().enumerate() {
            components.invoke(id as i8, None, Code::Local(*code), Some(argument));
        }
    });
    out
}

/// The number of an operation of MAP.
pub fn code(name: &str) -> i64 {
    map::Operation::named(name).unwrap_or_else(|| panic!("{name}")).code()
}

/// A message from one title to another.
pub struct From<'a> {
    pub calling: &'a str,
    pub calling_subsystem: u8,
    pub called: &'a str,
    pub called_subsystem: u8,
}

impl<'a> From<'a> {
    pub const fn vlr_to_hlr(calling: &'a str) -> Self {
        Self { calling, calling_subsystem: 7, called: OWN, called_subsystem: 6 }
    }

    pub const fn hlr_to_vlr(calling: &'a str) -> Self {
        Self { calling, calling_subsystem: 6, called: OWN, called_subsystem: 7 }
    }
}

/// What rules say of it, with what they have learnt.
pub fn ask_at(
    now: Time,
    screen: &Screen,
    places: &mut LastPlaces,
    from: &From<'_>,
    data: &[u8],
) -> Result<Verdict, Unreadable> {
    let calling = title(from.calling, from.calling_subsystem);
    let called = title(from.called, from.called_subsystem);
    let way = Way { opc: 7, dpc: 9, called: &called, calling: &calling };
    let subject = Subject::read(way, data)?;
    let verdict = screen.judge(now, &subject, places)?;
    if !verdict.action.refuses() {
        screen.learn(now, &subject, 1, places);
    }
    Ok(verdict)
}

/// The same where nothing was learnt.
pub fn ask(screen: &Screen, from: &From<'_>, data: &[u8]) -> Result<Verdict, Unreadable> {
    let mut places = LastPlaces::new(0, machine::Duration::ZERO, 0);
    ask_at(Time::from_millis(1), screen, &mut places, from, data)
}

/// The name of the rule that refuses it; none: it goes on. What is not read is "unreadable".
pub fn refused_by(screen: &Screen, from: &From<'_>, data: &[u8]) -> Option<String> {
    match ask(screen, from, data) {
        Ok(Verdict { action: Action::Pass, .. }) => None,
        Ok(verdict) => Some(screen.rule(verdict.rule.expect("a rule")).expect("it").0.to_owned()),
        Err(_) => Some("unreadable".to_owned()),
    }
}
