//! Addresses of SCCP.
//!
//! ```text
//! {"pc":1234,"ssn":6}                          by point code and subsystem
//! {"pc":"0-154-2","ssn":6}                     the same
//! {"ssn":6,"gt":"447700900123"}                by an international E.164 title
//! {"ssn":6,"gt":{"digits":"26201…","np":6,"tt":0,"nai":4,"indicator":4}}
//! {…,"route":"subsystem"}                      where another is meant than what is there says
//! ```

use super::SPEC;
use super::object::{ITU_BITS, Members, Object};
use ber::json::Text;
use sccp::codec::{Address, Digits, Indicator, Routing, Title};
use wire::Malformed;

pub(super) fn write(to: &mut Members<'_>, name: &str, address: &Address) {
    let point_codes = to.point_codes;
    let mut object = Members::begin(to.name(name), point_codes);
    if let Some(point_code) = address.point_code {
        object.point_code("pc", point_code);
    }
    if let Some(subsystem) = address.subsystem {
        object.number("ssn", subsystem);
    }
    if let Some(title) = &address.title {
        write_title(&mut object, title);
    }
    if address.routing != implied(address) {
        object.string(
            "route",
            match address.routing {
                Routing::Title => "title",
                Routing::Subsystem => "subsystem",
            },
        );
    }
    object.end();
}

/// What an address is routed by where nothing says it.
const fn implied(address: &Address) -> Routing {
    match (address.title.is_some(), address.point_code.is_some()) {
        (true, false) => Routing::Title,
        _ => Routing::Subsystem,
    }
}

fn write_title(to: &mut Members<'_>, title: &Title) {
    let digits = title.digits.to_string();
    if *title == Title::e164(title.digits) {
        return to.string("gt", &digits);
    }
    let point_codes = to.point_codes;
    let mut object = Members::begin(to.name("gt"), point_codes);
    object.string("digits", &digits);
    object.number("indicator", title.indicator.number());
    object.number("tt", title.translation_type);
    object.number("np", title.plan);
    object.number("nai", title.nature);
    object.number("encoding", title.encoding);
    object.end();
}

pub(super) fn read(of: &mut Object<'_>, name: &str) -> Result<Address, Malformed> {
    let mut text = of.need(name, "an address lacks")?;
    let mut object = Object::read(&mut text)?;
    let point_code = object.point_code("pc", ITU_BITS)?;
    let subsystem = object.number("ssn")?;
    let title = match object.find("gt") {
        None => None,
        Some(mut text) => Some(read_title(&mut text)?),
    };
    let mut address = Address { routing: Routing::Subsystem, point_code, subsystem, title };
    address.routing = match object.string("route")?.as_deref() {
        None => implied(&address),
        Some("title") => Routing::Title,
        Some("subsystem") => Routing::Subsystem,
        Some(_) => return Err(object.violation("a route is title or subsystem")),
    };
    object.end()?;
    Ok(address)
}

fn digits(text: &str, at: usize) -> Result<Digits, Malformed> {
    // A title without any comes from elsewhere: what is written is read.
    Digits::parse(text).ok_or(Malformed::new(at, "no digits, or more than 32", SPEC))
}

fn read_title(text: &mut Text<'_>) -> Result<Title, Malformed> {
    if text.peek() == Some(b'"') {
        let at = text.at();
        return digits(&text.string()?, at).map(Title::e164);
    }
    let mut object = Object::read(text)?;
    let number = object.string("digits")?.ok_or_else(|| object.violation("the digits lack"))?;
    let mut title = Title::e164(digits(&number, object.at)?);
    title.indicator = match object.number("indicator")? {
        None | Some(4) => Indicator::TypePlanNature,
        Some(1) => Indicator::Nature,
        Some(2) => Indicator::Type,
        Some(3) => Indicator::TypePlan,
        Some(_) => return Err(object.violation("an indicator is 1 to 4")),
    };
    let mut octet = |name: &str, most: u8, is: u8| -> Result<u8, Malformed> {
        match object.number(name)? {
            None => Ok(is),
            Some(value) if value <= most => Ok(value),
            Some(_) => Err(object.violation("a field of the title is out of range")),
        }
    };
    title.translation_type = octet("tt", u8::MAX, title.translation_type)?;
    title.plan = octet("np", 15, title.plan)?;
    title.nature = octet("nai", 127, title.nature)?;
    title.encoding = octet("encoding", 15, title.encoding)?;
    object.end()?;
    // What its indicator does not have is zero, as it comes from the wire.
    match title.indicator {
        Indicator::Nature => {
            (title.translation_type, title.plan, title.encoding) = (0, 0, 0);
        }
        Indicator::Type => (title.plan, title.encoding, title.nature) = (0, 0, 0),
        Indicator::TypePlan => title.nature = 0,
        Indicator::TypePlanNature => {}
    }
    Ok(title)
}
