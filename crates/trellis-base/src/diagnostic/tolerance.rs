//! The findings that an author may tolerate.

use super::{Code, Severity};

impl Code {
    /// Returns whether a program can run with such a finding: `severity:` may then lower it, and a comment may allow it.
    ///
    /// Warnings and notes are of that kind, and those errors whose accident the engine meets as the end of a step. Without a target, a tool or a
    /// template that can be read there is nothing to run.
    pub fn is_tolerable(self) -> bool {
        let accident_is_a_step = matches!(
            self,
            Self::UndefinedVariable
                | Self::MaybeUndefined
                | Self::UnsetRequiredContext
                | Self::UnsetKey
                | Self::FailedAssert
                | Self::TypeMismatch
                | Self::BadToolArgs
                | Self::NonExhaustive
                | Self::NeverTrue
                | Self::ShadowedTransition
                | Self::UnreachableNode
                | Self::EndlessLoop
                | Self::NoWayOut
                | Self::MissingFile
                | Self::SqlSyntax
                | Self::UnboundTool
                | Self::UncheckedRead
        );
        accident_is_a_step || self.severity() != Severity::Error
    }
}
