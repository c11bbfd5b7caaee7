//! Layout: places for the spots and arrows of a drawing, in whole pixels.
//!
//! Modules are boxes. Each is laid out by itself, inside first, then as one item among the nodes beside it. Within a box, edges that lead back
//! are reversed, longest paths give the layers, sweeps of barycentres their order, and isotonic regression the places.
//!
//! **Invariant:** same drawing, same settings, same layout before: same layout. Nothing recurses, and nothing is a fraction.

mod chain;
mod clusters;
mod layer;
mod level;
mod order;
mod parts;
mod place;
mod route;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Drawing, Path};

/// The length of a node along a line of text.
pub const NODE_WIDTH: i64 = 160;
/// The height of a node.
pub const NODE_HEIGHT: i64 = 44;
/// Drawings with more nodes begin with their modules collapsed.
pub const MANY_NODES: usize = 400;

/// The direction in which a drawing is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the top to the bottom.
    #[default]
    Down,
    /// From the left to the right.
    Right,
}

/// The settings of a layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutSettings {
    /// The direction.
    pub direction: Direction,
    /// Modules that are one box each. Names that no module has are passed over.
    pub collapsed: BTreeSet<String>,
    /// True if the labels of arrows get places of their own.
    pub has_labels: bool,
}

impl LayoutSettings {
    /// The settings with which a drawing begins: all modules are collapsed if it has more than [`MANY_NODES`] nodes.
    pub fn for_drawing(drawing: &Drawing<'_>) -> Self {
        let nodes = drawing.spots.iter().filter(|spot| spot.at.is_some());
        let is_large = nodes.clone().count() > MANY_NODES;
        let modules = nodes.map(|node| node.module).filter(|module| is_large && !module.is_empty());
        Self { collapsed: modules.map(str::to_owned).collect(), ..Self::default() }
    }
}

/// A laid out drawing. Coordinates are pixels from its upper left corner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Layout {
    /// The direction in which it is read.
    pub direction: Direction,
    /// Its width.
    pub width: i64,
    /// Its height.
    pub height: i64,
    /// The modules that are collapsed, also those inside of others.
    pub collapsed: Vec<String>,
    /// The spots that are shown, in the order of the drawing.
    pub nodes: Vec<PlacedNode>,
    /// The modules that are shown, outer ones before inner ones.
    pub modules: Vec<PlacedModule>,
    /// The lines, each for all arrows from one end to another.
    pub edges: Vec<PlacedEdge>,
}

/// A spot with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlacedNode {
    /// The id of the spot.
    pub id: String,
    /// Its rectangle.
    #[serde(flatten)]
    pub area: Area,
}

/// A module with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlacedModule {
    /// The folder of the module.
    pub id: String,
    /// Its rectangle.
    #[serde(flatten)]
    pub area: Area,
    /// True if it is one box without content.
    #[serde(rename = "collapsed")]
    pub is_collapsed: bool,
    /// The nodes in it and in the modules inside of it.
    pub nodes: usize,
    /// The modules inside of it.
    pub modules: usize,
}

/// A line with its places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlacedEdge {
    /// The id of the spot or collapsed module that is left.
    pub from: String,
    /// The id of the spot or collapsed module that is reached.
    pub to: String,
    /// True if `from` is a module.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_module: bool,
    /// True if `to` is a module.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub to_module: bool,
    /// The arrows that it represents, by their places in the drawing.
    pub edges: Vec<usize>,
    /// True if it belongs to the main flow, on which no failure occurs.
    #[serde(rename = "main")]
    pub is_main: bool,
    /// True if it leads against the direction of the drawing.
    #[serde(rename = "back")]
    pub is_back: bool,
    /// Its corners. Where both coordinates change from one to the next, an S of vertical tangents (horizontal ones, if the direction is `right`) looks
    /// better than a straight line.
    pub points: Vec<(i64, i64)>,
    /// Its words, where labels have places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<PlacedLabel>,
}

/// The words of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlacedLabel {
    /// The label, cut to the space that it has.
    pub text: String,
    /// Their rectangle.
    #[serde(flatten)]
    pub area: Area,
}

/// A rectangle: its upper left corner and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Area {
    /// The left side.
    pub x: i64,
    /// The upper side.
    pub y: i64,
    /// The width.
    pub width: i64,
    /// The height.
    pub height: i64,
}

impl Layout {
    /// Lays a drawing out. Items of the previous layout keep their order, unless a new order has far fewer crossings.
    pub fn new(drawing: &Drawing<'_>, settings: &LayoutSettings, before: Option<&Layout>) -> Self {
        Self::with_path(drawing, settings, before, None)
    }

    /// As [`Layout::new`]; labels have the numbers of a path's hops, too.
    pub(super) fn with_path(drawing: &Drawing<'_>, settings: &LayoutSettings, before: Option<&Layout>, path: Option<&Path>) -> Self {
        let graph = clusters::ClusterGraph::new(drawing, settings, path);
        let before = before.filter(|before| before.direction == settings.direction).map(Layout::centres).unwrap_or_default();
        let mut levels = level::Levels::new(&graph);
        levels.place(drawing, &graph, settings, &before);
        route::layout(drawing, &graph, &levels, settings)
    }

    /// Returns the places across the direction, by id; the ids of modules end with `/`.
    fn centres(&self) -> BTreeMap<String, i64> {
        let centre = |area: &Area| match self.direction {
            Direction::Down => area.x + area.width / 2,
            Direction::Right => area.y + area.height / 2,
        };
        let nodes = self.nodes.iter().map(|node| (node.id.clone(), centre(&node.area)));
        nodes.chain(self.modules.iter().map(|module| (format!("{}/", module.id), centre(&module.area)))).collect()
    }
}

#[cfg(test)]
mod tests;
