//! Layouts of graphs of every shape: nothing overlaps, nothing is lost, and an edit moves little.

use std::{fmt::Write as _, sync::Arc};

use super::*;
use crate::{Format, draw, picture};
use trellis_base::template::Dialect;
use trellis_compiler::compile;
use trellis_engine::program::Program;
use trellis_syntax::document::{Document, Source};

fn program(files: &[(&str, &str)]) -> Arc<Program> {
    let documents: Vec<_> =
        files.iter().map(|(path, text)| Arc::new(Document::parse(&Source::text(*path, text), Dialect::default()))).collect();
    let compiled = compile(&documents);
    compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

/// A graph in modules, with ways that lead back, skip and end, and a node that leads to itself.
fn orders() -> Arc<Program> {
    program(&[
        (
            "start.md",
            "---\noptions:\n  - { text: Buy, to: orders }\n  - { text: Leave, to: bye }\n  - { text: Again, to: start }\n---\nHi\n",
        ),
        ("bye.md", "---\n---\nBye\n"),
        ("orders/start.md", "---\ninput_type: text\nsave_to: a\nto: pay\n---\nWhich?\n"),
        (
            "orders/pay.md",
            "---\noptions:\n  - { text: Card, to: card }\n  - { text: Back, to: start }\n  - { text: Bye, to: bye }\n---\nHow?\n",
        ),
        ("orders/card/start.md", "---\ninput_type: text\nsave_to: b\nto: check\n---\nNumber?\n"),
        ("orders/card/check.md", "---\noptions:\n  - { text: Wrong, to: start }\n  - { text: Right, to: bye }\n---\nRight?\n"),
    ])
}

fn settings(collapsed: &[&str], direction: Direction, has_labels: bool) -> LayoutSettings {
    LayoutSettings { direction, has_labels, collapsed: collapsed.iter().map(ToString::to_string).collect() }
}

fn is_apart(one: &Area, other: &Area) -> bool {
    one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y
}

fn is_within(inner: &Area, outer: &Area) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.width <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height
}

fn touches(area: &Area, (x, y): (i64, i64)) -> bool {
    x >= area.x && x <= area.x + area.width && y >= area.y && y <= area.y + area.height
}

/// Checks the properties of every layout.
fn holds(drawing: &Drawing<'_>, settings: &LayoutSettings, layout: &Layout) {
    let whole = Area { x: 0, y: 0, width: layout.width, height: layout.height };
    let modules: BTreeMap<_, _> = layout.modules.iter().map(|module| (&*module.id, module)).collect();
    let mut solid: Vec<(&str, &Area)> = layout.nodes.iter().map(|node| (&*node.id, &node.area)).collect();
    solid.extend(layout.modules.iter().filter(|module| module.is_collapsed).map(|module| (&*module.id, &module.area)));
    solid.extend(layout.edges.iter().filter_map(|edge| edge.label.as_ref()).map(|label| (&*label.text, &label.area)));
    for (at, (name, area)) in solid.iter().enumerate() {
        assert!(is_within(area, &whole), "`{name}` {area:?} is not within {whole:?}");
        for (other, beside) in &solid[..at] {
            assert!(is_apart(area, beside), "`{name}` {area:?} lies on `{other}` {beside:?}");
        }
    }
    for node in &layout.nodes {
        let spot = drawing.spots.iter().find(|spot| spot.id == node.id).unwrap();
        if let Some(module) = modules.get(spot.module) {
            assert!(is_within(&node.area, &module.area), "{node:?} is not within {module:?}");
        }
    }
    let mut drawn = vec![0; drawing.arrows.len()];
    for edge in &layout.edges {
        edge.edges.iter().for_each(|&arrow| drawn[arrow] += 1);
        let area = |id: &str, is_module: bool| match is_module {
            true => modules[id].area,
            false => layout.nodes.iter().find(|node| node.id == id).unwrap().area,
        };
        assert!(touches(&area(&edge.from, edge.from_module), edge.points[0]), "{edge:?}");
        assert!(touches(&area(&edge.to, edge.to_module), *edge.points.last().unwrap()), "{edge:?}");
    }
    for (arrow, drawn) in drawing.arrows.iter().zip(drawn) {
        let hidden = |spot: usize| settings.collapsed.iter().find(|module| drawing.spots[spot].module.starts_with(&***module));
        let is_inside = hidden(arrow.from).is_some() && hidden(arrow.from) == hidden(arrow.to);
        assert_eq!(drawn, usize::from(!is_inside), "{} → {}", drawing.spots[arrow.from].id, drawing.spots[arrow.to].id);
    }
}

#[test]
fn nothing_overlaps_and_every_arrow_is_drawn() {
    let program = orders();
    let drawing = Drawing::new(&program);
    for direction in [Direction::Down, Direction::Right] {
        for collapsed in [&[][..], &["orders"], &["orders/card"], &["nowhere"]] {
            for has_labels in [false, true] {
                let settings = settings(collapsed, direction, has_labels);
                let layout = Layout::new(&drawing, &settings, None);
                holds(&drawing, &settings, &layout);
                assert_eq!(layout, Layout::new(&drawing, &settings, None), "same twice");
            }
        }
    }
}

#[test]
fn a_collapsed_module_is_one_box_with_counts() {
    let program = orders();
    let layout = Layout::new(&Drawing::new(&program), &settings(&["orders"], Direction::Down, false), None);
    let [orders] = &layout.modules[..] else { panic!("{:?}", layout.modules) };
    assert_eq!((orders.is_collapsed, orders.nodes, orders.modules, orders.area.width, orders.area.height), (true, 4, 1, 160, 44));
    assert!(layout.edges.iter().any(|edge| edge.from_module && edge.from == "orders" && edge.to == "bye"));
    assert!(!layout.nodes.iter().any(|node| node.id.starts_with("orders/")));
    assert_eq!(layout.collapsed, ["orders"]);
}

#[test]
fn many_nodes_begin_with_their_modules_collapsed() {
    let mut files = vec![("start.md".to_owned(), "---\nto: m0\n---\n".to_owned())];
    for module in 0..5 {
        let next = format!("/m{}", module + 1);
        for node in 0..90 {
            let name = |node: usize| if node == 0 { "start".to_owned() } else { format!("n{node}") };
            let to = if node < 89 {
                name(node + 1)
            } else if module == 4 {
                "/end".to_owned()
            } else {
                next.clone()
            };
            files.push((format!("m{module}/{}.md", name(node)), format!("---\nto: {to}\n---\n")));
        }
    }
    files.push(("end.md".to_owned(), "---\n---\nEnd\n".to_owned()));
    let program = program(&files.iter().map(|(path, text)| (&**path, &**text)).collect::<Vec<_>>());
    let drawing = Drawing::new(&program);
    let start = LayoutSettings::for_drawing(&drawing);
    assert_eq!(start.collapsed.len(), 5);
    let layout = Layout::new(&drawing, &start, None);
    holds(&drawing, &start, &layout);
    assert_eq!((layout.modules.len(), layout.nodes.len()), (5, 3));
    let open = LayoutSettings::default();
    holds(&drawing, &open, &Layout::new(&drawing, &open, None));
    assert!(LayoutSettings::for_drawing(&Drawing::new(&orders())).collapsed.is_empty());
}

/// A node that is added moves no other node past its neighbours (5.4).
#[test]
fn an_edit_keeps_the_order_of_what_was_there() {
    let graph = |extra: &str| {
        let mut start = String::from("---\noptions:\n");
        let names = ["c", "a", "d", "b"];
        for name in names.iter().copied().chain(Some(extra).filter(|extra| !extra.is_empty())) {
            let _ = writeln!(start, "  - {{ text: {name}, to: {name} }}");
        }
        let mut files = vec![("start.md".to_owned(), format!("{start}---\nGo\n"))];
        files.extend(
            names.iter().chain([&extra]).filter(|name| !name.is_empty()).map(|name| (format!("{name}.md"), "---\n---\nx\n".to_owned())),
        );
        program(&files.iter().map(|(path, text)| (&**path, &**text)).collect::<Vec<_>>())
    };
    let order = |layout: &Layout| {
        let mut nodes: Vec<_> = layout.nodes.iter().filter(|node| node.id.len() == 1).map(|node| (node.area.x, node.id.clone())).collect();
        nodes.sort();
        nodes.into_iter().map(|(_, id)| id).collect::<String>()
    };
    let (before, after) = (graph(""), graph("aa"));
    let layout = Layout::new(&Drawing::new(&before), &LayoutSettings::default(), None);
    // As if somebody had sorted them otherwise.
    let mut turned = layout.clone();
    turned.nodes.iter_mut().for_each(|node| node.area.x = layout.width - node.area.x);
    let edited = Layout::new(&Drawing::new(&after), &LayoutSettings::default(), Some(&turned));
    assert_eq!(order(&edited), order(&layout).chars().rev().collect::<String>());
}

#[test]
fn a_long_ring_and_a_dense_graph_are_laid_out() {
    let ring: Vec<_> = (0..3_000)
        .map(|at| (if at == 0 { "start.md".to_owned() } else { format!("n{at}.md") }, at))
        .map(|(path, at)| {
            (
                path,
                format!(
                    "---\noptions: [{{ text: on, to: {} }}, {{ text: end, to: end }}]\n---\nx\n",
                    if at == 2_999 { "start".to_owned() } else { format!("n{}", at + 1) }
                ),
            )
        })
        .chain([("end.md".to_owned(), "---\n---\nx\n".to_owned())])
        .collect();
    let ring = program(&ring.iter().map(|(path, text)| (&**path, &**text)).collect::<Vec<_>>());
    let drawing = Drawing::new(&ring);
    let layout = Layout::new(&drawing, &LayoutSettings::default(), None);
    holds(&drawing, &LayoutSettings::default(), &layout);
    assert_eq!(layout.nodes.len(), drawing.spots.len());
}

/// Texts of authors end no text of a picture.
#[test]
fn a_picture_escapes_what_authors_wrote() {
    let nodes = "---\noptions:\n  - { text: '</text><script>\"&', to: end }\n---\nGo\n";
    let program = program(&[("start.md", nodes), ("end.md", "---\n---\nEnd\n")]);
    let svg = draw(&program, Format::Svg);
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&quot;&amp;") && !svg.contains("<script"), "{svg}");
    let drawing = Drawing::new(&program);
    let layout = Layout::new(&drawing, &LayoutSettings { has_labels: true, ..LayoutSettings::default() }, None);
    assert_eq!(picture(&drawing, &layout), svg);
}
