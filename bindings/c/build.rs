//! Sets the name by which the dynamic linker finds the shared library: `libfpstore.so.0`, where 0
//! is `FPS_ABI` of the header. Cargo does not set it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "macos" => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libfpstore.0.dylib")
        }
        "windows" => {}
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfpstore.so.0"),
    }
}
