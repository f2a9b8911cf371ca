//! One program with all fuzz targets; `FPSTORE_FUZZ_TARGET` selects one. See tools/fuzz.sh.

#![no_main]

mod sign;
mod site;
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use targets::{TARGETS, Target};

/// The target selected by the environment.
fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("FPSTORE_FUZZ_TARGET").unwrap_or_default();
        let named = TARGETS.iter().find(|target| target.name == name);
        named.unwrap_or_else(|| {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            panic!("FPSTORE_FUZZ_TARGET is '{name}', expected one of {}", names.join(", "))
        })
    })
}

fuzz_target!(|data: &[u8]| (chosen().run)(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = match chosen().mutate {
        // The fuzzer's general rules mutate the other half of the inputs.
        Some(mutate) if seed & 1 == 0 => mutate(&mut data[..size], seed >> 1),
        _ => fuzzer_mutate(data, size, max_size),
    };
    (chosen().sign)(&mut data[..size]);
    size
});
