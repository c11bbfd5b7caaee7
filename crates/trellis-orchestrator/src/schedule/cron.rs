//! Cron expressions of five fields: minute, hour, day, month, day of the week.

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};

use super::moment_of;
use crate::texts::Language;

/// Days that are searched for the next run: a leap day on a certain day of the week comes within 40 years at the latest.
const DAYS: usize = 41 * 366;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// An expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said(Language::English))]
pub struct BadExpression {
    /// The expression.
    pub text: String,
    /// The reason.
    pub why: BadField,
}

/// The mistake of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadField {
    /// It has so many fields, which are not five.
    Count(usize),
    /// A value is no number or name, or lies outside its bounds.
    Value {
        /// The value.
        text: String,
        /// The smallest one.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// A step is none.
    Step(String),
    /// A range ends before it begins.
    Order(String),
}

impl BadExpression {
    /// Why it cannot be read, for people.
    pub fn said(&self, language: Language) -> String {
        let why = match &self.why {
            BadField::Count(count) => language.fill("cron_fields", &[("count", &count.to_string())]),
            BadField::Value { text, least, most } => {
                language.fill("cron_value", &[("text", text), ("least", &least.to_string()), ("most", &most.to_string())])
            }
            BadField::Step(text) => language.fill("cron_step", &[("text", text)]),
            BadField::Order(text) => language.fill("cron_order", &[("text", text)]),
        };
        language.fill("cron_expression", &[("text", &self.text), ("why", &why)])
    }
}

/// A cron expression: a bit for each value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronExpression {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// True if both the day and the day of the week are restricted: one of them is enough then.
    either: bool,
}

impl CronExpression {
    /// Reads an expression: `*`, numbers, names, ranges, lists and steps.
    ///
    /// # Errors
    /// It has other than five fields, or one of them cannot be read.
    pub fn parse(text: &str) -> Result<Self, BadExpression> {
        let bad = |why: BadField| BadExpression { text: text.to_owned(), why };
        let fields: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let [minute, hour, day, month, weekday] = &fields[..] else { return Err(bad(BadField::Count(fields.len()))) };
        let weekdays = bits(weekday, 0, 7, &WEEKDAYS).map_err(&bad)?;
        Ok(Self {
            minutes: bits(minute, 0, 59, &[]).map_err(&bad)?,
            hours: bits(hour, 0, 23, &[]).map_err(&bad)?,
            days: bits(day, 1, 31, &[]).map_err(&bad)?,
            months: bits(month, 1, 12, &MONTHS).map_err(&bad)?,
            // Sunday is 0 and 7.
            weekdays: weekdays & 0x7f | weekdays >> 7,
            either: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// Returns the first match after a time, in a time zone; `None` if there is none.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let first = zone.to_datetime(after).date();
        let mut days = (0..DAYS).map_while(|number| first.checked_add(i64::try_from(number).ok()?.days()).ok());
        days.find_map(|day| self.has_day(day).then(|| self.within(day, after, zone)).flatten())
    }

    fn has_day(&self, day: Date) -> bool {
        let is_day = has(self.days, day.day());
        let is_weekday = has(self.weekdays, day.weekday().to_sunday_zero_offset());
        has(self.months, day.month()) && if self.either { is_day || is_weekday } else { is_day && is_weekday }
    }

    fn within(&self, day: Date, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let hours = (0..24).filter(|hour| has(self.hours, *hour));
        let times = hours.flat_map(|hour| (0..60).filter(|minute| has(self.minutes, *minute)).map(move |minute| (hour, minute)));
        times.map(|(hour, minute)| moment_of(zone, day.at(hour, minute, 0, 0))).find(|moment| *moment > after)
    }
}

/// The five fields of a text, each within its bounds: a number beyond them becomes the bound, an unreadable or missing field becomes `*`.
pub(super) fn clamp_fields(text: &str) -> [String; 5] {
    const FIELDS: [(u64, u64, &[&str]); 5] = [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, &MONTHS), (0, 7, &WEEKDAYS)];
    let written: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut fields = FIELDS.iter().enumerate().map(|(at, (least, most, names))| match written.get(at) {
        Some(field) if bits(field, *least, *most, names).is_ok() => field.clone(),
        Some(field) => field.parse::<u64>().map_or_else(|_| "*".to_owned(), |number| number.clamp(*least, *most).to_string()),
        None => "*".to_owned(),
    });
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

fn has(bits: u64, value: i8) -> bool {
    bits & (1 << value) != 0
}

/// The values of a field as bits.
fn bits(field: &str, least: u64, most: u64, names: &[&str]) -> Result<u64, BadField> {
    let value = |text: &str| {
        let named = names.iter().position(|name| *name == text).map(|place| place as u64 + if names.len() == 12 { 1 } else { 0 });
        let value = named.or_else(|| text.parse().ok()).filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| BadField::Value { text: text.to_owned(), least, most })
    };
    let mut all = 0;
    for part in field.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step = match step.map(str::parse::<usize>) {
            None => 1,
            Some(Ok(step @ 1..=60)) => step,
            Some(_) => return Err(BadField::Step(part.to_owned())),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((from, to)) => (value(from)?, value(to)?),
            None if part.contains('/') => (value(range)?, most),
            None => (value(range)?, value(range)?),
        };
        if from > to {
            return Err(BadField::Order(range.to_owned()));
        }
        (from..=to).step_by(step).for_each(|value| all |= 1 << value);
    }
    Ok(all)
}
