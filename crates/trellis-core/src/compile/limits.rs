//! The bounds of a program: the defaults, where a project sets no other.

use crate::{program::Limits, syntax::project::LimitsSyntax};

/// Replaces each bound that a project sets.
pub(super) fn overridden(limits: Limits, set: LimitsSyntax) -> Limits {
    Limits {
        input: set.input.unwrap_or(limits.input),
        depth: set.depth.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(limits.depth),
        value: set.value.unwrap_or(limits.value),
        context: set.context.unwrap_or(limits.context),
        template_output: set.template_output.unwrap_or(limits.template_output),
        template_fuel: set.template_fuel.unwrap_or(limits.template_fuel),
        pass_through: set.pass_through.unwrap_or(limits.pass_through),
        tool_output: set.tool_output.unwrap_or(limits.tool_output),
        tool_stderr: set.tool_stderr.unwrap_or(limits.tool_stderr),
        effects: set.effects.unwrap_or(limits.effects),
        abreast: set.abreast.and_then(|abreast| u32::try_from(abreast).ok()).unwrap_or(limits.abreast),
        parts: set.parts.unwrap_or(limits.parts),
        parts_output: set.parts_output.unwrap_or(limits.parts_output),
        children: set.children.unwrap_or(limits.children),
        nested_children: set.nested_children.unwrap_or(limits.nested_children),
    }
}
