//! Files that somebody sent, as a provider hands them out.

use super::{Fault, HttpCall, HttpReply, Side, State};

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeFile {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub kind: String,
    /// Its contents.
    pub text: String,
    /// The address that the provider reports, if not its own.
    pub address: Option<String>,
    /// The size that it is said to have, if not its own.
    pub said: Option<usize>,
}

impl FakeFile {
    /// A file with a text.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), kind: "text/plain".to_owned(), text: text.to_owned(), address: None, said: None }
    }

    /// The same, said to lie elsewhere.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self }
    }

    /// The same, said to have another size.
    #[must_use]
    pub fn said_to_have(self, bytes: usize) -> Self {
        Self { said: Some(bytes), ..self }
    }

    pub(super) fn size(&self) -> usize {
        self.said.unwrap_or(self.text.len())
    }
}

/// The file of a name that ends with the number of its message and its own, such as `7-0`.
pub(super) fn find<'s>(state: &'s State, id: &str) -> Option<&'s FakeFile> {
    let (n, at) = id.split_once('-')?;
    let n: u64 = n.parse().ok()?;
    state.messages.iter().find(|message| message.n == n)?.files.get(at.parse::<usize>().ok()?)
}

/// Hands a file out to whoever has the token. Others get the page that asks them to log in.
pub(super) fn fetch(state: &mut State, call: &HttpCall, id: &str, token: &str) -> HttpReply {
    state.fetched.push(call.authorization.clone());
    let fault = state.fault(Side::File, &call.path);
    if call.authorization != token {
        return HttpReply::text(200, "<html>Log in</html>").typed("text/html; charset=utf-8");
    }
    let Some(file) = find(state, id) else { return HttpReply::text(404, "") };
    let whole = HttpReply::text(200, &file.text).typed("text/plain");
    match fault {
        Some(Fault::TooMany(seconds)) => HttpReply::text(429, "").header("Retry-After", &seconds.to_string()),
        Some(Fault::Unavailable) => HttpReply::text(503, ""),
        Some(Fault::Cut) => whole.cut(),
        None => whole,
    }
}
