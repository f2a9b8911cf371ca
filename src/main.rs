//! The `fpstore` program.

#![deny(unsafe_code)]
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
