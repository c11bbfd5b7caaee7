//! The stable codes. Each has a page that teaches it, embedded here and printed by `trellis explain`.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Severity;

macro_rules! codes {
    ($($family:literal { $($name:ident $text:literal $severity:ident,)* })*) => {
        /// The kind of a diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(
                #[doc = concat!("`", $text, "`")]
                $name,
            )*)*
        }

        impl Code {
            /// Every code, by family.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// The code as authors see it.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $text,)*)* }
            }

            /// The family it belongs to: files, names, shape, conditions, data, tools.
            pub fn family(self) -> &'static str {
                match self { $($(Self::$name => $family,)*)* }
            }

            /// Returns its severity unless a project sets another.
            pub fn severity(self) -> Severity {
                match self { $($(Self::$name => Severity::$severity,)*)* }
            }

            /// The page that explains it, in Markdown.
            pub fn page(self) -> &'static str {
                match self {
                    $($(Self::$name => include_str!(concat!("../../pages/", $text, ".md")),)*)*
                }
            }
        }
    };
}

codes! {
    "files" {
        NotUtf8 "not-utf8" Error,
        FileTooLarge "file-too-large" Error,
        UnclosedFrontmatter "unclosed-frontmatter" Error,
        YamlSyntax "yaml-syntax" Error,
        DuplicateKey "duplicate-key" Error,
        UnknownKey "unknown-key" Error,
        WrongType "wrong-type" Error,
        MissingValue "missing-value" Error,
        UnusedAllow "unused-allow" Warning,
    }
    "names" {
        MissingStart "missing-start" Error,
        DuplicateNode "duplicate-node" Error,
        ReservedName "reserved-name" Error,
        UnknownTarget "unknown-target" Error,
        UnknownModule "unknown-module" Error,
        WrongCase "wrong-case" Error,
        BrokenLink "broken-link" Warning,
    }
    "shape" {
        ActAndListen "act-and-listen" Error,
        TypeContradiction "type-contradiction" Error,
        DuplicateOption "duplicate-option" Error,
        ShadowedTransition "shadowed-transition" Error,
        NonExhaustive "non-exhaustive" Error,
        UnreachableNode "unreachable-node" Error,
        EndlessLoop "endless-loop" Error,
        NoWayOut "no-way-out" Error,
        MisplacedKey "misplaced-key" Error,
    }
    "conditions" {
        ConditionSyntax "condition-syntax" Error,
        ConditionTooComplex "condition-too-complex" Error,
        UnknownPredicate "unknown-predicate" Error,
        NeverTrue "never-true" Error,
    }
    "data" {
        UndefinedVariable "undefined-variable" Error,
        MaybeUndefined "maybe-undefined" Error,
        UnsetRequiredContext "unset-required-context" Error,
        NotDecided "not-decided" Info,
        UnsetKey "unset-key" Error,
        FailedAssert "failed-assert" Error,
        UncheckedRead "unchecked-read" Error,
        OpenInput "open-input" Warning,
        ReservedNamespace "reserved-namespace" Error,
        TypeMismatch "type-mismatch" Error,
        TemplateSyntax "template-syntax" Error,
        UnknownFilter "unknown-filter" Error,
        SecretExposed "secret-exposed" Error,
    }
    "tools" {
        UnknownTool "unknown-tool" Error,
        ToolCycle "tool-cycle" Error,
        MissingToolLibrary "missing-tool-library" Error,
        NamelessTool "nameless-tool" Error,
        InvalidToolSchema "invalid-tool-schema" Error,
        BadToolArgs "bad-tool-args" Error,
        IncompatibleShadowing "incompatible-shadowing" Warning,
        RollbackGap "rollback-gap" Warning,
        MissingFile "missing-file" Error,
        SqlSyntax "sql-syntax" Error,
        UnboundTool "unbound-tool" Error,
    }
}

impl Code {
    /// The code of this name.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
