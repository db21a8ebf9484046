//! The dialogue portion (Q.773 §4.2): an EXTERNAL around a dialogue PDU.

use ber::{Any, BitString, Element, Integer, ObjectIdentifier, Oid, SequenceOf, Tag};
use wire::Malformed;

const SPEC: &str = "Q.773 §4.2";

/// Octets of either syntax.
const SYNTAX_OCTETS: u8 = 7;
/// Contents of dialogue-as-id, version 1: 0.0.17.773.1.1.1.
pub const DIALOGUE: &[u8; SYNTAX_OCTETS as usize] = &[0x00, 0x11, 0x86, 0x05, 0x01, 0x01, 0x01];
/// Contents of uniDialogue-as-id, version 1: 0.0.17.773.1.2.1.
pub const UNIDIALOGUE: &[u8; SYNTAX_OCTETS as usize] = &[0x00, 0x11, 0x86, 0x05, 0x01, 0x02, 0x01];
/// The bit of version 1.
pub const VERSION_1: usize = 0;

ber::sequence! {
    /// AARQ, and AUDT of an unstructured dialogue.
    pub enum Request = "AARQ-apdu", "Q.773 §4.2.2" {
        Version = "protocol-version", BitString<0, 64> [0], optional;
        Context = "application-context-name", ObjectIdentifier [1 explicit];
        UserInformation = "user-information", SequenceOf<Any, 0, 64> [30], optional;
        ...
    }
}

ber::sequence! {
    /// AARE.
    pub enum Response = "AARE-apdu", "Q.773 §4.2.2" {
        Version = "protocol-version", BitString<0, 64> [0], optional;
        Context = "application-context-name", ObjectIdentifier [1 explicit];
        Result = "result", Integer<0, 1> [2 explicit];
        Diagnostic = "result-source-diagnostic", SourceDiagnostic [3];
        UserInformation = "user-information", SequenceOf<Any, 0, 64> [30], optional;
        ...
    }
}

ber::choice! {
    /// Who refused, and why.
    pub enum SourceDiagnostic = "Associate-source-diagnostic", "Q.773 §4.2.2" {
        User = "dialogue-service-user", Integer<0, 255> [1 explicit];
        Provider = "dialogue-service-provider", Integer<0, 255> [2 explicit];
    }
}

ber::sequence! {
    /// ABRT.
    pub enum Abort = "ABRT-apdu", "Q.773 §4.2.2" {
        Source = "abort-source", Integer<0, 1> [0];
        UserInformation = "user-information", SequenceOf<Any, 0, 64> [30], optional;
        ...
    }
}

/// Why a dialogue is refused, or zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagnostic {
    /// By the user: 0 null, 1 no reason given, 2 application-context-name-not-supported.
    User(i64),
    /// By TCAP: 0 null, 1 no reason given, 2 no common dialogue portion.
    Provider(i64),
}

/// User information: an EXTERNAL after the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserInformation<'a>(Option<Element<'a>>);

impl<'a> UserInformation<'a> {
    /// The elements, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        self.0.and_then(|list| list.children().ok()).into_iter().flatten().flatten()
    }

    /// The octets of all elements; none without any.
    #[must_use]
    pub fn octets(&self) -> &'a [u8] {
        self.0.map(|list| list.contents()).unwrap_or_default()
    }
}

/// A dialogue PDU.
#[derive(Debug, Clone, Copy)]
pub enum Dialogue<'a> {
    /// AARQ: opens a dialogue.
    Request {
        /// Whether version 1 is among those that are spoken.
        is_version_1: bool,
        /// The application context.
        context: Oid<'a>,
        /// For the user.
        user_information: UserInformation<'a>,
    },
    /// AUDT: of a unidirectional message.
    Unidirectional {
        /// Whether version 1 is among those that are spoken.
        is_version_1: bool,
        /// The application context.
        context: Oid<'a>,
        /// For the user.
        user_information: UserInformation<'a>,
    },
    /// AARE: accepts a dialogue or refuses it.
    Response {
        /// The application context that is used, or another that might be.
        context: Oid<'a>,
        /// Whether the dialogue is refused.
        is_refused: bool,
        /// Who says so, and why.
        diagnostic: Diagnostic,
        /// For the user.
        user_information: UserInformation<'a>,
    },
    /// ABRT: breaks a dialogue off.
    Abort {
        /// TCAP itself did, not its user.
        by_provider: bool,
        /// For the user.
        user_information: UserInformation<'a>,
    },
    /// An EXTERNAL of another syntax: it belongs to the user, in an abort of the user.
    Other(Oid<'a>, Element<'a>),
}

impl<'a> Dialogue<'a> {
    /// Reads the element within a dialogue portion.
    ///
    /// # Errors
    /// What is not well-formed: the dialogue is aborted (Q.774 §3.2.2.1).
    pub fn read(external: &Element<'a>) -> Result<Self, Malformed> {
        if external.tag() != Tag::EXTERNAL {
            return Err(external.violation("no EXTERNAL", SPEC));
        }
        if let Some(request) = usual_request(external) {
            return Ok(request);
        }
        let mut parts = external.children()?;
        let mut next = || parts.next().unwrap_or(Err(external.violation("a part lacks", SPEC)));
        let syntax = next()?;
        if syntax.tag() != Tag::OBJECT_IDENTIFIER {
            return Err(syntax.violation("no syntax", SPEC));
        }
        let syntax = syntax.oid()?;
        let encoding = next()?;
        if syntax.contents() != DIALOGUE && syntax.contents() != UNIDIALOGUE {
            return Ok(Self::Other(syntax, encoding));
        }
        if encoding.tag() != Tag::context(0) {
            return Err(encoding.violation("no single-ASN1-type", SPEC));
        }
        let pdu = encoding.inner()?;
        let is_uni = syntax.contents() == UNIDIALOGUE;
        match (is_uni, pdu.tag()) {
            (true, tag) if tag == Tag::application(0) => unidirectional(pdu),
            (false, tag) if tag == Tag::application(0) => request(pdu),
            (false, tag) if tag == Tag::application(1) => response(pdu),
            (false, tag) if tag == Tag::application(4) => abort(pdu),
            _ => Err(pdu.violation("no dialogue PDU", SPEC)),
        }
    }
}

fn lacks(pdu: &Element<'_>) -> Malformed {
    pdu.violation("a component lacks", SPEC)
}

/// Octets of an AARQ's EXTERNAL behind its header and before the context.
const OPENING_OCTETS: usize = 21;

/// An AARQ as nearly all are: version 1, a context, nothing for the user, each length in one octet.
/// Anything else is read by its rows.
fn usual_request<'a>(external: &Element<'a>) -> Option<Dialogue<'a>> {
    let (opening, context) = external.contents().split_first_chunk::<OPENING_OCTETS>()?;
    let is_usual = usual_opening(DIALOGUE, REQUEST, context.len(), 0)
        .is_some_and(|usual| usual[2..] == *opening);
    let context = Oid::new(context).ok().filter(|_| is_usual)?;
    let user_information = UserInformation::default();
    Some(Dialogue::Request { is_version_1: true, context, user_information })
}

/// The identifiers of AARQ and AUDT, and of AARE.
pub(super) const REQUEST: u8 = 0x60;
pub(super) const RESPONSE: u8 = 0x61;
/// Octets of a context, at most, so that each length around it has one octet.
const USUAL_OCTETS_MAX: usize = 64;

/// The octets of an EXTERNAL with a dialogue PDU of version 1 up to a context of so many octets,
/// when `behind` octets, at most 16, follow that in the PDU. `None` for a context that is longer
/// than usual.
pub(super) fn usual_opening(
    syntax: &[u8; SYNTAX_OCTETS as usize],
    pdu: u8,
    context: usize,
    behind: u8,
) -> Option<[u8; OPENING_OCTETS + 2]> {
    let context = u8::try_from(context).ok().filter(|_| context <= USUAL_OCTETS_MAX)?;
    let inner = 8 + context + behind;
    let version = [0x80, 2, 7, 0x80];
    let mut octets = [0; OPENING_OCTETS + 2];
    octets[..4].copy_from_slice(&[0x28, inner + 13, 6, SYNTAX_OCTETS]);
    octets[4..11].copy_from_slice(syntax);
    octets[11..15].copy_from_slice(&[0xa0, inner + 2, pdu, inner]);
    octets[15..19].copy_from_slice(&version);
    octets[19..].copy_from_slice(&[0xa1, context + 2, 6, context]);
    Some(octets)
}

/// Version, context and user information of an AARQ or AUDT.
fn opening(pdu: Element<'_>) -> Result<(bool, Oid<'_>, UserInformation<'_>), Malformed> {
    let request = Request::read(pdu)?;
    let version = request.bits(Request::Version);
    let is_version_1 = version.is_none_or(|bits| bits.is_set(VERSION_1));
    let context = request.oid(Request::Context).ok_or(lacks(&pdu))?;
    Ok((is_version_1, context, UserInformation(request.get(Request::UserInformation))))
}

fn request(pdu: Element<'_>) -> Result<Dialogue<'_>, Malformed> {
    let (is_version_1, context, user_information) = opening(pdu)?;
    Ok(Dialogue::Request { is_version_1, context, user_information })
}

fn unidirectional(pdu: Element<'_>) -> Result<Dialogue<'_>, Malformed> {
    let (is_version_1, context, user_information) = opening(pdu)?;
    Ok(Dialogue::Unidirectional { is_version_1, context, user_information })
}

fn response(pdu: Element<'_>) -> Result<Dialogue<'_>, Malformed> {
    let response = Response::read(pdu)?;
    let source = response.get(Response::Diagnostic).ok_or(lacks(&pdu))?;
    let (source, number) = SourceDiagnostic::read(source)?.ok_or(lacks(&pdu))?;
    let number = number.integer()?;
    Ok(Dialogue::Response {
        context: response.oid(Response::Context).ok_or(lacks(&pdu))?,
        is_refused: response.integer(Response::Result) != Some(0),
        diagnostic: match source {
            SourceDiagnostic::User => Diagnostic::User(number),
            SourceDiagnostic::Provider => Diagnostic::Provider(number),
        },
        user_information: UserInformation(response.get(Response::UserInformation)),
    })
}

fn abort(pdu: Element<'_>) -> Result<Dialogue<'_>, Malformed> {
    let abort = Abort::read(pdu)?;
    Ok(Dialogue::Abort {
        by_provider: abort.integer(Abort::Source) == Some(1),
        user_information: UserInformation(abort.get(Abort::UserInformation)),
    })
}
