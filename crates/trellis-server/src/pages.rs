//! The pages of problems: what each code means, and what to do about it.

use crate::trouble::Code;

impl Code {
    /// Returns the page of the code, as Markdown.
    pub(crate) fn page(self) -> String {
        let about = PAGES.iter().find(|(code, _)| *code == self).map_or("", |(_, about)| about);
        format!("# {}\n\nStatus {}: {}.\n\n{about}\n", self.as_str(), self.status(), self.title())
    }
}

/// Each code with its meaning and its remedy.
const PAGES: &[(Code, &str)] = &[
    (Code::BadJson, "The body could not be read as JSON in UTF-8. `detail` has the place of the mistake. Send one JSON object."),
    (
        Code::BadRequest,
        "A parameter, a header or a key of the body is not what the route takes. `errors` has the place in the body, and the message has what is taken. \
         The document at `/api/openapi.json` has the shape of each request.",
    ),
    (
        Code::BadName,
        "A name of a session is too long, or has characters that no store takes. Choose another `id`, or leave it out: then one is made.",
    ),
    (Code::BadCursor, "`after` is not a cursor of this list. Send the `next` of the page before as it stands, or begin without `after`."),
    (
        Code::Unauthenticated,
        "The request has no token that the server knows. Send one in `Authorization`; `trellis serve` prints it behind `#` in its address, \
         and each start makes another one unless `TRELLIS_TOKEN` or `--token-file` is used.",
    ),
    (
        Code::Forbidden,
        "The token is known, but lacks the right that `right` names. Use a token that has it: `--token-file` lists the rights of each.",
    ),
    (
        Code::ApprovalNeedsAPerson,
        "A model cannot approve a call by a tool. A person decides: in the studio, over HTTP, at a terminal, or by a form of the client. \
         `trellis mcp --mcp-approve call` lets the model decide.",
    ),
    (
        Code::BadOrigin,
        "The request came from a page of another site, which might act in the name of whoever has it open. Open the studio at the server's own address, \
         or name the site with `--allow-origin`.",
    ),
    (Code::UnknownRoute, "No route has this path. `/api/openapi.json` has all of them."),
    (
        Code::UnknownSession,
        "No session has this name in the stores that are served. `GET /api/sessions` lists those that there are; it may have been removed.",
    ),
    (Code::UnknownGraph, "No graph of this name is served. `GET /api/graphs` lists those that are."),
    (
        Code::UnknownNode,
        "The program that runs has no node of this id. The message has the nearest one; a node of a module is written `module/node`.",
    ),
    (Code::UnknownRecord, "The session has no record of this number. `last` is the newest; `GET /api/sessions/{id}/records` lists them."),
    (
        Code::UnknownLetter,
        "No dead letter has this key: it was made again, dropped, or never given up. `GET /api/dead-letters` lists those that wait.",
    ),
    (Code::UnknownCode, "Neither a finding nor a problem has this code. The message has the nearest one."),
    (Code::Method, "The path is known, but not with this method. `Allow` has those that it takes."),
    (Code::NotAcceptable, "`Accept` leaves out every form that the answer has. Add the one that `detail` names, or `*/*`."),
    (Code::TooSlow, "The request did not arrive in time. Send it again, in one go; a large body needs a faster connection."),
    (
        Code::Ended,
        "The session is over and takes nothing more. Begin another one, or put this one back with `POST /api/sessions/{id}/back`.",
    ),
    (
        Code::WrongKind,
        "The session waits for something of another kind, such as a result instead of an input. Look at `stop` of its turn and send the reply that belongs to it.",
    ),
    (Code::ForeignCall, "The result belongs to no call that the session waits for. `id` must be that of a `CALL_TOOL` of this session."),
    (
        Code::TooLate,
        "The `timeout` of the question was over before the answer came, and the session went on. `current` has what is asked now.",
    ),
    (
        Code::UnhandledSignal,
        "No node that the session is in has a handler of this signal, so nothing happened. Add it to `on_signal`, or pause the session.",
    ),
    (
        Code::UnansweredPredicate,
        "A condition asks a predicate whose value nobody gave. Answer the `PREDICATE` first; over `engine/navigate`, add it to `answers`.",
    ),
    (
        Code::Unadopted,
        "The graph was edited, and the node where the session stands is gone. Restore the node, name it in `was`, or move the session with `goto`.",
    ),
    (
        Code::PassThrough,
        "The session went through more nodes without a stop than `limits.pass_through` allows, most likely in a circle. Give the circle a way out.",
    ),
    (
        Code::Unfit,
        "The session does not fit the graph after an edit, and no answer can change that. `GET /api/graphs/{graph}/fit` has the reason; `back` or `goto` moves it.",
    ),
    (Code::OtherGraph, "The session belongs to another graph of the same store. Name that one with `?graph=`."),
    (Code::SessionExists, "A session of this name was begun before. Choose another `id`, or continue that one."),
    (Code::NotEnded, "Only sessions that are over are removed. Send `?open=true` to remove one that is not."),
    (
        Code::CannotStandThere,
        "The node cannot be entered with the context that the session has. `keys` are missing: set them with `PATCH …/context` first.",
    ),
    (Code::RollingBack, "The session undoes what it did, and cannot be moved before that is over. Wait for the next turn."),
    (Code::CallChanged, "The call that was seen does not wait any more, but those in `waits` do. Look at them before you decide."),
    (Code::ApprovedAlready, "Somebody approved the call first. Nothing was changed."),
    (Code::Expired, "Nobody decided in the time that `expires` gives, so the call is denied."),
    (Code::NotHeld, "No call of the session waits for a decision. `decided` says what was decided about this one, if anything was."),
    (Code::Vetoed, "A hook of the host refuses the new version, so the one before stays. `detail` has its reason."),
    (Code::Stopped, "The session was paused or moved while the request waited. Look where it is; `resume` continues it."),
    (
        Code::InProgress,
        "The request, or something that it needs to end first, is still being done. Try again after `Retry-After`, under the same key.",
    ),
    (Code::UnknownChild, "`to` names no child that the session has now. `others` of its turn lists those that wait."),
    (Code::Ambiguous, "Several graphs with stores of their own have a session of this name. `?graph=` says which one is meant."),
    (
        Code::Render,
        "The content of the node uses a value that the context lacks, or is too large. Set the value with `PATCH …/context`, or mend the node.",
    ),
    (
        Code::Refused,
        "The node did not take the step that was tried. `detail` has the reason; `GET …/diagnostics` of the graph may have the cause.",
    ),
    (
        Code::Lost,
        "What is stored of this place is damaged, sealed, or of a newer version. Use a later record, the right key, or a newer `trellis`.",
    ),
    (Code::Pruned, "The records that lead there were removed to save space. `first` is the oldest that is left."),
    (
        Code::Conflict,
        "The session went on since the turn that the request is about. `current` is what is asked now: answer that, with its `seq`.",
    ),
    (Code::TooLarge, "The body is beyond the bound of the server. `limit` has it; send less."),
    (Code::InputTooLarge, "The input is beyond `limits.input` of the graph, or of its context. Send less, or raise the limit."),
    (Code::MediaType, "Bodies are JSON. Send `Content-Type: application/json`, which pages of other sites cannot."),
    (
        Code::BadHost,
        "`Host` is none of the server's names. Use the printed address, or add the name with `--host`: this keeps strangers' pages out.",
    ),
    (
        Code::InvalidInput,
        "The answer does not fit the question. `detail` says why, and `expected` has what is taken; the session waits as before.",
    ),
    (
        Code::StartRefused,
        "The context of the start does not fit `inputs` of the graph. `errors` has each key; `GET /api/graphs` has the schema.",
    ),
    (Code::ReservedName, "A key of the context has a name that expressions use for something else. Choose another key."),
    (
        Code::BadKey,
        "A path of `set` leads nowhere, or to a value of another type. `GET …/nodes/{node}` lists the keys that can be set there.",
    ),
    (Code::KeyReused, "An `Idempotency-Key` names one request, and this one has another body or path. Make a new key for each request."),
    (Code::IfMatchRequired, "Moving, setting and removing compare the number of the session. Send the `ETag` of its turn as `If-Match`."),
    (Code::TooMany, "A bound of requests, streams, sessions or wrong tokens is reached. Wait for `Retry-After`, or raise the bound."),
    (Code::HeadersTooLarge, "The headers are more or larger than the server takes. Send fewer."),
    (Code::Internal, "A mistake of the server. `id` names the line of its log that has more; please report it."),
    (
        Code::StoreUnavailable,
        "The store does not answer, so nothing was done. Try again after `Retry-After`; see that the database runs and can be reached.",
    ),
    (
        Code::Unready,
        "Something beside the graphs does not work: a service, a channel, or messages that could not be delivered. `detail` names it; mend that.",
    ),
    (
        Code::NoProgram,
        "The graph was never without mistakes since the server runs. `GET …/diagnostics` lists them; a save without any is taken up.",
    ),
    (Code::Stopping, "The server ends and takes nothing new. Sessions are stored: ask the next one."),
    (
        Code::NotYours,
        "A client gives results of calls that it was asked for, and of no others. The detail says who has this one; whoever may `operate` can settle it by hand.",
    ),
    (Code::StoreUnwritable, "The disk is full, or the store may not be written. Nothing was done; make room or give the right."),
];
