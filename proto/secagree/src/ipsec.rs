//! The parameters of `ipsec-3gpp` (TS 33.203 Annex H) and what they are in ESP.

use crate::mechanism::{Parameter, SPEC};
use aka::Secret;
use aka::digest::SessionKeys;
use aka::esp_keys;
use esp::{Algorithm, Encryption, Integrity, KeyLength, Spi, Unfit};
use wire::Malformed;
use zeroize::Zeroizing;

wire::rows! {
    /// What authenticates.
    pub enum Alg {
        /// HMAC-SHA-1-96.
        HmacSha1_96 = "hmac-sha-1-96", "TS 33.203 Annex H";
        /// HMAC-MD5-96, which later releases have no more.
        HmacMd5_96 = "hmac-md5-96", "TS 33.203 Annex H";
        /// AES-GMAC.
        AesGmac = "aes-gmac", "TS 33.203 Annex H";
        /// The encryption.
        Null = "null", "TS 33.203 Annex H";
    }
}

wire::rows! {
    /// What encrypts.
    pub enum Ealg {
        /// Nothing.
        Null = "null", "TS 33.203 Annex H";
        /// AES-CBC.
        AesCbc = "aes-cbc", "TS 33.203 Annex H";
        /// AES-GCM.
        AesGcm = "aes-gcm", "TS 33.203 Annex H";
        /// 3DES-CBC, which later releases have no more.
        DesEde3Cbc = "des-ede3-cbc", "TS 33.203 Annex H";
    }
}

wire::rows! {
    /// Transport or tunnel.
    pub enum Mode {
        /// Transport: what is meant where nothing is said.
        Transport = "trans", "TS 33.203 Annex H";
        /// Tunnel.
        Tunnel = "tun", "TS 33.203 Annex H";
        /// A tunnel in UDP, through a NAT (Annex M).
        UdpTunnel = "UDP-enc-tun", "TS 33.203 Annex H";
    }
}

wire::rows! {
    /// Which protocol of IPsec.
    pub enum Protocol {
        /// ESP: what is meant where nothing is said.
        Esp = "esp", "TS 33.203 Annex H";
        /// AH, which IMS does not use.
        Ah = "ah", "TS 33.203 Annex H";
    }
}

/// What a phone offers, or a network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipsec {
    /// What authenticates.
    pub alg: Alg,
    /// What encrypts.
    pub ealg: Ealg,
    /// The protocol.
    pub protocol: Protocol,
    /// The mode.
    pub mode: Mode,
    /// The index by which the client port of who says this receives.
    pub spi_c: Spi,
    /// The index by which its server port receives.
    pub spi_s: Spi,
    /// Its client port.
    pub port_c: u16,
    /// Its server port.
    pub port_s: u16,
}

impl Ipsec {
    /// Reads the parameters; `None` where one of them has a value that is not ours.
    pub(crate) fn read<'a>(
        parameters: &[Parameter<'a>],
        at: usize,
    ) -> Result<Option<Self>, Malformed> {
        let mut found = [None; Self::PARAMETERS.len()];
        for parameter in parameters {
            if let Some(place) = Self::place(parameter) {
                found[place] = Some(parameter);
            }
        }
        let [alg, ealg, mode, protocol, spi_c, spi_s, port_c, port_s] = found;
        let must = |it: Option<_>, what| it.ok_or(Malformed::new(at, what, SPEC));
        let value = |it: Option<&Parameter<'a>>, usual: &'static str| {
            it.map_or(usual.as_bytes(), |it| it.value)
        };
        let alg = named(Alg::ALL, Alg::name, must(alg, "ipsec-3gpp has no alg")?.value);
        let ealg = named(Ealg::ALL, Ealg::name, value(ealg, Ealg::Null.name()));
        let mode = named(Mode::ALL, Mode::name, value(mode, Mode::Transport.name()));
        let protocol = named(Protocol::ALL, Protocol::name, value(protocol, Protocol::Esp.name()));
        let spi_c = Spi(number(must(spi_c, "ipsec-3gpp has no spi-c")?)?);
        let spi_s = Spi(number(must(spi_s, "ipsec-3gpp has no spi-s")?)?);
        let port_c = port(must(port_c, "ipsec-3gpp has no port-c")?)?;
        let port_s = port(must(port_s, "ipsec-3gpp has no port-s")?)?;
        let (Some(alg), Some(ealg), Some(mode), Some(protocol)) = (alg, ealg, mode, protocol)
        else {
            return Ok(None);
        };
        Ok(Some(Self { alg, ealg, protocol, mode, spi_c, spi_s, port_c, port_s }))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut text = format!(";alg={}", self.alg.name());
        if self.protocol != Protocol::Esp {
            text += &format!(";prot={}", self.protocol.name());
        }
        if self.mode != Mode::Transport {
            text += &format!(";mod={}", self.mode.name());
        }
        text += &format!(
            ";ealg={};spi-c={};spi-s={};port-c={};port-s={}",
            self.ealg.name(),
            self.spi_c.0,
            self.spi_s.0,
            self.port_c,
            self.port_s
        );
        out.extend_from_slice(text.as_bytes());
    }

    /// The names of its parameters.
    pub(crate) const PARAMETERS: [&'static str; 8] =
        ["alg", "ealg", "mod", "prot", "spi-c", "spi-s", "port-c", "port-s"];

    /// Which of these a parameter is.
    pub(crate) fn place(parameter: &Parameter<'_>) -> Option<usize> {
        Self::PARAMETERS.iter().position(|name| parameter.is(name))
    }

    /// Whether its indices and ports can be used: two indices that are not reserved, two ports
    /// (TS 33.203 §7.1).
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.spi_c.0 >= 256
            && self.spi_s.0 >= 256
            && self.spi_c.0 != self.spi_s.0
            && self.port_c != 0
            && self.port_s != 0
            && self.port_c != self.port_s
    }

    /// The algorithm of ESP, if the two go together.
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        if self.protocol != Protocol::Esp {
            return None;
        }
        algorithm(self.alg, self.ealg).ok()
    }

    /// The keys of ESP (TS 33.203 Annex I); `None` if there is no such algorithm, or the session's
    /// keys have not 128 bits.
    #[must_use]
    pub fn keys(&self, session: &SessionKeys) -> Option<EspKeys> {
        let (alg, ealg) = (self.alg, self.ealg);
        algorithm(alg, ealg).ok()?;
        let SessionKeys { ck, ik } = session;
        let (ck_octets, ik_octets) = (octets(ck)?, octets(ik)?);
        let encryption = match ealg {
            Ealg::Null => Vec::new(),
            Ealg::AesCbc => ck_octets.to_vec(),
            Ealg::AesGcm => [&ck_octets[..], &*esp_keys::gcm_salt(ck, ik)].concat(),
            Ealg::DesEde3Cbc => esp_keys::triple_des(ck_octets).to_vec(),
        };
        let integrity = match alg {
            Alg::Null => Vec::new(),
            Alg::HmacMd5_96 => ik_octets.to_vec(),
            Alg::HmacSha1_96 => esp_keys::hmac_sha1(ik_octets).to_vec(),
            Alg::AesGmac => [&ik_octets[..], &*esp_keys::gmac_salt(ck, ik)].concat(),
        };
        Some(EspKeys {
            encryption: Zeroizing::new(encryption),
            integrity: Zeroizing::new(integrity),
        })
    }
}

/// Keys of ESP, which are wiped.
#[derive(Clone, PartialEq, Eq)]
pub struct EspKeys {
    encryption: Zeroizing<Vec<u8>>,
    integrity: Zeroizing<Vec<u8>>,
}

impl EspKeys {
    /// What an association takes.
    #[must_use]
    pub fn material(&self) -> esp::Material<'_> {
        esp::Material { encryption: &self.encryption, integrity: &self.integrity }
    }
}

impl core::fmt::Debug for EspKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.material().fmt(f)
    }
}

fn octets(key: &Secret) -> Option<&[u8; 16]> {
    key.expose().try_into().ok()
}

/// The algorithm of ESP that two names are.
pub(crate) const fn algorithm(alg: Alg, ealg: Ealg) -> Result<Algorithm, Unfit> {
    let integrity = match alg {
        Alg::HmacSha1_96 => Integrity::HmacSha1_96,
        Alg::HmacMd5_96 => Integrity::HmacMd5_96,
        Alg::AesGmac => Integrity::AesGmac(KeyLength::Bits128),
        Alg::Null => Integrity::Combined,
    };
    let encryption = match ealg {
        Ealg::Null => Encryption::Null,
        Ealg::AesCbc => Encryption::AesCbc(KeyLength::Bits128),
        Ealg::AesGcm => Encryption::AesGcm16(KeyLength::Bits128),
        Ealg::DesEde3Cbc => Encryption::TripleDesCbc,
    };
    Algorithm::new(encryption, integrity)
}

fn named<T: Copy>(rows: &[T], name: fn(T) -> &'static str, value: &[u8]) -> Option<T> {
    rows.iter().copied().find(|row| name(*row).as_bytes().eq_ignore_ascii_case(value))
}

fn number(parameter: &Parameter<'_>) -> Result<u32, Malformed> {
    let digit = |octet: &u8| octet.checked_sub(b'0').filter(|digit| *digit <= 9);
    let number = parameter
        .value
        .iter()
        .try_fold(0_u32, |number, octet| number.checked_mul(10)?.checked_add(digit(octet)?.into()));
    number
        .filter(|_| !parameter.value.is_empty())
        .ok_or(parameter.violation("it is no number of 32 bits"))
}

fn port(parameter: &Parameter<'_>) -> Result<u16, Malformed> {
    u16::try_from(number(parameter)?).map_err(|_| parameter.violation("it is no port"))
}
