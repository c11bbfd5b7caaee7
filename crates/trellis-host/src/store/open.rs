//! Opening a store from its address: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis://…`, `postgres://…`.
//!
//! **Invariant:** only the part of a spec before its colon is ever shown: the rest, and a spec without one, may be a password.

use std::{path::Path, sync::Arc};

use super::{FilesStore, MemoryStore, SessionStore, StoreError, TUNNEL, blocking::run_blocking};

/// Opens the store that `spec` names. Paths are relative to the current folder.
///
/// # Errors
/// [`StoreError::Spec`]: it names no store, or one that this program was built without. Else the error of the store.
pub async fn open(spec: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    let (kind, place) = spec.split_once(':').unwrap_or((spec, ""));
    match kind {
        "memory" if place.is_empty() => Ok(Arc::new(MemoryStore::new())),
        "memory" => Err(StoreError::Spec("`memory` takes nothing after it".to_owned())),
        "files" | "sqlite" if place.is_empty() => Err(StoreError::Spec(format!("`{kind}:` does not say where: a path belongs after it"))),
        "files" => {
            let folder = place.to_owned();
            opened(move || FilesStore::open(folder)).await
        }
        // SQLite would take it for a store in memory, and we for the name of a file.
        "sqlite" if place == ":memory:" => {
            Err(StoreError::Spec("a store that keeps nothing is `memory`, not `sqlite::memory:`".to_owned()))
        }
        "sqlite" => sqlite(place).await,
        "redis" => redis(spec),
        "postgres" | "postgresql" => postgres(spec),
        "rediss" => Err(StoreError::Spec(format!("`rediss://` is a Redis behind TLS, which is not offered: {TUNNEL}"))),
        _ => Err(StoreError::Spec(unknown(kind.len() < spec.len(), kind))),
    }
}

/// Opens a store for reading: nothing is created, and a file that may not be written is read in place.
///
/// # Errors
/// As [`open`]; [`StoreError::Unavailable`] where there is none.
pub async fn open_existing(spec: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    match spec.split_once(':') {
        Some(("files", folder)) if !folder.is_empty() && !Path::new(folder).is_dir() => {
            let message = "there is no such folder".to_owned();
            Err(StoreError::Unavailable { store: format!("`{spec}`").into(), message })
        }
        #[cfg(feature = "sqlite")]
        Some(("sqlite", file)) if !file.is_empty() && file != ":memory:" => {
            let file = file.to_owned();
            opened(move || super::SqliteStore::open_existing(file)).await
        }
        _ => open(spec).await,
    }
}

/// Returns the settings by which the server of `spec` could lose acknowledged records, a line each, as far as it discloses them. Stores on this
/// machine force their records to its disk.
///
/// # Errors
/// `spec` names no store, or the server cannot be reached.
pub async fn weaknesses(spec: &str) -> Result<Vec<String>, StoreError> {
    match spec.split_once(':').map(|(kind, _)| kind) {
        #[cfg(feature = "redis")]
        Some("redis") => super::RedisStore::new(spec)?.weaknesses().await,
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => super::PostgresStore::new(spec)?.weaknesses().await,
        _ => Ok(Vec::new()),
    }
}

#[cfg(feature = "sqlite")]
async fn sqlite(file: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    let file = file.to_owned();
    opened(move || super::SqliteStore::open(file)).await
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    Err(missing("sqlite"))
}

#[cfg(feature = "redis")]
fn redis(url: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    Ok(Arc::new(super::RedisStore::new(url)?))
}

#[cfg(not(feature = "redis"))]
fn redis(_: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    Err(missing("redis"))
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    Ok(Arc::new(super::PostgresStore::new(url)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &str) -> Result<Arc<dyn SessionStore>, StoreError> {
    Err(missing("postgres"))
}

/// Opens where it may wait for a disk.
async fn opened<S: SessionStore + 'static>(
    open: impl FnOnce() -> Result<S, StoreError> + Send + 'static,
) -> Result<Arc<dyn SessionStore>, StoreError> {
    run_blocking("the store".into(), open).await.map(|store| -> Arc<dyn SessionStore> { Arc::new(store) })
}

#[cfg(not(all(feature = "sqlite", feature = "redis", feature = "postgres")))]
/// A store that was left out when the program was built.
fn missing(feature: &str) -> StoreError {
    StoreError::Spec(format!("this program was built without `{feature}` stores: build it with the feature `{feature}`"))
}

fn unknown(has_colon: bool, kind: &str) -> String {
    let stores = "`memory`, `files:FOLDER`, `sqlite:FILE`, `redis://…` and `postgres://…` do";
    // The part of a URL before the colon is no secret; any other text may be one.
    match has_colon && kind.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char)) && kind.len() <= 20 && !kind.is_empty()
    {
        true => format!("`{kind}` names no store: {stores}"),
        false => format!("that names no store: {stores}"),
    }
}
