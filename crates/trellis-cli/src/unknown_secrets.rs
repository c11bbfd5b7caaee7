//! Secrets that this host cannot fill in, and names that share one variable (language 9.8, 11.1).
//!
//! Like `unbound-tool`, whose code they have, these findings depend on the host: `check --host` reports them.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{Code, Diagnostic, Program, diagnostic::Place};
use trellis_host::{
    Secrets,
    secrets::{is_name, named_in, variable},
};

/// Returns one finding for each name: at its first place, with the other places as labels; sorted.
pub(crate) fn unknown_secrets(program: &Program, secrets: &Secrets) -> Vec<Diagnostic> {
    let mut names = BTreeMap::<Arc<str>, Vec<Place>>::new();
    for document in program.documents() {
        for (name, place) in named_in(document) {
            names.entry(name).or_default().push(place);
        }
    }
    names.values_mut().for_each(|places| places.sort());
    let unknown = names.iter().filter_map(|(name, places)| {
        let why = secrets.find(name).err()?.to_string();
        let (why, help) = why.split_once("; ").map_or((&*why, None), |(why, help)| (why, Some(help.to_owned())));
        Some(finding(places, why.to_owned(), "named here too")?.help_maybe(help))
    });
    let mut findings: Vec<_> = unknown.chain(same_variable(&names)).collect();
    findings.sort_by(|a, b| a.order().cmp(&b.order()));
    findings
}

/// Names that one variable would give one value.
fn same_variable(names: &BTreeMap<Arc<str>, Vec<Place>>) -> impl Iterator<Item = Diagnostic> {
    let mut by_variable = BTreeMap::<String, Vec<(&Arc<str>, &Place)>>::new();
    for (name, places) in names.iter().filter(|(name, _)| is_name(name)) {
        by_variable.entry(variable(name)).or_default().extend(places.first().map(|place| (name, place)));
    }
    by_variable.into_iter().filter(|(_, named)| named.len() > 1).filter_map(|(variable, named)| {
        let list = named.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        let places: Vec<Place> = named.iter().map(|(_, place)| (*place).clone()).collect();
        let message = format!("the secrets {list} share one variable, `{variable}`");
        Some(finding(&places, message, "the other one")?.help("give them names that differ in letters or digits"))
    })
}

fn finding(places: &[Place], message: String, label: &'static str) -> Option<Diagnostic> {
    let (first, others) = places.split_first()?;
    let found = Diagnostic::new(Code::UnboundTool, &first.path, first.span, message);
    Some(others.iter().fold(found, |found, place| found.label(&place.path, place.span, label)))
}
