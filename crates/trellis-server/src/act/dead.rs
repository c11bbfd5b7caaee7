//! Calls that were given up: listed, made again, dropped (language 11.7).

use std::sync::Arc;

use serde_json::Value as Json;
use trellis_core::ToolOutcome;
use trellis_host::{
    Clock,
    history::{Operator, UnsettledLetter},
    journal::Settlement,
    sessions::LetterError,
    wire,
};

use super::target::in_task;
use crate::{
    hub::{Hub, SessionNews},
    served::{Served, ServedGraph},
    trouble::{Code, Trouble},
};

/// A dead letter without the secrets of its session, and its graph.
pub(crate) struct FoundLetter {
    pub(crate) graph: Arc<ServedGraph>,
    letter: UnsettledLetter,
}

impl FoundLetter {
    /// As clients see it.
    ///
    /// # Errors
    /// The secrets of its session are unknown.
    pub(crate) async fn shown(&self) -> Result<wire::DeadLetter, Trouble> {
        let redactor = self.graph.redactions.learned(self.graph.store(), &self.letter.session).await?;
        let redacted = redactor.map(|redactor| self.letter.clone().redacted(&redactor));
        Ok(wire::DeadLetter::from(redacted.as_ref().unwrap_or(&self.letter)))
    }

    /// Returns the reason why it was not settled, without the secrets of its session.
    async fn refused(&self, mut trouble: Trouble) -> Trouble {
        let mut detail = Json::from(trouble.detail.as_str());
        let hidden = self.graph.redactions.hide(self.graph.store(), &self.letter.session, &mut [&mut detail]).await;
        let detail = detail.as_str().filter(|_| hidden.is_ok()).map(str::to_owned);
        trouble.detail = detail.unwrap_or_else(|| trouble.code.title().to_owned());
        trouble
    }

    /// Reports the settlement to listeners.
    fn settled(&self, hub: &Hub, how: &'static str) {
        let (graph, session) = (&self.graph.name, &self.letter.session);
        hub.letter(graph, session, self.letter.letter.key.as_str(), how);
        hub.tell(graph, session, SessionNews::Recorded);
    }
}

/// Every dead letter of one graph or of all.
///
/// # Errors
/// There is no such graph, or a store fails.
pub(crate) async fn letters(served: &Served, graph: Option<&str>) -> Result<Vec<FoundLetter>, Trouble> {
    let graphs: Vec<_> = match graph {
        Some(name) => vec![served.graph(Some(name))?],
        None => served.all().collect(),
    };
    let mut found = Vec::new();
    for graph in graphs {
        // A graph that never had a program has no session here.
        let Ok(engine) = graph.engine() else { continue };
        let operator = Operator::new(graph.store(), &engine, &graph.name, Clock::system());
        operator.dead_letters(Some(Arc::clone(&graph.name)), |letter| found.push(FoundLetter { graph: Arc::clone(graph), letter })).await?;
    }
    Ok(found)
}

/// The letter of this key.
///
/// # Errors
/// There is none.
pub(crate) async fn letter(served: &Served, key: &str, graph: Option<&str>) -> Result<FoundLetter, Trouble> {
    let found = letters(served, graph).await?.into_iter().find(|found| *found.letter.letter.key.as_str() == *key);
    found.ok_or_else(|| Trouble::new(Code::UnknownLetter, format!("there is no dead letter `{key}`, or it was settled")))
}

/// Makes the call of a letter again, under its key; returns the letter with the outcome.
///
/// # Errors
/// There is no such letter, or its call cannot be made here.
pub(crate) async fn retry(served: &Served, key: &str, graph: Option<&str>) -> Result<(FoundLetter, bool), Trouble> {
    let mut found = letter(served, key, graph).await?;
    let sessions = found.graph.sessions()?;
    let (hub, key) = (Arc::clone(&served.hub), key.to_owned());
    let retried = in_task(async move {
        let outcome = match sessions.retry_letter(&found.letter.session, &key).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(found.refused(error.into()).await),
        };
        let is_success = matches!(outcome, ToolOutcome::Success(_));
        if is_success {
            found.settled(&hub, "retried");
        }
        found.letter.letter.outcome = outcome;
        Ok((found, is_success))
    });
    retried.await?
}

/// Settles a letter without a call.
///
/// # Errors
/// There is no such letter.
pub(crate) async fn drop_letter(served: &Served, key: &str, graph: Option<&str>) -> Result<(), Trouble> {
    let found = letter(served, key, graph).await?;
    let (hub, engine) = (Arc::clone(&served.hub), found.graph.engine()?);
    let dropped = in_task(async move {
        let operator = Operator::new(found.graph.store(), &engine, &found.graph.name, Clock::system());
        if let Err(error) = operator.settle_letter(&found.letter.session, &found.letter.letter.key, Settlement::Dropped).await {
            return Err(found.refused(error.into()).await);
        }
        found.settled(&hub, "dropped");
        Ok(())
    });
    dropped.await?
}

impl From<LetterError> for Trouble {
    fn from(error: LetterError) -> Self {
        let detail = error.to_string();
        match error {
            LetterError::History(error) => error.into(),
            LetterError::Sessions(error) => error.into(),
            LetterError::InProgress(_) => Self::new(Code::InProgress, detail).retry_after(1),
            LetterError::Late(_) | LetterError::Redacted { .. } | LetterError::Elsewhere(_) | LetterError::Denied { .. } => {
                Self::new(Code::Refused, detail)
            }
            _ => Self::new(Code::Internal, Code::Internal.title()).logged(detail),
        }
    }
}
