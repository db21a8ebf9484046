//! Sessions of the console: opened with a token, kept in a cookie.

use crate::token::{Pass, random};
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
    pass: Pass,
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
    pub fn open(&mut self, now: Time, pass: Pass) -> io::Result<String> {
        let number = random()?;
        self.expire(now);
        if self.of(&pass) >= OF_TOKEN_MAX {
            self.end_oldest(&pass.clone());
        } else if self.0.len() >= SESSIONS_MAX
            && let Some(most) = self.0.iter().map(|it| &it.pass).max_by_key(|it| self.of(it))
        {
            self.end_oldest(&most.clone());
        }
        let (until, idle_until) = (now + SESSION_LIFE, now + IDLE_LIFE);
        self.0.push(Session { number: number.clone(), pass, until, idle_until });
        Ok(number)
    }

    fn of(&self, pass: &Pass) -> usize {
        self.0.iter().filter(|it| it.pass.name == pass.name).count()
    }

    fn end_oldest(&mut self, pass: &Pass) {
        if let Some(at) = self.0.iter().position(|it| it.pass.name == pass.name) {
            self.0.remove(at);
        }
    }

    fn expire(&mut self, now: Time) {
        self.0.retain(|it| it.until > now && it.idle_until > now);
    }

    /// Who opened the session, if it stands; it is in use then.
    pub fn find(&mut self, now: Time, number: &str) -> Option<Pass> {
        self.expire(now);
        let mut found = None;
        for session in &mut self.0 {
            if same(&session.number, number) {
                session.idle_until = now + IDLE_LIFE;
                found = Some(session.pass.clone());
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
    use crate::token::{Keys, Role, Tokens};

    fn keys(folder: &std::path::Path) -> (Keys, Tokens) {
        let tokens = Tokens::new(folder.join("tokens"));
        (Keys::new("the-first-of-all", tokens.clone()), tokens)
    }

    #[test]
    fn a_session_ends_after_its_life_or_unused_or_when_closed() {
        let folder = tempfile::tempdir().unwrap();
        let pass = keys(folder.path()).0.admit("the-first-of-all").unwrap();
        let (mut sessions, start) = (Sessions::default(), Time::from_millis(5));
        let one = sessions.open(start, pass.clone()).unwrap();
        let two = sessions.open(start, pass).unwrap();
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
        let pass = keys(folder.path()).0.admit("the-first-of-all").unwrap();
        let mut sessions = Sessions::default();
        let one = sessions.open(Time::ZERO, pass).unwrap();
        assert!(sessions.find(Time::ZERO + IDLE_LIFE, &one).is_none());
    }

    #[test]
    fn who_opens_many_ends_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (keys, tokens) = keys(folder.path());
        let pass = |name: &str| {
            let token = tokens.make(0, name, Role::Monitor).unwrap();
            keys.admit(&token).unwrap()
        };
        let mut sessions = Sessions::default();
        let quiet = sessions.open(Time::ZERO, pass("quiet")).unwrap();
        for n in 0..20 {
            let many = pass(&format!("many{n}"));
            for _ in 0..=OF_TOKEN_MAX {
                sessions.open(Time::ZERO, many.clone()).unwrap();
                assert!(sessions.of(&many) <= OF_TOKEN_MAX);
            }
        }
        assert_eq!(sessions.0.len(), SESSIONS_MAX);
        assert!(sessions.find(Time::ZERO, &quiet).is_some());
    }
}
