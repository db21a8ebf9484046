//! Peers that hold on to what they get.

use super::site::{Site, until};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Connections that say nothing.
pub fn idle(site: &Site, number: usize) -> Vec<TcpStream> {
    (0..number).map(|_| TcpStream::connect(site.oam.address()).unwrap()).collect()
}

/// More wrong tokens than a source may send; the last answer's status.
pub fn guess(site: &Site) -> u16 {
    let wrong = [("authorization", "Bearer wrong")];
    (0..30).map(|_| site.send("GET", "/api/v1/site", &wrong, "").status).last().unwrap()
}

/// A request for a host of somebody else; its status.
pub fn misdirect(site: &Site) -> u16 {
    site.send("GET", "/livez", &[("host", "attacker.example")], "").status
}

fn answers(site: &Site) {
    assert_eq!(site.send("GET", "/livez", &[], "").status, 200);
    assert_eq!(site.get("/api/v1/site").status, 200);
}

fn opened(site: &Site, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Everything until the other end closes; an answer that is cut counts as closed.
fn rest(stream: &mut TcpStream) -> String {
    let mut octets = Vec::new();
    match stream.read_to_end(&mut octets) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => {
            panic!("it stays open: {error}")
        }
        _ => String::from_utf8_lossy(&octets).into_owned(),
    }
}

fn counted(site: &Site, name: &str) -> u64 {
    let rows = site.get("/api/v1/counters").json();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
    row.and_then(|row| row["value"].as_u64()).unwrap_or(0)
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let site = Site::start();
    for slow in ["", "GET /livez HTTP/1.1\r\nhost: local", "GET /livez HTTP/1.1\r\n"] {
        let held: Vec<TcpStream> =
            (0..oam::http::CONNECTIONS_MAX).map(|_| opened(&site, slow)).collect();
        answers(&site);
        drop(held);
    }
    let body = "PUT /api/v1/config/candidate HTTP/1.1\r\nhost: localhost\r\n\
        content-length: 1000\r\n\r\nnumber";
    let _held: Vec<TcpStream> =
        (0..oam::http::CONNECTIONS_MAX).map(|_| opened(&site, body)).collect();
    answers(&site);
    assert!(counted(&site, "oam_http_connections_shed_total") > 0);
}

#[test]
fn who_has_shown_a_token_keeps_its_place() {
    let site = Site::start();
    let mut proved = opened(
        &site,
        &format!(
            "GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            site.token
        ),
    );
    let mut head = [0; 15];
    proved.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let _held = idle(&site, 2 * oam::http::CONNECTIONS_MAX);
    answers(&site);
    // The stream goes on: pulses come once a second.
    let mut pulse = [0; 2048];
    let mut taken = 0;
    while taken < 16 * 1024 {
        match proved.read(&mut pulse).unwrap() {
            0 => panic!("the stream was ended"),
            n => taken += n,
        }
        if String::from_utf8_lossy(&pulse).matches("data: ").count() > 0 {
            return;
        }
    }
}

#[test]
fn the_lowest_role_locks_nobody_out() {
    let site = Site::start();
    let bearer = site.bearer("prometheus", oam::token::Role::Monitor);
    let request = format!(
        "GET /api/v1/session HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n\r\n"
    );
    let held: Vec<TcpStream> = (0..oam::http::CONNECTIONS_MAX)
        .map(|_| {
            let mut stream = opened(&site, &request);
            let mut head = [0; 15];
            stream.read_exact(&mut head).unwrap();
            assert_eq!(&head, b"HTTP/1.1 200 OK");
            stream
        })
        .collect();
    for _ in 0..3 {
        answers(&site);
    }
    drop(held);
}

#[test]
fn what_is_drawn_out_is_ended() {
    let site = Site::hasty();
    for head in ["", "GET /livez HTTP/1.1\r\nhost: local"] {
        rest(&mut opened(&site, head));
    }
    // Kept open after an answer.
    let answer = rest(&mut opened(&site, "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let token = &site.token;
    let body = rest(&mut opened(
        &site,
        &format!(
            "PUT /api/v1/config/candidate HTTP/1.1\r\nhost: localhost\r\nauthorization: \
             Bearer {token}\r\ncontent-length: 100\r\n\r\nnumber"
        ),
    ));
    assert!(body.starts_with("HTTP/1.1 408 ") && body.contains("too-slow"), "{body}");
    assert!(counted(&site, "oam_http_slow_total") > 0);
}

#[test]
fn who_does_not_take_its_answers_is_ended() {
    let site = Site::hasty();
    let mut stream = opened(&site, "");
    stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let request = format!(
        "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        site.token
    );
    let before = counted(&site, "oam_http_slow_total");
    until("the connection of who asks and never reads ends", || {
        for _ in 0..50 {
            let _ = (&stream).write_all(request.as_bytes());
        }
        counted(&site, "oam_http_slow_total") > before
    });
    let mut octets = Vec::new();
    let _ = stream.read_to_end(&mut octets);
    answers(&site);
}

#[test]
fn wrong_tokens_are_counted_by_source_and_a_right_one_is_taken() {
    let site = Site::start();
    assert_eq!(guess(&site), 429);
    let json = [("content-type", "application/json")];
    let refused = site.send("POST", "/api/v1/session", &json, r#"{"token": "wrong"}"#);
    assert_eq!((refused.status, refused.code().as_str()), (429, "too-many-wrong-tokens"));
    // Without any token it is no guess.
    assert_eq!(site.send("GET", "/api/v1/site", &[], "").status, 401);
    answers(&site);
}

#[test]
fn a_name_that_is_not_ours_is_refused_everywhere() {
    let site =
        Site::with(|section| oam::Section { hosts: vec!["tandem.example".into()], ..section });
    for path in ["/livez", "/readyz", "/metrics", "/api/v1/site", "/", "/api/v1/none"] {
        let foreign = site.send("GET", path, &[("host", "attacker.example:8080")], "");
        assert_eq!((foreign.status, foreign.code().as_str()), (421, "unknown-host"), "{path}");
    }
    for host in ["localhost:1", "[::1]", "192.0.2.1:8080", "TANDEM.example:443"] {
        assert_eq!(site.send("GET", "/livez", &[("host", host)], "").status, 200, "{host}");
    }
}

#[test]
fn a_session_needs_little_and_its_cookie_is_secure_behind_tls() {
    let site = Site::start();
    let long = format!(r#"{{"token": "{}"}}"#, "x".repeat(oam::http::OPEN_BODY_BYTES_MAX));
    let json = ("content-type", "application/json");
    assert_eq!(site.send("POST", "/api/v1/session", &[json], &long).status, 413);
    let right = format!(r#"{{"token": "{}"}}"#, site.token);
    let cookie = |headers: &[(&str, &str)]| {
        let opened = site.send("POST", "/api/v1/session", headers, &right);
        opened.headers["set-cookie"].to_str().unwrap().to_owned()
    };
    assert!(!cookie(&[json]).contains("Secure"));
    let https = ("x-forwarded-proto", "https");
    let over_tls = cookie(&[json, https]);
    // The browser refuses the prefix without these, and with a domain.
    assert!(over_tls.starts_with("__Host-tandem_session=") && over_tls.ends_with("; Secure"));
    assert!(over_tls.contains("; Path=/; ") && !over_tls.contains("Domain"));
    let pair = over_tls.split(';').next().unwrap();
    let look = |headers: &[(&str, &str)]| site.send("GET", "/api/v1/site", headers, "").status;
    assert_eq!(look(&[("cookie", pair), https]), 200);
    // Another host of the domain may set a cookie of the plain name: over TLS it counts nothing.
    let plain = pair.strip_prefix("__Host-").unwrap();
    assert_eq!(look(&[("cookie", plain), https]), 401);
    assert_eq!(site.send("DELETE", "/api/v1/session", &[("cookie", pair), https], "").status, 204);
    assert_eq!(look(&[("cookie", pair), https]), 401);
}
