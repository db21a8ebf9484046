//! Contents of INTEGER and ENUMERATED (X.690 §8.3).

pub(crate) const SPEC: &str = "X.690 §8.3";
const OCTETS_MAX: usize = 8;

/// Reads the contents.
#[inline]
pub(crate) fn read(contents: &[u8]) -> Result<i64, &'static str> {
    if let [octet] = *contents {
        return Ok(i64::from(octet.cast_signed()));
    }
    let Some(first) = contents.first() else {
        return Err("an INTEGER without octets");
    };
    if let [0, second, ..] = contents
        && second & 0x80 == 0
    {
        return Err("an INTEGER begins with needless zeros");
    }
    if let [0xff, second, ..] = contents
        && second & 0x80 != 0
    {
        return Err("an INTEGER begins with needless ones");
    }
    if contents.len() > OCTETS_MAX {
        return Err("an INTEGER of more than 64 bits");
    }
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Ok(contents.iter().fold(sign, |number, octet| number << 8 | i64::from(*octet)))
}

/// The contents, right-justified, and how many octets of them count.
pub(crate) const fn write(number: i64) -> ([u8; OCTETS_MAX], usize) {
    let significant = if number < 0 { number.leading_ones() } else { number.leading_zeros() };
    // One bit of sign has to stand in front.
    let spare = (significant as usize - 1) / 8;
    (number.to_be_bytes(), OCTETS_MAX - spare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_as_few_octets_as_it_needs() {
        let table: [(i64, &[u8]); 9] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-1, &[0xff]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (65_536, &[1, 0, 0]),
            (i64::MAX, &[0x7f, 255, 255, 255, 255, 255, 255, 255]),
            (i64::MIN, &[0x80, 0, 0, 0, 0, 0, 0, 0]),
        ];
        for (number, octets) in table {
            let (written, count) = write(number);
            assert_eq!(&written[OCTETS_MAX - count..], octets, "{number}");
            assert_eq!(read(octets), Ok(number));
        }
        for bad in [&[][..], &[0, 0x7f], &[0xff, 0x80], &[1; 9]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
