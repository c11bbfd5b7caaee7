//! Mock servers of others: `@copilotkit/aimock` (npm) and `fakellm` (PyPI), pinned in `.ci/setup`. A missing one fails.
