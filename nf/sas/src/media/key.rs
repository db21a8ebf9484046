//! The keys that the media of a trail are found by: a figure, or a word, in the value of one class.
//! Each figure is that of the worst stream.

use crate::media::{MediaView, Stream};
use store::{KEYS_MAX, Key, KeyRange};
use xxhash_rust::xxh3::xxh3_64;

/// The class.
pub(crate) const MEDIA: u8 = 6;
/// The least and the greatest MOS, hundredths.
pub(crate) const MOS_MIN: u16 = 100;
pub(crate) const MOS_MAX: u16 = 500;
/// Bits of a figure; what it is of stands above them.
const BITS: u32 = 56;

/// What a key is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Hundredths.
    Mos = 1,
    /// Thousandths.
    Loss = 2,
    /// Microseconds.
    Jitter = 3,
    /// A hash of its name in small letters.
    Codec = 4,
    /// [`Word`].
    Word = 5,
}

/// Trouble that a search may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    OneWay = 1,
    TimedOut = 2,
    Unprotected = 3,
}

impl About {
    /// The greatest figure.
    pub(crate) const MOST: u64 = (1 << BITS) - 1;

    /// All keys about this from one figure to another.
    pub(crate) const fn range(self, low: u64, high: u64) -> KeyRange {
        let above = (self as u64) << BITS;
        KeyRange { class: MEDIA, low: above | low, high: above | high }
    }

    fn key(self, figure: u64) -> Key {
        Key { class: MEDIA, value: self.range(figure.min(Self::MOST), Self::MOST).low }
    }
}

/// The figure of a codec: of its name, without clock and channels.
pub(crate) fn codec(name: &str) -> u64 {
    let name = name.split('/').next().unwrap_or_default();
    xxh3_64(name.to_ascii_lowercase().as_bytes()) & About::MOST
}

/// All trails with a MOS from one to another, hundredths.
pub(crate) fn mos_ranges(low: u16, high: u16) -> Vec<KeyRange> {
    vec![About::Mos.range(low.into(), high.into())]
}

/// Puts the keys of these streams in the place of those that were there.
pub(crate) fn add(keys: &mut Vec<Key>, streams: &[Stream]) {
    keys.retain(|key| key.class != MEDIA);
    let Some(view) = MediaView::of(streams) else { return };
    let figures = [
        (About::Mos, view.mos_hundredths.map(u64::from)),
        (About::Loss, view.loss_permille.map(u64::from)),
        (About::Jitter, view.jitter_us.map(u64::from)),
        (About::Word, view.one_way.then_some(Word::OneWay as u64)),
        (About::Word, view.timed_out.then_some(Word::TimedOut as u64)),
        (About::Word, (view.unprotected > 0).then_some(Word::Unprotected as u64)),
    ];
    let codecs = view.codecs.iter().map(|name| About::Codec.key(codec(name)));
    let figures = figures.into_iter().filter_map(|(about, figure)| Some(about.key(figure?)));
    for key in figures.chain(codecs) {
        if keys.len() < KEYS_MAX && !keys.contains(&key) {
            keys.push(key);
        }
    }
}
