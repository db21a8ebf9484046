//! The API as a client sees it.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod hostile;
mod site;

use oam::Extra;
use oam::http::rights::RIGHTS;
use oam::token::Role;
use serde_json::{Value, json};
use site::{Site, Toy, until};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Every `(method, path)` of the API's description.
fn documented(openapi: &Value) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            all.insert((method.to_uppercase(), path.clone()));
        }
    }
    all
}

/// The first bytes of an answer, so that an endless stream is an answer too.
fn head(site: &Site, method: &str, path: &str) -> String {
    head_with(site, &site.token, method, path)
}

fn head_with(site: &Site, token: &str, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    )
    .unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn every_documented_route_answers_and_knows_its_method() {
    let site = Site::start();
    let openapi = site.get("/api/v1/openapi.json").json();
    let routes = documented(&openapi);
    assert!(routes.len() >= 27, "{routes:?}");
    for (method, path) in routes {
        let path = path.replace("{name}", "toy1");
        let answer = head(&site, &method, &path);
        assert!(answer.starts_with("HTTP/1.1 "), "{method} {path}: {answer}");
        let status: u16 = answer[9..12].parse().unwrap();
        // Nothing to roll back to is an answer; a path that nobody serves has no such code.
        let known = path == "/api/v1/config/rollback" && status == 404;
        assert!(known || ![404, 405, 500].contains(&status), "{method} {path}: {answer}");
    }
}

#[test]
fn a_question_of_a_function_is_described_with_its_parameters_and_the_type_of_its_answer() {
    let site = Site::start();
    let openapi = site.get("/api/v1/openapi.json").json();
    let paths = &openapi["paths"];
    let balls = &paths["/api/v1/functions/{name}/balls"]["get"];
    let names: Vec<&str> = balls["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["name", "colour"]);
    let answer = |operation: &Value| {
        operation["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    assert_eq!(answer(balls)["items"]["$ref"], "#/components/schemas/Ball");
    let ball = &openapi["components"]["schemas"]["Ball"];
    assert_eq!(ball["properties"]["id"]["type"], "integer");
    assert_eq!(ball["required"], json!(["id", "colour"]));
    let throw = &paths["/api/v1/functions/{name}/balls/throw"]["post"];
    let body = &throw["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!((&body["required"], &throw["summary"]), (&json!(["id"]), &json!("Throws one.")));
    assert_eq!(answer(throw)["$ref"], "#/components/schemas/Thrown");
    assert!(paths["/api/v1/functions/{name}/balls/take-away"].is_null());
}

#[test]
fn every_route_in_the_code_is_documented() {
    let sources = [
        include_str!("../src/http/mod.rs"),
        include_str!("../src/http/site.rs"),
        include_str!("../src/http/auth.rs"),
        include_str!("../src/http/metrics.rs"),
        include_str!("../src/http/openapi.rs"),
        include_str!("../src/http/configuration.rs"),
    ];
    let mut written = BTreeSet::new();
    for source in sources {
        for part in source.split("#[utoipa::path(").skip(1) {
            let (method, rest) = part.split_once(',').unwrap();
            let path = rest.split('"').nth(1).unwrap();
            written.insert((method.trim().to_uppercase(), path.to_owned()));
        }
    }
    let openapi = serde_json::to_value(oam::http::description()).unwrap();
    assert_eq!(written, documented(&openapi));
    // The router has them too, see the test above; beside them only the description itself.
}

#[test]
fn nothing_but_health_answers_without_a_token() {
    let site = Site::start();
    let openapi = site.get("/api/v1/openapi.json").json();
    let open = ["/livez", "/readyz"];
    for (method, path) in documented(&openapi) {
        if open.contains(&path.as_str()) || (method == "POST" && path == "/api/v1/session") {
            continue;
        }
        let path = path.replace(['{', '}'], "");
        let answer = site.send(&method, &path, &[], "");
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(answer.code(), "unauthorized");
        // Beyond its budget of wrong tokens a source is told so.
        let wrong = site.send(&method, &path, &[("authorization", "Bearer wrong")], "");
        assert!([401, 429].contains(&wrong.status), "{method} {path}: {}", wrong.status);
    }
    for path in open {
        assert_eq!(site.send("GET", path, &[], "").status, 200, "{path}");
    }
    assert_eq!(site.send("GET", "/api/v1/nothing/here", &[], "").status, 401);
    assert_eq!(site.get("/api/v1/nothing/here").code(), "not-found");
    assert_eq!(site.call("DELETE", "/api/v1/site", "").code(), "method-not-allowed");
}

#[test]
fn every_route_has_one_row_that_says_its_role() {
    let documented = documented(&serde_json::to_value(oam::http::description()).unwrap());
    let mut rows = BTreeSet::new();
    for right in RIGHTS {
        assert!(rows.insert((right.method.to_owned(), right.path.to_owned())), "{right:?} twice");
    }
    assert_eq!(documented.difference(&rows).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    // The others are of functions; their own tests say that they are there.
    let of_functions =
        |path: &str| path.starts_with("/api/v1/sas/") || path == "/api/v1/functions/{name}/{path}";
    assert!(rows.difference(&documented).all(|(_, path)| of_functions(path)));
}

/// A path of the table of rights that a request may have.
fn concrete(method: &str, path: &str) -> String {
    let asked = if method == "POST" { "balls/throw" } else { "balls" };
    path.replace("{name}", "toy1").replace("{path}", asked)
}

#[test]
fn each_route_takes_its_role_and_no_lower_one() {
    let site = Site::start();
    let bearers = Role::ALL.map(|role| (role, site.bearer(&format!("a-{role}"), role)));
    let mut refused = 0;
    for right in RIGHTS.iter().filter(|right| !right.path.starts_with("/api/v1/sas/")) {
        let path = concrete(right.method, right.path);
        let Some(needed) = right.role else {
            let answer = site.send(right.method, &path, &[], "");
            assert!(![401, 403].contains(&answer.status), "{right:?}");
            continue;
        };
        assert_eq!(site.send(right.method, &path, &[], "").status, 401, "{right:?}");
        for (role, bearer) in &bearers {
            let token = bearer.strip_prefix("Bearer ").unwrap();
            let answer = head_with(&site, token, right.method, &path);
            let is_refused = answer.contains(" 403 ");
            assert_eq!(is_refused, *role < needed, "{role}: {right:?}: {answer}");
            assert!(!answer.contains(" 401 "), "{role}: {right:?}: {answer}");
            if is_refused {
                let whole = site.send(right.method, &path, &[("authorization", bearer)], "");
                let message = whole.json()["error"]["message"].as_str().unwrap().to_owned();
                let words = format!("the token `a-{role}` is of the role {role}");
                assert!(message.starts_with(&words) && message.ends_with(needed.name()));
                assert_eq!(whole.code(), "forbidden");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
    assert_eq!(site.get("/api/v1/config").json()["revision"], 1, "nobody committed anything");
}

#[test]
fn a_revoked_token_opens_nothing_and_its_sessions_and_streams_end() {
    let site = Site::start();
    let bearer = site.bearer("prometheus", Role::Monitor);
    let own = [("authorization", bearer.as_str())];
    assert_eq!(site.send("GET", "/metrics", &own, "").status, 200);
    let who = site.send("GET", "/api/v1/session", &own, "").json();
    assert_eq!(who, json!({"name": "prometheus", "role": "monitor"}));

    let token = bearer.strip_prefix("Bearer ").unwrap();
    let body = json!({ "token": token }).to_string();
    let opened =
        site.send("POST", "/api/v1/session", &[("content-type", "application/json")], &body);
    let cookie = opened.headers["set-cookie"].to_str().unwrap().to_owned();
    let cookie = [("cookie", cookie.split(';').next().unwrap())];
    assert_eq!(site.send("GET", "/api/v1/session", &cookie, "").json(), who);
    assert_eq!(site.send("GET", "/api/v1/config", &cookie, "").status, 403);

    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("data: ")));

    site.tokens().revoke("prometheus").unwrap();
    assert_eq!(site.send("GET", "/metrics", &own, "").status, 401);
    assert_eq!(site.send("GET", "/api/v1/site", &cookie, "").status, 401);
    // The last chunk of the stream has no octets.
    until("the stream ends", || {
        site.get("/api/v1/counters")
            .json()
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == "oam_live_streams" && row["value"] == 0)
    });
    assert_eq!(site.get("/api/v1/site").status, 200, "the first token stands");
}

#[test]
fn the_history_names_who_committed() {
    let site = Site::start();
    let bearer = site.bearer("alice", Role::Administrator);
    let own = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    site.send("PUT", "/api/v1/config/candidate", &own, "number = 2\n");
    let order = r#"{"revision": 1, "comment": "two it is"}"#;
    assert_eq!(site.send("POST", "/api/v1/config/candidate/commit", &own, order).status, 200);
    site.call("POST", "/api/v1/config/rollback", "{}");
    let rows = site.get("/api/v1/config/history").json();
    let column = |name: &str| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
    };
    assert_eq!(column("by"), [json!("administrator"), json!("alice"), Value::Null]);
    assert_eq!(column("state"), ["active", "rolled-back", "confirmed"]);
    assert_eq!(column("comment"), [Value::Null, json!("two it is"), Value::Null]);
}

#[test]
fn a_site_file_edited_by_hand_is_a_conflict_until_somebody_forces_it_and_a_reload_takes_it() {
    let site = Site::start();
    let config = "/api/v1/config";
    let file = site.folder.path().join("site.toml");
    std::fs::write(&file, "number = 3\n").unwrap();
    site.call("PUT", &format!("{config}/candidate"), "number = 2\n");
    let told = site.get(&format!("{config}/candidate/interruptions")).json();
    assert_eq!(told[0]["what"], "the ball is dropped");
    let commit = format!("{config}/candidate/commit");
    let refused = site.call("POST", &commit, r#"{"revision": 1}"#);
    assert_eq!((refused.status, refused.code().as_str()), (409, "edited"));
    let compared = site.get(&format!("{config}/candidate/compare")).body;
    assert!(compared.contains("by hand") && compared.contains("+number = 3"), "{compared}");
    site.oam.core().reload("SIGHUP");
    let running = site.get(config).json();
    assert_eq!((&running["text"], &running["revision"]), (&json!("number = 3\n"), &json!(2)));
    std::fs::write(&file, "number = 13\n").unwrap();
    site.oam.core().reload("SIGHUP");
    assert_eq!(site.get(config).json()["revision"], 2, "it is refused, what ran runs on");
    site.call("PUT", &format!("{config}/candidate"), "number = 4\n");
    let forced = site.call("POST", &commit, r#"{"revision": 2, "force": true}"#);
    assert_eq!(forced.json()["revision"], 3);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "number = 4\n");
}

#[test]
fn metrics_are_open_only_where_the_site_file_says_so() {
    assert_eq!(Site::start().send("GET", "/metrics", &[], "").status, 401);
    let open = Site::with(|section| oam::Section { metrics_open: true, ..section });
    let answer = open.send("GET", "/metrics", &[], "");
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("# TYPE toy_thrown_total counter"));
    assert!(
        answer.headers["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4")
    );
}

#[test]
fn a_session_opens_with_the_token_and_ends() {
    let site = Site::start();
    let json = ("content-type", "application/json");
    let wrong = site.send("POST", "/api/v1/session", &[json], r#"{"token": "wrong"}"#);
    assert_eq!(wrong.status, 401);
    let body = json!({ "token": site.token }).to_string();
    let opened = site.send("POST", "/api/v1/session", &[json], &body);
    assert_eq!(opened.status, 204);
    let cookie = opened.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert!(!pair.contains(&site.token), "the cookie is not the token");
    let look = || site.send("GET", "/api/v1/site", &[("cookie", pair)], "").status;
    assert_eq!(look(), 200);
    let own = format!("http://{}", site.oam.address());
    let drain = |origin: &str| {
        let headers = [("cookie", pair), ("origin", origin)];
        site.send("POST", "/api/v1/drain", &headers, "").status
    };
    assert_eq!(drain("http://127.0.0.1:1"), 403, "another origin of this machine");
    assert_eq!(site.get("/api/v1/site").json()["draining"], false);
    assert_eq!(drain(&own), 202);
    assert_eq!(site.get("/api/v1/site").json()["draining"], true);
    assert!(site.drained.load(Relaxed));
    assert_eq!(site.send("DELETE", "/api/v1/session", &[("cookie", pair)], "").status, 204);
    assert_eq!(look(), 401);
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let site = Site::start();
    let long = "x".repeat(oam::http::BODY_BYTES_MAX + 1);
    assert_eq!(site.call("PUT", "/api/v1/config/candidate", &long).status, 413);
    assert_eq!(site.call("PUT", "/api/v1/log", "{\"filter\"").code(), "bad-request");
    assert_eq!(site.call("GET", "/api/v1/alarms?history=7", "").code(), "bad-request");
}

#[test]
fn a_bind_beyond_loopback_needs_an_explicit_word() {
    let site = Site::start();
    let section = oam::Section { listen: "0.0.0.0:0".into(), ..oam::Section::default() };
    let refused = site.oam.configure(&section).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(site.oam.address().ip().is_loopback());
    site.oam.configure(&oam::Section { allow_remote: true, ..section }).unwrap();
    assert!(site.oam.address().ip().is_unspecified());
}

#[test]
fn a_new_address_takes_over_and_the_old_one_closes() {
    let site = Site::start();
    let old = site.oam.address();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let section = oam::Section { listen: free.to_string(), ..oam::Section::default() };
    site.oam.configure(&section).unwrap();
    assert_eq!(site.get("/api/v1/site").status, 200);
    assert_eq!(site.oam.address(), free);
    until("the old listener closes", || TcpStream::connect(old).is_err());
}

#[test]
fn questions_reach_the_function_and_only_post_reaches_actions() {
    let site = Site::start();
    let balls = site.get("/api/v1/functions/toy1/balls?colour=red").json();
    assert_eq!(balls, json!([{"id": 1, "colour": "red"}]));
    assert_eq!(site.get("/api/v1/functions/toy1/nothing").code(), "not-found");
    assert_eq!(site.get("/api/v1/functions/toy2/balls").code(), "not-found");
    let internal = "/api/v1/functions/toy1/balls/take-away";
    assert!(["GET", "POST"].iter().all(|how| site.call(how, internal, "{}").status == 404));
    let action = "/api/v1/functions/toy1/balls/throw";
    assert_eq!(site.get(action).code(), "method-not-allowed");
    assert_eq!(site.call("POST", action, "").code(), "bad-request");
    assert_eq!(site.call("POST", action, r#"{"id": 1}"#).json(), json!({"thrown": 1}));
    assert_eq!(site.call("POST", "/api/v1/functions/toy1/balls", "").status, 405);
    site.player.answers.store(false, Relaxed);
    let silent = site.get("/api/v1/functions/toy1/balls");
    assert_eq!((silent.status, silent.code().as_str()), (503, "unreachable"));
}

#[test]
fn a_function_brings_its_own_routes_along() {
    let site = Site::start();
    assert_eq!(site.get("/api/v1/extra/word").status, 404);
    let router =
        axum::Router::new().route("/api/v1/extra/word", axum::routing::get(|| async { "hello" }));
    let openapi = utoipa::openapi::OpenApiBuilder::new()
        .paths(utoipa::openapi::PathsBuilder::new().path(
            "/api/v1/extra/word",
            utoipa::openapi::PathItem::new(
                utoipa::openapi::HttpMethod::Get,
                utoipa::openapi::path::Operation::new(),
            ),
        ))
        .build();
    site.registry.add_extra(Extra { prefix: "extra".into(), router, openapi });
    assert_eq!(site.get("/api/v1/extra/word").body, "hello");
    assert_eq!(site.send("GET", "/api/v1/extra/word", &[], "").status, 401);
    let openapi = site.get("/api/v1/openapi.json").json();
    assert!(openapi["paths"]["/api/v1/extra/word"]["get"].is_object());
    site.registry.remove_extra("extra");
    assert_eq!(site.get("/api/v1/extra/word").status, 404);
}

#[test]
fn the_configuration_is_edited_compared_checked_committed_and_rolled_back() {
    let site = Site::start();
    let config = "/api/v1/config";
    let running = site.get(config).json();
    assert_eq!(
        (running["revision"].as_u64(), running["text"].as_str()),
        (Some(1), Some("number = 1\n"))
    );
    let candidate = format!("{config}/candidate");
    assert_eq!(site.call("PUT", &format!("{candidate}?revision=1"), "number = 13\n").status, 204);
    let found = site.call("POST", &format!("{candidate}/check"), "").json();
    assert_eq!(found["issues"][0]["what"], "unlucky");
    assert_eq!(
        (found["issues"][0]["line"].as_u64(), found["issues"][0]["column"].as_u64()),
        (Some(1), Some(10))
    );
    let refused = site.call("POST", &format!("{candidate}/commit"), r#"{"revision": 1}"#);
    assert_eq!((refused.status, refused.code().as_str()), (422, "invalid"));
    assert_eq!(refused.json()["error"]["details"][0]["hint"], "take 14");

    site.call("PUT", &candidate, "number = 14\n");
    assert!(site.get(&format!("{candidate}/compare")).body.contains("-number = 1\n+number = 14\n"));
    let stale = site.call("POST", &format!("{candidate}/commit"), r#"{"revision": 7}"#);
    assert_eq!((stale.status, stale.code().as_str()), (409, "conflict"));
    let order = r#"{"revision": 1, "confirm_s": 60}"#;
    let done = site.call("POST", &format!("{candidate}/commit"), order).json();
    assert_eq!(done["revision"], 2);
    assert!((58..=60).contains(&done["confirm_within_s"].as_u64().unwrap()), "{done}");
    assert_eq!(site.get(config).json()["back_to"], 1);
    assert_eq!(site.call("POST", &format!("{config}/confirm"), "").json()["revision"], 2);
    assert_eq!(site.call("POST", &format!("{config}/confirm"), "").code(), "not-pending");

    assert_eq!(site.call("POST", &format!("{config}/rollback"), "").json()["revision"], 3);
    assert_eq!(site.call("POST", &format!("{config}/rollback"), r#"{"to": 99}"#).status, 404);
    let history = site.get(&format!("{config}/history")).json();
    let notes: Vec<&str> =
        history.as_array().unwrap().iter().map(|r| r["note"].as_str().unwrap()).collect();
    assert_eq!(notes, ["rollback to 1", "commit, to be confirmed", "the site file at start"]);
    assert_eq!(site.get(&format!("{config}?revision=2")).json()["text"], "number = 14\n");
    let file = std::fs::read_to_string(site.folder.path().join("site.toml")).unwrap();
    assert_eq!(file, "number = 1\n");
    site.call("PUT", &candidate, "number = 5\n");
    assert_eq!(site.call("DELETE", &candidate, "").status, 204);
    assert_eq!(site.get(&candidate).json()["changed"], false);
    assert!(site.get(&format!("{config}/schema")).json()["properties"]["number"].is_object());
}

#[test]
fn what_the_running_configuration_leaves_open_is_told() {
    let site = Site::start();
    assert_eq!(site.get("/api/v1/config/exposures").json(), json!([]));
    site.call("PUT", "/api/v1/config/candidate", "\nnumber = 77\n");
    assert_eq!(site.get("/api/v1/config/exposures").json(), json!([]), "what runs, not what may");
    site.call("POST", "/api/v1/config/candidate/commit", r#"{"revision": 1}"#);
    let found = site.get("/api/v1/config/exposures").json();
    assert_eq!((found[0]["line"].as_u64(), found[0]["path"].as_str()), (Some(2), Some("number")));
    assert_eq!(found[0]["hint"], "take another");
}

#[test]
fn alarms_come_from_functions_from_failures_and_from_pending_commits() {
    let site = Site::start();
    let row = json!({"name": "ball-lost", "subject": "1", "severity": "minor", "text": "gone",
        "probable_cause": "equipmentMalfunction"});
    *site.player.alarms.lock().unwrap() = json!([row, {"nonsense": true}]);
    let active = || site.get("/api/v1/alarms").json();
    let has = |name: &str| active().as_array().unwrap().iter().any(|a| a["name"] == name);
    until("the function's alarm stands", || has("ball-lost"));
    let alarm = &active()[0];
    assert_eq!(
        (alarm["function"].as_str(), alarm["severity"].as_str()),
        (Some("toy1"), Some("minor"))
    );

    *site.player.state.lock().unwrap() = oam::State::Failed;
    until("the failure is an alarm", || has("function-failed"));
    assert!(active()[0]["text"].as_str().unwrap().contains("it fell"), "worst first");
    assert!(!has("ball-lost"), "who has failed reports nothing");
    assert_eq!(site.send("GET", "/readyz", &[], "").status, 503);

    *site.player.state.lock().unwrap() = oam::State::Running;
    *site.player.alarms.lock().unwrap() = json!([]);
    until("the failure is cleared", || !has("function-failed"));
    assert_eq!(site.send("GET", "/readyz", &[], "").status, 200);

    site.call("PUT", "/api/v1/config/candidate", "number = 2\n");
    site.call("POST", "/api/v1/config/candidate/commit", r#"{"revision": 1, "confirm_s": 2}"#);
    until("the pending commit is an alarm", || has("config-confirm-pending"));
    until("nobody confirms", || site.get("/api/v1/config").json()["revision"] == 3);
    until("the alarm is cleared", || !has("config-confirm-pending"));
    let history = site.get("/api/v1/alarms?history=true").json();
    let cleared = |a: &&Value| a["cleared_at_us"].is_u64();
    assert_eq!(history.as_array().unwrap().iter().filter(cleared).count(), 3);

    site.registry.set_functions(Vec::new());
    until("a removed function has no alarms", || active() == json!([]));
}

#[test]
fn the_live_stream_carries_rates_gauges_and_alarms() {
    let site = Site::start();
    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        site.token
    )
    .unwrap();
    let mut seen = Vec::new();
    for line in BufReader::new(stream).lines() {
        site.player.metrics.lock().unwrap().add(Toy::Thrown, 10);
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let pulse: Value = serde_json::from_str(data).unwrap();
        if pulse["rates"]["toy_thrown_total"].as_f64().is_some_and(|rate| rate > 0.0) {
            seen.push(pulse);
        }
        if seen.len() == 2 {
            break;
        }
    }
    let pulse = &seen[1];
    assert_eq!(pulse["alarms"]["critical"], 0);
    assert_eq!(pulse["gauges"]["oam_live_streams"], 1.0);
    assert_eq!(pulse["functions"], json!([{"name": "toy1", "kind": "toy", "state": "running"}]));
    let history = site.get("/api/v1/metrics/history?name=toy_thrown_total&since_s=600").json();
    assert_eq!(history["step_s"], 1);
    let values = history["series"][0]["values"].as_array().unwrap();
    assert!(values.iter().any(|v| v.as_f64().is_some_and(|rate| rate > 0.0)), "{history}");
}

#[test]
fn live_streams_are_limited() {
    let site = Site::start();
    let open: Vec<TcpStream> = (0..oam::http::STREAMS_MAX)
        .map(|_| {
            let mut stream = TcpStream::connect(site.oam.address()).unwrap();
            write!(
                stream,
                "GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
                site.token
            )
            .unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("200"), "{line}");
            stream
        })
        .collect();
    assert_eq!(site.get("/api/v1/live").status, 429);
    drop(open);
    until("places are free again", || head(&site, "GET", "/api/v1/live").contains(" 200 "));
}

#[test]
fn log_levels_change_at_run_time() {
    let site = Site::start();
    assert_eq!(site.call("PUT", "/api/v1/log", r#"{"filter": "info,ssc=loud"}"#).status, 400);
    assert_eq!(site.call("PUT", "/api/v1/log", r#"{"filter": "warn,ssc=debug"}"#).status, 200);
    assert_eq!(site.get("/api/v1/log").json()["filter"], "warn,ssc=debug");
    let answer = site.call("PUT", "/api/v1/log", r#"{"filter": "oam=trace"}"#).json();
    assert_eq!(answer["filter"], "warn,ssc=debug,oam=trace", "the rest keeps its level");
    let answer = site.call("PUT", "/api/v1/log", r#"{"filter": "ssc=info"}"#).json();
    assert_eq!(answer["filter"], "warn,oam=trace,ssc=info");
    let answer = site.call("PUT", "/api/v1/log", r#"{"filter": "info"}"#).json();
    assert_eq!(answer["filter"], "info", "a level for all begins anew");
}

#[test]
fn the_console_allows_nothing_from_elsewhere() {
    let site = Site::start();
    for path in ["/", "/calls/7", "/index.html"] {
        let page = site.send("GET", path, &[], "");
        assert_eq!(page.status, 200, "{path}");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        assert!(!policy.contains("http"), "{policy}");
        assert_eq!(page.headers["cache-control"], "no-cache");
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
    }
    assert_eq!(site.send("GET", "/assets/none.js", &[], "").status, 404);
}

/// A file of the console as a client gets it that accepts these codings.
fn fetched(site: &Site, path: &str, accepts: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = site.oam.address();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: {accepts}\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase(), answer[end..].to_vec())
}

#[test]
fn the_console_is_sent_packed_to_who_takes_that() {
    let site = Site::start();
    let (plain, page) = fetched(&site, "/index.html", "identity, gzip;q=0");
    assert!(plain.starts_with("http/1.1 200") && !plain.contains("content-encoding"), "{plain}");
    assert!(page.starts_with(b"<!doctype html>"), "{}", String::from_utf8_lossy(&page));
    if page.starts_with(b"<!doctype html><meta charset=utf-8><title>Tandem</title>") {
        return; // built without the console
    }
    let (head, packed) = fetched(&site, "/index.html", "br, gzip");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(head.contains("vary: accept-encoding") && head.contains("-gzip\""), "{head}");
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < page.len());
    let text = String::from_utf8(page).unwrap();
    // Written relative to the page.
    let script = text.split("src=\".").nth(1).unwrap().split('"').next().unwrap();
    let [plain, packed] = ["", "gzip"].map(|accepts| fetched(&site, script, accepts).1.len());
    assert!(packed * 2 < plain, "{script}: {packed} of {plain} octets");
}

/// Metrics that are exported but never move mislead whoever watches them.
#[test]
fn every_metric_of_the_management_side_moves() {
    let site = Site::hasty();
    let _ = site.send("GET", "/api/v1/site", &[], "");
    hostile::guess(&site);
    let reader = site.bearer("reader", Role::Monitor);
    site.send("GET", "/api/v1/config", &[("authorization", &reader)], "");
    hostile::misdirect(&site);
    let _slow = TcpStream::connect(site.oam.address()).unwrap(); // says nothing
    let _idle = hostile::idle(&site, 65);
    site.player.answers.store(false, Relaxed);
    site.get("/api/v1/functions/toy1/balls"); // 503
    site.player.answers.store(true, Relaxed);
    let many: Vec<Value> = (0..=oam::alarm::ACTIVE_MAX)
        .map(|n| json!({"name": "n", "subject": n.to_string(), "severity": "minor", "text": ""}))
        .collect();
    // A function may report 500 at a time, so that one cannot fill the list: the site's own do.
    for row in many {
        site.oam.core().raise("oam", serde_json::from_value(row).unwrap());
    }
    site.oam.core().clear("oam", "n", "0");
    site.call("PUT", "/api/v1/config/candidate", "number = 2\n");
    site.call("POST", "/api/v1/config/candidate/commit", r#"{"revision": 9}"#);
    site.call("POST", "/api/v1/config/candidate/commit", r#"{"revision": 1}"#);
    site.call("POST", "/api/v1/config/rollback", "{}");
    let mut stream = TcpStream::connect(site.oam.address()).unwrap();
    write!(
        stream,
        "GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        site.token
    )
    .unwrap();
    let unmoved = || {
        let rows = site.get("/api/v1/counters").json();
        let own = rows.as_array().unwrap().iter().filter(|row| row["function"] == "oam").cloned();
        own.filter(|row| row["value"] == 0).map(|row| row["name"].clone()).collect::<Vec<_>>()
    };
    until("every metric has moved", || {
        let unmoved = unmoved();
        unmoved.is_empty() || {
            eprintln!("not yet: {unmoved:?}");
            false
        }
    });
}

#[test]
fn six_hundred_idle_connections_keep_nobody_out() {
    let site = Site::start();
    let address = site.oam.address();
    let idle: Vec<_> = (0..600).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(site.get("/livez").status, 200);
    assert_eq!(site.get("/api/v1/site").status, 200);
    // A client that is known keeps its connection through another wave.
    let mut known = TcpStream::connect(address).unwrap();
    known.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let ask = |stream: &mut TcpStream| {
        let token = &site.token;
        write!(
            stream,
            "GET /api/v1/site HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).unwrap();
        let status = line.clone();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        status
    };
    assert!(ask(&mut known).starts_with("HTTP/1.1 200"));
    let more: Vec<_> = (0..600).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(site.get("/livez").status, 200, "all of the wave were taken");
    assert!(ask(&mut known).starts_with("HTTP/1.1 200"), "it stands");
    drop((idle, more));
}
