//! What the standards print.

use crate::hex;
use cipher::{Aes, BackEnd, Encryption, Integrity, Job, Key, KeyLength, Op, Outcome, Suite};
use cipher::{KeyLength::Bits128, KeyLength::Bits192, KeyLength::Bits256, run_one};

const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                     30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

fn back_ends() -> impl Iterator<Item = BackEnd> {
    BackEnd::ALL.into_iter().filter(|it| it.is_available())
}

#[test]
fn blocks_are_those_of_fips_197_appendix_c() {
    for (key, encrypted) in [
        ("000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
        ("000102030405060708090a0b0c0d0e0f1011121314151617", "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "8ea2b7ca516745bfeafc49904b496089",
        ),
    ] {
        let aes = Aes::new(&hex(key)).expect("a length of AES");
        let plain = hex("00112233445566778899aabbccddeeff").try_into().expect("a block");
        let mut blocks = [plain; 19];
        aes.encrypt_all(&mut blocks);
        for block in &mut blocks {
            assert_eq!(block[..], hex(encrypted));
            aes.decrypt(block);
            assert_eq!(*block, plain);
            aes.encrypt(block);
            assert_eq!(block[..], hex(encrypted));
        }
    }
    assert!(Aes::new(&[0; 17]).is_err());
}

/// Protects and unprotects by each back end.
fn both_ways(encryption: Encryption, key: &str, iv: &str, encrypted: &str) {
    for back_end in back_ends() {
        let suite = Suite::new(encryption, Integrity::Null, 0).expect("a suite");
        let key = Key::with_back_end(back_end, suite, &hex(key), &[]).expect("a key");
        let iv = hex(iv).try_into().expect("16 octets");
        let mut buffer = hex(PLAIN);
        let mut job = Job { data: 0..buffer.len(), ..Job::new(&key, Op::Protect, iv) };
        assert_eq!(run_one(&mut buffer, &mut job), Outcome::Done);
        assert_eq!(buffer, hex(encrypted), "{encryption:?} by {back_end:?}");
        job.op = Op::Unprotect;
        assert_eq!(run_one(&mut buffer, &mut job), Outcome::Done);
        assert_eq!(buffer, hex(PLAIN), "{encryption:?} by {back_end:?}");
    }
}

#[test]
fn counter_mode_is_that_of_sp_800_38a_f_5() {
    let iv = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    for (length, key, encrypted) in [
        (
            Bits128,
            KEY_128,
            "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
             5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            Bits192,
            KEY_192,
            "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
             1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        ),
        (
            Bits256,
            KEY_256,
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
             2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        ),
    ] {
        both_ways(Encryption::AesCtr(length), key, iv, encrypted);
    }
}

#[test]
fn cipher_block_chaining_is_that_of_sp_800_38a_f_2() {
    let iv = "000102030405060708090a0b0c0d0e0f";
    for (length, key, encrypted) in [
        (
            Bits128,
            KEY_128,
            "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
             73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
        ),
        (
            Bits192,
            KEY_192,
            "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
             571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
        ),
        (
            Bits256,
            KEY_256,
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
             39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    ] {
        both_ways(Encryption::AesCbc(length), key, iv, encrypted);
    }
}

/// Key, IV, AAD, plain text, encrypted text, tag.
const GCM: &[[&str; 6]] = &[
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "",
        "",
        "58e2fccefa7e3061367f1d57a4e7455a",
    ],
    [
        "00000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "00000000000000000000000000000000",
        "0388dace60b6a392f328c2b971b2fe78",
        "ab6e47d42cec13bdf53a67b21257bddf",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
         21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
        "4d5c2af327cd64a62cf35abd2ba6fab4",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
         21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ],
    [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "000000000000000000000000",
        "",
        "00000000000000000000000000000000",
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
         8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ],
];

#[test]
fn gcm_is_that_of_its_authors_test_cases() {
    for back_end in back_ends() {
        for ([key, iv, aad, plain, encrypted, tag], cut) in
            GCM.iter().flat_map(|it| [16, 12, 8].map(|cut| (it, cut)))
        {
            let key = hex(key);
            let length = KeyLength::of(key.len()).expect("a length of AES");
            let suite = Suite::new(Encryption::AesGcm(length), Integrity::Null, cut);
            let key = Key::with_back_end(back_end, suite.expect("a suite"), &key, &[]);
            let key = key.expect("a key");
            let (aad, plain) = (hex(aad), hex(plain));
            let mut iv = hex(iv);
            iv.resize(16, 0xee);
            let cut = usize::from(cut);
            let mut buffer = [aad.clone(), plain.clone(), vec![0; cut]].concat();
            let mut job = Job {
                aad: 0..aad.len(),
                data: aad.len()..aad.len() + plain.len(),
                tag: aad.len() + plain.len(),
                ..Job::new(&key, Op::Protect, iv.try_into().expect("16 octets"))
            };
            assert_eq!(run_one(&mut buffer, &mut job), Outcome::Done);
            let expected = [aad.clone(), hex(encrypted), hex(tag)[..cut].to_vec()].concat();
            assert_eq!(buffer, expected, "{back_end:?}");
            job.op = Op::Unprotect;
            assert_eq!(run_one(&mut buffer, &mut job), Outcome::Done);
            assert_eq!(buffer[..job.tag], [aad, plain].concat(), "{back_end:?}");
        }
    }
}

const SHA1: Integrity = Integrity::HmacSha1;
const SHA256: Integrity = Integrity::HmacSha256;
const SHA384: Integrity = Integrity::HmacSha384;
const SHA512: Integrity = Integrity::HmacSha512;

#[test]
fn codes_are_those_of_rfc_2202_and_rfc_4231() {
    let long = b"Test Using Larger Than Block-Size Key - Hash Key First".as_slice();
    let jefe = (b"Jefe".as_slice(), b"what do ya want for nothing?".as_slice());
    for (integrity, (key, text), code) in [
        (SHA1, (&[0x0b; 20][..], &b"Hi There"[..]), "b617318655057264e28bc0b6fb378c8ef146be00"),
        (SHA1, jefe, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (SHA1, (&[0xaa; 20], &[0xdd; 50]), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
        (SHA1, (&[0xaa; 80], long), "aa4ae5e15272d00e95705637ce8a3b55ed402112"),
        (
            SHA256,
            (&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            SHA384,
            (&[0x0b; 20], b"Hi There"),
            "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c
             faea9ea9076ede7f4af152e8b2fa9cb6",
        ),
        (
            SHA512,
            (&[0x0b; 20], b"Hi There"),
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde
             daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
        ),
        (
            SHA256,
            (&[0xaa; 131], long),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            SHA384,
            (&[0xaa; 131], long),
            "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6
             0c2ef6ab4030fe8296248df163f44952",
        ),
        (
            SHA512,
            (&[0xaa; 131], long),
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352
             6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
        ),
    ] {
        for back_end in back_ends() {
            for cut in [4, 10, 12, integrity.octets()] {
                let tag = u8::try_from(cut).expect("short");
                let suite = Suite::new(Encryption::Null, integrity, tag).expect("a suite");
                let key = Key::with_back_end(back_end, suite, &[], key).expect("a key");
                let mut buffer = [text, &vec![0; cut]].concat();
                let mut job = Job {
                    data: 0..text.len(),
                    tag: text.len(),
                    ..Job::new(&key, Op::Protect, [0; 16])
                };
                assert_eq!(run_one(&mut buffer, &mut job), Outcome::Done);
                assert_eq!(buffer[text.len()..], hex(code)[..cut], "{integrity:?} {back_end:?}");
            }
        }
    }
}
