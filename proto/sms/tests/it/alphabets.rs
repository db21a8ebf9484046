//! gsmcodecs 1.0.0 beside the alphabets (`make setup-python` installs it): every septet of every
//! table, read and written.

use crate::messages::{hex, octets};
use crate::peer::Peer;
use sms::alphabet::{Alphabet, Language};

const SCRIPT: &str = r#"
import os, sys
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))
import gsmcodecs
for line in sys.stdin:
    codec, septets = line.split()
    try:
        text = bytes.fromhex(septets).decode(codec)
        print(text.encode("utf-8").hex(), text.encode(codec).hex(), flush=True)
    except Exception as error:
        print("!", type(error).__name__, flush=True)
"#;

/// Where it has an apostrophe in the alphabets of India and in Urdu and Android and others have a
/// comma: code 2c, as in the default alphabet.
const COMMA: u8 = 0x2c;

fn number(language: Option<Language>) -> u8 {
    language.map_or(0, Language::number)
}

#[test]
fn every_septet_of_every_table_is_the_character_that_it_is_there() {
    let mut peer = Peer::start(SCRIPT);
    let all: Vec<Option<Language>> =
        core::iter::once(None).chain(Language::ALL.iter().map(|it| Some(*it))).collect();
    let mut known = 0;
    for language in all {
        for (locking, single_shift) in [(language, None), (None, language)] {
            if locking.is_some_and(|it| !it.is_locking()) {
                continue;
            }
            let alphabet = Alphabet { locking, single_shift };
            let codec = format!("gsm23.038-{}-{}", number(locking), number(single_shift));
            for septet in (0..128).filter(|it| *it != 0x1b) {
                let is_other = septet == COMMA && number(locking) >= 4;
                let lead: &[u8] =
                    if single_shift.is_some() || language.is_none() { &[0x1b] } else { &[] };
                for septets in [[lead, &[septet]].concat(), vec![septet]] {
                    let answer = peer.ask(&format!("{codec} {}", hex(&septets)));
                    let ours = alphabet.decode(septets.iter().copied());
                    let Some((text, back)) = answer.split_once(' ').filter(|it| it.0 != "!") else {
                        // It refuses what no table has; here, U+FFFD or the main table's own.
                        assert!(septets.len() == 2 || ours == "\u{fffd}", "{codec} {septets:?}");
                        continue;
                    };
                    let text = String::from_utf8(octets(text)).unwrap();
                    if is_other {
                        assert_eq!((&*ours, &*text), (",", "'"));
                        continue;
                    }
                    let is_kept = text != ours && septets.len() == 2;
                    assert!(text == ours || is_kept, "{codec} {septets:02x?}: {text:?} {ours:?}");
                    if !is_kept {
                        assert_eq!(alphabet.septets(&text), Some(octets(back)), "{codec} {text:?}");
                        known += 1;
                    }
                }
            }
        }
    }
    assert!(known > 3_000, "{known}");
}
