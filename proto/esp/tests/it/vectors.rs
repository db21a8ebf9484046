//! Packets that are printed: draft-mcgrew-gcm-test-01 §4, whose payloads end in padding and a next
//! header of 1.

use crate::{Ends, ip};
use esp::{Algorithm, Encryption, Inbound, Integrity, KeyLength, Material, Parameters, Spi, Usage};

fn hex(digits: &str) -> Vec<u8> {
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(|pair| octet(pair).expect("hexadecimal digits")).collect()
}

/// Key, salt and IV, SPI and number (of 4 or 8 octets), payload, encrypted payload, ICV.
const PACKETS: [[&str; 6]; 9] = [
    [
        "4c80cdefbb5d10da906ac73c3613a634",
        "2e443b684956ed7e3b244cfe",
        "000043218765432100000000",
        "45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000\
         00000000045f736970045f756470037369700963796265726369747902646b00\
         0021000101020201",
        "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34\
         cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce\
         61bc17d768fd9732",
        "459018148f6cbe722fd04796562dfdb4",
    ],
    [
        "feffe9928665731c6d6a8f9467308308",
        "cafebabefacedbaddecaf888",
        "0000a5f80000000a",
        "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100\
         0001000000000000037369700963796265726369747902646b00000100010001",
        "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c\
         3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1",
        "83b70d3aa8bc6ee4c309e9d85a41ad4a",
    ],
    [
        "abbccddef00112233445566778899aababbccddef00112233445566778899aab",
        "112233440102030405060708",
        "4a2cbfe300000002",
        "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee000000000\
         7002400020bf0000020405b40101040201020201",
        "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763\
         748a637985771d347f0545659f14e99def842d8e",
        "b335f4eecfdbf831824b4c4915956c96",
    ],
    [
        "3de09874b388e6491988d0c3607eae1f",
        "57690e434e280000a2fca1a3",
        "42f67e3f1010101010101010",
        "4500001c42a200008001441f406793b6e00000020a00f5ff01020201",
        "fba2ca845e5df9f0f22c3e6e86dd831e1fc65792cd1af9130e1379ed",
        "369f071f35e034be95f112e4e7d05d35",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c",
        "cafebabefacedbaddecaf888",
        "0000a5f80000000a",
        "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e\
         501016d075680001",
        "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0\
         315b27452144cc77",
        "95457b9652037f5318027b5b4cd7a636",
    ],
    [
        "abbccddef00112233445566778899aab",
        "decaf888cafedebaceface74",
        "000001000000000000000001",
        "4500004933ba00007f119106c3fb1d10c2b1d326c02831ce0035dd7b800302d5\
         00004e20001e8c18d75b81dc91baa0476b91b924b280389d92c963bac046ec95\
         9b6266c04722b14923010101",
        "18a6fd42f72cbf4ab2a2ea901f73d814e3e7f243d95412e1c349c1d2fbec168f\
         9190feebaf2cb01984e65863965d7472b79da345e0e780191f0d2f0e0f496c22\
         6f2127b27db35724e7845d68",
        "651f57e65f354f75ff17015769623436",
    ],
    [
        "7d773d00c144c525ac619d18c84a3f47",
        "d966426743457e9182443bc6",
        "335467aeffffffff",
        "01020201",
        "437f866b",
        "cb3f699fe9b0822bac961c4504bef270",
    ],
    [
        "abbccddef00112233445566778899aab",
        "decaf888cafedebaceface74",
        "000001000000000000000001",
        "746f016265016f72016e6f7401746f0162650001",
        "29c9fc69a197d038ccdd14e2ddfcaa0543332164",
        "412503524303ed3c6c5f283843af8c3e",
    ],
    [
        "6c6567616c697a656d6172696a75616e61616e64646f69746265666f72656961",
        "7475726e333021696765746d",
        "796b6963ffffffffffffffff",
        "45000030da3a00008001df3bc0a80005c0a800010800c6cd0200070061626364\
         65666768696a6b6c6d6e6f707172737401020201",
        "f97ab2aa356d8edce17644ac8c78e25dd24dedbb29ebf1b64a274b39b49c3a86\
         4cd3d78ca4ae68a32b42458fb57dbe821dcc63b9",
        "d0937ba2945f669368661a329fb4c053",
    ],
];

#[test]
fn printed_packets_of_gcm_are_opened() {
    let [a, b] = ["192.0.2.1", "192.0.2.2"].map(|it| it.parse().expect("an address"));
    for [key, nonce, numbers, payload, encrypted, icv] in PACKETS {
        let (key, nonce, numbers) = (hex(key), hex(nonce), hex(numbers));
        let (salt, iv) = nonce.split_at(4);
        let (spi, number) = numbers.split_at(4);
        let extended = number.len() == 8;
        let number = number.iter().fold(0u64, |number, octet| number << 8 | u64::from(*octet));
        let length = KeyLength::of(key.len()).expect("a length of AES");
        let algorithm = Algorithm::new(Encryption::AesGcm16(length), Integrity::Combined);
        let spi = Spi(u32::from_be_bytes(spi.try_into().expect("four")));
        let parameters = Parameters {
            extended,
            sole_key: true,
            ..Parameters::new(spi, algorithm.expect("it is one"))
        };
        let key = [&key[..], salt].concat();
        let material = Material { encryption: &key, integrity: &[] };
        let mut ends = Ends::new(&crate::parameters(parameters.algorithm), 1);
        let into = Inbound::resume(parameters, material, number - 1, Usage::default());
        ends.into = [into.expect("it fits")];
        let [.., low_3, low_2, low_1, low_0] = number.to_be_bytes();
        let low = [low_3, low_2, low_1, low_0];
        let esp = [&spi.0.to_be_bytes(), &low[..], iv, &hex(encrypted), &hex(icv)].concat();
        let opened = ends.open(&ip(a, b, 50, &esp)).expect("it is whole").expect("data");
        let payload = hex(payload);
        let pad = usize::from(payload[payload.len() - 2]);
        assert_eq!(opened, ip(a, b, 1, &payload[..payload.len() - 2 - pad]));
        assert_eq!(ends.into[0].edge(), number);
    }
}
