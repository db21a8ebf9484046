//! What `tandem lab phone` is told.

use clap::Args;
use std::net::{IpAddr, SocketAddr};

/// A phone of IMS, and its card.
#[derive(Debug, Args)]
pub struct Phone {
    /// The P-CSCF: an access address of a realm with [ssc.realm.ipsec].
    #[arg(value_parser = place)]
    pub pcscf: SocketAddr,
    /// Its own address, one of this machine that is not the P-CSCF's.
    #[arg(long)]
    pub address: IpAddr,
    /// IMSI of its card.
    #[arg(long, default_value = "001010123456789", value_parser = imsi)]
    pub imsi: String,
    /// Key K of its card, 32 hexadecimal digits; absent: that of the test data (TS 35.208 §4.3).
    #[arg(long, default_value = "465b5ce8b199b49faa5f0a2ee238a6bc", hide_default_value = true)]
    #[arg(value_parser = key)]
    pub k: [u8; 16],
    /// OPc of its card; absent: that of the test data.
    #[arg(long, default_value = "cd63cb71954a9f4e48a5994e37a02baf", hide_default_value = true)]
    #[arg(value_parser = key)]
    pub opc: [u8; 16],
    /// K that the home which it plays (--home) has in place of the card's: a card that the network
    /// has another key of.
    #[arg(long, value_parser = key, requires = "home")]
    pub home_k: Option<[u8; 16]>,
    /// Domain of its home; absent: ims.mncMNC.mccMCC.3gppnetwork.org of the IMSI, with an MNC of
    /// two digits (TS 23.003 §13.2).
    #[arg(long)]
    pub domain: Option<String>,
    /// Its private identity; absent: the IMSI at the domain.
    #[arg(long)]
    pub impi: Option<String>,
    /// Its public identity; absent: sip: and the IMSI at the domain.
    #[arg(long)]
    pub impu: Option<String>,
    /// Play its home too (S-CSCF and HSS), at the address that the site file has for the S-CSCF.
    #[arg(long, value_name = "ADDRESS", value_parser = place)]
    pub home: Option<SocketAddr>,
    /// Another card of that home, by its IMSI, with the same keys and domain: of a phone that is
    /// started without --home. Calls to it go on to it.
    #[arg(long = "card", value_name = "IMSI", value_parser = imsi, requires = "home")]
    pub cards: Vec<String>,
    /// Call somebody: sip:+4930200100@ims.example.org.
    #[arg(long, value_name = "URI")]
    pub call: Option<String>,
    /// Be called so often, by the home that it plays (--home).
    #[arg(long, value_name = "TIMES", default_value_t = 0, requires = "home")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub called: u16,
    /// Seconds that a call is held.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub talk: u64,
    /// Seconds that it stays registered and answers whoever calls, before it de-registers.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub stay: u64,
    /// Seconds of registration that it asks for.
    #[arg(long, default_value_t = 600_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub expires: u32,
    /// Protected ports: server, client.
    #[arg(long, value_delimiter = ',', num_args = 1..=2, default_values_t = [6_100, 6_200])]
    pub ports: Vec<u16>,
}

impl Phone {
    /// The domain of its home.
    #[must_use]
    pub fn domain(&self) -> String {
        let (mcc, mnc) = (&self.imsi[..3], &self.imsi[3..5]);
        let own = || format!("ims.mnc0{mnc}.mcc{mcc}.3gppnetwork.org");
        self.domain.clone().unwrap_or_else(own)
    }
}

fn imsi(text: &str) -> Result<String, String> {
    let is_one = (6..=15).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    if is_one { Ok(text.to_owned()) } else { Err("an IMSI has 6 to 15 digits".to_owned()) }
}

/// An address with its port.
pub(crate) fn place(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write ADDRESS:PORT, as 10.0.0.1:5060 or [2001:db8::1]:5060".to_owned())
}

/// Sixteen octets in hexadecimal digits.
fn key(text: &str) -> Result<[u8; 16], String> {
    let wrong = || "32 hexadecimal digits".to_owned();
    if text.len() != 32 || !text.bytes().all(|it| it.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u128::from_str_radix(text, 16).map(u128::to_be_bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_written_with_a_comma_or_a_blank_between() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            phone: Phone,
        }
        for ports in [&["6100,6200"][..], &["6100", "6200"]] {
            let words = ["phone", "10.0.0.1:5060", "--address", "10.0.0.2", "--ports"];
            let line = <Line as clap::Parser>::try_parse_from(words.iter().chain(ports)).unwrap();
            assert_eq!(line.phone.ports, [6_100, 6_200]);
        }
    }

    #[test]
    fn keys_and_imsis_that_are_none_are_refused() {
        assert_eq!(key("000102030405060708090a0b0c0d0e0f").unwrap()[15], 15);
        for wrong in
            ["", "00", "+00102030405060708090a0b0c0d0e0f", "zz0102030405060708090a0b0c0d0e0f"]
        {
            assert!(key(wrong).is_err(), "{wrong}");
        }
        assert!(
            imsi("001010123456789").is_ok() && imsi("0010").is_err() && imsi("00101a").is_err()
        );
        assert!(place("10.0.0.1:5060").is_ok() && place("10.0.0.1").is_err());
    }
}
