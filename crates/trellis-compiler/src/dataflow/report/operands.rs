//! Diagnostics about values of a kind that an operator or a loop rejects.

use super::*;
use trellis_base::template::{Calculation, LastOperation, RECKONED};

impl Reporter<'_, '_> {
    pub(crate) fn operand(
        &self,
        analysis: &mut Analysis<'_, '_>,
        alarm: &Alarm,
        site: &ReadSite<'_>,
        details: &WitnessDetails,
    ) -> Diagnostic {
        let mismatch = |message| Diagnostic::new(Code::TypeMismatch, self.file(site.document), site.span(self.program), message);
        if let Some(calculation) = site.calculation() {
            return mismatch(self.calculated(calculation, site, details)).help(remedy(calculation, details));
        }
        let kind = analysis.types.described(alarm.seen);
        let (what, help) = match site.demand() {
            _ if matches!(site.kind, ReadKind::List(_)) => ("is what `each` goes through, and is", "let every path save a list"),
            Some(KindSet::NUMBER | RECKONED) => ("is calculated with, and is", "let every path save a number, such as `input_type: int`"),
            Some(LOOPED) => ("is looped over, and is", "let every path save a list"),
            Some(KindSet::MAPPING) => ("must be a mapping here, and is", NEEDED),
            Some(demand) if !demand.meet(KindSet::LIST.or(KindSet::MAPPING)) && demand.meet(KindSet::NUMBER) => {
                ("must be a number here, and is", "let every path save a number, such as `input_type: int`")
            }
            Some(demand) if !demand.meet(KindSet::TEXT) => ("must be a list or mapping here, and is", NEEDED),
            Some(KindSet::TEXT) => {
                ("must be a text here, and is", "put values of any kind together with `~`, or let every path save a text")
            }
            _ => ("cannot be used like this: it is", NEEDED),
        };
        mismatch(format!("`{}` {what} {kind} on some path", site.path)).help(help)
    }

    /// Words a failing calculation with the kinds that its operands had in the witness.
    fn calculated(&self, calculation: &Calculation, site: &ReadSite<'_>, details: &WitnessDetails) -> String {
        let parts = calculation.paths.iter().zip(&details.sorts).map(|(path, sort)| format!("`{path}` is {}", sort.name()));
        let written = site.written(self.program);
        match parts.collect::<Vec<_>>().as_slice() {
            [] => format!("`{written}` cannot be calculated on some path"),
            [one] => format!("`{written}` fails where {one}, as on some path"),
            [before @ .., last] => format!("`{written}` fails where {} and {last}, as on some path", before.join(", ")),
        }
    }
}

fn remedy(calculation: &Calculation, details: &WitnessDetails) -> &'static str {
    match calculation.last {
        LastOperation::Adds if details.sorts.contains(&KindSet::TEXT) => {
            "put values of any kind together with `~`, or let every path save numbers"
        }
        LastOperation::Adds | LastOperation::Reckons => "let every path save numbers, such as `input_type: int`",
        LastOperation::Other => NEEDED,
    }
}

const NEEDED: &str = "let every path save what this needs";
