//! The vectors: RFC 3711 App. B, RFC 6188 §7, RFC 7714 §16 and §17.

use super::*;
use cipher::{Extra, Job, Op, Outcome};

fn octets(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    let pair = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(pair).collect()
}

fn derived(suite: Suite, key: &str, salt: &str, rate: u64, label: u8, length: usize) -> Vec<u8> {
    let master = MasterKey::of(suite, &[octets(key), octets(salt)].concat()).expect("it fits");
    let aes = Aes::new(master.key()).expect("it fits");
    let mut out = vec![0; length];
    Derivation { aes, salt: master.salt(), rate }.write(label, &mut out);
    out
}

/// A suite, its master key and salt, and the session's key, salt and authentication key.
const DERIVED: [(Suite, &str, &str, [&str; 3]); 3] = [
    (
        Suite::AesCm128HmacSha1_80,
        "E1F97A0D3E018BE0D64FA32C06DE4139",
        "0EC675AD498AFEEBB6960B3AABE6",
        [
            "C61E7A93744F39EE10734AFE3FF7A087",
            "30CBBC08863D8C85D49DB34A9AE1",
            "CEBE321F6FF7716B6FD4AB49AF256A156D38BAA48F0A0ACF3C34E2359E6CDBCE
             E049646C43D9327AD175578EF72270986371C10C9A369AC2F94A8C5FBCDDDC25
             6D6E919A48B610EF17C2041E474035766B68642C59BBFC2F34DB60DBDFB2",
        ],
    ),
    (
        Suite::AesCm256HmacSha1_80,
        "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6",
        "3b04803de51ee7c96423ab5b78d2",
        [
            "5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4",
            "fa31791685ca444a9e07c6c64e93",
            "fd9c32d39ed5fbb5a9dc96b30818454d1313dc05",
        ],
    ),
    (
        Suite::AesCm192HmacSha1_80,
        "73edc66c4fa15776fb57f9505c17136550ffda71f3e8e5f1",
        "c8522f3acd4ce86d5add78edbb11",
        [
            "31874736a8f1143870c26e4857d8a5b2c4a354407faadabb",
            "2372b82d639b6d8503a47adc0a6c",
            "355b10973cd95b9eacf4061c7e1a7151e7cfbfcb",
        ],
    ),
];

#[test]
fn session_keys_are_those_of_the_documents() {
    for (suite, key, salt, [cipher, session_salt, authentication]) in DERIVED {
        for (label, expected) in [(0, cipher), (2, session_salt), (1, authentication)] {
            let expected = octets(expected);
            let made = derived(suite, key, salt, 0, label, expected.len());
            assert_eq!(made, expected, "{} label {label}", suite.name());
        }
    }
}

#[test]
fn a_rate_changes_the_keys_where_the_index_passes_it() {
    let (suite, key, salt, _) = DERIVED[0];
    let master = MasterKey::of(suite, &[octets(key), octets(salt)].concat()).expect("it fits");
    let once = derived(suite, key, salt, 0, 0, 16);
    let later = derived(suite, key, salt, 1, 0, 16);
    assert_ne!(once, later);
    // The last 48 bits of the input take the quotient.
    let mut input = [0; 16];
    input[..14].copy_from_slice(&octets(salt));
    input[13] ^= 1;
    Aes::new(master.key()).expect("it fits").encrypt(&mut input);
    assert_eq!(later, input);
}

/// RFC 3711 App. B.2: the first three blocks and the last three of the key stream of a packet.
#[test]
fn the_key_stream_of_a_packet_is_that_of_rfc_3711() {
    let parameters = Parameters { authenticates_rtp: false, ..DEFAULT };
    let mut salt = Zeroizing::new([0; SALT_MAX]);
    salt[..14].copy_from_slice(&octets("F0F1F2F3F4F5F6F7F8F9FAFBFCFD"));
    let key = octets("2B7E151628AED2A6ABF7158809CF4F3C");
    let material = Material { key: &key, authentication: &[], salt };
    let session = Session::of(&parameters, Kind::Rtp, material).expect("it is sound");
    let iv = session.iv(parameters.suite, 0, 0);
    assert_eq!(iv.to_vec(), octets("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000"));
    let mut stream = vec![0; 0xff02 * 16];
    let mut job = Job::new(&session.key, Op::Protect, iv);
    job.data = 0..stream.len();
    assert_eq!(cipher::run_one(&mut stream, &mut job), Outcome::Done);
    let first = "E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB
                 41E95B3BB0A2E8DD477901E4FCA894C0";
    let last = "EC8CDF7398607CB0F2D21675EA9EA1E4 362B7C3C6773516318A077D7FC5073AE
                6A2CC3787889374FBEB4C81B17BA6C44";
    assert_eq!(stream[..48], octets(first));
    assert_eq!(stream[0xfeff * 16..0xff02 * 16], octets(last));
}

const DEFAULT: Parameters = Parameters::of(Suite::AesCm128HmacSha1_80);
const GCM_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const GCM_SALT: &str = "517569642070726f2071756f";

fn gcm(suite: Suite, kind: Kind, encrypts_rtcp: bool) -> Session {
    let mut salt = Zeroizing::new([0; SALT_MAX]);
    salt[..12].copy_from_slice(&octets(GCM_SALT));
    let key = octets(GCM_KEY);
    let material = Material { key: &key, authentication: &[], salt };
    let parameters = Parameters { encrypts_rtcp, ..Parameters::of(suite) };
    Session::of(&parameters, kind, material).expect("it is sound")
}

#[test]
fn packets_of_rtp_in_galois_counter_mode_are_those_of_rfc_7714() {
    let plain = octets(
        "8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e697320646976
         69736120696e20706172746573207472 6573",
    );
    let of_128 = "f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf
                  8833899d7f27beb16a9152cf765ee4390cce";
    let of_256 = "32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799
                  b87b7aa3db36dfffd6b0f9bb7878d7a76c13";
    for (suite, expected) in [(Suite::AeadAes128Gcm, of_128), (Suite::AeadAes256Gcm, of_256)] {
        let session = gcm(suite, Kind::Rtp, true);
        let iv = session.iv(suite, 0x5501_a0b2, 0xf17b);
        assert_eq!(iv[..12], octets("51753c6580c2726f20718414"));
        let mut packet = plain.clone();
        packet.extend([0; 16]);
        let mut job = Job::new(&session.key, Op::Protect, iv);
        (job.aad, job.data, job.tag) = (0..12, 12..plain.len(), plain.len());
        assert_eq!(cipher::run_one(&mut packet, &mut job), Outcome::Done);
        assert_eq!(packet[12..], octets(expected), "{}", suite.name());
    }
}

#[test]
fn packets_of_rtcp_in_galois_counter_mode_are_those_of_rfc_7714() {
    let plain = octets(
        "81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61
         deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
    );
    let of_128 = "63e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda
                  4ce09b4686303ded0bb9275bc84aa45896cf4d2fc5abf87245d9eade";
    let of_256 = "d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be
                  8415f658c61de0476f1b6fad1d1eb30c4446839f57ff6f6cb26ac3be";
    for (suite, expected) in [(Suite::AeadAes128Gcm, of_128), (Suite::AeadAes256Gcm, of_256)] {
        let session = gcm(suite, Kind::Rtcp, true);
        let mut packet = plain.clone();
        packet.extend([0; 16]);
        let iv = session.iv(suite, 0x4d61_7273, 0x5d4);
        let mut job = Job::new(&session.key, Op::Protect, iv);
        (job.aad, job.data, job.tag) = (0..8, 8..plain.len(), plain.len());
        job.extra = Extra::from(0x8000_05d4);
        assert_eq!(cipher::run_one(&mut packet, &mut job), Outcome::Done);
        assert_eq!(packet[8..], octets(expected), "{}", suite.name());
    }
    // RFC 7714 §17.3: authenticated and not encrypted.
    let session = gcm(Suite::AeadAes128Gcm, Kind::Rtcp, false);
    let mut packet = plain.clone();
    packet.extend([0; 16]);
    let iv = session.iv(Suite::AeadAes128Gcm, 0x4d61_7273, 0x5d4);
    let mut job = Job::new(&session.key, Op::Protect, iv);
    (job.aad, job.data, job.tag) = (0..plain.len(), plain.len()..plain.len(), plain.len());
    job.extra = Extra::from(0x0000_05d4);
    assert_eq!(cipher::run_one(&mut packet, &mut job), Outcome::Done);
    assert_eq!(packet[plain.len()..], octets("841dd9683dd78ec92ae58790125f62b3"));
}

#[test]
fn a_session_shows_no_key_and_comes_of_sound_parameters_only() {
    let master = MasterKey::of(Suite::AeadAes128Gcm, &[7; 28]).expect("it fits");
    let of = |parameters: &Parameters| Session::derive(&master, parameters, Kind::Rtp, 0);
    let sound = Parameters::of(Suite::AeadAes128Gcm);
    assert!(of(&sound).is_some());
    assert!(of(&Parameters { encrypts_rtp: false, ..sound }).is_none());
    assert!(of(&Parameters { authenticates_rtp: false, ..sound }).is_none());
    assert!(of(&DEFAULT).is_none(), "a key of another suite");
}
