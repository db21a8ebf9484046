//! One message: header and parameters, checked against the rows of its type (RFC 4666 §3.1).

use super::{
    Affected, ErrorCode, HEADER_BYTES, MESSAGE_BYTES_MAX, MessageClass, MessageType, Parameters,
    RoutingContext, Rule, Tag, VERSION, Violation, be32, padded,
};

const HEADER: &str = "RFC 4666 §3.1";
/// Parameters that a message of any type lists, at most.
const RULES_MAX: usize = 7;

/// The first value of each rule.
type Values<'a> = [Option<&'a [u8]>; RULES_MAX];

/// A message whose parameters are those that its type may have, none missing, each of a proper
/// length. Parameters that the RFC does not know, and harmless ones that the type has not
/// ([`Tag::is_harmless`]), are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: MessageType,
    /// The parameters as they came.
    body: &'a [u8],
    /// The first value found for each rule.
    values: Values<'a>,
    /// Parameters that were passed over; those inside of groups are not counted.
    pub passed_over: u16,
}

impl<'a> Message<'a> {
    /// Reads one whole message. The padding of its last parameter may lack or stand behind the
    /// length that the header tells (RFC 4666 §3.1.4).
    ///
    /// # Errors
    /// [`Violation`] with the code of the ERR that answers it.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Self, Violation> {
        let length = check_header(bytes)?;
        let kind = u16::from_be_bytes([bytes[2], bytes[3]]);
        let Some(kind) = MessageType::of(kind) else {
            let (code, at, what) = match MessageClass::of(bytes[2]) {
                Some(_) => (ErrorCode::UnsupportedMessageType, 3, "no type of this class"),
                None => (ErrorCode::UnsupportedMessageClass, 2, "no class of M3UA"),
            };
            return Err(Violation::new(code, at, what, "RFC 4666 §3.1.2"));
        };
        let body = &bytes[HEADER_BYTES..length];
        let (values, passed_over) = read_all(kind.rules(), kind.spec(), HEADER_BYTES, body)?;
        Ok(Self { kind, body, values, passed_over })
    }

    /// The value of a parameter of that tag, the first one if there are more.
    #[inline]
    #[must_use]
    pub fn value(&self, tag: Tag) -> Option<&'a [u8]> {
        let index = self.kind.rules().iter().position(|rule| rule.tag == tag)?;
        self.values[index]
    }

    /// The first value of each rule of its type, in their order.
    #[inline]
    pub(super) fn values(&self) -> impl Iterator<Item = (Tag, &'a [u8])> {
        let rules = self.kind.rules().iter().map(|rule| rule.tag);
        rules.zip(self.values).filter_map(|(tag, value)| Some((tag, value?)))
    }

    /// The number in a parameter of that tag.
    #[inline]
    #[must_use]
    pub fn word(&self, tag: Tag) -> Option<u32> {
        self.value(tag).filter(|value| value.len() >= 4).map(|value| be32(value, 0))
    }

    /// Every value of a parameter that repeats, with its offset in the message.
    pub fn all(&self, tag: Tag) -> impl Iterator<Item = (usize, &'a [u8])> {
        Parameters::new(HEADER_BYTES, self.body)
            .flatten()
            .filter(move |parameter| parameter.tag == tag.number())
            .map(|parameter| (parameter.at, parameter.value))
    }

    /// The Routing Contexts; none when the parameter is not there.
    pub fn routing_contexts(&self) -> impl Iterator<Item = RoutingContext> + 'a {
        words(self.value(Tag::RoutingContext)).map(RoutingContext)
    }

    /// The Affected Point Codes.
    pub fn affected(&self) -> impl Iterator<Item = Affected> + 'a {
        words(self.value(Tag::AffectedPointCode)).map(Affected::of)
    }
}

/// The numbers of a parameter of shape `Words`.
pub(super) fn words(value: Option<&[u8]>) -> impl Iterator<Item = u32> {
    value.unwrap_or_default().chunks_exact(4).map(|word| be32(word, 0))
}

/// Checks version and length; the length to read.
#[inline]
fn check_header(bytes: &[u8]) -> Result<usize, Violation> {
    let protocol_error = |at, what| Err(Violation::new(ErrorCode::ProtocolError, at, what, HEADER));
    if bytes.len() < HEADER_BYTES {
        return protocol_error(bytes.len(), "the common header is cut off");
    }
    if bytes[0] != VERSION {
        let (code, spec) = (ErrorCode::InvalidVersion, "RFC 4666 §3.1.1");
        return Err(Violation::new(code, 0, "the version is not 1", spec));
    }
    let length = be32(bytes, 4) as usize;
    if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
        return protocol_error(4, "no message has that length");
    }
    if length > bytes.len() {
        return protocol_error(4, "the message is shorter than its length tells");
    }
    if bytes.len() > padded(length) {
        return protocol_error(4, "the message is longer than its length tells");
    }
    Ok(length)
}

/// Reads the parameters in `bytes`, which begin `at` octets into the message: the first value of
/// each rule, and how many parameters were passed over.
#[inline]
pub(super) fn read_all<'a>(
    rules: &[Rule],
    spec: &'static str,
    at: usize,
    bytes: &'a [u8],
) -> Result<(Values<'a>, u16), Violation> {
    let (mut values, mut passed_over) = ([None; RULES_MAX], 0);
    for parameter in Parameters::new(at, bytes) {
        let parameter = parameter?;
        let Some(index) = rules.iter().position(|rule| rule.tag.number() == parameter.tag) else {
            if Tag::of(parameter.tag).is_some_and(|tag| !tag.is_harmless()) {
                let what = "the parameter does not belong to this message";
                let code = ErrorCode::UnexpectedParameter;
                return Err(Violation::new(code, parameter.at, what, spec));
            }
            passed_over += 1;
            continue;
        };
        let rule = &rules[index];
        rule.tag.check(parameter.at, parameter.value)?;
        if values[index].is_none() {
            values[index] = Some(parameter.value);
        } else if !rule.repeats {
            let what = "the parameter stands there twice";
            return Err(Violation::new(ErrorCode::UnexpectedParameter, parameter.at, what, spec));
        }
    }
    let is_missing = |(index, rule): (usize, &Rule)| rule.is_mandatory && values[index].is_none();
    if rules.iter().enumerate().any(is_missing) {
        let (at, what) = (at + bytes.len(), "a mandatory parameter is missing");
        return Err(Violation::new(ErrorCode::MissingParameter, at, what, spec));
    }
    Ok((values, passed_over))
}
