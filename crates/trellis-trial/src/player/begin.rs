//! The start of a session: the `$` lines of the author, and the cases that are replayed first.

use trellis_core::{
    engine::{StartError, Step},
    transcript::{Beginning, print},
};

use super::Player;
use crate::{
    doubles::{self, Double},
    session::Session,
};

impl Player<'_> {
    /// Continues with another case: the lines so far are dropped, and the doubles of this case come first.
    pub(crate) fn go_on_with(&mut self, own: Vec<Double>) {
        self.begin();
        self.lines.clear();
        self.call_lines.fill(usize::MAX);
        let replayed = std::mem::take(&mut self.doubles);
        self.doubles = doubles::before(own, replayed);
        self.may_come_after = true;
    }

    pub(super) fn set_up(&mut self, what: &str, value: &str) {
        if self.has_begun && !(self.may_come_after && what == "after") {
            self.slip("`$` lines come first");
        }
        match Beginning::read(what, value, &|path| self.beside.read_beside(path)) {
            Ok(Beginning::Context(context)) => self.start.context = context,
            Ok(Beginning::State(state)) => self.stored = Some(*state),
            Ok(Beginning::Locale(locale)) => self.start.locale = Some(locale.into()),
            Ok(Beginning::At(node)) => self.start.at = Some(node),
            Ok(Beginning::Session(session)) => self.start.session = session,
            Ok(Beginning::Limit(bytes)) => self.engine = self.engine.clone().with_max_input(bytes),
            Ok(Beginning::ByHand) => self.by_hand = true,
            Ok(Beginning::After(_)) => {}
            Err(error) => self.slip(error),
        }
    }

    /// Starts the session, once.
    pub(super) fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let step = match self.stored.take() {
            Some(state) => Ok(Step::new(state)),
            None => {
                let node = self.start.at.clone().unwrap_or_else(|| self.engine.inspect().entry().id.clone());
                let start = self.start.clone();
                self.step(&node, |engine| engine.start(start.clone()))
            }
        };
        match step {
            Ok(step) => {
                self.sessions.push(Session::new(step.state.clone(), None, None));
                self.accept(0, step);
                self.go_on();
            }
            Err(StartError::Unanswered(asked)) if !self.by_hand => self.stop(format!("- not answered: {}", asked.name)),
            Err(error) => {
                let reason = print::one_line(&error.to_string()).into_owned();
                self.print(None, &format!("- not started: {reason}"));
                self.not_started = Some(format!("the session did not start: {reason}"));
            }
        }
    }
}
