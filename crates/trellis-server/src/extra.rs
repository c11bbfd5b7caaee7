//! Additions of an application to a server: routes behind the same gates, events on the same stream, and a graph whose sessions it drives itself.

pub use crate::{
    http::{CallsInNeed, ExtraAnswer, ExtraReply, ExtraRequest, ExtraRoute, html},
    hub::News,
    served::SharedGraph,
};
