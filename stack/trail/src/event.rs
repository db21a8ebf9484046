//! The events of all functions: name, fields, and what each means for its trail.

/// What an event means for the trail that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing beyond its words.
    Told,
    /// A request, or what should have been one, was refused on arrival: the trail is about that
    /// unless it is about something greater.
    Refused,
    /// The trail is about a session or a link, which stands from now on.
    SessionBegan,
    /// Something of a session or a link.
    Session,
    /// The session or the link is over.
    SessionEnded,
    /// Of the media of a call: the trail keeps what it says of streams and their quality.
    Media,
}

macro_rules! events {
    ($($(#[$doc:meta])+ $name:ident = $meaning:ident [$($field:ident),* $(,)?],)+) => {
        /// What happened, in the past tense.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Event { $($(#[$doc])+ $name),+ }

        impl Event {
            /// Every row.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its name: `event` of the JSON object.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// The fields that it may have, in their order.
            #[must_use]
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$(stringify!($field)),*]),+ }
            }

            /// What it means for its trail.
            #[must_use]
            pub const fn meaning(self) -> Meaning {
                match self { $(Self::$name => Meaning::$meaning),+ }
            }
        }
    };
}

events! {
    /// A call was answered.
    CallAnswered = Told [leg, after_us],
    /// A call was refused by the far end.
    CallRejected = Told [status],
    /// The caller gave up.
    CallCancelled = Told [],
    /// Nobody could be reached, or the request could not be sent.
    CallFailed = Told [status],
    /// A far end ended the call.
    CallReleased = Told [leg],
    /// The function ended the call.
    CallTornDown = Told [text, status],
    /// A call is over.
    CallEnded = Told [duration_ms],
    /// A call goes on to another target.
    NextTargetTried = Told [status, host],
    /// A contact is new.
    Registered = Told [aor],
    /// A contact was refreshed.
    RegistrationRefreshed = Told [aor],
    /// A contact was removed by its client.
    Unregistered = Told [aor],
    /// A contact ended by itself.
    RegistrationEnded = Told [aor, contact, text],
    /// A challenge left for a phone of IMS with a security agreement (TS 33.203 §7.2): its
    /// algorithms (integrity/encryption), ports and SPIs of both, client/server.
    AgreementChosen = Told [impi, algorithms, mode, ue_ports, ue_spis, own_ports, own_spis],
    /// The core accepted the registration of a security agreement, which stands for `expires_s`.
    AgreementEstablished = Told [impi, own_spis, expires_s],
    /// The core accepted another registration by the same security agreement.
    AgreementRefreshed = Told [impi, own_spis, expires_s],
    /// A newer security agreement stands beside this one, which serves until that is used.
    AgreementReplaced = Told [impi, own_spis, text],
    /// A security agreement is over, and why.
    AgreementEnded = Told [impi, own_spis, text],
    /// There is no security agreement with a phone, and why.
    AgreementFailed = Told [impi, text],
    /// The core tells a P-CSCF what becomes of registrations of a public user identity (RFC 3680),
    /// for `expires_s`.
    RegistrationWatched = Told [aor, expires_s],
    /// The core does not tell it, or not any more, and why.
    RegistrationNotWatched = Told [aor, status, text],
    /// A request was refused.
    RequestRejected = Refused [status, text, method, from, to, limit, queue_delay_us],
    /// So many requests were refused within a second.
    RequestsRejected = Refused [status, text, method, source, count],
    /// A message could not be read.
    MessageMalformed = Refused [text, offset, spec],
    /// A target of a next hop answers.
    TargetUp = Told [],
    /// A target of a next hop does not answer.
    TargetDown = Told [],
    /// A session with a peer stands.
    SessionEstablished = SessionBegan [peer, text],
    /// A session with a peer is over.
    SessionEnded = SessionEnded [peer, text],
    /// A message that manages a session was sent.
    SessionMessageSent = Session [peer, message, octets, text],
    /// A message that manages a session was received.
    SessionMessageReceived = Session [peer, message, octets, text],
    /// A function that is an application on TCAP said something in a dialogue: `message` is the
    /// kind of primitive with operations and errors by their names, `peer` the title of the other
    /// end where the dialogue begins.
    OperationSent = Told [peer, message, octets],
    /// It was told something in a dialogue.
    OperationReceived = Told [peer, message, octets],
    /// A text that no message of SIP brought is stored, in so many messages: its trail begins.
    TextStored = Told [messages],
    /// Media of an end stand: what it sends, from where (`remote`) to which port (`local`).
    ///
    /// Every event of media names the end whose packets it is about by `leg` (`a` began the call,
    /// `b` was called) and `line`, the place of the `m=` line from 0. `kind` is that of the `m=`
    /// line, `codec` as in `rtpmap` (`opus/48000/2`), `suite` that of SRTP (RFC 4568, RFC 7714),
    /// `RTP` where there is none, `direction` what the end said of itself (`sendrecv`, `inactive`
    /// …), `controller` the name of the media controller. What is not known is left out.
    StreamBegan = Media [leg, line, kind, codec, suite, local, remote, direction, controller],
    /// A later offer or answer changed what stands.
    StreamChanged = Media [leg, line, kind, codec, suite, local, remote, direction, controller],
    /// Packets of the end come from elsewhere than it said (RFC 7362).
    StreamLatched = Media [leg, line, remote],
    /// The end typed a digit (`0` … `9`, `*`, `#`, `A` … `D`), and how long it held it; `way`:
    /// `rtp` (RFC 4733), `info`, `tone`. The collector redacts the digit unless it keeps bodies.
    DigitTyped = Media [leg, line, digit, duration_ms, way],
    /// Nothing comes from the end while packets of the other end do.
    OneWayDetected = Media [leg, line, after_ms],
    /// Packets come from the end again.
    OneWayEnded = Media [leg, line, after_ms],
    /// No packet came from the end for as long as the stream says.
    StreamTimedOut = Media [leg, line, after_ms],
    /// So many packets of the end were dropped since the last such event: their authentication
    /// failed, or they came again.
    SrtpFailed = Media [leg, line, count, suite, text],
    /// What came from the end since the report before, `duration_ms` ago: packets, those of them
    /// that never came, the loss in thousandths, jitter (RFC 3550 §6.4.1) and round trip in µs, R
    /// in tenths and MOS in hundredths (G.107).
    QualityReported = Media [
        leg, line, codec, packets, lost, loss_permille, jitter_us, round_trip_us, r_tenths,
        mos_hundredths, duration_ms,
    ],
    /// Media of the end are over; the fields are those of [`Event::QualityReported`] over the
    /// whole, `dropped` what came and was dropped, `text` why it ended, if not by the call.
    StreamEnded = Media [
        leg, line, codec, packets, octets, lost, dropped, loss_permille, jitter_us, round_trip_us,
        r_tenths, mos_hundredths, duration_ms, text,
    ],
}

/// How every event begins.
const START: &[u8] = b"{\"event\":\"";

impl Event {
    /// The event in a captured JSON object; `None` for those of others.
    #[must_use]
    pub fn of(json: &[u8]) -> Option<Self> {
        let rest = json.strip_prefix(START)?;
        let name = &rest[..rest.iter().position(|&octet| octet == b'"')?];
        Self::ALL.iter().copied().find(|event| event.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Field, write};

    #[test]
    fn every_event_is_read_as_it_was_written() {
        for &event in Event::ALL {
            let fields: Vec<_> =
                event.fields().iter().map(|&field| (field, Field::Text(b"\"a\\"))).collect();
            let mut text = Vec::new();
            write(&mut text, event, &fields);
            assert_eq!(Event::of(&text), Some(event));
            let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(read["event"], event.name());
            assert!(event.fields().iter().all(|&field| read[field] == "\"a\\"), "{event:?}");
        }
    }

    #[test]
    fn events_of_others_are_none_of_ours() {
        for json in [&b""[..], b"{}", b"{\"event\":\"", b"{\"event\":\"Unknown\"}", b"log"] {
            assert_eq!(Event::of(json), None);
        }
    }

    #[test]
    fn names_are_unique_and_fields_as_well() {
        for (at, event) in Event::ALL.iter().enumerate() {
            assert!(Event::ALL[..at].iter().all(|other| other.name() != event.name()));
            let fields = event.fields();
            assert!((1..fields.len()).all(|n| !fields[..n].contains(&fields[n])), "{event:?}");
        }
    }
}
