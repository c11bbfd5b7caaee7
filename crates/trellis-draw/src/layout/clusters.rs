//! Clusters: the visible parts of a drawing, and their boxes.

use std::{collections::BTreeMap, fmt::Write as _};

use rustc_hash::FxHashMap;

use super::LayoutSettings;
use crate::{Drawing, DrawnKind, DrawnNode, Path, label, path::marks};

/// The most characters of a label.
const LABEL: usize = 34;

/// A clustered graph: items in boxes, and the links between them.
#[derive(Debug)]
pub(super) struct ClusterGraph<'d> {
    /// Modules, each behind the one that holds it; the first one is the drawing itself.
    pub(super) modules: Vec<Module<'d>>,
    pub(super) items: Vec<ClusterItem>,
    pub(super) links: Vec<Link>,
}

#[derive(Debug)]
pub(super) struct Module<'d> {
    pub(super) id: &'d str,
    /// The module that holds it; the drawing holds itself.
    pub(super) parent: usize,
    pub(super) depth: usize,
    /// Itself as an item, where it is shown.
    pub(super) item: Option<usize>,
    pub(super) is_open: bool,
    pub(super) nodes: usize,
    pub(super) modules: usize,
}

/// Something with a place in a box.
#[derive(Debug)]
pub(super) struct ClusterItem {
    pub(super) kind: ItemKind,
    /// The open module whose box it is in.
    pub(super) module: usize,
    /// True if its graph or its module begins there.
    pub(super) is_start: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A spot of the drawing.
    Spot(usize),
    /// A collapsed module.
    Closed(usize),
    /// A module with its own items.
    Open(usize),
}

/// All arrows of one kind from one item to another.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) is_main: bool,
    /// The arrows, by their places in the drawing.
    pub(super) arrows: Vec<usize>,
    /// Its words; empty without any.
    pub(super) label: String,
}

impl Link {
    /// Returns the net of the link: links of one kind to one item share the last part of their line.
    pub(super) fn net(&self) -> usize {
        self.to * 2 + usize::from(self.is_main)
    }
}

impl<'d> ClusterGraph<'d> {
    pub(super) fn new(drawing: &'d Drawing<'_>, settings: &LayoutSettings, path: Option<&Path>) -> Self {
        let mut graph = Self { modules: modules(drawing, settings), items: Vec::new(), links: Vec::new() };
        let by_id: BTreeMap<_, _> = graph.modules.iter().enumerate().map(|(at, module)| (module.id, at)).collect();
        let homes: Vec<_> = drawing.spots.iter().map(|spot| by_id[home(spot)]).collect();
        let shown: Vec<_> = homes.iter().enumerate().map(|(spot, &home)| graph.show(drawing, spot, home)).collect();
        graph.count(drawing, &homes);
        graph.link(drawing, &shown, settings.has_labels, path);
        graph
    }

    /// The name of an item: that of a module ends with `/`, which no node's does.
    pub(super) fn name(&self, drawing: &Drawing<'_>, item: usize) -> String {
        match self.items[item].kind {
            ItemKind::Spot(spot) => drawing.spots[spot].id.clone(),
            ItemKind::Closed(module) | ItemKind::Open(module) => format!("{}/", self.modules[module].id),
        }
    }

    /// The item that shows a spot.
    fn show(&mut self, drawing: &Drawing<'_>, spot: usize, home: usize) -> usize {
        let mut box_ = home;
        let mut closed = None;
        loop {
            if !self.modules[box_].is_open {
                closed = Some(box_);
            }
            if box_ == 0 {
                break;
            }
            box_ = self.modules[box_].parent;
        }
        if let Some(closed) = closed {
            return self.item_of(closed);
        }
        self.open(home);
        let module = self.modules[home].id;
        let is_start = drawing.spots[spot].entry || drawing.spots[spot].id.strip_suffix("/start") == Some(module);
        self.items.push(ClusterItem { kind: ItemKind::Spot(spot), module: home, is_start });
        self.items.len() - 1
    }

    /// Gives the boxes around an open module their items, outermost first.
    fn open(&mut self, module: usize) {
        let mut missing = Vec::new();
        let mut at = module;
        while at != 0 && self.modules[at].item.is_none() {
            missing.push(at);
            at = self.modules[at].parent;
        }
        for module in missing.into_iter().rev() {
            self.item_of(module);
        }
    }

    fn item_of(&mut self, module: usize) -> usize {
        if let Some(item) = self.modules[module].item {
            return item;
        }
        let (parent, is_open) = (self.modules[module].parent, self.modules[module].is_open);
        self.open(parent);
        let kind = if is_open { ItemKind::Open(module) } else { ItemKind::Closed(module) };
        self.items.push(ClusterItem { kind, module: parent, is_start: false });
        self.modules[module].item = Some(self.items.len() - 1);
        self.items.len() - 1
    }

    /// Counts the content of the modules.
    fn count(&mut self, drawing: &Drawing<'_>, homes: &[usize]) {
        for (spot, &home) in drawing.spots.iter().zip(homes) {
            if spot.at.is_some() {
                self.modules[home].nodes += 1;
            }
        }
        for at in (1..self.modules.len()).rev() {
            let (parent, nodes, modules) = (self.modules[at].parent, self.modules[at].nodes, self.modules[at].modules);
            self.modules[parent].nodes += nodes;
            self.modules[parent].modules += modules + 1;
        }
    }

    fn link(&mut self, drawing: &Drawing<'_>, shown: &[usize], has_labels: bool, path: Option<&Path>) {
        let mut known = FxHashMap::default();
        for (at, arrow) in drawing.arrows.iter().enumerate() {
            let (from, to) = (shown[arrow.from], shown[arrow.to]);
            if from == to && matches!(self.items[from].kind, ItemKind::Closed(_)) {
                continue;
            }
            let is_main = arrow.is_main();
            let link = *known.entry((from, to, is_main)).or_insert_with(|| {
                self.links.push(Link { from, to, is_main, arrows: Vec::new(), label: String::new() });
                self.links.len() - 1
            });
            self.links[link].arrows.push(at);
        }
        for link in self.links.iter_mut().filter(|_| has_labels) {
            link.label = words(drawing, link, &self.items, path);
        }
    }
}

/// Returns the module that a spot is drawn in: for a rollback, its graph.
fn home<'d>(spot: &DrawnNode<'d>) -> &'d str {
    match spot.kind {
        DrawnKind::Rollback => spot.graph.unwrap_or_default(),
        _ => spot.module,
    }
}

/// The modules of a drawing, outer ones first.
fn modules<'d>(drawing: &Drawing<'d>, settings: &LayoutSettings) -> Vec<Module<'d>> {
    let mut at = BTreeMap::from([("", 0)]);
    at.extend(drawing.spots.iter().map(|spot| (home(spot), 0)));
    let mut modules: Vec<Module<'d>> = Vec::new();
    for (number, (id, place)) in at.iter_mut().enumerate() {
        *place = number;
        let is_open = id.is_empty() || !settings.collapsed.contains(*id);
        modules.push(Module { id, parent: 0, depth: 0, item: None, is_open, nodes: 0, modules: 0 });
    }
    for number in 1..modules.len() {
        let mut above = modules[number].id;
        let parent = loop {
            above = above.rsplit_once('/').map_or("", |(above, _)| above);
            if let Some(&parent) = at.get(above) {
                break parent;
            }
        };
        (modules[number].parent, modules[number].depth) = (parent, modules[parent].depth + 1);
    }
    modules
}

/// Returns the label of a line: empty between collapsed modules, where it would be about one of many.
fn words(drawing: &Drawing<'_>, link: &Link, items: &[ClusterItem], path: Option<&Path>) -> String {
    if [link.from, link.to].iter().all(|&item| matches!(items[item].kind, ItemKind::Closed(_))) {
        return String::new();
    }
    let mut all: Vec<String> = Vec::new();
    for &arrow in &link.arrows {
        let walked = path.and_then(|path| path.arrows.get(&arrow)).map(|walked| marks(walked));
        let words = [walked.clone().unwrap_or_default(), label::arrow(&drawing.arrows[arrow])];
        let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ");
        if !words.is_empty() && !all.contains(&words) {
            // Edges of the path come first.
            all.insert(if walked.is_some() { 0 } else { all.len() }, words);
        }
    }
    let mut shown = all.first().map(|first| cut(first)).unwrap_or_default();
    for (at, words) in all.iter().enumerate().skip(1) {
        if shown.chars().count() + words.chars().count() + 3 > LABEL - 3 {
            let _ = write!(shown, " +{}", all.len() - at);
            break;
        }
        let _ = write!(shown, " · {words}");
    }
    shown
}

/// A text of at most the length of a label.
fn cut(text: &str) -> String {
    if text.chars().count() <= LABEL - 3 {
        return text.to_owned();
    }
    text.chars().take(LABEL - 4).chain(['…']).collect()
}
