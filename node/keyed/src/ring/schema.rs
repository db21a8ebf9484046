//! The tables of a keyspace, made where there are none and brought up to date.
//!
//! Each version is a list of statements that change nothing where they were carried out already:
//! two nodes that begin at once, or one that dies in between, leave what the next one completes.

use super::Ring;
use machine::Duration;
use scylla::client::session::Session;
use scylla::statement::Statement;
use tokio::time::sleep;

/// What leads from each version to the next: from none to 1, from 1 to 2 …
const VERSIONS: &[&[&str]] = &[&[
    "CREATE TABLE IF NOT EXISTS shared_rows (id blob PRIMARY KEY, octets blob, until_ns bigint)",
    // Rows that are taken out leave a mark for `gc_grace_seconds`; a node that was away for longer
    // has to be made anew, or would bring them back.
    "CREATE TABLE IF NOT EXISTS own_rows (owner text, part smallint, id blob, octets blob, \
     until_ns bigint, PRIMARY KEY ((owner, part), id)) WITH gc_grace_seconds = 86400",
    "CREATE TABLE IF NOT EXISTS lease (owner text PRIMARY KEY, process blob)",
]];
const KNOWN: i32 = 1;
/// For a change of the schema, which all nodes are to have.
const TIME: Duration = Duration::from_secs(30);
/// How often it is tried, and the pause in between.
const TRIES: usize = 5;
const AGAIN: Duration = Duration::from_millis(500);
/// What the version is of.
const NAME: &str = "keyed";

/// A name as CQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Makes what is missing. Where another node does the same just now, one of both may be told of a
/// table that is there and is not: what fails is tried again.
///
/// # Errors
/// The ring does not do it, or the tables are of a newer Tandem.
pub(super) async fn bring_up_to_date(session: &Session, ring: &Ring) -> Result<(), String> {
    for _ in 1..TRIES {
        if attempt(session, ring).await.is_ok() {
            return Ok(());
        }
        sleep(AGAIN).await;
    }
    attempt(session, ring).await
}

async fn attempt(session: &Session, ring: &Ring) -> Result<(), String> {
    let keyspace = quoted(&ring.keyspace);
    let found = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
    if !has_row(session, found, &ring.keyspace).await? {
        let replication = ring.replication;
        let made = format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': {replication}}}"
        );
        change(session, &made).await?;
    }
    session.use_keyspace(&ring.keyspace, true).await.map_err(text)?;
    let tables = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? \
                  AND table_name = 'version'";
    if !has_row(session, tables, &ring.keyspace).await? {
        let made = "CREATE TABLE IF NOT EXISTS version (name text PRIMARY KEY, version int)";
        change(session, made).await?;
    }
    let version = version(session).await?;
    if version > KNOWN {
        return Err(format!("its tables are of version {version}, and {KNOWN} is known here"));
    }
    let done = usize::try_from(version).unwrap_or_default();
    for statements in VERSIONS.iter().skip(done) {
        for statement in *statements {
            change(session, statement).await?;
        }
    }
    if version < KNOWN {
        let kept = "INSERT INTO version (name, version) VALUES (?, ?)";
        session.query_unpaged(kept, (NAME, KNOWN)).await.map_err(text)?;
    }
    Ok(())
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

async fn has_row(session: &Session, statement: &str, of: &str) -> Result<bool, String> {
    let found = session.query_unpaged(statement, (of,)).await.map_err(text)?;
    Ok(found.into_rows_result().map_err(text)?.rows_num() > 0)
}

async fn change(session: &Session, statement: &str) -> Result<(), String> {
    let mut statement = Statement::new(statement);
    statement.set_request_timeout(Some(TIME));
    // The driver waits until all nodes have the same schema.
    session.query_unpaged(statement, ()).await.map_err(text).map(drop)
}

async fn version(session: &Session) -> Result<i32, String> {
    let asked = "SELECT version FROM version WHERE name = ?";
    let found = session.query_unpaged(asked, (NAME,)).await.map_err(text)?;
    let rows = found.into_rows_result().map_err(text)?;
    let row = rows.maybe_first_row::<(i32,)>().map_err(text)?;
    Ok(row.map_or(0, |it| it.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_counted_and_names_are_quoted() {
        assert_eq!(usize::try_from(KNOWN), Ok(VERSIONS.len()));
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
