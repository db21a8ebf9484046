//! Back ends: the same results by what the processor has.

/// What does the work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BackEnd {
    /// Sixteen blocks of AES and sixteen messages of SHA-1 at once: AVX-512, VAES, VPCLMULQDQ.
    Wide,
    /// The crates of RustCrypto, one packet after the other. It runs everywhere.
    Portable,
}

impl BackEnd {
    /// All that there are, the best first.
    pub const ALL: [Self; 2] = [Self::Wide, Self::Portable];

    /// The best that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.is_available()).unwrap_or(Self::Portable)
    }

    /// Whether this machine can run it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Wide => crate::wide::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Wide => false,
        }
    }
}
