//! What is asked of the ring, by prepared statements: each is at LOCAL_QUORUM (QUORUM where no data
//! centre is named) and may be sent twice.

use super::Ring;
use super::schema::{bring_up_to_date, text};
use crate::asked::{Reply, What};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use machine::{Duration, Time};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::{Session, TlsContext};
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use std::time::SystemTime;

/// Partitions of an owner's rows. Rows that were taken out are read over when they are read again:
/// 1,000 a second leave 42,000 of them in each.
const PARTS: u32 = 2_048;
/// Partitions that are read at once.
const READ_AT_ONCE: usize = 32;
/// Rows of one page.
const PAGE: i32 = 500;
/// The longest that Cassandra lets a row stand, seconds.
const TIME_MAX_S: u64 = 630_720_000;
/// For a page of what stands.
const PAGE_TIME: Duration = Duration::from_secs(10);
/// For a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The statements.
pub(super) struct Rows {
    pub session: Session,
    own_read: PreparedStatement,
    own_put: PreparedStatement,
    own_take: PreparedStatement,
    shared_get: PreparedStatement,
    shared_put: PreparedStatement,
    shared_take: PreparedStatement,
}

/// A row of this owner as it stands.
pub(super) struct Standing {
    pub key: Vec<u8>,
    pub row: Vec<u8>,
    pub until: Time,
    /// Microseconds.
    pub written: u64,
}

/// A change of a row of this owner.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub key: Vec<u8>,
    /// The row and its time; none: it is taken out.
    pub row: Option<(Vec<u8>, Time)>,
    pub stamp: u64,
}

/// A key, its octets, until when, microseconds of the change.
type OwnRow = (Vec<u8>, Option<Vec<u8>>, Option<i64>, Option<i64>);

impl Rows {
    /// Connects, and makes the tables where there are none.
    pub async fn open(ring: &Ring) -> Result<Self, String> {
        let session = connect(ring).await?;
        bring_up_to_date(&session, ring).await?;
        let prepare = async |words: &str| {
            let mut made = session.prepare(words).await.map_err(text)?;
            made.set_is_idempotent(true);
            made.set_page_size(PAGE);
            Ok::<_, String>(made)
        };
        let mut own_read = prepare(
            "SELECT id, octets, until_ns, WRITETIME(octets) FROM own_rows \
             WHERE owner = ? AND part = ?",
        )
        .await?;
        own_read.set_request_timeout(Some(PAGE_TIME));
        Ok(Self {
            own_read,
            own_put: prepare(
                "INSERT INTO own_rows (owner, part, id, octets, until_ns) VALUES (?, ?, ?, ?, ?) \
                 USING TTL ? AND TIMESTAMP ?",
            )
            .await?,
            own_take: prepare(
                "DELETE FROM own_rows USING TIMESTAMP ? WHERE owner = ? AND part = ? AND id = ?",
            )
            .await?,
            shared_get: prepare("SELECT octets, until_ns FROM shared_rows WHERE id = ?").await?,
            shared_put: prepare(
                "INSERT INTO shared_rows (id, octets, until_ns) VALUES (?, ?, ?) \
                 USING TTL ? AND TIMESTAMP ?",
            )
            .await?,
            shared_take: prepare("DELETE FROM shared_rows USING TIMESTAMP ? WHERE id = ?").await?,
            session,
        })
    }

    /// Reads every row of an owner; `take` is given each.
    pub async fn read_own(
        &self,
        owner: &str,
        take: &mut (dyn FnMut(Standing) + Send),
    ) -> Result<(), String> {
        let parts = (0..PARTS).map(|part| async move {
            let part = part_number(part);
            let pages = self.session.execute_iter(self.own_read.clone(), (owner, part)).await;
            let rows = pages.map_err(text)?.rows_stream::<OwnRow>();
            rows.map_err(text)?.try_collect::<Vec<_>>().await.map_err(text)
        });
        let mut parts = stream::iter(parts).buffer_unordered(READ_AT_ONCE);
        while let Some(rows) = parts.next().await {
            // Fields are null where two changes of one row met, or somebody else writes.
            for (key, row, until, written) in rows? {
                let (Some(row), Some(until), Some(written)) = (row, until, written) else {
                    continue;
                };
                let until = Time::from_nanos(u64::try_from(until).unwrap_or_default());
                let written = u64::try_from(written).unwrap_or_default();
                take(Standing { key, row, until, written });
            }
        }
        Ok(())
    }

    /// Changes a row of an owner.
    pub async fn change(&self, owner: &str, change: &Change) -> Result<(), String> {
        let part = part(&change.key);
        let stamp = signed(change.stamp);
        let done = match &change.row {
            Some((row, until)) if let Some(time) = seconds_until(*until) => {
                let until = signed(until.as_nanos());
                let values = (owner, part, &change.key, row, until, time, stamp);
                self.session.execute_unpaged(&self.own_put, values).await
            }
            _ => {
                let values = (stamp, owner, part, &change.key);
                self.session.execute_unpaged(&self.own_take, values).await
            }
        };
        done.map_err(text).map(drop)
    }

    /// Answers a question about a shared row; `tell` gets the answer.
    pub async fn answer<T>(
        &self,
        what: What<'_>,
        stamp: u64,
        tell: impl FnOnce(Reply<'_>) -> T,
    ) -> T {
        let found = match what {
            What::Get(key) => self.get(key).await,
            What::Put { key, row, until } => self.put(key, row, until, stamp).await.map(|()| None),
            What::Take(key) => match self.get(key).await {
                Ok(row) => {
                    let taken =
                        self.session.execute_unpaged(&self.shared_take, (signed(stamp), key));
                    taken.await.map_err(text).map(|_| row)
                }
                Err(why) => Err(why),
            },
        };
        match &found {
            Ok(row) => tell(Reply::Row(row.as_ref().map(|(row, until)| (&**row, *until)))),
            Err(why) => tell(Reply::Failed(why)),
        }
    }

    async fn get(&self, key: &[u8]) -> Result<Option<(Vec<u8>, Time)>, String> {
        let found = self.session.execute_unpaged(&self.shared_get, (key,)).await.map_err(text)?;
        let rows = found.into_rows_result().map_err(text)?;
        // Fields are null where two changes of one row met.
        let row = rows.maybe_first_row::<(Option<Vec<u8>>, Option<i64>)>().map_err(text)?;
        let Some((Some(row), Some(until))) = row else { return Ok(None) };
        Ok(Some((row, Time::from_nanos(u64::try_from(until).unwrap_or_default()))))
    }

    async fn put(&self, key: &[u8], row: &[u8], until: Time, stamp: u64) -> Result<(), String> {
        let stamp = signed(stamp);
        let done = match seconds_until(until) {
            Some(time) => {
                let values = (key, row, signed(until.as_nanos()), time, stamp);
                self.session.execute_unpaged(&self.shared_put, values).await
            }
            None => self.session.execute_unpaged(&self.shared_take, (stamp, key)).await,
        };
        done.map_err(text).map(drop)
    }
}

async fn connect(ring: &Ring) -> Result<Session, String> {
    let mut policy = DefaultPolicy::builder().token_aware(true);
    if let Some(name) = &ring.datacenter {
        policy = policy.prefer_datacenter(name.clone());
    }
    // Whoever is asked, of whatever data centre: a quorum of one of them would not know what a
    // quorum of another one has taken.
    let consistency = match ring.datacenter {
        Some(_) => Consistency::LocalQuorum,
        None => Consistency::Quorum,
    };
    let profile = ExecutionProfile::builder()
        .consistency(consistency)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(ring.answer_time))
        .load_balancing_policy(policy.build())
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&ring.nodes)
        .default_execution_profile_handle(profile.into_handle())
        .connection_timeout(CONNECT_TIME)
        .fetch_schema_metadata(false);
    if let Some((name, password)) = &ring.user {
        let password = String::from_utf8_lossy(password.as_bytes());
        builder = builder.user(name, password);
    }
    if let Some(spec) = &ring.tls {
        let context = tls::Context::load(spec, false).map_err(text)?;
        builder = builder.tls_context(Some(TlsContext::Rustls023(context.client())));
    }
    builder.build().await.map_err(text)
}

/// Now, microseconds.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Seconds until then, begun ones too; none if it is over.
fn seconds_until(until: Time) -> Option<i32> {
    let left_us = until.as_micros().checked_sub(now_us()).filter(|it| *it > 0)?;
    i32::try_from(left_us.div_ceil(1_000_000).min(TIME_MAX_S)).ok()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn part_number(part: u32) -> i16 {
    i16::try_from(part).unwrap_or_default()
}

/// The partition of a key.
fn part(key: &[u8]) -> i16 {
    part_number(crc32c::crc32c(key) % PARTS)
}
