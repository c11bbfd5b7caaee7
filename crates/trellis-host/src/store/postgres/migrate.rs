//! Brings the tables of a PostgreSQL to the format of this version.
//!
//! **Invariant:** all of it happens in one transaction, and by one process at a time: a store is of one format or of the next, never between.

use std::sync::Arc;

use tokio_postgres::{Client, Error};

use crate::store::StoreError;

/// Step `n` leads from format `n` to `n + 1`. A step that was published is never changed.
const STEPS: [&str; 2] = [include_str!("1.sql"), include_str!("2.sql")];

/// The reason why it stays as it was.
pub(super) enum MigrationError {
    Newer(StoreError),
    Failed(Error),
}

impl From<Error> for MigrationError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Makes or changes the tables in `schema`, if need be.
pub(super) async fn migrate(client: &mut Client, schema: &str, store: &Arc<str>) -> Result<(), MigrationError> {
    let known = STEPS.len() as u64;
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock(hashtext('trellis'), hashtext($1))", &[&schema]).await?;
    // A user of the schema may lack the right to create one.
    let is_there: bool = transaction.query_one("SELECT to_regnamespace($1) IS NOT NULL", &[&format!("\"{schema}\"")]).await?.get(0);
    if !is_there {
        transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    let is_there: bool = transaction.query_one("SELECT to_regclass($1) IS NOT NULL", &[&format!("\"{schema}\".format")]).await?.get(0);
    if !is_there {
        transaction.batch_execute("CREATE TABLE format (format bigint NOT NULL); INSERT INTO format VALUES (0)").await?;
    }
    let found: i64 = transaction.query_one("SELECT max(format) FROM format", &[]).await?.get(0);
    let found = u64::try_from(found).unwrap_or_default();
    if found > known {
        return Err(MigrationError::Newer(StoreError::Newer { store: Arc::clone(store), found, known }));
    }
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.batch_execute(step).await?;
    }
    if found < known {
        transaction.batch_execute(&format!("UPDATE format SET format = {known}")).await?;
    }
    Ok(transaction.commit().await?)
}
