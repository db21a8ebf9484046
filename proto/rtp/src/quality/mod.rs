//! How a call sounds, as far as a network can know it: the E-model (G.107, G.107.1).
//!
//! ```
//! use rtp::quality::{Codec, Path, rate};
//! use std::time::Duration;
//!
//! let near = Path { delay: Duration::from_millis(60), ..Path::default() };
//! let rating = rate(Codec::G711, &near);
//! assert!(rating.r() > 91.0 && rating.mos() > 4.3);
//! assert!(rate(Codec::G711, &Path { loss: 0.05, ..near }).mos() < rating.mos());
//! ```

mod codec;
mod model;
mod rating;

pub use codec::{Band, Basis, Codec, Impairment};
pub use rating::{Path, Rating, rate};
