//! Graphs whose nodes write, read and ask about many keys.
//!
//! **Invariant:** as of all generated graphs: the same size gives the same bytes, and they check clean.

use std::fmt::Write as _;

use super::{Dice, File, prose};

/// The values of closed keys.
const COLOURS: [&str; 4] = ["red", "green", "blue", "white"];

/// A dense graph: `nodes` nodes with `ways` ways each, and `keys` keys with types; options are closed, and conditions ask about all of them.
pub fn web(nodes: usize, ways: usize, keys: usize) -> Vec<File> {
    let mut dice = Dice(7);
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("n{at}") };
    let mut files = vec![("trellis.yaml".to_owned(), "name: web\n".to_owned())];
    for at in 0..nodes {
        let mut text = String::from("---\n");
        if at == 0 {
            text.push_str("default_context:\n");
            (0..keys).for_each(|key| writeln!(text, "  {}: {}", of(key), literal(key, &mut dice)).unwrap_or_default());
        }
        let own = dice.below(keys);
        match own % 3 {
            0 => {
                let _ = writeln!(text, "options: [{}]\nsave_to: {}", COLOURS.join(", "), of(own));
            }
            1 => {
                let _ = writeln!(text, "input_type: int\ninput_schema: {{ minimum: 0, maximum: 9 }}\nsave_to: {}", of(own));
            }
            _ => {
                let _ = writeln!(text, "wait: true\nset: {{ {}: {} }}", of(own), literal(own, &mut dice));
            }
        }
        let typed = dice.below(keys);
        let _ = writeln!(text, "context_schema: {{ {}: {} }}\ntransitions:", of(typed), schema(typed));
        for way in 1..ways {
            // Each key at most once, so that no condition stands behind one that says the same.
            let key = (own + way * (keys / ways).max(1)) % keys;
            let _ = writeln!(text, "  - {{ condition: {} == {}, to: {} }}", of(key), literal(key, &mut dice), name(dice.below(nodes)));
        }
        let next = if at + 1 < nodes { name(at + 1) } else { "end".to_owned() };
        let _ = writeln!(text, "  - to: {next}\n---\nNode {at} says {{{{ {} }}}} and {{{{ {} }}}}.\n", of(own), of(typed));
        files.push((format!("{}.md", name(at)), text));
    }
    files.push(("end.md".to_owned(), "---\n---\ndone\n".to_owned()));
    files
}

fn of(key: usize) -> String {
    format!("{}_{key:03}", ["colour", "count", "flag"][key % 3])
}

fn literal(key: usize, dice: &mut Dice) -> String {
    match key % 3 {
        0 => format!("\"{}\"", COLOURS[dice.below(COLOURS.len())]),
        1 => dice.below(10).to_string(),
        _ => (dice.below(2) == 0).to_string(),
    }
}

fn schema(key: usize) -> String {
    match key % 3 {
        0 => format!("{{ enum: [{}] }}", COLOURS.join(", ")),
        1 => "int".to_owned(),
        _ => "bool".to_owned(),
    }
}

/// A graph of about `nodes` nodes of which each third asks, calls or remembers, and the next ones read, guard and decide by it.
pub fn lively(nodes: usize) -> Vec<File> {
    let mut dice = Dice(11);
    let project = "name: lively\nbindings:\n  look_up:\n    effect: none\n    returns: { type: object, required: [status], properties: { status: { enum: [ok, none] }, note: { type: string } } }\n";
    let mut files = vec![("trellis.yaml".to_owned(), project.to_owned())];
    let first = "default_context: { rounds: 0 }\ninput_type: text\nsave_to: name\nto: part_0000/step_0";
    files.push(("start.md".to_owned(), format!("---\n{first}\n---\nWhat is your name?\n")));
    let parts = nodes.saturating_sub(2).div_ceil(6).max(1);
    for part in 0..parts {
        let after = if part + 1 < parts { format!("/part_{:04}/step_0", part + 1) } else { "/end".to_owned() };
        let (answer, found) = (format!("answer_{:02}", part % 40), format!("found_{:02}", part % 40));
        let steps = [
            format!("options: [more, enough, later]\nsave_to: {answer}\nto: step_1\n---\n{} {{{{ name }}}}?\n", prose(&mut dice, 300)),
            format!(
                "transitions:\n  - {{ condition: {answer} == \"later\", to: {after} }}\n  - to: step_2\n---\nYou said {{{{ {answer} }}}}. {}\n",
                prose(&mut dice, 400)
            ),
            format!(
                "do: {{ name: look_up, args: {{ who: \"{{{{ name }}}}\", what: \"{{{{ {answer} }}}}\" }} }}\nsave_to: {found}\non_error: step_4\nto: step_3\n---\n"
            ),
            format!(
                "transitions:\n  - {{ condition: {found}.status == \"none\", to: step_4 }}\n  - to: step_5\n---\n{} {{{{ {found}.note | default('nothing') }}}}\n",
                prose(&mut dice, 500)
            ),
            format!("set: {{ noted: true }}\nappend: {{ log: \"{{{{ sys.node }}}}\" }}\nto: step_5\n---\n{}\n", prose(&mut dice, 600)),
            format!(
                "transitions:\n  - {{ condition: noted is set, to: {after} }}\n  - to: {after}\n---\n{{% if {found} is defined %}}Found.{{% endif %}} {}\n",
                prose(&mut dice, 500)
            ),
        ];
        let file = |(step, text): (usize, &String)| (format!("part_{part:04}/step_{step}.md"), format!("---\n{text}"));
        files.extend(steps.iter().enumerate().map(file));
    }
    files.push(("end.md".to_owned(), "---\n---\nGoodbye, {{ name }}.\n".to_owned()));
    files
}
