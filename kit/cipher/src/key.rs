//! Keys: what is made of the octets of a key once, for every packet under it.

use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::wide;
use crate::{BackEnd, Suite, Unfit};

/// The context of one key: round keys, the hashed pads of an HMAC, powers of GHASH.
///
/// Its memory is overwritten when it is dropped, and `Debug` shows the suite alone.
pub struct Key {
    suite: Suite,
    schedule: Schedule,
}

/// What a back end has made of the key.
pub(crate) enum Schedule {
    Portable(Box<portable::Schedule>),
    #[cfg(target_arch = "x86_64")]
    Wide(wide::Context),
}

impl Key {
    /// The context for the best back end of this machine. `integrity` is the key of the HMAC and
    /// may have any length but none (RFC 2104 §3); it is empty where there is no HMAC.
    ///
    /// # Errors
    /// [`Unfit::KeyLength`], [`Unfit::IntegrityKey`].
    pub fn new(suite: Suite, encryption: &[u8], integrity: &[u8]) -> Result<Self, Unfit> {
        Self::with_back_end(BackEnd::best(), suite, encryption, integrity)
    }

    /// The context for a back end.
    ///
    /// # Errors
    /// As [`Key::new`], and [`Unfit::BackEnd`].
    pub fn with_back_end(
        back_end: BackEnd,
        suite: Suite,
        encryption: &[u8],
        integrity: &[u8],
    ) -> Result<Self, Unfit> {
        if encryption.len() != suite.key_len() {
            return Err(Unfit::KeyLength);
        }
        if integrity.is_empty() != (suite.integrity().octets() == 0) {
            return Err(Unfit::IntegrityKey);
        }
        if !back_end.is_available() {
            return Err(Unfit::BackEnd);
        }
        let schedule = match back_end {
            BackEnd::Portable => {
                let schedule = portable::Schedule::new(suite, encryption, integrity)?;
                Schedule::Portable(Box::new(schedule))
            }
            #[cfg(target_arch = "x86_64")]
            BackEnd::Wide => Schedule::Wide(wide::Context::new(suite, encryption, integrity)?),
            #[cfg(not(target_arch = "x86_64"))]
            BackEnd::Wide => return Err(Unfit::BackEnd),
        };
        Ok(Self { suite, schedule })
    }

    /// Its suite.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Octets of memory that it takes, those on the heap with it.
    #[must_use]
    pub fn size(&self) -> usize {
        let heap = match &self.schedule {
            Schedule::Portable(schedule) => size_of_val(&**schedule),
            #[cfg(target_arch = "x86_64")]
            Schedule::Wide(context) => context.size(),
        };
        size_of::<Self>() + heap
    }

    /// Fetches it into the cache. Where keys are more than a cache holds, a packet waits longer for
    /// its key than it is worked on: whoever knows of a packet one batch ahead says so here.
    #[inline]
    pub fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        if let Schedule::Wide(context) = &self.schedule {
            context.prefetch();
        }
    }

    #[inline]
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("suite", &self.suite).finish_non_exhaustive()
    }
}
