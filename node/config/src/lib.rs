//! The site file: diagnostics with position and mend, candidate, commit, rollback.
