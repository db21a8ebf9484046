//! SDP (RFC 8866), borrowed from its bytes, with what offer and answer (RFC 3264) and
//! preconditions (RFC 3312) read in it.
//!
//! ```
//! let text = b"v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
//!     m=audio 49170 RTP/AVP 0\r\na=sendonly\r\n";
//! let session = sdp::Session::parse(text)?;
//! let audio = session.media().next().expect("one stream");
//! assert_eq!((audio.kind, audio.port), (&b"audio"[..], 49170));
//! assert_eq!(audio.connection().map(|c| c.address), Some(&b"192.0.2.1"[..]));
//! assert_eq!(audio.direction(), sdp::Direction::SendOnly);
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod direction;
mod line;
mod media;
mod offer_answer;
mod precondition;
mod session;

pub use direction::Direction;
pub use line::{Attribute, Kind, Line, Lines};
pub use media::Media;
pub use offer_answer::{Mismatch, fits};
pub use precondition::{Part, Precondition, Reach, Strength};
pub use session::{Connection, MEDIA_MAX, Origin, SESSION_BYTES_MAX, Session};
pub use wire::Malformed;
