//! What TS 35.207, TS 35.208 and TS 35.233 print.

use crate::{array, hex};
use aka::{
    Algorithm, Amf, Lengths, MacLength, Milenage, Rand, ResLength, SessionLength, Sqn, Tuak,
};

/// K, RAND, SQN, AMF, OP, OPc, f1, f1*, f2, f5, f3, f4, f5*: the sets 1 to 6 of TS 35.207 §4 to §6,
/// and set 19 of TS 35.208 §4.3.
const MILENAGE: [[&str; 13]; 7] = [
    [
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "23553cbe9637a89d218ae64dae47bf35",
        "ff9bb4d0b607",
        "b9b9",
        "cdc202d5123e20f62b6d676ac72cb318",
        "cd63cb71954a9f4e48a5994e37a02baf",
        "4a9ffac354dfafb3",
        "01cfaf9ec4e871e9",
        "a54211d5e3ba50bf",
        "aa689c648370",
        "b40ba9a3c58b2a05bbf0d987b21bf8cb",
        "f769bcd751044604127672711c6d3441",
        "451e8beca43b",
    ],
    [
        "0396eb317b6d1c36f19c1c84cd6ffd16",
        "c00d603103dcee52c4478119494202e8",
        "fd8eef40df7d",
        "af17",
        "ff53bade17df5d4e793073ce9d7579fa",
        "53c15671c60a4b731c55b4a441c0bde2",
        "5df5b31807e258b0",
        "a8c016e51ef4a343",
        "d3a628ed988620f0",
        "c47783995f72",
        "58c433ff7a7082acd424220f2b67c556",
        "21a8c1f929702adb3e738488b9f5c5da",
        "30f1197061c1",
    ],
    [
        "fec86ba6eb707ed08905757b1bb44b8f",
        "9f7c8d021accf4db213ccff0c7f71a6a",
        "9d0277595ffc",
        "725c",
        "dbc59adcb6f9a0ef735477b7fadf8374",
        "1006020f0a478bf6b699f15c062e42b3",
        "9cabc3e99baf7281",
        "95814ba2b3044324",
        "8011c48c0c214ed2",
        "33484dc2136b",
        "5dbdbb2954e8f3cde665b046179a5098",
        "59a92d3b476a0443487055cf88b2307b",
        "deacdd848cc6",
    ],
    [
        "9e5944aea94b81165c82fbf9f32db751",
        "ce83dbc54ac0274a157c17f80d017bd6",
        "0b604a81eca8",
        "9e09",
        "223014c5806694c007ca1eeef57f004f",
        "a64a507ae1a2a98bb88eb4210135dc87",
        "74a58220cba84c49",
        "ac2cc74a96871837",
        "f365cd683cd92e96",
        "f0b9c08ad02e",
        "e203edb3971574f5a94b0d61b816345d",
        "0c4524adeac041c4dd830d20854fc46b",
        "6085a86c6f63",
    ],
    [
        "4ab1deb05ca6ceb051fc98e77d026a84",
        "74b0cd6031a1c8339b2b6ce2b8c4a186",
        "e880a1b580b6",
        "9f07",
        "2d16c5cd1fdf6b22383584e3bef2a8d8",
        "dcf07cbd51855290b92a07a9891e523e",
        "49e785dd12626ef2",
        "9e85790336bb3fa2",
        "5860fc1bce351e7e",
        "31e11a609118",
        "7657766b373d1c2138f307e3de9242f9",
        "1c42e960d89b8fa99f2744e0708ccb53",
        "fe2555e54aa9",
    ],
    [
        "6c38a116ac280c454f59332ee35c8c4f",
        "ee6466bc96202c5a557abbeff8babf63",
        "414b98222181",
        "4464",
        "1ba00a1a7c6700ac8c3ff3e96ad08725",
        "3803ef5363b947c6aaa225e58fae3934",
        "078adfb488241a57",
        "80246b8d0186bcf1",
        "16c8233f05a0ac28",
        "45b0f69ab06c",
        "3f8c7587fe8e4b233af676aede30ba3b",
        "a7466cc1e6b2a1337d49d3b66e95d7b4",
        "1f53cd2b1113",
    ],
    [
        "5122250214c33e723a5dd523fc145fc0",
        "81e92b6c0ee0e12ebceba8d92a99dfa5",
        "16f3b3f70fc2",
        "c3ab",
        "c9e8763286b5b9ffbdf56e1297d0887b",
        "981d464c7c52eb6e5036234984ad0bcf",
        "2a5c23d15ee351d5",
        "62dae3853f3af9d2",
        "28d7b0f2a2ec3de5",
        "ada15aeb7bb8",
        "5349fbe098649f948f5d2e973a81c00f",
        "9744871ad32bf9bbd1dd5ce54e3e2e5a",
        "d461bc15475d",
    ],
];

struct Expected<'a> {
    rand: Rand,
    sqn: Sqn,
    amf: Amf,
    /// f1, f1*, f2, f5, f3, f4, f5*.
    out: [&'a str; 7],
}

impl Expected<'_> {
    fn is_of(&self, algorithm: &Algorithm) {
        let keys = algorithm.f2345(&self.rand);
        let out = [
            algorithm.f1(&self.rand, self.sqn, self.amf),
            algorithm.f1_star(&self.rand, self.sqn, self.amf),
            keys.res,
            keys.ak,
            keys.ck,
            keys.ik,
            algorithm.f5_star(&self.rand),
        ];
        for (at, (made, expected)) in out.iter().zip(self.out).enumerate() {
            assert_eq!(made.expose(), hex(expected), "output {at}");
        }
    }
}

#[test]
fn milenage_is_that_of_ts_35_207_and_ts_35_208() {
    for set in MILENAGE {
        let [k, rand, sqn, amf, op, opc, out @ ..] = set;
        let (k, opc) = (array(k), array(opc));
        let milenage = Milenage::with_op(&k, &array(op));
        assert_eq!(milenage.opc().expose(), opc);
        let rand = Rand(array(rand));
        let expected =
            Expected { rand, sqn: Sqn::from(array::<6>(sqn)), amf: Amf(array(amf)), out };
        expected.is_of(&Algorithm::Milenage(milenage));
        expected.is_of(&Algorithm::Milenage(Milenage::new(&k, &opc)));
    }
}

/// K, RAND, SQN, AMF, TOP, TOPc, f1, f1*, f2, f5, f3, f4, f5*, and how often Keccak runs: the sets
/// of TS 35.233 §6.3 to §6.8.
const TUAK: [([&str; 13], u8); 6] = [
    (
        [
            "abababababababababababababababab",
            "42424242424242424242424242424242",
            "111111111111",
            "ffff",
            "5555555555555555555555555555555555555555555555555555555555555555",
            "bd04d9530e87513c5d837ac2ad954623a8e2330c115305a73eb45d1f40cccbff",
            "f9a54e6aeaa8618d",
            "e94b4dc6c7297df3",
            "657acd64",
            "719f1e9b9054",
            "d71a1e5c6caffe986a26f783e5c78be1",
            "be849fa2564f869aecee6f62d4337e72",
            "e7af6b3d0e38",
        ],
        1,
    ),
    (
        [
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0",
            "0123456789abcdef0123456789abcdef",
            "0123456789ab",
            "abcd",
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
            "305425427e18c503c8a4b294ea72c95d0c36c6c6b29d0c65de5974d5977f8524",
            "c0b8c2d4148ec7aa5f1d78a97e4d1d58",
            "ef81af7290f7842c6ceafa537fa0745b",
            "e9d749dc4eea0035",
            "480a9345cc1e",
            "a4cb6f6529ab17f8337f27baa8234d47",
            "2274155ccf4199d5e2abcbf621907f90",
            "f84eb338848c",
        ],
        1,
    ),
    (
        [
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0",
            "0123456789abcdef0123456789abcdef",
            "0123456789ab",
            "abcd",
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
            "305425427e18c503c8a4b294ea72c95d0c36c6c6b29d0c65de5974d5977f8524",
            "d97b75a1776065271b1e212bc3b1bf173f438b21e6c64a55a96c372e085e5cc5",
            "427bbf07c6e3a86c54f8c5216499f3909a6fd4a164c9fe235b1550258111b821",
            "07021c73e7635c7d",
            "1d6622c4e59a",
            "4d59ac796834eb85d11fa148a5058c3c",
            "126d47500136fdc5ddfd14f19ebf16749ce4b6435323fbb5715a3a796a6082bd",
            "f84eb338848c",
        ],
        1,
    ),
    (
        [
            "b8da837a50652d6ac7c97da14f6acc61",
            "6887e55425a966bd86c9661a5fa72be8",
            "0dea2ee2c5af",
            "df1e",
            "0952be13556c32ebc58195d9dd930493e12a9003669988ffde5fa1f0fe35cc01",
            "2bc16eb657a68e1f446f08f57c0efb1d493527a2e652ce281eb6ca0e4487760a",
            "749214087958dd8f58bfcdf869d8ae3f",
            "619e865afe80e382aee13063f9dfb56d",
            "4041ce438e3e38e8aa96562eed83ac43",
            "1f880d005119",
            "3e3bc01bea0cd914c4c2c83ce2d92757",
            "666a8e6f577b1aa77b7fd53cebb8a3d6",
            "45e617d77fe5",
        ],
        1,
    ),
    (
        [
            "1574ca56881d05c189c82880f789c9cd4244955f4426aa2b69c29f15770e5aa5",
            "c570aac68cde651fb1e3088322498bef",
            "c89bb71f3a41",
            "297d",
            "e59f6eb10ea406813f4991b0b9e02f181edf4c7e17b480f66d34da35ee88c95e",
            "3c6052e41532a28a47aa3cbb89f223e8f3aaa976aecd48bc3e7d6165a55eff62",
            "d7340dad02b4cb01",
            "c6021e2e66accb15",
            "84d89b41db1867ffd4c7ba1d82163f4d526a20fbae5418fbb526940b1eeb905c",
            "d7b3d2d4980a",
            "d419676afe5ab58c1d8bee0d43523a4d2f52ef0b31a4676a0c334427a988fe65",
            "205533e505661b61d05cc0eac87818f4",
            "ca9655264986",
        ],
        1,
    ),
    (
        [
            "1574ca56881d05c189c82880f789c9cd4244955f4426aa2b69c29f15770e5aa5",
            "c570aac68cde651fb1e3088322498bef",
            "c89bb71f3a41",
            "297d",
            "e59f6eb10ea406813f4991b0b9e02f181edf4c7e17b480f66d34da35ee88c95e",
            "b04a66f26c62fcd6c82de22a179ab65506ecf47f56245cd149966cfa9cec7a51",
            "90d2289ed1ca1c3dbc2247bb480d431ac71d2e4a7677f6e997cfddb0cbad88b7",
            "427355dbac30e825063aba61b556e87583abac638e3ab01c4c884ad9d458dc2f",
            "d67e6e64590d22eecba7324afa4af4460c93f01b24506d6e12047d789a94c867",
            "6aae8d18c448",
            "ede57edfc57cdffe1aae75066a1b7479bbc3837438e88d37a801cccc9f972b89",
            "48ed9299126e5057402fe01f9201cf25249f9c5c0ed2afcf084755daff1d3999",
            "8c5f33b61f4e",
        ],
        2,
    ),
];

#[test]
fn tuak_is_that_of_ts_35_233() {
    for (set, iterations) in TUAK {
        let [k, rand, sqn, amf, top, topc, out @ ..] = set;
        let session = |digits: &str| match digits.len() {
            32 => SessionLength::Bits128,
            _ => SessionLength::Bits256,
        };
        let lengths = Lengths {
            mac: match out[0].len() {
                16 => MacLength::Bits64,
                32 => MacLength::Bits128,
                _ => MacLength::Bits256,
            },
            res: match out[2].len() {
                8 => ResLength::Bits32,
                16 => ResLength::Bits64,
                32 => ResLength::Bits128,
                _ => ResLength::Bits256,
            },
            ck: session(out[4]),
            ik: session(out[5]),
        };
        let (k, topc) = (hex(k), array(topc));
        let tuak = Tuak::with_top(&k, &array(top), lengths, iterations).expect("a key");
        assert_eq!(tuak.topc().expose(), topc);
        let rand = Rand(array(rand));
        let expected =
            Expected { rand, sqn: Sqn::from(array::<6>(sqn)), amf: Amf(array(amf)), out };
        expected.is_of(&Algorithm::Tuak(tuak));
        let again = Tuak::new(&k, &topc, lengths, iterations).expect("a key");
        expected.is_of(&Algorithm::Tuak(again));
    }
    assert!(Tuak::new(&[0; 24], &[0; 32], Lengths::USUAL, 1).is_none());
}
