//! A program made by hand, drawn in each format.

use std::sync::Arc;

use super::*;
use trellis_base::{id::NodeId, path::KeyPath, span::Span, value::Value};
use trellis_engine::program::{Edge, Entry, Failure, Graph, Guard, Limits, NodeIndex, Operand, Point, Reply, Root, Writes};
use trellis_syntax::document::Document;

/// A node with the ways of its body.
type Sketch = (&'static str, Role, Vec<(Outcome, Vec<Edge>)>);

fn edge(when: Guard, to: Target, why: Provenance) -> Edge {
    Edge { when, to, why, origin: Some(Origin { document: 0, span: Span::at(4) }) }
}

fn input_is(value: &str) -> Guard {
    let operand = Operand { root: Root::Input, path: KeyPath::parse("input").unwrap() };
    Guard::Is(operand, true, Value::text(value))
}

fn node(id: &str, index: usize, role: Role, terminal: bool) -> Node {
    let index = u32::try_from(index).unwrap();
    Node {
        id: NodeId::new(id),
        index: NodeIndex(index),
        graph: 0,
        document: 0,
        ordinal: 0,
        span: Span::at(0),
        gate: None,
        body: PointIndex(index),
        content: None,
        localised: Box::default(),
        role,
        entry: Entry::default(),
        terminal,
        output: None,
        end: None,
        reason: None,
        metadata: None,
    }
}

fn program(sketches: Vec<Sketch>) -> Program {
    let document = Document::broken("graph.yaml", "one\ntwo\n");
    let mut program = Program {
        graphs: Vec::new(),
        nodes: Vec::new(),
        points: Vec::new(),
        replies: Vec::new(),
        edges: Vec::new(),
        predicates: Vec::new(),
        by_id: Arc::default(),
        renamed: BTreeMap::new(),
        documents: Arc::new([Arc::new(document)]),
        limits: Limits::default(),
        fingerprint: "".into(),
        waiting: trellis_engine::program::Waiting::default(),
    };
    let count = |length: usize| u32::try_from(length).unwrap();
    for (index, (id, role, replies)) in sketches.into_iter().enumerate() {
        let terminal = replies.iter().flat_map(|(_, edges)| edges).all(|edge| matches!(edge.to, Target::End(_)));
        program.nodes.push(Arc::new(node(id, index, role, terminal)));
        let first = count(program.replies.len());
        for (on, edges) in replies {
            let start = count(program.edges.len());
            program.edges.extend(edges);
            program.replies.push(Reply { on, update: Writes::default(), edges: start..count(program.edges.len()) });
        }
        let replies = first..count(program.replies.len());
        program.points.push(Point { node: NodeIndex(count(index)), part: Part::Body, replies });
    }
    let start = count(program.edges.len());
    program.edges.push(Edge { when: Guard::Always, to: Target::End(Reason::RolledBack), why: Provenance::Rule, origin: None });
    program.replies.push(Reply { on: Outcome::RolledBack, update: Writes::default(), edges: start..start + 1 });
    program.graphs.push(Graph {
        root: "".into(),
        name: None,
        entry: NodeIndex(0),
        inputs: None,
        locale: None,
        types: Box::default(),
        predicates: BTreeMap::new(),
        bindings: BTreeMap::new(),
        host: Box::default(),
        redact: Vec::new(),
        retry: None,
        before_each: None,
        rollback_reply: count(program.replies.len() - 1),
    });
    program
}

fn to(point: u32) -> Target {
    Target::Point(PointIndex(point))
}

fn sample() -> Program {
    let finished = || vec![(Outcome::Pass, vec![edge(Guard::Always, Target::End(Reason::Finished), Provenance::Terminal)])];
    program(vec![
        (
            "start",
            Role::Pass,
            vec![(
                Outcome::Answer,
                vec![
                    edge(input_is("don't \"go\""), to(1), Provenance::Transition),
                    edge(Guard::Always, to(2), Provenance::Option("Buy #1 <now>".into())),
                ],
            )],
        ),
        (
            "orders/start",
            Role::Pass,
            vec![
                (Outcome::Success, vec![edge(Guard::Always, to(3), Provenance::To)]),
                (
                    Outcome::Error,
                    vec![
                        edge(Guard::Attempts(3), Target::Again, Provenance::Retry),
                        edge(Guard::Always, Target::Rollback, Provenance::OnError),
                    ],
                ),
                (Outcome::Denied, vec![edge(Guard::Always, Target::End(Reason::Failed(Failure::Fail)), Provenance::OnDenied)]),
                (Outcome::Signal("interrupt".into()), vec![edge(Guard::Always, to(2), Provenance::OnSignal)]),
            ],
        ),
        ("bye", Role::Pass, finished()),
        ("orders/deep/done", Role::Pass, finished()),
    ])
}

#[test]
fn every_format_draws_each_way_once() {
    let program = sample();
    let drawing = Drawing::new(&program);
    assert_eq!(drawing.arrows.len(), 10);
    let mermaid = draw(&program, Format::Mermaid);
    assert_eq!(mermaid.lines().filter(|line| line.contains("-->") || line.contains("-.->")).count(), 10);
    let dot = draw(&program, Format::Dot);
    assert_eq!(dot.lines().filter(|line| line.contains(" -> ")).count(), 10);
    let json: serde_json::Value = serde_json::from_str(&draw(&program, Format::Json)).unwrap();
    assert_eq!(json["edges"].as_array().unwrap().len(), 10);
}

#[test]
fn mermaid_nests_modules_and_quotes_what_authors_wrote() {
    let text = draw(&sample(), Format::Mermaid);
    assert_eq!(
        text,
        r##"flowchart TD
  n0(("start"))
  n2(["bye"])
  n4{{"rollback"}}
  n5(["end:failed"])
  n6(["end:finished"])
  n7(["end:rolled_back"])
  subgraph "orders"
    n1["orders/start"]
    n3(["orders/deep/done"])
  end
  n0 -->|"input == #34;don't #92;#34;go#92;#34;#34;"| n1
  n0 -->|"Buy #35;1 #60;now#62;"| n2
  n1 --> n3
  n1 -.->|"error retry while attempt #60; 3"| n1
  n1 -.->|"error"| n4
  n1 -.->|"denied fail"| n5
  n1 -.->|"signal interrupt"| n2
  n2 --> n6
  n3 --> n6
  n4 -.->|"unwound"| n7
"##
    );
}

#[test]
fn json_names_the_place_and_the_key_of_each_edge() {
    let json: serde_json::Value = serde_json::from_str(&draw(&sample(), Format::Json)).unwrap();
    let retry = &json["edges"][3];
    assert_eq!((retry["from"].as_str(), retry["to"].as_str()), (Some("orders/start"), Some("orders/start")));
    assert_eq!((retry["outcome"].as_str(), retry["why"].as_str()), (Some("error"), Some("retry")));
    assert_eq!((retry["path"].as_str(), retry["line"].as_u64()), (Some("graph.yaml"), Some(2)));
    assert_eq!(json["edges"][5]["failure"], "fail");
    assert_eq!(json["edges"][9]["line"], serde_json::Value::Null);
}

#[test]
fn subgraphs_of_modules_inside_modules_nest() {
    let finished = || vec![(Outcome::Pass, vec![edge(Guard::Always, Target::End(Reason::Finished), Provenance::Terminal)])];
    let ids = ["start", "a/start", "a/b/start", "a/b/c", "ab/start", "a/z"];
    let text = draw(&program(ids.into_iter().map(|id| (id, Role::Pass, finished())).collect()), Format::Mermaid);
    let blocks = text.lines().filter(|line| line.contains("subgraph") || line.trim() == "end").collect::<Vec<_>>();
    assert_eq!(blocks, ["  subgraph \"a\"", "    subgraph \"a/b\"", "    end", "  end", "  subgraph \"ab\"", "  end"]);
}
