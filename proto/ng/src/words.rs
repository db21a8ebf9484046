//! The words of commands that have a meaning here, and a warning of those that have none: whoever
//! drives learns by the reply what is not done, and not by a call that sounds otherwise.

use crate::bencode::Value;
use crate::command::{Command, is_word};
use anchor::CodecName;

/// Octets of a warning at most, and of one word in it: a reply stays within a datagram.
const WARNING_OCTETS_MAX: usize = 256;
const WORD_OCTETS_MAX: usize = 64;

/// What a key may be given.
#[derive(Debug, Clone, Copy)]
enum Given {
    /// Anything of its kind.
    Any,
    /// One of these words, or what begins with one that ends in a hyphen.
    Words(&'static [&'static str]),
    /// A dictionary of lists, by these keys.
    Lists(&'static [&'static str]),
}

/// What is done with lists of codecs, and with flags like `codec-strip-PCMU`.
const LISTS: &[&str] = &["strip", "mask", "consume", "transcode", "offer", "except", "accept"];

/// All keys, as `docs/media.md` has them.
const KEYS: &[(&str, Given)] = &[
    ("command", Given::Any),
    ("call-id", Given::Any),
    ("from-tag", Given::Any),
    ("to-tag", Given::Any),
    ("via-branch", Given::Any),
    ("sdp", Given::Any),
    ("direction", Given::Any),
    ("media-address", Given::Any),
    ("received-from", Given::Any),
    ("address-family", Given::Words(&["IP4", "IP6"])),
    (
        "transport-protocol",
        Given::Words(&[
            "RTP/AVP",
            "RTP/AVPF",
            "RTP/SAVP",
            "RTP/SAVPF",
            "UDP/TLS/RTP/SAVP",
            "UDP/TLS/RTP/SAVPF",
        ]),
    ),
    ("ICE", Given::Words(&["force", "force-relay", "remove"])),
    ("DTLS", Given::Words(&["off", "no", "disable", "passive", "active"])),
    ("SDES", Given::Words(&["off", "no", "disable", "no-"])),
    ("OSRTP", Given::Words(&["offer"])),
    ("rtcp-mux", Given::Words(&["offer", "require", "demux", "accept", "reject"])),
    ("replace", Given::Words(&["origin", "session-connection"])),
    ("codec", Given::Lists(LISTS)),
    ("ptime", Given::Any),
    ("TOS", Given::Any),
    (
        "flags",
        Given::Words(&[
            "asymmetric",
            "symmetric",
            "strict-source",
            "trust-address",
            "SIP-source-address",
            "no-rtcp-attribute",
            "all",
            "transcode-",
            "codec-strip-",
            "codec-mask-",
            "codec-consume-",
            "codec-transcode-",
            "codec-offer-",
            "codec-except-",
            "codec-accept-",
        ]),
    ),
    ("delete-delay", Given::Words(&["0"])),
    ("limit", Given::Any),
    ("code", Given::Any),
    ("digit", Given::Any),
    ("duration", Given::Any),
    ("supports", Given::Any),
];

/// Words that are not done, in the order in which they come.
struct Undone(Vec<u8>);

impl Undone {
    fn add(&mut self, parts: &[&[u8]]) {
        let word = parts.concat();
        // What is not printed stands in no log.
        let word =
            word.iter().map(|octet| if matches!(octet, b' '..=b'~') { *octet } else { b'?' });
        let word: Vec<u8> = word.take(WORD_OCTETS_MAX).collect();
        let between: &[u8] = if self.0.is_empty() { b"not done: " } else { b", " };
        if self.0.len() + between.len() + word.len() <= WARNING_OCTETS_MAX {
            self.0.extend_from_slice(between);
            self.0.extend_from_slice(&word);
        }
    }
}

/// What a command says and nothing is done of; `codecs` has a bit for the number of each codec
/// that is coded anew.
pub(crate) fn undone(command: &Command<'_>, codecs: u32) -> Option<Vec<u8>> {
    let Value::Dictionary(entries) = &command.what else { return None };
    let mut undone = Undone(Vec::new());
    for (key, value) in entries {
        match KEYS.iter().find(|(name, _)| is_word(key, name)) {
            None => undone.add(&[key]),
            Some((_, Given::Any)) => {}
            Some((_, Given::Words(words))) => {
                let number = match value {
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                };
                let texts = value.texts().chain(number.as_deref().map(str::as_bytes));
                for text in texts.filter(|text| !is_one_of(text, words)) {
                    undone.add(&[key, b"=", text]);
                }
            }
            Some((_, Given::Lists(lists))) => {
                let Value::Dictionary(given) = value else { continue };
                for (list, _) in given.iter().filter(|(list, _)| !is_one_of(list, lists)) {
                    undone.add(&[b"codec-", list]);
                }
            }
        }
    }
    for text in transcoded(command).filter(|text| !is_coded(text, codecs)) {
        undone.add(&[b"codec-transcode-", text]);
    }
    (!undone.0.is_empty()).then_some(undone.0)
}

fn is_one_of(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| {
        let begins = word.ends_with('-') && text.len() > word.len();
        is_word(if begins { &text[..word.len()] } else { text }, word)
    })
}

/// The codecs that are to be transcoded into.
fn transcoded<'a>(command: &'a Command<'a>) -> impl Iterator<Item = &'a [u8]> {
    let listed = command.what.at("codec").and_then(|lists| lists.at("transcode"));
    let flagged = command.texts("flags").filter_map(|flag| {
        let short = || flag.strip_prefix(b"transcode-");
        flag.strip_prefix(b"codec-transcode-").or_else(short)
    });
    listed.into_iter().flat_map(Value::texts).chain(flagged)
}

/// Whether a codec is coded anew here.
fn is_coded(text: &[u8], codecs: u32) -> bool {
    let codec = CodecName::read(text).and_then(|name| name.codec());
    codec.is_some_and(|codec| codec.shape().is_coded && codecs >> codec.number() & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(message: &str, codecs: u32) -> String {
        let command = Command::read(message.as_bytes()).expect("sound");
        let undone = undone(&command, codecs).unwrap_or_default();
        String::from_utf8(undone).expect("it is text")
    }

    #[test]
    fn what_is_not_done_is_named_and_nothing_else() {
        let usual = "1 d7:command5:offer5:flagsl13:trust addresse7:replacel6:origin\
            18:session connectione8:supportsl10:load limite3:ICE6:removee";
        assert_eq!(warned(usual, u32::MAX), "");
        let rare = "1 d7:command5:offer5:flagsl11:record-call10:asymmetrice3:ICE4:full\
            4:SDESl3:pad12:no-AEAD_TESTe12:delete-delayi30e5:codecd3:setl4:PCMAee5:label1:ae";
        let wanted = "not done: flags=record-call, ICE=full, SDES=pad, delete-delay=30, \
            codec-set, label";
        assert_eq!(warned(rare, u32::MAX), wanted);
    }

    #[test]
    fn a_codec_that_nobody_codes_is_named() {
        let asked = "1 d5:flagsl20:codec-transcode-G72914:transcode-PCMUe\
            5:codecd9:transcodel4:G7223:xyzeee";
        let wanted = "not done: codec-transcode-xyz, codec-transcode-G729";
        assert_eq!(warned(asked, u32::MAX), wanted);
        let wanted = "not done: codec-transcode-G722, codec-transcode-xyz, codec-transcode-G729, \
            codec-transcode-PCMU";
        assert_eq!(warned(asked, 0), wanted, "no transcoder is there");
    }

    #[test]
    fn a_warning_is_short_and_has_nothing_that_a_log_would_stumble_over() {
        let words: String = (0..100).map(|at| format!("8:\u{1b}[31m {at:02}")).collect();
        let said = warned(&format!("1 d5:flagsl{words}ee"), u32::MAX);
        assert!(said.len() <= WARNING_OCTETS_MAX && said.is_ascii(), "{said}");
        assert!(said.starts_with("not done: flags=?[31m 00, ") && !said.contains('\u{1b}'));
    }

    #[test]
    fn the_documentation_has_every_key_and_word() {
        let page = include_str!("../../../docs/media.md");
        let table = page.split("### What a command may say").nth(1).expect("the table of keys");
        let has = |word: &str| table.contains(&format!("`{word}"));
        for (key, given) in KEYS {
            assert!(has(key), "{key}");
            let words = match given {
                Given::Any => continue,
                Given::Words(words) | Given::Lists(words) => words,
            };
            for word in *words {
                assert!(has(word), "{key} {word}");
            }
        }
        for verb in crate::Verb::ALL {
            assert!(page.contains(&format!("`{}`", verb.name())), "{}", verb.name());
        }
    }
}
