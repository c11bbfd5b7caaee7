//! Check of the schemas of predicates against the types of the keys that they name (language 6.2).
//!
//! A word of JSON Schema that is about numbers holds for every text, and one about texts for every number: such a predicate says nothing. One that takes
//! only values of another kind never holds. A finding needs no witness: it is about everything that the key can be wherever the predicate is asked.

use std::collections::BTreeMap;

use crate::dataflow::{
    domain::{TypeId, item_of, key_of},
    fixpoint::Analysis,
    ir::{assert_span, edge_span},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Place},
    path::Segment,
    schema::SchemaWord,
    template::{ElementStep, KindSet},
};
use trellis_engine::program::{Guard, Node, PointIndex, Predicate, PredicateSource, SchemaKey, Speech};

/// The words of JSON Schema that are about one kind of values.
const WORDS: [(&str, KindSet); 25] = [
    ("minimum", KindSet::NUMBER),
    ("maximum", KindSet::NUMBER),
    ("exclusiveMinimum", KindSet::NUMBER),
    ("exclusiveMaximum", KindSet::NUMBER),
    ("multipleOf", KindSet::NUMBER),
    ("minLength", KindSet::TEXT),
    ("maxLength", KindSet::TEXT),
    ("pattern", KindSet::TEXT),
    ("format", KindSet::TEXT),
    ("items", KindSet::LIST),
    ("prefixItems", KindSet::LIST),
    ("minItems", KindSet::LIST),
    ("maxItems", KindSet::LIST),
    ("uniqueItems", KindSet::LIST),
    ("contains", KindSet::LIST),
    ("minContains", KindSet::LIST),
    ("maxContains", KindSet::LIST),
    ("properties", KindSet::MAPPING),
    ("required", KindSet::MAPPING),
    ("minProperties", KindSet::MAPPING),
    ("maxProperties", KindSet::MAPPING),
    ("additionalProperties", KindSet::MAPPING),
    ("patternProperties", KindSet::MAPPING),
    ("propertyNames", KindSet::MAPPING),
    ("dependentRequired", KindSet::MAPPING),
];

/// Everything that a key can be where its predicate is asked, and the first place where it is.
struct Seen {
    of: TypeId,
    asked: Place,
}

/// Reports words that apply to no value that their key can have.
pub(crate) fn check(analysis: &mut Analysis<'_, '_>, tainted: &[bool], found: &mut Vec<Diagnostic>) {
    let program = analysis.program;
    if program.predicates.iter().all(|predicate| predicate.keys.is_empty()) {
        return;
    }
    let mut seen: BTreeMap<(u32, usize), Seen> = BTreeMap::new();
    for at in (0..program.points.len()).filter(|at| !tainted[*at]) {
        let point = PointIndex::from_usize(at);
        let node = program.node(program.point(point).node);
        if node.body == point {
            entered(analysis, node, &mut seen);
        }
        for (on, reply) in (0..).zip(program.replies(&program.point(point).replies)) {
            for edge in reply.edges.clone() {
                let Guard::Predicate(index, _) = program.edges[edge as usize].when else { continue };
                let keys = &program.predicates[index as usize].keys;
                let Some(env) = Some(keys).filter(|keys| !keys.is_empty()).and_then(|_| analysis.reply_at(point, on, &mut |_| {})) else {
                    continue;
                };
                let asked = Place::new(program.path_of(node), edge_span(program, node, edge));
                for (number, key) in keys.iter().enumerate() {
                    let of = analysis.known(&env, &key.path).unwrap_or(TypeId::UNKNOWN);
                    add(analysis, &mut seen, (index, number), Seen { of, asked: asked.clone() });
                }
            }
        }
    }
    for ((index, number), Seen { of, asked }) in seen {
        let predicate = &program.predicates[index as usize];
        let key = &predicate.keys[number];
        found.extend(never(analysis, predicate, key, of, &asked).or_else(|| unfit(analysis, &predicate.name, key, of, &asked)));
    }
}

/// Adds the predicates that entering a node asks: those of its `assert` and of the parts of its content.
fn entered(analysis: &mut Analysis<'_, '_>, node: &Node, seen: &mut BTreeMap<(u32, usize), Seen>) {
    let program = analysis.program;
    let reported = node.content.iter().chain(node.localised.iter().filter_map(|(_, words)| words.content.as_ref()));
    let parts = reported.flat_map(Speech::parts).map(|part| (&part.when, part.origin));
    let asserts = (0..).zip(&node.entry.asserts).map(|(at, (guard, _))| (guard, assert_span(program, node.index, at)));
    let asked: Vec<_> = parts.chain(asserts).filter(|(guard, _)| matches!(guard, Guard::Predicate(..))).collect();
    let Some(env) = Some(&asked).filter(|asked| !asked.is_empty()).and_then(|_| analysis.env_at(node.body)) else { return };
    for (guard, span) in asked {
        let Guard::Predicate(index, _) = *guard else { continue };
        for (number, key) in program.predicates[index as usize].keys.iter().enumerate() {
            let of = analysis.known(&env, &key.path).unwrap_or(TypeId::UNKNOWN);
            add(analysis, seen, (index, number), Seen { of, asked: Place::new(program.path_of(node), span) });
        }
    }
}

fn add(analysis: &mut Analysis<'_, '_>, seen: &mut BTreeMap<(u32, usize), Seen>, key: (u32, usize), more: Seen) {
    match seen.get_mut(&key) {
        Some(known) => known.of = analysis.types.join(known.of, more.of),
        None => drop(seen.insert(key, more)),
    }
}

/// Returns the finding of a key, or of the items that it must contain, of which the schema takes only values of another kind.
fn never(analysis: &mut Analysis<'_, '_>, predicate: &Predicate, key: &SchemaKey, of: TypeId, asked: &Place) -> Option<Diagnostic> {
    let PredicateSource::Schema(schema) = &predicate.source else { return None };
    // Of the entries for one key, one has its words.
    let part = schema.part(key.path.segments()).filter(|_| key.is_needed && !key.words.is_empty())?;
    let whole = format!("`{}`", key.path);
    let takes = analysis.types.of_schema(part.source());
    let mut wrong = apart(analysis, of, takes).map(|words| (whole.clone(), words, &["const", "enum", "type"][..]));
    let words = part.source().as_map().filter(|words| !words.contains("minContains"));
    if wrong.is_none()
        && let Some(contained) = words.and_then(|words| words.get("contains"))
        && is_known(analysis, of)
        && analysis.types.sorts(of) == KindSet::LIST
    {
        let (items, takes) = (analysis.types.inside(of, &[ElementStep::Item]), analysis.types.of_part(part.source(), contained));
        wrong = apart(analysis, items, takes).map(|words| (item_of(&whole), words, &["contains"][..]));
    }
    let (subject, [is, wanted], names) = wrong?;
    let word = key.words.iter().find(|word| word.at.is_empty() && names.contains(&&*word.word.value));
    let message = format!("`{}` can never be true: {subject} must be {wanted}, and is {is} where it is asked", predicate.name);
    let file = &analysis.program.documents[key.place.document as usize].path;
    let found = Diagnostic::new(Code::NeverTrue, file, word.map_or(key.place.span, |word| word.word.span), message);
    Some(found.label(&asked.path, asked.span, "asked here").help(format!("let the schema ask for what `{}` can be", key.path)))
}

/// Returns the descriptions of two types that have no kind of values in common.
fn apart(analysis: &mut Analysis<'_, '_>, one: TypeId, other: TypeId) -> Option<[String; 2]> {
    let sorts = [one, other].map(|side| analysis.types.sorts(side));
    let are_known = is_known(analysis, one) && is_known(analysis, other) && !sorts.contains(&KindSet::NONE);
    let describe = |side| {
        let present = analysis.types.present(side);
        analysis.types.described(present)
    };
    (are_known && !sorts[0].meet(sorts[1])).then(|| [one, other].map(describe))
}

/// Returns the finding of a key whose words apply to nothing that it can be.
fn unfit(analysis: &mut Analysis<'_, '_>, predicate: &str, key: &SchemaKey, of: TypeId, asked: &Place) -> Option<Diagnostic> {
    let (word, about, of) = key.words.iter().find_map(|SchemaWord { at, word }| {
        let (_, about) = WORDS.iter().find(|(name, _)| *name == &*word.value)?;
        let of = inside(analysis, of, at)?;
        let sorts = analysis.types.sorts(of);
        (sorts != KindSet::NONE && !sorts.meet(*about)).then_some((SchemaWord { at: at.clone(), word: word.clone() }, *about, of))
    })?;
    let (sorts, present) = (analysis.types.sorts(of), analysis.types.present(of));
    let described = analysis.types.described(present);
    let subject = word.at.iter().fold(format!("`{}`", key.path), |subject, step| match step {
        Segment::Key(key) => key_of(&subject, key),
        Segment::Index(_) => item_of(&subject),
    });
    let message = format!("`{}` says nothing about {subject}, which is {described} where `{predicate}` is asked", word.word.value);
    let file = &analysis.program.documents[key.place.document as usize].path;
    let help = format!("it applies to {} only: {}", about.name(), remedy(about, sorts));
    Some(Diagnostic::new(Code::TypeMismatch, file, word.word.span, message).label(&asked.path, asked.span, "asked here").help(help))
}

fn is_known(analysis: &Analysis<'_, '_>, of: TypeId) -> bool {
    let of = analysis.types.get(of);
    !of.unknown && !of.dynamic
}

/// Returns the type of a part of a value, where it is there; `None` if something unknown lies on the way.
fn inside(analysis: &mut Analysis<'_, '_>, mut of: TypeId, at: &[Segment]) -> Option<TypeId> {
    for step in at {
        let known = analysis.types.get(of);
        let inner = match step {
            Segment::Key(key) => known.fields.as_ref()?.get(key),
            Segment::Index(_) => known.items?,
        };
        is_known(analysis, of).then_some(())?;
        of = analysis.types.present(inner);
    }
    is_known(analysis, of).then_some(of)
}

/// Returns what an author can do about a word that is about another kind of values.
fn remedy(about: KindSet, sorts: KindSet) -> String {
    match (about, sorts) {
        (KindSet::NUMBER, KindSet::TEXT) => {
            "ask for a number, `input_type: int`, or compare texts with `pattern`, `enum` or `maxLength`".to_owned()
        }
        (KindSet::TEXT, KindSet::NUMBER) => "use `minimum`, `maximum` or `enum` for numbers".to_owned(),
        _ => "let the key hold that, or use a word that fits what it holds".to_owned(),
    }
}
