//! What becomes of CK and IK as keys of ESP (TS 33.203 Annex I).

use crate::Secret;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Octets of the salt of AES-GCM and AES-GMAC.
pub const SALT: usize = 4;

/// HMAC-SHA-1-96: IK and 32 bits of zero.
#[must_use]
pub fn hmac_sha1(ik: &[u8; 16]) -> Zeroizing<[u8; 20]> {
    let mut key = Zeroizing::new([0; 20]);
    key[..16].copy_from_slice(ik);
    key
}

/// DES-EDE3-CBC: the halves of CK and the first one again, the parity of each octet odd.
#[must_use]
pub fn triple_des(ck: &[u8; 16]) -> Zeroizing<[u8; 24]> {
    let mut key = Zeroizing::new([0; 24]);
    key[..16].copy_from_slice(ck);
    key[16..].copy_from_slice(&ck[..8]);
    for octet in key.iter_mut() {
        *octet = *octet & 0xfe | u8::from((*octet & 0xfe).count_ones() % 2 == 0);
    }
    key
}

/// The salt of AES-GMAC.
#[must_use]
pub fn gmac_salt(ck: &Secret, ik: &Secret) -> Zeroizing<[u8; SALT]> {
    salt(ck, ik, 0x58, b"AES_GMAC_SALT")
}

/// The salt of AES-GCM.
#[must_use]
pub fn gcm_salt(ck: &Secret, ik: &Secret) -> Zeroizing<[u8; SALT]> {
    salt(ck, ik, 0x59, b"AES_GCM_SALT")
}

/// The last 32 bits of KDF (TS 33.220 §B.2) under CK and IK.
fn salt(ck: &Secret, ik: &Secret, fc: u8, p0: &[u8]) -> Zeroizing<[u8; SALT]> {
    let key = Zeroizing::new([ck.expose(), ik.expose()].concat());
    let mut hmac = Hmac::<Sha256>::new_from_slice(&key).expect("an HMAC takes any key");
    hmac.update(&[fc]);
    hmac.update(p0);
    hmac.update(&u16::try_from(p0.len()).unwrap_or(u16::MAX).to_be_bytes());
    let out = Zeroizing::new(<[u8; 32]>::from(hmac.finalize().into_bytes()));
    Zeroizing::new(*out.last_chunk().expect("it has 32 octets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_lengthened_and_have_odd_parity() {
        let key: [u8; 16] = core::array::from_fn(|at| at as u8);
        assert_eq!(hmac_sha1(&key)[..16], key);
        assert_eq!(hmac_sha1(&key)[16..], [0; 4]);
        let des = triple_des(&key);
        assert!(des.iter().all(|octet| octet.count_ones() % 2 == 1));
        assert_eq!(des[..8], [1, 1, 2, 2, 4, 4, 7, 7]);
        assert_eq!(des[..8], des[16..]);
    }

    #[test]
    fn salts_of_both_differ_and_are_of_both_keys() {
        let [a, b] = [1, 2].map(|octet| Secret::cut(&[octet; 16]));
        assert_ne!(gcm_salt(&a, &b), gmac_salt(&a, &b));
        assert_ne!(gcm_salt(&a, &b), gcm_salt(&b, &a));
    }
}
