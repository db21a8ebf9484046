//! Session-Ids (RFC 6733 §8.8): `host;high;low`.

/// Makes Session-Ids that differ from each other and from those of an earlier start.
#[derive(Debug, Clone)]
pub struct SessionIds {
    host: String,
    next: u64,
}

impl SessionIds {
    /// For a node that starts now, in seconds since 1970: the high 32 bits begin with them.
    #[must_use]
    pub fn new(host: &str, seconds: u64) -> Self {
        Self { host: host.to_owned(), next: seconds << 32 }
    }

    /// The next one.
    pub fn next_id(&mut self) -> String {
        let [low, high] = [self.next & 0xffff_ffff, self.next >> 32];
        self.next = self.next.wrapping_add(1);
        format!("{};{high};{low}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_count_on_from_the_time_of_the_start() {
        let mut ids = SessionIds::new("as.example", 7);
        assert_eq!(ids.next_id(), "as.example;7;0");
        assert_eq!(ids.next_id(), "as.example;7;1");
    }
}
