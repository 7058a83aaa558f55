//! The binary: one call, one exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    crystal::cli::main()
}
