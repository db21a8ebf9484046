//! Sessions of the console: opened with a token, kept in a cookie.

use crate::token::{Principal, random};
use machine::{Duration, Time};
use std::io;
use subtle::ConstantTimeEq as _;

/// Sessions at the same time; for one more, the oldest ends of the token that has most.
pub const SESSIONS_MAX: usize = 256;
/// Sessions of one token at the same time; its oldest ends when one more begins.
pub const OF_TOKEN_MAX: usize = 32;
/// Life of a session.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 3600);
/// Life of a session that nobody uses.
pub const IDLE_LIFE: Duration = Duration::from_secs(3600);

#[derive(Debug)]
struct Session {
    number: String,
    principal: Principal,
    until: Time,
    idle_until: Time,
}

/// The sessions that stand, oldest first.
#[derive(Debug, Default)]
pub struct Sessions(Vec<Session>);

fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

impl Sessions {
    /// Opens a session for who has shown a token; gives its number.
    ///
    /// # Errors
    /// When the kernel has no randomness.
    pub fn open(&mut self, now: Time, principal: Principal) -> io::Result<String> {
        let number = random()?;
        self.expire(now);
        if self.of(&principal) >= OF_TOKEN_MAX {
            self.end_oldest(&principal.clone());
        } else if self.0.len() >= SESSIONS_MAX
            && let Some(most) = self.0.iter().map(|it| &it.principal).max_by_key(|it| self.of(it))
        {
            self.end_oldest(&most.clone());
        }
        let (until, idle_until) = (now + SESSION_LIFE, now + IDLE_LIFE);
        self.0.push(Session { number: number.clone(), principal, until, idle_until });
        Ok(number)
    }

    fn of(&self, principal: &Principal) -> usize {
        self.0.iter().filter(|it| it.principal.name == principal.name).count()
    }

    fn end_oldest(&mut self, principal: &Principal) {
        if let Some(at) = self.0.iter().position(|it| it.principal.name == principal.name) {
            self.0.remove(at);
        }
    }

    fn expire(&mut self, now: Time) {
        self.0.retain(|it| it.until > now && it.idle_until > now);
    }

    /// Who opened the session, if it stands; it is in use then.
    pub fn find(&mut self, now: Time, number: &str) -> Option<Principal> {
        self.expire(now);
        let mut found = None;
        for session in &mut self.0 {
            if same(&session.number, number) {
                session.idle_until = now + IDLE_LIFE;
                found = Some(session.principal.clone());
            }
        }
        found
    }

    /// Ends a session.
    pub fn close(&mut self, number: &str) {
        self.0.retain(|it| !same(&it.number, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Authenticator, Role, Tokens};

    fn authenticator(folder: &std::path::Path) -> (Authenticator, Tokens) {
        let tokens = Tokens::new(folder.join("tokens"));
        (Authenticator::new("the-first-of-all", tokens.clone()), tokens)
    }

    #[test]
    fn a_session_ends_after_its_life_or_unused_or_when_closed() {
        let folder = tempfile::tempdir().unwrap();
        let principal = authenticator(folder.path()).0.authenticate("the-first-of-all").unwrap();
        let (mut sessions, start) = (Sessions::default(), Time::from_millis(5));
        let one = sessions.open(start, principal.clone()).unwrap();
        let two = sessions.open(start, principal).unwrap();
        assert!(sessions.find(start, &one).is_some() && sessions.find(start, "x").is_none());
        sessions.close(&one);
        assert!(sessions.find(start, &one).is_none());
        // In use it stands to the end of its life, and no longer.
        let mut now = start;
        while now + IDLE_LIFE / 2 < start + SESSION_LIFE {
            now += IDLE_LIFE / 2;
            assert!(sessions.find(now, &two).is_some(), "{now:?}");
        }
        assert!(sessions.find(start + SESSION_LIFE, &two).is_none());
    }

    #[test]
    fn an_unused_session_ends_after_its_hour() {
        let folder = tempfile::tempdir().unwrap();
        let principal = authenticator(folder.path()).0.authenticate("the-first-of-all").unwrap();
        let mut sessions = Sessions::default();
        let one = sessions.open(Time::ZERO, principal).unwrap();
        assert!(sessions.find(Time::ZERO + IDLE_LIFE, &one).is_none());
    }

    #[test]
    fn who_opens_many_ends_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (authenticator, tokens) = authenticator(folder.path());
        let principal = |name: &str| {
            let token = tokens.make(0, name, Role::Monitor).unwrap();
            authenticator.authenticate(&token).unwrap()
        };
        let mut sessions = Sessions::default();
        let quiet = sessions.open(Time::ZERO, principal("quiet")).unwrap();
        for n in 0..20 {
            let many = principal(&format!("many{n}"));
            for _ in 0..=OF_TOKEN_MAX {
                sessions.open(Time::ZERO, many.clone()).unwrap();
                assert!(sessions.of(&many) <= OF_TOKEN_MAX);
            }
        }
        assert_eq!(sessions.0.len(), SESSIONS_MAX);
        assert!(sessions.find(Time::ZERO, &quiet).is_some());
    }
}
