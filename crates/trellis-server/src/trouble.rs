//! Trouble: why a request was not done, with a stable code; the one table of codes, statuses and titles.
//!
//! **Invariant:** each error of the host becomes a code here, by one exhaustive match, and nowhere else.

use std::ops::{Deref, DerefMut};

use trellis_core::{
    NavigateError,
    engine::{NotEntered, StartError},
};
use trellis_host::{
    SendError,
    history::{HistoryError, Undecided},
    store::StoreError,
    wire,
};

/// The reason why a request failed.
#[derive(Clone, Debug)]
pub struct Trouble(Box<TroubleParts>);

/// The parts of trouble.
#[derive(Clone, Debug)]
pub struct TroubleParts {
    /// The stable code.
    pub code: Code,
    /// The description of the trouble, for people.
    pub detail: String,
    /// The mistakes in the request, place by place.
    pub errors: Vec<Misfit>,
    /// The accepted input, as a line of JSON Lines.
    pub expected: Option<serde_json::Value>,
    /// The current turn of the session.
    pub current: Option<Box<wire::Turn>>,
    /// Further values for programs, by key.
    pub more: serde_json::Map<String, serde_json::Value>,
    /// Seconds after which it is worth another try.
    pub retry_after: Option<u64>,
    /// The details that only the log of the server may show.
    pub log: Option<String>,
    /// True if the client reads large integers as texts.
    pub(crate) has_texts: bool,
}

impl Deref for Trouble {
    type Target = TroubleParts;

    fn deref(&self) -> &TroubleParts {
        &self.0
    }
}

impl DerefMut for Trouble {
    fn deref_mut(&mut self) -> &mut TroubleParts {
        &mut self.0
    }
}

/// Something in a request that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The place, as a JSON pointer.
    pub pointer: String,
    /// The description of the mistake.
    pub message: String,
}

macro_rules! codes {
    ($($status:literal { $($name:ident $code:literal $title:literal),+ $(,)? })+) => {
        /// The stable codes of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each has a title")]
        pub enum Code {
            $($($name,)+)+
        }

        impl Code {
            /// All of them, by status.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// As it is written everywhere.
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $code,)+)+ }
            }

            /// The status of an answer with it.
            pub fn status(self) -> u16 {
                match self { $($(Self::$name => $status,)+)+ }
            }

            /// Returns its meaning, in one line.
            pub fn title(self) -> &'static str {
                match self { $($(Self::$name => $title,)+)+ }
            }
        }
    };
}

codes! {
    400 {
        BadJson "bad-json" "the body is no JSON",
        BadRequest "bad-request" "the request is not one that this route takes",
        BadName "bad-name" "no session can have this name",
        BadCursor "bad-cursor" "the cursor is none of this list",
    }
    401 { Unauthenticated "unauthenticated" "a token is needed" }
    403 {
        Forbidden "forbidden" "the token does not have this right",
        ApprovalNeedsAPerson "approval-needs-a-person" "a person decides about this call",
        BadOrigin "bad-origin" "pages from elsewhere cannot use this server",
    }
    404 {
        UnknownRoute "unknown-route" "there is no such route",
        UnknownSession "unknown-session" "there is no such session",
        UnknownGraph "unknown-graph" "there is no such graph",
        UnknownNode "unknown-node" "the graph has no such node",
        UnknownRecord "unknown-record" "the session has no such record",
        UnknownLetter "unknown-letter" "there is no such dead letter",
        UnknownCode "unknown-code" "nothing has this code",
    }
    405 { Method "method" "the route does not take this method" }
    406 { NotAcceptable "not-acceptable" "the answer has no form that is accepted" }
    408 { TooSlow "too-slow" "the request took too long to arrive" }
    409 {
        Ended "ended" "the session has ended",
        WrongKind "wrong-kind" "something else is awaited",
        ForeignCall "foreign-call" "the call is none that the session waits for",
        NotYours "not-yours" "the result of the call is not a client's to give",
        TooLate "too-late" "the time for an answer was up",
        UnhandledSignal "unhandled-signal" "nothing handles the signal",
        UnansweredPredicate "unanswered-predicate" "a predicate must be answered first",
        Unadopted "unadopted" "the graph does not have the node where the session stands",
        PassThrough "pass-through" "the session passed through too many nodes in a row",
        Unfit "unfit" "the session does not fit its graph any more",
        OtherGraph "other-graph" "the session walks another graph",
        SessionExists "session-exists" "there is a session of that name",
        NotEnded "not-ended" "the session has not ended",
        CannotStandThere "cannot-stand-there" "the session cannot stand there",
        RollingBack "rolling-back" "the session is rolling back",
        CallChanged "call-changed" "another call waits for an approval",
        ApprovedAlready "approved-already" "the call was approved already",
        Expired "expired" "the time to decide is over",
        NotHeld "not-held" "no call waits for an approval",
        Vetoed "vetoed" "a hook objects to the graph",
        Stopped "stopped" "the session was stopped where it is",
        InProgress "in-progress" "it is being done already",
        UnknownChild "unknown-child" "the session has no such child",
        Ambiguous "ambiguous" "several sessions have this name",
        Render "render" "the node cannot be rendered",
        Refused "refused" "the node did not take a pass",
    }
    410 {
        Lost "lost" "what leads there cannot be read",
        Pruned "pruned" "the records that lead there were taken out",
    }
    412 { Conflict "conflict" "something else is asked by now" }
    413 {
        TooLarge "too-large" "the request is too large",
        InputTooLarge "input-too-large" "the input is too large",
    }
    415 { MediaType "media-type" "the body must be `application/json`" }
    421 { BadHost "bad-host" "this server is not known by that name" }
    422 {
        InvalidInput "invalid-input" "the input is not valid here",
        StartRefused "start-refused" "the session cannot begin",
        ReservedName "reserved-name" "the name is reserved",
        BadKey "bad-key" "the key cannot be set",
        KeyReused "key-reused" "another request had this key",
    }
    428 { IfMatchRequired "if-match-required" "`If-Match` must say which state is meant" }
    429 { TooMany "too-many" "there are too many requests" }
    431 { HeadersTooLarge "headers-too-large" "the headers are too large" }
    500 { Internal "internal" "something went wrong here" }
    503 {
        StoreUnavailable "store-unavailable" "the store cannot be reached",
        Unready "unready" "something that this server needs does not work",
        NoProgram "no-program" "the graph has mistakes, and no earlier version runs",
        Stopping "stopping" "the server is stopping",
    }
    507 { StoreUnwritable "store-unwritable" "the store refuses to write" }
}

impl Code {
    /// The code of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl Trouble {
    /// Creates trouble of a kind, with its description.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let more = serde_json::Map::new();
        let retry_after = match code {
            Code::StoreUnavailable | Code::Unready | Code::NoProgram | Code::Stopping => Some(1),
            _ => None,
        };
        let detail = detail.into();
        let (errors, expected, current, log) = (Vec::new(), None, None, None);
        Self(Box::new(TroubleParts { code, detail, errors, expected, current, more, retry_after, log, has_texts: false }))
    }

    /// A request that is none.
    pub fn request(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message).at(pointer)
    }

    /// Adds the place in the request.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        let message = self.detail.clone();
        self.errors.push(Misfit { pointer: pointer.into(), message });
        self
    }

    /// Adds the current turn of the session.
    #[must_use]
    pub fn current(mut self, turn: wire::Turn) -> Self {
        self.current = Some(Box::new(turn));
        self
    }

    /// Adds another value for programs.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.more.insert(key.to_owned(), value.into());
        self
    }

    /// Adds details that only the log may show.
    #[must_use]
    pub fn logged(mut self, log: impl Into<String>) -> Self {
        self.log = Some(log.into());
        self
    }

    /// Seconds after which it is worth another try.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<SendError> for Trouble {
    fn from(error: SendError) -> Self {
        let detail = error.to_string();
        let of = |code| Self::new(code, detail.clone());
        match error {
            SendError::Unknown(_) => of(Code::UnknownSession),
            SendError::UnknownChild(_) => of(Code::UnknownChild),
            SendError::Exists(_) => of(Code::SessionExists),
            SendError::Start(refused) => refused.into(),
            SendError::NotBegun(_) => of(Code::UnhandledSignal),
            SendError::Refused(refusal) => refusal.into(),
            SendError::NotAwaited { .. } => of(Code::WrongKind),
            SendError::NotYours { ref call, .. } => of(Code::NotYours).with("call", call.as_str()),
            SendError::Stale(turn) => of(Code::Conflict).current(wire::Turn::from(&*turn)),
            SendError::TooLate(turn) => of(Code::TooLate).current(wire::Turn::from(&*turn)),
            SendError::Repeated(turn) => of(Code::InProgress).current(wire::Turn::from(&*turn)),
            SendError::KeyReused(_) => of(Code::KeyReused),
            SendError::Reserved(_) => of(Code::ReservedName),
            SendError::Excess(_) => of(Code::InputTooLarge),
            SendError::Stuck(trellis_host::SessionError::PassThrough { .. }) => of(Code::PassThrough),
            SendError::Stuck(trellis_host::SessionError::Render(_)) => of(Code::Render),
            SendError::Stuck(_) => of(Code::Refused),
            SendError::BadName(_) => of(Code::BadName),
            SendError::OtherGraph { .. } => of(Code::OtherGraph),
            SendError::Unfit { .. } => of(Code::Unfit),
            SendError::Store(error) => error.into(),
            SendError::Stopping => of(Code::Stopping),
            SendError::Stopped => of(Code::Stopped),
            // Only the log has a panic.
            SendError::Panicked(_) => Self::new(Code::Internal, Code::Internal.title()).logged(detail),
            // A kind of error that this version of the server does not know.
            _ => Self::new(Code::Internal, Code::Internal.title()).logged(detail),
        }
    }
}

impl From<NavigateError> for Trouble {
    fn from(error: NavigateError) -> Self {
        let detail = error.to_string();
        let of = |code| Self::new(code, detail.clone());
        match error {
            NavigateError::Invalid { expected, .. } => of(Code::InvalidInput).expecting(&expected),
            NavigateError::TooLarge { size, limit } => of(Code::InputTooLarge).with("size", size).with("limit", limit),
            NavigateError::Excess(_) => of(Code::InputTooLarge),
            NavigateError::WrongKind { expected, .. } => of(Code::WrongKind).expecting(&expected),
            NavigateError::ForeignCall { expected, .. } => of(Code::ForeignCall).expecting(&expected),
            NavigateError::UnhandledSignal { expected, .. } => of(Code::UnhandledSignal).expecting(&expected),
            NavigateError::Ended { .. } => of(Code::Ended),
            NavigateError::Unanswered(_) => of(Code::UnansweredPredicate),
            NavigateError::Unadopted(_) => of(Code::Unadopted),
            _ => of(Code::Refused),
        }
    }
}

impl Trouble {
    /// Adds the accepted input.
    fn expecting(mut self, expected: &trellis_core::engine::Expected) -> Self {
        let line = match expected {
            trellis_core::engine::Expected::Input(request) => {
                serde_json::to_value(wire::Stop::RequestInput(wire::InputQuestion::new(request, 0))).ok()
            }
            _ => None,
        };
        self.expected = line;
        self
    }
}

impl From<StartError> for Trouble {
    fn from(error: StartError) -> Self {
        let detail = error.to_string();
        match error {
            StartError::Inputs { problems } => {
                let misfit = |message: String| Misfit { pointer: pointer_of(&message), message };
                let mut trouble = Self::new(Code::StartRefused, detail);
                trouble.errors = problems.into_iter().map(misfit).collect();
                trouble
            }
            StartError::UnknownNode(_) => Self::new(Code::UnknownNode, detail).at("/at"),
            StartError::Unanswered(_) => Self::new(Code::UnansweredPredicate, detail),
            _ => Self::new(Code::StartRefused, detail),
        }
    }
}

/// The key that a message names first, below the context.
fn pointer_of(message: &str) -> String {
    let key = message.split('`').nth(1).unwrap_or_default();
    let key = key.replace('~', "~0").replace('/', "~1").replace('.', "/");
    if key.is_empty() { "/context".to_owned() } else { format!("/context/{key}") }
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Self {
        let detail = error.to_string();
        let of = |code| Self::new(code, detail.clone());
        match error {
            HistoryError::Name(_) => of(Code::BadName),
            HistoryError::Unknown(_) => of(Code::UnknownSession),
            HistoryError::OtherGraph { .. } => of(Code::OtherGraph),
            HistoryError::Exists(_) => of(Code::SessionExists),
            HistoryError::NoRecord { last, .. } => of(Code::UnknownRecord).with("last", last),
            HistoryError::Lost { .. } if detail.contains("were taken out") => of(Code::Pruned),
            HistoryError::Lost { .. } => of(Code::Lost),
            HistoryError::Conflict(_) => of(Code::Conflict),
            HistoryError::Refused(refused) => refused.into(),
            HistoryError::Key(_) => of(Code::BadKey),
            HistoryError::Undecided(_, why) => of(match why {
                Undecided::NotHeld(_) | Undecided::Unknown(_) => Code::NotHeld,
                Undecided::Approved(_) => Code::ApprovedAlready,
                Undecided::Expired(_) => Code::Expired,
                Undecided::Other { .. } | Undecided::Several(_) => Code::CallChanged,
                _ => Code::NotHeld,
            }),
            HistoryError::Unsettled(..) => of(Code::ForeignCall),
            HistoryError::NoLetter { .. } => of(Code::UnknownLetter),
            HistoryError::Store(error) => error.into(),
            _ => Self::new(Code::Internal, Code::Internal.title()).logged(detail),
        }
    }
}

impl From<NotEntered> for Trouble {
    fn from(error: NotEntered) -> Self {
        let detail = error.to_string();
        match error {
            NotEntered::Unknown(_) => Self::new(Code::UnknownNode, detail),
            NotEntered::Lacks { keys, .. } => Self::new(Code::CannotStandThere, detail).with("keys", keys),
            NotEntered::Fails { .. } | NotEntered::Ended => Self::new(Code::CannotStandThere, detail),
            NotEntered::RollingBack => Self::new(Code::RollingBack, detail),
            _ => Self::new(Code::CannotStandThere, detail),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        match error {
            StoreError::Conflict { .. } => Self::new(Code::Conflict, detail),
            StoreError::Unavailable { .. } => Self::new(Code::StoreUnavailable, "the store cannot be reached").logged(detail),
            StoreError::Unwritable { .. } => {
                let why = "the store refuses to write: its disk is full, or it may not be written; nothing was done";
                Self::new(Code::StoreUnwritable, why).logged(detail)
            }
            StoreError::Newer { .. } | StoreError::Corrupt { .. } => {
                Self::new(Code::Lost, "what is stored of it cannot be read").logged(detail)
            }
            StoreError::Key(_) => Self::new(Code::Lost, "what is stored of it is sealed").logged(detail),
            _ => Self::new(Code::Internal, Code::Internal.title()).logged(detail),
        }
    }
}
