//! The program `ticketing` as an example: `cargo run --example server --features server`.
#[path = "../src/bin/ticketing/main.rs"]
mod program;

fn main() -> std::process::ExitCode {
    program::main()
}
