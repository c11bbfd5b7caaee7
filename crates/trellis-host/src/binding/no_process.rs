//! Processes where the feature `processes` is off: a binding that names a command is read, and is somebody else's to carry out.

use trellis_core::{ToolError, Value};

use super::Job;

/// There is none.
#[derive(Debug, PartialEq)]
pub(super) enum Process {}

impl Process {
    #[expect(clippy::unused_async, reason = "it stands for one that runs")]
    pub(super) async fn run(&self, _job: Job<'_>) -> Result<Value, ToolError> {
        match *self {}
    }
}
