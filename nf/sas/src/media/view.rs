//! The media of a trail in short, as lists show them.

use crate::media::Stream;
use serde::Serialize;
use utoipa::ToSchema;

/// The worst of all streams of a trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct MediaView {
    /// Streams, each direction by itself.
    pub streams: usize,
    /// Their codecs, as in `rtpmap`.
    pub codecs: Vec<String>,
    /// Whether all are protected by SRTP; null: not known.
    pub protected: Option<bool>,
    /// The lowest MOS that a stream has over the whole, hundredths.
    pub mos_hundredths: Option<u16>,
    /// The lowest MOS of a report, hundredths.
    pub mos_min_hundredths: Option<u16>,
    /// The greatest loss that a stream has over the whole, thousandths.
    pub loss_permille: Option<u32>,
    /// The greatest jitter that a stream has over the whole, microseconds.
    pub jitter_us: Option<u32>,
    /// Whether one end was not heard for some time.
    pub one_way: bool,
    /// Whether packets of an end were missing for longer than allowed.
    pub timed_out: bool,
    /// Packets that SRTP refused.
    pub unprotected: u64,
}

impl MediaView {
    /// Of these; `None` of none.
    #[must_use]
    pub fn of(streams: &[Stream]) -> Option<Self> {
        if streams.is_empty() {
            return None;
        }
        let figures = || streams.iter().map(Stream::figures);
        let mut codecs: Vec<String> = Vec::new();
        for codec in streams.iter().map(|stream| &stream.codec).filter(|codec| !codec.is_empty()) {
            if !codecs.iter().any(|known| known.eq_ignore_ascii_case(codec)) {
                codecs.push(codec.to_string());
            }
        }
        let mut suites = streams.iter().map(|stream| &*stream.suite);
        let is_known = streams.iter().all(|stream| !stream.suite.is_empty());
        Some(Self {
            streams: streams.len(),
            codecs,
            protected: is_known.then(|| suites.all(|suite| suite != "RTP")),
            mos_hundredths: figures().filter_map(|it| it.mos_hundredths).min(),
            mos_min_hundredths: streams.iter().filter_map(Stream::mos_min).min(),
            loss_permille: figures().filter_map(|it| it.loss_permille).max(),
            jitter_us: figures().filter_map(|it| it.jitter_us).max(),
            one_way: streams.iter().any(|stream| stream.was_one_way),
            timed_out: streams.iter().any(|stream| stream.timed_out),
            unprotected: streams.iter().fold(0, |sum, it| it.unprotected.saturating_add(sum)),
        })
    }
}
