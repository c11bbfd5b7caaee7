//! The tables, and the migration of files of earlier versions.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Access, access};

use super::{Name, stored};
use crate::store::{LOCK_TIMEOUT, StoreError};

/// The changes of each version. A version that was published is never changed.
const VERSIONS: [&str; 3] = [
    "CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL UNIQUE,
        graph TEXT NOT NULL,
        program TEXT NOT NULL,
        next INTEGER NOT NULL,
        began INTEGER NOT NULL,
        at INTEGER NOT NULL,
        node TEXT NOT NULL,
        standing TEXT NOT NULL,
        due INTEGER
    ) STRICT;
    CREATE TABLE records (
        id INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE snapshots (
        id INTEGER PRIMARY KEY,
        next INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX newest ON sessions (at DESC, session, graph);",
    // Due sessions are queried all the time, and are few.
    "CREATE INDEX due ON sessions (due, session, graph) WHERE due IS NOT NULL;",
    // A step writes fewer pages: its record follows that of the step before, of any session (`recent`), and its session need not move in the list
    // each time. `place` is the id of a session and, in the lower 32 bits, the number of a record; `listed` is `at` in units of 8 ms.
    "ALTER TABLE records RENAME TO earlier;
    CREATE TABLE records (
        place INTEGER PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT;
    INSERT INTO records SELECT id << 32 | seq, text FROM earlier ORDER BY id, seq;
    DROP TABLE earlier;
    CREATE TABLE recent (
        id INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    DROP INDEX newest;
    ALTER TABLE sessions ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET listed = at >> 3;
    CREATE INDEX newest ON sessions (listed DESC, graph);",
];

/// The mark of our files: `trls`.
const OURS: i64 = 0x7472_6c73;

/// SQLite takes a shorter file for an empty one, and would overwrite it.
const SMALLEST: u64 = 512;

/// The number of pages that are written before they are copied from the log to the file: 16 MiB.
const PAGES: u32 = 4096;

/// Opens a file, makes it where it is not there, and brings it to the newest version.
pub(super) fn open(path: &Path, name: &Name) -> Result<Connection, StoreError> {
    let unwritable = |message: String| StoreError::Unwritable { store: name.shared(), message };
    let length = make(path).map_err(|error| unwritable(error.to_string()))?;
    if !is_writable(path) {
        return Err(unwritable("the file is read-only".to_owned()));
    }
    if (1..SMALLEST).contains(&length) {
        return Err(name.corrupt("file is not a database".to_owned()));
    }
    let connection = connect(path).map_err(|error| name.error(&error))?;
    let Versions { ours, version, empty } = versions(&connection).map_err(|error| name.error(&error))?;
    if !ours && !empty {
        return Err(name.corrupt("it is a database of another program".to_owned()));
    }
    known(version, name)?;
    patiently(|| connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))).map_err(|error| name.error(&error))?;
    if version < newest() {
        migrate(&connection, name)?;
    }
    Ok(connection)
}

/// Another connection to a file that was opened.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite gives a meaning of its own to some names, but to no path.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "full")?;
    // A step writes about three pages: with this, pages are copied to the file itself less often.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", PAGES, |_| Ok(()))?;
    // Removed data does not stay in the file.
    connection.pragma_update_and_check(None, "secure_delete", "fast", |_| Ok(()))?;
    Ok(connection)
}

/// Returns whether SQLite can work on a file as usual: it creates others beside it.
pub(super) fn may_be_written(path: &Path) -> bool {
    is_writable(path) && access(folder_of(path), Access::READ_OK | Access::WRITE_OK).is_ok()
}

/// Returns whether a file may be written. One that says that it is read-only may not, also by a user who may write everything.
fn is_writable(path: &Path) -> bool {
    access(path, Access::READ_OK | Access::WRITE_OK).is_ok() && fs::metadata(path).is_ok_and(|file| !file.permissions().readonly())
}

/// Opens a connection to a file that may not be written. If SQLite would create files beside it to read it, the file is opened as immutable: no
/// process works on it while there is no `-wal`.
pub(super) fn connect_to_read(path: &Path, name: &Name) -> Result<Connection, StoreError> {
    let open = |place: OsString, more: OpenFlags| {
        let connection = Connection::open_with_flags(place, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more)?;
        connection.busy_timeout(LOCK_TIMEOUT)?;
        Ok((versions(&connection)?, connection))
    };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let wal = path.with_file_name([path.file_name().unwrap_or_default(), OsStr::new("-wal")].into_iter().collect::<OsString>());
    let opened = match open(path.clone().into_os_string(), OpenFlags::empty()) {
        Err(_) if fs::metadata(&wal).map_or(true, |wal| wal.len() == 0) => open(unchanging(&path), OpenFlags::SQLITE_OPEN_URI),
        Err(_) => {
            let message = "what was written last lies in its `-wal`, and that cannot be taken in where nothing may be written; copy both, and the `-shm`, to where it may";
            return Err(StoreError::Unwritable { store: name.shared(), message: message.to_owned() });
        }
        opened => opened,
    };
    let (Versions { ours, version, .. }, connection) = opened.map_err(|error: rusqlite::Error| name.error(&error))?;
    if !ours {
        return Err(name.corrupt("it is a database of another program".to_owned()));
    }
    known(version, name)?;
    if version < newest() {
        let message =
            "it is of an earlier version of trellis, and opening it would bring it up to date; copy it to where it may be written";
        return Err(StoreError::Unwritable { store: name.shared(), message: message.to_owned() });
    }
    Ok(connection)
}

/// Returns the address of an immutable file.
fn unchanging(path: &Path) -> OsString {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => address.push(char::from(*byte)),
            // Writing to a text cannot fail.
            _ => drop(write!(address, "%{byte:02x}")),
        }
    }
    (address + "?immutable=1").into()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the file and the folders around it if they are missing, readable for its owner only, and returns the length of the file.
fn make(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found.map(|found| found.len()),
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    File::open(folder)?.sync_all()?;
    Ok(0)
}

struct Versions {
    ours: bool,
    version: u64,
    empty: bool,
}

fn versions(connection: &Connection) -> rusqlite::Result<Versions> {
    // In one question: another process may be making the tables.
    const SQL: &str = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";
    let (application, version, tables): (i64, i64, i64) =
        connection.query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(Versions { ours: application == OURS, version: version.unsigned_abs(), empty: (application, version, tables) == (0, 0, 0) })
}

fn newest() -> u64 {
    VERSIONS.len() as u64
}

fn known(version: u64, name: &Name) -> Result<(), StoreError> {
    match version <= newest() {
        true => Ok(()),
        false => Err(StoreError::Newer { store: name.shared(), found: version, known: newest() }),
    }
}

/// Applies the changes of later versions, all or none. Another process may have done so meanwhile.
fn migrate(connection: &Connection, name: &Name) -> Result<(), StoreError> {
    let step = || {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let version = versions(connection)?.version;
        for sql in VERSIONS.iter().skip(usize::try_from(version).unwrap_or(usize::MAX)) {
            connection.execute_batch(sql)?;
        }
        if version < newest() {
            connection.pragma_update(None, "application_id", OURS)?;
            connection.pragma_update(None, "user_version", stored(newest()))?;
        }
        connection.execute_batch("COMMIT")?;
        Ok(version)
    };
    match patiently(step) {
        Ok(version) => known(version, name),
        Err(error) => {
            let _ = connection.execute_batch("ROLLBACK");
            Err(name.error(&error))
        }
    }
}

/// Tries again while another process holds the file: not every statement waits by itself.
fn patiently<T>(mut act: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let give_up = Instant::now() + LOCK_TIMEOUT;
    loop {
        match act() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < give_up => {
                thread::sleep(Duration::from_millis(2));
            }
            done => return done,
        }
    }
}
