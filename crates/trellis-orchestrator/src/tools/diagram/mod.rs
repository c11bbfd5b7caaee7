//! `diagram`: a text in Mermaid as a picture and as lines of characters (orchestrator 6).
//!
//! **Invariant:** a picture is written only if nothing in it runs, and nothing in it names an address. An invalid diagram becomes its text in a
//! fence.

mod harmless;

use std::{sync::Arc, time::Duration};

use mmdflux::{OutputFormat, RenderConfig, render_diagram};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use trellis_core::{Mapping, Value};
use trellis_host::{Bindings, CallContext};

use self::harmless::harm_in;
use super::{
    Hands, Returned,
    files::{MAX_RESULT, beginning},
    folder::Folder,
    function,
    references::refuse_references,
    run_blocking, text,
};
use crate::{fence::in_fence, seal::sha256};

/// Bytes of the text of a diagram.
const MAX_SOURCE: usize = 64 << 10;
/// Lines of the text of a diagram: a layout of many edges takes longer than anybody waits, and cannot be stopped.
const MAX_DIAGRAM_LINES: usize = 300;
/// The time for a picture.
const DRAWING_TIMEOUT: Duration = Duration::from_secs(2);
/// Drawings at once: one that takes too long ends on its own thread, and holds its place until then.
static DRAWING: Semaphore = Semaphore::const_new(2);
/// The folder of pictures, among the files.
const DIAGRAM_FOLDER: &str = "diagrams";

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    function(bindings, hands, "diagram", diagram)
}

async fn diagram(hands: Arc<Hands>, _: CallContext, args: Mapping) -> Returned {
    let source = text(&args, "source");
    refuse_references("diagram", source)?;
    let name = match text(&args, "name") {
        "" => sha256(source)[..12].to_owned(),
        name => name.to_owned(),
    };
    let drawn = timeout(DRAWING_TIMEOUT, drawn_beside(source.to_owned())).await.unwrap_or_else(|_| Err("it takes too long".to_owned()));
    let Drawn { svg, characters } = match drawn {
        Ok(drawn) => drawn,
        Err(why) => return Ok(source_result(source, &why)),
    };
    let characters = characters.map(|characters| hands.mask.masked(&characters));
    run_blocking(move || {
        let folder = Folder::open(&hands.files_folder()?)?;
        let path = format!("{DIAGRAM_FOLDER}/{name}.svg");
        folder.write(&path, &svg)?;
        let mut result = vec![("drawn", Value::Bool(true)), ("path", Value::text(path))];
        if let Some(characters) = characters {
            let path = format!("{DIAGRAM_FOLDER}/{name}.txt");
            folder.write(&path, &characters)?;
            result.push(("text", Value::text(in_fence(beginning(&characters, MAX_RESULT / 2)))));
        }
        Ok(Value::map(result))
    })
    .await
}

/// Draws on a thread of its own.
async fn drawn_beside(source: String) -> Result<Drawn, String> {
    let permit = DRAWING.acquire().await.map_err(|error| error.to_string())?;
    let drawing = spawn_blocking(move || {
        let drawn = draw(&source);
        drop(permit);
        drawn
    });
    drawing.await.unwrap_or_else(|_| Err("the drawing failed".to_owned()))
}

/// Returns the result for a diagram that cannot be drawn: the text itself.
fn source_result(source: &str, why: &str) -> Value {
    let fence = in_fence(beginning(source, MAX_RESULT / 2)).replacen('\n', "mermaid\n", 1);
    Value::map([("drawn", Value::Bool(false)), ("text", Value::text(fence)), ("error", Value::text(why))])
}

/// A diagram that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// The picture.
    pub(crate) svg: String,
    /// The diagram in characters, for those kinds of diagrams that have such a form.
    pub(crate) characters: Option<String>,
}

/// Draws a text in Mermaid; the error is the reason why it cannot be drawn.
pub(crate) fn draw(source: &str) -> Result<Drawn, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("the text has more than {MAX_SOURCE} bytes"));
    }
    if source.lines().count() > MAX_DIAGRAM_LINES {
        return Err(format!("the text has more than {MAX_DIAGRAM_LINES} lines"));
    }
    let rendered =
        |format| render_diagram(source, format, &RenderConfig::default()).map_err(|error| beginning(&error.to_string(), 500).to_owned());
    let svg = rendered(OutputFormat::Svg)?;
    match harm_in(&svg) {
        Some(harm) => Err(format!("its picture would have {harm}")),
        None => Ok(Drawn { svg, characters: rendered(OutputFormat::Ascii).ok() }),
    }
}

#[cfg(test)]
mod tests;
