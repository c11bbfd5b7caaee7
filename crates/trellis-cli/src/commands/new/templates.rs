//! The templates of `trellis new`, embedded as files.

/// A graph to begin with.
pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Paths and texts; `PROJECT` is replaced by its name.
    pub(super) files: &'static [(&'static str, &'static str)],
}

macro_rules! project {
    ($name:literal, $about:literal, $($file:literal)*) => {
        Project {
            name: $name,
            about: $about,
            files: &[$(($file, include_str!(concat!("../../../templates/", $name, "/", $file)))),*],
        }
    };
}

/// The graphs, the simplest first.
pub(super) const PROJECTS: [Project; 5] = [
    project!("blank", "a question, an answer, an end", "start.md" "hello.md" "bye.md" "_tests/hello.md" "trellis.yaml" "README.md"),
    project!("form", "typed answers, reviewed before they are taken", "start.md" "people.md" "meal.md" "review.md" "done.md" "left.md" "_tests/table.md" "trellis.yaml" "README.md"),
    project!(
        "tool",
        "calls of scripts, an approval, a rollback",
        "start.md" "price.md" "book.md" "send.md" "done.md" "declined.md" "sorry.md" "bin/price" "bin/book" "bin/cancel" "bin/send" "_tests/trip.md" "trellis.yaml" "README.md"
    ),
    project!(
        "api",
        "calls of a service over HTTP, with a key, tried from a recording",
        "start.md" "find.md" "reason.md" "send.md" "done.md" "unknown.md" "sorry.md" "calls.jsonl" "_tests/returns.md" "trellis.yaml" "README.md"
    ),
    project!(
        "agent",
        "a model that calls tools, with an approval; runs without a model too",
        "start.md" "think.md" "act.md" "ask_first.md" "answer.md" "bye.md" "tired.md" "sorry.md" "_prompts/assistant.md" "_model.yaml" "bin/find" "bin/order"
        "_tests/lamps.md" "trellis.yaml" "README.md"
    ),
];

macro_rules! nodes {
    ($($name:ident $about:literal),* $(,)?) => {
        /// The nodes: name, what it is, and its text. The value `KEY` stands for a name made of its id, `NODE` for its id,
        /// `TO` for where it leads.
        pub(super) const NODES: &[(&str, &str, &str)] =
            &[$((stringify!($name), $about, include_str!(concat!("../../../templates/nodes/", stringify!($name), ".md")))),*];
    };
}

nodes! {
    text "says something and moves on",
    question "asks for a text",
    choice "offers a choice",
    confirm "asks for yes or no",
    tool "calls a tool",
    end "ends the session, with an output",
}
