//! Headers: one row each. A newcomer adds a header here and nowhere else.
//!
//! A row names the header as its specification writes it, its compact form (`0`: none), whether
//! it may repeat ([`Shape`]), what its value is made of ([`Grammar`], which
//! [`crate::Message::check`] holds it to) and the section that defines it. The lookup by name is
//! a perfect hash that the compiler finds by itself.

use crate::octet;

/// How often a header may stand in a message (RFC 3261 §7.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Once, with one value.
    Single,
    /// On several lines, each with one value that may hold commas.
    Lines,
    /// Any number of values, on several lines or separated by commas.
    List,
}

/// What one value of a header is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// Any text.
    Text,
    /// A token, maybe with parameters; the list may be empty.
    Token,
    /// A token or media range, maybe with parameters: `application/sdp;level=1`.
    Media,
    /// A decimal number of 32 bits.
    Number,
    /// `name-addr` or `addr-spec`, with parameters.
    Address,
    /// `name-addr` with parameters: the angle brackets are a must.
    Route,
    /// An address, or `*`.
    Contact,
    /// `<` absolute URI `>` with parameters.
    Reference,
    /// `sent-protocol sent-by` with parameters.
    Via,
    /// `word[@word]`.
    CallId,
    /// A number and a method.
    CSeq,
    /// A scheme and its parameters.
    Credentials,
    /// An RFC 1123 date in GMT.
    Date,
    /// Response number, CSeq number and method.
    RAck,
    /// A Call-ID with the two tags of a dialog.
    Replaces,
    /// Seconds, maybe with a comment and parameters.
    Seconds,
    /// A three-digit code, an agent and a quoted text.
    Warning,
}

macro_rules! headers {
    ($($(#[$doc:meta])* $row:ident = $name:literal, $compact:literal, $shape:ident, $grammar:ident,
       $spec:literal;)+) => {
        /// The headers Tandem knows; any other is [`Header::Unknown`] and keeps its octets.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Header {
            /// A header without a row.
            Unknown,
            $($(#[$doc])* $row),+
        }

        const ROWS: &[Row] = &[
            Row { header: Header::Unknown, name: "", compact: 0, shape: Shape::Lines,
                  grammar: Grammar::Text, spec: "RFC 3261 §7.3.1" },
            $(Row { header: Header::$row, name: $name, compact: $compact, shape: Shape::$shape,
                    grammar: Grammar::$grammar, spec: $spec }),+
        ];
    };
}

struct Row {
    header: Header,
    name: &'static str,
    compact: u8,
    shape: Shape,
    grammar: Grammar,
    spec: &'static str,
}

headers! {
    /// The path of the request so far.
    Via = "Via", b'v', List, Via, "RFC 3261 §20.42";
    /// Who asks.
    From = "From", b'f', Single, Address, "RFC 3261 §20.20";
    /// Who is asked.
    To = "To", b't', Single, Address, "RFC 3261 §20.39";
    /// Names the call or registration.
    CallId = "Call-ID", b'i', Single, CallId, "RFC 3261 §20.8";
    /// Orders requests within a dialog.
    CSeq = "CSeq", 0, Single, CSeq, "RFC 3261 §20.16";
    /// Where the sender itself is reached.
    Contact = "Contact", b'm', List, Contact, "RFC 3261 §20.10";
    /// Hops left.
    MaxForwards = "Max-Forwards", 0, Single, Number, "RFC 3261 §20.22";
    /// Hops to visit.
    Route = "Route", 0, List, Route, "RFC 3261 §20.34";
    /// Hops that want to stay on the path.
    RecordRoute = "Record-Route", 0, List, Route, "RFC 3261 §20.30";
    /// Octets of the body.
    ContentLength = "Content-Length", b'l', Single, Number, "RFC 3261 §20.14";
    /// Media type of the body.
    ContentType = "Content-Type", b'c', Single, Media, "RFC 3261 §20.15";
    /// How the body is to be used.
    ContentDisposition = "Content-Disposition", 0, Single, Token, "RFC 3261 §20.11";
    /// How the body is encoded.
    ContentEncoding = "Content-Encoding", b'e', List, Token, "RFC 3261 §20.12";
    /// Language of the body.
    ContentLanguage = "Content-Language", 0, List, Token, "RFC 3261 §20.13";
    /// Identifies the body for references to it.
    ContentId = "Content-ID", 0, Single, Text, "RFC 8262 §1.2";
    /// Version of MIME.
    MimeVersion = "MIME-Version", 0, Single, Token, "RFC 3261 §20.24";
    /// Hops between registrar and contact.
    Path = "Path", 0, List, Route, "RFC 3327 §4";
    /// Hops a registered agent sends its requests through.
    ServiceRoute = "Service-Route", 0, List, Route, "RFC 3608 §5";
    /// The caller's identity as the trusted network vouches for it.
    PAssertedIdentity = "P-Asserted-Identity", 0, List, Address, "RFC 3325 §9.1";
    /// The identity the caller would like to use.
    PPreferredIdentity = "P-Preferred-Identity", 0, List, Address, "RFC 3325 §9.2";
    /// Further identities of a registered agent.
    PAssociatedUri = "P-Associated-URI", 0, List, Route, "RFC 7315 §4.1";
    /// The address of record that was called.
    PCalledPartyId = "P-Called-Party-ID", 0, Single, Address, "RFC 7315 §4.2";
    /// The visited network.
    PVisitedNetworkId = "P-Visited-Network-ID", 0, List, Text, "RFC 7315 §4.3";
    /// The access network and cell.
    PAccessNetworkInfo = "P-Access-Network-Info", 0, List, Text, "RFC 7315 §4.4";
    /// Addresses of charging functions.
    PChargingFunctionAddresses =
        "P-Charging-Function-Addresses", 0, Single, Text, "RFC 7315 §4.5";
    /// Correlates charging records.
    PChargingVector = "P-Charging-Vector", 0, Single, Text, "RFC 7315 §4.6";
    /// The user a service acts for.
    PServedUser = "P-Served-User", 0, Single, Address, "RFC 5502 §6";
    /// Asks for early media to be let through.
    PEarlyMedia = "P-Early-Media", 0, List, Token, "RFC 5009 §8";
    /// What shall be hidden.
    Privacy = "Privacy", 0, Single, Text, "RFC 3323 §4.2";
    /// Extensions the server must understand.
    Require = "Require", 0, List, Token, "RFC 3261 §20.32";
    /// Extensions the sender understands.
    Supported = "Supported", b'k', List, Token, "RFC 3261 §20.37";
    /// Extensions every proxy must understand.
    ProxyRequire = "Proxy-Require", 0, List, Token, "RFC 3261 §20.29";
    /// Extensions the server does not understand.
    Unsupported = "Unsupported", 0, List, Token, "RFC 3261 §20.40";
    /// Number of a reliable provisional response.
    RSeq = "RSeq", 0, Single, Number, "RFC 3262 §7.1";
    /// Which reliable provisional response is acknowledged.
    RAck = "RAck", 0, Single, RAck, "RFC 3262 §7.2";
    /// How long the session lives without a refresh.
    SessionExpires = "Session-Expires", b'x', Single, Seconds, "RFC 4028 §4";
    /// The shortest session interval accepted.
    MinSe = "Min-SE", 0, Single, Seconds, "RFC 4028 §5";
    /// How long the request or binding is valid.
    Expires = "Expires", 0, Single, Number, "RFC 3261 §20.19";
    /// The shortest interval accepted.
    MinExpires = "Min-Expires", 0, Single, Number, "RFC 3261 §20.23";
    /// The event package.
    Event = "Event", b'o', Single, Token, "RFC 6665 §8.2.1";
    /// State of the subscription.
    SubscriptionState = "Subscription-State", 0, Single, Token, "RFC 6665 §8.2.3";
    /// Event packages understood.
    AllowEvents = "Allow-Events", b'u', List, Token, "RFC 6665 §8.2.2";
    /// Whom to contact.
    ReferTo = "Refer-To", b'r', Single, Address, "RFC 3515 §2.1";
    /// Who refers.
    ReferredBy = "Referred-By", b'b', Single, Address, "RFC 3892 §3";
    /// Whether a REFER subscribes.
    ReferSub = "Refer-Sub", 0, Single, Token, "RFC 4488 §4";
    /// The dialog that this request takes the place of.
    Replaces = "Replaces", 0, Single, Replaces, "RFC 3891 §6.1";
    /// The dialog that this request joins.
    Join = "Join", 0, Single, Replaces, "RFC 3911 §7.1";
    /// The dialog that this request belongs to.
    TargetDialog = "Target-Dialog", 0, Single, Replaces, "RFC 4538 §7";
    /// Credentials for the server.
    Authorization = "Authorization", 0, Lines, Credentials, "RFC 3261 §20.7";
    /// The server's challenge.
    WwwAuthenticate = "WWW-Authenticate", 0, Lines, Credentials, "RFC 3261 §20.44";
    /// Credentials for a proxy.
    ProxyAuthorization = "Proxy-Authorization", 0, Lines, Credentials, "RFC 3261 §20.28";
    /// A proxy's challenge.
    ProxyAuthenticate = "Proxy-Authenticate", 0, Lines, Credentials, "RFC 3261 §20.27";
    /// Mutual authentication.
    AuthenticationInfo = "Authentication-Info", 0, Lines, Text, "RFC 3261 §20.6";
    /// Methods understood.
    Allow = "Allow", 0, List, Token, "RFC 3261 §20.5";
    /// Media types understood.
    Accept = "Accept", 0, List, Media, "RFC 3261 §20.1";
    /// Body encodings understood.
    AcceptEncoding = "Accept-Encoding", 0, List, Token, "RFC 3261 §20.2";
    /// Languages understood.
    AcceptLanguage = "Accept-Language", 0, List, Token, "RFC 3261 §20.3";
    /// Features the far end must have.
    AcceptContact = "Accept-Contact", b'a', List, Text, "RFC 3841 §9.2";
    /// Features the far end must not have.
    RejectContact = "Reject-Contact", b'j', List, Text, "RFC 3841 §9.2";
    /// How to route the request.
    RequestDisposition = "Request-Disposition", b'd', List, Token, "RFC 3841 §9.1";
    /// How the callee shall be alerted.
    AlertInfo = "Alert-Info", 0, List, Reference, "RFC 3261 §20.4";
    /// More about the caller or callee.
    CallInfo = "Call-Info", 0, List, Reference, "RFC 3261 §20.9";
    /// Where more about an error is found.
    ErrorInfo = "Error-Info", 0, List, Reference, "RFC 3261 §20.18";
    /// The sender's clock.
    Date = "Date", 0, Single, Date, "RFC 3261 §20.17";
    /// The sender's clock, to measure round trips.
    Timestamp = "Timestamp", 0, Single, Text, "RFC 3261 §20.38";
    /// What the call is about.
    Subject = "Subject", b's', Single, Text, "RFC 3261 §20.36";
    /// The organisation of the sender.
    Organization = "Organization", 0, Single, Text, "RFC 3261 §20.25";
    /// How urgent the request is to the sender.
    Priority = "Priority", 0, Single, Token, "RFC 3261 §20.26";
    /// Where answers shall go.
    ReplyTo = "Reply-To", 0, Single, Address, "RFC 3261 §20.31";
    /// Call-IDs this call answers.
    InReplyTo = "In-Reply-To", 0, List, CallId, "RFC 3261 §20.21";
    /// The sender's software.
    UserAgent = "User-Agent", 0, Single, Text, "RFC 3261 §20.41";
    /// The server's software.
    Server = "Server", 0, Single, Text, "RFC 3261 §20.35";
    /// More about a response's status.
    Warning = "Warning", 0, List, Warning, "RFC 3261 §20.43";
    /// When to try again.
    RetryAfter = "Retry-After", 0, Single, Seconds, "RFC 3261 §20.33";
    /// Why the request was sent.
    Reason = "Reason", 0, List, Token, "RFC 3326 §2";
    /// How long a flow lives without keep-alive.
    FlowTimer = "Flow-Timer", 0, Single, Number, "RFC 5626 §10";
    /// Whom the request was retargeted from, and why.
    HistoryInfo = "History-Info", 0, List, Route, "RFC 7044 §5";
    /// Who was called before the call was diverted.
    Diversion = "Diversion", 0, List, Address, "RFC 5806 §5";
    /// Identifies a session across B2BUAs.
    SessionId = "Session-ID", 0, Single, Text, "RFC 7989 §5";
    /// Where the caller is.
    Geolocation = "Geolocation", 0, List, Route, "RFC 6442 §4.1";
    /// Whether the caller's place may steer the call.
    GeolocationRouting = "Geolocation-Routing", 0, Single, Token, "RFC 6442 §4.2";
    /// What is wrong with the caller's place.
    GeolocationError = "Geolocation-Error", 0, Single, Text, "RFC 6442 §4.3";
    /// Signed proof of the caller's identity.
    Identity = "Identity", b'y', Lines, Text, "RFC 8224 §4";
    /// Precedence of the request.
    ResourcePriority = "Resource-Priority", 0, List, Token, "RFC 4412 §3.1";
    /// Entity tag of published state.
    SipETag = "SIP-ETag", 0, Single, Token, "RFC 3903 §11.3.1";
    /// Entity tag the publication refers to.
    SipIfMatch = "SIP-If-Match", 0, Single, Token, "RFC 3903 §11.3.2";
    /// Security mechanisms of the client.
    SecurityClient = "Security-Client", 0, List, Token, "RFC 3329 §2.2";
    /// Security mechanisms of the server.
    SecurityServer = "Security-Server", 0, List, Token, "RFC 3329 §2.2";
    /// Security mechanisms of the server, echoed.
    SecurityVerify = "Security-Verify", 0, List, Token, "RFC 3329 §2.2";
    /// Package of an INFO request.
    InfoPackage = "Info-Package", 0, Single, Token, "RFC 6086 §7.1";
    /// INFO packages understood.
    RecvInfo = "Recv-Info", 0, List, Token, "RFC 6086 §7.2";
    /// Loops broken so far.
    MaxBreadth = "Max-Breadth", 0, Single, Number, "RFC 5393 §5.3.3";
    /// User-to-user information.
    UserToUser = "User-to-User", 0, Lines, Text, "RFC 7433 §4";
    /// Capabilities of a proxy.
    FeatureCaps = "Feature-Caps", 0, List, Text, "RFC 6809 §6.3.2";
    /// Permission document wanted for a target.
    PermissionMissing = "Permission-Missing", 0, List, Address, "RFC 5360 §5.9.3";
    /// The caller's identity before there was P-Asserted-Identity.
    RemotePartyId = "Remote-Party-ID", 0, Lines, Text, "draft-ietf-sip-privacy-04";
    /// The service as the trusted network vouches for it.
    PAssertedService = "P-Asserted-Service", 0, Lines, Text, "RFC 6050 §4.1";
    /// The service the caller would like to use.
    PPreferredService = "P-Preferred-Service", 0, Lines, Text, "RFC 6050 §4.2";
    /// The database that knows the user.
    PUserDatabase = "P-User-Database", 0, Lines, Text, "RFC 4457";
    /// The profile that a public service identity matched.
    PProfileKey = "P-Profile-Key", 0, Lines, Text, "RFC 5002";
    /// The private network that the request belongs to.
    PPrivateNetworkIndication = "P-Private-Network-Indication", 0, Lines, Text, "RFC 7316";
    /// Who is charged.
    PChargeInfo = "P-Charge-Info", 0, Lines, Text, "RFC 8496";
    /// Members of a list that a service refused.
    PRefusedUriList = "P-Refused-URI-List", 0, Lines, Text, "RFC 5318";
    /// Tokens that authorise media.
    PMediaAuthorization = "P-Media-Authorization", 0, Lines, Text, "RFC 3313";
    /// Who pays, in cable networks.
    PDcsBillingInfo = "P-DCS-Billing-Info", 0, Lines, Text, "RFC 5503 §7";
    /// Who listens to a call by law.
    PDcsLaes = "P-DCS-LAES", 0, Lines, Text, "RFC 5503 §8";
    /// Whom a call that is listened to was redirected from.
    PDcsRedirect = "P-DCS-Redirect", 0, Lines, Text, "RFC 5503 §8";
    /// How a failed node is got over.
    RestorationInfo = "Restoration-Info", 0, Lines, Text, "TS 24.229 §7.2.11";
    /// Charging identifiers of other networks.
    RelayedCharge = "Relayed-Charge", 0, Lines, Text, "TS 24.229 §7.2";
    /// Services that were carried out for the call.
    ServiceInteractInfo = "Service-Interact-Info", 0, Lines, Text, "TS 24.229 §7.2";
    /// The cell that the user was seen in.
    CellularNetworkInfo = "Cellular-Network-Info", 0, Lines, Text, "TS 24.229 §7.2";
    /// The function that made a response.
    ResponseSource = "Response-Source", 0, Lines, Text, "TS 24.229 §7.2";
    /// How sure the network is of the caller.
    AttestationInfo = "Attestation-Info", 0, Lines, Text, "TS 24.229 §7.2";
    /// Where in the network the call began.
    OriginationId = "Origination-Id", 0, Lines, Text, "TS 24.229 §7.2";
    /// A further identity of the caller.
    AdditionalIdentity = "Additional-Identity", 0, Lines, Text, "TS 24.229 §7.2";
    /// What an operator does to a call, in cable networks.
    PDcsOsps = "P-DCS-OSPS", 0, Lines, Text, "RFC 5503 §6";
    /// Who is to be traced, in cable networks.
    PDcsTracePartyId = "P-DCS-Trace-Party-ID", 0, Lines, Text, "RFC 5503 §5";
    /// Whether the priority of a call was verified.
    PriorityVerstat = "Priority-Verstat", 0, Lines, Text, "TS 24.229 §7.2";
}

impl Header {
    /// Number of rows, [`Header::Unknown`] included.
    pub const COUNT: usize = ROWS.len();

    /// The header with this number in the order of declaration.
    #[must_use]
    pub fn nth(index: usize) -> Option<Self> {
        ROWS.get(index).map(|row| row.header)
    }

    /// Every header with a row.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().skip(1).map(|row| row.header)
    }

    /// The name as the specification writes it; empty for [`Header::Unknown`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].name
    }

    /// The compact form (RFC 3261 §7.3.3).
    #[must_use]
    pub const fn compact(self) -> Option<u8> {
        match ROWS[self as usize].compact {
            0 => None,
            letter => Some(letter),
        }
    }

    /// How often it may stand in a message.
    #[must_use]
    pub const fn shape(self) -> Shape {
        ROWS[self as usize].shape
    }

    /// What a value is made of.
    #[must_use]
    pub const fn grammar(self) -> Grammar {
        ROWS[self as usize].grammar
    }

    /// Document and section that define it.
    #[must_use]
    pub const fn spec(self) -> &'static str {
        ROWS[self as usize].spec
    }

    /// The row of a header's name, in any case, long or compact.
    #[must_use]
    #[inline]
    pub fn parse(name: &[u8]) -> Self {
        match name {
            [] => return Self::Unknown,
            &[letter] => return compact_row(letter),
            _ => {}
        }
        let row = usize::from(HASHED[slot(key(name), SEED)]);
        let known = ROWS[row].name.as_bytes();
        if octet::equal(name, known) || octet::same(name, known) {
            ROWS[row].header
        } else {
            Self::Unknown
        }
    }

    /// The row of a header line that begins with a name of less than eight octets, written as its
    /// specification writes it, and the position of its colon: the common case in few steps.
    #[inline]
    pub(crate) fn parse_short(line: &[u8]) -> Option<(Self, usize)> {
        let word = u64::from_le_bytes(*line.first_chunk()?);
        let colons = octet::matches(word, b':');
        let first = colons & colons.wrapping_neg();
        if first == 0 {
            return None;
        }
        let key = word & ((first >> 7) - 1);
        let colon = first.trailing_zeros() as usize / 8;
        let row = usize::from(HASHED[slot(key, SEED)]);
        let is_exact = key == KEYS[row] && colon == ROWS[row].name.len() && row > 0;
        is_exact.then_some((ROWS[row].header, colon))
    }
}

const _: () = assert!(Header::COUNT < 255, "the number of a row fits an octet");

/// Slots of the perfect hash; a power of two, ten times the rows so that a seed is found soon.
const SLOTS: usize = 1024;
/// Seeds the compiler tries before it gives up and asks for a better hash.
const SEEDS_MAX: u64 = 4096;
const SEED: u64 = seed();
const HASHED: [u8; SLOTS] = match table(SEED) {
    Some(table) => table,
    None => panic!("seed() returns only seeds without a collision"),
};
const COMPACT: [u8; 32] = compact_table();

/// What turns upper case into lower case (and some other octets into others).
const LOWER: u64 = u64::MAX / 255 * 0x20;
const KEYS: [u64; ROWS.len()] = keys();

const fn keys() -> [u64; ROWS.len()] {
    let mut keys = [0; ROWS.len()];
    let mut row = 0;
    while row < ROWS.len() {
        keys[row] = key(ROWS[row].name.as_bytes());
        row += 1;
    }
    keys
}

/// A short name as a number, or first and last eight octets of a longer one.
#[inline]
const fn key(name: &[u8]) -> u64 {
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(19)
        }
        _ => {
            let mut key = 0;
            let mut at = name.len();
            while at > 0 {
                at -= 1;
                key = key << 8 | name[at] as u64;
            }
            key
        }
    }
}

/// The slot of a key. Bit 5 is left out: it tells upper from lower case.
#[inline]
const fn slot(key: u64, seed: u64) -> usize {
    let caseless = (key & !LOWER) & !(LOWER.rotate_left(19));
    #[allow(clippy::cast_possible_truncation, reason = "less than SLOTS")]
    let slot = (caseless.wrapping_mul(seed) >> (u64::BITS - SLOTS.trailing_zeros())) as usize;
    slot
}

/// The number of a row: there are fewer than 256.
const fn narrow(row: usize) -> u8 {
    assert!(row <= u8::MAX as usize, "a row's number is an octet");
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    let number = row as u8;
    number
}

const fn table(seed: u64) -> Option<[u8; SLOTS]> {
    let mut table = [0; SLOTS];
    let mut row = 1;
    while row < ROWS.len() {
        let at = slot(KEYS[row], seed);
        if table[at] != 0 {
            return None;
        }
        table[at] = narrow(row);
        row += 1;
    }
    Some(table)
}

#[allow(long_running_const_eval, reason = "bounded by SEEDS_MAX; takes milliseconds")]
const fn seed() -> u64 {
    let mut tried = 1;
    while tried <= SEEDS_MAX {
        let seed = tried.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        if table(seed).is_some() {
            return seed;
        }
        tried += 1;
    }
    panic!("no seed without a collision: widen SLOTS or key()")
}

const fn compact_table() -> [u8; 32] {
    let mut table = [0; 32];
    let mut row = 1;
    while row < ROWS.len() {
        let letter = ROWS[row].compact;
        if letter != 0 {
            let at = (letter & 0x1F) as usize;
            assert!(table[at] == 0, "two headers share a compact form");
            table[at] = narrow(row);
        }
        row += 1;
    }
    table
}

#[inline]
fn compact_row(letter: u8) -> Header {
    if letter.is_ascii_alphabetic() {
        ROWS[COMPACT[(letter & 0x1F) as usize] as usize].header
    } else {
        Header::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_in_any_case_and_by_its_compact_form() {
        for header in Header::all() {
            assert_eq!(Header::parse(header.name().as_bytes()), header);
            assert_eq!(Header::parse(header.name().to_uppercase().as_bytes()), header);
            assert_eq!(Header::parse(header.name().to_lowercase().as_bytes()), header);
            if let Some(letter) = header.compact() {
                assert_eq!(Header::parse(&[letter]), header);
                assert_eq!(Header::parse(&[letter.to_ascii_uppercase()]), header);
            }
        }
    }

    #[test]
    fn a_name_without_a_row_is_unknown() {
        for name in ["", "Z", "q", "[", "X-Custom", "Viaa", "Froms", "Content-Lengti"] {
            assert_eq!(Header::parse(name.as_bytes()), Header::Unknown, "{name}");
        }
    }

    #[test]
    fn every_row_names_its_specification() {
        for header in Header::all() {
            let is_named = ["RFC ", "TS ", "draft-"].iter().any(|it| header.spec().starts_with(it));
            assert!(is_named, "{header:?}");
        }
    }
}
