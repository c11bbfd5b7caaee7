//! LCOV: nodes are functions, edges and sides of guards are branches.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::wire::{Coverage, Item};

/// Returns the tracefile of a coverage; `prefix` precedes each path.
pub fn lcov(coverage: &Coverage, prefix: &str) -> String {
    let mut files: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in coverage.items.iter().filter(|item| !item.implied) {
        files.entry(&item.path).or_default().push(item);
    }
    files.into_iter().map(|(path, items)| file(&format!("{prefix}{path}"), &items)).collect()
}

fn file(path: &str, items: &[&Item]) -> String {
    let mut out = format!("TN:\nSF:{path}\n");
    let nodes: Vec<_> = items.iter().filter(|item| item.kind == "node").collect();
    for node in &nodes {
        let _ = writeln!(out, "FN:{},{}", node.line, node.node);
    }
    for node in &nodes {
        let _ = writeln!(out, "FNDA:{},{}", node.count, node.node);
    }
    let hit = nodes.iter().filter(|node| node.count > 0).count();
    let _ = writeln!(out, "FNF:{}\nFNH:{hit}", nodes.len());
    let mut blocks: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    let (mut branches, mut taken) = (0, 0);
    let mut order: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for item in items.iter().filter(|item| matches!(&*item.kind, "edge" | "guard")) {
        let names = blocks.entry(item.line).or_default();
        let name = item.outcome.as_deref().unwrap_or("guard");
        let block = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let branch = order.entry((item.line, block)).or_default();
        let count = if item.count > 0 { item.count.to_string() } else { "-".to_owned() };
        let _ = writeln!(out, "BRDA:{},{block},{branch},{count}", item.line);
        *branch += 1;
        branches += 1;
        taken += usize::from(item.count > 0);
    }
    let _ = writeln!(out, "BRF:{branches}\nBRH:{taken}");
    let mut lines: BTreeMap<usize, u64> = BTreeMap::new();
    items.iter().for_each(|item| *lines.entry(item.line).or_default() += item.count);
    for (line, count) in &lines {
        let _ = writeln!(out, "DA:{line},{count}");
    }
    let hit = lines.values().filter(|count| **count > 0).count();
    let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
    out
}
