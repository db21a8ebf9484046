//! What would become of an MSU: the steps of [`relay`](crate::relay), and nothing is sent, counted
//! or remembered.

use crate::Gateway;
use crate::screening::Why;
use bytes::Bytes;
use m3ua::codec::PointCode;
use m3ua::{Course, PeerId, Role, ServerId, Transfer};
use question::rows;
use runtime::{Ask, AskError};

rows! {
    /// What would become of an MSU.
    pub(crate) struct TraceRow {
        from: String,
        opc: String,
        dpc: String,
        si: u8,
        ni: u8,
        sls: u8,
        /// `relayed`, `local`, `waits` or `discarded`.
        verdict: &'static str,
        screening: &'static str,
        route: String,
        server: Option<String>,
        mode: Option<String>,
        to: Vec<String>,
        why: String,
        /// What the sender hears of it.
        told: Option<&'static str>,
        asps: Vec<TracedAsp>,
    }

    /// An ASP that the MSU might go to.
    pub(crate) struct TracedAsp {
        peer: String,
        state: &'static str,
        chosen: bool,
        why: &'static str,
    }
}

/// Where an MSU goes, and why.
#[derive(Default)]
struct Found {
    verdict: &'static str,
    route: String,
    server: Option<ServerId>,
    to: Vec<PeerId>,
    why: String,
    /// What the sender hears of an MSU that leads nowhere.
    told: Option<&'static str>,
}

impl Found {
    fn discarded(route: &str, why: impl Into<String>) -> Self {
        let (verdict, route) = ("discarded", route.to_owned());
        Self { verdict, route, why: why.into(), ..Self::default() }
    }
}

impl Gateway {
    /// Answers `m3ua/trace`: `dpc`, and as they are given `opc`, `si`, `sls`, `ni` and the peer
    /// `from` that it comes from.
    pub(crate) fn trace(&self, ask: &Ask) -> Result<TraceRow, AskError> {
        let from = match ask.params.contains_key("from") {
            true => Some(self.named("from", ask)?),
            false => None,
        };
        let transfer = self.imagined(ask, from)?;
        let screened =
            from.and_then(|from| self.screening.screened(from, &transfer, self.context()));
        let found = match screened {
            Some(why) => Found::discarded("", format!("an MSU {}", why.words())),
            None => self.found(from, &transfer),
        };
        Ok(self.said_of(from, &transfer, screened, &found))
    }

    fn named(&self, key: &str, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get(key).map(String::as_str).unwrap_or_default();
        self.links.find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// The MSU that is asked for.
    fn imagined(&self, ask: &Ask, from: Option<PeerId>) -> Result<Transfer, AskError> {
        let format = self.config.point_code_format;
        let wrong = |key: &str, what: &str| AskError::BadParameter(format!("{key}: {what}"));
        let code = |key: &str| -> Result<Option<PointCode>, AskError> {
            let Some(text) = ask.params.get(key) else { return Ok(None) };
            format.read(text).map(Some).ok_or_else(|| wrong(key, format.example()))
        };
        let number = |key: &str, max: u8| -> Result<u8, AskError> {
            let Some(text) = ask.params.get(key) else { return Ok(0) };
            let number = text.parse().ok().filter(|number| *number <= max);
            number.ok_or_else(|| wrong(key, &format!("a number up to {max}")))
        };
        let dpc = code("dpc")?.ok_or_else(|| wrong("dpc", format.example()))?;
        let opc = match (code("opc")?, from) {
            (Some(opc), _) => opc,
            (None, None) => self.own.codes.first().copied().unwrap_or_default(),
            (None, Some(_)) => {
                return Err(wrong(
                    "opc",
                    "an MSU of a peer has an origin, by which it is screened",
                ));
            }
        };
        Ok(Transfer {
            network: self.config.network(),
            opc,
            dpc,
            si: number("si", 15)?,
            ni: number("ni", 3)?,
            mp: 0,
            sls: number("sls", u8::MAX)?,
            payload: Bytes::new(),
        })
    }

    fn found(&self, from: Option<PeerId>, transfer: &Transfer) -> Found {
        if self.is_own(transfer.network, transfer.dpc) {
            return match self.users.of(transfer.si) {
                Some(user) => Found {
                    verdict: "local",
                    route: "a point code of this node".into(),
                    why: format!("its user {user:?} takes service indicator {}", transfer.si),
                    ..Found::default()
                },
                None => Found {
                    told: Some("DUPU"),
                    ..Found::discarded("a point code of this node", "it has no such user here")
                },
            };
        }
        let server = self.process.server_for(transfer);
        let key = server.map(|server| format!("key of {}", self.server_name(server)));
        if let (Some(server), Some(from)) = (server, from)
            && self.process.is_member(from, server)
        {
            let why = "the sender serves it itself";
            return Found {
                server: Some(server),
                ..Found::discarded(&key.unwrap_or_default(), why)
            };
        }
        let role = from.and_then(|from| self.links.link(from)).map(|link| link.config.role());
        if server.is_none() && role == Some(Role::Asp) {
            let why = "it comes from a gateway: another one would send it back";
            return Found::discarded("no key", why);
        }
        self.by_course(transfer, key.unwrap_or_else(|| "no key".into()))
    }

    /// The way that the M3UA process would choose.
    fn by_course(&self, transfer: &Transfer, route: String) -> Found {
        let told = Some("DUNA");
        match self.process.course(transfer) {
            Course::Asps(server, to) => {
                let why = match to.len() {
                    1 => format!("it owns the flow of SLS {}", transfer.sls),
                    _ => "broadcast: every active ASP has a copy".into(),
                };
                Found { verdict: "relayed", route, server: Some(server), to, why, told: None }
            }
            Course::Waits(server) => {
                let why = "no ASP is active; it waits until T(r) for one".into();
                let server = Some(server);
                Found { verdict: "waits", route, server, why, ..Found::default() }
            }
            Course::NoAsp(server) => {
                let found = Found::discarded(&route, "no ASP is active");
                Found { server: Some(server), told, ..found }
            }
            Course::Gateway(peer) => {
                let name = self.links.link(peer).map(|link| link.config.gateway);
                let why = format!("gateway {} has the best way", name.unwrap_or_default());
                Found { verdict: "relayed", route, to: vec![peer], why, ..Found::default() }
            }
            Course::NoGateway => {
                Found { told, ..Found::discarded(&route, "no gateway reaches it") }
            }
        }
    }

    fn said_of(
        &self,
        from: Option<PeerId>,
        transfer: &Transfer,
        screened: Option<Why>,
        found: &Found,
    ) -> TraceRow {
        let format = self.config.point_code_format;
        let sender = from.map_or("this node", |from| self.peer_name(from));
        let is_asp = from.and_then(|from| self.links.link(from));
        let hears = is_asp.is_some_and(|link| link.config.role() == Role::Sgp);
        let status = found.server.and_then(|server| self.process.server_status(server));
        let mode = status.as_ref().and_then(|it| it.mode).map(|it| it.name().to_lowercase());
        let asps = status.into_iter().flat_map(|it| it.members).map(|member| {
            let is_chosen = found.to.contains(&member.peer);
            let (state, why) = match (member.is_active, member.is_up) {
                (true, _) if is_chosen => ("active", ""),
                (true, _) if found.to.is_empty() => ("active", ""),
                (true, _) => ("active", "the flow is another's"),
                (false, true) => ("inactive", "it takes no traffic"),
                (false, false) => ("down", "it is not up"),
            };
            let peer = self.peer_name(member.peer).to_owned();
            TracedAsp { peer, state, chosen: is_chosen, why }
        });
        TraceRow {
            from: sender.to_owned(),
            opc: format.show(transfer.opc),
            dpc: format.show(transfer.dpc),
            si: transfer.si,
            ni: transfer.ni,
            sls: transfer.sls,
            verdict: found.verdict,
            screening: match (from, screened) {
                (None, _) => "none of what this node sends",
                (_, None) => "passes",
                (_, Some(_)) => "refused",
            },
            route: found.route.clone(),
            server: found.server.map(|server| self.server_name(server)),
            mode,
            to: found.to.iter().map(|peer| self.peer_name(*peer).to_owned()).collect(),
            why: found.why.clone(),
            told: found.told.filter(|_| hears),
            asps: asps.collect(),
        }
    }
}
