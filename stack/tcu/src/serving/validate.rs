//! What the types alone cannot refuse of an application.

use super::{Application, INSTANCES_MAX, Inside, Place, UNIX};
use config::Issue;
use runtime::{Address, Transport};
use sccp::codec::Digits;

impl Application {
    /// Pushes what is wrong with its limits, titles, groups and places; paths begin with `at`, and
    /// `places` are those of the applications before it.
    pub fn validate(&self, at: &str, places: &mut Vec<Place>, issues: &mut Vec<Issue>) {
        self.validate_numbers(at, issues);
        for (n, text) in self.listen.iter().enumerate() {
            let at = format!("{at}.listen[{n}]");
            self.validate_place(text, &at, places, issues);
        }
        if self.listen.is_empty() && self.service.is_none() {
            let what = "no instance can connect";
            issues.push(Issue::new(format!("{at}.listen"), what, "write \"unix:NAME.sock\""));
        }
        self.validate_inside(at, issues);
    }

    /// What instances alone have, a service inside has not; an HLR has its file.
    fn validate_inside(&self, at: &str, issues: &mut Vec<Issue>) {
        self.validate_allowed(at, issues);
        let Some(service) = self.service else {
            if self.file.is_some() {
                let hint = "add service = \"hlr\"";
                issues.push(Issue::new(format!("{at}.file"), "nobody reads this file", hint));
            }
            return;
        };
        for (key, is_there) in
            [("listen", !self.listen.is_empty()), ("groups", !self.groups.is_empty())]
        {
            if is_there {
                let hint = format!("leave it or `service` out: {key} is of instances");
                issues.push(Issue::new(format!("{at}.{key}"), "the service is inside", hint));
            }
        }
        match (service, &self.file) {
            (Inside::Hlr, None) => {
                let hint = "add file = \"subscribers.csv\"";
                issues.push(Issue::new(format!("{at}.file"), "the HLR has no subscribers", hint));
            }
            (Inside::Echo | Inside::Monitor, Some(_)) => {
                let hint = "leave it out: `hlr` has one";
                issues.push(Issue::new(format!("{at}.file"), "this service has no file", hint));
            }
            _ => {}
        }
    }

    /// An HLR says who may ask it.
    fn validate_allowed(&self, at: &str, issues: &mut Vec<Issue>) {
        let is_hlr = self.service == Some(Inside::Hlr);
        let at = format!("{at}.allowed");
        if is_hlr && self.allowed.is_empty() {
            let hint = "write what titles of those begin with who may, as in [\"447800\"]";
            issues.push(Issue::new(&*at, "nobody may ask this HLR", hint));
        } else if !is_hlr && !self.allowed.is_empty() {
            let hint = "leave it out: `hlr` has it";
            issues.push(Issue::new(&*at, "nobody is held against it", hint));
        }
        let is_title = |it: &str| !it.is_empty() && Digits::parse(it).is_some();
        for (n, it) in self.allowed.iter().enumerate().filter(|it| it.1 != "*" && !is_title(it.1)) {
            let hint = "write 1 to 32 digits that titles begin with, or *";
            issues.push(Issue::new(format!("{at}[{n}]"), format!("`{it}` is no title"), hint));
        }
    }

    fn validate_numbers(&self, at: &str, issues: &mut Vec<Issue>) {
        let checks = [
            ("instances_max", self.instances_max, 1, INSTANCES_MAX),
            ("dialogues_max", self.dialogues_max, 1, 2_000_000),
            ("queue_octets_max", self.queue_octets_max, 131_072, 1 << 30),
            ("held_octets_max", self.held_octets_max, 65_536, 1 << 30),
            ("wait_ms", self.wait_ms, 10, 60_000),
            ("slow_ms", self.slow_ms, 10, 600_000),
            ("resume_ms", self.resume_ms, 0, 600_000),
        ];
        for (key, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                let hint = format!("use {least} to {most}");
                issues.push(Issue::new(format!("{at}.{key}"), what, hint));
            }
        }
        for (n, title) in self.titles.iter().enumerate() {
            if title.is_empty() || Digits::parse(title).is_none() {
                let what = format!("`{title}` is no title");
                let hint = "write 1 to 32 digits, such as \"447800\"";
                issues.push(Issue::new(format!("{at}.titles[{n}]"), what, hint));
            }
        }
        let names = self.groups.iter().enumerate();
        for (n, group) in names.filter(|(_, it)| it.is_empty() || it.len() > 64) {
            let what = format!("`{group}` is no name of a group");
            let hint = "use 1 to 64 characters";
            issues.push(Issue::new(format!("{at}.groups[{n}]"), what, hint));
        }
    }

    fn validate_place(
        &self,
        text: &str,
        at: &str,
        places: &mut Vec<Place>,
        issues: &mut Vec<Issue>,
    ) {
        let place = match text.strip_prefix(UNIX) {
            Some("") => None,
            Some(path) => Some(Place::Unix(path.into())),
            None => {
                let address = text.parse::<Address>().ok();
                address.filter(|it| it.transport.is_stream()).map(Place::Stream)
            }
        };
        let Some(place) = place else {
            let hint = "write unix:NAME.sock, tcp:127.0.0.1:7700 or tls:ADDRESS:PORT";
            let what = format!("`{text}` is no place to connect to");
            return issues.push(Issue::new(at, what, hint));
        };
        if let Place::Stream(address) = &place {
            self.validate_guarded(*address, at, issues);
        }
        if places.contains(&place) {
            let hint = "an application has a place of its own";
            issues.push(Issue::new(at, "this place stands here twice", hint));
        }
        places.push(place);
    }

    /// Beyond this machine nobody is believed without a proof, and TLS has its keys.
    fn validate_guarded(&self, address: Address, at: &str, issues: &mut Vec<Issue>) {
        let is_tls = address.transport == Transport::Tls;
        if is_tls && self.tls.is_none() {
            let hint = "add tls = { certificate = \"…\", key = \"…\" }";
            issues.push(Issue::new(at, "TLS has no keys", hint));
        }
        if is_tls && self.tls.as_ref().is_some_and(|it| it.verify_clients && it.roots.is_none()) {
            let hint = "give roots = \"…\", or leave verify_clients out";
            issues.push(Issue::new(at, "nothing says which certificates are good", hint));
        }
        let shows = is_tls && self.tls.as_ref().is_some_and(|it| it.verify_clients);
        if !address.socket.ip().is_loopback() && self.key_file.is_none() && !shows {
            let what = "whoever reaches this address could be the application";
            let hint = "give key_file, or TLS with verify_clients, or listen on 127.0.0.1";
            issues.push(Issue::new(at, what, hint));
        }
    }
}
