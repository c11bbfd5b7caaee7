//! Where contexts begin: at the program's entry, and at each node that is called as a child (language 5.4).

use crate::{
    program::{Callee, PointIndex, Program, Role},
    template::Shape,
};

/// Where a context begins: a point with what is in it.
pub(super) struct Origin<'p> {
    pub(super) point: PointIndex,
    pub(super) given: Given<'p>,
}

/// What a context begins with.
#[derive(Clone, Copy)]
pub(super) enum Given<'p> {
    /// The inputs of the program's entry.
    Inputs,
    /// The arguments of a call.
    Args(Option<&'p Shape>),
}

/// Every place where a context begins: the program's entry, and each node that is called as a child (language 5.4).
pub(super) fn origins(program: &Program) -> Vec<Origin<'_>> {
    fn called<'p>(call: &'p crate::program::Call, program: &'p Program, found: &mut Vec<Origin<'p>>) {
        match &call.callee {
            Callee::Graph(node) => {
                let node = program.node(*node);
                found.push(Origin { point: node.gate.unwrap_or(node.body), given: Given::Args(call.args.as_ref()) });
            }
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| called(branch, program, found)),
            Callee::Tool(_) | Callee::Each(..) => {}
        }
    }
    let entry = program.entry();
    let mut found = vec![Origin { point: entry.gate.unwrap_or(entry.body), given: Given::Inputs }];
    for node in &program.nodes {
        if let Role::Act(call) = &node.role {
            called(call, program, &mut found);
        }
    }
    found
}
