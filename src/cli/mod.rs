//! The command line.

pub mod config;
pub mod console;
pub mod keys;

/// Runs the program.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
