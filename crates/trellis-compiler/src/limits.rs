//! The bounds of a program: the defaults, where a project sets no other.

use trellis_engine::program::Limits;
use trellis_syntax::project::LimitsSyntax;

/// Replaces each bound that a project sets.
pub(super) fn override_limits(mut limits: Limits, set: LimitsSyntax) -> Limits {
    let narrow = |bound: Option<u64>| bound.and_then(|bound| u32::try_from(bound).ok());
    limits.input = set.input.unwrap_or(limits.input);
    limits.depth = narrow(set.depth).unwrap_or(limits.depth);
    limits.value = set.value.unwrap_or(limits.value);
    limits.context = set.context.unwrap_or(limits.context);
    limits.template_output = set.template_output.unwrap_or(limits.template_output);
    limits.template_fuel = set.template_fuel.unwrap_or(limits.template_fuel);
    limits.pass_through = set.pass_through.unwrap_or(limits.pass_through);
    limits.tool_output = set.tool_output.unwrap_or(limits.tool_output);
    limits.tool_stderr = set.tool_stderr.unwrap_or(limits.tool_stderr);
    limits.effects = set.effects.unwrap_or(limits.effects);
    limits.abreast = narrow(set.abreast).unwrap_or(limits.abreast);
    limits.parts = set.parts.unwrap_or(limits.parts);
    limits.parts_output = set.parts_output.unwrap_or(limits.parts_output);
    limits.children = set.children.unwrap_or(limits.children);
    limits.nested_children = set.nested_children.unwrap_or(limits.nested_children);
    limits
}
