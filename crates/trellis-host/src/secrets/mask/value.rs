//! Secrets in values: masked in every text and key, without recursion.

use trellis_core::{Mapping, Value, value::Key};

use super::{MASK, Mask};

/// A list or mapping that is being gone through, behind the value that it holds next.
enum Level<'v> {
    List {
        items: Box<dyn Iterator<Item = &'v Value> + 'v>,
        masked: Vec<Value>,
        is_changed: bool,
        whole: &'v Value,
    },
    Map {
        entries: Box<dyn Iterator<Item = (&'v Key, &'v Value)> + 'v>,
        key: Option<Key>,
        masked: Mapping,
        is_changed: bool,
        whole: &'v Value,
    },
}

/// A value that came out, and whether it is another one.
type Masked = (Value, bool);

impl Mask {
    /// Returns a value without secrets: each text and key has `***` in their place, and a number that is a secret becomes that text. Parts without
    /// secrets are shared with the given value. Keys that become equal are numbered.
    pub fn value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        let (masked, is_changed) = self.masked(&value);
        if is_changed { masked } else { value }
    }

    fn masked(&self, value: &Value) -> Masked {
        let mut levels: Vec<Level<'_>> = Vec::new();
        let mut out = self.begin(value, &mut levels);
        loop {
            let Some(level) = levels.last_mut() else { return out.unwrap_or((Value::Null, false)) };
            if let Some((done, is_new)) = out.take() {
                level.take(done, is_new);
            }
            match level.next(self) {
                Some(next) => out = self.begin(next, &mut levels),
                None => out = levels.pop().map(Level::finish),
            }
        }
    }

    /// Returns a value without parts, masked; pushes any other to the levels.
    fn begin<'v>(&self, value: &'v Value, levels: &mut Vec<Level<'v>>) -> Option<Masked> {
        match value {
            Value::List(items) => {
                levels.push(Level::List { items: Box::new(items.iter()), masked: Vec::new(), is_changed: false, whole: value });
                None
            }
            Value::Map(entries) => {
                let entries = Box::new(entries.iter());
                levels.push(Level::Map { entries, key: None, masked: Mapping::new(), is_changed: false, whole: value });
                None
            }
            Value::Text(text) => {
                let masked = self.text(text);
                let is_new = *masked != **text;
                Some((if is_new { Value::text(masked.into_owned()) } else { value.clone() }, is_new))
            }
            Value::Null | Value::Bool(_) => Some((value.clone(), false)),
            number => {
                let is_secret = self.text(&number.to_json()) == MASK;
                Some((if is_secret { Value::text(MASK) } else { value.clone() }, is_secret))
            }
        }
    }
}

impl<'v> Level<'v> {
    fn next(&mut self, mask: &Mask) -> Option<&'v Value> {
        match self {
            Self::List { items, .. } => items.next(),
            Self::Map { entries, key, masked, is_changed, .. } => {
                let (name, value) = entries.next()?;
                let shown = mask.text(name);
                *key = Some(if *shown == **name && !masked.contains(name) {
                    Key::clone(name)
                } else {
                    *is_changed = true;
                    free_key(masked, &shown)
                });
                Some(value)
            }
        }
    }

    fn take(&mut self, value: Value, is_new: bool) {
        match self {
            Self::List { masked, is_changed, .. } => {
                masked.push(value);
                *is_changed |= is_new;
            }
            Self::Map { key, masked, is_changed, .. } => {
                if let Some(key) = key.take() {
                    masked.insert(key, value);
                }
                *is_changed |= is_new;
            }
        }
    }

    fn finish(self) -> Masked {
        match self {
            Self::List { masked, is_changed: true, .. } => (masked.into(), true),
            Self::Map { masked, is_changed: true, .. } => (masked.into(), true),
            Self::List { whole, .. } | Self::Map { whole, .. } => (whole.clone(), false),
        }
    }
}

/// The key, with a number behind it where it is taken.
fn free_key(taken: &Mapping, key: &str) -> Key {
    let numbered = (2..).map(|number| format!("{key} {number}"));
    std::iter::once(key.to_owned()).chain(numbered).find(|key| !taken.contains(key)).unwrap_or_default().into()
}
