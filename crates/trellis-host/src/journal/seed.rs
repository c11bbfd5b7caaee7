//! The random number of a start, which this host draws (language 7.8).

use trellis_core::id::KeySeed;

/// The system gives no random number, so that no session can begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random number for the keys of calls: {0}")]
pub struct NoRandom(String);

/// Draws the random number of a start: 128 bits, for a host that steps states itself ([`trellis_core::Start::seed`]).
///
/// # Errors
/// The system gives none.
pub fn draw_seed() -> Result<KeySeed, NoRandom> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| NoRandom(error.to_string()))?;
    Ok(KeySeed::new(format!("{:032x}", u128::from_be_bytes(bytes))))
}
