//! Variables that no process inherits (language 9.9): secrets, and the credentials of the program itself.

use std::{
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

/// Beginnings of the names of such variables.
const PREFIXES: [&str; 3] = [super::name::PREFIX, "TRELLIS_VAULT", "TRELLIS_KEY"];

/// Names of others: the store's address may hold a password, a server is reached by its token, the collector's address and headers a token. `docs/reference/projects.md` names them.
const CREDENTIALS: [&str; 12] = [
    "TRELLIS_STORE",
    "TRELLIS_TOKEN",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY",
];

/// Variables that settings name as places of credentials. The environment is the process's, and so is this.
static NAMED: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Withholds further variables from the processes that are started from now on: those that settings name as places of credentials.
pub fn withhold(variables: impl IntoIterator<Item = String>) {
    NAMED.write().unwrap_or_else(PoisonError::into_inner).extend(variables);
}

/// Returns whether processes do not inherit this variable.
pub fn is_withheld(variable: &str) -> bool {
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        || CREDENTIALS.contains(&variable)
        || NAMED.read().unwrap_or_else(PoisonError::into_inner).contains(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    // language 9.9
    #[test]
    fn the_credentials_of_the_program_are_withheld_from_processes() {
        let withheld = [
            "TRELLIS_SECRET_KEY",
            "TRELLIS_STORE",
            "TRELLIS_TOKEN",
            "TRELLIS_KEY_FILE",
            "TRELLIS_VAULT",
            "TRELLIS_VAULT_KEY",
            "OTEL_EXPORTER_OTLP_HEADERS",
        ];
        for variable in withheld {
            assert!(is_withheld(variable), "{variable}");
        }
        assert!(!is_withheld("CHAT_TOKEN_OF_A_TEST"));
        withhold(["CHAT_TOKEN_OF_A_TEST".to_owned()]);
        assert!(is_withheld("CHAT_TOKEN_OF_A_TEST"));
        assert!(!is_withheld("PATH") && !is_withheld("TRELLIS_MAX_INPUT_SIZE"));
        let reference = include_str!("../../../../docs/reference/projects.md");
        for variable in CREDENTIALS.iter().chain(&PREFIXES) {
            assert!(reference.contains(&format!("`{variable}")), "the reference does not name `{variable}`");
        }
    }
}
