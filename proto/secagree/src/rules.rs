//! What a proxy lets pass, and with what words it refuses (RFC 3329 §2.3.1, TS 24.229 §5.2.2).

use crate::{Choice, Kept, List, Preference, choose};

wire::rows! {
    /// Why a request is refused.
    pub enum Refused: u16, pub status: u16 {
        /// It asks for no agreement, and the network wants one. The answer has
        /// `Require: sec-agree`.
        NotAsked = 1, "the request does not ask for a security agreement", 421, "RFC 3329 §2.3.1";
        /// Its client knows agreements, but the request has none. The answer has Security-Server.
        NotAgreed = 2, "the request is outside of any security agreement", 494, "RFC 3329 §2.3.1";
        /// It asks for an agreement and came by another proxy: that is not the first hop.
        NotFirstHop = 3, "the request has passed another proxy", 502, "RFC 3329 §2.3.1";
        /// It asks for an agreement, and says nothing of what it can.
        NoClient = 4, "Security-Client is missing", 494, "TS 24.229 §5.2.2.2";
        /// Nothing of what it can is allowed here.
        NothingInCommon = 5, "no mechanism of Security-Client is allowed", 494, "TS 33.203 §7.2";
        /// Under protection, Security-Verify is missing.
        NoVerify = 6, "Security-Verify is missing", 494, "RFC 3329 §2.3.1";
        /// Security-Verify is not what Security-Server was: someone has offered less.
        OtherVerify = 7, "Security-Verify is not what was offered", 494, "RFC 3329 §2.3.1";
        /// Security-Client is not what it was: someone has asked for less.
        OtherClient = 8, "Security-Client has changed", 494, "TS 33.203 §7.2";
    }
}

impl Refused {
    /// Whether the answer has `Require: sec-agree` (RFC 3261 §21.4.16).
    #[must_use]
    pub const fn has_require(self) -> bool {
        matches!(self, Self::NotAsked)
    }

    /// Whether the answer has Security-Server (RFC 3329 §2.3.1).
    #[must_use]
    pub const fn has_server(self) -> bool {
        self.status() == 494
    }
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} ({})", self.name(), self.spec())
    }
}

impl core::error::Error for Refused {}

/// The option tag.
pub const OPTION_TAG: &str = "sec-agree";

/// Where a request names the option tag, and how many proxies it has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// In Require.
    pub require: bool,
    /// In Proxy-Require.
    pub proxy_require: bool,
    /// In Supported.
    pub supported: bool,
    /// Entries of Via.
    pub vias: usize,
}

impl Asked {
    const fn asks(self) -> bool {
        self.require || self.proxy_require
    }
}

/// A REGISTER that came without protection, where the network wants an agreement: what is chosen
/// of it.
///
/// # Errors
/// Why it is refused.
pub fn unprotected(asked: Asked, client: &List, own: &Preference) -> Result<Choice, Refused> {
    if !asked.asks() {
        return Err(if asked.supported { Refused::NotAgreed } else { Refused::NotAsked });
    }
    if asked.vias > 1 {
        return Err(Refused::NotFirstHop);
    }
    if client.is_empty() {
        return Err(Refused::NoClient);
    }
    choose(client, own).ok_or(Refused::NothingInCommon)
}

/// A request that came under protection: the lists are those of the agreement. Every request has
/// Security-Verify; Security-Client is looked at in a REGISTER, whose answer agrees anew. No list
/// of Security-Verify: it is, octet for octet, one that was agreed to before.
///
/// # Errors
/// Why it is refused.
pub fn protected(
    asked: Asked,
    lists: (&List, Option<&List>),
    agreed: (&Kept, &Kept),
    is_register: bool,
) -> Result<(), Refused> {
    let ((client, verify), (agreed_client, agreed_server)) = (lists, agreed);
    if !asked.asks() {
        return Err(if asked.supported { Refused::NotAgreed } else { Refused::NotAsked });
    }
    if asked.vias > 1 {
        return Err(Refused::NotFirstHop);
    }
    if let Some(verify) = verify {
        if verify.is_empty() {
            return Err(Refused::NoVerify);
        }
        if !agreed_server.is_same(&Kept::of(verify)) {
            return Err(Refused::OtherVerify);
        }
    }
    if is_register && client.is_empty() {
        return Err(Refused::NoClient);
    }
    if is_register && !agreed_client.is_same(&Kept::of(client)) {
        return Err(Refused::OtherClient);
    }
    Ok(())
}

/// Appends the option tags of a line without `sec-agree`, which ends at the proxy that agreed
/// (TS 24.229 §5.2.2.2); says whether any is left.
pub fn without_tag(value: &[u8], out: &mut Vec<u8>) -> bool {
    let tags = value.split(|octet| *octet == b',').map(<[u8]>::trim_ascii);
    let is_other =
        |tag: &&[u8]| !tag.is_empty() && !tag.eq_ignore_ascii_case(OPTION_TAG.as_bytes());
    let mut is_any = false;
    for tag in tags.filter(is_other) {
        if is_any {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(tag);
        is_any = true;
    }
    is_any
}
