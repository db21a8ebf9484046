//! Who may have the rows of an owner: one process at a time, by light transactions.

use super::rows::Rows;
use super::schema::text;
use super::{Ring, Written};
use machine::Duration;
use scylla::response::query_result::QueryResult;
use scylla::statement::SerialConsistency;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, Row};
use std::sync::Arc;
use tokio::time::{Instant, sleep};

/// How long nobody else gets the rows of a process that is silent, seconds.
const TIME_S: i32 = 12;
/// How often it says that it is there.
const EVERY: Duration = Duration::from_secs(4);
/// The process before may still be on its way out.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);

/// The rows of an owner are this process's.
pub(super) struct Lease {
    rows: Arc<Rows>,
    owner: String,
    process: Vec<u8>,
    written: Written,
    take: PreparedStatement,
    keep: PreparedStatement,
    give: PreparedStatement,
}

impl Lease {
    /// Takes it.
    ///
    /// # Errors
    /// Another process has it, or the ring does not answer.
    pub async fn take(rows: &Arc<Rows>, ring: &Ring) -> Result<Self, String> {
        let owner = &ring.owner;
        let session = &rows.session;
        let prepare = async |words: String| {
            let mut made = session.prepare(words).await.map_err(text)?;
            made.set_request_timeout(Some(EVERY));
            // One process in all data centres, not one in each.
            made.set_serial_consistency(Some(SerialConsistency::Serial));
            Ok::<_, String>(made)
        };
        let lease = Self {
            owner: owner.clone(),
            process: ring.written.process()?,
            written: ring.written.clone(),
            take: prepare(format!(
                "INSERT INTO lease (owner, process) VALUES (?, ?) IF NOT EXISTS USING TTL {TIME_S}"
            ))
            .await?,
            keep: prepare(format!(
                "UPDATE lease USING TTL {TIME_S} SET process = ? WHERE owner = ? IF process = ?"
            ))
            .await?,
            give: prepare("DELETE FROM lease WHERE owner = ? IF process = ?".to_owned()).await?,
            rows: Arc::clone(rows),
        };
        let end = Instant::now() + PATIENCE;
        while !lease.is_taken().await? {
            if Instant::now() >= end {
                return Err(format!("another process has the rows of `{owner}`"));
            }
            sleep(POLL).await;
        }
        Ok(lease)
    }

    async fn is_taken(&self) -> Result<bool, String> {
        let values = (&self.owner, &self.process);
        let done = self.rows.session.execute_unpaged(&self.take, values).await;
        let (is_applied, holder) = outcome(done.map_err(text)?)?;
        // An answer may have been lost after it was carried out.
        let is_own = is_applied || holder.is_some_and(|it| it == self.process);
        if !is_own {
            self.written.lose();
        }
        Ok(is_own)
    }

    /// Keeps it for as long as that can be done; why no longer.
    pub async fn keep(self: Arc<Self>) -> String {
        let time = Duration::from_secs(TIME_S.unsigned_abs().into());
        let mut kept = Instant::now();
        loop {
            sleep(EVERY).await;
            let begun = Instant::now();
            let values = (&self.process, &self.owner, &self.process);
            let done = self.rows.session.execute_unpaged(&self.keep, values).await;
            match done.map_err(text).and_then(outcome) {
                Ok((true, _)) => kept = begun,
                Ok((false, Some(_))) => {
                    self.written.lose();
                    return format!("another process has taken the rows of `{}`", self.owner);
                }
                Ok((false, None)) => {
                    return format!("the rows of `{}` are nobody's any more", self.owner);
                }
                Err(why) if kept.elapsed() + EVERY >= time => return why,
                Err(_) => {}
            }
        }
    }

    /// Gives it back.
    pub async fn give(&self) {
        let values = (&self.owner, &self.process);
        // Else it ends by itself.
        let _ = self.rows.session.execute_unpaged(&self.give, values).await;
    }
}

/// Whether a light transaction was carried out; else the process that stands there.
fn outcome(result: QueryResult) -> Result<(bool, Option<Vec<u8>>), String> {
    let rows = result.into_rows_result().map_err(text)?;
    let row = rows.first_row::<Row>().map_err(text)?;
    let mut columns = row.columns.into_iter().flatten();
    let is_applied = matches!(columns.next(), Some(CqlValue::Boolean(true)));
    let holder = columns.find_map(|it| match it {
        CqlValue::Blob(process) => Some(process),
        _ => None,
    });
    Ok((is_applied, holder))
}
