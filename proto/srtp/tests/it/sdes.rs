//! `a=crypto` lines: what is read, what is written, which is taken.

use crate::Random;
use srtp::sdes::{self, Crypto, FecOrder, InlineKey, Mismatch, Offer, Policy, SessionParameters};
use srtp::{KeyDerivationRate, Mki, Suite};

const KEY: &str = "inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
const OTHER: &str = "inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj";

fn read(lines: &[&str]) -> Result<Offer, wire::Malformed> {
    sdes::read_all(lines.iter().map(|line| line.as_bytes()))
}

fn one(line: &str) -> Crypto {
    let offer = read(&[line]).unwrap_or_else(|violation| panic!("{line}: {violation}"));
    offer.lines().first().unwrap_or_else(|| panic!("{line}: not understood")).clone()
}

fn written(crypto: &Crypto) -> String {
    let mut out = Vec::new();
    crypto.write(&mut out);
    String::from_utf8(out).expect("characters")
}

#[test]
fn lines_of_the_document_are_read() {
    let line = one(&format!("1 AES_CM_128_HMAC_SHA1_80 {KEY}|2^20|1:4 FEC_ORDER=FEC_SRTP"));
    assert_eq!((line.tag, line.suite), (1, Suite::AesCm128HmacSha1_80));
    assert_eq!(line.keys[0].lifetime, Some(1 << 20));
    assert_eq!(line.keys[0].mki, Mki::new(1, 4));
    assert_eq!(line.session.fec_order, Some(FecOrder::FecSrtp));
    assert_eq!(line.entries()[0].allowance.rtp, 1 << 20);
    let two = format!("7 AES_CM_128_HMAC_SHA1_32 {KEY}|2^20|1:4;{OTHER}|2^20|2:4");
    assert_eq!(one(&two).keys.len(), 2);
    let line = one(&format!(
        "999999999 AES_CM_128_HMAC_SHA1_80 {KEY}|1:32 KDR=24 UNENCRYPTED_SRTCP WSH=64 -x=y"
    ));
    assert_eq!(line.session.kdr, KeyDerivationRate::every_power(24).unwrap());
    assert_eq!((line.keys[0].lifetime, line.session.window_hint), (None, Some(64)));
    assert!(!line.parameters().encrypts_rtcp && line.parameters().encrypts_rtp);
}

#[test]
fn a_key_is_read_with_and_without_padding() {
    let unpadded = "1 AEAD_AES_128_GCM inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw";
    assert_eq!(one(unpadded), one(&format!("{unpadded}==")));
}

#[test]
fn what_is_malformed_is_refused_with_its_place() {
    let usual = "1 AES_CM_128_HMAC_SHA1_80";
    let wrong = [
        (String::new(), 0),
        ("1".into(), 1),
        (usual.into(), usual.len()),
        (format!("x AES_CM_128_HMAC_SHA1_80 {KEY}"), 0),
        (format!("1234567890 AES_CM_128_HMAC_SHA1_80 {KEY}"), 0),
        (format!("-1 AES_CM_128_HMAC_SHA1_80 {KEY}"), 0),
        (format!("{usual} inline"), 26),
        (format!("{usual} inline:"), 33),
        (format!("{usual} inline:AAAA"), 33),
        (format!("{usual} {KEY}="), 33),
        (format!("{usual} {}*", &KEY[..KEY.len() - 1]), 33),
        (format!("{usual} {KEY}|2^49"), 74),
        (format!("{usual} {KEY}|2^99"), 74),
        (format!("{usual} {KEY}|0"), 74),
        (format!("{usual} {KEY}|"), 74),
        (format!("{usual} {KEY}|1:0"), 74),
        (format!("{usual} {KEY}|1:129"), 74),
        (format!("{usual} {KEY}|256:1"), 74),
        (format!("{usual} {KEY}|2^20|1:4|x"), 83),
        (format!("{usual} {KEY};{OTHER}"), 81),
        (format!("{usual} {KEY}|1:1;{OTHER}|1:1"), 85),
        (format!("{usual} {KEY}|1:1;{OTHER}|2:2"), 85),
        (format!("{usual} {KEY} KDR=0"), 78),
        (format!("{usual} {KEY} KDR=25"), 78),
        (format!("{usual} {KEY} WSH=63"), 78),
        (format!("{usual} {KEY} KDR=1 KDR=1"), 80),
        (format!("{usual}\t{KEY}"), 25),
        (format!("{usual} {KEY} {}", "-a".repeat(500)), 1_024),
    ];
    for (line, at) in wrong {
        match read(&[&line]) {
            Err(violation) => assert_eq!(violation.at, at, "{line}: {violation}"),
            Ok(offer) => panic!("{line}: {offer:?}"),
        }
    }
}

#[test]
fn what_is_unknown_is_passed_over_and_its_tag_is_taken() {
    let unknown = [
        format!("1 F8_128_HMAC_SHA1_80 {KEY}"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY} NEW_PARAMETER"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY} FEC_KEY={OTHER}"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY} FEC_ORDER=BOTH"),
        "1 AES_CM_128_HMAC_SHA1_80 mikey:AAAA".to_owned(),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY}|36893488147419103232:9"),
        "1 AEAD_AES_128_GCM inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubA== UNENCRYPTED_SRTP"
            .to_owned(),
    ];
    let policy = Policy::of(vec![Suite::AesCm128HmacSha1_80]);
    for line in &unknown {
        let alone = read(&[line]).unwrap_or_else(|violation| panic!("{line}: {violation}"));
        assert!(alone.has_any() && alone.lines().is_empty(), "{line}");
        let known = format!("2 AES_CM_128_HMAC_SHA1_80 {KEY}");
        let offer = read(&[line, &known]).unwrap();
        assert_eq!(sdes::choose(&offer, &policy).unwrap().line().tag, 2);
        let twice = read(&[line, &known.replacen('2', "1", 1)]);
        assert!(twice.is_err(), "{line}: two lines of one tag");
    }
    assert!(!read(&[]).unwrap().has_any());
    let many: Vec<String> = (0..33).map(|tag| format!("{tag} X {KEY}")).collect();
    assert!(read(&many.iter().map(String::as_str).collect::<Vec<_>>()).is_err());
}

#[test]
fn what_is_written_reads_the_same() {
    let mut random = Random(1);
    for round in 0..2_000 {
        let suite = Suite::ALL[random.below(Suite::ALL.len() as u64) as usize];
        let names = random.below(3) > 0;
        let count = if names { 1 + random.below(4) } else { 1 };
        let mut key = |value| InlineKey {
            key: random.key(suite),
            lifetime: match random.below(3) {
                0 => None,
                1 => Some(1 << random.below(49)),
                _ => Some(1 + random.below(1 << 40)),
            },
            mki: if names { Mki::new(value, 2) } else { None },
        };
        let keys = (0..count).map(&mut key).collect();
        let bit = |random: &mut Random| random.below(2) == 0;
        let session = SessionParameters {
            kdr: match random.below(3) {
                0 => KeyDerivationRate::every_power(1 + random.below(24) as u8).unwrap(),
                _ => KeyDerivationRate::ONCE,
            },
            unencrypted_srtp: bit(&mut random) && suite.salt_octets() == 14,
            unencrypted_srtcp: bit(&mut random),
            unauthenticated_srtp: bit(&mut random) && suite.salt_octets() == 14,
            fec_order: bit(&mut random).then_some(FecOrder::SrtpFec),
            window_hint: bit(&mut random).then_some(64 + random.below(1_000)),
        };
        let crypto = Crypto { tag: round, suite, keys, session };
        let text = written(&crypto);
        assert_eq!(one(&text), crypto, "{text}");
        assert_eq!(written(&one(&text)), text);
    }
}

#[test]
fn the_offers_first_line_that_the_site_takes_is_answered_with_a_key_of_its_own() {
    let mut random = Random(2);
    let offer = read(&[
        &format!("1 AES_CM_128_HMAC_SHA1_80 {KEY} UNENCRYPTED_SRTP"),
        &format!("2 AES_CM_128_HMAC_SHA1_80 {KEY} UNAUTHENTICATED_SRTP"),
        &format!("3 AES_CM_128_HMAC_SHA1_32 {KEY} KDR=5 WSH=100"),
        &format!("4 AES_CM_128_HMAC_SHA1_80 {OTHER}"),
    ])
    .unwrap();
    let taken = |policy: &Policy| sdes::choose(&offer, policy).map(|choice| choice.line().tag);
    let both = vec![Suite::AesCm128HmacSha1_80, Suite::AesCm128HmacSha1_32];
    let derives = Policy { allows_key_derivation: true, ..Policy::of(both.clone()) };
    assert_eq!(taken(&derives), Some(3), "the offer's order counts");
    assert_eq!(taken(&Policy::of(both.clone())), Some(4), "key derivation is passed over");
    assert_eq!(taken(&Policy::of(vec![Suite::AesCm128HmacSha1_80])), Some(4));
    assert_eq!(taken(&Policy::of(vec![Suite::AeadAes256Gcm])), None);
    assert_eq!(taken(&Policy { allows_unencrypted: true, ..Policy::of(both.clone()) }), Some(1));
    let policy = Policy { allows_unauthenticated: true, ..Policy::of(both.clone()) };
    assert_eq!(taken(&policy), Some(2));
    let choice = sdes::choose(&offer, &derives).unwrap();
    assert!(sdes::answer(choice, random.key(Suite::AesCm128HmacSha1_80)).is_none());
    assert!(sdes::answer(choice, choice.line().keys[0].key.clone()).is_none(), "their own key");
    let agreed = sdes::answer(choice, random.key(Suite::AesCm128HmacSha1_32)).unwrap();
    assert_eq!((agreed.ours.tag, agreed.ours.suite), (3, Suite::AesCm128HmacSha1_32));
    assert_eq!(agreed.ours.session.kdr, agreed.theirs.session.kdr);
    assert_eq!(agreed.ours.session.window_hint, None);
    assert_ne!(agreed.ours.keys[0].key, agreed.theirs.keys[0].key);
    let text = written(&agreed.ours);
    let answered = read(&[&text]).unwrap();
    let back = sdes::accept(&offer, &answered).unwrap();
    assert_eq!((back.ours.tag, &back.theirs), (3, &agreed.ours));
}

#[test]
fn an_answer_is_held_to_its_offer() {
    let mut random = Random(3);
    let offer = Offer::write(&[Suite::AesCm128HmacSha1_80, Suite::AeadAes128Gcm], |suite| {
        random.key(suite)
    });
    assert_eq!(offer.lines().iter().map(|line| line.tag).collect::<Vec<_>>(), [1, 2]);
    let verdict = |lines: &[&str]| sdes::accept(&offer, &read(lines).unwrap()).map(|_| ());
    let good = format!("1 AES_CM_128_HMAC_SHA1_80 {KEY}");
    assert_eq!(verdict(&[&good]), Ok(()));
    assert_eq!(verdict(&[]), Err(Mismatch::NotOne));
    assert_eq!(verdict(&[&good, "2 NEW x:y"]), Err(Mismatch::NotOne));
    assert_eq!(verdict(&[&good.replacen('1', "3", 1)]), Err(Mismatch::NotOffered));
    let other = format!("1 AES_CM_128_HMAC_SHA1_32 {KEY}");
    assert_eq!(verdict(&[&other]), Err(Mismatch::NotOffered));
    let clear = format!("{good} UNENCRYPTED_SRTP");
    assert_eq!(verdict(&[&clear]), Err(Mismatch::Parameters));
    let own = written(&offer.lines()[0]);
    assert_eq!(verdict(&[&own]), Err(Mismatch::SameKey));
    let shown = format!("{offer:?}");
    assert!(!shown.contains(&own[33..50]), "{shown}");
}
