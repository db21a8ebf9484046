//! Numbers and addresses as text.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Digits of the largest 64-bit number.
const DECIMAL_DIGITS_MAX: usize = 20;

/// Appends a decimal number.
#[inline]
pub fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut at = DECIMAL_DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// An address and its port, as a URI has them. An IPv4 address costs a tenth of what formatting
/// takes.
pub(crate) fn host_port(out: &mut Vec<u8>, to: SocketAddr) {
    if to.is_ipv6() {
        return write!(out, "{to}").expect("writing to memory does not fail");
    }
    put_ip(out, to.ip());
    out.push(b':');
    decimal(out, to.port().into());
}

/// An IP address as text, without brackets.
pub(crate) fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                decimal(out, octet.into());
            }
        }
        IpAddr::V6(ip) => write!(out, "{ip}").expect("writing to memory does not fail"),
    }
}

/// Four numbers with dots between, none with a zero in front: a quarter of what the library takes,
/// which reads text and numbers of any base.
pub(crate) fn ipv4(host: &[u8]) -> Option<Ipv4Addr> {
    let (mut bits, mut dots, mut octet) = (0, 0, None);
    for &byte in host {
        match (byte, octet) {
            (b'0'..=b'9', Some(0)) => return None,
            (b'0'..=b'9', _) => {
                let value = octet.unwrap_or(0_u32) * 10 + u32::from(byte - b'0');
                octet = (value <= 255).then_some(value);
                octet?;
            }
            (b'.', Some(value)) if dots < 3 => {
                (bits, dots, octet) = (bits << 8 | value, dots + 1, None);
            }
            _ => return None,
        }
    }
    octet.filter(|_| dots == 3).map(|value| Ipv4Addr::from_bits(bits << 8 | value))
}

#[cfg(test)]
mod tests {
    use crate::write::address;

    #[test]
    fn an_address_is_read_as_the_library_reads_it() {
        let hosts = "127.0.0.1|0.0.0.0|255.255.255.255|1.2.3|1.2.3.4.|1.2.3.4.5|.1.2.3|1..2.3|\
            1.2.3.|256.1.1.1|1.1.1.256|01.2.3.4|1.2.3.00|1.2.3.04||10.0.0.1000|99999999999.1.1.1|\
            1.2.3.a|0x1.2.3.4|::1|2001:db8::1|\
            example.org|1.2.3.4:5060|::ffff:1.2.3.4|10.1|1.2.3.4 | 1.2.3.4";
        for host in hosts.split('|') {
            assert_eq!(address(host.as_bytes()), host.parse().ok(), "{host}");
            let inner = format!("[{host}]");
            assert_eq!(address(inner.as_bytes()), host.parse().ok(), "{inner}");
        }
        for number in 0..1_000_u32 {
            let host = format!("{}.0.{}.9", number % 300, number);
            assert_eq!(address(host.as_bytes()), host.parse().ok(), "{host}");
        }
    }
}
