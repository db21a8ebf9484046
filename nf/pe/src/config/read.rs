//! Texts of the section that stand for something: prefixes of MAC addresses, protocols, flags.

use dataplane::section::mac;

/// Reads `02:00:5e:00:00:00/24`, or an address of which all bits count.
pub(crate) fn mac_prefix(text: &str) -> Option<([u8; 6], u8)> {
    let (address, length) = text.split_once('/').unwrap_or((text, "48"));
    Some((mac(address)?, length.parse().ok().filter(|length| *length <= 48)?))
}

/// Reads an EtherType by its name or number.
pub(crate) fn ethertype(text: &str) -> Option<u16> {
    const NAMES: &[(&str, u16)] =
        &[("ipv4", 0x0800), ("arp", 0x0806), ("ipv6", 0x86dd), ("mpls", 0x8847)];
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    let hexadecimal = || u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    named.or_else(hexadecimal).or_else(|| text.parse().ok())
}

/// Reads a protocol by its name or number.
pub(crate) fn ip_protocol(text: &str) -> Option<u8> {
    const NAMES: &[(&str, u8)] = &[
        ("icmp", 1),
        ("tcp", 6),
        ("udp", 17),
        ("gre", 47),
        ("esp", 50),
        ("ah", 51),
        ("icmp6", 58),
        ("ospf", 89),
        ("sctp", 132),
    ];
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    named.or_else(|| text.parse().ok())
}

/// Reads `S!A`: the flags that are set, and those that were named at all.
pub(crate) fn tcp_flags(text: &str) -> Option<(u8, u8)> {
    let (mut value, mut mask, mut is_off) = (0, 0, false);
    for letter in text.chars() {
        if letter == '!' {
            is_off = true;
            continue;
        }
        let bit = 1 << "FSRPAU".find(letter)?;
        mask |= bit;
        value |= if is_off { 0 } else { bit };
        is_off = false;
    }
    (mask != 0 && !is_off).then_some((value, mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_or_refused() {
        assert_eq!(mac_prefix("02:00:00:00:00:fe"), Some(([2, 0, 0, 0, 0, 254], 48)));
        assert_eq!(mac_prefix("02:00:5e:00:00:00/24"), Some(([2, 0, 0x5e, 0, 0, 0], 24)));
        assert_eq!((mac_prefix("02:00:00:00:00:fe/49"), mac_prefix("2/3")), (None, None));
        assert_eq!((ethertype("arp"), ethertype("0x88cc")), (Some(0x806), Some(0x88cc)));
        assert_eq!((ethertype("2048"), ethertype("0xfffff")), (Some(0x800), None));
        assert_eq!(
            (ip_protocol("udp"), ip_protocol("200"), ip_protocol("x")),
            (Some(17), Some(200), None)
        );
        assert_eq!(tcp_flags("S!A"), Some((2, 0x12)));
        assert_eq!((tcp_flags(""), tcp_flags("S!")), (None, None));
    }
}
