//! The one integration-test binary: suite, docs, graphs, properties, bounds and house rules.

mod suite;
