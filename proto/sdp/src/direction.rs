//! The direction of a stream (RFC 8866 §6.7, RFC 3264 §5.1, §6.1).

/// Who sends, seen from the side that wrote the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Both.
    #[default]
    SendRecv,
    /// Only the writer.
    SendOnly,
    /// Only the reader.
    RecvOnly,
    /// Nobody.
    Inactive,
}

impl Direction {
    /// The attribute's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendRecv => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    /// From an attribute's name.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        [Self::SendRecv, Self::SendOnly, Self::RecvOnly, Self::Inactive]
            .into_iter()
            .find(|direction| direction.name().as_bytes() == name)
    }

    /// The same seen from the other side.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::SendOnly => Self::RecvOnly,
            Self::RecvOnly => Self::SendOnly,
            same => same,
        }
    }

    /// Whether the writer sends.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendRecv | Self::SendOnly)
    }

    /// Whether the writer receives.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendRecv | Self::RecvOnly)
    }

    /// Whether an answer with `self` to an offer with `offered` gives no more than was offered
    /// (RFC 3264 §6.1).
    #[must_use]
    pub const fn answers(self, offered: Self) -> bool {
        (!self.sends() || offered.receives()) && (!self.receives() || offered.sends())
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::{Inactive, RecvOnly, SendOnly, SendRecv};
    use super::*;

    #[test]
    fn answers_follow_the_table_of_rfc_3264() {
        let all = [SendRecv, SendOnly, RecvOnly, Inactive];
        let allowed = |offer: Direction| -> Vec<Direction> {
            all.into_iter().filter(|answer| answer.answers(offer)).collect()
        };
        assert_eq!(allowed(SendRecv), all);
        assert_eq!(allowed(SendOnly), [RecvOnly, Inactive]);
        assert_eq!(allowed(RecvOnly), [SendOnly, Inactive]);
        assert_eq!(allowed(Inactive), [Inactive]);
        for direction in all {
            assert_eq!(Direction::parse(direction.name().as_bytes()), Some(direction));
            assert_eq!(direction.reversed().reversed(), direction);
        }
    }
}
