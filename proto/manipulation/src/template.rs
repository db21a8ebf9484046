//! Values with holes: `sip:$1@example.org`.

/// Octets of a value in the configuration.
const VALUE_BYTES_MAX: usize = 4_096;

/// A value as written in the configuration, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    /// 0 is the whole match, in `replace` only.
    Group(usize),
}

impl Template {
    /// Takes a value apart; the error says what is wrong and how to mend it.
    pub fn compile(text: &str, groups: usize) -> Result<Self, (String, String)> {
        if text.len() > VALUE_BYTES_MAX {
            let what = format!("the value is longer than {VALUE_BYTES_MAX} octets");
            return Err((what, String::from("shorten it")));
        }
        if text.bytes().any(|octet| octet < b' ' && octet != b'\t' || octet == 0x7F) {
            let what = String::from("the value holds a control character");
            return Err((what, String::from("a header's value is one line of text")));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            push_text(&mut pieces, before);
            let Some(next) = after.chars().next() else { return Err(lone_dollar()) };
            match next.to_digit(10) {
                Some(group) if group as usize > groups => return Err(no_group(group, groups)),
                Some(group) => pieces.push(Piece::Group(group as usize)),
                None if next == '$' => push_text(&mut pieces, "$"),
                None => return Err(lone_dollar()),
            }
            rest = &after[1..];
        }
        push_text(&mut pieces, rest);
        Ok(Self(pieces))
    }

    /// The value, if it has no holes.
    pub fn constant(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it refers to the whole match, which only `replace` has.
    pub fn has_whole_match(&self) -> bool {
        self.0.contains(&Piece::Group(0))
    }

    /// Appends the value, its holes filled by `group`.
    #[inline]
    pub fn write<'t>(&self, out: &mut Vec<u8>, group: impl Fn(usize) -> &'t [u8]) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Group(number) => out.extend_from_slice(group(*number)),
            }
        }
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.extend_from_slice(text.as_bytes()),
        _ => pieces.push(Piece::Text(text.as_bytes().to_vec())),
    }
}

fn lone_dollar() -> (String, String) {
    let hint = "write $1 to $9 for a group, $$ for a dollar";
    (String::from("a `$` that names no group"), String::from(hint))
}

fn no_group(group: u32, groups: usize) -> (String, String) {
    let hint = match groups {
        0 => String::from("put ( ) around the part of a regular expression to catch"),
        1 => String::from("the only group is $1"),
        _ => format!("the groups are $1 to ${groups}"),
    };
    (format!("there is no group ${group}"), hint)
}
