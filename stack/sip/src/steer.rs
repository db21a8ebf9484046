//! Which shard owns a message, told from its bytes alone.
//!
//! A response names its shard in the branch, a request inside a dialog in the To tag; what is
//! new goes by its subscriber: REGISTER by To, everything else by From, so that a subscriber's
//! calls meet his binding. A request to a binding names the shard in its Request-URI.

use machine::identity::Token;
use machine::narrow::{index, slot};
use memchr::memmem;
use transaction::shard_of;

/// The shard, or `None` where the message does not say.
pub fn steer(bytes: &[u8], shards: u16) -> Option<u16> {
    let head = &bytes[..memmem::find(bytes, b"\r\n\r\n").unwrap_or(bytes.len())];
    let owned = |shard: u16| (shard < shards).then_some(shard);
    if head.starts_with(b"SIP/2.0 ") {
        let via = line(head, b"Via", b'v')?;
        return shard_of(param(via, b";branch=")?).and_then(owned);
    }
    let to = line(head, b"To", b't')?;
    if let Some(token) = param(to, b";tag=").and_then(Token::read) {
        return owned(token.shard);
    }
    let (method, rest) = head.split_at(memchr::memchr(b' ', head)?);
    let replaced = (method == b"INVITE").then(|| replaced(head)).flatten();
    if let Some(shard) = replaced.and_then(|token| owned(token.shard)) {
        return Some(shard);
    }
    let uri = rest[1..].split(|&b| b == b' ').next().unwrap_or_default();
    if let Some(token) = user(uri).and_then(Token::read) {
        return owned(token.shard);
    }
    let party = if method == b"REGISTER" { to } else { line(head, b"From", b'f')? };
    let start = memchr::memchr(b'<', party).map_or(0, |at| at + 1);
    let end = party[start..].iter().position(|b| b"<>;".contains(b));
    let uri = &party[start..end.map_or(party.len(), |end| start + end)];
    Some(index(slot(hash(uri), shards.into())))
}

/// The dialog of ours that an INVITE is to take the place of, or to join: where its call is.
fn replaced(head: &[u8]) -> Option<Token> {
    // Few lines begin with these letters; the others cost a look at one octet each.
    memchr::memchr_iter(b'\n', head).find_map(|end| {
        let line =
            head.get(end + 1..).filter(|line| matches!(line, [b'R' | b'r' | b'J' | b'j', ..]))?;
        let colon = memchr::memchr(b':', line)?;
        let name = line[..colon].trim_ascii();
        if !name.eq_ignore_ascii_case(b"Replaces") && !name.eq_ignore_ascii_case(b"Join") {
            return None;
        }
        // A line that begins with white space goes on (RFC 3261 §7.3.1).
        let ends = |&at: &usize| !matches!(line.get(at + 1), Some(b' ' | b'\t'));
        let end = memchr::memchr_iter(b'\n', line).find(ends).unwrap_or(line.len());
        let value = line.get(colon + 1..end)?;
        let tag = |name: &[u8]| {
            value.split(|&b| b == b';').find_map(|param| {
                let (found, tag) = param.split_at_checked(memchr::memchr(b'=', param)?)?;
                let is_it = found.trim_ascii().eq_ignore_ascii_case(name);
                is_it.then(|| Token::read(tag[1..].trim_ascii())).flatten()
            })
        };
        // Both are ours where two of our nodes stand in a row; the receiver's own one leads.
        tag(b"to-tag").or_else(|| tag(b"from-tag"))
    })
}

/// The value of the first line with that name, long or compact.
fn line<'a>(head: &'a [u8], name: &[u8], compact: u8) -> Option<&'a [u8]> {
    head.split(|&b| b == b'\n').skip(1).find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        let found = line[..colon].trim_ascii();
        let is_it = found.eq_ignore_ascii_case(name)
            || matches!(found, [letter] if letter.to_ascii_lowercase() == compact);
        is_it.then(|| line[colon + 1..].trim_ascii())
    })
}

/// The value of a parameter, up to the next one.
fn param<'a>(value: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let start = memmem::find(value, name)? + name.len();
    let rest = &value[start..];
    let end = rest.iter().position(|b| b";, \t\r".contains(b)).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn user(uri: &[u8]) -> Option<&[u8]> {
    let at = memchr::memchr(b'@', uri)?;
    let start = memchr::memchr(b':', &uri[..at])? + 1;
    Some(&uri[start..at])
}

/// FNV-1a, 64 bits, over the URI in small letters.
fn hash(uri: &[u8]) -> u64 {
    uri.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(b.to_ascii_lowercase())).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::identity::Side;
    use machine::slots::Key;

    #[test]
    fn what_belongs_together_goes_to_one_shard() {
        let invite = "INVITE sip:b@x SIP/2.0\r\nf: <sip:Alice@x>;tag=1\r\nTo: <sip:b@x>\r\n\r\n";
        let cancel = invite.replace("INVITE", "CANCEL");
        let register = "REGISTER sip:x SIP/2.0\r\nFrom: <sip:z@x>;tag=2\r\nt: sip:alice@x\r\n\r\n";
        let shard = steer(invite.as_bytes(), 7).unwrap();
        assert!(shard < 7);
        assert_eq!(steer(cancel.as_bytes(), 7), Some(shard));
        assert_eq!(steer(register.as_bytes(), 7), Some(shard));
    }

    #[test]
    fn a_dialog_names_its_shard_in_our_tag() {
        let key = Key { index: 5, generation: 9 };
        let token = Token::new(77, 3, key, Side::A).write();
        let tag = String::from_utf8_lossy(&token);
        let bye =
            format!("BYE sip:b@x SIP/2.0\r\nFrom: <sip:c@x>\r\nTo: <sip:b@x>;tag={tag}0\r\n\r\n");
        assert_eq!(steer(bye.as_bytes(), 7), Some(3));
        assert_eq!(steer(bye.as_bytes(), 2), None, "a shard that is not there");
        let call =
            format!("INVITE sip:{tag}@h SIP/2.0\r\nFrom: <sip:c@x>\r\nTo: <sip:b@x>\r\n\r\n");
        assert_eq!(steer(call.as_bytes(), 7), Some(3));
    }

    #[test]
    fn an_invite_goes_to_the_shard_of_the_call_that_it_replaces_or_joins() {
        let key = Key { index: 5, generation: 9 };
        let token = Token::new(77, 3, key, Side::A).write();
        let tag = String::from_utf8_lossy(&token);
        let other = Token::new(78, 2, key, Side::B).write();
        let other = String::from_utf8_lossy(&other);
        for line in [
            format!("Replaces: c;to-tag=x;from-tag={tag}0"),
            format!("rEPLACES : c;\r\n to-tag = {tag}0;from-tag=y"),
            format!("Join: {other}0;to-tag=x;from-tag={tag}0"),
            format!("Reason: SIP\r\nRequire: replaces\r\nReplaces: c;from-tag={tag}0"),
        ] {
            let invite = format!(
                "INVITE sip:b@x SIP/2.0\r\nFrom: <sip:c@x>\r\nTo: <sip:b@x>\r\n{line}\r\n\r\n"
            );
            assert_eq!(steer(invite.as_bytes(), 7), Some(3), "{line}");
            let message = invite.replacen("INVITE", "MESSAGE", 1);
            let other = message.replace(&line, "Subject: x");
            assert_eq!(steer(message.as_bytes(), 7), steer(other.as_bytes(), 7));
        }
    }
}
