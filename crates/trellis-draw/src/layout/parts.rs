//! Parts of a layout in the making: the items in a box, and the lines through it.

/// A place at the beginning or the end of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Port {
    pub(super) net: usize,
    pub(super) is_first: bool,
}

/// The part of a line that runs in one box.
#[derive(Debug)]
pub(super) struct ClusterEdge {
    pub(super) from: EdgeEnd,
    pub(super) to: EdgeEnd,
    pub(super) net: usize,
    /// The link that begins here.
    pub(super) link: Option<usize>,
    pub(super) is_back: bool,
}

/// The end of an edge, by its place in the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EdgeEnd {
    Item(usize),
    Port(usize),
}

/// The size of something, across the direction and along it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) across: i64,
    pub(super) along: i64,
}

/// Something with a place in a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    pub(super) layer: usize,
    pub(super) size: Extent,
    /// Half of the room to its neighbours.
    pub(super) gap: i64,
    /// True if it is a part of a line.
    pub(super) is_chain: bool,
}

/// A piece of a line, from one layer to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSegment {
    pub(super) upper: usize,
    pub(super) lower: usize,
    /// The distances from the middle of the vertices at which it touches them.
    pub(super) shifts: (i64, i64),
    /// The weight of a straight line.
    pub(super) weight: i64,
}

/// The vertices that an edge passes, from where it begins to where it ends, and how far from their middles it touches the ends.
#[derive(Debug)]
pub(super) struct EdgePath {
    pub(super) vertices: Vec<usize>,
    pub(super) shifts: (i64, i64),
    pub(super) label: Option<usize>,
}
