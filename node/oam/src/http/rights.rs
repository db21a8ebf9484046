//! Which role each route needs: one row a route. What has no row needs an administrator.

use crate::token::Role;
use axum::http::Method;

/// A route and who may use it.
#[derive(Debug, Clone, Copy)]
pub struct Right {
    /// Method; `GET` is `HEAD` as well.
    pub method: &'static str,
    /// Path as the API's description has it: `{path}` is the rest, another `{…}` one segment.
    pub path: &'static str,
    /// The least role; none: no token is needed.
    pub role: Option<Role>,
}

const fn open(method: &'static str, path: &'static str) -> Right {
    Right { method, path, role: None }
}

const fn monitor(method: &'static str, path: &'static str) -> Right {
    Right { method, path, role: Some(Role::Monitor) }
}

const fn operator(method: &'static str, path: &'static str) -> Right {
    Right { method, path, role: Some(Role::Operator) }
}

const fn administrator(method: &'static str, path: &'static str) -> Right {
    Right { method, path, role: Some(Role::Administrator) }
}

/// Every route, those that functions bring along included. What tells of calls and subscribers is
/// for operators, and what may hold passwords for administrators.
pub const RIGHTS: &[Right] = &[
    open("GET", "/livez"),
    open("GET", "/readyz"),
    open("POST", "/api/v1/session"),
    monitor("GET", "/metrics"),
    monitor("GET", "/api/v1/session"),
    monitor("DELETE", "/api/v1/session"),
    monitor("GET", "/api/v1/openapi.json"),
    monitor("GET", "/api/v1/site"),
    monitor("GET", "/api/v1/counters"),
    monitor("GET", "/api/v1/metrics/history"),
    monitor("GET", "/api/v1/live"),
    monitor("GET", "/api/v1/alarms"),
    monitor("GET", "/api/v1/sas/status"),
    operator("GET", "/api/v1/log"),
    operator("GET", "/api/v1/functions/{name}/{path}"),
    operator("POST", "/api/v1/functions/{name}/{path}"),
    operator("GET", "/api/v1/sas/trails"),
    operator("GET", "/api/v1/sas/trails/{id}"),
    operator("GET", "/api/v1/sas/trails/{id}/{format}"),
    operator("GET", "/api/v1/sas/worst"),
    operator("GET", "/api/v1/sas/tail"),
    operator("POST", "/api/v1/sas/read"),
    operator("GET", "/api/v1/config/history"),
    operator("GET", "/api/v1/config/schema"),
    operator("GET", "/api/v1/config/exposures"),
    administrator("PUT", "/api/v1/log"),
    administrator("POST", "/api/v1/drain"),
    administrator("GET", "/api/v1/config"),
    administrator("GET", "/api/v1/config/candidate"),
    administrator("PUT", "/api/v1/config/candidate"),
    administrator("DELETE", "/api/v1/config/candidate"),
    administrator("POST", "/api/v1/config/candidate/check"),
    administrator("GET", "/api/v1/config/candidate/compare"),
    administrator("GET", "/api/v1/config/candidate/interruptions"),
    administrator("POST", "/api/v1/config/candidate/commit"),
    administrator("POST", "/api/v1/config/confirm"),
    administrator("POST", "/api/v1/config/rollback"),
];

/// The least role for a request.
#[must_use]
pub fn needed(method: &Method, path: &str) -> Role {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut rows = RIGHTS.iter().filter(|right| *method == right.method);
    let row = rows.find(|right| matches(right.path, path));
    row.and_then(|right| right.role).unwrap_or(Role::Administrator)
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some("{path}"), Some(_)) => return true,
            (Some(part), Some(found)) => {
                let is_any = part.starts_with('{') && !found.is_empty();
                if !is_any && part != found {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_needs_the_role_of_its_row_and_else_the_highest() {
        let needs = |method: &str, path: &str| {
            needed(&Method::from_bytes(method.as_bytes()).unwrap(), path)
        };
        assert_eq!(needs("GET", "/metrics"), Role::Monitor);
        assert_eq!(needs("HEAD", "/metrics"), Role::Monitor);
        assert_eq!(needs("GET", "/api/v1/functions/ssc1/calls"), Role::Operator);
        assert_eq!(needs("POST", "/api/v1/functions/ssc1/calls/terminate"), Role::Operator);
        assert_eq!(needs("GET", "/api/v1/sas/trails/7/pcapng"), Role::Operator);
        for (method, path) in [
            ("POST", "/metrics"),
            ("GET", "/metrics/"),
            ("GET", "//metrics"),
            ("GET", "/api/v1/sas/trails//pcapng"),
            ("GET", "/api/v1/functions/ssc1"),
            ("GET", "/api/v1/config"),
            ("GET", "/api/v1/new/thing"),
            ("BREW", "/api/v1/site"),
        ] {
            assert_eq!(needs(method, path), Role::Administrator, "{method} {path}");
        }
    }
}
