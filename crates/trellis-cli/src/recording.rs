//! Records the results of tools, and answers calls with recorded results: `--record`, `--replay-tools`.

use std::path::Path;

use anyhow::bail;
use trellis_host::{
    Sessions,
    recording::{Recorder, Recording},
};

use crate::observability::Observers;

/// Recording of tool results, the recording that answers calls, and further observers.
#[derive(Default)]
pub(crate) struct Taped {
    pub(crate) recorder: Option<Recorder>,
    recording: Option<Recording>,
    pub(crate) seeing: Observers,
}

impl Taped {
    /// Opens what `--record` and `--replay-tools` name.
    ///
    /// # Errors
    /// A file cannot be opened, is no recording, or is named twice.
    pub(crate) fn open(record: Option<&Path>, replay: Option<&Path>) -> anyhow::Result<Self> {
        if let (Some(record), Some(replay)) = (record, replay)
            && (record == replay || matches!((record.canonicalize(), replay.canonicalize()), (Ok(one), Ok(other)) if one == other))
        {
            bail!("`{}` cannot be recorded and replayed at once; name another file", record.display());
        }
        // First the one that is read: the other one is emptied.
        let recording = replay.map(Recording::open).transpose()?;
        Ok(Self { recording, recorder: record.map(Recorder::create).transpose()?, seeing: Observers::default() })
    }

    /// Adds observers.
    pub(crate) fn seen(self, seeing: Observers) -> Self {
        Self { seeing, ..self }
    }

    /// Records the results of the calls of these sessions, or answers the calls.
    pub(crate) fn over(&self, sessions: Sessions) -> Sessions {
        let sessions = self.seeing.over(sessions);
        if let Some(recorder) = self.recorder.clone() {
            sessions.observe(move |_, event| recorder.take(event));
        }
        match &self.recording {
            Some(recording) => sessions.interceptor(recording.rewound()),
            None => sessions,
        }
    }
}
