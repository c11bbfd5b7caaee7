//! The start of a session: the `$` lines of the author, and the cases that are replayed first.

use trellis_core::{
    NodeId, SessionId, Value,
    engine::{StartError, Step},
    transcript::print,
};

use super::Player;
use crate::{
    beside::Beside,
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
        let json = |beside: &dyn Beside| if value.starts_with('{') { Ok(value.to_owned()) } else { beside.read_beside(value) };
        match what {
            "context" => match json(self.beside).and_then(|text| Value::from_json(&text).map_err(|error| error.to_string())) {
                Ok(Value::Map(context)) => self.start.context = context,
                Ok(_) => self.slips.push(format!("`{value}` is no JSON mapping")),
                Err(error) => self.slips.push(format!("`{value}`: {error}")),
            },
            "state" => match json(self.beside).and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
                Ok(state) => self.stored = Some(state),
                Err(error) => self.slips.push(format!("`{value}` is no state: {error}")),
            },
            "locale" => self.start.locale = Some(value.into()),
            "at" => self.start.at = Some(NodeId::from(value)),
            "session" => self.start.session = Some(SessionId::from(value)).filter(|_| value != "-"),
            "limit" => self.engine = self.engine.clone().with_max_input(value.parse().unwrap_or_default()),
            "by" if value == "hand" => self.by_hand = true,
            "after" => {}
            other => {
                self.slips.push(format!("`$ {other}` is no way to begin: after, at, by hand, context, limit, locale, session, state"));
            }
        }
        if self.has_begun && !(self.may_come_after && what == "after") {
            self.slips.push("`$` lines come first".into());
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
