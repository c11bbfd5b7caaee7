//! Diagrams, among them those of the documentation (orchestrator 6, 6.3).

use std::{env, fs, path::Path};

use super::*;

#[test]
fn the_usual_diagrams_are_drawn() {
    for source in [
        "flowchart TD\n  A[Start] --> B{Is it?}\n  B -- yes --> C[Done]",
        "sequenceDiagram\n  Ana->>Ben: hello\n  Ben-->>Ana: hi",
        "stateDiagram-v2\n  [*] --> Open\n  Open --> [*]",
        "classDiagram\n  Animal <|-- Duck",
        "flowchart LR\n  가[시작] --> 나[끝]",
    ] {
        let drawn = draw(source).unwrap_or_else(|why| panic!("{source}: {why}"));
        assert!(drawn.svg.contains("<svg") && harm_in(&drawn.svg).is_none(), "{source}");
        assert!(drawn.characters.as_ref().is_some_and(|text| text.lines().count() > 2), "{source}");
        assert_eq!(draw(source).expect("the same again"), drawn, "{source}");
    }
}

// orchestrator 6, 10.3: no script, no foreignObject, no address, whatever the text says
#[test]
fn a_diagram_does_no_harm() {
    for source in [
        "flowchart TD\n  A[\"<script>alert(1)</script>\"] --> B[\"<img src=x onerror=alert(1)>\"]",
        "flowchart TD\n  A --> B\n  click A href \"javascript:alert(1)\"\n  click B \"https://evil.example\"",
        "%%{init: {\"securityLevel\": \"loose\", \"flowchart\": {\"htmlLabels\": true}, \"themeCSS\": \"@import url(https://evil.example)\"}}%%\nflowchart TD\n  A[\"<iframe src='https://evil.example'></iframe>\"] --> B",
        "flowchart TD\n  A --> B\n  style A fill:url(https://evil.example/x)",
        "flowchart TD\n  A@{ img: \"https://evil.example/a.png\", label: \"x\" }",
        "sequenceDiagram\n  participant A as <svg onload=alert(1)>\n  A->>A: </text><script>1</script>",
    ] {
        // A harmful diagram is not drawn at all.
        let Ok(Drawn { svg, .. }) = draw(source) else { continue };
        assert_eq!(harm_in(&svg), None, "{source}");
        assert!(!svg.contains("<script") && !svg.contains("<foreignObject"), "{source}");
    }
}

// orchestrator 6: 64 KiB, 2 s
#[test]
fn a_diagram_has_its_bounds() {
    assert!(draw(&"x".repeat(MAX_SOURCE + 1)).expect_err("too long").contains("65536 bytes"));
    assert!(draw("no diagram at all").is_err() && draw("").is_err() && draw("flowchart TD\n  A --> ").is_err());
    let edges: String = (0..MAX_DIAGRAM_LINES).map(|number| format!("  n{number} --> n{}\n", (number * 7) % MAX_DIAGRAM_LINES)).collect();
    assert!(draw(&format!("flowchart TD\n{edges}")).expect_err("too many lines").contains("300 lines"));
}

#[test]
fn what_cannot_be_drawn_is_a_fence() {
    let value = source_result("flowchart ```", "it is none");
    let text = value.get("text").and_then(Value::as_str).expect("text");
    assert_eq!(text, "```mermaid\nflowchart ```\n```");
    assert_eq!(value.get("drawn"), Some(&Value::Bool(false)));
}

// orchestrator 6.3: the pictures of the documentation are made by the tool. UPDATE=1 makes them again
#[test]
fn the_pictures_of_the_documentation_are_drawn_by_the_tool() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagrams");
    for name in ["orchestrator-flow", "sensitive-seal-flow"] {
        let source = fs::read_to_string(folder.join(format!("{name}.mmd"))).expect("its text");
        let drawn = draw(&source).unwrap_or_else(|why| panic!("{name}: {why}")).svg + "\n";
        let file = folder.join(format!("{name}.svg"));
        if env::var_os("UPDATE").is_some() {
            fs::write(&file, &drawn).expect("written");
        }
        assert!(
            fs::read_to_string(&file).is_ok_and(|known| known == drawn),
            "docs/diagrams/{name}.svg is another one: `UPDATE=1 cargo test -p trellis-orchestrator --lib diagram` makes it"
        );
    }
}
