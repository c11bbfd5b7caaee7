//! `trellis run`.
