//! Indices and lengths, which tables of programs store in 32 bits.

/// Returns an index or a length in 32 bits.
///
/// No table grows beyond them: a source of more than four gigabytes is not read, and every entry stems from some bytes of one.
pub fn to_u32(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
