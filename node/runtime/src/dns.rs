//! Name lookups (RFC 1035, 2782, 3403) through hickory, on a thread of their own.
//!
//! Answers are cached there as long as their TTL says. A name without such a record, a timeout and
//! a server's failure all give an empty answer: the function can only try something else.

use crate::completion::{Asked, CompletionSender, Delivery};
use crate::function::{Answer, Query};
use crate::spec::DnsSpec;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Answers kept.
const CACHE_RECORDS: u64 = 16_384;
/// Times each server is asked.
const ATTEMPTS: u32 = 2;
/// Records of one answer that are passed on.
const RECORDS_MAX: usize = 256;

struct Question {
    asked: Asked,
    query: Query,
}

/// The thread that asks.
pub(crate) struct Resolver {
    questions: UnboundedSender<Question>,
    in_flight: Arc<AtomicUsize>,
    in_flight_max: usize,
}

impl Resolver {
    pub(crate) fn start(
        name: &str,
        completions: CompletionSender,
        spec: &DnsSpec,
    ) -> io::Result<Self> {
        let (questions, asked) = unbounded_channel();
        let in_flight = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let resolver = {
            let _inside = runtime.enter();
            resolver(spec)?
        };
        let (count, timeout) = (Arc::clone(&in_flight), spec.timeout);
        std::thread::Builder::new()
            .name(format!("{name}/dns"))
            .spawn(move || runtime.block_on(serve(resolver, asked, completions, count, timeout)))?;
        Ok(Self { questions, in_flight, in_flight_max: spec.outstanding_max })
    }

    /// Asks; `false` when too many questions are in flight.
    pub(crate) fn ask(&self, asked: Asked, query: Query) -> bool {
        if self.in_flight.load(Relaxed) >= self.in_flight_max {
            return false;
        }
        self.in_flight.fetch_add(1, Relaxed);
        self.questions.send(Question { asked, query }).is_ok()
    }
}

fn resolver(spec: &DnsSpec) -> io::Result<TokioResolver> {
    let builder = if spec.servers.is_empty() {
        TokioResolver::builder_tokio().map_err(io::Error::other)?
    } else {
        let mut config = ResolverConfig::default();
        config.name_servers = spec.servers.iter().map(name_server).collect();
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let mut builder = builder;
    let options: &mut ResolverOpts = builder.options_mut();
    options.cache_size = CACHE_RECORDS;
    options.attempts = ATTEMPTS as usize;
    options.timeout = spec.timeout / (ATTEMPTS + 1);
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    builder.build().map_err(io::Error::other)
}

fn name_server(at: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(at.ip());
    for connection in &mut server.connections {
        connection.port = at.port();
    }
    server
}

async fn serve(
    resolver: TokioResolver,
    mut questions: UnboundedReceiver<Question>,
    completions: CompletionSender,
    in_flight: Arc<AtomicUsize>,
    timeout: Duration,
) {
    while let Some(Question { asked, query }) = questions.recv().await {
        let (resolver, completions) = (resolver.clone(), completions.clone());
        let in_flight = Arc::clone(&in_flight);
        tokio::spawn(async move {
            let nothing = nothing(&query);
            // A task of its own: after a panic in it the answer is empty.
            let asking = tokio::spawn(async move {
                tokio::time::timeout(timeout, answer(&resolver, query)).await
            });
            let outcome = asking.await;
            in_flight.fetch_sub(1, Relaxed);
            let answer = match outcome {
                Ok(answer) => answer.ok().flatten(),
                Err(ended) => {
                    if let Ok(panic) = ended.try_into_panic() {
                        completions.crashed(asked.shard, "dns", &*panic);
                    }
                    None
                }
            };
            let answer = answer.unwrap_or(nothing);
            completions.deliver(asked.shard, Delivery::Resolved(asked, answer));
        });
    }
}

/// The empty answer to a question.
pub(crate) fn nothing(query: &Query) -> Answer {
    match query {
        Query::Naptr(_) => Answer::Naptr(Vec::new()),
        Query::Srv(_) => Answer::Srv(Vec::new()),
        Query::Host(_) => Answer::Host(Vec::new()),
    }
}

/// A name that is complete, so that no search domain is tried.
fn absolute(name: &str) -> Option<Name> {
    let mut name = Name::from_utf8(name).ok()?;
    name.set_fqdn(true);
    Some(name)
}

fn words(name: &Name) -> String {
    let text = name.to_utf8();
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn answer(resolver: &TokioResolver, query: Query) -> Option<Answer> {
    match query {
        Query::Host(host) => {
            let found = resolver.lookup_ip(absolute(&host)?).await.ok()?;
            Some(Answer::Host(found.iter().take(RECORDS_MAX).collect()))
        }
        Query::Srv(name) => {
            let found = resolver.srv_lookup(absolute(&name)?).await.ok()?;
            let rows = found.answers().iter().filter_map(|record| match &record.data {
                RData::SRV(srv) => Some((srv.priority, srv.weight, srv.port, words(&srv.target))),
                _ => None,
            });
            Some(Answer::Srv(rows.take(RECORDS_MAX).collect()))
        }
        Query::Naptr(name) => {
            let kind = hickory_resolver::proto::rr::RecordType::NAPTR;
            let found = resolver.lookup(absolute(&name)?, kind).await.ok()?;
            let rows = found.answers().iter().filter_map(|record| match &record.data {
                RData::NAPTR(row) => Some((
                    row.order,
                    row.preference,
                    text(&row.flags),
                    text(&row.services),
                    words(&row.replacement),
                )),
                _ => None,
            });
            Some(Answer::Naptr(rows.take(RECORDS_MAX).collect()))
        }
    }
}
